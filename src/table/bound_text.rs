//! `bound_text`: a place in a key as SQL writes it, `('alipay', 5)`: what SPLIT AT takes, and what shows regions and heat.

use crate::catalog::{IndexDef, TableDef};
use crate::codec::key::decode_value;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::parse::quoting::quote_literal;
use crate::types::{FormatSettings, SqlType, Value};

/// The values with which a stored key of an index begins; `None` where it begins with none, as the first of all does. A value that is cut
/// off, or damaged, is left out.
pub fn bound_text(table: &TableDef, index: &IndexDef, stored: &[u8]) -> Option<String> {
    let values = bound_values(table, index, stored);
    let literals: Vec<String> = values.iter().map(|(value, ty)| literal(value, ty)).collect();
    (!literals.is_empty()).then(|| format!("({})", literals.join(", ")))
}

/// The values themselves, with the types of their columns.
pub fn bound_values(table: &TableDef, index: &IndexDef, stored: &[u8]) -> Vec<(Value, SqlType)> {
    let mut rest = stored.get(ENTRY_PREFIX_BYTES..).unwrap_or_default();
    let mut values = Vec::new();
    for field in table.fields_of(&table.sort_columns(index)) {
        let Ok((value, length)) = decode_value(rest, &field) else {
            break;
        };
        rest = rest.get(length..).unwrap_or_default();
        values.push((value, field.ty));
    }
    values
}

/// A value as SQL writes it.
fn literal(value: &Value, ty: &SqlType) -> String {
    let text = value.to_text(&FormatSettings::default());
    match value {
        Value::Null => "NULL".to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(_) if matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => text,
        Value::Numeric(_) if text.bytes().all(|byte| !byte.is_ascii_alphabetic()) => text,
        _ => quote_literal(&text),
    }
}
