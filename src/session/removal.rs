//! The removal of rows that are over: one task of the server, which goes over the tables whose rows may be, one after the other, and takes
//! `keyspan.ttl_rows_per_second` of them at most. What it does with a page is in `table::removal`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::instance::Instance;
use super::version_removal::VersionPasses;
use crate::catalog::{Catalog, SettingsOwner, TableDef};
use crate::codec::expiry::NEVER;
use crate::codec::keyspace::Keyspace;
use crate::store::{BRIEF_SESSION, Batch, Write};
use crate::table::remove_over_page;
use crate::txn::TransactionOptions;
use crate::{Error, Result};

/// The setting that says how many rows a second.
const RATE: &str = "keyspan.ttl_rows_per_second";
/// How often it looks whether a table's turn has come.
const ROUND: Duration = Duration::from_millis(500);
/// Rows of a commit at most.
const COMMIT_ROWS_MAX: u64 = 500;
/// A page is followed by a pause of so many times the time that it took, and a pass by one of so many: what is over is unseen anyhow.
const PAUSES_A_PAGE: u32 = 4;
const PAUSES_A_PASS: u32 = 10;
/// Above this part of what the store keeps for open snapshots nothing is removed: it would end them.
const UNDO_PART: usize = 4;

/// What the task knows of a table.
#[derive(Debug, Default)]
struct KnownTable {
    /// When the next pass may begin.
    next: Option<Instant>,
    /// The store's commits when the last pass began.
    commits: u64,
    /// When the first row will be over that was there then, in microseconds since 1970.
    first_over: i64,
}

impl Instance {
    /// Goes on from the time that an earlier run had come to. To be called before clients come. Errors: the store's.
    pub async fn resume_clock(&self) -> Result<()> {
        let snapshot = self.store().snapshot().await?;
        let key = [Keyspace::Clock.encode()];
        let value = snapshot.get_many(&key).await?;
        if let Some(moment) = value.get(0).and_then(|value| value.try_into().ok()) {
            self.store().clock().is_past(i64::from_be_bytes(moment));
        }
        Ok(())
    }

    /// Removes the rows that are over, and the tables in the trash that are kept no longer, for ever, until the task is aborted.
    pub async fn remove_over(self: Arc<Instance>) {
        let (mut known, mut passes) = (HashMap::new(), VersionPasses::new());
        loop {
            if let Err(error) = self.remove_round(&mut known, &mut passes).await
                && error != Error::Shutdown
            {
                tracing::warn!(%error, "could not remove rows that are over");
            }
            if let Err(error) = self.purge_round().await
                && error != Error::Shutdown
            {
                tracing::warn!(%error, "could not purge the trash");
            }
            if let Err(error) = self.record_clock().await
                && error != Error::Shutdown
            {
                tracing::warn!(%error, "could not record the time");
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// Records the time by which rows were judged, if any were since.
    async fn record_clock(&self) -> Result<()> {
        let Some(moment) = self.store().clock().take_judged() else {
            return Ok(());
        };
        let (key, value) = (Keyspace::Clock.encode(), moment.to_be_bytes().to_vec());
        let batch = Batch {
            writes: vec![Write::Put { key, value }],
            relaxed: true,
            unseen: true,
            ..Batch::default()
        };
        self.store().commit(batch).await
    }

    /// One look at all tables, and a pass over those whose turn it is.
    async fn remove_round(
        &self,
        known: &mut HashMap<u32, KnownTable>,
        passes: &mut VersionPasses,
    ) -> Result<()> {
        let txn = self.begin(self.removal_options()).await?;
        let catalog = self.catalog(&txn, None).await?;
        drop(txn);
        let may_be_over = |table: &&Arc<TableDef>| table.options.expiry.may_be_over();
        let tables: Vec<Arc<TableDef>> = catalog.tables().filter(may_be_over).cloned().collect();
        let is_there = |oid: u32| tables.iter().any(|table| table.oid == oid);
        known.retain(|oid, _| is_there(*oid));
        self.state().expiry.keep(is_there);
        for table in tables {
            let rate = self.removal_rate(&catalog);
            let of_table = known.entry(table.oid).or_default();
            if rate > 0 && self.is_due(of_table) {
                self.pass(table.oid, of_table).await?;
            }
        }
        self.remove_versions(&catalog, passes).await
    }

    /// Whether what is removed and may still be seen fits into what the store keeps for open snapshots.
    pub(super) fn has_room_for_removal(&self) -> bool {
        let stats = self.store().stats();
        stats.undo_bytes <= stats.undo_bytes_max / UNDO_PART
    }

    fn is_due(&self, known: &KnownTable) -> bool {
        let Some(next) = known.next else { return true };
        let is_written = self.store().stats().commits != known.commits;
        Instant::now() >= next && (is_written || known.first_over <= self.store().clock().now())
    }

    /// Rows a second, by ALTER SYSTEM or by what the server began with.
    pub(super) fn removal_rate(&self, catalog: &Catalog) -> u64 {
        let altered = catalog.altered.get(&SettingsOwner::System);
        let altered = altered.and_then(|altered| altered.values.get(RATE)?.parse().ok());
        altered
            .or_else(|| self.settings().value(RATE).parse().ok())
            .unwrap_or(0)
    }

    /// One pass over a table; it ends early when the rate becomes 0.
    async fn pass(&self, oid: u32, known: &mut KnownTable) -> Result<()> {
        let began = Instant::now();
        let commits = self.store().stats().commits;
        let figures = &self.state().expiry;
        let (mut from, mut first_over, mut waiting, mut oldest) = (None, NEVER, 0, None::<i64>);
        let mut own_commits = 0;
        loop {
            let page_began = Instant::now();
            let txn = self.begin(self.removal_options()).await?;
            let catalog = self.catalog(&txn, None).await?;
            let table = catalog.tables().find(|table| table.oid == oid);
            let table = table.filter(|table| table.options.expiry.may_be_over());
            // Whoever alters it does not wait for the end of a pass.
            let (Some(table), rate @ 1..) = (table, self.removal_rate(&catalog)) else {
                return Ok(());
            };
            let rows_max = if self.has_room_for_removal() {
                COMMIT_ROWS_MAX.min(rate)
            } else {
                0
            };
            let horizon = match rows_max {
                0 => i64::MIN,
                _ => self.store().clock().oldest_kept(),
            };
            let page = remove_over_page(&txn, table, from.as_deref(), horizon, rows_max as usize).await?;
            drop(txn);
            own_commits += u64::from(page.removed > 0);
            first_over = first_over.min(page.first_over);
            waiting += page.waiting as u64;
            oldest = oldest.into_iter().chain(page.oldest).min();
            figures.change(oid, |figures| {
                figures.removed += page.removed as u64;
                figures.waiting = waiting;
            });
            let took = page_began.elapsed();
            from = page.next;
            if from.is_none() {
                break;
            }
            let by_rate = Duration::from_secs_f64(page.removed as f64 / rate as f64);
            tokio::time::sleep(by_rate.saturating_sub(took).max(took * PAUSES_A_PAGE)).await;
        }
        let now = self.store().clock().now();
        figures.change(oid, |figures| {
            figures.first_over = oldest
                .into_iter()
                .chain((first_over != NEVER).then_some(first_over))
                .min();
            figures.passed = Some(now);
        });
        known.next = Some(Instant::now() + (began.elapsed() * PAUSES_A_PASS).min(Duration::from_secs(600)));
        known.commits = commits + own_commits;
        known.first_over = oldest.map_or(first_over, |oldest| oldest.min(first_over));
        Ok(())
    }

    /// What the transactions of the removal begin with.
    pub(super) fn removal_options(&self) -> TransactionOptions {
        TransactionOptions {
            is_unseen: true,
            heat: None,
            session: BRIEF_SESSION,
            ..self.transaction_options()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::system::Settings;

    #[tokio::test]
    async fn the_time_goes_on_where_the_last_run_left_it() {
        let engine = Arc::new(MemoryEngine::new());
        let open = || -> Arc<dyn Store> {
            let engine = Arc::clone(&engine);
            Arc::new(MvccStore::open(engine, &StoreOptions::default(), None).unwrap())
        };
        let store = open();
        store.clock().set(5000);
        let instance = Instance::new(Arc::clone(&store), Settings::default());
        instance.record_clock().await.unwrap();
        let commits = store.stats().commits;
        assert_eq!(commits, 0, "nobody has judged anything");
        store.clock().note_judged();
        instance.record_clock().await.unwrap();
        store.close().await.unwrap();
        drop((instance, store));
        let store = open();
        store.clock().set(100);
        let instance = Instance::new(Arc::clone(&store), Settings::default());
        instance.resume_clock().await.unwrap();
        assert_eq!(store.clock().now(), 5000);
    }
}
