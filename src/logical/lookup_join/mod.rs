//! The order of joins, and joins by lookup: the inner side is read by a key of it that the outer rows give. Which joins of a rewritten
//! plan become such ([`crate::tree::LookupJoin`]) `join_order` says, and in which order others are made; `operators::lookup` is the
//! reading itself.

mod cardinality_bound;
mod cheapest_order;
mod estimate;
mod inner;
mod inner_joins;
mod join_order;
mod node;
mod sizes;
mod table_side;
mod top_rows;

pub(crate) use inner::{first_column, inner_of, is_over, with_outer_columns};
pub(crate) use inner_joins::is_selection;
pub(crate) use join_order::{with_join_order, with_lookups};
pub(crate) use node::looked_up;
pub(crate) use top_rows::with_top_rows;
