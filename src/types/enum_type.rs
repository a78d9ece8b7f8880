//! `EnumType`: a type that users make of labels, as CREATE TYPE … AS ENUM does. The catalog keeps them; a type that is one
//! brings its labels along, so that values print wherever they stand.
//!
//! A value is the *position* of its label: a number that no other label of the type has and that never changes, so that values
//! order as numbers do, in memory, in rows and in keys. A label that is added between two others gets the number in the middle.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{SqlType, Value};
use crate::{Error, Result};

/// The positions between two labels of CREATE TYPE: forty labels may be added into one gap, each beside the last.
pub const POSITION_STEP: i64 = 1 << 40;

/// An enum type.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct EnumType {
    /// pg_type.oid.
    pub oid: u32,
    /// The oid of its array type.
    pub array_oid: u32,
    /// The catalog version that last changed it.
    #[serde(default)]
    pub version: u64,
    /// Its name.
    pub name: String,
    /// Its labels, by position.
    pub labels: Vec<EnumLabel>,
}

/// A label of an enum type.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EnumLabel {
    /// pg_enum.oid.
    pub oid: u32,
    /// Its place among the labels, and its value.
    pub position: i64,
    /// The label.
    pub label: String,
}

/// A value of an enum type.
#[derive(Debug, Clone)]
pub struct EnumValue {
    /// Its type.
    pub ty: Arc<EnumType>,
    /// The position of its label.
    pub position: i64,
}

impl EnumType {
    /// The value that a label is. Errors: 22P02.
    pub fn position(&self, label: &str) -> Result<i64> {
        let found = self.labels.iter().find(|known| known.label == label);
        found
            .map(|known| known.position)
            .ok_or_else(|| Error::DataException {
                state: "22P02",
                message: format!("invalid input value for enum {}: \"{label}\"", self.quoted_name()),
            })
    }

    /// The label of a value. A value that the type does not have (there is none) is no text.
    pub fn label(&self, position: i64) -> &str {
        let found = self.labels.binary_search_by_key(&position, |label| label.position);
        found.map_or("", |at| &self.labels[at].label)
    }

    /// Its name as SQL text has it: in quotes, unless it is in lower case and plain.
    pub fn quoted_name(&self) -> String {
        let is_plain = |(at, c): (usize, char)| {
            c.is_ascii_lowercase() || c == '_' || at > 0 && (c.is_ascii_digit() || c == '$')
        };
        match self.name.chars().enumerate().all(is_plain) {
            true => self.name.clone(),
            false => format!("\"{}\"", self.name.replace('"', "\"\"")),
        }
    }

    /// All its values from one to another, both included; from the first, or to the last, where none is given.
    pub fn range(&self, from: Option<i64>, to: Option<i64>) -> impl Iterator<Item = i64> + '_ {
        let positions = self.labels.iter().map(|label| label.position);
        positions.filter(move |position| {
            from.is_none_or(|from| from <= *position) && to.is_none_or(|to| *position <= to)
        })
    }
}

impl EnumValue {
    /// Its label.
    pub fn label(&self) -> &str {
        self.ty.label(self.position)
    }

    /// The value that a label is. Errors: 22P02.
    pub(super) fn parse(text: &str, ty: &Arc<EnumType>) -> Result<Value> {
        Ok(Value::Enum(EnumValue {
            ty: Arc::clone(ty),
            position: ty.position(text)?,
        }))
    }
}

/// Types are the same when their oids are: one that was given another label is the same still.
impl PartialEq for EnumType {
    fn eq(&self, other: &EnumType) -> bool {
        self.oid == other.oid
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

impl PartialEq for EnumValue {
    fn eq(&self, other: &EnumValue) -> bool {
        self.ty == other.ty && self.position == other.position
    }
}

impl EnumValue {
    /// Their order, as their labels were declared.
    pub fn compare(&self, other: &EnumValue) -> Ordering {
        self.position.cmp(&other.position)
    }
}

/// What a label of an Arrow field says before the type that it has.
const METADATA_PREFIX: &str = "enum ";

impl SqlType {
    /// The enum, if the type is one or an array of one.
    pub fn enum_type(&self) -> Option<&Arc<EnumType>> {
        match self {
            SqlType::Enum(ty) => Some(ty),
            SqlType::Array(item) => item.enum_type(),
            _ => None,
        }
    }

    /// The type with labels that are texts of no type yet, in the place of an enum.
    pub fn without_labels(&self) -> SqlType {
        match self {
            SqlType::Array(item) => SqlType::Array(Box::new(item.without_labels())),
            SqlType::Enum(_) => SqlType::Unknown,
            ty => ty.clone(),
        }
    }

    /// The name by which an Arrow field says which type its values are of: `format_type`'s, and all of an enum.
    pub(crate) fn metadata(&self) -> String {
        match self {
            SqlType::Array(item) if item.enum_type().is_some() => item.metadata() + "[]",
            SqlType::Enum(ty) => match serde_json::to_string(&**ty) {
                Ok(json) => format!("{METADATA_PREFIX}{json}"),
                Err(_) => self.name(),
            },
            other => other.name(),
        }
    }

    /// Reads what [`SqlType::metadata`] writes. `None`: it is something else.
    pub(super) fn of_metadata(text: &str) -> Option<SqlType> {
        if !text.starts_with(METADATA_PREFIX) {
            return SqlType::from_formatted(text).ok().flatten();
        }
        if let Some(item) = text.strip_suffix("[]").filter(|item| item.ends_with(['}', ']'])) {
            return Some(SqlType::Array(Box::new(SqlType::of_metadata(item)?)));
        }
        let ty = serde_json::from_str(text.strip_prefix(METADATA_PREFIX)?).ok()?;
        Some(SqlType::Enum(Arc::new(ty)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> Arc<EnumType> {
        let labels = [(1, "sad"), (2, "a (b)[]\"{x}"), (5, "")];
        let labels = labels.map(|(position, label)| EnumLabel {
            oid: 1,
            position,
            label: label.to_string(),
        });
        Arc::new(EnumType {
            oid: 16_400,
            array_oid: 16_401,
            version: 7,
            name: "Mood".to_string(),
            labels: labels.to_vec(),
        })
    }

    #[test]
    fn a_field_brings_its_labels_along() {
        let one = SqlType::Enum(mood());
        let array = SqlType::Array(Box::new(one.clone()));
        let nested = SqlType::Array(Box::new(array.clone()));
        for ty in [one, array, nested] {
            let read = SqlType::from_field(&ty.field("c", true));
            assert_eq!(read, ty);
            let labels = read.enum_type().map(|read| read.labels.clone());
            assert_eq!(labels, Some(mood().labels.clone()));
        }
        assert_eq!(SqlType::of_metadata("enum {\"oid\": 1}"), None);
    }

    #[test]
    fn labels_are_values_in_their_order() {
        let mood = mood();
        assert_eq!(mood.position("a (b)[]\"{x}"), Ok(2));
        assert_eq!((mood.label(5), mood.label(3)), ("", ""));
        assert_eq!(mood.range(Some(2), None).collect::<Vec<_>>(), [2, 5]);
        assert_eq!(mood.range(None, Some(2)).collect::<Vec<_>>(), [1, 2]);
        let error = mood.position("Sad").unwrap_err();
        assert_eq!(error.sqlstate(), "22P02");
        assert_eq!(error.to_string(), "invalid input value for enum \"Mood\": \"Sad\"");
    }
}
