//! `RecordType`: what the values of a row are, one type a column. A row type has a name when it is that of a table, or one that CREATE
//! TYPE … AS made; the row of ROW(…), and of a subquery, has none. A type brings its columns along, so that values print wherever
//! they stand.

use serde::{Deserialize, Serialize};

use super::SqlType;

/// pg_type.oid of `record`, and of its array type.
const RECORD_OIDS: (u32, u32) = (2249, 2287);

/// The type of a row.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
pub struct RecordType {
    /// pg_type.oid; that of `record` when it has no name.
    pub oid: u32,
    /// The oid of its array type.
    pub array_oid: u32,
    /// The catalog version that last changed it; 0 of one that has no name.
    #[serde(default)]
    pub version: u64,
    /// Its name: `record` when it has none.
    pub name: String,
    /// Its columns, in order.
    pub fields: Vec<RecordField>,
}

/// A column of a row type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordField {
    /// pg_attribute.attnum: stays when others go. Stored values are told apart by it.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(serialize_with = "put_type", deserialize_with = "read_type")]
    pub ty: SqlType,
}

impl RecordType {
    /// The type of rows of these columns that no table and no CREATE TYPE says.
    pub fn anonymous(columns: impl IntoIterator<Item = (String, SqlType)>) -> RecordType {
        let fields = (1..).zip(columns);
        RecordType {
            oid: RECORD_OIDS.0,
            array_oid: RECORD_OIDS.1,
            version: 0,
            name: "record".to_string(),
            fields: fields
                .map(|(number, (name, ty))| RecordField { number, name, ty })
                .collect(),
        }
    }

    /// The row type of a table or view: its oid is the relation's. Arrays of it have no type of their own.
    pub fn of_relation(
        oid: u32,
        name: &str,
        version: u64,
        columns: impl IntoIterator<Item = (String, SqlType)>,
    ) -> RecordType {
        RecordType {
            oid,
            version,
            name: name.to_string(),
            ..RecordType::anonymous(columns)
        }
    }

    /// Whether no name tells it from others.
    pub fn is_anonymous(&self) -> bool {
        self.oid == RECORD_OIDS.0
    }

    /// Whether it is that of a table's or view's rows.
    pub fn is_of_relation(&self) -> bool {
        !self.is_anonymous() && self.array_oid == RECORD_OIDS.1
    }

    /// The place of the column of this name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Its name as SQL text has it.
    pub fn quoted_name(&self) -> String {
        super::type_label::quoted(&self.name)
    }
}

/// Types are the same when they are of one name and their columns are the same: a column that was added makes another one.
impl PartialEq for RecordType {
    fn eq(&self, other: &RecordType) -> bool {
        self.oid == other.oid && self.fields == other.fields
    }
}

impl std::hash::Hash for RecordType {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
        self.fields.hash(state);
    }
}

fn put_type<S: serde::Serializer>(ty: &SqlType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&ty.metadata())
}

fn read_type<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SqlType, D::Error> {
    let text = String::deserialize(deserializer)?;
    let ty = SqlType::of_metadata(&text);
    ty.ok_or_else(|| serde::de::Error::custom("no name of a type"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::types::{FormatSettings, Value};

    fn pair() -> RecordType {
        let columns = [
            ("a".to_string(), SqlType::Int4),
            ("b c".to_string(), SqlType::Array(Box::new(SqlType::Text))),
        ];
        RecordType::of_relation(16_400, "Pair", 3, columns)
    }

    #[test]
    fn a_field_brings_its_columns_along() {
        let inner = SqlType::Record(Arc::new(pair()));
        let outer = RecordType::anonymous([
            ("x".to_string(), inner.clone()),
            ("y".to_string(), SqlType::Jsonb),
        ]);
        let outer = SqlType::Record(Arc::new(outer));
        for ty in [inner.clone(), outer.clone(), SqlType::Array(Box::new(outer))] {
            assert_eq!(SqlType::from_field(&ty.field("c", true)), ty);
        }
        assert_eq!(inner.name(), "\"Pair\"");
    }

    #[test]
    fn texts_are_read_and_printed() {
        let (settings, ty) = (FormatSettings::default(), SqlType::Record(Arc::new(pair())));
        for (text, printed) in [
            ("(1,\"{a,\"\"b c\"\"}\")", "(1,\"{a,\"\"b c\"\"}\")"),
            (" (,) ", "(,)"),
            ("(2,{})", "(2,{})"),
            ("(\\3,\\{a\\})", "(3,{a})"),
        ] {
            let value = Value::parse(text, &ty, &settings).unwrap();
            assert_eq!(value.to_text(&settings), printed);
        }
        for wrong in [
            "", "1,2", "(1)", "(1,{},3)", "(1,{}", "(1,{})x", "(1,\"{}", "(1,\\",
        ] {
            assert_eq!(
                Value::parse(wrong, &ty, &settings).unwrap_err().sqlstate(),
                "22P02"
            );
        }
    }
}
