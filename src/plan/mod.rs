//! Predicates → boxes → key ranges → an access path and a verdict. Pure: no I/O, no DataFusion, no sockets.

mod access_path;
mod predicate;

pub use access_path::{AccessClass, AccessPath, FullScanPolicy, OrderColumn, PlanRules, plan_access};
pub use predicate::{CompareOp, Predicate};
