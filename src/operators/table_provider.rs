//! Tables as DataFusion reads them: `KeyspanTable` plans the access to a table when a physical plan is made, for
//! `KeyspanScanExec` to read it. The full-scan rule is enforced here, for each table of a plan.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::scan_exec::{KeyspanScanExec, OpenConditions};
use super::statement_state::statement_context;
use crate::logical::scan_estimate::estimate;
use crate::logical::stored_table::KeyspanTable;
use crate::plan::Wanted;
use crate::system::datafusion_error::to_datafusion;
use crate::table::row_schema;

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
        let through = crate::system::datafusion_error::from_datafusion(
            to_datafusion(refusal.clone()).context("planning"),
        );
        assert_eq!(through, refusal);
    }
}
