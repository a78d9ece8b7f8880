//! Predicates → boxes → key ranges → an access path and a verdict. Pure: no I/O, no DataFusion, no sockets.
//!
//! ```text
//! WHERE channel IN ('alipay', 'wechat') AND id > 'a0089' AND location = 'shanghai'
//!   predicate    And[InList, Compare, Compare]           three-valued, columns by position, constants never rounded
//!   boxes        [channel ∈ {alipay, wechat}, id ∈ ('a0089', …)]              covers every row that may match
//!   key ranges   [7061… , 7061…) [7077… , 7077…)        sorted, disjoint, in the key's own bytes and directions
//!   candidate    of each key that can be read; the best is chosen, and may run or is refused
//!   access path  RangeScan, residual: location = 'shanghai'
//! ```
//!
//! What holds, and is tested against brute force (`tests`):
//! - *sound*: every row for which the predicate is true lies in the keys or ranges;
//! - *tight*: without a residual, every row in them satisfies the predicate; with one, every row that satisfies it does;
//! - *ordered*: keys are sorted and distinct, ranges sorted, disjoint and not empty;
//! - *bounded*: at most `BOXES_MAX` boxes, `multi_get_keys_max` keys and `ranges_max` ranges, whatever the predicate.
//!
//! `compare` is the one comparison rule; whoever filters rows with a `Predicate` (`scan::residual`) uses it too.

mod access_path;
mod bounds;
mod boxes;
mod candidate;
mod choice;
mod column_set;
pub(crate) mod compare;
mod derived;
mod equality;
mod kept_path;
mod key_order;
mod key_ranges;
pub(crate) mod key_shape;
pub(crate) mod like;
mod merge;
mod one_key;
mod partition_places;
mod partition_pruning;
pub(crate) mod predicate;
mod readable;
mod refusal;
mod rules;
mod term_sets;
mod terms;
#[cfg(test)]
pub(crate) mod tests;
mod union;
mod wanted;

pub use access_path::{AccessClass, AccessPath};
pub(crate) use bounds::like_bounds;
pub use choice::plan_access;
pub use equality::{Bound, bound_by, bounding_columns, is_bounded_by, plan_equality};
pub use kept_path::KeptPath;
pub(crate) use like::has_sound_pattern;
pub use merge::MergedRange;
pub(crate) use one_key::equal_value;
pub use partition_places::PartitionPlaces;
pub use predicate::{CompareOp, Predicate};
pub(crate) use readable::{literal, row_keys};
pub use refusal::serving_index;
pub use rules::{FullScanPolicy, PlanRules};
pub use term_sets::{TermRange, TermSets};
pub use wanted::{OrderColumn, Wanted};
