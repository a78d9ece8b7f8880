//! `WITH (…)` options of tables, set and reset: by CREATE TABLE and by ALTER TABLE. What options there are stands in
//! `catalog::table_options`; PostgreSQL's storage parameters are in `storage`.

use sqlparser::ast::{CreateTableOptions, SqlOption};

use super::expiry;
use super::storage::{self, StoredKind, value_text};
use super::table_change::changed_key;
use super::versions;
use super::wildcard;
use crate::catalog::{TABLE_OPTIONS, TableDef, TableOption, TableOptions, Values, Verdict, WILDCARD_COLUMN};
use crate::error::nearest_name;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// An option and its value; `None` where it is reset.
pub(super) type NewOption = (String, Option<String>);

/// The options that say where a new table is split.
const SPLIT_OPTIONS: [&str; 4] = ["numregions", "startkey", "endkey", "splitkeys"];

/// The longest value of an option that is only kept, in bytes.
const VALUE_BYTES_MAX: usize = 1024;

/// The options of a CREATE TABLE, and those among them that do nothing here. Errors: 22023 for options that nobody knows, all of them at
/// once, and for values; 0A000 for what would change answers and is not supported.
pub(super) fn read(options: &CreateTableOptions) -> Result<(TableOptions, Vec<String>)> {
    let mut read = TableOptions::default();
    let mut unused = Vec::new();
    match options {
        CreateTableOptions::None => {}
        CreateTableOptions::With(list) => unused = change(&mut read, &written(list)?)?,
        CreateTableOptions::Options(list)
        | CreateTableOptions::Plain(list)
        | CreateTableOptions::TableProperties(list) => {
            let first = list.first().map(ToString::to_string).unwrap_or_default();
            return Err(Error::unsupported(
                format!("the table option {first} outside WITH"),
                Some("Write table options as WITH (name = 'value', ...)."),
            ));
        }
    }
    Ok((read, unused))
}

/// SET and RESET of ALTER TABLE. Errors: as [`read`]; 0A000 for what would make its key another.
pub(super) fn alter(ctx: &StatementContext, table: &mut TableDef, changes: &[NewOption]) -> Result<()> {
    let (buckets, expires) = (table.options.buckets, table.options.expiry.clone());
    let kept = table.options.versions.clone();
    let mut names = changes.iter().map(|(name, _)| name);
    if names.any(|name| name.eq_ignore_ascii_case(WILDCARD_COLUMN)) {
        return Err(wildcard::refused());
    }
    let is_split = |name: &str| {
        SPLIT_OPTIONS
            .iter()
            .any(|option| option.eq_ignore_ascii_case(name))
    };
    if changes.iter().any(|(name, _)| is_split(name)) {
        return Err(Error::unsupported(
            "a table option that splits a table which is there",
            Some("Write ALTER TABLE ... SPLIT AT VALUES (...), or UNSPLIT ALL."),
        ));
    }
    let unused = change(&mut table.options, changes)?;
    storage::tell(ctx, unused);
    expiry::settle(ctx, table, &expires)?;
    versions::settle(ctx, table, &kept)?;
    match table.options.buckets == buckets {
        true => Ok(()),
        false => Err(changed_key(table)),
    }
}

/// A list of options as the parser has it. Errors: 0A000.
pub(super) fn written(list: &[SqlOption]) -> Result<Vec<NewOption>> {
    let option = |option: &SqlOption| match option {
        SqlOption::KeyValue { key, value } => Ok((names::fold(key), Some(value_text(value)))),
        SqlOption::Ident(key) => Ok((names::fold(key), Some("true".to_string()))),
        other => Err(Error::unsupported(format!("the table option {other}"), None)),
    };
    list.iter().map(option).collect()
}

/// Changes options; answers those that were set and do nothing here. Errors: as [`read`].
pub(super) fn change(options: &mut TableOptions, changes: &[NewOption]) -> Result<Vec<String>> {
    check_known(changes)?;
    let mut unused = Vec::new();
    for (name, value) in changes {
        let is_set = match TableOption::named(name) {
            Some(option) => match value {
                Some(value) => set(options, option, value.trim())?,
                None => {
                    reset(options, option);
                    true
                }
            },
            None => {
                set_parameter(options, name, value.as_deref())?;
                value.is_none()
            }
        };
        if !is_set {
            unused.push(name.to_lowercase());
        }
    }
    Ok(unused)
}

/// Sets an option; whether that does anything. Errors: 0A000, 22023.
fn set(options: &mut TableOptions, option: &TableOption, value: &str) -> Result<bool> {
    match &option.verdict {
        Verdict::Honoured(honoured) => {
            let folded = value.to_lowercase();
            let set = (honoured.set)(options, if honoured.keeps_case { value } else { &folded });
            set.ok_or_else(|| invalid_value("table", option.name, value, honoured.values))?;
            Ok(true)
        }
        Verdict::Kept(values) => {
            check_kept("table", option.name, value, *values)?;
            options.kept.insert(option.name.to_string(), value.to_string());
            Ok(false)
        }
    }
}

fn reset(options: &mut TableOptions, option: &TableOption) {
    match &option.verdict {
        Verdict::Honoured(honoured) => (honoured.reset)(options),
        Verdict::Kept(_) => {
            options.kept.remove(option.name);
        }
    }
}

/// Keeps a storage parameter of PostgreSQL's. Errors: 22023.
fn set_parameter(options: &mut TableOptions, name: &str, value: Option<&str>) -> Result<()> {
    let name = name.to_lowercase();
    match value {
        None => {
            options.kept.remove(&name);
        }
        Some(value) => {
            storage::is_parameter(StoredKind::Table, &name, value)?;
            if name != "oids" {
                options.kept.insert(name, value.to_string());
            }
        }
    }
    Ok(())
}

/// Errors: 22023.
fn check_known(changes: &[NewOption]) -> Result<()> {
    let is_known = |name: &str| TableOption::named(name).is_some() || storage::is_table_parameter(name);
    let known: Vec<&str> = TABLE_OPTIONS.iter().map(|option| option.name).collect();
    check_names(changes, is_known, &known, "The table options are")
}

/// `known`: the names that the hint lists behind `preface`, and of which it says the nearest. Errors: 22023, all that
/// nobody knows at once, or for one that stands there twice.
pub(super) fn check_names(
    options: &[NewOption],
    is_known: impl Fn(&str) -> bool,
    known: &[&str],
    preface: &str,
) -> Result<()> {
    for (at, (name, _)) in options.iter().enumerate() {
        let mut before = options[..at].iter();
        if before.any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(Error::InvalidParameter {
                message: format!("parameter \"{}\" specified more than once", name.to_lowercase()),
                hint: None,
            });
        }
    }
    let names = options.iter().map(|(name, _)| name.as_str());
    let unknown: Vec<&str> = names.filter(|name| !is_known(name)).collect();
    let (first, message) = match unknown.as_slice() {
        [] => return Ok(()),
        [one] => (one, format!("unrecognized parameter \"{one}\"")),
        [first, ..] => (
            first,
            format!("unrecognized parameters \"{}\"", unknown.join("\", \"")),
        ),
    };
    let near = nearest_name(&first.to_lowercase(), known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("Perhaps you meant {near}. "));
    Err(Error::InvalidParameter {
        message,
        hint: Some(format!("{near}{preface} {}.", known.join(", "))),
    })
}

/// `kind`: what the option is of, `table` or `index`. Errors: 22023.
pub(super) fn check_kept(kind: &str, name: &str, value: &str, values: Values) -> Result<()> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::InvalidParameter {
            message: format!("value too long for {kind} option \"{name}\""),
            hint: Some(format!("It may have {VALUE_BYTES_MAX} bytes.")),
        });
    }
    match values.take(value) {
        true => Ok(()),
        false => Err(invalid_value(kind, name, value, &values.told())),
    }
}

pub(super) fn invalid_value(kind: &str, name: &str, value: &str, values: &str) -> Error {
    Error::InvalidParameter {
        message: format!("invalid value for {kind} option \"{name}\": {value}"),
        hint: Some(format!("Available values: {values}.")),
    }
}
