//! `Stored`: what a row holds of one column, between the reader of rows and whoever decodes or copies a column.

/// What a row holds of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Present and NULL.
    Null,
    /// Present: the stored bytes of its type.
    Bytes(&'a [u8]),
}
