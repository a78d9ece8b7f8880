//! Joins by lookup: the inner side is read by a key of it that the outer rows give. `Lookup` is the reading itself, a step of
//! short statements (`operators::short`) and what the nodes of general plans run; which joins of a general plan become such nodes
//! `join_order` says, once DataFusion has optimized it.

mod bounded;
mod given_keys;
mod inner;
mod inner_joins;
mod inner_read;
mod inner_rows;
mod join_order;
mod joined_table;
mod lookup;
mod lookup_figures;
mod node;
mod partners;
mod sizes;
mod story;
mod whole_inner;

pub(crate) use inner::{first_column, inner_of, is_over, with_outer_columns};
pub(crate) use inner_joins::is_selection;
pub(crate) use join_order::with_lookups;
pub(crate) use lookup::{Lookup, RunningLookup};
pub use lookup_figures::LookupFigures;
pub(crate) use node::{LookupJoin, looked_up};
pub(crate) use partners::{Joined, JoinedSchema, Partners};
pub(crate) use sizes::Sizes;
pub use story::LookupStory;
