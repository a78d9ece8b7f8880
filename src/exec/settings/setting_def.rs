//! `SettingDef`: what there is to know of one setting, a row of the table (`definitions`).

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingDef {
    /// Its name, in PostgreSQL's spelling.
    pub name: &'static str,
    /// Its default, in the form that `normalize` gives: numbers in their base unit.
    pub default: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// Who may change it.
    pub scope: SettingScope,
    /// Clients are told of its value at start and whenever it changes.
    pub reported: bool,
    /// What it means, in one sentence.
    pub description: &'static str,
}

/// What values a setting takes.
#[derive(Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// on, off and their other spellings.
    Bool,
    /// A whole number.
    Integer { min: i64, max: i64, unit: Unit },
    /// A number.
    Real { min: i64, max: i64 },
    /// One of these words.
    Enum(&'static [&'static str]),
    /// Any text.
    Text,
    /// TimeZone.
    TimeZone,
    /// DateStyle: ISO, with any order of day and month on input.
    DateStyle,
    /// client_encoding: UTF8.
    Encoding,
    /// A list of names.
    Names,
}

/// What a whole number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nothing.
    None,
    /// Milliseconds.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Kilobytes.
    Kilobytes,
    /// Pages of 8 kB.
    Pages,
}

/// Who may change a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// SET.
    Session,
    /// The server's command line.
    Server,
    /// Nobody.
    Internal,
}

impl SettingDef {
    /// The unit as pg_settings names it.
    pub fn unit(&self) -> Option<&'static str> {
        match self.kind {
            SettingKind::Integer {
                unit: Unit::Milliseconds,
                ..
            } => Some("ms"),
            SettingKind::Integer {
                unit: Unit::Bytes, ..
            } => Some("B"),
            SettingKind::Integer {
                unit: Unit::Kilobytes,
                ..
            } => Some("kB"),
            SettingKind::Integer {
                unit: Unit::Pages, ..
            } => Some("8kB"),
            _ => None,
        }
    }

    /// The kind as pg_settings names it.
    pub fn vartype(&self) -> &'static str {
        match self.kind {
            SettingKind::Bool => "bool",
            SettingKind::Integer { .. } => "integer",
            SettingKind::Real { .. } => "real",
            SettingKind::Enum(_) => "enum",
            _ => "string",
        }
    }

    /// Who may change it, as pg_settings says.
    pub fn context(&self) -> &'static str {
        match self.scope {
            SettingScope::Session => "user",
            SettingScope::Server => "postmaster",
            SettingScope::Internal => "internal",
        }
    }
}
