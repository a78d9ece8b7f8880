//! Defaults as `pg_get_expr` prints them.

use std::collections::HashMap;

use crate::catalog::{
    Catalog, ColumnDef, ColumnDefault, ExpressionText, Generation, SequenceDef, is_temporary_schema,
};
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::{FormatSettings, SqlType, Value};

/// What the defaults of a catalog's columns name.
pub(super) struct DefaultNames<'a> {
    catalog: &'a Catalog,
    sequences: HashMap<u32, &'a SequenceDef>,
}

impl DefaultNames<'_> {
    /// What those of this one do.
    pub(super) fn of(catalog: &Catalog) -> DefaultNames<'_> {
        let sequences = catalog.sequences();
        DefaultNames {
            catalog,
            sequences: sequences.map(|sequence| (sequence.oid(), &**sequence)).collect(),
        }
    }
}

/// The default of a column, or what it is computed of. What an older release has not printed stands as it was written.
pub(super) fn default_text(names: &DefaultNames<'_>, column: &ColumnDef) -> Option<ExpressionText> {
    let alike = |text: String| ExpressionText {
        pretty: text.clone(),
        plain: text,
    };
    Some(match column.default.as_ref()? {
        // The label may have been renamed.
        ColumnDefault::Constant { value, text, .. } if column.ty.has_label() => match text {
            // The label of an enum alone, which may have another name, is printed as it is now.
            Some(text) if !matches!(column.ty, SqlType::Enum(_)) && names_labels(text, value) => text.clone(),
            _ => alike(label_sql(names.catalog, value, &column.ty)),
        },
        ColumnDefault::Constant { text: Some(text), .. } => text.clone(),
        ColumnDefault::Constant { value, sql, .. } => alike(constant_sql(value, sql, &column.ty)),
        ColumnDefault::Expression {
            sql,
            sequences: used,
            text,
        } => {
            let named = |sql: &str, cast: &str| {
                used.iter().fold(sql.to_string(), |sql, oid| {
                    sql.replace(&format!("'{oid}'::{cast}"), &sequence_sql(names, *oid))
                })
            };
            match text {
                None => alike(folded(&named(sql, "REGCLASS"))),
                Some(text) => ExpressionText {
                    plain: named(&text.plain, "regclass"),
                    pretty: named(&text.pretty, "regclass"),
                },
            }
        }
        ColumnDefault::Generated(Generation { text: Some(text), .. }) => text.clone(),
        ColumnDefault::Generated(Generation { sql, .. }) => alike(folded(sql)),
        ColumnDefault::Sequence { oid } => alike(format!("nextval({})", sequence_sql(names, *oid))),
        ColumnDefault::Identity { .. } | ColumnDefault::RowId => return None,
    })
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
fn sequence_sql(names: &DefaultNames<'_>, oid: u32) -> String {
    let name = match names.sequences.get(&oid) {
        Some(sequence) if sequence.schema == "public" || is_temporary_schema(&sequence.schema) => {
            quote_ident(&sequence.name)
        }
        Some(sequence) => qualified(&sequence.schema, &sequence.name),
        None => oid.to_string(),
    };
    format!("'{}'::regclass", name.replace('\'', "''"))
}

/// A constant of an enum, or of an array of one, as SQL.
pub(crate) fn label_sql(catalog: &Catalog, value: &Value, ty: &SqlType) -> String {
    let name = catalog.standard_type_name(ty);
    match value {
        Value::Null => format!("NULL::{name}"),
        value => {
            let text = value.to_text(&FormatSettings::default());
            format!("'{}'::{name}", text.replace('\'', "''"))
        }
    }
}

/// Whether a text has all labels of an array of them by the names that they have now.
fn names_labels(text: &ExpressionText, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| names_labels(text, item)),
        Value::Record(items) => items.iter().all(|item| names_labels(text, item)),
        label @ Value::Enum(_) => {
            let label = label.to_text(&FormatSettings::default());
            text.plain.contains(&format!("'{}'", label.replace('\'', "''")))
        }
        _ => true,
    }
}

/// A constant default as PostgreSQL prints it: string literals carry the type they became.
fn constant_sql(value: &Value, sql: &str, ty: &SqlType) -> String {
    let written_as_string = sql.starts_with('\'') && sql.ends_with('\'');
    match value {
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
