//! The bound tree: what a statement means, as expressions ([`Expr`]) and relations ([`Plan`]), which refer to each other, for a subquery is
//! an expression. The binder makes it, the rewriter changes it, operators are built of it. It is data: what a tree means is asked by
//! `logical`, what it gives is computed by `operators`.
//!
//! 1. Columns are named by relation and name, and found in a [`RowSchema`] by these.
//! 2. What an expression is called as an output ([`Expr::schema_name`]) is how the nodes above refer to it: who rewrites an output keeps
//!    its name.
//! 3. A node's schema is computed when the node is made, and shared from then on.

mod accumulator;
mod aggregate;
mod call;
mod column;
mod conjunction;
mod constructors;
mod expr;
mod expr_children;
mod expr_name;
mod expr_type;
mod folding;
mod grouping_sets;
mod join;
mod let_value;
mod lock_rows;
mod lookup_join;
mod operator;
mod plan;
mod plan_children;
mod plan_subqueries;
mod plan_text;
mod relations;
mod row_schema;
mod saved_name;
mod shared_rows;
mod sub_plan;
mod table_source;
mod top_rows;
mod walk;
mod window;
mod window_order;

pub use accumulator::{Accumulator, FloatMoment, Moment};
pub use aggregate::Aggregate;
pub use call::{FunctionCall, call};
pub use column::{Column, RelationAlias};
pub use conjunction::{conjunction, disjunction, split_conjunction, split_conjunction_owned};
pub use expr::*;
pub use folding::{fold_constants, fold_constants_in, fold_one, is_immutable};
pub use grouping_sets::grouping_keys;
pub use join::{Join, JoinType, NullEquality, equal_key_pair, join_schema};
pub use let_value::{Fold, Let, LetValue};
pub use lock_rows::{LockRows, RowLock};
pub use lookup_join::{Inner, LookupJoin, Partners};
pub use operator::Operator;
pub use plan::*;
pub use relations::{
    Limit, Projection, RowCount, Sort, SubqueryAlias, TableScan, Union, Unnest, Values, Window,
};
pub use row_schema::{RowSchema, RowSchemaRef};
pub use saved_name::SavedName;
pub use shared_rows::{Rows, SharedRows};
pub use sub_plan::{DependentJoin, SubPlan, SubPlanKind};
pub use table_source::{FilterPushDown, TableSource};
pub use top_rows::TopRows;
pub use walk::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
pub use window::{
    FrameBound, FrameExclusion, FrameOffset, FrameUnits, Ranking, ValueReach, WindowFrame, WindowFunction,
    WindowParams, WindowedFunction,
};

/// Constants of a tree. One step further they will be `types::Value`s with their types.
pub use crate::functions::value_array::ScalarValue;

/// Stack below which more is taken, and how much: trees nest as deep as statements do.
const STACK_RED_ZONE_BYTES: usize = 256 << 10;
const STACK_SEGMENT_BYTES: usize = 4 << 20;

/// Does what recurses with enough stack.
pub fn with_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, work)
}
