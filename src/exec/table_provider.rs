//! Tables as DataFusion sees them: `KeyspanTable` plans the access to a table when a physical plan is made, and
//! `KeyspanScanExec` reads it. The full-scan rule is enforced here, for each table of a plan.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableScan, TableSource, TableType};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{
    ConstExpr, EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use futures::stream::BoxStream;

use super::StatementContext;
use super::datafusion_error::to_datafusion;
use super::functions::compare::FLOAT_ORDER_NAME;
use super::parallel::{SharedParts, SharedScan};
use super::predicate::from_expr;
use super::scan::{Demand, ScanMetrics, scan_batches};
use crate::Result;
use crate::catalog::TableDef;
use crate::plan::{AccessPath, OrderColumn, Predicate, plan_access};
use crate::table::row_schema;

/// A table for DataFusion's logical plans. `alias`: what the statement calls it.
pub fn table_source(table: &Arc<TableDef>, alias: &str) -> Arc<dyn TableSource> {
    source_of(table, alias, visible_positions(table))
}

/// A table with its hidden columns.
pub fn whole_table_source(table: &Arc<TableDef>, alias: &str) -> Arc<dyn TableSource> {
    source_of(table, alias, (0..table.columns.len()).collect())
}

fn source_of(table: &Arc<TableDef>, alias: &str, positions: Vec<usize>) -> Arc<dyn TableSource> {
    let schema = row_schema(table, &positions);
    provider_as_source(Arc::new(KeyspanTable {
        table: Arc::clone(table),
        alias: alias.into(),
        positions,
        schema,
    }))
}

fn visible_positions(table: &TableDef) -> Vec<usize> {
    table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.hidden)
        .map(|(at, _)| at)
        .collect()
}

/// The statement's context, which every session of ours carries.
pub fn statement_context(
    config: &datafusion::prelude::SessionConfig,
) -> DataFusionResult<Arc<StatementContext>> {
    config
        .get_extension::<StatementContext>()
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// Whether the full-scan rule lets a scan with these filters pass. Errors: 53400, 54000.
pub(crate) fn judge_scan(ctx: &StatementContext, scan: &TableScan) -> DataFusionResult<()> {
    let provider = source_as_provider(&scan.source)?;
    match provider.downcast_ref::<KeyspanTable>() {
        Some(table) => table
            .access(ctx, &scan.filters)
            .map(|_| ())
            .map_err(to_datafusion),
        None => Ok(()),
    }
}

/// A table of ours.
#[derive(Debug)]
struct KeyspanTable {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// Positions in `TableDef::columns` of the schema's columns.
    positions: Vec<usize>,
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for KeyspanTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| {
                if depends_on_outer(filter) || filter.is_volatile() {
                    return TableProviderFilterPushDown::Unsupported;
                }
                match from_expr(filter, &self.table).has_opaque() {
                    // The scan learns of it, so that the full-scan rule sees it, and it is evaluated above.
                    true => TableProviderFilterPushDown::Inexact,
                    false => TableProviderFilterPushDown::Exact,
                }
            })
            .collect())
    }
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let ctx = statement_context(state.config())?;
        let path = self.access(&ctx, filters).map_err(to_datafusion)?;
        let positions: Vec<usize> = match projection {
            Some(projection) => projection.iter().map(|at| self.positions[*at]).collect(),
            None => self.positions.clone(),
        };
        let readers_max = ctx.settings.readers_max();
        let scan = KeyspanScanExec::new(path, positions, limit, readers_max);
        Ok(Arc::new(KeyspanScanExec {
            alias: Arc::clone(&self.alias),
            conditions: filters.into(),
            ..scan
        }))
    }
}

impl KeyspanTable {
    /// The access path for the filters. Errors: `FullScan`, `TooManyKeys`.
    fn access(&self, ctx: &StatementContext, filters: &[Expr]) -> Result<AccessPath> {
        let predicates = filters.iter().map(|filter| from_expr(filter, &self.table));
        plan_conditions(&self.table, predicates.collect(), ctx)
    }
}

/// The access path to rows for which all of the predicates hold. Those that hold something opaque are not checked by it:
/// whoever asks does that. Errors: `FullScan`, `TooManyKeys`.
pub(super) fn plan_conditions(
    table: &Arc<TableDef>,
    predicates: Vec<Predicate>,
    ctx: &StatementContext,
) -> Result<AccessPath> {
    let (opaque, exact): (Vec<Predicate>, Vec<Predicate>) =
        predicates.iter().cloned().partition(Predicate::has_opaque);
    let mut path = plan_access(table, all_of(predicates).as_ref(), &ctx.plan_rules(table))?;
    // What is opaque is evaluated above; what is not was promised to be exact.
    let is_above = |part: &Predicate| opaque.contains(part);
    path.residual = match path.residual.take() {
        Some(Predicate::And(parts)) if parts.iter().all(|part| is_above(part) || !part.has_opaque()) => {
            all_of(parts.into_iter().filter(|part| !is_above(part)).collect())
        }
        Some(residual) if residual.has_opaque() && !is_above(&residual) => all_of(exact),
        Some(residual) if residual.has_opaque() => None,
        residual => residual,
    };
    Ok(path)
}

fn all_of(mut predicates: Vec<Predicate>) -> Option<Predicate> {
    match predicates.len() {
        0 => None,
        1 => predicates.pop(),
        _ => Some(Predicate::And(predicates)),
    }
}

/// The table that a scan without filters and limit reads, what the statement calls it, and the positions in
/// `TableDef::columns` of its columns.
pub(crate) fn scanned_table(scan: &TableScan) -> Option<(Arc<TableDef>, Arc<str>, Vec<usize>)> {
    if !scan.filters.is_empty() || scan.fetch.is_some() {
        return None;
    }
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<KeyspanTable>()?;
    let positions = match &scan.projection {
        Some(projection) => projection.iter().map(|at| table.positions[*at]).collect(),
        None => table.positions.clone(),
    };
    Some((Arc::clone(&table.table), Arc::clone(&table.alias), positions))
}

/// The rows in memory that a scan without projection, filters and limit reads.
pub(super) fn scanned_rows(scan: &TableScan) -> Option<Vec<RecordBatch>> {
    if !scan.filters.is_empty() || scan.fetch.is_some() || scan.projection.is_some() {
        return None;
    }
    let provider = source_as_provider(&scan.source).ok()?;
    let [rows] = provider.downcast_ref::<MemTable>()?.batches.as_slice() else {
        return None;
    };
    rows.try_read().ok().map(|rows| rows.clone())
}

/// Whether a scan reads a stored table.
pub fn is_stored_table(scan: &TableScan) -> bool {
    source_as_provider(&scan.source).is_ok_and(|provider| provider.is::<KeyspanTable>())
}

fn depends_on_outer(filter: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    filter
        .exists(|expr| {
            Ok(match expr {
                Expr::OuterReferenceColumn(..) | Expr::Exists(_) | Expr::InSubquery(_) => true,
                Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
                _ => false,
            })
        })
        .unwrap_or(true)
}

/// Reads a table by its access path.
#[derive(Debug, Clone)]
pub struct KeyspanScanExec {
    path: Arc<AccessPath>,
    /// What the statement calls the table.
    alias: Arc<str>,
    /// What the path was planned for, as the plan has it.
    conditions: Arc<[Expr]>,
    /// Positions in `TableDef::columns` of the output.
    positions: Vec<usize>,
    limit: Option<usize>,
    /// How many may read at once, if somebody wants it.
    readers_max: usize,
    /// More than one part: several readers, in no order.
    shared: Option<SharedParts>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: Arc<ScanMetrics>,
}

impl KeyspanScanExec {
    fn new(
        path: AccessPath,
        positions: Vec<usize>,
        limit: Option<usize>,
        readers_max: usize,
    ) -> KeyspanScanExec {
        let schema = row_schema(&path.table, &positions);
        let properties = PlanProperties::new(
            key_order(&path, &positions, &schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        KeyspanScanExec {
            alias: path.table.name.as_str().into(),
            conditions: Arc::default(),
            path: Arc::new(path),
            positions,
            limit,
            readers_max,
            shared: None,
            schema,
            properties: Arc::new(properties),
            metrics: Arc::default(),
        }
    }

    /// The same rows in several parts, in no order; `None` when one reader is all there may be, or enough.
    pub(super) fn in_parts(&self) -> Option<Arc<dyn ExecutionPlan>> {
        if self.readers_max < 2 || self.limit.is_some() || self.path.ranges().is_none() {
            return None;
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&self.schema)),
            Partitioning::UnknownPartitioning(self.readers_max),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Some(Arc::new(KeyspanScanExec {
            shared: Some(SharedParts::default()),
            properties: Arc::new(properties),
            ..self.clone()
        }))
    }

    /// The rows of one reader.
    fn part(
        &self,
        ctx: &StatementContext,
        parts: &SharedParts,
    ) -> Option<BoxStream<'static, Result<RecordBatch>>> {
        parts.join(self.readers_max, || {
            let (txn, metrics) = (Arc::clone(&ctx.txn), Arc::clone(&self.metrics));
            SharedScan::new(txn, &self.path, self.positions.clone(), metrics)
        })
    }

    /// The scan, known to come in this order: a key may decide it that does not hold all of its columns.
    fn in_order(mut self, order: &[PhysicalSortExpr]) -> KeyspanScanExec {
        let properties = self.properties.as_ref().clone();
        let mut known = properties.equivalence_properties().clone();
        known.add_ordering(order.iter().cloned());
        self.properties = Arc::new(properties.with_eq_properties(known));
        self
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
        &self.positions
    }
    /// Whether several readers share it.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
    /// The same, counted in these metrics.
    pub(super) fn counted_in(&self, metrics: &Arc<ScanMetrics>) -> KeyspanScanExec {
        KeyspanScanExec {
            metrics: Arc::clone(metrics),
            ..self.clone()
        }
    }
    /// LIMIT, when it ends the scan.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }
    /// What was read.
    pub fn metrics_read(&self) -> &Arc<ScanMetrics> {
        &self.metrics
    }

    /// The sort keys as columns of the table; `None` when one is no plain column.
    fn order_columns(&self, order: &[PhysicalSortExpr]) -> Option<Vec<OrderColumn>> {
        order
            .iter()
            .map(|key| {
                Some(OrderColumn {
                    column: *self.positions.get(ordered_column(&key.expr)?)?,
                    descending: key.options.descending,
                    nulls_first: key.options.nulls_first,
                })
            })
            .collect()
    }
}

/// The column that a sort key is: stored keys are in PostgreSQL's order, which comparisons give to floats.
pub(super) fn ordered_column(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    if let Some(call) = key.downcast_ref::<ScalarFunctionExpr>()
        && call.name() == FLOAT_ORDER_NAME
    {
        return ordered_column(call.args().first()?);
    }
    key.downcast_ref::<PhysicalColumn>().map(PhysicalColumn::index)
}

/// The order in which rows come: along the key, as far as its columns are in the output. Pinned columns are constant.
fn key_order(path: &AccessPath, positions: &[usize], schema: &SchemaRef) -> EquivalenceProperties {
    let mut properties = EquivalenceProperties::new(Arc::clone(schema));
    let table = &path.table;
    let index = std::iter::once(&table.primary_key)
        .chain(&table.indexes)
        .find(|index| index.id == path.index);
    let Some(index) = index else { return properties };
    let column_at = |position: usize| -> Option<Arc<dyn PhysicalExpr>> {
        let at = positions.iter().position(|candidate| *candidate == position)?;
        Some(Arc::new(PhysicalColumn::new(schema.field(at).name(), at)))
    };
    let mut order = Vec::new();
    let mut complete = true;
    for key in &index.columns {
        let Some(position) = table.column_index_by_id(key.column) else {
            break;
        };
        let column = column_at(position);
        if path.pinned.contains(&position) {
            if let Some(column) = column {
                // Adding a constant to fresh properties cannot contradict anything.
                let _ = properties.add_constants([ConstExpr::from(column)]);
            }
            continue;
        }
        match column {
            Some(expr) if complete => order.push(PhysicalSortExpr {
                expr,
                options: SortOptions {
                    descending: key.descending != path.reverse,
                    nulls_first: key.nulls_first != path.reverse,
                },
            }),
            _ => complete = false,
        }
    }
    if let Some(ordering) = LexOrdering::new(order) {
        properties.add_ordering(ordering);
    }
    properties
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
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn supports_limit_pushdown(&self) -> bool {
        false
    }
    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        if self.shared.is_some() {
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
        if self.limit.is_some() || self.shared.is_some() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let direction = self
            .order_columns(order)
            .and_then(|order| self.path.order_direction(&order));
        Ok(match direction {
            None => SortOrderPushdownResult::Unsupported,
            Some(reverse) => {
                let path = AccessPath {
                    reverse,
                    ..self.path.as_ref().clone()
                };
                let inner = KeyspanScanExec::new(path, self.positions.clone(), None, self.readers_max);
                SortOrderPushdownResult::Exact {
                    inner: Arc::new(
                        KeyspanScanExec {
                            alias: Arc::clone(&self.alias),
                            conditions: Arc::clone(&self.conditions),
                            ..inner
                        }
                        .in_order(order),
                    ),
                }
            }
        })
    }
    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let ctx = statement_context(context.session_config())?;
        let part = self.shared.as_ref().and_then(|parts| self.part(&ctx, parts));
        let batches = part.unwrap_or_else(|| {
            scan_batches(
                Arc::clone(&ctx.txn),
                Arc::clone(&self.path),
                self.positions.clone(),
                Demand::of_limit(self.limit),
                Arc::clone(&self.metrics),
            )
        });
        let batches = batches.map(|batch| batch.map_err(to_datafusion));
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// 53400 and 54000 of a scan keep their own state through DataFusion.
    #[test]
    fn a_refusal_survives_datafusion() {
        let refusal = Error::TooManyKeys {
            keys: 3000,
            keys_max: 2000,
        };
        let through = super::super::datafusion_error::from_datafusion(
            to_datafusion(refusal.clone()).context("planning"),
        );
        assert_eq!(through, refusal);
    }
}
