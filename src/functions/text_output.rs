//! A value as the text that PostgreSQL's output function gives (booleans as t and f, char(n) with its padding).

use crate::types::{FormatSettings, SqlType, Value};

/// The text of a value of this type.
pub(super) fn shown(value: &Value, ty: &SqlType, settings: &FormatSettings) -> String {
    match value {
        Value::Bool(_) => value.to_text(settings),
        Value::Text(text) => text.clone(),
        other => super::cast::text_of(other, ty, settings),
    }
}
