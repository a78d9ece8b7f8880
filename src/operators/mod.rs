//! What runs: a logical plan as operators, our own pipeline for short statements and DataFusion's for all others, the rules of physical
//! plans, aggregates, generic plans. Knows nothing of SQL text or sessions.

pub mod allowance;
mod any_order;
pub mod append;
pub mod build_keys;
mod builder;
mod catalog_read;
pub mod catalog_table;
mod columns_below;
mod counted_rows;
pub mod dependent_join_exec;
mod dependent_join_run;
mod distinct_deviation;
pub mod float_aggregate;
pub mod float_sums;
pub mod generic_plan;
mod join_sides;
pub(crate) mod lookup_join_exec;
mod narrowed_probes;
mod needed_orders;
mod node_properties;
pub mod numeric_aggregate;
pub mod observed;
mod ordered_aggregates;
mod parallel;
pub mod pauses;
pub mod planner;
pub mod planning;
pub mod rows_exec;
pub mod scan_exec;
mod shared_rows_exec;
pub mod short;
pub mod shown_plans;
mod spool;
mod sub_plan_runs;
mod table_scan;
pub mod walked_table;
pub mod whole_frame;
pub mod written_expr;

pub use spool::Spool;
