//! Where the rows of a relation are from, which says what columns they have beside its own: see `system_column`.

use super::bound::Bound;

/// See the top.
#[derive(Debug, Clone, Default)]
pub(super) enum RowOrigin {
    /// A query, as those of a view: none.
    #[default]
    Computed,
    /// A table. Its row id, where it has one.
    Table(Option<Bound>),
    /// A write, which gives them.
    Written,
    /// The catalogs.
    Catalog,
}
