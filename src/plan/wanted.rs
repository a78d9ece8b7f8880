//! `Wanted`: what a statement asks of the rows that it reads, and `OrderColumn`, of which orders are made.

/// What a statement asks of the rows that it reads, besides that they satisfy its condition.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The columns that it reads (positions in `TableDef::columns`); `None`: all of them.
    pub columns: Option<&'a [usize]>,
    /// The order of which it may want only the first rows; empty: none.
    pub first_in_order: &'a [OrderColumn],
}

/// One column of an ORDER BY that is a plain column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderColumn {
    /// Position in `TableDef::columns`.
    pub column: usize,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}
