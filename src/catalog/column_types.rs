//! What columns and tables have of types that users made: which they are of, what tells their definitions apart, and how they come by
//! definitions that have changed. Called by `load` and `change`.

use std::sync::Arc;

use super::{ColumnDef, ColumnDefault, TableDef, TypeDef, UserTypes, stored_name};
use crate::Result;
use crate::types::{EnumValue, SqlType, Value};

impl UserTypes {
    /// The table with its types as they are now; `None`: it has them. Errors: corrupt.
    pub(super) fn brought_up_to_date(&self, table: &TableDef) -> Result<Option<TableDef>> {
        let mut columns = table.columns.iter().chain(&table.wildcards);
        if columns.all(|column| self.is_up_to_date(column)) {
            return Ok(None);
        }
        let mut table = table.clone();
        for column in table.columns.iter_mut().chain(&mut table.wildcards) {
            column.ty = self.of_stored_name(&stored_name(&column.ty))?;
            if let Some(ColumnDefault::Constant { value, .. }) = &mut column.default {
                *value = relabelled(value, &column.ty);
            }
            column.missing = relabelled(&column.missing, &column.ty);
            if let Some(domain) = &column.domain {
                column.domain = self.by_oid(domain.oid).cloned();
            }
        }
        Ok(Some(table))
    }

    fn is_up_to_date(&self, column: &ColumnDef) -> bool {
        let is_same_domain = |domain: &Arc<TypeDef>| {
            let now = self.by_oid(domain.oid);
            now.is_some_and(|now| Arc::ptr_eq(now, domain))
        };
        column.domain.as_ref().is_none_or(is_same_domain)
            && column.ty.has_definitions_of(&self.as_it_is(&column.ty))
    }
}

/// A value with the labels that its type has now.
fn relabelled(value: &Value, ty: &SqlType) -> Value {
    match (value, ty) {
        (Value::Array(array), SqlType::Array(item)) => {
            Value::Array(array.clone().map(|value| relabelled(&value, item)))
        }
        (Value::Record(values), SqlType::Record(row)) => {
            let columns = values.iter().zip(&row.fields);
            Value::Record(
                columns
                    .map(|(value, field)| relabelled(value, &field.ty))
                    .collect(),
            )
        }
        (Value::Enum(value), SqlType::Enum(labels)) => Value::Enum(EnumValue {
            ty: Arc::clone(labels),
            position: value.position,
        }),
        (value, _) => value.clone(),
    }
}

impl ColumnDef {
    /// The oids of the types that users made and that it is of.
    pub fn types_used(&self) -> impl Iterator<Item = u32> + '_ {
        let types = match self.domain {
            Some(_) => Vec::new(),
            None => self.ty.user_types(),
        };
        let domain = self.domain.iter().map(|domain| domain.oid);
        domain.chain(types.into_iter().map(|(oid, _)| oid))
    }

    /// A number that another definition of its types has not.
    fn types_version(&self) -> u64 {
        let domain = self.domain.iter().map(|domain| domain.version_with_types());
        let types = self.ty.user_types().into_iter().map(|(_, version)| version);
        domain.chain(types).fold(0, u64::wrapping_add)
    }
}

impl TableDef {
    /// Its version and those of the types of its columns as one number.
    pub(super) fn version_with_types(&self) -> u64 {
        let columns = self.columns.iter().chain(&self.wildcards);
        let versions = columns.map(ColumnDef::types_version);
        versions.fold(self.version, u64::wrapping_add)
    }
}
