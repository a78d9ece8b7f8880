//! `KeyspanScanExec`: the node that reads a table by its access path. `table_provider` plans it, `parallel` gives it several
//! readers, EXPLAIN shows it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::stats::Precision;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result as DataFusionResult, Statistics};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use super::build_keys::{BuildKeys, JoinKeys, Order};
use super::first_rows::FirstRows;
use super::known_order::{key_order, order_columns, with_order};
use super::node_properties;
use super::observer::CountMore;
use super::open_conditions::{OpenConditions, PathChoice, has_form_of, other_form};
use super::ordered_path::OrderedRows;
use super::planning::statement_context;
use super::scan_fallback::ScanFallback;
use crate::Result;
use crate::logical::filter_predicate::from_expr;
use crate::operators::scan_estimate::ScanEstimate;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, OrderColumn, Predicate, Wanted, is_bounded_by};
use crate::scan::ScannedColumns;
use crate::scan::executor::{Demand, scan_batches};
use crate::scan::read_budget::{ReadBudget, scan_within};
use crate::scan::scan_metrics::ScanMetrics;
use crate::scan::shared_scan::{SharedParts, SharedScan};
use crate::scan::table_access::plan_conditions;
use crate::scan::watched_reads::watch_reads;
use crate::system::StatementContext;
use crate::system::allowance::taken;
use crate::system::datafusion_error::to_datafusion;
use crate::table::row_schema;
use crate::tree::Expr;

/// Batches as they are read.
type RowBatches = BoxStream<'static, Result<RecordBatch>>;

/// Reads a table by its access path.
#[derive(Debug, Clone)]
pub struct KeyspanScanExec {
    path: Arc<AccessPath>,
    /// What the statement calls the table.
    alias: Arc<str>,
    /// What the path was planned for, as the plan has it.
    conditions: Arc<[Expr]>,
    /// Of the output.
    columns: ScannedColumns,
    limit: Option<usize>,
    /// What is likely of its rows, but for the limit.
    estimate: ScanEstimate,
    /// Which keys the statement's hints leave.
    index_hint: Option<IndexHint>,
    /// How many may read at once, if somebody wants it.
    readers_max: usize,
    /// What may bound it once a join above has its build side.
    build_keys: Option<BuildKeys>,
    /// Where nobody needs the order of its index: what may be read in place of that.
    walked: Option<ScanFallback>,
    /// More than one part: several readers, in no order.
    shared: Option<SharedParts>,
    /// In a generic plan: what the conditions say in a run.
    open: Option<OpenConditions>,
    /// A column (a position in `TableDef::columns`) whose NULLs do not come.
    not_null: Option<usize>,
    /// How much of it is read before the rows are made in another way.
    budget: Option<Arc<ReadBudget>>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: Arc<ScanMetrics>,
}

impl KeyspanScanExec {
    /// Reads the columns at `positions` (of `TableDef::columns`), at most `limit` rows. `conditions`: what the path was
    /// planned for, as the plan has it.
    pub(super) fn new(
        path: AccessPath,
        (alias, conditions): (&Arc<str>, &[Expr]),
        positions: Vec<usize>,
        limit: Option<usize>,
        readers_max: usize,
    ) -> KeyspanScanExec {
        let schema = row_schema(&path.table, &positions);
        let properties = node_properties::in_order(key_order(&path, &positions, &schema));
        KeyspanScanExec {
            alias: Arc::clone(alias),
            conditions: conditions.into(),
            path: Arc::new(path),
            columns: ScannedColumns::new(positions),
            limit,
            estimate: ScanEstimate::unknown(&schema),
            index_hint: None,
            readers_max,
            build_keys: None,
            walked: None,
            shared: None,
            open: None,
            not_null: None,
            budget: None,
            schema,
            properties,
            metrics: Arc::default(),
        }
    }

    /// The scan, of whose rows this is likely.
    pub(super) fn with_estimate(self, estimate: ScanEstimate) -> KeyspanScanExec {
        KeyspanScanExec { estimate, ..self }
    }

    /// The scan under a statement's hint.
    pub(super) fn with_index_hint(self, index_hint: Option<IndexHint>) -> KeyspanScanExec {
        KeyspanScanExec { index_hint, ..self }
    }

    /// The scan of a generic plan.
    pub(super) fn with_open_conditions(self, open: Option<OpenConditions>) -> KeyspanScanExec {
        KeyspanScanExec { open, ..self }
    }

    /// The scan, which gives no row that has NULL in this column; its path leaves those out.
    fn without_null(self, not_null: Option<usize>) -> KeyspanScanExec {
        KeyspanScanExec { not_null, ..self }
    }

    /// Rows of the table. `None`: nobody has counted them.
    pub(super) fn table_rows(&self) -> Option<u64> {
        self.estimate.table_rows
    }

    /// Whether it reads all of a key.
    pub(super) fn is_whole(&self) -> bool {
        self.path.is_whole()
    }

    /// Whether a key of the table leads from values of these columns (positions in `TableDef::columns`) to rows.
    pub(super) fn may_be_reached_by(&self, columns: &[usize]) -> bool {
        is_bounded_by(&self.path.table, columns, &self.index_hint)
    }

    /// The same rows in several parts, in no order; `None` when one reader is all there may be, or enough.
    pub(super) fn in_parts(&self) -> Option<Arc<dyn ExecutionPlan>> {
        let is_small = self.path.is_small_scan();
        let is_cut = self.limit.is_some() || self.budget.is_some();
        if self.readers_max < 2 || is_cut || self.path.ranges().is_none() || is_small {
            return None;
        }
        let properties = node_properties::in_parts(Arc::clone(&self.schema), self.readers_max);
        Some(Arc::new(KeyspanScanExec {
            shared: Some(SharedParts::default()),
            properties,
            ..self.clone()
        }))
    }

    /// The scan, bounded also by the keys of a join. `None`: no key of the table leads from them to rows, or a limit counts those.
    pub(super) fn narrowed_by(&self, keys: JoinKeys, order: Order) -> Option<KeyspanScanExec> {
        let is_walk = self.path.ranges().is_some() && self.path.merge.is_none();
        let serves = is_bounded_by(&self.path.table, &keys.bounded(), &self.keys_left(order));
        let known = self.build_keys.as_ref().map(BuildKeys::joins).unwrap_or_default();
        let keys = BuildKeys::new([known, &[keys]].concat(), order);
        let properties = match order {
            Order::Any => {
                let parts = self.properties.output_partitioning().partition_count();
                node_properties::in_parts(Arc::clone(&self.schema), parts)
            }
            Order::Kept => Arc::clone(&self.properties),
        };
        let is_cut = self.limit.is_some() || self.budget.is_some();
        (!is_cut && is_walk && serves).then(|| KeyspanScanExec {
            build_keys: Some(keys),
            properties,
            ..self.clone()
        })
    }

    /// The scan, in any order, if it fetches its rows by entries of an index, which the statement does not name. `None`: it does not, or
    /// may do so already.
    pub(super) fn in_any_order(&self) -> Option<KeyspanScanExec> {
        let may_walk = self.may_be_replanned() && self.index_hint.is_none();
        let properties = self.properties.as_ref().clone();
        let unordered = EquivalenceProperties::new(Arc::clone(&self.schema));
        (may_walk && ScanFallback::may_replace(&self.path, self.columns.positions())).then(|| {
            KeyspanScanExec {
                walked: Some(ScanFallback::default()),
                properties: Arc::new(properties.with_eq_properties(unordered)),
                ..self.clone()
            }
        })
    }

    /// The keys that a narrowed scan may read. What it finds by others can be read in the order of the primary key, and of no other.
    fn keys_left(&self, order: Order) -> Option<IndexHint> {
        match (order, self.path.index) {
            (Order::Any, _) | (Order::Kept, 0) => self.index_hint.clone(),
            (Order::Kept, _) => Some(IndexHint::Force(self.path.key().name.clone())),
        }
    }

    /// The rows of one of the parts on a path.
    fn part(&self, ctx: &StatementContext, path: &Arc<AccessPath>, part: usize) -> RowBatches {
        let batches = self.unwatched_part(ctx, path, part);
        match part {
            0 => watch_reads(batches, ctx, path, &self.metrics),
            _ => batches,
        }
    }

    fn unwatched_part(&self, ctx: &StatementContext, path: &Arc<AccessPath>, part: usize) -> RowBatches {
        let (txn, metrics) = (Arc::clone(&ctx.txn), Arc::clone(&self.metrics));
        let columns = self.columns.clone();
        if let Some(budget) = &self.budget {
            return scan_within(budget, txn, Arc::clone(path), &columns, metrics);
        }
        let Some(parts) = &self.shared else {
            return scan_batches(
                txn,
                Arc::clone(path),
                columns,
                Demand::of_limit(self.limit),
                metrics,
            );
        };
        let open = || SharedScan::new(Arc::clone(&txn), path, columns.clone(), Arc::clone(&metrics));
        match parts.join(self.readers_max, open) {
            Some(batches) => batches,
            // What cannot be shared is read by the first.
            None if part == 0 => scan_batches(txn, Arc::clone(path), columns, Demand::All, metrics),
            None => stream::empty().boxed(),
        }
    }

    /// The rows of one of the parts on the shortest path: once the joins above have their build sides, if these may bound it.
    async fn shortest_part(self, ctx: Arc<StatementContext>, part: usize) -> Result<RowBatches> {
        let path = match self.narrowed_path(&ctx).await? {
            Some(path) => path,
            None => self
                .walked_path(&ctx)
                .await?
                .unwrap_or_else(|| Arc::clone(&self.path)),
        };
        Ok(self.part(&ctx, &path, part))
    }

    /// What is read in place of what was planned because there is so much of that.
    async fn walked_path(&self, ctx: &StatementContext) -> Result<Option<Arc<AccessPath>>> {
        match &self.walked {
            Some(walked) => {
                let wanted = (self.predicates()?, self.columns.positions());
                walked.path(ctx, &self.path, wanted).await
            }
            None => Ok(None),
        }
    }

    /// What is read in place of what was planned because joins above keep few keys.
    async fn narrowed_path(&self, ctx: &StatementContext) -> Result<Option<Arc<AccessPath>>> {
        match (&self.build_keys, self.estimate.table_rows) {
            (Some(keys), Some(rows)) => {
                let mut rules = ctx.plan_rules(&self.path.table);
                rules.index_hint = self.keys_left(keys.order);
                let wanted = (&*self.predicates()?, self.columns.positions());
                keys.shorter(ctx, (&self.path, rows), wanted, rules).await
            }
            _ => Ok(None),
        }
    }

    /// What the conditions say. Errors: see [`OpenConditions::predicates`].
    fn predicates(&self) -> Result<Vec<Predicate>> {
        let table = &self.path.table;
        let mut predicates = match &self.open {
            Some(open) => open.predicates(&self.conditions, table)?,
            None => self.conditions.iter().map(|one| from_expr(one, table)).collect(),
        };
        predicates.extend(self.not_null.map(|column| Predicate::IsNull { column }.negate()));
        Ok(predicates)
    }

    /// The path by the conditions of the run at hand. Errors: those of planning the access; what tells that it is of another form than
    /// the plan around it was made for.
    fn path_of_run(&self, open: &OpenConditions) -> Result<Arc<AccessPath>> {
        let given = open.inputs.given()?;
        let (ctx, served) = (given.catalogs.statement(), open.served.as_slice());
        let path = match &open.choice {
            PathChoice::Key(key) => self.ordered_rows(served)?.path_of_key(key, ctx)?,
            choice => {
                let wanted = Wanted {
                    columns: Some(self.columns.positions()),
                    first_in_order: match choice {
                        PathChoice::FirstRows => served,
                        _ => &[],
                    },
                };
                let mut path = plan_conditions(&self.path.table, self.predicates()?, wanted, ctx)?;
                let is_served = served.is_empty() || path.serve(served, true);
                is_served.then_some(path)
            }
        };
        path.filter(|path| has_form_of(path, &self.path))
            .map(Arc::new)
            .ok_or_else(other_form)
    }

    /// How the table is reached.
    pub fn path(&self) -> &AccessPath {
        &self.path
    }
    /// What the statement calls the table.
    pub fn alias(&self) -> &str {
        &self.alias
    }
    /// What the path was planned for, as the plan has it.
    pub fn conditions(&self) -> &[Expr] {
        &self.conditions
    }
    /// Positions in `TableDef::columns` of the output.
    pub fn positions(&self) -> &[usize] {
        self.columns.positions()
    }
    /// Whether several readers share it.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
    /// What may bound it once a join above has its build side.
    pub fn build_keys(&self) -> Option<&BuildKeys> {
        self.build_keys.as_ref()
    }
    /// What may be read in place of what was planned, because there is much of that.
    pub fn walked(&self) -> Option<&ScanFallback> {
        self.walked.as_ref()
    }
    /// Whether its rows come in the order of the key that was planned to be read.
    pub fn is_ordered(&self) -> bool {
        !self.is_shared()
            && self.walked.is_none()
            && self.build_keys().is_none_or(|keys| keys.order == Order::Kept)
    }
    /// LIMIT, when it ends the scan.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }
    /// How much of it is read before the rows are made in another way.
    pub(crate) fn budget(&self) -> Option<&Arc<ReadBudget>> {
        self.budget.as_ref()
    }
    /// What was read.
    pub fn metrics_read(&self) -> &Arc<ScanMetrics> {
        &self.metrics
    }

    /// The scan by the key that gives the first rows in this order without reading more. `None`: no key that the conditions leave does, or
    /// so many rows are wanted that the table itself is shorter. Errors: see [`OpenConditions::predicates`].
    pub(super) fn first_in_order(
        &self,
        order: &[PhysicalSortExpr],
        first: &FirstRows<'_>,
    ) -> Result<Option<KeyspanScanExec>> {
        let Some(served) = order_columns(order, self.columns.positions()).filter(|_| self.may_be_replanned())
        else {
            return Ok(None);
        };
        if first.costs.is_some() {
            return self.cut_in_order((order, served), first);
        }
        let not_null = served
            .first()
            .map(|key| key.column)
            .filter(|column| first.drops_null && !self.path.table.is_never_null(*column));
        let mut predicates = self.predicates()?;
        predicates.extend(not_null.map(|column| Predicate::IsNull { column }.negate()));
        let wanted = Wanted {
            columns: Some(self.columns.positions()),
            first_in_order: &served,
        };
        // What is refused was so by the conditions alone; with the table's own key it is allowed.
        let Ok(mut path) = plan_conditions(&self.path.table, predicates, wanted, first.ctx) else {
            return Ok(None);
        };
        let is_whole_index = path.index != self.path.index && !path.covers(self.columns.positions());
        let pays = !is_whole_index || first.pay(self.estimate.table_rows);
        let is_served = pays && !path.is_small_scan() && path.serve(&served, true);
        Ok(is_served.then(|| {
            let scan = self.on_path(path, (order, served), PathChoice::FirstRows);
            scan.without_null(not_null.or(self.not_null))
        }))
    }

    /// The scan in this order until it has read too much, by its own key or, where its conditions bound none, by all of another. `None`: none
    /// has the order, or there are few rows. Errors: see [`OpenConditions::predicates`].
    fn cut_in_order(
        &self,
        (order, served): (&[PhysicalSortExpr], Vec<OrderColumn>),
        first: &FirstRows<'_>,
    ) -> Result<Option<KeyspanScanExec>> {
        let may_be_other = self.path.is_whole() && self.index_hint.is_none();
        let mut own = self.path.as_ref().clone();
        let path = match own.serve(&served, true) {
            true => Some(own),
            false if may_be_other => self.ordered_rows(&served)?.path(first.ctx),
            false => None,
        };
        let Some(path) = path.filter(|path| path.ranges().is_some() && !path.is_small_scan()) else {
            return Ok(None);
        };
        let budget = first.budget(self.estimate.table_rows, path.covers(self.columns.positions()));
        let choice = match path.index == self.path.index {
            true => PathChoice::Conditions,
            false => PathChoice::Key(path.key().name.clone()),
        };
        Ok(budget.map(|rows| KeyspanScanExec {
            budget: Some(Arc::new(ReadBudget::new(rows))),
            ..self.on_path(path, (order, served), choice)
        }))
    }

    fn ordered_rows<'a>(&'a self, order: &'a [OrderColumn]) -> Result<OrderedRows<'a>> {
        Ok(OrderedRows {
            table: &self.path.table,
            predicates: self.predicates()?,
            positions: self.columns.positions(),
            order,
        })
    }

    /// Whether nobody counts on how it is read so far.
    fn may_be_replanned(&self) -> bool {
        let is_cut = self.limit.is_some() || self.budget.is_some();
        !is_cut && self.shared.is_none() && self.walked.is_none() && self.build_keys.is_none()
    }

    /// The scan on another path, which serves an order.
    fn on_path(
        &self,
        path: AccessPath,
        (order, served): (&[PhysicalSortExpr], Vec<OrderColumn>),
        choice: PathChoice,
    ) -> KeyspanScanExec {
        let named = (&self.alias, &*self.conditions);
        let positions = self.columns.positions().to_vec();
        let scan = KeyspanScanExec::new(path, named, positions, None, self.readers_max);
        let open = self.open.clone().map(|open| open.serving(served, choice));
        scan.with_estimate(self.estimate.clone())
            .with_index_hint(self.index_hint.clone())
            .with_open_conditions(open)
            .without_null(self.not_null)
            .known_in(order)
    }

    /// The scan, known to come in this order: a key may decide it that does not hold all of its columns.
    fn known_in(self, order: &[PhysicalSortExpr]) -> KeyspanScanExec {
        let properties = with_order(&self.properties, order);
        KeyspanScanExec { properties, ..self }
    }
}

impl DisplayAs for KeyspanScanExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.path.title(&self.alias))?;
        match self.limit {
            Some(limit) => write!(f, " limit {limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for KeyspanScanExec {
    fn name(&self) -> &str {
        "KeyspanScanExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        let joins = self.build_keys.as_ref().map(BuildKeys::joins).unwrap_or_default();
        for join in joins {
            let next = f(&(Arc::clone(&join.filter) as Arc<dyn PhysicalExpr>))?;
            if next == TreeNodeRecursion::Stop {
                return Ok(next);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    /// In a generic plan it is a run that begins: the path is planned anew.
    fn reset_state(self: Arc<Self>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let path = match &self.open {
            Some(open) => self.path_of_run(open).map_err(to_datafusion)?,
            None => Arc::clone(&self.path),
        };
        Ok(Arc::new(KeyspanScanExec {
            path,
            build_keys: None,
            walked: self.walked.as_ref().map(|_| ScanFallback::default()),
            shared: self.shared.as_ref().map(|_| SharedParts::default()),
            budget: self
                .budget
                .as_ref()
                .map(|budget| Arc::new(ReadBudget::new(budget.rows()))),
            metrics: Arc::default(),
            ..self.as_ref().clone()
        }))
    }
    fn supports_limit_pushdown(&self) -> bool {
        false
    }
    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        if self.shared.is_some() || self.budget.is_some() {
            return None;
        }
        let limit = match (self.limit, limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Some(Arc::new(KeyspanScanExec {
            limit,
            ..self.clone()
        }))
    }
    fn fetch(&self) -> Option<usize> {
        self.limit
    }
    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DataFusionResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        if !self.may_be_replanned() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let served = order_columns(order, self.columns.positions()).and_then(|served| {
            let mut path = self.path.as_ref().clone();
            path.serve(&served, true).then_some((path, served))
        });
        Ok(match served {
            None => SortOrderPushdownResult::Unsupported,
            Some((path, served)) => SortOrderPushdownResult::Exact {
                inner: Arc::new(self.on_path(path, (order, served), PathChoice::Conditions)),
            },
        })
    }
    fn partition_statistics(&self, _partition: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let Some(limit) = self.limit else {
            return Ok(Arc::clone(&self.estimate.statistics));
        };
        let rows = self.estimate.statistics.num_rows.get_value().copied();
        let mut limited = self.estimate.statistics.as_ref().clone();
        limited.num_rows = Precision::Inexact(rows.map_or(limit, |rows| rows.min(limit)));
        Ok(Arc::new(limited))
    }
    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        let earlier: Option<&KeyspanScanExec> = CountMore::earlier(&*state)?;
        Some(Arc::new(KeyspanScanExec {
            metrics: Arc::clone(&earlier?.metrics),
            ..self.clone()
        }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let ctx = statement_context(context.session_config())?;
        let batches = match self.build_keys.is_some() || self.walked.is_some() {
            true => stream::once(self.clone().shortest_part(ctx, partition))
                .try_flatten()
                .boxed(),
            false => self.part(&ctx, &self.path, partition),
        };
        let batches = taken(batches).map(|batch| batch.map_err(to_datafusion));
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        )))
    }
}
