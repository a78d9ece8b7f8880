//! `Column`: a column by its relation's name and its own.

use std::fmt;
use std::sync::Arc;

/// What a statement calls a relation; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationAlias(Arc<str>);

impl RelationAlias {
    /// Of this name.
    pub fn bare(name: impl Into<Arc<str>>) -> RelationAlias {
        RelationAlias(name.into())
    }

    /// The name.
    pub fn table(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RelationAlias {
    fn from(name: &str) -> RelationAlias {
        RelationAlias::bare(name)
    }
}

impl From<String> for RelationAlias {
    fn from(name: String) -> RelationAlias {
        RelationAlias::bare(name)
    }
}

impl From<&String> for RelationAlias {
    fn from(name: &String) -> RelationAlias {
        RelationAlias::bare(name.as_str())
    }
}

impl fmt::Display for RelationAlias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// Its relation; `None` for what an expression gave.
    pub relation: Option<RelationAlias>,
    /// Its own name.
    pub name: String,
}

impl Column {
    /// Of a relation, or of none.
    pub fn new(relation: Option<impl Into<RelationAlias>>, name: impl Into<String>) -> Column {
        Column {
            relation: relation.map(Into::into),
            name: name.into(),
        }
    }

    /// Of no relation.
    pub fn new_unqualified(name: impl Into<String>) -> Column {
        Column {
            relation: None,
            name: name.into(),
        }
    }

    /// `relation.name`, or `name`.
    pub fn flat_name(&self) -> String {
        match &self.relation {
            Some(relation) => format!("{relation}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl<T: AsRef<arrow::datatypes::Field>> From<(Option<&RelationAlias>, &T)> for Column {
    fn from((relation, field): (Option<&RelationAlias>, &T)) -> Column {
        Column {
            relation: relation.cloned(),
            name: field.as_ref().name().clone(),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.relation {
            Some(relation) => write!(f, "{relation}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
