//! `Lookup`: a join whose inner side is read by a key of it, or the beginning of one, that the outer rows give: for each batch of outer
//! rows one multi-get, or one scan of several ranges; when these prove to be many, all of it is read in one piece (`whole_inner`). The
//! order of the outer rows stays.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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
use crate::catalog::{IndexDef, TableDef};
use crate::functions::evaluate::values;
use crate::logical::filter_predicate::from_expr;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, CompareOp, FullScanPolicy, PlanRules, Predicate, Wanted, plan_equality};
use crate::scan::executor::{Demand, scan_batches};
use crate::scan::scan_metrics::ScanMetrics;
use crate::scan::table_access::plan_predicates;
use crate::system::StatementContext;
use crate::system::query_threads::is_leavable;
use crate::system::statement_memory::HeldBytes;
use crate::tree::{Expr, Inner, Partners, RowSchema, fold_constants};
use crate::txn::Transaction;
use crate::types::value_at;
use crate::{Error, Result};

/// Outer rows that are looked up at a time, unless settings allow fewer.
const KEYS_MAX: usize = 512;

/// The inner side of the join.
#[derive(Debug)]
pub(crate) struct Lookup {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// The columns that rows are looked up by (positions in `TableDef::columns`).
    columns: Vec<usize>,
    /// For each of them its value, computed of the outer row.
    keys: Vec<Computed>,
    /// How one outer row's rows are reached.
    path: Arc<AccessPath>,
    /// Positions in `TableDef::columns` of the columns that the join gives, or its conditions ask for.
    positions: Vec<usize>,
    /// So many columns of an outer row stand before them.
    outer_columns: usize,
    partners: Partners,
    /// What an inner row must satisfy, beside its key, to count: over outer and inner columns.
    conditions: Vec<Computed>,
    /// Those of them that are over inner columns alone.
    own_conditions: Vec<Expr>,
    /// What is the same in all runs, worked out by the first.
    read: OnceLock<Arc<InnerRead>>,
}

impl Lookup {
    /// For rows of `outer`; the conditions are over `both`: the columns of these, then the inner ones. `None`: no key of the table serves
    /// it, or something takes more than rows.
    pub(crate) fn new(
        inner: Inner,
        outer: &RowSchema,
        both: &RowSchema,
        partners: Partners,
        conditions: &[Expr],
    ) -> Option<Lookup> {
        let outer_columns = outer.fields().len();
        let conditions = conditions.iter().map(|condition| Computed::new(condition, both));
        let (mut positions, mut conditions) = (inner.positions, conditions.collect::<Option<Vec<_>>>()?);
        let own_conditions = own_conditions(&conditions, outer_columns);
        if !partners.are_given() {
            positions = only_asked(positions, outer_columns, &mut conditions);
        }
        let (columns, keys): (Vec<usize>, Vec<Expr>) = inner.keys.into_iter().unzip();
        let keys = keys
            .iter()
            .map(|key| Computed::new(key, outer))
            .collect::<Option<Vec<_>>>()?;
        let wanted = Wanted {
            columns: Some(&positions),
            first_in_order: &[],
        };
        Some(Lookup {
            path: Arc::new(plan_equality(&inner.table, &columns, wanted, &inner.index_hint)?),
            table: inner.table,
            alias: inner.alias,
            columns,
            keys,
            positions,
            outer_columns,
            partners,
            conditions,
            own_conditions,
            read: OnceLock::new(),
        })
    }

    /// Whether an outer row has one inner row at most, which one get finds.
    pub(crate) fn is_of_one_row(&self) -> bool {
        self.path.is_of_row_gets()
    }

    pub(crate) fn outer_columns(&self) -> usize {
        self.outer_columns
    }

    /// Positions in `TableDef::columns` of the columns that it gives behind those of outer rows, or its conditions ask for.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Columns that it gives behind those of outer rows.
    pub(crate) fn inner_columns(&self) -> usize {
        match self.partners.are_given() {
            true => self.positions.len(),
            false => 0,
        }
    }

    /// The columns it looks up by, by name, and what they equal.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &Computed)> {
        let names = self.columns.iter();
        names
            .map(|position| self.table.columns[*position].name.as_str())
            .zip(&self.keys)
    }

    pub(crate) fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// The key of the table that serves it.
    pub(crate) fn key(&self) -> &IndexDef {
        self.path.key()
    }

    /// What the statement calls the table.
    pub(crate) fn alias(&self) -> &Arc<str> {
        &self.alias
    }

    pub(crate) fn partners(&self) -> Partners {
        self.partners
    }

    /// What an inner row must satisfy beside its key.
    pub(crate) fn conditions(&self) -> &[Computed] {
        &self.conditions
    }

    /// What it computes of rows whose columns go on behind it.
    pub(crate) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        let conditions = match self.partners.are_given() {
            true => self.conditions.iter_mut(),
            false => [].iter_mut(),
        };
        self.keys.iter_mut().chain(conditions)
    }

    /// Columns of outer rows that its conditions ask for.
    pub(crate) fn outer_columns_asked(&self) -> Vec<usize> {
        let asked = self.conditions.iter().flat_map(Computed::columns);
        asked.filter(|column| *column < self.outer_columns).collect()
    }

    /// From now on outer rows have only the columns `outer`, and it gives only these of the inner ones.
    pub(crate) fn keep_columns(&mut self, outer: &[usize], kept: &[usize]) {
        if self.partners.are_given() {
            self.positions = kept.iter().map(|column| self.positions[*column]).collect();
        } else {
            // Its inner columns are its own: they only move.
            let first = self.outer_columns;
            let inner = first..first + self.positions.len();
            let columns: Vec<usize> = outer.iter().copied().chain(inner).collect();
            for condition in &mut self.conditions {
                condition.renumber(&columns);
            }
        }
        self.outer_columns = outer.len();
        self.read = OnceLock::new();
    }

    fn read(&self) -> &Arc<InnerRead> {
        let read = || InnerRead::new(&self.path, &self.columns, &self.positions);
        self.read.get_or_init(|| Arc::new(read()))
    }

    /// What of its conditions the read itself can check. Errors: 42P02.
    fn narrowing(&self, constants: &Constants) -> Result<Vec<Predicate>> {
        let mut narrowing = Vec::with_capacity(self.own_conditions.len());
        for condition in &self.own_conditions {
            // One that fails does so when it is evaluated, if it ever is.
            if let Ok(condition) = fold_constants(constants.replace(condition.clone())?) {
                narrowing.push(from_expr(&condition, &self.table));
            }
        }
        narrowing.retain(narrows);
        Ok(narrowing)
    }

    /// `stays`: see [`RunningLookup::stays`]. Errors: 42P02.
    pub(crate) fn start(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        stays: bool,
    ) -> Result<RunningLookup> {
        let bind = |computed: &[Computed]| computed.iter().map(|one| one.bind(constants)).collect();
        let keys: Result<_> = bind(&self.keys);
        let conditions: Result<_> = bind(&self.conditions);
        ctx.generated_columns(&self.table)?;
        let rules = PlanRules {
            index_hint: Some(IndexHint::Force(self.key().name.clone())),
            ..ctx.plan_rules(&self.table)
        };
        let mut cost = LookupCost::default();
        if ctx.hints.index.is_some() || ctx.settings.full_scan == FullScanPolicy::Forbid {
            cost.lift();
        }
        let ranges = self.path.ranges().map_or(0, <[_]>::len);
        let rows_max = match ctx.settings.ranges_max.checked_div(ranges) {
            Some(rows_max) => rows_max,
            None => ctx.settings.multi_get_keys_max,
        };
        Ok(RunningLookup {
            txn: Arc::clone(&ctx.txn),
            memory: HeldBytes::new(Arc::clone(&ctx.memory)),
            table: Arc::clone(&self.table),
            keys: keys?,
            conditions: conditions?,
            narrowing: self.narrowing(constants)?,
            rules,
            readers_max: ctx.settings.readers_max(),
            cost,
            whole: None,
            converter: None,
            read: Arc::clone(self.read()),
            columns: self.columns.clone(),
            outer_columns: self.outer_columns,
            partners: self.partners,
            rows_max: KEYS_MAX.min(rows_max).max(1),
            outer: no_rows(),
            joined: None,
            stays,
            figures: Arc::default(),
        })
    }
}

fn no_rows() -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::empty()))
}

/// Those of the conditions that are over inner columns alone.
fn own_conditions(conditions: &[Computed], outer_columns: usize) -> Vec<Expr> {
    let is_own = |condition: &&Computed| {
        let columns = condition.columns();
        !columns.is_empty() && columns.iter().all(|column| *column >= outer_columns)
    };
    let own = conditions.iter().filter(is_own).map(Computed::written);
    own.filter(|condition| !condition.is_volatile())
        .cloned()
        .collect()
}

/// Whether a condition leaves as many ranges of a key as there were, or fewer.
fn narrows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Compare { op, .. } => *op != CompareOp::NotEq,
        Predicate::IsNull { .. } | Predicate::IsTrue { .. } | Predicate::Like { .. } => true,
        _ => false,
    }
}

/// The inner columns that conditions ask for, which then know them by their new numbers.
fn only_asked(positions: Vec<usize>, outer_columns: usize, conditions: &mut [Computed]) -> Vec<usize> {
    let asked = conditions.iter().flat_map(Computed::columns);
    let mut asked: Vec<usize> = asked.filter(|column| *column >= outer_columns).collect();
    asked.sort_unstable();
    asked.dedup();
    let kept: Vec<usize> = (0..outer_columns).chain(asked.iter().copied()).collect();
    conditions
        .iter_mut()
        .for_each(|condition| condition.renumber(&kept));
    asked
        .iter()
        .map(|column| positions[*column - outer_columns])
        .collect()
}

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
    txn: Arc<Transaction>,
    /// What the inner rows at hand take of the statement's memory.
    memory: HeldBytes,
    table: Arc<TableDef>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// What of the conditions the read itself checks, so that it reads less.
    narrowing: Vec<Predicate>,
    /// With the key that the plan chose.
    rules: PlanRules,
    /// Readers of the whole inner side.
    readers_max: usize,
    cost: LookupCost,
    /// All inner rows, once they are kept.
    whole: Option<Arc<InnerRows>>,
    /// What makes keys of columns, once some are needed.
    converter: Option<RowConverter>,
    read: Arc<InnerRead>,
    columns: Vec<usize>,
    outer_columns: usize,
    partners: Partners,
    /// Outer rows at a time.
    rows_max: usize,
    /// Those that are still to be joined.
    outer: RecordBatch,
    /// Those that are being joined.
    joined: Option<Joined>,
    stays: bool,
    figures: Arc<LookupFigures>,
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
        let converter = match self.converter.take() {
            Some(converter) => converter,
            None => {
                let fields = self.read.schema.fields()[..self.columns.len()].iter();
                let fields = fields.map(|field| SortField::new(field.data_type().clone()));
                RowConverter::new(fields.collect()).map_err(Error::arrow)?
            }
        };
        let rows = converter.convert_columns(keys).map_err(Error::arrow);
        self.converter = Some(converter);
        rows
    }
}
