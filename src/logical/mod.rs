//! What is asked of the bound tree (placeholders, predicates, SQL text, who bounds what), what its scans read, joins by lookup, and rules
//! that rewrite it. Knows nothing of operators.

mod bound_constants;
pub(crate) mod compared_column;
pub mod dependent_join;
pub(crate) mod evaluable;
pub mod expr_text;
pub mod filter_predicate;
pub(crate) mod limit_counts;
pub mod lookup_join;
pub mod outer_values;
pub mod placeholder;
pub(crate) mod replaced_columns;
pub(crate) mod rewrite;
pub(crate) mod row_plan;
pub mod rows_source;
pub mod run_inputs;
pub(crate) mod semi_join_order;
pub mod stored_table;
mod unique_columns;
pub mod work_table;
pub(crate) mod written_filters;

pub use compared_column::{compared_column, equality, pinned_column};
pub use row_plan::RowPlan;
