//! `keyspan check`: verifies everything that a data directory holds and says what is wrong, without changing anything of
//! it. The binary calls [`check_data_dir`] over a directory that no server uses; tests call [`check_store`].
//!
//! What is read, in one snapshot:
//!
//! ```text
//!   log and engine ──► the system's records ──► each table: rows ──► each index: entries ──► versions ──► what lies between
//!   (inspect_store)    (catalog::check)         (rows)               (entries)               (versions)   (ownerless)
//! ```
//!
//! The store is read as a server's start would find it: the last commits are recovered, in a copy of the engine. The directory
//! itself stays as it is, whatever its format.
//!
//! # How rows and entries are compared
//!
//! Rows are read in the order of their key, a page at a time; the entries that each row must have are computed and looked
//! up, a page's in one call. Rows and entries sort differently, so that merging them would need a sort of everything;
//! lookups take constant memory. An entry that was found as it must be belongs to one row only, for its key and value
//! hold the row's whole primary key. So an index has no entry too many if it has as many as were found: they are
//! counted, and only if the number differs each entry's row is looked up, to say which entries have none.
//!
//! What is held in memory: a page, the catalog, a number a table and index, and the first faults of each kind.

mod entries;
mod ownerless;
mod report;
mod rows;
mod versions;

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::catalog::TableDef;
use crate::catalog::check::{CheckedCatalog, FaultKind, Faults, check_catalog, hex};
use crate::store::{Snapshot, Store, StoreOptions, Values, check_log, inspect_store};
use crate::{Error, Result};
pub use report::{CheckReport, RelationFigures};

/// How far a check is: told after every page.
#[derive(Debug, Clone, Copy)]
pub struct CheckProgress<'a> {
    /// The relation being read.
    pub relation: &'a str,
    /// Its rows so far.
    pub rows: u64,
    /// Entries of its indexes so far.
    pub entries: u64,
}

/// A check under way.
struct Check<'a> {
    snapshot: Arc<dyn Snapshot>,
    /// In microseconds since 1970.
    now: i64,
    faults: Faults,
    observe: &'a mut dyn FnMut(CheckProgress<'_>),
}

/// Values looked up, some of which the store may not have been able to read.
struct Found {
    values: Values,
    /// Positions of keys whose values could not be read; they are faults already.
    unreadable: Vec<usize>,
}

/// Checks a data directory that no server uses. `observe` is told how far it is. Errors: what keeps it from being checked
/// (`DataDirInUse`, `DataDirFormat`, `InvalidParameter` for a folder that is none, `Io`), and `Corrupt` when it is too
/// damaged to be opened.
pub fn check_data_dir<'a>(
    data_dir: &'a Path,
    observe: &'a mut dyn FnMut(CheckProgress<'_>),
) -> LocalBoxFuture<'a, Result<CheckReport>> {
    check_folder(data_dir, observe).boxed_local()
}

async fn check_folder(data_dir: &Path, observe: &mut dyn FnMut(CheckProgress<'_>)) -> Result<CheckReport> {
    let folder = data_dir.to_path_buf();
    let opened = tokio::task::spawn_blocking(move || inspect_store(&folder, &StoreOptions::default()));
    let inspected = opened
        .await
        .map_err(|error| Error::internal(format!("opening the store failed: {error}")))??;
    let store = inspected.store();
    let mut faults = Faults::default();
    let snapshot = store.snapshot().await?;
    check_log(data_dir, &*snapshot, &mut |key, reason| {
        faults.add(FaultKind::Log, None, hex(key), reason);
    })
    .await?;
    let report = check_contents(store, faults, observe).await;
    store.close().await?;
    report
}

/// Checks what a store holds. Errors: what ends the check, such as `Io`; damage is in the report.
#[cfg(test)]
pub(crate) async fn check_store(
    store: &dyn Store,
    observe: &mut dyn FnMut(CheckProgress<'_>),
) -> Result<CheckReport> {
    check_contents(store, Faults::default(), observe).await
}

/// Checks everything in the store, and adds what is wrong to `faults`.
async fn check_contents(
    store: &dyn Store,
    faults: Faults,
    observe: &mut dyn FnMut(CheckProgress<'_>),
) -> Result<CheckReport> {
    let mut check = Check {
        snapshot: store.snapshot().await?,
        now: store.clock().now(),
        faults,
        observe,
    };
    let snapshot = Arc::clone(&check.snapshot);
    let catalog = check_catalog(&*snapshot, &mut check.faults).await?;
    let mut relations = Vec::with_capacity(catalog.tables.len());
    for table in &catalog.tables {
        relations.push(check_table(&mut check, table, &catalog).await?);
    }
    let dropped_keys = ownerless::check(&mut check, &catalog).await?;
    Ok(CheckReport {
        relations,
        views: catalog.views,
        schemas: catalog.schemas,
        dropped_ranges: catalog.dropped.len(),
        dropped_keys,
        unfinished: catalog.tables.iter().map(|table| unfinished(table)).sum(),
        faults: check.faults,
    })
}

/// Columns and indexes of the table that are published and not verified.
fn unfinished(table: &TableDef) -> usize {
    let columns = table.columns.iter().filter(|column| column.unverified.is_some());
    let rekeying = usize::from(table.rekeying.is_some());
    columns.count() + table.all_indexes().filter(|index| index.building).count() + rekeying
}

/// Checks one table's rows and index entries.
async fn check_table(
    check: &mut Check<'_>,
    table: &TableDef,
    catalog: &CheckedCatalog,
) -> Result<RelationFigures> {
    let before = check.faults.count();
    let mut figures = RelationFigures::new(catalog.name_of(table));
    let next_row_id = catalog.next_row_ids.get(&table.id).copied();
    let matched = rows::check(check, table, next_row_id, &mut figures).await?;
    check_count(check, table, catalog.row_counts.get(&table.id).copied(), &figures);
    for (index, matched) in table.kept_indexes().zip(matched) {
        entries::check(check, table, index, matched, &mut figures).await?;
    }
    versions::check(check, table, &mut figures).await?;
    figures.faults = check.faults.count() - before;
    Ok(figures)
}

/// Compares the number of rows that the store keeps with those that were read.
fn check_count(check: &mut Check<'_>, table: &TableDef, kept: Option<u64>, figures: &RelationFigures) {
    if let Some(kept) = kept.filter(|kept| *kept != figures.rows) {
        let reason = format!(
            "it is said to have {kept} rows and has {}; ANALYZE counts them anew",
            figures.rows
        );
        let key = format!("mark of writes to table {}", table.id);
        check
            .faults
            .add(FaultKind::Record, Some(&figures.name), key, reason);
    }
}

impl Check<'_> {
    /// Tells how far the check is.
    fn tell(&mut self, figures: &RelationFigures) {
        (self.observe)(CheckProgress {
            relation: &figures.name,
            rows: figures.rows,
            entries: figures.entries,
        });
    }

    /// Looks keys up. Where the store finds damage, each key is asked for by itself, so that only those fail that must.
    async fn get_many(&mut self, relation: &str, keys: &[Vec<u8>]) -> Result<Found> {
        let damage = match self.snapshot.get_many(keys).await {
            Ok(values) => {
                return Ok(Found {
                    values,
                    unreadable: Vec::new(),
                });
            }
            Err(error @ Error::Corrupt { .. }) => error,
            Err(error) => return Err(error),
        };
        let mut found = Found {
            values: Values::with_capacity(keys.len()),
            unreadable: Vec::new(),
        };
        for (at, key) in keys.iter().enumerate() {
            match self.snapshot.get_many(std::slice::from_ref(key)).await {
                Ok(one) => found.values.push(one.get(0)),
                Err(Error::Corrupt { .. }) => {
                    let key = hex(key);
                    self.faults
                        .add(FaultKind::Unreadable, Some(relation), key, damage.to_string());
                    found.values.push(None);
                    found.unreadable.push(at);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
