//! `WITH (…)` options of tables: one row an option. Read by CREATE TABLE and ALTER TABLE … SET.

use sqlparser::ast::{CreateTableOptions, SqlOption};

use super::generation::BUCKETS_MAX;
use super::storage::{self, StoredKind, boolean, value_text};
use crate::catalog::TableOptions;
use crate::parse::names;
use crate::{Error, Result};

/// An option: its name, and how its value is set.
struct TableOption {
    name: &'static str,
    set: fn(&mut TableOptions, &str) -> Option<()>,
    /// The values it takes, for the HINT.
    values: &'static str,
}

const TABLE_OPTIONS: [TableOption; 5] = [
    TableOption {
        name: "dynamic_columns",
        set: |options, value| {
            options.dynamic_columns = boolean(value)?;
            Some(())
        },
        values: "true, false",
    },
    TableOption {
        name: "full_scan",
        set: |options, value| {
            (options.full_scan_allowed, options.full_scan_rejected) = match value {
                "allow" => (true, false),
                "reject" => (false, true),
                _ => return None,
            };
            Some(())
        },
        values: "allow, reject",
    },
    TableOption {
        name: "buckets",
        set: |options, value| {
            let buckets = value.parse().ok()?;
            options.buckets = (2..=BUCKETS_MAX).contains(&buckets).then_some(buckets);
            options.buckets.map(|_| ())
        },
        values: "whole numbers from 2 to 64",
    },
    TableOption {
        name: "ttl",
        set: |options, value| options.expiry.set_ttl(value),
        values: "seconds above 0, an interval such as '30 days', or '' for rows that stay",
    },
    TableOption {
        name: "ttl_column",
        set: |options, value| {
            options.expiry.set_column(value);
            Some(())
        },
        values: "a column's name, or '' for none",
    },
];

/// The options of a CREATE TABLE, and the storage parameters among them. Errors: 22023 for unknown options and values, naming
/// those that exist.
pub(super) fn read(options: &CreateTableOptions) -> Result<(TableOptions, Vec<String>)> {
    let mut read = TableOptions::default();
    let mut unused = Vec::new();
    match options {
        CreateTableOptions::None => {}
        CreateTableOptions::With(list) => unused = set_all(&mut read, list)?,
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

/// Changes options by a list; answers the storage parameters in it. Errors: as `read`.
pub(super) fn set_all(options: &mut TableOptions, list: &[SqlOption]) -> Result<Vec<String>> {
    let mut unused = Vec::new();
    for option in list {
        let (name, value) = match option {
            SqlOption::KeyValue { key, value } => (names::fold(key), value_text(value)),
            SqlOption::Ident(key) => (names::fold(key), "true".to_string()),
            other => return Err(Error::unsupported(format!("the table option {other}"), None)),
        };
        match storage::is_parameter(StoredKind::Table, &name, &value)? {
            true => unused.push(name),
            false => set(options, &name, &value)?,
        }
    }
    Ok(unused)
}

fn set(options: &mut TableOptions, name: &str, value: &str) -> Result<()> {
    let lower = name.to_lowercase();
    let Some(option) = TABLE_OPTIONS.iter().find(|option| option.name == lower) else {
        let known: Vec<_> = TABLE_OPTIONS.iter().map(|option| option.name).collect();
        return Err(Error::InvalidParameter {
            message: format!("unrecognized parameter \"{name}\""),
            hint: Some(format!("The table options are {}.", known.join(", "))),
        });
    };
    (option.set)(options, value.trim().to_lowercase().as_str()).ok_or_else(|| Error::InvalidParameter {
        message: format!("invalid value for table option \"{}\": {value}", option.name),
        hint: Some(format!("Available values: {}.", option.values)),
    })
}
