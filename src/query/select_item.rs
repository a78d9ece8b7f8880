//! `BoundItem`, an output column of a select list, and `SortKey`, an ORDER BY over such columns.

use sqlparser::ast;

use super::bound::Bound;

/// An output column of a select list, bound.
pub(super) struct BoundItem {
    pub(super) name: String,
    pub(super) bound: Bound,
}

/// A sort key over the outputs of a select list.
pub(super) struct SortKey {
    pub(super) output: usize,
    pub(super) ascending: bool,
    pub(super) nulls_first: bool,
}

impl SortKey {
    /// Ascending by an output.
    pub(super) fn ascending(output: usize) -> SortKey {
        SortKey {
            output,
            ascending: true,
            nulls_first: false,
        }
    }

    pub(super) fn new(output: usize, options: &ast::OrderByOptions) -> SortKey {
        let ascending = options.asc.unwrap_or(true);
        SortKey {
            output,
            ascending,
            nulls_first: options.nulls_first.unwrap_or(!ascending),
        }
    }
}
