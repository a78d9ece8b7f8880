//! The server and the session: who, where, since when, which version, how large.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Call, Function, Returns, lenient, strict};
use crate::exec::pg_catalog::naming::size_pretty;
use crate::exec::pg_catalog::objects::{Found, path_with_catalog};
use crate::types::{Numeric, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[Function] = &[
    lenient("current_schema", (0, 0), Returns::Name, |call| {
        Ok(existing_schemas(call, false)
            .into_iter()
            .next()
            .unwrap_or(Value::Null))
    }),
    strict("current_schemas", (1, 1), Returns::Names, |call| {
        Ok(Value::Array(existing_schemas(call, call.flag(0)?)))
    }),
    lenient("current_database", (0, 0), Returns::Name, |call| {
        Ok(Value::Text(call.catalog.database().to_string()))
    }),
    lenient("current_catalog", (0, 0), Returns::Name, |call| {
        Ok(Value::Text(call.catalog.database().to_string()))
    }),
    lenient("current_user", (0, 0), Returns::Name, user),
    lenient("current_role", (0, 0), Returns::Name, user),
    lenient("session_user", (0, 0), Returns::Name, user),
    lenient("user", (0, 0), Returns::Name, user),
    lenient("pg_backend_pid", (0, 0), Returns::Int4, |call| {
        Ok(Value::Int(i64::from(call.catalog.process_id())))
    }),
    lenient("pg_is_in_recovery", (0, 0), Returns::Bool, |_| {
        Ok(Value::Bool(false))
    }),
    lenient("pg_is_in_backup", (0, 0), Returns::Bool, |_| {
        Ok(Value::Bool(false))
    }),
    lenient("pg_postmaster_start_time", (0, 0), Returns::TimestampTz, |_| {
        Ok(Value::TimestampTz(*STARTED_US))
    }),
    lenient("pg_conf_load_time", (0, 0), Returns::TimestampTz, |_| {
        Ok(Value::TimestampTz(*STARTED_US))
    }),
    // The address of the connection is the wire's own business.
    lenient("inet_server_addr", (0, 0), Returns::Inet, |_| Ok(Value::Null)),
    lenient("inet_server_port", (0, 0), Returns::Int4, |_| Ok(Value::Null)),
    lenient("inet_client_addr", (0, 0), Returns::Inet, |_| Ok(Value::Null)),
    lenient("inet_client_port", (0, 0), Returns::Int4, |_| Ok(Value::Null)),
    lenient("getdatabaseencoding", (0, 0), Returns::Name, |_| {
        Ok(Value::Text("UTF8".to_string()))
    }),
    lenient("pg_client_encoding", (0, 0), Returns::Name, |_| {
        Ok(Value::Text("UTF8".to_string()))
    }),
    strict("pg_encoding_to_char", (1, 1), Returns::Name, |call| {
        let number = usize::try_from(call.integer(0)?).ok();
        Ok(Value::Text(
            number
                .and_then(|number| ENCODINGS.get(number))
                .copied()
                .unwrap_or_default()
                .to_string(),
        ))
    }),
    strict("pg_char_to_encoding", (1, 1), Returns::Int4, |call| {
        let name = encoding_key(call.text(0)?);
        let found = ENCODINGS
            .iter()
            .position(|encoding| encoding_key(encoding) == name);
        Ok(Value::Int(
            found.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1),
        ))
    }),
    lenient("pg_my_temp_schema", (0, 0), Returns::Oid, |_| Ok(Value::Int(0))),
    strict("pg_is_other_temp_schema", (1, 1), Returns::Bool, |_| {
        Ok(Value::Bool(false))
    }),
    strict("pg_relation_is_publishable", (1, 1), Returns::Bool, |call| {
        Ok(match call.catalog.objects().find(call.integer(0)?) {
            Some(Found::Relation(relation)) => Value::Bool(relation.kind == 'r'),
            Some(Found::Index(..)) => Value::Bool(false),
            None => Value::Null,
        })
    }),
    strict("pg_relation_filenode", (1, 1), Returns::Oid, |call| {
        Ok(Value::Int(call.integer(0)?))
    }),
    strict("pg_tablespace_location", (1, 1), Returns::Text, |_| {
        Ok(Value::Text(String::new()))
    }),
    // The store counts bytes for the whole of it, not by table: a size that nobody measured is unknown.
    strict("pg_relation_size", (1, 2), Returns::Int8, |_| Ok(Value::Null)),
    strict("pg_table_size", (1, 1), Returns::Int8, |_| Ok(Value::Null)),
    strict("pg_indexes_size", (1, 1), Returns::Int8, |_| Ok(Value::Null)),
    strict("pg_total_relation_size", (1, 1), Returns::Int8, |_| {
        Ok(Value::Null)
    }),
    strict("pg_database_size", (1, 1), Returns::Int8, |_| Ok(Value::Null)),
    strict("pg_tablespace_size", (1, 1), Returns::Int8, |_| Ok(Value::Null)),
    strict("pg_size_pretty", (1, 1), Returns::Text, |call| {
        let bytes = match &call.arguments[0] {
            Value::Numeric(number) => whole_bytes(number)?,
            _ => call.integer(0)?,
        };
        Ok(Value::Text(size_pretty(bytes)))
    }),
];

/// Schemas of the search path that exist; with the implicit pg_catalog in front when asked for.
fn existing_schemas(call: &Call<'_>, implicit: bool) -> Vec<Value> {
    let objects = call.catalog.objects();
    let path = call.catalog.search_path();
    let names: Vec<&str> = match implicit {
        true => path_with_catalog(path).collect(),
        false => path.iter().map(String::as_str).collect(),
    };
    names
        .into_iter()
        .filter(|name| objects.schema_oid(name).is_some())
        .map(|name| Value::Text(name.to_string()))
        .collect()
}

fn user(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Text(call.catalog.user().to_string()))
}

/// When this process first ran a catalog query or was told that it starts, in microseconds since 1970.
static STARTED_US: LazyLock<i64> = LazyLock::new(|| {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX)
});

/// Notes the time of the server's start, for pg_postmaster_start_time.
pub(crate) fn note_server_start() {
    LazyLock::force(&STARTED_US);
}

fn whole_bytes(number: &Numeric) -> Result<i64> {
    number
        .floor()
        .and_then(|bytes| i64::try_from(bytes).ok())
        .ok_or_else(|| Error::NumericOutOfRange {
            message: "bigint out of range".to_string(),
            detail: None,
        })
}

/// Encodings by PostgreSQL's numbers; those that only clients use included.
const ENCODINGS: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// Encoding names compare without case and punctuation.
fn encoding_key(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}
