//! What is told by what was read and written: keys that only grow, indexes that nobody reads, regions that take all writes.

use std::sync::Arc;

use super::finding::{Finding, grouped, key_columns, percent, table_name};
use crate::Result;
use crate::catalog::{IndexDef, TableDef, TableRegions};
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::StatementContext;
use crate::table::bound_text;
use crate::txn::heat::{END_MINUTES, HeatId, IndexHeat, KeyHeat, MINUTES_MAX};

/// So many inserts, writes or entries tell something.
const ACCESSES_MIN: u64 = 1000;
/// Of so many of a hundred that go to one end it is said.
const AT_END_PERCENT: u64 = 90;
/// Of so many of a hundred writes that go to one region it is said.
const ONE_REGION_PERCENT: u64 = 80;
/// An index that nobody has read for so long.
const UNREAD_MINUTES: i64 = 60;

const MINUTE: i64 = 60_000_000;

/// Adds what is found of a table.
pub(super) async fn judge(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let heat = &ctx.server.heat;
    let slices = heat.slices();
    for index in table.all_indexes() {
        let id = HeatId {
            table: table.id,
            index: index.id,
        };
        if let Some(index_heat) = slices.get(id) {
            findings.extend(growing(table, index, index_heat));
            findings.extend(unread(heat, table, index, index_heat));
        }
    }
    let id = HeatId {
        table: table.id,
        index: 0,
    };
    if let Some(rows) = slices.get(id)
        && rows.slices.len() > 1
    {
        let regions = TableRegions::read(&ctx.txn, table).await?;
        findings.extend(uneven(heat, table, &regions, rows));
    }
    Ok(())
}

/// A key to one end of which nearly all is added.
fn growing(table: &Arc<TableDef>, index: &IndexDef, heat: &IndexHeat) -> Option<Finding> {
    let ends = heat.ends();
    let (at_end, end) = match ends.above >= ends.below {
        true => (ends.above, "above the greatest key"),
        false => (ends.below, "below the least key"),
    };
    let share = percent(at_end, ends.added);
    if ends.added < ACCESSES_MIN || share < AT_END_PERCENT {
        return None;
    }
    let what = if index.id == 0 { "inserts" } else { "entries" };
    let finding = format!(
        "{share} % of {} {what} of {END_MINUTES} minutes went {end}",
        grouped(ends.added)
    );
    let nothing = "Sessions that insert at once meet in one place. On one server that costs little, and nothing need be done; where it does";
    let (advice, ddl) = match index.id {
        0 if table.has_hidden_key() => (
            format!("{nothing}, declare a PRIMARY KEY over the columns that queries filter by."),
            None,
        ),
        0 => (
            format!(
                "{nothing}, spread the rows over 16 ranges, whose rows still come in key order{}.",
                or_hash(table)
            ),
            Some(spread_table(table)),
        ),
        _ => (
            format!(
                "{nothing}, spread its entries over 16 ranges, or leave the index out if no query reads by it."
            ),
            Some(spread_index(table, index)),
        ),
    };
    Some(Finding {
        table: Arc::clone(table),
        index: (index.id != 0).then(|| index.name.clone()),
        finding,
        advice,
        ddl,
    })
}

/// The other way, where there is one.
fn or_hash(table: &TableDef) -> String {
    match key_columns(table).as_slice() {
        [first] => format!(
            "; or, if no query reads a range of {0}, begin the key with its hash: PRIMARY KEY (hash32({0}), {0})",
            quote_ident(&first.name)
        ),
        [first, second, ..] => format!(
            "; or, if queries name {1}, begin the key with its hash: PRIMARY KEY (hash32({1}), {1}, {0})",
            quote_ident(&first.name),
            quote_ident(&second.name)
        ),
        [] => String::new(),
    }
}

/// Makes the table again beside itself, with buckets.
fn spread_table(table: &TableDef) -> String {
    let new = TableDef {
        name: format!("{}_spread", table.name),
        ..table.clone()
    };
    let (old, new) = (table_name(table), table_name(&new));
    format!(
        "CREATE TABLE {new} (LIKE {old} INCLUDING ALL) WITH (BUCKETS = 16); INSERT INTO {new} SELECT * FROM {old}; DROP TABLE {old}; ALTER TABLE {new} RENAME TO {};",
        quote_ident(&table.name)
    )
}

fn spread_index(table: &TableDef, index: &IndexDef) -> String {
    let shown = index.shown_columns();
    let columns = shown.iter().filter_map(|key| {
        let column = &table.columns[table.column_index_by_id(key.column)?];
        let direction = if key.descending { " DESC" } else { "" };
        Some(format!("{}{direction}", quote_ident(&column.name)))
    });
    let columns: Vec<String> = columns.collect();
    format!(
        "CREATE INDEX {} ON {} ({}) WITH (BUCKETS = 16); DROP INDEX {};",
        quote_ident(&format!("{}_spread", index.name)),
        table_name(table),
        columns.join(", "),
        index_name(table, index)
    )
}

fn index_name(table: &TableDef, index: &IndexDef) -> String {
    match table.schema.as_str() {
        "public" => quote_ident(&index.name),
        schema => qualified(schema, &index.name),
    }
}

/// An index that is written and not read.
fn unread(heat: &KeyHeat, table: &Arc<TableDef>, index: &IndexDef, counted: &IndexHeat) -> Option<Finding> {
    if index.unique || index.deferral.is_some() || index.id == 0 {
        return None;
    }
    let (now, _) = heat.minute();
    let minutes = now - counted.began.div_euclid(MINUTE);
    let (mut reads, mut writes) = (0, 0);
    for slice in &counted.slices {
        for counts in slice.minutes_since(now - MINUTES_MAX, now) {
            reads += counts.reads;
            writes += counts.writes;
        }
    }
    if minutes < UNREAD_MINUTES || reads > 0 || writes < ACCESSES_MIN {
        return None;
    }
    let hours = (minutes / 60).min(MINUTES_MAX / 60);
    Some(Finding {
        table: Arc::clone(table),
        index: Some(index.name.clone()),
        finding: format!(
            "nobody has read the index in {hours} {}, and {} of its entries were written",
            if hours == 1 { "hour" } else { "hours" },
            grouped(writes)
        ),
        advice: "Every write keeps its entries: drop it, unless a rarer query needs it. ALTER INDEX ... INACTIVE tries that out.".to_string(),
        ddl: Some(format!("DROP INDEX {};", index_name(table, index))),
    })
}

/// Regions one of which takes nearly all writes.
fn uneven(
    heat: &KeyHeat,
    table: &Arc<TableDef>,
    regions: &TableRegions,
    counted: &IndexHeat,
) -> Option<Finding> {
    let ranges = regions.ranges(table);
    if ranges.len() < 2 {
        return None;
    }
    let (now, _) = heat.minute();
    let writes_of = |start: &dyn Fn(&[u8]) -> bool| -> Vec<(u64, usize)> {
        let slices = counted.slices.iter().enumerate();
        let inside = slices.filter(|(_, slice)| start(&slice.start));
        inside
            .map(|(at, slice)| {
                let minutes = slice.minutes_since(now - END_MINUTES, now);
                (minutes.iter().map(|counts| counts.writes).sum(), at)
            })
            .collect()
    };
    let by_region: Vec<Vec<(u64, usize)>> = ranges
        .iter()
        .map(|range| writes_of(&|start| range.contains(start)))
        .collect();
    let sums: Vec<u64> = by_region
        .iter()
        .map(|slices| slices.iter().map(|(writes, _)| writes).sum())
        .collect();
    let total: u64 = sums.iter().sum();
    let (at, most) = sums.iter().enumerate().max_by_key(|(_, writes)| **writes)?;
    let share = percent(*most, total);
    if total < ACCESSES_MIN || share < ONE_REGION_PERCENT {
        return None;
    }
    let idle = sums.iter().filter(|writes| **writes == 0).count();
    let (_, hottest) = by_region[at].iter().max()?;
    let middle = counted.slices[*hottest].middle();
    let point = middle.and_then(|middle| bound_text(table, &table.primary_key, &middle));
    let region = &regions.regions()[at];
    Some(Finding {
        table: Arc::clone(table),
        index: None,
        finding: format!(
            "region {} takes {share} % of {} writes of {END_MINUTES} minutes; {idle} of {} regions take none",
            region.name(),
            grouped(total),
            ranges.len()
        ),
        advice: match point {
            Some(_) => "Split it where it is written; regions that nobody writes can be merged by UNSPLIT."
                .to_string(),
            None => "All goes to one place, which no split divides: spread the keys (BUCKETS, hash32)."
                .to_string(),
        },
        ddl: point.map(|point| format!("ALTER TABLE {} SPLIT AT VALUES {point};", table_name(table))),
    })
}
