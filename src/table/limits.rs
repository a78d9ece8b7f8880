//! `Limits`: how large keys and values may be. Settings of the session (`keyspan.*_bytes_max`) fill it in.

/// Sizes at most, in bytes; the defaults are Lindorm's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The value of one column of a key (`keyspan.key_column_bytes_max`).
    pub key_column_bytes_max: usize,
    /// A whole key, encoded (`keyspan.key_bytes_max`).
    pub key_bytes_max: usize,
    /// A row value, encoded (`keyspan.value_bytes_max`).
    pub value_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            key_column_bytes_max: 2 << 10,
            key_bytes_max: 30 << 10,
            value_bytes_max: 2 << 20,
        }
    }
}
