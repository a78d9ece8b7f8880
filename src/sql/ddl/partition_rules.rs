//! What may not be said in an ALTER TABLE of a partition, as its parent would have to say it, nor of the columns by which a table is partitioned.

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Ident, TableConstraint};

use crate::catalog::{TableDef, counterpart};
use crate::error::Raised;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Errors: 42809, 42P16 for what the parent of a partition would have to say, and for a column by which a table is partitioned.
pub(super) fn check(ctx: &StatementContext, table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as O;
    check_partition_key(table, operation)?;
    let Some(parent) = ctx.catalog.parent_of(table) else {
        return Ok(());
    };
    let invalid = |message: String| Err(Raised::new("42P16", message).into());
    let inherits = |name: &Ident| parent.has_column_named(&names::fold(name));
    match operation {
        O::AddColumn { .. } => Err(Raised::new("42809", "cannot add column to a partition").into()),
        O::DropColumn { column_names, .. } => match column_names.iter().find(|name| inherits(name)) {
            Some(name) => invalid(format!("cannot drop inherited column \"{}\"", names::fold(name))),
            None => Ok(()),
        },
        O::RenameColumn {
            old_column_name: name,
            ..
        } if inherits(name) => invalid(format!(
            "cannot rename inherited column \"{}\"",
            names::fold(name)
        )),
        O::AlterColumn {
            column_name: name,
            op: AlterColumnOperation::SetDataType { .. },
        } if inherits(name) => invalid(format!("cannot alter inherited column \"{}\"", names::fold(name))),
        O::AlterColumn {
            column_name: name,
            op: AlterColumnOperation::DropNotNull,
        } => {
            let name = names::fold(name);
            let above = parent.column_index(&name).map(|at| &parent.columns[at]);
            match above.is_some_and(|column| column.not_null) {
                true => invalid(format!("column \"{name}\" is marked NOT NULL in parent table")),
                false => Ok(()),
            }
        }
        O::DropConstraint { name, .. } => {
            let name = names::fold(name);
            let is_inherited = parent.check(&name).is_some_and(|check| !check.no_inherit)
                || parent.foreign_key(&name).is_some()
                || parent.all_indexes().any(|index| {
                    let own = counterpart(parent, index, table);
                    index.constraint && own.is_some_and(|own| own.name == name)
                });
            match is_inherited && table.has_constraint(&name) {
                true => invalid(format!(
                    "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                    table.name
                )),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_partition_key(table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    let is_of_key = |name: &Ident| {
        let name = names::fold(name);
        let mut key = table.partition_positions().into_iter();
        key.any(|at| table.columns[at].name == name)
    };
    match operation {
        AlterTableOperation::DropColumn { column_names, .. } => {
            let Some(name) = column_names.iter().find(|name| is_of_key(name)) else {
                return Ok(());
            };
            let message = format!(
                "cannot drop column \"{}\" because it is part of the partition key of relation \"{}\"",
                names::fold(name),
                table.name
            );
            Err(Raised::new("42P16", message).into())
        }
        AlterTableOperation::AlterColumn {
            column_name: name,
            op: AlterColumnOperation::SetDataType { .. },
        } if is_of_key(name) => {
            let message = format!(
                "cannot alter column \"{}\" because it is part of the partition key of relation \"{}\"",
                names::fold(name),
                table.name
            );
            Err(Raised::new("42P16", message).into())
        }
        AlterTableOperation::AddConstraint {
            constraint: TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_),
            ..
        } if table.partitioning.is_some() => Err(Error::unsupported(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX of a partitioned table",
            Some("Write ADD PRIMARY KEY (...) or ADD UNIQUE (...)."),
        )),
        _ => Ok(()),
    }
}
