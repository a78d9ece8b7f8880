//! Names of functions that plans are searched for.

/// The name of `x = ANY (array)`, which becomes an IN list once the array is known.
pub const ANY_EQUAL_NAME: &str = "any_equal";
