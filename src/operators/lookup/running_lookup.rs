//! `RunningLookup`: a lookup under way, which joins batches of outer rows. Begun by `table_lookup`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_physical_expr::PhysicalExpr;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use super::inner_read::InnerRead;
use super::inner_rows::InnerRows;
use super::lookup_keys::RowKeys;
use super::partners::Joined;
use super::whole_inner::{LookupCost, all_rows};
use crate::catalog::TableDef;
use crate::codec::key::alike;
use crate::functions::evaluate::values;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, FullScanPolicy, PlanRules, Predicate, Wanted};
use crate::scan::executor::{Demand, scan_batches};
use crate::scan::scan_metrics::ScanMetrics;
use crate::scan::table_access::plan_predicates;
use crate::system::query_threads::is_leavable;
use crate::system::statement_memory::HeldBytes;
use crate::tree::Partners;
use crate::txn::Transaction;
use crate::types::value_at;
use crate::{Error, Result};

/// What lookups are counted in, for EXPLAIN ANALYZE.
#[derive(Debug, Default)]
pub struct LookupFigures {
    /// What is read for them.
    pub scan: Arc<ScanMetrics>,
    /// Keys that were looked up.
    pub keys: AtomicU64,
    /// Reads that they were looked up by.
    pub batches: AtomicU64,
    /// Rows that were kept once lookups gave way to reading all of them.
    pub kept: AtomicU64,
}

/// A lookup under way.
pub(crate) struct RunningLookup {
    pub(super) txn: Arc<Transaction>,
    /// What the inner rows at hand take of the statement's memory.
    pub(super) memory: HeldBytes,
    pub(super) table: Arc<TableDef>,
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// What of the conditions the read itself checks, so that it reads less.
    pub(super) narrowing: Vec<Predicate>,
    /// With the key that the plan chose.
    pub(super) rules: PlanRules,
    /// Readers of the whole inner side.
    pub(super) readers_max: usize,
    pub(super) cost: LookupCost,
    /// All inner rows, once they are kept.
    pub(super) whole: Option<Arc<InnerRows>>,
    /// What makes keys of columns, once some are needed.
    pub(super) converter: Option<RowConverter>,
    pub(super) read: Arc<InnerRead>,
    pub(super) columns: Vec<usize>,
    pub(super) outer_columns: usize,
    pub(super) partners: Partners,
    /// Outer rows at a time.
    pub(super) rows_max: usize,
    /// Those that are still to be joined.
    pub(super) outer: RecordBatch,
    /// Those that are being joined.
    pub(super) joined: Option<Joined>,
    pub(super) stays: bool,
    pub(super) figures: Arc<LookupFigures>,
}

impl RunningLookup {
    /// Whether it goes on however many outer rows there are.
    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    /// Counts itself in these.
    pub(crate) fn observe(&mut self, figures: Arc<LookupFigures>) {
        self.figures = figures;
    }

    /// Takes a batch of outer rows, whose order is kept; [`RunningLookup::next`] joins them. Those before must be joined.
    pub(crate) fn push(&mut self, outer: RecordBatch) {
        self.outer = outer;
    }

    /// Whether there are outer rows to be joined.
    pub(crate) fn has_more(&self) -> bool {
        self.outer.num_rows() > 0 || self.joined.is_some()
    }

    /// Leaves them out.
    pub(crate) fn forget(&mut self) {
        self.outer = no_rows();
        self.joined = None;
    }

    /// Joins some of the outer rows. Errors: 53200 when one of them has more inner rows than the statement may hold.
    pub(crate) async fn next(&mut self) -> Result<RecordBatch> {
        let mut joined = match self.joined.take() {
            Some(joined) => joined,
            None => self.look_up().await?,
        };
        let rows = joined.next(&self.conditions, self.partners, &self.read.joined)?;
        self.joined = (!joined.is_done()).then_some(joined);
        Ok(rows)
    }

    /// Finds the inner rows of as many of the outer rows as are looked up at a time.
    async fn look_up(&mut self) -> Result<Joined> {
        // What is short stays with the connection, and goes on elsewhere once it is not.
        if self.whole.is_none() && is_leavable() && self.cost.is_whole(&self.txn, &self.table).await? {
            self.keep_whole().await?;
        }
        loop {
            let all = self.outer.num_rows();
            let rows = match self.whole {
                Some(_) => all,
                None => self.rows_max.min(all),
            };
            let part = match rows == all {
                true => self.outer.clone(),
                false => self.outer.slice(0, rows),
            };
            let keys = self.keys.iter().map(|key| values(key, &part));
            let keys = keys.collect::<Result<Vec<ArrayRef>>>()?;
            let given = self.given(part)?;
            let Some(joined) = self.joined(given, &keys, rows).await? else {
                // They have too many inner rows together.
                self.rows_max = rows / 2;
                continue;
            };
            self.outer = match rows == all {
                true => no_rows(),
                false => self.outer.slice(rows, all - rows),
            };
            return Ok(joined);
        }
    }

    /// What the join gives of outer rows.
    fn given(&self, outer: RecordBatch) -> Result<RecordBatch> {
        if outer.num_columns() == self.outer_columns {
            return Ok(outer);
        }
        let columns: Vec<usize> = (0..self.outer_columns).collect();
        outer.project(&columns).map_err(Error::arrow)
    }

    /// So many outer rows and the inner rows of their keys. `None`: these are more than the statement may hold.
    async fn joined(&mut self, outer: RecordBatch, keys: &[ArrayRef], rows: usize) -> Result<Option<Joined>> {
        if self.whole.is_none() {
            let read = Arc::clone(&self.read);
            if let Some(row_keys) = read
                .row_keys
                .as_ref()
                .filter(|row_keys| row_keys.keys.takes(keys))
            {
                return self.joined_by_row_keys(row_keys, outer, keys, rows).await;
            }
        }
        if let Some(whole) = &self.whole {
            let whole = Arc::clone(whole);
            return Ok(Some(Joined::of_equal(outer, &self.encoded(keys)?, &whole)));
        }
        let Some(found) = self.fetch(keys, rows).await? else {
            return Ok(None);
        };
        if rows == 1 {
            return Ok(Some(Joined::of_one(outer, self.read.joined_part(&found)?)));
        }
        let inner = self.by_key(&found)?;
        Ok(Some(Joined::of_equal(outer, &self.encoded(keys)?, &inner)))
    }

    async fn joined_by_row_keys(
        &mut self,
        row_keys: &RowKeys,
        outer: RecordBatch,
        keys: &[ArrayRef],
        rows: usize,
    ) -> Result<Option<Joined>> {
        let found = row_keys.fetch(&self.txn, keys, rows, &self.figures.scan).await?;
        self.figures.batches.fetch_add(1, Ordering::Relaxed);
        self.count_keys(found.keys);
        self.cost.add_rows(found.rows.num_rows() as u64, false);
        match self.memory.resize(found.rows.get_array_memory_size()) {
            Err(_) if rows > 1 => Ok(None),
            held => held.map(|()| Some(Joined::of_one_each(outer, found.rows, found.places))),
        }
    }

    /// The inner rows of the keys of so many outer rows. `None`: they are more than the statement may hold. Errors: 53200 when
    /// those of one are.
    async fn fetch(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Option<RecordBatch>> {
        let mut found = RecordBatch::new_empty(Arc::clone(&self.read.schema));
        if let Some(path) = self.path_of(keys, rows)? {
            let (txn, path) = (Arc::clone(&self.txn), Arc::new(path));
            let metrics = Arc::clone(&self.figures.scan);
            self.figures.batches.fetch_add(1, Ordering::Relaxed);
            let demand = self.demand(rows);
            let batches = scan_batches(txn, path, self.read.scanned.clone(), demand, metrics);
            found = match self.gather(batches).await? {
                Err(_) if rows > 1 => return Ok(None),
                held => held?,
            };
        }
        self.cost.add_rows(found.num_rows() as u64, !self.read.is_covered);
        Ok(Some(found))
    }

    /// How many of the inner rows of so many outer rows are wanted: whether one has any, the first tells.
    fn demand(&self, outer: usize) -> Demand {
        let is_told = outer == 1 && !self.partners.are_given() && self.conditions.is_empty();
        match is_told {
            true => Demand::Rows(1),
            false => Demand::All,
        }
    }

    /// Reads all inner rows, to look up no more. If the statement may not hold them, lookups go on.
    async fn keep_whole(&mut self) -> Result<()> {
        let key = match self.read.is_covered {
            true => self.rules.index_hint.clone(),
            false => Some(IndexHint::Ignore),
        };
        let rules = PlanRules {
            full_scan: FullScanPolicy::Allow,
            index_hint: key,
            ..self.rules.clone()
        };
        let (path, metrics) = (self.path(None, &rules)?, &self.figures.scan);
        let batches = all_rows(&self.txn, path, &self.read.scanned, self.readers_max, metrics);
        let whole = match self.gather(batches).await? {
            Ok(found) => Some(self.by_key(&found)?),
            Err(_) => None,
        };
        match whole.filter(|whole| self.memory.resize(whole.size_bytes()).is_ok()) {
            Some(whole) => {
                let rows = whole.rows().num_rows() as u64;
                self.figures.kept.fetch_add(rows, Ordering::Relaxed);
                self.whole = Some(Arc::new(whole));
            }
            None => {
                self.memory.resize(0)?;
                self.cost.lift();
            }
        }
        Ok(())
    }

    /// How the rows of these keys are reached. `None`: none of them can be had, for they are NULL.
    fn path_of(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Option<AccessPath>> {
        if self.narrowing.is_empty()
            && let Some((count, path)) = self.read.path_to(keys, rows)
        {
            self.count_keys(count);
            return Ok(path);
        }
        match self.predicate(keys)? {
            Some(predicate) => self.path(Some(predicate), &self.rules).map(Some),
            None => Ok(None),
        }
    }

    fn count_keys(&mut self, keys: usize) {
        self.figures.keys.fetch_add(keys as u64, Ordering::Relaxed);
        self.cost.add_keys(keys as u64);
    }

    /// How rows are reached for which this holds, and what the read itself can check.
    fn path(&self, predicate: Option<Predicate>, rules: &PlanRules) -> Result<AccessPath> {
        let wanted = Wanted {
            columns: Some(self.read.scanned.positions()),
            first_in_order: &[],
        };
        let predicates = self.narrowing.iter().cloned().chain(predicate);
        plan_predicates(&self.table, predicates.collect(), wanted, rules)
    }

    /// Batches as one. The inner error is 53200: the statement may not hold them. Errors: those of reading.
    async fn gather(
        &mut self,
        batches: BoxStream<'static, Result<RecordBatch>>,
    ) -> Result<Result<RecordBatch>> {
        let (mut batches, mut found, mut bytes) = (batches, Vec::new(), 0);
        while let Some(batch) = batches.try_next().await? {
            bytes += batch.get_array_memory_size();
            // They are put together into one batch.
            if let Err(full) = self.memory.resize(2 * bytes) {
                return Ok(Err(full));
            }
            found.push(batch);
        }
        concat_batches(&self.read.schema, &found)
            .map(Ok)
            .map_err(Error::arrow)
    }

    /// That a row has one of these keys, each named once. `None`: none of them can be had, for they are NULL.
    fn predicate(&mut self, keys: &[ArrayRef]) -> Result<Option<Predicate>> {
        let encoded = self.encoded(keys)?;
        let mut seen = std::collections::HashSet::with_capacity(encoded.num_rows());
        let mut wanted = Vec::with_capacity(encoded.num_rows());
        for (row, key) in encoded.iter().enumerate() {
            if !keys.iter().all(|key| key.is_valid(row)) || !seen.insert(key.data()) {
                continue;
            }
            let key = keys.iter().zip(&self.columns);
            let key = key.map(|(key, position)| value_at(key, row, &self.table.columns[*position].ty));
            wanted.push(key.collect::<Result<Vec<_>>>()?);
        }
        self.count_keys(wanted.len());
        Ok(match (wanted.is_empty(), self.columns.as_slice()) {
            (true, _) => None,
            (false, [column]) => Some(Predicate::InList {
                column: *column,
                values: wanted.into_iter().flatten().collect(),
            }),
            (false, columns) => Some(Predicate::RowIn {
                columns: columns.to_vec(),
                rows: wanted,
            }),
        })
    }

    /// Rows that were read, by their keys.
    fn by_key(&mut self, read: &RecordBatch) -> Result<InnerRows> {
        let keys = &read.columns()[..self.columns.len()];
        Ok(InnerRows::new(
            self.read.joined_part(read)?,
            self.encoded(keys)?,
            keys,
        ))
    }

    /// Keys in a form that compares.
    fn encoded(&mut self, keys: &[ArrayRef]) -> Result<Rows> {
        let types = self.columns.iter().map(|column| &self.table.columns[*column].ty);
        let keys: Vec<ArrayRef> = keys.iter().zip(types).map(|(key, ty)| alike(key, ty)).collect();
        let converter = match self.converter.take() {
            Some(converter) => converter,
            None => {
                let fields = keys.iter().map(|key| SortField::new(key.data_type().clone()));
                RowConverter::new(fields.collect()).map_err(Error::arrow)?
            }
        };
        let rows = converter.convert_columns(&keys).map_err(Error::arrow);
        self.converter = Some(converter);
        rows
    }
}

pub(super) fn no_rows() -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::empty()))
}
