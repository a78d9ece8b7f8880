//! What runs: a logical plan as operators, our own pipeline for short statements and DataFusion's for all others, the rules of physical
//! plans, aggregates, generic plans. Knows nothing of SQL text or sessions.

pub mod allowance;
mod append;
pub mod build_keys;
pub mod catalog_table;
mod counted_rows;
pub mod datafusion_state;
pub mod dependent_join_exec;
mod dependent_join_run;
mod far_limits;
pub mod float_aggregate;
pub mod generic_plan;
pub(crate) mod lookup_join_exec;
mod narrowed_probes;
pub mod numeric_aggregate;
pub mod observed;
mod optimizer;
mod parallel;
pub mod pauses;
pub mod scan_exec;
mod shared_rows_exec;
pub mod short;
pub mod shown_plans;
mod spool;
mod statement_state;
mod sub_plan_runs;
mod table_provider;
mod turned_joins;
pub mod whole_frame;
pub mod written_expr;
mod written_filters;

pub use spool::Spool;
