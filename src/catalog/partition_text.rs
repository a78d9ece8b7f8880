//! Bounds of partitions as PostgreSQL prints them: `FOR VALUES FROM ('2024-01-01') TO (MAXVALUE)`.

use super::partition::{PartitionBound, RangeEdge};
use crate::parse::quoting::quote_literal;
use crate::types::{FormatSettings, SqlType, Value};

impl PartitionBound {
    /// What stands behind PARTITION OF, over columns of these types.
    pub fn text(&self, types: &[SqlType], settings: &FormatSettings) -> String {
        match self {
            PartitionBound::Default => "DEFAULT".to_string(),
            PartitionBound::List(values) => {
                let ty = types.first().unwrap_or(&SqlType::Text);
                let values: Vec<String> = values.iter().map(|value| constant(value, ty, settings)).collect();
                format!("FOR VALUES IN ({})", values.join(", "))
            }
            PartitionBound::Range { from, to } => format!(
                "FOR VALUES FROM {} TO {}",
                edges_text(from, types, settings),
                edges_text(to, types, settings)
            ),
            PartitionBound::Hash { modulus, remainder } => {
                format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
            }
        }
    }
}

/// `(1, MINVALUE)`.
pub fn edges_text(edges: &[RangeEdge], types: &[SqlType], settings: &FormatSettings) -> String {
    let text = |(edge, ty): (&RangeEdge, &SqlType)| match edge {
        RangeEdge::MinValue => "MINVALUE".to_string(),
        RangeEdge::Value(value) => constant(value, ty, settings),
        RangeEdge::MaxValue => "MAXVALUE".to_string(),
    };
    let edges: Vec<String> = edges.iter().zip(types).map(text).collect();
    format!("({})", edges.join(", "))
}

/// A constant whose type is known where it stands: bare are the numbers that are read as of that type.
fn constant(value: &Value, ty: &SqlType, settings: &FormatSettings) -> String {
    let text = value.to_text(settings);
    let is_bare = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    match (value, ty) {
        (Value::Null, _) => "NULL".to_string(),
        (Value::Bool(truth), _) => truth.to_string(),
        (_, SqlType::Int4) if is_bare(&text) => text,
        (_, SqlType::Numeric(_)) if is_bare(&text) && text.contains('.') => text,
        _ => quote_literal(&text),
    }
}
