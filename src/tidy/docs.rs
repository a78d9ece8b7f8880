//! `docs/settings.md` and `docs/functions.md`, printed from the tables that the server itself reads: the settings of `system`, the
//! functions of `functions`, the aggregates and window functions of `query`. A file that differs from them fails its test, which can write it anew.

use std::fmt::Write as _;
use std::path::Path;

use crate::functions::{Body, FunctionDef, Returns, T, every_function};
use crate::query::{WINDOW_FUNCTIONS, aggregate_names};
use crate::system::settings::{SettingDef, SettingKind, SettingScope, Unit};
use crate::system::{SettingRow, Settings, definitions};

/// What writes both files.
const COMMAND: &str = "KEYSPAN_WRITE_DOCS=1 cargo test --lib docs";

/// Asserts that a file of `docs/` has this text; with `KEYSPAN_WRITE_DOCS` it writes it instead.
#[track_caller]
fn check_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("KEYSPAN_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(text.lines())
        .position(|(is, should)| is != should);
    let line = 1 + differs.unwrap_or(found.lines().count().min(text.lines().count()));
    assert!(
        found == text,
        "docs/{name}:{line}: not what the registry prints. Write it anew with\n  {COMMAND}"
    );
}

#[test]
fn settings_are_those_of_the_registry() {
    check_file("settings.md", &settings());
}

#[test]
fn functions_are_those_of_the_registry() {
    check_file("functions.md", &functions());
}

/// `docs/settings.md`.
fn settings() -> String {
    let rows = Settings::with_server_values(&[])
        .expect("defaults are valid")
        .rows();
    let with_def = |row: &SettingRow| row.def.map(|def| (def, row.value.clone()));
    let rows: Vec<(&SettingDef, String)> = rows.iter().filter_map(with_def).collect();
    assert_eq!(rows.len(), definitions().len(), "every setting has a row");
    let mut text = format!(
        "# Settings\n\n\
         Printed from the server's table of settings by `{COMMAND}`; a unit test compares.\n\
         How a value is given, and which of several counts, stands in [operating.md](operating.md); what each limit answers in\n\
         [limits-and-errors.md](limits-and-errors.md).\n\n\
         *Changed by*: `SET` is what a session may change, also `ALTER SYSTEM`, `ALTER DATABASE`, `ALTER ROLE` and connection\n\
         parameters; *start* is what only a start of the server changes (`--set`, a flag, its environment variable); *nobody* is there\n\
         to be read. Sizes take `B`, `kB`, `MB`, `GB` and `TB`, times `ms`, `s`, `min`, `h` and `d`.\n"
    );
    let titles = ["Keyspan's own", "PostgreSQL's", "PostgreSQL's, to be read"];
    let part = |def: &SettingDef| match def.scope {
        _ if def.name.starts_with("keyspan.") => 0,
        _ if !def.has_effect() => titles.len(),
        SettingScope::Session | SettingScope::Server => 1,
        SettingScope::Internal => 2,
    };
    for (at, title) in titles.iter().enumerate() {
        let _ = write!(
            text,
            "\n## {title}\n\n| setting | default | values | changed by | what it is |\n|---|---|---|---|---|\n"
        );
        for (def, value) in rows.iter().filter(|(def, _)| part(def) == at) {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} |",
                def.name,
                default(def, value),
                values(&def.kind),
                changed_by(def.scope),
                def.description.replace('|', "\\|"),
            );
        }
    }
    text.push_str(
        "\n## PostgreSQL's, without effect\n\n\
         Each is taken, checked, and does nothing; who sets one to anything but its default is told so once, in a NOTICE.\n\n\
         | setting | default | values | instead |\n|---|---|---|---|\n",
    );
    for (def, value) in rows.iter().filter(|(def, _)| part(def) == titles.len()) {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            def.name,
            default(def, value),
            values(&def.kind),
            def.instead().unwrap_or_default(),
        );
    }
    text
}

/// The default of a setting, as SHOW prints it.
fn default(def: &SettingDef, value: &str) -> String {
    match (def.name, value) {
        ("keyspan.cache_bytes", _) => {
            "a quarter of the machine's memory, or of its control group's".to_string()
        }
        ("keyspan.memory_bytes_max", _) => {
            "three eighths of the machine's memory, or of its control group's".to_string()
        }
        ("keyspan.large_commits_bytes_max", _) => {
            "a sixteenth of the machine's memory, or of its control group's".to_string()
        }
        (_, "") => "empty".to_string(),
        (_, value) => format!("`{value}`"),
    }
}

fn changed_by(scope: SettingScope) -> &'static str {
    match scope {
        SettingScope::Session => "`SET`",
        SettingScope::Server => "start",
        SettingScope::Internal => "nobody",
    }
}

/// What values a setting takes.
fn values(kind: &SettingKind) -> String {
    match kind {
        SettingKind::Bool => "`on`, `off`".to_string(),
        SettingKind::Integer { min, max, unit } => {
            format!("{} to {}", quantity(*min, *unit), quantity(*max, *unit))
        }
        SettingKind::Real { min, max: i64::MAX } => format!("{min} or more"),
        SettingKind::Real { min, max } => format!("{min} to {max}"),
        SettingKind::Enum(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        SettingKind::Text => "text".to_string(),
        SettingKind::PrintableName => "a name".to_string(),
        SettingKind::TimeZone => "a time zone".to_string(),
        SettingKind::DateStyle => "`ISO`, `Postgres`, `SQL`, `German`; `MDY`, `DMY`, `YMD`".to_string(),
        SettingKind::Encoding => "the name of an encoding".to_string(),
        SettingKind::Names => "names".to_string(),
    }
}

/// A bound of a whole number, in the largest unit that divides it.
fn quantity(number: i64, unit: Unit) -> String {
    let (mut units, mut number, step) = match unit {
        Unit::None => return number.to_string(),
        Unit::Milliseconds => return format!("{number} ms"),
        Unit::Seconds => return format!("{number} s"),
        Unit::Pages => return format!("{number} pages"),
        Unit::Bytes => (["B", "kB", "MB", "GB", "TB"].as_slice(), number, 1024),
        Unit::Kilobytes => (["kB", "MB", "GB", "TB"].as_slice(), number, 1024),
        Unit::Megabytes => (["MB", "GB", "TB"].as_slice(), number, 1024),
    };
    if number <= 0 {
        return number.to_string();
    }
    while number % step == 0 && units.len() > 1 {
        number /= step;
        units = &units[1..];
    }
    format!("{number} {}", units[0])
}

/// `docs/functions.md`.
fn functions() -> String {
    let mut lines: Vec<(&str, String)> = every_function()
        .map(|function| (function.name, signature(function)))
        .collect();
    lines.sort();
    lines.dedup();
    let is_word = |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
    let block = |is_of: &dyn Fn(&str) -> bool| {
        let lines: Vec<&str> = lines
            .iter()
            .filter(|(name, _)| is_of(name))
            .map(|(_, line)| line.as_str())
            .collect();
        lines.join("\n")
    };
    let names = |names: &mut dyn Iterator<Item = &'static str>| {
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.join("\n")
    };
    format!(
        "# Functions and operators\n\n\
         Printed from the server's tables of functions by `{COMMAND}`; a unit test compares.\n\n\
         A function is immutable unless its line says stable or volatile, as PostgreSQL means these words, and is not called with a NULL,\n\
         which makes its result NULL, unless it says *takes NULL*. *rows*: it gives a set. `…`: the last argument may come once or more.\n\
         `anyelement` is any type, the same in all places; `any` is any type, in each place its own. A result that is said to follow the\n\
         arguments has their type, or the scale that their types or constants make of it. Where PostgreSQL has a function of the same name\n\
         its answers and errors are PostgreSQL's.\n\n\
         What SQL defines by its meaning is in no table, and so not here: `coalesce`, `nullif`, `greatest`, `least`, comparisons, `LIKE`,\n\
         arithmetic of numbers, `CASE`, casts, `ARRAY[…]`, the time of the transaction and the session's names (`now()`, `current_date`,\n\
         `current_user` and their like), and functions that give rows of several columns, such as `json_each`. What these are made of is\n\
         here, under names that PostgreSQL does not have (`json_each_keys`, `json_each_texts`): do not call it, for it may change.\n\n\
         ## Functions\n\n```text\n{}\n```\n\n\
         ## Operators\n\n\
         Their operands stand as they are written.\n\n```text\n{}\n```\n\n\
         ## Aggregates\n\n\
         Each is also a window function, where PostgreSQL has it as one.\n\n```text\n{}\n```\n\n\
         ## Window functions\n\n\
         These need `OVER`; `rank`, `dense_rank`, `percent_rank` and `cume_dist` may have `WITHIN GROUP` instead.\n\n```text\n{}\n```\n",
        block(&is_word),
        block(&|name| !is_word(name)),
        names(&mut aggregate_names()),
        names(&mut WINDOW_FUNCTIONS.iter().copied()),
    )
}

/// `name(arguments) → result`, of an operator as it is written, and what is not as usual.
fn signature(function: &FunctionDef) -> String {
    let mut arguments: Vec<String> = function.arguments.iter().map(|ty| type_name(*ty)).collect();
    if function.variadic {
        arguments.push("…".to_string());
    }
    let is_operator = !function
        .name
        .starts_with(|first: char| first.is_ascii_lowercase());
    let call = match arguments.as_slice() {
        [operand] if is_operator => format!("{} {operand}", function.name),
        [left, right] if is_operator => format!("{left} {} {right}", function.name),
        _ => format!("{}({})", function.name, arguments.join(", ")),
    };
    let mut line = format!("{call} → {}", result(function));
    let mut notes = Vec::new();
    match format!("{:?}", function.volatility).as_str() {
        "Immutable" => {}
        "Stable" => notes.push("stable"),
        _ => notes.push("volatile"),
    }
    if matches!(function.body, Body::Rows(_) | Body::CatalogRows(_)) {
        notes.push("rows");
    }
    if !function.strict && !function.arguments.is_empty() {
        notes.push("takes NULL");
    }
    if !notes.is_empty() {
        let _ = write!(line, "    {}", notes.join(", "));
    }
    line
}

fn result(function: &FunctionDef) -> String {
    match function.returns {
        Returns::Type(ty) => type_name(ty),
        Returns::ArrayOf(item) if matches!(function.body, Body::Rows(_) | Body::CatalogRows(_)) => {
            type_name(item)
        }
        Returns::ArrayOf(item) => format!("{}[]", type_name(item)),
        Returns::Computed(_) => "follows the arguments".to_string(),
    }
}

fn type_name(ty: T) -> String {
    match (ty, ty.sql_type()) {
        (_, Some(ty)) => ty.to_string(),
        (T::AnyEnum, None) => "anyenum".to_string(),
        (T::AnyRange, None) => "anyrange".to_string(),
        (T::AnyMultirange, None) => "anymultirange".to_string(),
        (T::AnyRecord, None) => "record".to_string(),
        (T::AnyElement, None) => "anyelement".to_string(),
        (T::AnyArray, None) => "anyarray".to_string(),
        (_, None) => "any".to_string(),
    }
}
