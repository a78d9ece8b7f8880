//! Whether a function gives the same value for the same arguments, whatever the session's settings and the time: what may
//! be stored, and computed again to find what was stored.

use super::Volatility;
use super::bound_function::BoundFunction;
use super::cast::CAST_NAME;
use crate::types::SqlType;

/// Functions that PostgreSQL calls stable whatever they are given, because some types' text depends on settings.
const STABLE: [&str; 23] = [
    "age",
    "array_to_json",
    "array_to_string",
    "concat",
    "concat_ws",
    "format",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "quote_literal",
    "quote_nullable",
    "row_to_json",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
    "to_timestamp",
];

/// What the names of functions begin with that answer for the server.
const OF_SERVER: [&str; 4] = ["pg_", "inet_", "getdatabaseencoding", "version"];

/// What makes ranges of instants.
const RANGES: [&str; 2] = ["tstzrange", "tstzmultirange"];

/// Functions of an instant to which no time zone of a session matters.
const FREE_OF_ZONES: [&str; 2] = ["timezone", "-"];

impl BoundFunction {
    /// Whether what it gives depends on its arguments alone.
    pub fn is_immutable(&self) -> bool {
        let is_fixed = self.volatility() == Volatility::Immutable;
        is_fixed && !asks_settings(self.name(), self.arguments(), self.returns())
    }
}

/// Whether a function of these types reads the session's settings.
fn asks_settings(name: &str, arguments: &[SqlType], returns: &SqlType) -> bool {
    if name == CAST_NAME {
        return !arguments.iter().all(|from| is_immutable_cast(from, returns));
    }
    let is_instant = |ty: &SqlType| matches!(ty, SqlType::TimestampTz(_));
    let has_instant = arguments.iter().any(is_instant) || is_instant(returns);
    let is_free = FREE_OF_ZONES.contains(&name)
        && arguments.len() == 2
        && !arguments.iter().any(|ty| matches!(ty, SqlType::Interval(_)));
    let is_of_server = OF_SERVER.iter().any(|prefix| name.starts_with(prefix));
    STABLE.contains(&name) || is_of_server || has_instant && !is_free && !RANGES.contains(&name)
}

/// Whether a cast reads neither the session's time zone nor the form of its dates, nor labels, which may be renamed.
pub fn is_immutable_cast(from: &SqlType, to: &SqlType) -> bool {
    let is_instant = |ty: &SqlType| matches!(ty, SqlType::TimestampTz(_));
    let is_datetime = |ty: &SqlType| {
        matches!(
            ty,
            SqlType::Date
                | SqlType::Time(_)
                | SqlType::Timestamp(_)
                | SqlType::TimestampTz(_)
                | SqlType::Interval(_)
        )
    };
    let is_label = |ty: &SqlType| matches!(ty.innermost(), SqlType::Enum(_));
    match (from, to) {
        _ if is_label(from) != is_label(to) => *from == SqlType::Unknown,
        (SqlType::Array(from), SqlType::Array(to)) => is_immutable_cast(from, to),
        (SqlType::Array(item), _) | (_, SqlType::Array(item)) => !is_datetime(item),
        _ => from == to || !is_instant(from) && !is_instant(to) && is_datetime(from) == is_datetime(to),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::util::display::array_value_to_string;

    use super::*;
    use crate::functions::{Returns, T, TABLES};
    use crate::system::pg_catalog::tests::statement;
    use crate::system::pg_catalog::{CatalogContext, definition};

    /// PostgreSQL's pg_proc: which functions of these argument types (oids) are immutable.
    async fn immutable_in_postgresql() -> HashMap<(String, Vec<String>), bool> {
        let ctx = statement().await;
        let catalogs = CatalogContext::new(std::sync::Arc::new(ctx.clone()));
        let functions = definition("pg_catalog", "pg_proc").unwrap();
        let rows = catalogs.rows(functions, &[]).await.unwrap();
        let rows = rows.all();
        let mut found = HashMap::new();
        let text = |name: &str, row: usize| {
            let column = rows.column_by_name(name).unwrap();
            array_value_to_string(column, row).unwrap()
        };
        for row in 0..rows.num_rows() {
            let arguments = text("proargtypes", row);
            let arguments = arguments.split(|letter: char| !letter.is_ascii_digit());
            let arguments = arguments.filter(|oid| !oid.is_empty()).map(str::to_string);
            let key = (text("proname", row), arguments.collect());
            found.insert(key, text("provolatile", row) == "i");
        }
        found
    }

    #[tokio::test]
    async fn what_is_immutable_here_is_so_in_postgresql() {
        let theirs = immutable_in_postgresql().await;
        let (mut compared, mut wrong) = (0, Vec::new());
        for row in TABLES.iter().flat_map(|table| table.iter()) {
            let types: Option<Vec<SqlType>> = row.arguments.iter().map(|ty| ty.sql_type()).collect();
            let Returns::Type(returns) = row.returns else {
                continue;
            };
            let (Some(types), Some(returns)) = (types, T::sql_type(returns)) else {
                continue;
            };
            let oids = types.iter().map(|ty| ty.oid().to_string()).collect();
            let Some(is_immutable) = theirs.get(&(row.name.to_string(), oids)) else {
                continue;
            };
            compared += 1;
            let ours = row.volatility == Volatility::Immutable && !asks_settings(row.name, &types, &returns);
            if ours && !is_immutable {
                wrong.push(format!("{}({types:?})", row.name));
            }
        }
        assert!(compared > 150, "{compared} functions are PostgreSQL's too");
        assert_eq!(wrong, Vec::<String>::new());
    }
}
