//! The error of a function that there is not, of that name or for those types.

use super::coercion::type_name;
use crate::Error;
use crate::error::nearest_name;
use crate::functions;
use crate::types::SqlType;

/// 42883 for a function; the HINT tells whether the name or the types are wrong.
pub(super) fn no_function(name: &str, types: &[SqlType], unknown_name: bool) -> Error {
    let types: Vec<String> = types.iter().map(type_name).collect();
    let near = if unknown_name {
        // Operators are functions, too.
        let is_name = |other: &&str| other.starts_with(char::is_alphabetic);
        nearest_name(name, functions::function_names().filter(is_name))
    } else {
        None
    };
    let signature = format!("{name}({})", types.join(", "));
    if unknown_name && let Some(hint) = hint_instead(name) {
        return Error::unsupported(format!("function {name}()"), Some(hint));
    }
    match near {
        Some(near) => Error::UndefinedFunction {
            signature,
            hint: Some(format!("Perhaps you meant the function {near}().")),
        },
        None => Error::undefined_function(signature),
    }
}

/// What serves instead of a function of PostgreSQL's that belongs to something that is not here.
fn hint_instead(name: &str) -> Option<&'static str> {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if matches!(name, "lo_import" | "lo_export") {
        return Some(
            "The server reads and writes no files for clients: psql's \\lo_import and \\lo_export do, and lo_from_bytea and lo_get take and give bytes.",
        );
    }
    if name == "ts_rewrite" || begins(&["tsvector_update_trigger"]) {
        return Some(
            "Queries are joined by &&, || and <->; a generated column keeps a tsvector as its text is.",
        );
    }
    if begins(&[
        "xml",
        "xpath",
        "table_to_xml",
        "query_to_xml",
        "cursor_to_xml",
        "schema_to_xml",
        "database_to_xml",
    ]) {
        return Some("There is no type xml: keep documents as text, or as jsonb.");
    }
    if begins(&[
        "pg_logical_slot_",
        "pg_create_logical_",
        "pg_create_physical_",
        "pg_drop_replication_",
        "pg_replication_",
    ]) {
        return Some(
            "There is no replication: poll by a column of times or numbers that has an index, or have writers NOTIFY.",
        );
    }
    None
}
