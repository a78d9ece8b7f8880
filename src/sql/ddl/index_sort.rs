//! The entries of a new index in the order of their keys: what a build reads of a table in one snapshot, and writes in chunks. Used by
//! `index_build`.
//!
//! Rows are read in slices, a reader each, and their entries sorted in `maintenance_work_mem` bytes (`system::RunSorter`). An engine
//! takes keys that come in order many times as fast as scattered ones, and equal keys are found where they meet.

use std::sync::Arc;

use futures::future::try_join_all;

use crate::catalog::{IndexDef, TableDef, TableRegions};
use crate::codec::KeyRange;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::store::Page;
use crate::system::statement_memory::HeldBytes;
use crate::system::{
    Abandoned, IndexBuild, MergedRuns, RunSorter, Settings, SpillFiles, StatementMemory, query_threads,
};
use crate::table::{EntryMaker, Limits, duplicate_entry, rows_range, scan_rows};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Entries of a chunk, at most …
const CHUNK_ENTRIES: usize = if cfg!(test) { 32 } else { 8000 };
/// … and their bytes, but for the last: a chunk is one commit, and no large one.
const CHUNK_BYTES: usize = 960 << 10;

/// What a sort may take.
#[derive(Debug, Clone)]
pub(super) struct Sorting {
    spill: Arc<SpillFiles>,
    memory: Arc<StatementMemory>,
    bytes_max: usize,
    readers: usize,
}

impl Sorting {
    /// What the settings say, of a statement's memory.
    pub(super) fn new(settings: &Settings, memory: Arc<StatementMemory>) -> Sorting {
        Sorting {
            spill: Arc::clone(&settings.spill),
            memory,
            bytes_max: settings.maintenance_bytes_max,
            // Tests count the steps of each.
            readers: if cfg!(test) { 2 } else { settings.readers_max() },
        }
    }
}

/// The rows that a build reads: those of a table in one snapshot.
#[derive(Debug, Clone)]
pub(super) struct RowsRead {
    pub(super) txn: Arc<Transaction>,
    pub(super) table: Arc<TableDef>,
    pub(super) index: Arc<IndexDef>,
    pub(super) limits: Limits,
}

/// An entry: its key and its value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// The entries of the rows, sorted.
pub(super) struct SortedEntries {
    rows: RowsRead,
    /// `None` while a chunk is being made.
    merged: Option<MergedRuns>,
    last: Option<Vec<u8>>,
}

/// What comes next.
struct Chunk {
    entries: Vec<Entry>,
    /// An entry whose key another has, too.
    duplicate: Option<Entry>,
}

impl SortedEntries {
    /// Reads all rows. `build` is told how far it is. Errors: the store's, 57014, 53100, 53200, 54000.
    pub(super) async fn read(
        rows: RowsRead,
        sorting: &Sorting,
        build: &Arc<IndexBuild>,
        abandoned: &Abandoned,
    ) -> Result<SortedEntries> {
        let slices = slices(&rows, sorting.readers).await?;
        let bytes_max = sorting.bytes_max / slices.len().max(1);
        let readers = slices.into_iter().map(|slice| {
            let held = HeldBytes::new(Arc::clone(&sorting.memory));
            let spill = Arc::clone(&sorting.spill);
            let sorter = RunSorter::new(spill, held, bytes_max, ENTRY_PREFIX_BYTES);
            let (rows, build, abandoned) = (rows.clone(), Arc::clone(build), abandoned.clone());
            query_threads::run(async move { read_slice(&rows, slice, sorter, &build, &abandoned).await })
        });
        let sorters = try_join_all(readers).await?;
        let merged = query_threads::run(async move { MergedRuns::new(sorters) }).await?;
        Ok(SortedEntries {
            rows,
            merged: Some(merged),
            last: None,
        })
    }

    /// The next entries; none at the end. Errors: 23505, the store's, 58030.
    pub(super) async fn next_chunk(&mut self) -> Result<Vec<Entry>> {
        let merged = self.merged.take();
        let mut merged = merged.ok_or_else(|| Error::internal("a chunk of entries that was given up"))?;
        let (last, unique) = (self.last.take(), self.rows.index.unique);
        let (merged, chunk) = query_threads::run(async move {
            let chunk = take_chunk(&mut merged, last, unique)?;
            Ok((merged, chunk))
        })
        .await?;
        self.merged = Some(merged);
        if let Some((key, value)) = &chunk.duplicate {
            let rows = &self.rows;
            return Err(duplicate_entry(&rows.txn, &rows.table, &rows.index, (key, value)).await?);
        }
        self.last = chunk.entries.last().map(|(key, _)| key.clone());
        Ok(chunk.entries)
    }
}

/// The keys of the rows in so many parts, or fewer.
async fn slices(rows: &RowsRead, parts: usize) -> Result<Vec<KeyRange>> {
    let whole = rows_range(&rows.table);
    if parts < 2 {
        return Ok(vec![whole]);
    }
    let regions = TableRegions::read_committed(&rows.txn, &rows.table).await?;
    let cuts = regions.cuts(&rows.table);
    // Where there are more regions than readers, each has about as many.
    let cuts = match cuts.len() + 1 > parts {
        true => {
            let cut = |part: usize| cuts[part * (cuts.len() + 1) / parts - 1].clone();
            (1..parts).map(cut).collect()
        }
        false => rows.txn.split_points(whole.clone(), parts).await?,
    };
    Ok(whole.split(&cuts))
}

async fn read_slice(
    rows: &RowsRead,
    slice: KeyRange,
    mut sorter: RunSorter,
    build: &IndexBuild,
    abandoned: &Abandoned,
) -> Result<RunSorter> {
    let mut maker = EntryMaker::new(&rows.table, &rows.index, rows.limits);
    let mut scan = scan_rows(&rows.txn, slice);
    let mut page = Page::new();
    loop {
        abandoned.next_step().await?;
        query_threads::check_left()?;
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(sorter);
        }
        maker.entries(&page, |entry| sorter.push(&entry.key, &entry.value))?;
        build.add_read(page.len());
        tokio::task::yield_now().await;
    }
}

/// `last`: the key before.
fn take_chunk(merged: &mut MergedRuns, mut last: Option<Vec<u8>>, unique: bool) -> Result<Chunk> {
    let mut chunk = Chunk {
        entries: Vec::new(),
        duplicate: None,
    };
    let mut bytes = 0;
    while chunk.entries.len() < CHUNK_ENTRIES && bytes < CHUNK_BYTES {
        let Some((key, value)) = merged.next_entry()? else {
            break;
        };
        let before = match chunk.entries.last() {
            Some((before, _)) => Some(before),
            None => last.as_ref(),
        };
        // What may stand more than once has the key of its row in its own.
        if unique && before.is_some_and(|before| before == key) {
            chunk.duplicate = Some((key.to_vec(), value.to_vec()));
            break;
        }
        bytes += key.len() + value.len();
        chunk.entries.push((key.to_vec(), value.to_vec()));
        last = None;
    }
    Ok(chunk)
}
