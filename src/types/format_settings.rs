//! `FormatSettings`: the settings of a session that values are read and printed by. Whoever does either passes them on.

/// Session settings that reading and printing values depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatSettings {
    /// Session TimeZone.
    pub time_zone: chrono_tz::Tz,
    /// How long the values are that functions make.
    pub result_limits: ResultLimits,
}

/// How long a function's result may be, and its results for one batch of rows together, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultLimits {
    /// keyspan.function_value_bytes_max.
    pub value_bytes_max: usize,
    /// keyspan.function_batch_bytes_max; below the 2 GiB that Arrow's offsets reach.
    pub batch_bytes_max: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        ResultLimits {
            value_bytes_max: 64 << 20,
            batch_bytes_max: 512 << 20,
        }
    }
}

impl Default for FormatSettings {
    fn default() -> Self {
        FormatSettings {
            time_zone: chrono_tz::Tz::UTC,
            result_limits: ResultLimits::default(),
        }
    }
}
