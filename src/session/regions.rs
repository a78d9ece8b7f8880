//! The regions' own task: one of the server, which turns the minutes of what is read and written, has each region counted apart, splits
//! regions that are large or hot, and merges those that it has split and that are small and idle by now. No row is moved: a region is a
//! slice of the key that has a name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::instance::Instance;
use crate::catalog::{Catalog, RegionOrigin, TableDef, TableRegions};
use crate::codec::KeyRange;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::store::LockPolicy;
use crate::system::region_rates::{RegionRates, RegionRules, region_rates};
use crate::table::{RangeFigures, committed_row_counts, range_figures};
use crate::txn::Transaction;
use crate::txn::heat::HeatId;
use crate::{Error, Result};

/// How often minutes are turned.
const TICK: Duration = Duration::from_secs(1);
/// How many ticks apart regions are looked at, and how many rounds apart each table's size is even if nothing was written.
const TICKS_OF_ROUND: u64 = 5;
const ROUNDS_OF_SIZE: u64 = 120;
/// Who has to do with the table's definition is not waited for: minutes are to be turned meanwhile.
const LOCK_WAIT: Duration = Duration::from_millis(20);
/// A table of so many regions is measured in the round after next, one of more later.
const REGIONS_OF_ROUND: u64 = 8;
/// Rows of fewer bytes than these are never too large, whatever the setting says: tables of fewer rows are not measured.
const ROW_BYTES_MAX: u64 = 2 << 20;
/// Two regions that hold less than this part of what one may are merged.
const MERGE_PART: u64 = 4;
/// What a split by heat leaves on its smaller side is not less than this part.
const HEAT_PART: f64 = 0.1;

/// What the task knows of a table.
#[derive(Debug, Default)]
pub(super) struct KnownTable {
    /// The store's count of its rows when it was measured.
    rows: Option<u64>,
    /// The round from which on it may be measured again.
    next: u64,
}

/// What a table's regions are to become.
#[derive(Debug, PartialEq)]
enum Change {
    /// The region at this place is cut in two.
    Split(usize, RegionOrigin),
    /// The region at this place goes to the one before it.
    Merge(usize),
}

impl Instance {
    /// Does all this for ever, until the task is aborted.
    pub async fn tend_regions(self: Arc<Instance>) {
        let mut known = HashMap::new();
        let mut ticks = 0u64;
        loop {
            self.state().heat.turn(self.store().clock().now());
            if ticks.is_multiple_of(TICKS_OF_ROUND) {
                let round = ticks / TICKS_OF_ROUND;
                if let Err(error) = self.region_round(&mut known, round).await
                    && error != Error::Shutdown
                {
                    tracing::warn!(%error, "could not look at regions");
                }
            }
            ticks += 1;
            tokio::time::sleep(TICK).await;
        }
    }

    /// One look at all tables.
    pub(super) async fn region_round(&self, known: &mut HashMap<u32, KnownTable>, round: u64) -> Result<()> {
        let txn = self.begin(self.removal_options()).await?;
        let catalog = self.catalog(&txn, None).await?;
        let heat = &self.state().heat;
        let has_index = |id: HeatId| {
            let mut tables = catalog.tables().filter(|table| table.id == id.table);
            tables.any(|table| table.all_indexes().any(|index| index.id == id.index))
        };
        heat.keep(has_index);
        let records = TableRegions::read_all(&txn).await?;
        let rules = RegionRules::of(self.settings(), &catalog);
        known.retain(|oid, _| catalog.table_by_oid(*oid).is_some());
        let tables: Vec<Arc<TableDef>> = catalog.tables().cloned().collect();
        for table in tables.into_iter().filter(|table| !table.is_temporary()) {
            let record = records.iter().find(|record| record.oid == table.oid);
            let regions = match record {
                Some(record) => record.clone().fit(&table),
                None => TableRegions::of_table(&table),
            };
            let id = HeatId {
                table: table.id,
                index: 0,
            };
            if regions.regions().len() > 1 {
                heat.cut(id, &regions.cuts(&table));
            }
            let of_table = known.entry(table.oid).or_default();
            self.tend_table(&txn, &table, regions, (of_table, round, rules))
                .await?;
        }
        Ok(())
    }

    /// Splits or merges one region of a table, if one is to be.
    async fn tend_table(
        &self,
        txn: &Arc<Transaction>,
        table: &Arc<TableDef>,
        regions: TableRegions,
        (known, round, rules): (&mut KnownTable, u64, RegionRules),
    ) -> Result<()> {
        let ranges = regions.ranges(table);
        let rates = region_rates(&self.state().heat, table, &ranges);
        let rows = committed_row_counts(txn, &[table])
            .await?
            .first()
            .copied()
            .flatten();
        let is_changed = known.rows != rows || round >= known.next + ROUNDS_OF_SIZE;
        let may_be_large = rules.bytes_max > 0
            && rows.is_none_or(|rows| rows.saturating_mul(ROW_BYTES_MAX) > rules.bytes_max);
        let is_split = regions
            .regions()
            .iter()
            .any(|region| region.origin.is_automatic());
        let figures = match round >= known.next && (is_changed && may_be_large || is_split) {
            true => {
                known.rows = rows;
                known.next = round + 1 + ranges.len() as u64 / REGIONS_OF_ROUND;
                Some(range_figures(txn, table, &ranges).await?)
            }
            false => None,
        };
        let Some(change) = change_of(&regions, figures.as_deref(), &rates, rules) else {
            return Ok(());
        };
        // A hidden row id is in no statement's hands, and grows: nothing is gained by cutting it.
        if table.has_hidden_key() {
            return Ok(());
        }
        let mut changed = regions.clone();
        match change {
            Change::Merge(at) => {
                let number = regions.regions()[at].number;
                changed.merge(|region| region.number == number);
            }
            Change::Split(at, origin) => {
                let point = match origin {
                    RegionOrigin::Heat => self.point_of_heat(table, &ranges[at]),
                    _ => {
                        let points = txn.split_points(ranges[at].clone(), 2).await?;
                        points.into_iter().next()
                    }
                };
                let start = point.as_deref().and_then(|point| point.get(ENTRY_PREFIX_BYTES..));
                let Some(start) = start.filter(|start| !start.is_empty()) else {
                    return Ok(());
                };
                match changed.split(vec![start.to_vec()], origin) {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(_) => {}
                }
            }
        }
        self.write_regions(table, &regions, &changed).await
    }

    /// Writes what became of the regions, unless somebody else has changed them or the table. Errors: the store's.
    async fn write_regions(&self, table: &TableDef, old: &TableRegions, new: &TableRegions) -> Result<()> {
        let txn = self.begin(self.removal_options()).await?;
        txn.set_lock_policy(LockPolicy {
            timeout: Some(LOCK_WAIT),
            ..LockPolicy::default()
        });
        let catalog = Catalog::load(&txn, None).await?;
        let current = catalog.table_by_oid(table.oid);
        let Some(current) = current.filter(|current| current.id == table.id) else {
            return Ok(());
        };
        if TableRegions::read(&txn, current).await? != *old {
            return Ok(());
        }
        new.write(&txn, current)?;
        match txn.commit(true).await {
            // It is looked at again.
            Err(Error::Conflict { .. } | Error::LockTimeout) => Ok(()),
            committed => committed,
        }
    }

    /// Where a hot region is cut, so that about as much is accessed on either side.
    fn point_of_heat(&self, table: &TableDef, range: &KeyRange) -> Option<Vec<u8>> {
        let heat = &self.state().heat;
        let slices = heat.slices();
        let rows = slices.get(HeatId {
            table: table.id,
            index: 0,
        })?;
        let (now, _) = heat.minute();
        let inside = rows.slices.iter().filter(|slice| range.contains(&slice.start));
        let accesses: Vec<(u64, _)> = inside
            .map(|slice| {
                let minutes = slice.minutes_since(now - 1, now);
                (minutes.iter().map(|one| one.reads + one.writes).sum(), slice)
            })
            .collect();
        let total: u64 = accesses.iter().map(|(accesses, _)| accesses).sum();
        let mut before = 0;
        let mut best = None;
        for (of_slice, slice) in &accesses {
            if slice.start > range.start {
                let smaller = before.min(total - before) as f64 / total.max(1) as f64;
                if smaller >= HEAT_PART && best.as_ref().is_none_or(|(found, _)| smaller > *found) {
                    best = Some((smaller, slice.start.clone()));
                }
            }
            before += of_slice;
        }
        match best {
            Some((_, point)) => Some(point),
            // One slice takes all of it: its own accesses tell, if they are of several keys.
            None => accesses.iter().max_by_key(|(accesses, _)| *accesses)?.1.middle(),
        }
    }
}

/// What is to be done first: a split because of size, one because of heat, a merge. `figures`: `None` when nobody has measured.
fn change_of(
    regions: &TableRegions,
    figures: Option<&[RangeFigures]>,
    rates: &[RegionRates],
    rules: RegionRules,
) -> Option<Change> {
    let is_hot = |at: usize| rules.is_hot(rates[at]);
    let bytes = |at: usize| figures.map(|figures| figures[at].bytes);
    let is_large =
        |at: &usize| rules.bytes_max > 0 && bytes(*at).is_some_and(|bytes| bytes > rules.bytes_max);
    let places = 0..regions.regions().len();
    if let Some(at) = places.clone().find(is_large) {
        return Some(Change::Split(at, RegionOrigin::Size));
    }
    if let Some(at) = places.clone().find(|at| is_hot(*at)) {
        return Some(Change::Split(at, RegionOrigin::Heat));
    }
    let is_idle = |at: usize| {
        let together = rates[at - 1].reads + rates[at - 1].writes + rates[at].reads + rates[at].writes;
        rules.hot_per_second == 0 || together < (rules.hot_per_second / MERGE_PART) as f64
    };
    let is_small = |at: usize| {
        let together = bytes(at - 1).zip(bytes(at));
        let together = together.map(|(before, of_it)| before.saturating_add(of_it));
        together.is_some_and(|together| rules.bytes_max == 0 || together < rules.bytes_max / MERGE_PART)
    };
    let goes = |at: &usize| {
        let is_automatic = *at > 0 && regions.regions()[*at].origin.is_automatic();
        is_automatic && is_idle(*at) && is_small(*at)
    };
    places.into_iter().find(goes).map(Change::Merge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::table_of;
    use crate::types::SqlType;

    const RULES: RegionRules = RegionRules {
        bytes_max: 1000,
        hot_per_second: 100,
    };

    fn regions(origins: &[RegionOrigin]) -> TableRegions {
        let table = table_of("t", &[("n", SqlType::Int8), ("v", SqlType::Int8)], &[false]);
        let mut regions = TableRegions::of_table(&table);
        for (at, origin) in origins.iter().enumerate() {
            regions.split(vec![vec![at as u8 + 1]], *origin).unwrap();
        }
        regions
    }

    fn change(origins: &[RegionOrigin], bytes: &[u64], rates: &[f64]) -> Option<Change> {
        let figures: Vec<RangeFigures> = bytes
            .iter()
            .map(|bytes| RangeFigures {
                bytes: *bytes,
                ..RangeFigures::default()
            })
            .collect();
        let rates: Vec<RegionRates> = rates
            .iter()
            .map(|reads| RegionRates {
                reads: *reads,
                writes: 0.0,
            })
            .collect();
        change_of(&regions(origins), Some(&figures), &rates, RULES)
    }

    #[test]
    fn what_is_large_or_hot_is_split_and_what_is_small_and_idle_merged() {
        use RegionOrigin::{Heat, Size, Statement};
        assert_eq!(change(&[], &[1000], &[99.0]), None);
        assert_eq!(change(&[], &[1001], &[0.0]), Some(Change::Split(0, Size)));
        assert_eq!(
            change(&[Statement], &[0, 0], &[0.0, 100.0]),
            Some(Change::Split(1, Heat))
        );
        // What a statement has split stays.
        assert_eq!(change(&[Statement], &[0, 0], &[0.0, 0.0]), None);
        assert_eq!(change(&[Size], &[100, 100], &[0.0, 0.0]), Some(Change::Merge(1)));
        assert_eq!(change(&[Size], &[200, 100], &[0.0, 0.0]), None);
        assert_eq!(change(&[Heat], &[0, 0], &[20.0, 20.0]), None);
        assert_eq!(
            change(&[Statement, Heat], &[0, 0, 0], &[90.0, 1.0, 1.0]),
            Some(Change::Merge(2))
        );
    }
}
