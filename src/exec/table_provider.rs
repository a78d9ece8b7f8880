//! Tables as DataFusion sees them: `KeyspanTable` plans the access to a table when a physical plan is made, for
//! `KeyspanScanExec` to read it. The full-scan rule is enforced here, for each table of a plan. In a generic plan (`run_inputs`) the
//! conditions keep their placeholders, and the access is planned by what these stand for in the run at hand.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    Expr, LogicalPlan, TableProviderFilterPushDown, TableScan, TableSource, TableType,
};
use datafusion::physical_plan::ExecutionPlan;

use super::StatementContext;
use super::datafusion_error::to_datafusion;
use super::filter_predicate::from_expr;
use super::planned_access::plan_conditions;
use super::run_inputs::RunInputs;
use super::scan_estimate::estimate;
use super::scan_exec::{KeyspanScanExec, OpenConditions};
use super::statement_state::statement_context;
use crate::Result;
use crate::catalog::TableDef;
use crate::parse::{Hints, IndexHint};
use crate::plan::{AccessPath, Predicate, Wanted};
use crate::table::row_schema;

/// A table for DataFusion's logical plans. `alias`: what the statement calls it.
pub fn table_source(table: &Arc<TableDef>, alias: &str, hints: &Hints) -> Arc<dyn TableSource> {
    source_of(table, alias, hints, table.visible_positions())
}

/// A table with its hidden columns.
pub fn whole_table_source(table: &Arc<TableDef>, alias: &str, hints: &Hints) -> Arc<dyn TableSource> {
    source_of(table, alias, hints, (0..table.columns.len()).collect())
}

fn source_of(
    table: &Arc<TableDef>,
    alias: &str,
    hints: &Hints,
    positions: Vec<usize>,
) -> Arc<dyn TableSource> {
    let schema = row_schema(table, &positions);
    provider_as_source(Arc::new(KeyspanTable {
        table: Arc::clone(table),
        alias: alias.into(),
        index_hint: hints.index.clone(),
        positions,
        schema,
        inputs: None,
    }))
}

/// The plan as one whose conditions on stored tables are open: by these inputs it is known what they say in a run.
pub(super) fn with_inputs(plan: LogicalPlan, inputs: &Arc<RunInputs>) -> DataFusionResult<LogicalPlan> {
    let opened = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else {
            return Ok(Transformed::no(node));
        };
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<KeyspanTable>() else {
            return Ok(Transformed::no(node));
        };
        let open = KeyspanTable {
            inputs: Some(Arc::clone(inputs)),
            ..table.clone()
        };
        let mut scan = scan.clone();
        scan.source = provider_as_source(Arc::new(open));
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(opened.data)
}

/// How a scan with these filters would read its table, if the full-scan rule lets it pass; `None`: it is no stored table's.
/// Errors: 53400, 54000.
pub(crate) fn judge_scan(ctx: &StatementContext, scan: &TableScan) -> DataFusionResult<Option<AccessPath>> {
    let provider = source_as_provider(&scan.source)?;
    match provider.downcast_ref::<KeyspanTable>() {
        Some(table) => {
            let access = table.access(ctx, &scan.filters, Wanted::default());
            access.map(Some).map_err(to_datafusion)
        }
        None => Ok(None),
    }
}

/// A table of ours.
#[derive(Debug, Clone)]
struct KeyspanTable {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// Which keys the statement's hints leave.
    index_hint: Option<IndexHint>,
    /// Positions in `TableDef::columns` of the schema's columns.
    positions: Vec<usize>,
    schema: SchemaRef,
    /// What conditions say in the run at hand, in a generic plan.
    inputs: Option<Arc<RunInputs>>,
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
                match self.predicate(filter).has_opaque() {
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
        let positions: Vec<usize> = match projection {
            Some(projection) => projection.iter().map(|at| self.positions[*at]).collect(),
            None => self.positions.clone(),
        };
        let wanted = Wanted {
            columns: Some(&positions),
            first_in_order: &[],
        };
        let path = self.access(&ctx, filters, wanted).map_err(to_datafusion)?;
        let schema = row_schema(&self.table, &positions);
        let estimate = estimate(&ctx.txn, &path, filters, &positions, &schema).await;
        let estimate = estimate.map_err(to_datafusion)?;
        path.require_small(estimate.table_rows.unwrap_or(0))
            .map_err(to_datafusion)?;
        if path.is_small_scan() {
            ctx.server.small_scans.note(&ctx.text, &self.table.name);
        }
        let readers_max = ctx.settings.readers_max();
        let named = (&self.alias, filters);
        let scan = KeyspanScanExec::new(path, named, positions, limit, readers_max);
        let open = self.inputs.as_ref();
        let open = open.map(|inputs| OpenConditions::new(inputs, filters, &self.table));
        Ok(Arc::new(
            scan.with_estimate(estimate)
                .with_index_hint(self.index_hint.clone())
                .with_open_conditions(open),
        ))
    }
}

impl KeyspanTable {
    /// The access path for the filters. Errors: `FullScan`, `TooManyKeys`.
    fn access(&self, ctx: &StatementContext, filters: &[Expr], wanted: Wanted<'_>) -> Result<AccessPath> {
        let predicates = filters.iter().map(|filter| self.predicate(filter));
        plan_conditions(&self.table, predicates.collect(), wanted, ctx)
    }

    /// What a filter says, in the run at hand.
    fn predicate(&self, filter: &Expr) -> Predicate {
        match &self.inputs {
            None => from_expr(filter, &self.table),
            Some(inputs) => inputs.predicate(filter, &self.table),
        }
    }
}

/// A stored table as a scan reads it.
pub(crate) struct ScannedTable {
    pub(crate) table: Arc<TableDef>,
    /// What the statement calls it.
    pub(crate) alias: Arc<str>,
    /// Positions in `TableDef::columns` of the scan's columns.
    pub(crate) positions: Vec<usize>,
    /// Which keys the statement's hints leave.
    pub(crate) index_hint: Option<IndexHint>,
    /// What tells the scan from others of the table.
    pub(crate) source: Arc<dyn TableSource>,
}

/// The table that a scan without filters and limit reads.
pub(crate) fn scanned_table(scan: &TableScan) -> Option<ScannedTable> {
    match scan.filters.is_empty() && scan.fetch.is_none() {
        true => read_table(scan),
        false => None,
    }
}

/// The stored table that a scan reads.
pub(super) fn read_table(scan: &TableScan) -> Option<ScannedTable> {
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<KeyspanTable>()?;
    let positions = match &scan.projection {
        Some(projection) => projection.iter().map(|at| table.positions[*at]).collect(),
        None => table.positions.clone(),
    };
    Some(ScannedTable {
        table: Arc::clone(&table.table),
        alias: Arc::clone(&table.alias),
        index_hint: table.index_hint.clone(),
        source: Arc::clone(&scan.source),
        positions,
    })
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
