//! Stored tables as logical plans name them: `KeyspanTable`, with what is asked of a plan's scans of them. How one is read is planned by
//! `table_provider`. In a generic plan (`run_inputs`) the conditions keep their placeholders, and the access is planned by what these
//! stand for in the run at hand.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use super::filter_predicate::from_expr;
use super::run_inputs::RunInputs;
use crate::Result;
use crate::catalog::TableDef;
use crate::parse::{Hints, IndexHint};
use crate::plan::{AccessPath, Predicate, Wanted};
use crate::scan::table_access::plan_conditions;
use crate::system::StatementContext;
use crate::table::row_schema;
use crate::tree::{Expr, FilterPushDown, Plan, TableScan, TableSource, Transformed, TreeNode};

/// A table as plans read it. `alias`: what the statement calls it; `hidden`: positions in `TableDef::columns` of hidden columns that it
/// reads, too; `moments`: of the versions that are read, what only a run tells.
pub fn table_source(
    table: &Arc<TableDef>,
    alias: &str,
    hints: &Hints,
    hidden: &[usize],
    moments: &[Expr],
) -> Arc<dyn TableSource> {
    let mut positions = table.visible_positions();
    positions.extend(hidden);
    source_of(table, alias, hints, positions, moments)
}

/// A table with its hidden columns.
pub fn whole_table_source(table: &Arc<TableDef>, alias: &str, hints: &Hints) -> Arc<dyn TableSource> {
    source_of(table, alias, hints, (0..table.columns.len()).collect(), &[])
}

fn source_of(
    table: &Arc<TableDef>,
    alias: &str,
    hints: &Hints,
    positions: Vec<usize>,
    moments: &[Expr],
) -> Arc<dyn TableSource> {
    let schema = row_schema(table, &positions);
    Arc::new(KeyspanTable {
        table: Arc::clone(table),
        alias: alias.into(),
        index_hint: hints.index.clone(),
        positions,
        schema,
        inputs: None,
        moments: moments.into(),
    })
}

/// The plan as one whose conditions on stored tables are open: by these inputs it is known what they say in a run.
pub(crate) fn with_inputs(plan: Plan, inputs: &Arc<RunInputs>) -> Result<Plan> {
    let opened = plan.transform_up_with_subqueries(|node| {
        let Plan::TableScan(scan) = &node else {
            return Ok(Transformed::no(node));
        };
        let Some(table) = scan.source.downcast_ref::<KeyspanTable>() else {
            return Ok(Transformed::no(node));
        };
        let open = KeyspanTable {
            inputs: Some(Arc::clone(inputs)),
            ..table.clone()
        };
        let mut scan = scan.clone();
        scan.source = Arc::new(open);
        Ok(Transformed::yes(Plan::TableScan(scan)))
    })?;
    Ok(opened.data)
}

/// How a scan with these filters would read its table, if the full-scan rule lets it pass; `None`: it is no stored table's.
/// Errors: 53400, 54000.
pub(crate) fn judge_scan(ctx: &StatementContext, scan: &TableScan) -> Result<Option<AccessPath>> {
    match scan.source.downcast_ref::<KeyspanTable>() {
        Some(table) => {
            let access = table.access(ctx, &scan.filters, Wanted::default());
            access.map(Some)
        }
        None => Ok(None),
    }
}

/// What a scan's filters say of the rows of a stored table, in the run at hand. `None`: nothing.
pub(crate) fn scanned_condition(scan: &TableScan) -> Option<Predicate> {
    let table = scan.source.downcast_ref::<KeyspanTable>()?;
    let said: Vec<Predicate> = scan
        .filters
        .iter()
        .map(|filter| table.predicate(filter))
        .collect();
    (!said.is_empty()).then(|| Predicate::all(said))
}

/// A table of ours.
#[derive(Debug, Clone)]
pub(crate) struct KeyspanTable {
    pub(crate) table: Arc<TableDef>,
    /// What the statement calls it.
    pub(crate) alias: Arc<str>,
    /// Which keys the statement's hints leave.
    pub(crate) index_hint: Option<IndexHint>,
    /// Positions in `TableDef::columns` of the schema's columns.
    pub(crate) positions: Vec<usize>,
    pub(crate) schema: SchemaRef,
    /// What conditions say in the run at hand, in a generic plan.
    pub(crate) inputs: Option<Arc<RunInputs>>,
    /// Of the versions that are read, the moments that only a run tells (`Moment::Open` counts them).
    pub(crate) moments: Arc<[Expr]>,
}

impl TableSource for KeyspanTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn reads_as(&self, other: &dyn TableSource) -> bool {
        let wanted = |table: &KeyspanTable| table.table.version_read.as_ref().map(|read| read.wanted);
        other
            .downcast_ref::<KeyspanTable>()
            .is_none_or(|other| wanted(self) == wanted(other) && self.moments == other.moments)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Vec<FilterPushDown> {
        let pushed = filters.iter().map(|filter| {
            if depends_on_outer(filter) || filter.is_volatile() {
                return FilterPushDown::Unsupported;
            }
            match self.predicate(filter).has_opaque() {
                // The scan learns of it, so that the full-scan rule sees it, and it is evaluated above.
                true => FilterPushDown::Inexact,
                false => FilterPushDown::Exact,
            }
        });
        pushed.collect()
    }
}

impl KeyspanTable {
    /// The access path for the filters. Errors: `FullScan`, `TooManyKeys`.
    pub(crate) fn access(
        &self,
        ctx: &StatementContext,
        filters: &[Expr],
        wanted: Wanted<'_>,
    ) -> Result<AccessPath> {
        let predicates = filters.iter().map(|filter| self.predicate(filter));
        plan_conditions(&self.table, predicates.collect(), wanted, ctx)
    }

    /// What a filter says, in the run at hand.
    pub(crate) fn predicate(&self, filter: &Expr) -> Predicate {
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
pub(crate) fn read_table(scan: &TableScan) -> Option<ScannedTable> {
    let table = scan.source.downcast_ref::<KeyspanTable>()?;
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

/// Whether a scan reads a stored table.
pub fn is_stored_table(scan: &TableScan) -> bool {
    scan.source.is::<KeyspanTable>()
}

fn depends_on_outer(filter: &Expr) -> bool {
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
