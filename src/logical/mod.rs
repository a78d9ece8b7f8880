//! What is asked of the bound tree (placeholders, predicates, SQL text, who bounds what), what its scans read, joins by lookup, and rules
//! that rewrite it. Knows nothing of operators.

pub(crate) mod column_mapping;
pub(crate) mod condition_cost;
pub mod dependent_join;
mod equal_columns;
pub(crate) mod evaluable;
pub mod expr_text;
pub(crate) mod fallibility;
pub mod filter_predicate;
pub(crate) mod full_scan_rule;
pub(crate) mod likely;
pub(crate) mod limit_counts;
mod literal;
pub mod lookup_join;
mod network_predicate;
pub(crate) mod open_moments;
pub mod outer_values;
mod parameter_values;
pub mod placeholder;
pub(crate) mod rewrite;
pub mod rows_source;
pub mod run_inputs;
pub(crate) mod sargable;
pub(crate) mod semi_join_order;
pub mod stored_table;
mod unique_columns;
mod wanted_terms;
pub mod work_table;

pub(crate) use filter_predicate::whole_text;
pub use sargable::{compared_column, equality, pinned_column};
