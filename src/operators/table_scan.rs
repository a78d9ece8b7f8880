//! Scans of stored tables: `scan_table` plans the access to one for `KeyspanScanExec` to read it. The full-scan rule is enforced here, for
//! each table of a plan.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::ExecutionPlan;

use super::open_conditions::OpenConditions;
use super::planning::Planning;
use super::scan_exec::KeyspanScanExec;
use crate::logical::stored_table::KeyspanTable;
use crate::operators::scan_estimate::estimate;
use crate::plan::Wanted;
use crate::system::datafusion_error::to_datafusion;
use crate::table::row_schema;
use crate::tree::Expr;

/// What reads these columns of the rows that satisfy the filters, `limit` at most. Errors: `FullScan`, `TooManyKeys`; those of reading what
/// is known of the table.
pub(super) async fn scan_table(
    table: &KeyspanTable,
    planning: &Planning,
    projection: Option<&Vec<usize>>,
    filters: &[Expr],
    limit: Option<usize>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let ctx = planning.statement();
    let positions: Vec<usize> = match projection {
        Some(projection) => projection.iter().map(|at| table.positions[*at]).collect(),
        None => table.positions.clone(),
    };
    let wanted = Wanted {
        columns: Some(&positions),
        first_in_order: &[],
    };
    let path = table.access(ctx, filters, wanted).map_err(to_datafusion)?;
    let schema = row_schema(&table.table, &positions);
    let estimate = estimate(&ctx.txn, &path, filters, &positions, &schema).await;
    let estimate = estimate.map_err(to_datafusion)?;
    path.require_small(estimate.table_rows.unwrap_or(0))
        .map_err(to_datafusion)?;
    if path.is_small_scan() {
        ctx.server.small_scans.note(&ctx.text, &table.table.name);
    }
    let readers_max = ctx.settings.readers_max();
    let named = (&table.alias, filters);
    let scan = KeyspanScanExec::new(path, named, positions, limit, readers_max);
    let open = table.inputs.as_ref();
    let open = open.map(|inputs| OpenConditions::new(inputs, filters, &table.table));
    Ok(Arc::new(
        scan.with_estimate(estimate)
            .with_index_hint(table.index_hint.clone())
            .with_open_conditions(open),
    ))
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
