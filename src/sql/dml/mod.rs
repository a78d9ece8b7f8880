//! INSERT, UPSERT, UPDATE, DELETE and MERGE with ON CONFLICT and RETURNING. Called by `sql::execute`; commits nothing.
//!
//! Every write is a plan ([`WritePlan`]), bound once, kept with its statement, described, explained and run: where its rows
//! come from (`values`, a query, `row_search`), what they will be (`new_rows`, `set`), what stands in their way (`conflict`),
//! and what is returned of them (`returning`). A statement whose WITH clause writes has several (`with_parts`, `with_writes`). On an error nothing of the statement stays in the transaction.

mod assign;
mod batches;
mod cell;
mod conflict;
mod conflict_keys;
mod copy_plan;
mod copy_versions;
mod default;
mod deferrable_keys;
mod deferred_references;
mod delete;
mod exclusions;
mod fired_triggers;
mod generated_columns;
mod insert;
mod insert_clauses;
mod insert_source;
mod insert_target;
mod insert_told;
mod keyed_statement;
mod lock_as_read;
mod merge;
mod merge_action;
mod merge_kind;
mod merge_marks;
mod merge_rows;
mod merge_triggers;
mod moved_rows;
mod named_columns;
mod new_rows;
mod operation;
mod part_columns;
mod partition_routes;
mod partition_rows;
mod partition_writes;
mod referenced_keys;
mod references;
mod referring_rows;
mod returning;
mod row_buffer;
mod row_checks;
mod row_event;
mod row_expressions;
mod row_search;
mod row_triggers;
mod row_values;
mod set;
mod settling;
mod shared_sources;
mod target;
mod transition_tables;
mod update;
mod user_cast;
mod values;
mod version_time;
mod view_checks;
mod view_rows;
mod view_target;
mod whole_rows;
mod with_parts;
mod with_writes;
mod write_plan;
mod write_result;
mod written_marks;

use sqlparser::ast;

use crate::Result;
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;

pub(crate) use assign::assigned_value;
pub(crate) use copy_plan::{CopyPlan, Given, check_copied};
pub(crate) use copy_versions::{copy_versions, rekey_versions};
pub(crate) use default::{default_type, evaluate_stated, parse_expression};
pub(crate) use deferrable_keys::verify_unrepeated;
pub(crate) use deferred_references::check_deferred;
pub(crate) use exclusions::verify_exclusions;
pub(crate) use generated_columns::{check_generation, compile_generated, computed_type, with_generated};
pub(crate) use operation::Operation;
pub(crate) use partition_rows::verify_partition;
pub(crate) use referenced_keys::{verify_foreign_key, verify_without_partition};
pub(crate) use references::References;
pub(crate) use row_checks::{check_condition, verify_checks, verify_domain};
pub(crate) use row_triggers::{check_trigger_condition, fire_for_truncate, trigger_relations};
pub(crate) use settling::{run_write, settle};
pub(crate) use view_target::{shown_relation, why_not_updatable};
pub(crate) use whole_rows::{copy_rows, insert_query};
pub(crate) use with_writes::{PartPlan, WithWrites, rows_of_writes};
pub(crate) use write_plan::{RowsRead, WritePlan};
pub use write_result::WriteResult;

/// Runs a write inside the transaction (the caller commits), by the plan that is kept.
pub(crate) async fn execute(
    ctx: &StatementContext,
    statement: &ast::Statement,
    kept: &PlanCache<WritePlan>,
) -> Result<WriteResult> {
    if let Some(rows) = ctx.hints.batch_rows {
        return batches::execute(ctx, statement, kept, rows).await;
    }
    let savepoint = ctx.txn.savepoint();
    let result = match WritePlan::of(ctx, statement, kept).await {
        Ok(plan) => run_write(ctx, &plan, None).await,
        Err(error) => Err(error),
    };
    if result.is_err() {
        ctx.txn.rollback_to(savepoint);
    }
    result
}

/// Runs a query or a write whose WITH clause writes, likewise.
pub(crate) async fn execute_with_writes(
    ctx: &StatementContext,
    query: &ast::Query,
    kept: &PlanCache<WithWrites>,
) -> Result<WriteResult> {
    let savepoint = ctx.txn.savepoint();
    let result = match WithWrites::of(ctx, query, kept).await {
        Ok(bound) => bound.run(ctx).await,
        Err(error) => Err(error),
    };
    if result.is_err() {
        ctx.txn.rollback_to(savepoint);
    }
    result
}

#[cfg(test)]
mod dynamic_column_tests;
#[cfg(test)]
mod tests;
