//! Columns that tables get: those that a write names, and those that definitions add. Used by `change`; knows nothing of SQL text.

use std::sync::Arc;

use super::{COLUMNS_MAX, ColumnDef, TableDef, TypeDef};
use crate::codec::row::ColumnId;
use crate::error::Limit;
use crate::types::SqlType;
use crate::{Error, Result};

/// A column that a write names and the table does not have yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDynamicColumn {
    /// Its name.
    pub name: String,
    /// The type of the value first written, or of the pattern that the name matches.
    pub ty: SqlType,
    /// The pattern's domain.
    pub domain: Option<Arc<TypeDef>>,
}

impl NewDynamicColumn {
    /// One that gets its type from the value first written.
    pub fn of_value(name: String, ty: SqlType) -> NewDynamicColumn {
        let domain = None;
        NewDynamicColumn { name, ty, domain }
    }
}

impl TableDef {
    /// The table with these columns behind its others, `columns_max` of them at most. Errors: 54011.
    pub fn with_dynamic_columns(&self, new: Vec<NewDynamicColumn>, columns_max: usize) -> Result<TableDef> {
        if self.visible_columns().count() + new.len() > columns_max {
            return Err(too_many_columns(columns_max));
        }
        let mut table = self.clone();
        for NewDynamicColumn { name, ty, domain } in new {
            table.add_column(ColumnDef {
                domain,
                dynamic: true,
                ..ColumnDef::new(0, name, ty)
            })?;
        }
        Ok(table)
    }
    /// Adds a column behind the visible ones and gives it its id. Errors: 54011.
    pub fn add_column(&mut self, mut column: ColumnDef) -> Result<ColumnId> {
        let visible = self.visible_columns().count();
        if visible >= COLUMNS_MAX || self.next_column_id == ColumnId::MAX {
            return Err(too_many_columns(COLUMNS_MAX));
        }
        column.id = self.next_column_id;
        self.next_column_id += 1;
        let id = column.id;
        self.columns.insert(visible, column);
        Ok(id)
    }
}

/// 54011.
pub(super) fn too_many_columns(columns_max: usize) -> Error {
    Error::LimitExceeded {
        state: Limit::Columns,
        message: format!("tables can have at most {columns_max} columns"),
        hint: "Drop columns that are no longer used, or keep rare attributes in one jsonb column."
            .to_string(),
    }
}
