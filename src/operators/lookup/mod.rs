//! Joins by lookup, as they run: the inner side is read by a key of it that the outer rows give. A step of short statements (`short`),
//! and what the nodes of general plans run (`lookup_join_exec`).

mod inner_read;
mod inner_rows;
mod lookup_keys;
mod partners;
mod running_lookup;
mod story;
mod table_lookup;
mod whole_inner;

pub(crate) use partners::{Joined, JoinedSchema};
pub(crate) use running_lookup::{LookupFigures, RunningLookup};
pub(crate) use story::LookupStory;
pub(crate) use table_lookup::Lookup;
