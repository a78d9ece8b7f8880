//! `SortKey`: a key of a sort, of `Step::Sort` and of the rows that it keeps.

use crate::operators::computed::Computed;

/// A key of a sort.
#[derive(Debug)]
pub(super) struct SortKey {
    pub(super) computed: Computed,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}
