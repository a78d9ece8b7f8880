//! Logical plans: nodes of ours among DataFusion's, what is asked of plans and expressions (placeholders, predicates, SQL text, who bounds
//! what), joins by lookup, and rules that rewrite plans. Knows nothing of operators.

mod bound_constants;
pub(crate) mod compared_column;
pub(crate) mod computed;
pub mod dependent_join;
pub(crate) mod equality;
pub mod expr_text;
pub mod filter_predicate;
pub(crate) mod limit_counts;
pub mod lookup_join;
pub(crate) mod only_input;
pub(crate) mod ordered_column;
pub mod outer_values;
pub mod placeholder;
pub(crate) mod replaced_columns;
pub(crate) mod rewrite;
pub(crate) mod row_plan;
pub mod rows_source;
pub mod run_inputs;
pub(crate) mod scan_estimate;
pub(crate) mod semi_join_order;
pub mod shared_rows;
pub mod stored_table;
pub mod work_table;
pub(crate) mod written_filters;

pub use compared_column::{compared_column, pinned_column};
pub use equality::equality;
pub use row_plan::RowPlan;
