//! Defaults as `pg_get_expr` prints them.

use std::collections::HashMap;

use crate::catalog::{Catalog, ColumnDef, ColumnDefault, Generation, SequenceDef, is_temporary_schema};
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::{FormatSettings, SqlType, Value};

/// The sequences of a catalog, findable by oid.
pub(super) type SequencesByOid<'a> = HashMap<u32, &'a SequenceDef>;

/// Those of this one.
pub(super) fn sequences_by_oid(catalog: &Catalog) -> SequencesByOid<'_> {
    let sequences = catalog.sequences();
    sequences.map(|sequence| (sequence.oid(), &**sequence)).collect()
}

/// The default of a column, or what it is computed of.
pub(super) fn default_text(sequences: &SequencesByOid<'_>, column: &ColumnDef) -> Option<String> {
    match &column.default {
        Some(ColumnDefault::Constant { value, sql }) => Some(constant_sql(value, sql, &column.ty)),
        Some(ColumnDefault::Expression { sql, sequences: used }) => {
            let named = used.iter().fold(sql.clone(), |sql, oid| {
                sql.replace(&format!("'{oid}'::REGCLASS"), &sequence_sql(sequences, *oid))
            });
            Some(folded(&named))
        }
        Some(ColumnDefault::Generated(Generation { sql, .. })) => Some(folded(sql)),
        Some(ColumnDefault::Sequence { oid }) => Some(format!("nextval({})", sequence_sql(sequences, *oid))),
        Some(ColumnDefault::Identity { .. } | ColumnDefault::RowId) | None => None,
    }
}

/// Words of the syntax, which PostgreSQL prints in capitals.
const WORDS: &[&str] = &[
    "ARRAY",
    "CAST",
    "CURRENT_CATALOG",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_SCHEMA",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "SESSION_USER",
];

/// Words that are so in front of a parenthesis alone.
const CALLS: &[&str] = &[
    "COALESCE", "EXTRACT", "GREATEST", "LEAST", "NULLIF", "OVERLAY", "POSITION", "ROW", "TRIM",
];

/// An expression as it was written, with names of functions and types in the case that they have: who compares definitions finds
/// `now()` for `NOW()`.
fn folded(sql: &str) -> String {
    let mut shown = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => quoted_bytes(rest, shown.ends_with(['E', 'e'])),
            first if first.is_alphabetic() || first == '_' => rest
                .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
                .unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (part, behind) = rest.split_at(end);
        let capitals = part.to_ascii_uppercase();
        let is_call = behind.starts_with('(');
        let is_word = WORDS.contains(&capitals.as_str()) || is_call && CALLS.contains(&capitals.as_str());
        match (is_word, is_call || shown.ends_with("::")) {
            (true, _) => shown.push_str(&capitals),
            (false, true) if !part.starts_with(['\'', '"']) => shown.push_str(&part.to_ascii_lowercase()),
            (false, _) => shown.push_str(part),
        }
        rest = behind;
    }
    shown
}

/// How long what is quoted is that the text begins with.
fn quoted_bytes(text: &str, has_escapes: bool) -> usize {
    let quote = text.as_bytes()[0];
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' && has_escapes {
            bytes.next();
        } else if byte == quote {
            return at + 1;
        }
    }
    text.len()
}

/// A sequence as a default names it. (Which search path the reader has is not known here: the standard one is taken, which what is
/// temporary stands in front of.)
fn sequence_sql(sequences: &SequencesByOid<'_>, oid: u32) -> String {
    let name = match sequences.get(&oid) {
        Some(sequence) if sequence.schema == "public" || is_temporary_schema(&sequence.schema) => {
            quote_ident(&sequence.name)
        }
        Some(sequence) => qualified(&sequence.schema, &sequence.name),
        None => oid.to_string(),
    };
    format!("'{}'::regclass", name.replace('\'', "''"))
}

/// A constant of an enum, or of an array of one, as SQL.
pub(crate) fn label_sql(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Null => format!("NULL::{ty}"),
        value => {
            let text = value.to_text(&FormatSettings::default());
            format!("'{}'::{}", text.replace('\'', "''"), ty.full_base_name())
        }
    }
}

/// A constant default as PostgreSQL prints it: string literals carry the type they became.
fn constant_sql(value: &Value, sql: &str, ty: &SqlType) -> String {
    let written_as_string = sql.starts_with('\'') && sql.ends_with('\'');
    match value {
        // The label may have been renamed.
        value if ty.has_label() => label_sql(value, ty),
        Value::Null => "NULL".to_string() + "::" + &ty.name(),
        // Without the quotes it is one bit.
        Value::Money(_) => format!("'{}'::money", value.to_text(&FormatSettings::default())),
        _ if written_as_string && matches!(ty, SqlType::Bit(_)) => format!("{sql}::\"bit\""),
        _ if written_as_string => format!("{sql}::{}", ty.full_base_name()),
        _ => sql.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn names_of_functions_and_types_are_lower_and_words_of_the_syntax_upper() {
        for (written, shown) in [
            ("NOW()", "now()"),
            ("current_date + Position", "CURRENT_DATE + Position"),
            ("Lower('NOW()')::TEXT", "lower('NOW()')::text"),
            (
                "E'it\\'s NOW()' || \"Upper\"('x')",
                "E'it\\'s NOW()' || \"Upper\"('x')",
            ),
            ("coalesce(position(a in b), 1)", "COALESCE(POSITION(a in b), 1)"),
            ("'ä'::\"Mood\"", "'ä'::\"Mood\""),
            ("'open", "'open"),
        ] {
            assert_eq!(folded(written), shown);
        }
    }
}
