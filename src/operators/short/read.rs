//! `TableRead`: the table at the beginning of a chain, with the conditions on its rows; `Access`: how one run reads it.

use std::sync::{Arc, OnceLock};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use futures::stream::{self, BoxStream, StreamExt};

use super::filter::RunningFilter;
use super::run::RunningStep;
use crate::catalog::TableDef;
use crate::logical::column_mapping::replaced_columns;
use crate::logical::evaluable::{acts, reads_catalogs};
use crate::logical::filter_predicate::from_expr;
use crate::logical::placeholder::Constants;
use crate::logical::stored_table::ScannedTable;
use crate::operators::computed::Condition;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, KeptPath, OrderColumn, Predicate, Wanted, is_bounded_by};
use crate::scan::executor::{Demand, scan_batches, scan_stored};
use crate::scan::scan_metrics::ScanMetrics;
use crate::scan::table_access::plan_conditions;
use crate::scan::watched_reads::watch_reads;
use crate::scan::{RowsStream, ScannedColumns};
use crate::system::StatementContext;
use crate::table::RowLayout;
use crate::tree::{Column, Expr};
use crate::{Error, Result};

/// A table and the conditions on its rows.
#[derive(Debug)]
pub(super) struct TableRead {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// Which keys the statement's hints leave.
    index_hint: Option<IndexHint>,
    /// Positions in `TableDef::columns` of the columns that are read.
    positions: Vec<usize>,
    /// So many of them are enough when no condition is left to the filters.
    step_columns: usize,
    /// The conjuncts of WHERE.
    conditions: Vec<Condition>,
    /// What is read where filters have conditions left, and where they have none.
    scanned: OnceLock<[ScannedColumns; 2]>,
    /// The path of the first run, as far as it is good for others, and which rows were wanted first.
    kept: OnceLock<Option<(KeptPath, Vec<OrderColumn>)>>,
}

impl TableRead {
    /// Reads the table, without conditions so far.
    pub(super) fn new(scanned: ScannedTable) -> TableRead {
        TableRead {
            table: scanned.table,
            alias: scanned.alias,
            index_hint: scanned.index_hint,
            step_columns: scanned.positions.len(),
            positions: scanned.positions,
            conditions: Vec::new(),
            scanned: OnceLock::new(),
            kept: OnceLock::new(),
        }
    }

    /// What the statement calls the table.
    pub(super) fn alias(&self) -> &Arc<str> {
        &self.alias
    }

    pub(super) fn table(&self) -> Arc<TableDef> {
        Arc::clone(&self.table)
    }

    /// Whether its conditions, by their form, bound a key of it.
    pub(super) fn is_bounded(&self) -> bool {
        let columns = self.conditions.iter().filter_map(Condition::compared_column);
        let columns: Vec<usize> = columns.map(|column| self.positions[column]).collect();
        is_bounded_by(&self.table, &columns, &self.index_hint)
    }

    /// Whether no row has NULL in a column that is read.
    pub(super) fn is_never_null(&self, column: usize) -> bool {
        self.table.is_never_null(self.positions[column])
    }

    pub(super) fn add_condition(&mut self, condition: Condition) {
        self.conditions.push(condition);
    }

    pub(super) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Whether the number of the table's rows is the number of those that are read: there are no conditions, no row may be over,
    /// and they are no versions.
    pub(super) fn knows_its_rows(&self) -> bool {
        !self.has_conditions() && !self.table.options.expiry.may_be_over() && !self.table.is_of_versions()
    }

    /// Whether the statement's hints leave only some of its keys.
    pub(super) fn has_index_hint(&self) -> bool {
        self.index_hint.is_some()
    }

    /// Its conditions, each with the one column of the table (a position in `TableDef::columns`) that it compares; `None`: one compares
    /// none, or several.
    pub(super) fn conditions_by_column(&self) -> Option<Vec<(usize, &Expr)>> {
        let compared = self.conditions.iter().map(|condition| {
            let column = condition.compared_column()?;
            Some((self.positions[column], condition.written()))
        });
        compared.collect()
    }

    /// Whether a condition asks the catalogs.
    pub(super) fn reads_catalogs(&self) -> bool {
        let written = self.conditions.iter().map(Condition::written);
        written.into_iter().any(reads_catalogs)
    }

    /// Whether a condition on its rows does something.
    pub(super) fn acts(&self) -> bool {
        self.conditions.iter().map(Condition::written).any(acts)
    }

    /// So many columns its rows have for the steps.
    pub(super) fn step_columns(&self) -> usize {
        self.step_columns
    }

    /// Position in `TableDef::columns` of a column that is read.
    pub(super) fn position(&self, column: usize) -> usize {
        self.positions[column]
    }

    /// Reads only the columns that the steps use, and behind them those that only conditions use.
    pub(super) fn keep_columns(&mut self, used_by_steps: Vec<usize>) {
        let mut kept = used_by_steps;
        self.step_columns = kept.len();
        for column in self.conditions.iter().flat_map(Condition::columns) {
            if !kept.contains(&column) {
                kept.push(column);
            }
        }
        self.positions = kept.iter().map(|column| self.positions[*column]).collect();
        for condition in &mut self.conditions {
            condition.renumber(&kept);
        }
    }

    /// The columns that are read; `is_exact`: filters have no conditions left.
    fn scanned(&self, is_exact: bool) -> &ScannedColumns {
        let of = |columns: &[usize]| ScannedColumns::new(columns.to_vec());
        let both = || [of(&self.positions), of(&self.positions[..self.step_columns])];
        &self.scanned.get_or_init(both)[usize::from(is_exact)]
    }

    /// The layout of rows that have these columns.
    pub(super) fn layout(&self, columns: &[usize]) -> RowLayout {
        let positions: Vec<usize> = columns.iter().map(|column| self.positions[*column]).collect();
        RowLayout::new(&self.table, &positions)
    }

    /// Its conditions, with nothing but the names of the table's columns: those of tables with the same columns can be compared.
    pub(super) fn unqualified_conditions(&self) -> Option<Vec<Expr>> {
        let name = |column: &Column| Some(Expr::Column(Column::new_unqualified(column.name.as_str())));
        let written = self.conditions.iter().map(Condition::written);
        written
            .map(|condition| replaced_columns(condition.clone(), name))
            .collect()
    }

    /// What its conditions say with these constants, but for those that say something else each time.
    pub(super) fn stable_predicates(&self, constants: &Constants) -> Vec<Predicate> {
        let stable = self
            .conditions
            .iter()
            .filter(|condition| !condition.is_volatile());
        let predicates = stable.map(|condition| self.predicate(condition, constants));
        predicates.map_while(|predicate| predicate.ok()).collect()
    }

    fn predicate(&self, condition: &Condition, constants: &Constants) -> Result<Predicate> {
        let expr = constants.folded(condition.folded())?;
        Ok(from_expr(&expr, &self.table))
    }

    /// How the rows are reached with these constants. `first_in_order`: see [`Wanted`]. `not_null`: a column (a position in
    /// `TableDef::columns`) whose NULLs need not come. `None`: not at all, or only the
    /// general plan can say how.
    pub(super) fn access(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        first_in_order: &[OrderColumn],
        not_null: Option<usize>,
    ) -> Option<Access<'_>> {
        let mut predicates = Vec::with_capacity(self.conditions.len());
        let mut above = Vec::new();
        for condition in &self.conditions {
            if condition.is_volatile() {
                above.push(condition);
                continue;
            }
            let predicate = self.predicate(condition, constants).ok()?;
            if predicate.has_opaque() {
                above.push(condition);
            }
            predicates.push(predicate);
        }
        // A refusal is the general plan's to say: it sees more than the conditions as they are written.
        let not_null = not_null.filter(|column| !self.table.is_never_null(*column));
        predicates.extend(not_null.map(|column| Predicate::IsNull { column }.negate()));
        let columns = match above.is_empty() {
            true => &self.positions[..self.step_columns],
            false => &self.positions,
        };
        let wanted = Wanted {
            columns: Some(columns),
            first_in_order,
        };
        let path = match above.is_empty() && not_null.is_none() {
            true => self.kept_or_planned(predicates, wanted, ctx),
            false => plan_conditions(&self.table, predicates, wanted, ctx).ok(),
        };
        // So is whether the table is small: the general plan asks that before it runs.
        let path = path.filter(|path| !path.is_small_scan())?;
        Some(Access {
            read: self,
            path,
            above,
        })
    }

    /// The path that was kept, with these values; else what is planned, of which the first is kept.
    fn kept_or_planned(
        &self,
        predicates: Vec<Predicate>,
        wanted: Wanted<'_>,
        ctx: &StatementContext,
    ) -> Option<AccessPath> {
        let first = wanted.first_in_order;
        if let Some(Some((kept, kept_first))) = self.kept.get()
            && kept_first == first
            && let Some(path) = kept.with(&predicates, ctx.settings.multi_get_keys_max)
        {
            return Some(path);
        }
        if self.kept.get().is_some() {
            return plan_conditions(&self.table, predicates, wanted, ctx).ok();
        }
        let path = plan_conditions(&self.table, predicates.clone(), wanted, ctx).ok()?;
        self.kept
            .get_or_init(|| Some((KeptPath::of(&path, &predicates)?, first.to_vec())));
        Some(path)
    }
}

/// How one run reads the table.
pub(super) struct Access<'a> {
    read: &'a TableRead,
    path: AccessPath,
    /// Conditions that the path does not check.
    above: Vec<&'a Condition>,
}

impl Access<'_> {
    /// Whether every row that the path gives satisfies all conditions.
    pub(super) fn is_exact(&self) -> bool {
        self.above.is_empty()
    }

    /// Has the rows come in this order, if the path can; see [`AccessPath::serve`].
    pub(super) fn serve(&mut self, order: &[OrderColumn], may_merge: bool) -> bool {
        order.is_empty() || self.path.serve(order, may_merge)
    }

    /// Whether rows with the same values in these columns come one after the other.
    pub(super) fn keeps_together(&self, columns: &[usize]) -> bool {
        self.path.keeps_together(columns)
    }

    /// What checks the conditions that the path does not, and leaves out the columns that only these use: steps add theirs behind those
    /// that the steps use. Errors: 42P02.
    pub(super) fn filters(&self, constants: &Constants) -> Result<Vec<RunningStep>> {
        let has_more = self.columns().len() > self.read.step_columns;
        let of_steps = has_more.then(|| (0..self.read.step_columns).collect::<Vec<_>>());
        let last = self.above.len().saturating_sub(1);
        let filter = |(at, condition): (usize, &&Condition)| {
            let columns = of_steps.clone().filter(|_| at == last);
            Ok(RunningStep::Filter(RunningFilter::new(
                condition.bind(constants)?,
                columns,
            )))
        };
        self.above.iter().enumerate().map(filter).collect()
    }

    /// The conditions that the path does not check.
    pub(super) fn unchecked(&self) -> impl Iterator<Item = &Condition> {
        self.above.iter().copied()
    }

    /// Positions in `TableDef::columns` of the columns that are read.
    pub(super) fn columns(&self) -> &[usize] {
        self.read.scanned(self.is_exact()).positions()
    }

    /// The table, if all of one of its keys is read.
    pub(super) fn whole_table(&self) -> Option<Arc<TableDef>> {
        self.path.is_whole().then(|| Arc::clone(&self.path.table))
    }

    /// The path, if steps collect, and each row is fetched by a key that an index gave: how many they are tells whether to begin.
    pub(super) fn counted_path(&self, collects: bool) -> Option<Box<AccessPath>> {
        let is_by_gets = || self.path.ranges().is_some() && !self.path.covers(&self.read.positions);
        (collects && is_by_gets()).then(|| Box::new(self.path.clone()))
    }

    pub(super) fn into_path(self) -> AccessPath {
        self.path
    }

    /// Whether rows can leave as they are stored.
    pub(super) fn gives_stored(&self, layout: &RowLayout) -> bool {
        self.is_exact() && self.path.is_exact() && layout.is_formattable()
    }

    /// The rows as they are stored: see `gives_stored`.
    pub(super) fn stored(
        self,
        ctx: &StatementContext,
        layout: &Arc<RowLayout>,
        limit: Option<usize>,
        metrics: Arc<ScanMetrics>,
    ) -> RowsStream {
        let (txn, path) = (Arc::clone(&ctx.txn), Arc::new(self.path));
        scan_stored(txn, path, Arc::clone(layout), limit, metrics)
    }

    /// The rows as batches.
    pub(super) fn batches(
        self,
        ctx: &StatementContext,
        demand: Demand,
        metrics: Arc<ScanMetrics>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let columns = self.read.scanned(self.is_exact()).clone();
        let (txn, path) = (Arc::clone(&ctx.txn), Arc::new(self.path));
        let batches = scan_batches(txn, Arc::clone(&path), columns, demand, Arc::clone(&metrics));
        watch_reads(batches, ctx, &path, &metrics)
    }
}

/// One row without columns.
pub(super) fn one_row() -> BoxStream<'static, Result<RecordBatch>> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
    stream::iter([row.map_err(Error::arrow)]).boxed()
}
