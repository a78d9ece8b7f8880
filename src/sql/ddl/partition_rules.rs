//! What may not be said in an ALTER TABLE of a partition, as its parent would have to say it, nor of a partitioned table without its partitions,
//! nor of the columns by which it is partitioned.

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, ColumnOption, Expr, Ident, TableConstraint};

use crate::catalog::{TableDef, counterpart};
use crate::error::Raised;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Errors: 42809, 42P16 for what the parent of a partition would have to say, what a partitioned table cannot say alone, and for a column by
/// which it is partitioned.
pub(super) fn check(ctx: &StatementContext, table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as O;
    check_partition_key(table, operation)?;
    check_parent(ctx, table, operation)?;
    if !ctx.hints.only.is_empty() {
        check_alone(ctx, table, operation)?;
    }
    let Some(parent) = ctx.catalog.parent_of(table) else {
        return Ok(());
    };
    let invalid = |message: String| invalid(message, None);
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
                || table
                    .foreign_key(&name)
                    .is_some_and(|key| ctx.catalog.is_of_parent(table, key))
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

/// What no partitioned table can have.
fn check_parent(ctx: &StatementContext, table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    if table.partitioning.is_none() {
        return Ok(());
    }
    match operation {
        AlterTableOperation::AddConstraint {
            constraint: TableConstraint::ForeignKey(key),
            not_valid,
        } => {
            let what = match (ctx.hints.only.is_empty(), not_valid) {
                (false, _) => "use ONLY for",
                (true, true) => "add NOT VALID",
                (true, false) => return Ok(()),
            };
            let referenced = names::last_name(&key.foreign_table).unwrap_or_default();
            let message = format!(
                "cannot {what} foreign key on partitioned table \"{}\" referencing relation \"{referenced}\"",
                table.name
            );
            let detail = "This feature is not yet supported on partitioned tables.".to_string();
            Err(Raised {
                detail: ctx.hints.only.is_empty().then_some(detail),
                ..Raised::new("42809", message)
            }
            .into())
        }
        AlterTableOperation::AddColumn { column_def, .. } if has_partitions(ctx, table) => {
            let is_identity = column_def.options.iter().any(|option| {
                matches!(
                    option.option,
                    ColumnOption::Generated {
                        generation_expr: None,
                        ..
                    }
                )
            });
            match is_identity {
                true => invalid(
                    "cannot recursively add identity column to table that has child tables".to_string(),
                    None,
                ),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// What a table that has partitions cannot say with ONLY.
fn check_alone(ctx: &StatementContext, table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as O;
    if !has_partitions(ctx, table) {
        return Ok(());
    }
    let hint = Some("Do not specify the ONLY keyword.");
    let with_partitions =
        |what: &str| format!("cannot {what} from only the partitioned table when partitions exist");
    match operation {
        O::AddColumn { .. } => invalid("column must be added to child tables too".to_string(), None),
        O::DropColumn { .. } => invalid(with_partitions("drop column"), hint),
        O::DropConstraint { .. } => invalid(with_partitions("remove constraint"), hint),
        O::RenameColumn {
            old_column_name: name,
            ..
        } => invalid(
            format!(
                "inherited column \"{}\" must be renamed in child tables too",
                names::fold(name)
            ),
            None,
        ),
        O::AlterColumn { column_name, op } => match op {
            AlterColumnOperation::SetDataType { .. } => invalid(
                format!(
                    "type of inherited column \"{}\" must be changed in child tables too",
                    names::fold(column_name)
                ),
                None,
            ),
            AlterColumnOperation::DropNotNull => invalid(with_partitions("remove constraint"), hint),
            AlterColumnOperation::SetNotNull => require_not_null(ctx, table, &[names::fold(column_name)]),
            _ => Ok(()),
        },
        O::AddConstraint { constraint, .. } => match constraint {
            TableConstraint::Check(_) => {
                invalid("constraint must be added to child tables too".to_string(), None)
            }
            TableConstraint::PrimaryKey(key) => {
                let named = key.columns.iter().filter_map(|part| match &part.column.expr {
                    Expr::Identifier(name) => Some(names::fold(name)),
                    _ => None,
                });
                require_not_null(ctx, table, &named.collect::<Vec<_>>())
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn has_partitions(ctx: &StatementContext, table: &TableDef) -> bool {
    ctx.catalog.partitions_of(table.oid).next().is_some()
}

/// Errors: 42P16 where a column of these names may be NULL in a partition.
fn require_not_null(ctx: &StatementContext, table: &TableDef, columns: &[String]) -> Result<()> {
    for partition in ctx.catalog.partitions_of(table.oid) {
        for name in columns {
            let own = partition.column_index(name).map(|at| &partition.columns[at]);
            if own.is_some_and(|column| !column.not_null) {
                return Err(Raised {
                    detail: Some(format!(
                        "Column \"{name}\" of relation \"{}\" is not already NOT NULL.",
                        partition.name
                    )),
                    hint: Some("Do not specify the ONLY keyword.".to_string()),
                    ..Raised::new("42P16", "constraint must be added to child tables too")
                }
                .into());
            }
        }
    }
    Ok(())
}

fn invalid(message: String, hint: Option<&str>) -> Result<()> {
    Err(Raised {
        hint: hint.map(str::to_string),
        ..Raised::new("42P16", message)
    }
    .into())
}

/// Errors: 42P16 for a change of a column by which the table is partitioned, 0A000.
pub(super) fn check_partition_key(table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
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
