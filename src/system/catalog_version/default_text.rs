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
            Some(named)
        }
        Some(ColumnDefault::Generated(Generation { sql, .. })) => Some(sql.clone()),
        Some(ColumnDefault::Sequence { oid }) => Some(format!("nextval({})", sequence_sql(sequences, *oid))),
        Some(ColumnDefault::Identity { .. } | ColumnDefault::RowId) | None => None,
    }
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
        _ if written_as_string => format!("{sql}::{}", ty.full_base_name()),
        _ => sql.to_string(),
    }
}
