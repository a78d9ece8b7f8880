//! `RowSchema`: the columns of a relation's rows, each with its type and the relation that it is of.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{Field, FieldRef, Fields, Schema, SchemaRef};

use super::column::{Column, RelationAlias};
use crate::{Error, Result};

/// The columns of a relation's rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowSchema {
    inner: SchemaRef,
    relations: Arc<[Option<RelationAlias>]>,
}

/// One that is shared.
pub type RowSchemaRef = Arc<RowSchema>;

impl RowSchema {
    /// Of these columns.
    pub fn new(columns: Vec<(Option<RelationAlias>, FieldRef)>) -> RowSchema {
        let (relations, fields): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        RowSchema {
            inner: Arc::new(Schema::new(fields)),
            relations: relations.into(),
        }
    }

    /// Of no columns.
    pub fn empty() -> RowSchema {
        static EMPTY: LazyLock<RowSchema> = LazyLock::new(|| RowSchema::new(Vec::new()));
        EMPTY.clone()
    }

    /// The columns of a relation of this name.
    pub fn of_relation(relation: impl Into<RelationAlias>, schema: &SchemaRef) -> RowSchema {
        let relation = Some(relation.into());
        RowSchema {
            relations: vec![relation; schema.fields().len()].into(),
            inner: Arc::clone(schema),
        }
    }

    /// The columns of no relation.
    pub fn of_none(fields: Fields) -> RowSchema {
        RowSchema {
            relations: vec![None; fields.len()].into(),
            inner: Arc::new(Schema::new(fields)),
        }
    }

    /// As Arrow has it.
    pub fn inner(&self) -> &SchemaRef {
        &self.inner
    }

    /// As Arrow has it.
    pub fn as_arrow(&self) -> &Schema {
        &self.inner
    }

    /// The columns without their relations.
    pub fn fields(&self) -> &Fields {
        self.inner.fields()
    }

    /// The column at a place.
    pub fn field(&self, at: usize) -> &FieldRef {
        &self.inner.fields()[at]
    }

    /// The same with its relation.
    pub fn qualified_field(&self, at: usize) -> (Option<&RelationAlias>, &FieldRef) {
        (self.relations[at].as_ref(), self.field(at))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&RelationAlias>, &FieldRef)> {
        self.relations
            .iter()
            .map(Option::as_ref)
            .zip(self.fields().iter())
    }

    /// How they are referred to.
    pub fn columns(&self) -> Vec<Column> {
        self.iter().map(Column::from).collect()
    }

    /// These and those behind them.
    pub fn join(&self, other: &RowSchema) -> RowSchema {
        let owned =
            |(relation, field): (Option<&RelationAlias>, &FieldRef)| (relation.cloned(), Arc::clone(field));
        RowSchema::new(self.iter().chain(other.iter()).map(owned).collect())
    }

    /// The place of a column: one without a relation is of any.
    pub fn maybe_index_of_column(&self, column: &Column) -> Option<usize> {
        let mut own = self.relations.iter().zip(self.fields().iter());
        own.position(|(relation, field)| {
            let is_of_it = column.relation.is_none() || column.relation == *relation;
            is_of_it && *field.name() == column.name
        })
    }

    /// The place of a column. Errors: there is none.
    pub fn index_of_column(&self, column: &Column) -> Result<usize> {
        self.maybe_index_of_column(column).ok_or_else(|| {
            let known: Vec<String> = self.columns().iter().map(Column::flat_name).collect();
            Error::internal(format!("no column {column} among {}", known.join(", ")))
        })
    }

    /// Whether there is this column.
    pub fn has_column(&self, column: &Column) -> bool {
        self.maybe_index_of_column(column).is_some()
    }

    /// The column that is meant: of several that a name without a relation fits, that of no relation. Errors: there is none.
    pub fn field_from_column(&self, column: &Column) -> Result<&FieldRef> {
        if column.relation.is_none() {
            let mut own = self.iter();
            let own = own.find(|(relation, field)| relation.is_none() && *field.name() == column.name);
            if let Some((_, field)) = own {
                return Ok(field);
            }
        }
        Ok(self.field(self.index_of_column(column)?))
    }
}

/// A field of another name.
pub(super) fn renamed(field: &FieldRef, name: &str) -> FieldRef {
    match field.name() == name {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_name(name)),
    }
}

/// A field that may be NULL.
pub(super) fn nullable(field: &FieldRef) -> FieldRef {
    match field.is_nullable() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_nullable(true)),
    }
}

/// A field with more metadata.
pub(super) fn labelled(field: &FieldRef, metadata: Option<&BTreeMap<String, String>>) -> FieldRef {
    match metadata.filter(|metadata| !metadata.is_empty()) {
        None => Arc::clone(field),
        Some(metadata) => {
            let mut all = field.metadata().clone();
            all.extend(metadata.iter().map(|(key, value)| (key.clone(), value.clone())));
            Arc::new(Field::clone(field).with_metadata(all))
        }
    }
}
