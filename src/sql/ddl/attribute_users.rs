//! Which columns hold values of a composite type, whose attributes then stay as they are. Asked by `composite` and `type_dependents`.

use crate::catalog::{ColumnDefault, TypeDef};
use crate::error::StatementFault;
use crate::system::StatementContext;
use crate::types::Value;
use crate::{Error, Result};

/// The columns that hold values of a composite type, at any depth.
pub(super) struct AttributeUsers {
    /// The first, as messages name it.
    first: Option<String>,
    /// The first whose default is a constant.
    constant: Option<String>,
}

impl AttributeUsers {
    /// Errors: 0A000 for a column whose values would have to be of another type.
    pub(super) fn check_none(&self, ty: &TypeDef) -> Result<()> {
        match &self.first {
            None => Ok(()),
            Some(column) => Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: format!(
                    "cannot alter type \"{}\" because column \"{column}\" uses it",
                    ty.name
                ),
                hint: Some("Add an attribute of the other type, and drop this one.".to_string()),
            }),
        }
    }

    /// Errors: 0A000 for a column whose default was worked out with the attributes that there were.
    pub(super) fn check_constants(&self, ty: &TypeDef) -> Result<()> {
        match &self.constant {
            None => Ok(()),
            Some(column) => Err(Error::FeatureNotSupported {
                feature: format!(
                    "another set of attributes of type {} while column {column} has a constant of it as its default",
                    ty.name
                ),
                hint: Some("Drop the column's default first, and set it again afterwards.".to_string()),
            }),
        }
    }
}

/// See [`AttributeUsers`]. From now on nobody makes another in this transaction's time.
pub(super) fn users_of_attributes(ctx: &StatementContext, ty: &TypeDef) -> Result<AttributeUsers> {
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    let mut oids = vec![ty.oid];
    let mut at = 0;
    while let Some(oid) = oids.get(at).copied() {
        let over = ctx.catalog.types.iter();
        let over = over
            .filter(|over| over.rests_on().contains(&oid))
            .map(|over| over.oid);
        let new: Vec<u32> = over.filter(|over| !oids.contains(over)).collect();
        oids.extend(new);
        at += 1;
    }
    let mut users = AttributeUsers {
        first: None,
        constant: None,
    };
    for table in ctx.catalog.tables() {
        for column in table.columns.iter().chain(&table.wildcards) {
            if !column.types_used().any(|used| oids.contains(&used)) {
                continue;
            }
            let name = || format!("{}.{}", table.name, column.name);
            users.first.get_or_insert_with(name);
            let is_constant = matches!(&column.default, Some(ColumnDefault::Constant { value, .. }) if *value != Value::Null);
            if is_constant || column.missing != Value::Null {
                users.constant.get_or_insert_with(name);
            }
        }
    }
    Ok(users)
}
