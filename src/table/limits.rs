//! `Limits`: how large keys and values may be, and how long rows live that a statement writes. Settings of the session
//! (`keyspan.*_bytes_max`) and the statement's hints fill it in.

/// What rows may be at most; the defaults of the sizes, in bytes, are Lindorm's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The value of one column of a key (`keyspan.key_column_bytes_max`).
    pub key_column_bytes_max: usize,
    /// A whole key, encoded (`keyspan.key_bytes_max`).
    pub key_bytes_max: usize,
    /// A row value, encoded (`keyspan.value_bytes_max`).
    pub value_bytes_max: usize,
    /// How long the rows live that are written, in microseconds (`_l_ttl_`); `None`: as their table says.
    pub row_lifetime: Option<i64>,
    /// The time that the rows have which are written, in microseconds since 1970 (`_l_ts_`); `None`: that of the commit.
    pub version_time: Option<i64>,
}

impl Limits {
    /// Of what was stored under others.
    pub const NONE: Limits = Limits {
        key_column_bytes_max: usize::MAX,
        key_bytes_max: usize::MAX,
        value_bytes_max: usize::MAX,
        row_lifetime: None,
        version_time: None,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            key_column_bytes_max: 2 << 10,
            key_bytes_max: 30 << 10,
            value_bytes_max: 2 << 20,
            row_lifetime: None,
            version_time: None,
        }
    }
}
