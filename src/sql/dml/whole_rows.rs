//! Rows that are there already, or that something else has made, as they are inserted: those of a query into a new table, those of a COPY into a
//! partitioned table, and those that an UPDATE makes another partition's.

use std::sync::Arc;

use arrow::array::RecordBatch;
use sqlparser::ast::SelectItem;

use super::insert::InsertPlan;
use super::insert_clauses::Clauses;
use super::insert_source::SourceQuery;
use super::references::References;
use super::write_result::WriteResult;
use crate::catalog::TableDef;
use crate::query::{Observation, PlannedQuery, QueryPlan};
use crate::system::StatementContext;
use crate::table::RowFault;
use crate::{Error, Result};

/// The INSERT of whole rows into a table.
#[derive(Debug)]
pub(super) struct WholeRows {
    insert: InsertPlan,
}

impl WholeRows {
    /// That of this table. Errors: those of binding.
    pub(super) fn bind(ctx: &StatementContext, table: &Arc<TableDef>) -> Result<WholeRows> {
        WholeRows::bind_returning(ctx, (table, &table.name), None)
    }

    /// That of a table that is known as this, with what RETURNING shows of the rows. Errors: those of binding.
    pub(super) fn bind_returning(
        ctx: &StatementContext,
        known: (&Arc<TableDef>, &str),
        returning: Option<&[SelectItem]>,
    ) -> Result<WholeRows> {
        let clauses = Clauses {
            returning,
            ..Clauses::default()
        };
        let given = given_positions(known.0);
        Ok(WholeRows {
            insert: InsertPlan::bind_for_partition(ctx, clauses, known, given)?,
        })
    }

    /// Writes rows that another table has, one of its partitions or itself: by the names of their columns. Answers how many there were, and what
    /// RETURNING shows of them. Errors: those of INSERT, with the row that no partition has.
    pub(super) async fn write(
        &self,
        ctx: &StatementContext,
        (of, rows): (&TableDef, &RecordBatch),
        references: &References,
    ) -> Result<WriteResult, RowFault> {
        let whole = |error| RowFault { row: None, error };
        let table = &self.insert.target.table;
        let mut given = Vec::new();
        for at in given_positions(table) {
            let name = &table.columns[at].name;
            let own = of.column_index(name);
            let missing = || whole(Error::internal(format!("rows without the column \"{name}\"")));
            given.push((at, Arc::clone(rows.column(own.ok_or_else(missing)?))));
        }
        if of.oid == table.oid
            && let Some((row, error)) = self.insert.first_homeless(rows).map_err(whole)?
        {
            return Err(RowFault {
                row: Some(row),
                error,
            });
        }
        let written = self.insert.run_routed(ctx, (given, rows.num_rows()), references);
        Box::pin(written).await.map_err(whole)
    }
}

/// The positions of the columns that whole rows give.
fn given_positions(table: &TableDef) -> Vec<usize> {
    let visible = table.visible_positions().into_iter();
    visible
        .filter(|at| table.columns[*at].generation().is_none())
        .collect()
}

/// Inserts a query's rows into all columns of a new table; answers how many. `observation`: what its reading is counted in.
pub(crate) async fn insert_query(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    plan: &Arc<QueryPlan>,
    observation: Option<&Observation>,
) -> Result<u64> {
    write_rows(ctx, table, (plan, observation), &table.visible_positions(), false).await
}

/// Inserts a query's rows into the columns at these positions of a table that no catalog knows yet; answers how many. `reads_ahead`: they are
/// no more than what is stored.
pub(crate) async fn copy_rows(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    planned: &PlannedQuery,
    positions: &[usize],
    reads_ahead: bool,
) -> Result<u64> {
    let plan = Arc::new(QueryPlan::new(planned.clone()));
    write_rows(ctx, table, (&plan, None), positions, reads_ahead).await
}

async fn write_rows(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    (plan, observation): (&Arc<QueryPlan>, Option<&Observation>),
    positions: &[usize],
    reads_ahead: bool,
) -> Result<u64> {
    let source = SourceQuery {
        plan: Arc::clone(plan),
        positions: positions.iter().copied().map(Some).collect(),
        left_out: Vec::new(),
        names: Vec::new(),
        reads_target: false,
        reads_ahead,
    };
    let plan = InsertPlan::of_rows_there(ctx, &without_triggers(table), source, positions)?;
    // What they refer to is as it was.
    let written = plan.run(ctx, observation, &References::default()).await?;
    Ok(written.rows_written)
}

/// The table as rows are written to it that nobody writes anew.
fn without_triggers(table: &Arc<TableDef>) -> Arc<TableDef> {
    if table.triggers.is_empty() {
        return Arc::clone(table);
    }
    Arc::new(TableDef {
        triggers: Vec::new(),
        ..TableDef::clone(table)
    })
}
