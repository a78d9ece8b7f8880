//! `WITH (…)` options of tables: one row an option. Read by CREATE TABLE and ALTER TABLE … SET.

use sqlparser::ast::{CreateTableOptions, Expr, SqlOption, Value as Literal};

use super::generation::BUCKETS_MAX;
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

const TABLE_OPTIONS: [TableOption; 3] = [
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
];

/// The options of a CREATE TABLE. Errors: 22023 for unknown options and values, naming those that exist.
pub(super) fn read(options: &CreateTableOptions) -> Result<TableOptions> {
    let mut read = TableOptions::default();
    match options {
        CreateTableOptions::None => {}
        CreateTableOptions::With(list) => set_all(&mut read, list)?,
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
    Ok(read)
}

/// Changes options by a list.
pub(super) fn set_all(options: &mut TableOptions, list: &[SqlOption]) -> Result<()> {
    list.iter().try_for_each(|option| match option {
        SqlOption::KeyValue { key, value } => set(options, &names::fold(key), &value_text(value)),
        SqlOption::Ident(key) => set(options, &names::fold(key), "true"),
        other => Err(Error::unsupported(format!("the table option {other}"), None)),
    })
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

fn value_text(value: &Expr) -> String {
    match value {
        Expr::Value(literal) => match &literal.value {
            Literal::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" | "on" | "yes" | "1" | "t" => Some(true),
        "false" | "off" | "no" | "0" | "f" => Some(false),
        _ => None,
    }
}
