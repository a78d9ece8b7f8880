//! `EnumType`: a type that users make of labels, as CREATE TYPE … AS ENUM does. The catalog keeps them; a type that is one
//! brings its labels along, so that values print wherever they stand.
//!
//! A value is the *position* of its label: a number that no other label of the type has and that never changes, so that values
//! order as numbers do, in memory, in rows and in keys. A label that is added between two others gets the number in the middle.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

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

    /// The label of a value. No value stands between two labels, but the bounds of a range do: the next label says the same of
    /// them. Behind the last there is none.
    pub fn label(&self, position: i64) -> &str {
        let at = self.labels.partition_point(|label| label.position < position);
        self.labels.get(at).map_or("", |label| &label.label)
    }

    /// Its name as SQL text has it: in quotes, unless it is in lower case and plain.
    pub fn quoted_name(&self) -> String {
        super::type_quotes::quoted(&self.name)
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
    pub(super) fn parse(text: &str, ty: &Arc<EnumType>) -> Result<EnumValue> {
        Ok(EnumValue {
            ty: Arc::clone(ty),
            position: ty.position(text)?,
        })
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
