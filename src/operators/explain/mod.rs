//! What runs, told as EXPLAIN tells it: nodes with titles, details and figures, made of operators, of scans and of lookups. Knows nothing
//! of statements.

mod access;
mod aggregate_nodes;
mod condition_text;
mod joins;
mod lookup;
mod node;
mod physical;

pub(crate) use access::{TableRead, with_metrics};
pub(crate) use lookup::{lookup_node, with_lookups};
pub(crate) use node::{PlanNode, milliseconds, number};
pub(crate) use physical::{plan_examples, plan_node};
