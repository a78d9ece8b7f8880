//! How Arrow fields say which type their values are of, where neither the Arrow type nor a name of PostgreSQL's tells it: enums and
//! rows bring all of it along. Also what stands in for an enum whose labels are not known yet.

use std::sync::Arc;

use super::{EnumType, RecordType, SqlType};

/// What a label of an Arrow field says before the enum that its values are of.
const ENUM_PREFIX: &str = "enum ";
/// The same before a row type.
const RECORD_PREFIX: &str = "row ";
/// The same before what the items of a list are of.
const LIST_PREFIX: &str = "list of ";

impl SqlType {
    /// The enum, if the type is one or an array of one.
    pub fn enum_type(&self) -> Option<&Arc<EnumType>> {
        match self {
            SqlType::Enum(ty) => Some(ty),
            SqlType::Array(item) => item.enum_type(),
            _ => None,
        }
    }

    /// Whether a field must say of it more than its Arrow type does, wherever its values go: of types whose equal values may differ, which
    /// text, that Arrow takes them for, has none of.
    pub fn needs_label(&self) -> bool {
        match self {
            SqlType::Array(item) => item.needs_label(),
            SqlType::Char(None) | SqlType::Citext | SqlType::Jsonb => true,
            ty => ty.is_variable_numeric() || ty.has_label(),
        }
    }

    /// Whether it is an enum or a row type, or an array of such: a type that its name alone does not tell.
    pub fn has_label(&self) -> bool {
        match self {
            SqlType::Array(item) => item.has_label(),
            ty => matches!(
                ty,
                SqlType::Enum(_) | SqlType::Record(_) | SqlType::Range(_) | SqlType::Multirange(_)
            ),
        }
    }

    /// The types that users made and that it is made of directly: oid and version of each.
    pub fn user_types(&self) -> Vec<(u32, u64)> {
        match self {
            SqlType::Array(item) => item.user_types(),
            SqlType::Enum(ty) => vec![(ty.oid, ty.version)],
            // An extension makes it, and what it is never changes.
            SqlType::Citext => vec![(self.oid(), 0)],
            SqlType::Record(ty) if ty.is_anonymous() => {
                ty.fields.iter().flat_map(|field| field.ty.user_types()).collect()
            }
            SqlType::Record(ty) => vec![(ty.oid, ty.version)],
            _ => Vec::new(),
        }
    }

    /// Whether both rest on the very same definitions.
    pub fn has_definitions_of(&self, other: &SqlType) -> bool {
        match (self, other) {
            (SqlType::Array(a), SqlType::Array(b)) => a.has_definitions_of(b),
            (SqlType::Enum(a), SqlType::Enum(b)) => Arc::ptr_eq(a, b),
            (SqlType::Record(a), SqlType::Record(b)) => Arc::ptr_eq(a, b),
            (a, b) => a == b,
        }
    }

    /// The row type, if it is one.
    pub fn record_type(&self) -> Option<&Arc<RecordType>> {
        match self {
            SqlType::Record(ty) => Some(ty),
            _ => None,
        }
    }

    /// The type with labels that are texts of no type yet, in the place of an enum.
    pub fn without_labels(&self) -> SqlType {
        match self {
            SqlType::Array(item) => item.map(SqlType::without_labels),
            SqlType::Enum(_) => SqlType::Unknown,
            ty => ty.clone(),
        }
    }

    /// The name by which an Arrow field says which type its values are of: `format_type`'s, and all of an enum or a row type.
    pub(crate) fn metadata(&self) -> String {
        match self {
            SqlType::Array(item) if self.is_list() => format!("{LIST_PREFIX}{}", item.metadata()),
            SqlType::Array(item) if item.has_label() => item.metadata() + "[]",
            SqlType::Enum(ty) => match serde_json::to_string(&**ty) {
                Ok(json) => format!("{ENUM_PREFIX}{json}"),
                Err(_) => self.name(),
            },
            SqlType::Record(ty) => match serde_json::to_string(&**ty) {
                Ok(json) => format!("{RECORD_PREFIX}{json}"),
                Err(_) => self.name(),
            },
            other => other.name(),
        }
    }

    /// Reads what [`SqlType::metadata`] writes. `None`: it is something else.
    pub(crate) fn of_metadata(text: &str) -> Option<SqlType> {
        if let Some(item) = text.strip_prefix(LIST_PREFIX) {
            return SqlType::of_metadata(item).map(SqlType::list);
        }
        if !text.starts_with(ENUM_PREFIX) && !text.starts_with(RECORD_PREFIX) {
            return SqlType::from_formatted(text).ok().flatten();
        }
        if let Some(item) = text.strip_suffix("[]").filter(|item| item.ends_with(['}', ']'])) {
            return Some(SqlType::array(SqlType::of_metadata(item)?));
        }
        if let Some(json) = text.strip_prefix(RECORD_PREFIX) {
            return serde_json::from_str(json)
                .ok()
                .map(|ty| SqlType::Record(Arc::new(ty)));
        }
        let ty = serde_json::from_str(text.strip_prefix(ENUM_PREFIX)?).ok()?;
        Some(SqlType::Enum(Arc::new(ty)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::EnumLabel;

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
        let array = SqlType::array(one.clone());
        let nested = SqlType::array(array.clone());
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
        assert_eq!(
            (mood.label(1), mood.label(2), mood.label(9)),
            ("sad", "a (b)[]\"{x}", "")
        );
        assert_eq!(mood.range(Some(2), None).collect::<Vec<_>>(), [2, 5]);
        assert_eq!(mood.range(None, Some(2)).collect::<Vec<_>>(), [1, 2]);
        let error = mood.position("Sad").unwrap_err();
        assert_eq!(error.sqlstate(), "22P02");
        assert_eq!(
            error.to_string(),
            "invalid input value for enum \"Mood\": \"Sad\""
        );
    }
}
