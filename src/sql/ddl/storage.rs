//! PostgreSQL's storage parameters and tablespaces: taken and checked as PostgreSQL does, for tools send them; without effect,
//! for nothing is stored as PostgreSQL stores it. A NOTICE says so, once a statement.

use sqlparser::ast::{BinaryOperator, Expr, Value as Literal};

use super::notice;
use crate::catalog::boolean;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// What a parameter is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredKind {
    Table,
    Index,
    View,
}

/// The values that a parameter takes.
#[derive(Debug, Clone, Copy)]
enum Values {
    Boolean,
    Integer(i64, i64),
    Real(f64, f64),
    OneOf(&'static [&'static str]),
}

const THRESHOLD: Values = Values::Integer(-1, i32::MAX as i64);
const FACTOR: Values = Values::Real(0.0, 100.0);
const AGE: Values = Values::Integer(0, 2_000_000_000);

/// What the parameters of tables begin with that may stand behind `toast.`, too.
const TOAST_PARAMETERS: [&str; 3] = ["autovacuum_", "vacuum_", "log_"];

/// Of tables.
const TABLE_PARAMETERS: [(&str, Values); 23] = [
    ("autovacuum_analyze_scale_factor", FACTOR),
    ("autovacuum_analyze_threshold", THRESHOLD),
    ("autovacuum_enabled", Values::Boolean),
    ("autovacuum_freeze_max_age", AGE),
    ("autovacuum_freeze_min_age", AGE),
    ("autovacuum_freeze_table_age", AGE),
    ("autovacuum_multixact_freeze_max_age", AGE),
    ("autovacuum_multixact_freeze_min_age", AGE),
    ("autovacuum_multixact_freeze_table_age", AGE),
    ("autovacuum_vacuum_cost_delay", FACTOR),
    ("autovacuum_vacuum_cost_limit", Values::Integer(1, 10_000)),
    ("autovacuum_vacuum_insert_scale_factor", FACTOR),
    ("autovacuum_vacuum_insert_threshold", THRESHOLD),
    ("autovacuum_vacuum_scale_factor", FACTOR),
    ("autovacuum_vacuum_threshold", THRESHOLD),
    ("fillfactor", Values::Integer(10, 100)),
    ("log_autovacuum_min_duration", THRESHOLD),
    ("oids", Values::OneOf(&["false", "off", "no", "0", "f"])),
    ("parallel_workers", Values::Integer(0, 1024)),
    ("toast_tuple_target", Values::Integer(128, 8160)),
    ("user_catalog_table", Values::Boolean),
    (
        "vacuum_index_cleanup",
        Values::OneOf(&["auto", "on", "off", "true", "false", "yes", "no", "1", "0"]),
    ),
    ("vacuum_truncate", Values::Boolean),
];

const INDEX_PARAMETERS: [(&str, Values); 7] = [
    ("autosummarize", Values::Boolean),
    ("buffering", Values::OneOf(&["auto", "on", "off"])),
    ("deduplicate_items", Values::Boolean),
    ("fastupdate", Values::Boolean),
    ("fillfactor", Values::Integer(10, 100)),
    ("gin_pending_list_limit", Values::Integer(64, 2_147_483_647)),
    ("pages_per_range", Values::Integer(1, 131_072)),
];

const VIEW_PARAMETERS: [(&str, Values); 3] = [
    ("check_option", Values::OneOf(&["local", "cascaded"])),
    ("security_barrier", Values::Boolean),
    ("security_invoker", Values::Boolean),
];

/// Whether it is a parameter that PostgreSQL has. Errors: 22023 for a value that it does not take.
pub(super) fn is_parameter(kind: StoredKind, name: &str, value: &str) -> Result<bool> {
    let lower = name.to_lowercase();
    let plain = match lower.strip_prefix("toast.") {
        Some(plain) if TOAST_PARAMETERS.iter().any(|start| plain.starts_with(start)) => plain,
        Some(_) => return Err(unrecognized(name)),
        None => &lower,
    };
    let known: &[(&str, Values)] = match kind {
        StoredKind::Table => &TABLE_PARAMETERS,
        StoredKind::Index => &INDEX_PARAMETERS,
        StoredKind::View => &VIEW_PARAMETERS,
    };
    let Some((_, values)) = known.iter().find(|(known, _)| *known == plain) else {
        return Ok(false);
    };
    if plain == "oids" && boolean(&value.to_lowercase()) == Some(true) {
        return Err(Error::unsupported("a table declared WITH OIDS", None));
    }
    if plain == "check_option" && !["local", "cascaded"].contains(&value.to_lowercase().as_str()) {
        return Err(Error::RefusedValue {
            state: "22023",
            message: format!("invalid value for enum option \"check_option\": {value}"),
            detail: Some("Valid values are \"local\" and \"cascaded\".".into()),
            hint: None,
        });
    }
    check_value(plain, *values, value).map(|()| true)
}

/// Whether tables have a storage parameter of this name in PostgreSQL.
pub(super) fn is_table_parameter(name: &str) -> bool {
    let lower = name.to_lowercase();
    let plain = match lower.strip_prefix("toast.") {
        Some(plain) if TOAST_PARAMETERS.iter().any(|start| plain.starts_with(start)) => plain,
        Some(_) => return false,
        None => &lower,
    };
    TABLE_PARAMETERS.iter().any(|(known, _)| *known == plain)
}

/// A parameter of CREATE INDEX … WITH (…): its name, and its value.
pub(super) fn written_parameter(written: &Expr) -> (String, Option<String>) {
    let (name, value) = match written {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => (&**left, value_text(right)),
        name => (name, "true".to_string()),
    };
    let name = match name {
        Expr::Identifier(name) => names::fold(name),
        Expr::Value(literal) => match &literal.value {
            Literal::SingleQuotedString(name) => name.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    (name, Some(value))
}

/// Whether indexes have a storage parameter of this name in PostgreSQL.
pub(super) fn is_index_parameter(name: &str) -> bool {
    let lower = name.to_lowercase();
    INDEX_PARAMETERS.iter().any(|(known, _)| *known == lower)
}

/// Errors: 22023 for a value that a storage parameter of indexes does not take.
pub(super) fn check_index_value(name: &str, value: &str) -> Result<()> {
    is_parameter(StoredKind::Index, name, value).map(|_| ())
}

/// The tablespaces that a definition names. Errors: 42704.
pub(super) fn check_tablespaces(ctx: &StatementContext) -> Result<()> {
    let mut named = ctx.hints.tablespaces.iter();
    named.try_for_each(|name| check_tablespace(name))
}

/// Errors: 42704 for a tablespace that does not exist.
pub(super) fn check_tablespace(name: &str) -> Result<()> {
    match name {
        "pg_default" => Ok(()),
        _ => Err(Error::UndefinedObject {
            kind: "tablespace",
            name: name.to_string(),
        }),
    }
}

/// Says what has no effect.
pub(super) fn tell(ctx: &StatementContext, names: Vec<String>) {
    if !names.is_empty() {
        let message = format!("without effect here: {}", names.join(", "));
        notice(ctx, "00000", message, None);
    }
}

fn check_value(name: &str, values: Values, value: &str) -> Result<()> {
    let lower = value.trim().to_lowercase();
    let (kind, is_taken) = match values {
        Values::Boolean => ("boolean", boolean(&lower).is_some()),
        Values::OneOf(taken) => ("enum", taken.contains(&lower.as_str())),
        Values::Integer(min, max) => match lower.parse::<i64>() {
            Ok(number) if !(min..=max).contains(&number) => return Err(out_of_bounds(name, value, min, max)),
            number => ("integer", number.is_ok()),
        },
        Values::Real(min, max) => match lower.parse::<f64>() {
            Ok(number) if !(min..=max).contains(&number) => return Err(out_of_bounds(name, value, min, max)),
            number => ("floating point", number.is_ok()),
        },
    };
    match is_taken {
        true => Ok(()),
        false => Err(Error::InvalidParameter {
            message: format!("invalid value for {kind} option \"{name}\": {value}"),
            hint: None,
        }),
    }
}

fn out_of_bounds(name: &str, value: &str, min: impl std::fmt::Display, max: impl std::fmt::Display) -> Error {
    Error::InvalidParameter {
        message: format!("value {value} out of bounds for option \"{name}\""),
        hint: Some(format!("Valid values are between \"{min}\" and \"{max}\".")),
    }
}

fn unrecognized(name: &str) -> Error {
    Error::InvalidParameter {
        message: format!("unrecognized parameter \"{name}\""),
        hint: Some(
            "The storage parameters are PostgreSQL's; BUCKETS and DYNAMIC_COLUMNS are options of tables."
                .to_string(),
        ),
    }
}

/// The value of an option as text.
pub(super) fn value_text(value: &Expr) -> String {
    match value {
        Expr::Value(literal) => match &literal.value {
            Literal::SingleQuotedString(text) | Literal::EscapedStringLiteral(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}
