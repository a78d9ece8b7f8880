//! `RangeKind`: which ranges there are, by what their bounds are.

/// What the bounds of a range are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// int4range.
    Int4,
    /// int8range.
    Int8,
    /// numrange.
    Numeric,
    /// daterange.
    Date,
    /// tsrange.
    Timestamp,
    /// tstzrange.
    TimestampTz,
}
