//! What runs: a logical plan as operators, our own pipeline for short statements and DataFusion's for all others, the rules of physical
//! plans, aggregates, generic plans. Knows nothing of SQL text or sessions.

mod aggregate_functions;
pub(crate) mod alike_expressions;
mod any_order;
pub mod append;
pub mod build_keys;
mod builder;
mod catalog_read;
pub mod catalog_table;
mod columns_below;
pub(crate) mod computed;
pub mod dependent_join_exec;
mod dependent_join_run;
mod distinct_deviation;
pub(crate) mod explain;
pub(crate) mod fetched_rows;
mod few_columns;
mod float_aggregate;
mod float_sums;
mod fold_expr;
mod frame_rows;
mod framed_call;
pub mod generic_plan;
mod join_sides;
mod let_expr;
mod like_test;
pub(crate) mod lock_rows_exec;
pub mod logical_expr;
mod lookup;
pub(crate) mod lookup_join_exec;
mod node_properties;
mod numeric_aggregate;
pub mod observer;
mod order_requirements;
mod parallel;
mod parameter;
pub mod pauses;
mod physical_expr;
pub mod planner;
pub mod planning;
mod ranked_rows;
pub(crate) mod recheck;
mod renamed_batch;
mod row_by_row;
pub mod row_expressions;
pub(crate) mod row_locks;
pub mod rows_exec;
mod scan_estimate;
pub mod scan_exec;
pub mod scan_fallback;
mod semi_join_reduction;
mod shared_rows_exec;
pub mod short;
mod short_circuit;
mod spool;
mod sub_plan_runs;
pub mod subquery_plans;
mod table_scan;
mod varying_columns;
mod whole_frame;
mod window_functions;
mod window_memory;

pub use spool::Spool;

/// An operator of a plan that runs, with what is below it.
pub type Operator = std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>;
