//! `SettingDef`: what a setting is: name, default, kind, who may change it, whether clients are told, what it means; and the
//! kinds that the two tables of settings are written with.

/// What settings say that PostgreSQL's planner or storage has and Keyspan needs not. Who sets one to anything but its default
/// is told so once.
pub(super) const NO_EFFECT: &str = "Accepted for compatibility; has no effect.";

/// What bounds memory instead of PostgreSQL's settings.
const MEMORY_BOUNDS: &str = "keyspan.query_memory_bytes_max bounds the memory of one statement, keyspan.memory_bytes_max that of all.";

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Plans depend on its value: one that is kept is dropped when it changes.
    pub shapes_plans: bool,
    /// What it means, in one sentence.
    pub description: &'static str,
}

/// What values a setting takes.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What a client calls itself: as much as a name may be, of what prints.
    PrintableName,
    /// TimeZone.
    TimeZone,
    /// DateStyle: how dates print, and the order of day and month.
    DateStyle,
    /// client_encoding: the name of a character encoding.
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
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Kilobytes.
    Kilobytes,
    /// Megabytes.
    Megabytes,
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
    /// Whether it does anything.
    pub fn has_effect(&self) -> bool {
        self.description != NO_EFFECT
    }

    /// The same, of one that plans depend on: names are looked up by it, constants read or printed, ways to rows chosen.
    pub(super) const fn shaping_plans(self) -> SettingDef {
        SettingDef {
            shapes_plans: true,
            ..self
        }
    }

    /// What does what this one, which has no effect, does in PostgreSQL.
    pub fn instead(&self) -> Option<&'static str> {
        match self.name {
            "work_mem" | "hash_mem_multiplier" | "temp_buffers" => Some(MEMORY_BOUNDS),
            "plan_cache_mode" => Some(
                "A statement that is short keeps a plan for all values of its parameters, any other is planned for those at hand.",
            ),
            _ => None,
        }
    }

    /// The unit as pg_settings names it.
    pub fn unit(&self) -> Option<&'static str> {
        match self.kind {
            SettingKind::Integer { unit, .. } => unit.name(),
            _ => None,
        }
    }
}

impl Unit {
    /// Its name, as pg_settings has it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Milliseconds => Some("ms"),
            Unit::Seconds => Some("s"),
            Unit::Bytes => Some("B"),
            Unit::Kilobytes => Some("kB"),
            Unit::Megabytes => Some("MB"),
            Unit::Pages => Some("8kB"),
        }
    }
}

pub(super) const fn user(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        name,
        default,
        kind,
        scope: SettingScope::Session,
        reported: false,
        shapes_plans: false,
        description,
    }
}

pub(super) const fn reported(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        reported: true,
        ..user(name, default, kind, description)
    }
}

pub(super) const fn server(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        scope: SettingScope::Server,
        ..user(name, default, kind, description)
    }
}

pub(super) const fn internal(
    name: &'static str,
    default: &'static str,
    reported: bool,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        scope: SettingScope::Internal,
        reported,
        ..user(name, default, SettingKind::Text, description)
    }
}

/// The same, of a kind of its own.
pub(super) const fn internal_of(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    reported: bool,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        kind,
        ..internal(name, default, reported, description)
    }
}

pub(super) const fn number(min: i64, max: i64, unit: Unit) -> SettingKind {
    SettingKind::Integer { min, max, unit }
}

pub(super) const INT_MAX: i64 = i32::MAX as i64;
pub(super) const MILLISECONDS: SettingKind = number(0, INT_MAX, Unit::Milliseconds);
pub(super) const SECONDS: SettingKind = number(0, INT_MAX, Unit::Seconds);
/// A limit on data: any size, but one that arithmetic on it cannot overflow.
pub(super) const BYTES: SettingKind = number(1, TEBIBYTE, Unit::Bytes);
/// Memory or messages that less than this makes useless: the engine's cache asserts a floor of its own, and a message
/// carries at least a short statement.
pub(super) const ROOMY_BYTES: SettingKind = number(64 << 10, TEBIBYTE, Unit::Bytes);
/// With more, the texts of a batch would be beyond Arrow's offsets.
pub(super) const RESULT_BYTES: SettingKind = number(1 << 10, 1 << 30, Unit::Bytes);
/// With what stands before them, keys stay below the 65,535 bytes that every engine takes.
pub(super) const KEY_BYTES: SettingKind = number(1, 65_000, Unit::Bytes);
pub(super) const TEBIBYTE: i64 = 1 << 40;
pub(super) const KILOBYTES: SettingKind = number(64, INT_MAX, Unit::Kilobytes);
pub(super) const MEGABYTES: SettingKind = number(2, INT_MAX, Unit::Megabytes);
pub(super) const PAGES: SettingKind = number(1, INT_MAX, Unit::Pages);
pub(super) const COUNT: SettingKind = number(0, INT_MAX, Unit::None);
pub(super) const COST: SettingKind = SettingKind::Real {
    min: 0,
    max: i64::MAX,
};
pub(super) const LEVELS: SettingKind = SettingKind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
]);
pub(super) const ISOLATION: SettingKind = SettingKind::Enum(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
