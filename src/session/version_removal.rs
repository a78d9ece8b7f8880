//! The removal of versions that the HISTORY of a table needs no more: part of the server's task that removes rows that are over, and as
//! modest as that. What it does with a page is in `table::version_removal`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::instance::Instance;
use crate::Result;
use crate::catalog::{Catalog, TableDef};
use crate::table::{VersionPass, remove_versions_page};

/// Versions of a commit at most.
const COMMIT_VERSIONS_MAX: u64 = 500;
/// A page is followed by a pause of so many times the time that it took, and a pass by one of so many.
const PAUSES_A_PAGE: u32 = 4;
const PAUSES_A_PASS: u32 = 10;
/// A pass begins at least so long after the one before …
const PASS_PAUSE_MIN: Duration = Duration::from_secs(5);
/// … and at most.
const PASS_PAUSE_MAX: Duration = Duration::from_secs(600);

/// When the next pass over a table may begin, by its oid.
pub(super) type VersionPasses = HashMap<u32, Instant>;

impl Instance {
    /// A pass over the tables with a HISTORY whose turn it is, if any are removed at all.
    pub(super) async fn remove_versions(&self, catalog: &Catalog, passes: &mut VersionPasses) -> Result<()> {
        let has_history = |table: &&Arc<TableDef>| table.options.versions.history.is_some();
        let tables: Vec<u32> = catalog
            .tables()
            .filter(has_history)
            .map(|table| table.oid)
            .collect();
        passes.retain(|oid, _| tables.contains(oid));
        for oid in tables {
            let is_due = passes.get(&oid).is_none_or(|next| Instant::now() >= *next);
            if is_due && self.removal_rate(catalog) > 0 {
                let began = Instant::now();
                self.pass_over_versions(oid).await?;
                let pause = (began.elapsed() * PAUSES_A_PASS).clamp(PASS_PAUSE_MIN, PASS_PAUSE_MAX);
                passes.insert(oid, Instant::now() + pause);
            }
        }
        Ok(())
    }

    /// It ends early when the rate becomes 0.
    async fn pass_over_versions(&self, oid: u32) -> Result<()> {
        let mut pass = Some(VersionPass::default());
        while let Some(at) = pass.take() {
            let page_began = Instant::now();
            let txn = self.begin(self.removal_options()).await?;
            let catalog = self.catalog(&txn, None).await?;
            let table = catalog.tables().find(|table| table.oid == oid);
            let (Some(table), rate @ 1..) = (table, self.removal_rate(&catalog)) else {
                return Ok(());
            };
            if !self.has_room_for_removal() {
                return Ok(());
            }
            let page = remove_versions_page(&txn, table, at, COMMIT_VERSIONS_MAX.min(rate) as usize).await?;
            drop(txn);
            pass = page.next;
            let took = page_began.elapsed();
            let by_rate = Duration::from_secs_f64(page.removed as f64 / rate as f64);
            tokio::time::sleep(by_rate.saturating_sub(took).max(took * PAUSES_A_PAGE)).await;
        }
        Ok(())
    }
}
