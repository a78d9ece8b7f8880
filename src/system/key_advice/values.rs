//! What is told by a sample of keys: first columns with few values, or with one that most rows have; texts that are numbers; long keys.

use std::collections::HashMap;
use std::sync::Arc;

use super::finding::{Finding, grouped, key_columns, percent, table_name};
use super::sample::KeySample;
use crate::Result;
use crate::catalog::TableDef;
use crate::codec::key::{encode_value, field_length};
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::codec::{KeyRange, prefix_end};
use crate::parse::quoting::quote_ident;
use crate::system::StatementContext;
use crate::table::{bound_text, first_rows, range_figures, rows_range};
use crate::types::{SqlType, Value};

/// A first column of so many values, or fewer, has few.
const FEW_VALUES: usize = 16;
/// In a table of so many rows, or more.
const FEW_VALUES_ROWS: u64 = 10_000;
/// Keys above so many bytes are long.
const LONG_KEY_BYTES: u64 = 128;
/// So much under one value is much, whatever part of its table it is.
const MUCH_BYTES: u64 = 10 << 30;
/// So many sampled values tell of a column.
const VALUES_MIN: usize = 100;
/// Digits that a bigint holds in any case, and a numeric in a key.
const BIGINT_DIGITS: usize = 18;
const NUMERIC_DIGITS: usize = 38;

/// Adds what is found of a table.
pub(super) async fn judge(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    sample: &KeySample,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    findings.extend(digits(table, sample));
    findings.extend(long(table, sample));
    let Some(first) = table.key_columns().first().copied() else {
        return Ok(());
    };
    let leads = table.primary_key.columns.len() > 1 && !table.columns[first].hidden;
    if !leads || sample.rows < FEW_VALUES_ROWS {
        return Ok(());
    }
    match few_values(ctx, table).await? {
        Some(values) => findings.push(few(table, sample, values)),
        None => findings.extend(heavy(ctx, table, sample).await?),
    }
    Ok(())
}

/// Key texts that are all digits.
fn digits(table: &Arc<TableDef>, sample: &KeySample) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, at) in table.key_columns().into_iter().enumerate() {
        let column = &table.columns[at];
        let is_text = matches!(column.ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_));
        if !is_text || column.hidden || column.generation().is_some() {
            continue;
        }
        let texts = sample.keys.iter().filter_map(|key| match key.get(place) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        // One that begins with 0 is no number.
        let is_number = |text: &&str| {
            let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            all_digits && (text.len() == 1 || !text.starts_with('0'))
        };
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        if texts.len() < VALUES_MIN || longest > NUMERIC_DIGITS || !texts.iter().all(is_number) {
            continue;
        }
        let (name, ty) = (
            quote_ident(&column.name),
            if longest <= BIGINT_DIGITS {
                "bigint"
            } else {
                "numeric(38,0)"
            },
        );
        found.push(Finding {
            table: Arc::clone(table),
            index: None,
            finding: format!(
                "all of {} sampled values of key column \"{}\" are digits",
                texts.len(),
                column.name
            ),
            advice: format!(
                "As {ty} they take less room, and sort and compare as numbers: '10' stands before '9'."
            ),
            ddl: Some(format!(
                "ALTER TABLE {} ALTER COLUMN {name} TYPE {ty} USING {name}::{ty};",
                table_name(table)
            )),
        });
    }
    found
}

/// Keys that are long.
fn long(table: &Arc<TableDef>, sample: &KeySample) -> Option<Finding> {
    if sample.key_bytes <= LONG_KEY_BYTES {
        return None;
    }
    let indexes = table.indexes.len();
    let repeated = match indexes {
        0 => String::new(),
        1 => ", and each entry of its index repeats them".to_string(),
        _ => format!(", and each entry of its {indexes} indexes repeats them"),
    };
    Some(Finding {
        table: Arc::clone(table),
        index: None,
        finding: format!("keys have {} bytes on average{repeated}", sample.key_bytes),
        advice: "Keep the columns that queries filter by first, and make the rest plain columns; a short number in place of a long text does as well.".to_string(),
        ddl: None,
    })
}

/// How many values the first column has, if there are few.
async fn few_values(ctx: &StatementContext, table: &Arc<TableDef>) -> Result<Option<usize>> {
    let fields = table.key_fields(&table.primary_key);
    let Some(field) = fields.first() else {
        return Ok(None);
    };
    let txn = ctx.txn.uncounted();
    let mut rest = rows_range(table);
    for values in 0..=FEW_VALUES {
        let page = first_rows(&txn, rest.clone(), true, 1).await?;
        let Some((key, _)) = page.last() else {
            return Ok(Some(values));
        };
        let fields = key.get(ENTRY_PREFIX_BYTES..).unwrap_or_default();
        let length = ENTRY_PREFIX_BYTES + field_length(fields, field)?;
        let Some(next) = key.get(..length).and_then(prefix_end) else {
            return Ok(None);
        };
        rest.start = next;
        if rest.end.as_ref().is_some_and(|end| *end <= rest.start) {
            return Ok(Some(values + 1));
        }
    }
    Ok(None)
}

fn few(table: &Arc<TableDef>, sample: &KeySample, values: usize) -> Finding {
    let columns = key_columns(table);
    let names: Vec<String> = columns.iter().map(|column| quote_ident(&column.name)).collect();
    let (first, others) = names.split_first().expect("a key has columns");
    Finding {
        table: Arc::clone(table),
        index: None,
        finding: format!(
            "the first key column {first} has {values} {} in {} rows",
            if values == 1 { "value" } else { "values" },
            grouped(sample.rows)
        ),
        advice: "A condition on it alone reads much, and regions cannot be told apart by it: let a column with many values stand first, if queries name it.".to_string(),
        ddl: Some(format!(
            "ALTER TABLE {} ALTER PRIMARY KEY ({}, {first});",
            table_name(table),
            others.join(", ")
        )),
    }
}

/// A value of the first column under which there is much.
async fn heavy(ctx: &StatementContext, table: &Arc<TableDef>, sample: &KeySample) -> Result<Option<Finding>> {
    let mut counts: HashMap<String, (usize, &Value)> = HashMap::new();
    for key in &sample.keys {
        if let Some(value) = key.first() {
            counts.entry(format!("{value:?}")).or_insert((0, value)).0 += 1;
        }
    }
    let most = counts.values().max_by_key(|(count, _)| *count);
    let Some((_, value)) = most.filter(|(count, _)| *count > 1) else {
        return Ok(None);
    };
    let fields = table.key_fields(&table.primary_key);
    let Some(field) = fields.first() else {
        return Ok(None);
    };
    let whole = rows_range(table);
    let mut start = whole.start.clone();
    encode_value(&mut start, value, field);
    let Some(end) = prefix_end(&start) else {
        return Ok(None);
    };
    let text = bound_text(table, &table.primary_key, &start).unwrap_or_default();
    let ranges: Vec<KeyRange> = whole.split(&[start, end]);
    let figures = range_figures(&ctx.txn, table, &ranges).await?;
    let of_value = figures.get(1).copied().unwrap_or_default();
    let share = percent(of_value.rows, sample.rows);
    if share < 50 && of_value.bytes < MUCH_BYTES {
        return Ok(None);
    }
    let columns = key_columns(table);
    let names: Vec<String> = columns.iter().map(|column| quote_ident(&column.name)).collect();
    let (first, others) = names.split_first().expect("a key has columns");
    Ok(Some(Finding {
        table: Arc::clone(table),
        index: None,
        finding: format!(
            "about {share} % of {} rows, {} MB, have {text} in the first key column {first}",
            grouped(sample.rows),
            grouped(of_value.bytes >> 20)
        ),
        advice: "What is read and written of that value is in one place: let another column stand first, or divide the value (a month, a hash of the rest).".to_string(),
        ddl: Some(format!(
            "ALTER TABLE {} ALTER PRIMARY KEY ({}, {first});",
            table_name(table),
            others.join(", ")
        )),
    }))
}
