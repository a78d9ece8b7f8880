//! The server and the session: who, where, since when, how large.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use super::argument::TimestampTz;
use super::{FunctionDef, T, null};
use crate::catalog::FIRST_DATABASE;
use crate::catalog::{TEMPORARY_ALIAS, is_temporary_schema};
use crate::error::Raised;
use crate::system::catalog_version::objects::{Found, path_with_catalog};
use crate::system::catalog_version::updatability::{UPDATES, triggered_writes, writes_of};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::naming::size_pretty;
use crate::types::{FormatSettings, Numeric, SqlType, TYPES, Value};
use crate::{Error, Result};

/// The tablespace `pg_default`.
const DEFAULT_TABLESPACE_OID: i64 = 1663;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("current_schema", &[], T::Name, |b, catalog| {
        b.map0(|| existing_schemas(catalog, false).into_iter().next())
    }),
    FunctionDef::catalog("current_schemas", &[T::Bool], T::Name, |b, catalog| {
        b.map1(|implicit| existing_schemas(catalog, implicit))
    })
    .array(T::Name),
    FunctionDef::catalog("current_database", &[], T::Name, |b, catalog| {
        b.map0(|| catalog.database())
    }),
    FunctionDef::catalog("current_catalog", &[], T::Name, |b, catalog| {
        b.map0(|| catalog.database())
    }),
    FunctionDef::catalog("current_user", &[], T::Name, |b, catalog| {
        b.map0(|| catalog.user())
    }),
    FunctionDef::catalog("current_role", &[], T::Name, |b, catalog| {
        b.map0(|| catalog.user())
    }),
    FunctionDef::catalog("session_user", &[], T::Name, |b, catalog| {
        b.map0(|| &*catalog.statement().session_user)
    }),
    FunctionDef::catalog("user", &[], T::Name, |b, catalog| b.map0(|| catalog.user())),
    FunctionDef::catalog("pg_backend_pid", &[], T::Int4, |b, catalog| {
        b.map0(|| catalog.process_id())
    }),
    FunctionDef::new("pg_is_in_recovery", &[], T::Bool, |b| b.map0(|| false)),
    FunctionDef::new("pg_is_in_backup", &[], T::Bool, |b| b.map0(|| false)),
    FunctionDef::new("pg_postmaster_start_time", &[], T::TimestampTz, |b| {
        b.map0(started)
    }),
    FunctionDef::new("pg_conf_load_time", &[], T::TimestampTz, |b| b.map0(started)),
    FunctionDef::new("getdatabaseencoding", &[], T::Name, |b| b.map0(|| "UTF8")),
    FunctionDef::catalog("pg_client_encoding", &[], T::Name, |b, catalog| {
        let encoding = catalog.statement().settings.client_encoding;
        b.map0(|| encoding.name())
    }),
    FunctionDef::catalog("pg_my_temp_schema", &[], T::Oid, |b, catalog| {
        let own = catalog
            .objects()
            .schema_oid(catalog.schema_meant(TEMPORARY_ALIAS));
        b.map0(|| own.unwrap_or(0))
    }),
    FunctionDef::catalog("pg_is_other_temp_schema", &[T::Oid], T::Bool, |b, catalog| {
        b.map1(|oid| {
            let name = catalog.objects().schema_name(oid);
            name.is_some_and(|name| {
                is_temporary_schema(&name) && name != catalog.schema_meant(TEMPORARY_ALIAS)
            })
        })
    }),
    FunctionDef::catalog(
        "pg_relation_is_publishable",
        &[T::Regclass],
        T::Bool,
        |b, catalog| {
            b.map1(|oid| match catalog.objects().find(oid)? {
                Found::Relation(relation) => Some(relation.is_table()),
                Found::Index(..) => Some(false),
            })
        },
    ),
    FunctionDef::catalog(
        "pg_relation_is_updatable",
        &[T::Regclass, T::Bool],
        T::Int4,
        |b, catalog| {
            b.map2(|oid, with_triggers: bool| {
                let triggered = match catalog.objects().find(oid) {
                    Some(Found::Relation(relation)) if with_triggers => triggered_writes(relation),
                    _ => 0,
                };
                writes_of_oid(catalog, oid, None) | triggered
            })
        },
    ),
    FunctionDef::catalog(
        "pg_column_is_updatable",
        &[T::Regclass, T::Int2, T::Bool],
        T::Bool,
        |b, catalog| {
            b.map3(|oid, attribute: i16, _: bool| {
                let column = usize::try_from(attribute).ok().and_then(|at| at.checked_sub(1));
                column.is_some() && writes_of_oid(catalog, oid, column) & UPDATES == UPDATES
            })
        },
    ),
    // Settings are read when the server starts; there is nothing to read again.
    FunctionDef::new("pg_reload_conf", &[], T::Bool, |b| b.map0(|| true)),
    FunctionDef::new("pg_rotate_logfile", &[], T::Bool, |b| b.map0(|| true)),
    FunctionDef::new("pg_relation_filenode", &[T::Regclass], T::Oid, |b| {
        b.map1(|oid: i64| oid)
    }),
    FunctionDef::catalog("pg_relation_filepath", &[T::Regclass], T::Text, |b, catalog| {
        b.map1(|oid: i64| match catalog.objects().find(oid) {
            Some(Found::Relation(relation)) if relation.kind == 'v' => None,
            _ => Some(format!("base/{}/{oid}", catalog.statement().txn.database())),
        })
    }),
    FunctionDef::catalog("current_query", &[], T::Text, |b, catalog| {
        b.map0(|| catalog.statement().session.activity().query.to_string())
    })
    .volatile(),
    FunctionDef::new("pg_current_logfile", &[], T::Text, null),
    FunctionDef::new("pg_current_logfile", &[T::Text], T::Text, null),
    FunctionDef::new("pg_column_compression", &[T::Any], T::Text, null),
    FunctionDef::new("pg_database_collation_actual_version", &[T::Oid], T::Text, null),
    FunctionDef::new("pg_collation_for", &[T::Any], T::Text, |b| {
        let collation = collation_of(&b.arguments[0])?;
        b.map0(|| collation)
    })
    .on_null(),
    FunctionDef::catalog("shobj_description", &[T::Oid, T::Text], T::Text, |b, catalog| {
        let all = &catalog.statement().catalog;
        b.map2(|oid: i64, class: &str| match class {
            "pg_database" => {
                let mut databases = all.databases.values();
                databases
                    .find(|database| i64::from(database.oid) == oid)?
                    .comment
                    .clone()
            }
            "pg_authid" => {
                let mut roles = all.roles.values();
                roles.find(|role| i64::from(role.oid) == oid)?.comment.clone()
            }
            _ => None,
        })
    })
    .bounded(),
    FunctionDef::catalog_rows("pg_tablespace_databases", &[T::Oid], T::Oid, |b, catalog| {
        let made = catalog.statement().catalog.databases.values();
        let all: Vec<i64> = std::iter::once(FIRST_DATABASE)
            .chain(made.map(|database| database.oid))
            .map(i64::from)
            .collect();
        b.map1(|oid: i64| match oid == DEFAULT_TABLESPACE_OID {
            true => all.clone(),
            false => Vec::new(),
        })
    }),
    FunctionDef::new("pg_safe_snapshot_blocking_pids", &[T::Int4], T::Int4, |b| {
        b.map1(|_: i32| Vec::<i32>::new())
    })
    .array(T::Int4),
    FunctionDef::new("pg_tablespace_location", &[T::Oid], T::Text, |b| {
        b.map1(|_: i64| "")
    }),
    FunctionDef::new("pg_tablespace_size", &[T::Name], T::Int8, null),
    FunctionDef::new("pg_tablespace_size", &[T::Oid], T::Int8, null),
    FunctionDef::new("pg_size_bytes", &[T::Text], T::Int8, |b| b.map1(size_bytes)),
    FunctionDef::new("pg_column_size", &[T::Any], T::Int4, |b| {
        b.map_values(|values| {
            let bytes = values
                .iter()
                .zip(b.arguments)
                .map(|(value, ty)| stored_bytes(value, ty));
            bytes.sum::<i64>().min(i64::from(i32::MAX)) as i32
        })
    }),
    FunctionDef::catalog("pg_trigger_depth", &[], T::Int4, |b, catalog| {
        let depth = catalog.statement().trigger_depth;
        b.map0(|| i32::try_from(depth).unwrap_or(i32::MAX))
    }),
    FunctionDef::new("pg_jit_available", &[], T::Bool, |b| b.map0(|| false)),
    FunctionDef::new("pg_size_pretty", &[T::Int8], T::Text, |b| {
        b.map1(|bytes: i64| size_pretty(bytes.into()))
    }),
    FunctionDef::new("pg_size_pretty", &[T::Numeric], T::Text, |b| {
        b.map1(numeric_size_pretty)
    }),
];

/// What a value of a type takes in a row of PostgreSQL's, where nothing is compressed: of varying length with one byte before it, or four.
fn stored_bytes(value: &Value, ty: &SqlType) -> i64 {
    const ROW_HEADER: i64 = 24;
    const ARRAY_HEADER: i64 = 20;
    let varying = |bytes: usize| {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        bytes + if bytes < 127 { 1 } else { 4 }
    };
    let row = TYPES.iter().find(|row| row.oid == ty.oid());
    if let Some(length) = row.map(|row| i64::from(row.length)).filter(|length| *length > 0) {
        return length;
    }
    match (value, ty) {
        (Value::Null, _) => 0,
        (Value::Text(text) | Value::Unknown(text), _) => varying(text.len()),
        (Value::Bytes(bytes), _) => varying(bytes.len()),
        (Value::Numeric(number), _) => {
            // Groups of four digits on either side of the point, and what says where that is.
            let text = number.to_string();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let whole = whole.trim_start_matches(['-', '0']).len();
            let fraction = fraction.trim_end_matches('0').len();
            varying(2 + 2 * (whole.div_ceil(4) + fraction.div_ceil(4)))
        }
        (Value::Array(items), SqlType::Array(item)) => {
            let items = items.iter().map(|value| stored_bytes(value, item));
            varying(usize::try_from(ARRAY_HEADER + items.sum::<i64>()).unwrap_or(usize::MAX))
        }
        (Value::Record(values), SqlType::Record(row)) => {
            let fields = values.iter().zip(row.fields.iter());
            ROW_HEADER
                + fields
                    .map(|(value, field)| stored_bytes(value, &field.ty))
                    .sum::<i64>()
        }
        (other, _) => varying(other.to_text(&FormatSettings::default()).len()),
    }
}

/// Which writes a relation takes, and a column of it.
fn writes_of_oid(catalog: &CatalogContext, oid: i64, column: Option<usize>) -> i32 {
    match catalog.objects().find(oid) {
        Some(Found::Relation(relation)) => writes_of(catalog.objects(), relation, column),
        _ => 0,
    }
}

/// Schemas of the search path that exist; with the implicit pg_catalog in front when asked for.
fn existing_schemas(catalog: &CatalogContext, implicit: bool) -> Vec<String> {
    let names: Vec<&str> = match implicit {
        true => path_with_catalog(catalog.search_path()).collect(),
        false => catalog.named_path().iter().map(String::as_str).collect(),
    };
    let existing = names
        .into_iter()
        .filter(|name| catalog.objects().schema_oid(name).is_some());
    existing.map(str::to_string).collect()
}

/// When this process first ran a catalog query or was told that it starts, in microseconds since 1970.
static STARTED_US: LazyLock<i64> = LazyLock::new(|| {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX)
});

/// Notes the time of the server's start, for pg_postmaster_start_time.
pub fn note_server_start() {
    LazyLock::force(&STARTED_US);
}

fn started() -> TimestampTz {
    TimestampTz(*STARTED_US)
}

/// The microsecond of this process's start.
pub(super) fn started_us() -> i64 {
    *STARTED_US
}

/// A number of bytes as `pg_size_pretty` prints it: few of them with what is behind the point. Errors: 22003.
fn numeric_size_pretty(number: Numeric) -> Result<String> {
    let bytes = number.floor().ok_or_else(|| Error::NumericOutOfRange {
        message: "value overflows numeric format".to_string(),
        detail: None,
    })?;
    match bytes.unsigned_abs() < 10 * 1024 {
        true => Ok(format!("{number} bytes")),
        false => Ok(size_pretty(bytes)),
    }
}

/// The bytes that a text such as `1.5 MB` says. Errors: 22023, 22003.
fn size_bytes(text: &str) -> Result<i64> {
    const UNITS: [(&str, i64); 6] = [
        ("bytes", 1),
        ("kb", 1 << 10),
        ("mb", 1 << 20),
        ("gb", 1 << 30),
        ("tb", 1 << 40),
        ("pb", 1 << 50),
    ];
    let fault = |hint: Option<&str>| Error::InvalidParameter {
        message: format!("invalid size: \"{text}\""),
        hint: hint.map(str::to_string),
    };
    let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let trimmed = text.trim_matches(is_space);
    let digits = |from: usize| trimmed[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(trimmed.starts_with(['-', '+']));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut has_digits = whole > 0;
    if trimmed[end..].starts_with('.') {
        let fraction = digits(end + 1);
        has_digits |= fraction > 0;
        end += 1 + fraction;
    }
    if !has_digits {
        return Err(fault(None));
    }
    if trimmed[end..].starts_with(['e', 'E']) {
        let sign = usize::from(trimmed[end + 1..].starts_with(['-', '+']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let number = Numeric::parse(&trimmed[..end])?;
    let unit = trimmed[end..].trim_start_matches(is_space);
    let factor = match unit {
        "" => 1,
        unit => {
            let found = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
            let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
            let unknown = || Raised {
                detail: Some(format!("Invalid size unit: \"{unit}\".")),
                hint: Some(hint.to_string()),
                ..Raised::new("22023", format!("invalid size: \"{text}\""))
            };
            found.ok_or_else(unknown)?.1
        }
    };
    let bytes = number.times(&Numeric::from_i64(factor))?.round(0)?.floor();
    bytes
        .and_then(|bytes| i64::try_from(bytes).ok())
        .ok_or_else(|| Error::NumericOutOfRange {
            message: "bigint out of range".to_string(),
            detail: None,
        })
}

/// The collation of a type as pg_collation_for names it; `None`: what nobody has said the type of. Errors: 42804.
fn collation_of(ty: &SqlType) -> Result<Option<&'static str>> {
    match ty {
        SqlType::Unknown => Ok(None),
        ty if ty.is_string() && ty.base_name() == "name" => Ok(Some("\"C\"")),
        ty if ty.is_string() => Ok(Some("\"default\"")),
        ty => Err(Error::DataException {
            state: "42804",
            message: format!("collations are not supported by type {}", ty.full_base_name()),
        }),
    }
}
