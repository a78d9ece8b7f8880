//! `ScanLayouts`: how a scan takes apart what an access path reads; `ScannedColumns`: the columns that it gives, which keep the layouts of
//! the last scan of them: a plan that runs again mostly reads by the same key, and its batches then have the same schema, too.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;

use crate::catalog::TableDef;
use crate::codec::keyspace::IndexId;
use crate::plan::{AccessPath, Predicate};
use crate::table::{RowLayout, row_schema};

/// The columns that a scan gives.
#[derive(Debug, Clone)]
pub struct ScannedColumns(Arc<Scanned>);

#[derive(Debug)]
struct Scanned {
    /// Positions in `TableDef::columns`.
    positions: Vec<usize>,
    last: Mutex<Option<Arc<ScanLayouts>>>,
}

impl ScannedColumns {
    /// Those at `positions` (in `TableDef::columns`); may be empty, then batches have only a row count.
    pub fn new(positions: Vec<usize>) -> ScannedColumns {
        let last = Mutex::default();
        ScannedColumns(Arc::new(Scanned { positions, last }))
    }

    /// See [`ScannedColumns::new`].
    pub fn positions(&self) -> &[usize] {
        &self.0.positions
    }

    /// How they are read by a path.
    pub(super) fn layouts(&self, path: &AccessPath) -> Arc<ScanLayouts> {
        let filtered = path.residual.as_ref().map(columns_of);
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) if last.serves(path, filtered.as_deref()) => Arc::clone(last),
            _ => {
                let layouts = Arc::new(ScanLayouts::new(path, filtered, self.positions()));
                *last = Some(Arc::clone(&layouts));
                layouts
            }
        }
    }
}

/// Which columns are decoded of what a path reads, and how they stand there.
#[derive(Debug)]
pub(super) struct ScanLayouts {
    table: Arc<TableDef>,
    /// The id of the key that is read.
    index: IndexId,
    /// Whether its entries hold all that is read.
    pub(super) is_covered: bool,
    /// What is read of them, or of the rows that they are of.
    pub(super) reads_values: bool,
    /// Of the columns that are given those that the residual does not read.
    pub(super) others: Arc<RowLayout>,
    /// Where there is a residual.
    pub(super) filtered: Option<FilteredLayout>,
}

/// The columns that a residual reads, and where each of those that are given is decoded.
#[derive(Debug)]
pub(super) struct FilteredLayout {
    /// As the residual names them.
    read: Vec<usize>,
    /// Those that are given, too, come first: so many.
    pub(super) own: Arc<RowLayout>,
    pub(super) given: usize,
    pub(super) columns: Vec<DecodedBy>,
    /// The schema of what is given.
    pub(super) schema: SchemaRef,
}

/// Who decodes a column, and at which place it stands there.
#[derive(Debug)]
pub(super) enum DecodedBy {
    Filter(usize),
    Others(usize),
}

impl ScanLayouts {
    fn new(path: &AccessPath, filtered: Option<Vec<usize>>, positions: &[usize]) -> ScanLayouts {
        let read = filtered.unwrap_or_default();
        let mut first_given = read.clone();
        first_given.sort_by_key(|column| !positions.contains(column));
        let rest = positions.iter().filter(|column| !read.contains(column));
        let rest: Vec<usize> = rest.copied().collect();
        let is_covered = path.covers(&[first_given.as_slice(), &rest].concat());
        let layout = |columns: &[usize]| Arc::new(layout_of(path, columns, is_covered));
        let others = layout(&rest);
        let filtered = path.residual.as_ref().map(|_| {
            let own = layout(&first_given);
            FilteredLayout::new(read, own, &others, &path.table, positions)
        });
        let own_values = filtered
            .as_ref()
            .is_some_and(|filtered| filtered.own.reads_values());
        ScanLayouts {
            table: Arc::clone(&path.table),
            index: path.index,
            is_covered,
            reads_values: own_values || others.reads_values(),
            others,
            filtered,
        }
    }

    /// Whether they are those of a path whose residual reads these columns.
    fn serves(&self, path: &AccessPath, filtered: Option<&[usize]>) -> bool {
        let own = self.filtered.as_ref().map(|filtered| filtered.read.as_slice());
        Arc::ptr_eq(&self.table, &path.table) && self.index == path.index && own == filtered
    }
}

impl FilteredLayout {
    fn new(
        read: Vec<usize>,
        own: Arc<RowLayout>,
        others: &RowLayout,
        table: &TableDef,
        positions: &[usize],
    ) -> FilteredLayout {
        let place = |columns: &[usize], column| columns.iter().position(|other| *other == column);
        let columns = positions.iter().map(|&column| {
            let in_filter = place(own.projection(), column).map(DecodedBy::Filter);
            let in_others = || place(others.projection(), column).map(DecodedBy::Others);
            in_filter
                .or_else(in_others)
                .expect("every column is decoded by one of them")
        });
        let given = own.projection().iter();
        FilteredLayout {
            columns: columns.collect(),
            given: given.filter(|column| positions.contains(column)).count(),
            schema: row_schema(table, positions),
            read,
            own,
        }
    }
}

/// How these columns stand in what a path reads: in the entries of its key if that covers all that is read, else in the rows
/// that the entries are of.
pub(super) fn layout_of(path: &AccessPath, columns: &[usize], is_covered: bool) -> RowLayout {
    match is_covered {
        true => RowLayout::of_key(&path.table, path.key(), columns),
        false => RowLayout::new(&path.table, columns),
    }
}

/// The columns that a condition reads.
fn columns_of(condition: &Predicate) -> Vec<usize> {
    let mut columns = Vec::new();
    condition.for_each_column(&mut |column| {
        if !columns.contains(&column) {
            columns.push(column);
        }
    });
    columns
}
