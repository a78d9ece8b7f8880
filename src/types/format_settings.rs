//! `FormatSettings`: the settings of a session that values are read and printed by. Whoever does either passes them on.

/// Session settings that reading and printing values depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatSettings {
    /// Session TimeZone.
    pub time_zone: chrono_tz::Tz,
}

impl Default for FormatSettings {
    fn default() -> Self {
        FormatSettings {
            time_zone: chrono_tz::Tz::UTC,
        }
    }
}
