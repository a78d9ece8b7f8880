//! ALTER TABLE of a table and of its partitions: what is said of a partitioned table is said of its partitions, too.

use std::sync::Arc;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnOption, ColumnOptionDef, DataType,
    DropBehavior, ForValues, Ident, ObjectName, TableConstraint,
};

use super::column::serial_type;
use super::{alter, attach, partition_index, triggers};
use crate::Result;
use crate::catalog::{Access, ColumnDefault, Object, TableDef, TriggerDef, counterpart};
use crate::parse::definition::AlterAction;
use crate::parse::{altered_kind, names, own_action};
use crate::sql::dml;
use crate::sql::relation::get_relation;
use crate::system::StatementContext;
use crate::types::SqlType;

/// Runs ALTER TABLE and ALTER VIEW.
pub(super) async fn execute(ctx: &StatementContext, alter: &AlterTable) -> Result<String> {
    run(ctx, alter, false).await
}

fn of_table(table: &TableDef, operation: AlterTableOperation) -> AlterTable {
    AlterTable {
        name: names::quoted_relation(&table.schema, &table.name),
        if_exists: false,
        only: false,
        operations: vec![operation],
        location: None,
        on_cluster: None,
        table_type: None,
        end_token: AttachedToken::empty(),
    }
}

/// `is_inherited`: it comes of an ALTER TABLE of the table that the one it names is a partition of.
async fn run(ctx: &StatementContext, alter: &AlterTable, is_inherited: bool) -> Result<String> {
    let table = match get_relation(ctx, &alter.name, Access::Name)? {
        Some(Object::Table(table)) => Arc::clone(table),
        _ => return alter::execute(ctx, alter, is_inherited).await,
    };
    if let [operation] = alter.operations.as_slice() {
        match own_action(operation, &ctx.hints) {
            Some(AlterAction::AttachPartition { partition, bound }) => {
                Box::pin(attach_partition(ctx, &table, (partition, bound))).await?;
                return Ok(altered_kind(alter).tag().to_string());
            }
            Some(AlterAction::DetachPartition {
                partition,
                concurrently,
                finalizes,
            }) => {
                attach::detach(ctx, &table, partition, (*concurrently, *finalizes)).await?;
                return Ok(altered_kind(alter).tag().to_string());
            }
            _ => {}
        }
    }
    if table.partitioning.is_none() {
        return alter::execute(ctx, alter, is_inherited).await;
    }
    // It is one transaction with what is done to its partitions.
    let ctx = StatementContext {
        in_block: true,
        ..ctx.clone()
    };
    let tag = Box::pin(alter::execute(&ctx, alter, is_inherited)).await?;
    if ctx.hints.only.is_empty() {
        follow(&ctx, &table, alter).await?;
    }
    Ok(tag)
}

/// ATTACH PARTITION. Errors: as [`attach::attach`], those of what the partition gets of its parent's.
async fn attach_partition(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    (partition, bound): (&ObjectName, &ForValues),
) -> Result<()> {
    let (attached, owed) = attach::attach(ctx, table, (partition, bound)).await?;
    let mut ctx = ctx.clone();
    ctx.in_block = true;
    for constraint in owed.constraints {
        let operation = AlterTableOperation::AddConstraint {
            constraint,
            not_valid: false,
        };
        let alter = of_table(&attached, operation);
        ctx.see_definitions().await?;
        Box::pin(run(&ctx, &alter, false)).await?;
    }
    for index in owed.indexes {
        ctx.see_definitions().await?;
        Box::pin(partition_index::create(&ctx, &index)).await?;
    }
    Ok(())
}

/// A partitioned table was altered: alters its partitions. `before`: the table as it was.
async fn follow(ctx: &StatementContext, before: &TableDef, alter: &AlterTable) -> Result<()> {
    let mut now = ctx.clone().seeing_definitions().await?;
    let Some(after) = now.table_by_oid(before.oid).cloned() else {
        return Ok(());
    };
    for child in now.partitions_of(&after)? {
        let tables = Tables {
            before,
            after: &after,
            child: &child,
        };
        let operations = alter.operations.iter();
        let operations = operations.flat_map(|operation| of_each_trigger(before, operation));
        let operations: Vec<_> = operations
            .filter_map(|operation| tables.inherited(ctx, &operation))
            .collect();
        if operations.is_empty() {
            continue;
        }
        let of_child = AlterTable {
            name: names::quoted_relation(&child.schema, &child.name),
            if_exists: false,
            operations,
            ..alter.clone()
        };
        Box::pin(run(&now, &of_child, true)).await?;
        now = now.seeing_definitions().await?;
    }
    Ok(())
}

/// What is said of all triggers of a table as said of each that partitions have of it, whose own are left alone; others as they are.
fn of_each_trigger(table: &TableDef, operation: &AlterTableOperation) -> Vec<AlterTableOperation> {
    use AlterTableOperation as O;
    let (O::EnableTrigger { name }
    | O::DisableTrigger { name }
    | O::EnableAlwaysTrigger { name }
    | O::EnableReplicaTrigger { name }) = operation
    else {
        return vec![operation.clone()];
    };
    if !triggers::means_several(name) {
        return vec![operation.clone()];
    }
    let shared = table.triggers.iter().filter(|trigger| trigger.for_each_row);
    let of_trigger = |trigger: &TriggerDef| {
        let mut of_one = operation.clone();
        if let O::EnableTrigger { name }
        | O::DisableTrigger { name }
        | O::EnableAlwaysTrigger { name }
        | O::EnableReplicaTrigger { name } = &mut of_one
        {
            *name = Ident::with_quote('"', &trigger.name);
        }
        of_one
    };
    shared.map(of_trigger).collect()
}

/// A partitioned table, as it was and is, and one of its partitions.
struct Tables<'t> {
    before: &'t TableDef,
    after: &'t TableDef,
    child: &'t TableDef,
}

impl Tables<'_> {
    /// What an operation of the parent is of the partition; `None`: nothing.
    fn inherited(
        &self,
        ctx: &StatementContext,
        operation: &AlterTableOperation,
    ) -> Option<AlterTableOperation> {
        use AlterTableOperation as O;
        if let Some(own) = own_action(operation, &ctx.hints) {
            let is_inherited = match own {
                AlterAction::DropExpression { .. }
                | AlterAction::PrimaryKey { .. }
                | AlterAction::Options(_) => true,
                AlterAction::Constraint { name, .. } => self.child.has_constraint(name),
                _ => false,
            };
            return is_inherited.then(|| operation.clone());
        }
        match operation {
            O::AlterColumn {
                op: AlterColumnOperation::AddGenerated { .. },
                ..
            } => None,
            O::SetOptionsParens { .. } | O::SetTblProperties { .. } => Some(operation.clone()),
            O::AddColumn { column_def, .. } => {
                // One that was there is passed over, once.
                let is_new = self.before.column_index(&names::fold(&column_def.name)).is_none();
                is_new.then(|| self.added(operation))
            }
            O::DropColumn { .. } | O::RenameColumn { .. } | O::AlterColumn { .. } => Some(operation.clone()),
            O::AddConstraint {
                constraint,
                not_valid,
            } => Some(O::AddConstraint {
                constraint: self.constraint(constraint)?,
                not_valid: *not_valid,
            }),
            O::DropConstraint {
                name, drop_behavior, ..
            } => self.dropped(&names::fold(name), *drop_behavior),
            O::DropPrimaryKey { .. } => self.dropped(&self.before.primary_key.name, None),
            O::RenameConstraint { old_name, .. } => {
                let old = names::fold(old_name);
                let is_shared = self.child.check(&old).is_some() || self.child.foreign_key(&old).is_some();
                is_shared.then(|| operation.clone())
            }
            O::ValidateConstraint { name } => {
                let is_shared = self.child.has_constraint(&names::fold(name));
                is_shared.then(|| operation.clone())
            }
            O::EnableTrigger { name }
            | O::DisableTrigger { name }
            | O::EnableAlwaysTrigger { name }
            | O::EnableReplicaTrigger { name } => {
                let is_shared = self.child.trigger(&names::fold(name)).is_some();
                is_shared.then(|| operation.clone())
            }
            _ => None,
        }
    }

    /// ADD COLUMN as of the partition: a serial column takes its values from its parent's sequence.
    fn added(&self, operation: &AlterTableOperation) -> AlterTableOperation {
        let mut added = operation.clone();
        let AlterTableOperation::AddColumn { column_def, .. } = &mut added else {
            return added;
        };
        let name = names::fold(&column_def.name);
        let of_parent = self.after.column_index(&name).map(|at| &self.after.columns[at]);
        let default = of_parent.and_then(|column| column.default.as_ref());
        let (Some(ty), Some(ColumnDefault::Sequence { oid })) = (serial_type(&column_def.data_type), default)
        else {
            return added;
        };
        let Ok(next) = dml::parse_expression(&format!("nextval('{oid}'::regclass)")) else {
            return added;
        };
        column_def.data_type = match ty {
            SqlType::Int2 => DataType::SmallInt(None),
            SqlType::Int8 => DataType::BigInt(None),
            _ => DataType::Integer(None),
        };
        let options = [ColumnOption::NotNull, ColumnOption::Default(next)];
        let options = options.map(|option| ColumnOptionDef { name: None, option });
        column_def.options.extend(options);
        added
    }

    /// A constraint as the partition gets it: under the same name, but for keys, whose names are those of relations.
    fn constraint(&self, constraint: &TableConstraint) -> Option<TableConstraint> {
        let quoted = |name: &String| Ident::with_quote('"', name);
        Some(match constraint {
            TableConstraint::Check(check) => {
                let mut checks = self.after.checks.iter();
                let new = checks.find(|check| self.before.check(&check.name).is_none());
                let name = check.name.clone().or_else(|| new.map(|new| quoted(&new.name)));
                if name
                    .as_ref()
                    .is_some_and(|name| self.child.check(&names::fold(name)).is_some())
                {
                    return None;
                }
                TableConstraint::Check(sqlparser::ast::CheckConstraint {
                    name,
                    ..check.clone()
                })
            }
            TableConstraint::ForeignKey(key) => {
                let mut keys = self.after.foreign_keys.iter();
                let new = keys.find(|key| self.before.foreign_key(&key.name).is_none());
                let name = key.name.clone().or_else(|| new.map(|new| quoted(&new.name)));
                if name
                    .as_ref()
                    .is_some_and(|name| self.child.foreign_key(&names::fold(name)).is_some())
                {
                    return None;
                }
                TableConstraint::ForeignKey(sqlparser::ast::ForeignKeyConstraint { name, ..key.clone() })
            }
            TableConstraint::Unique(unique) => {
                let mut indexes = self.after.indexes.iter();
                let new = indexes.find(|index| self.before.indexes.iter().all(|known| known.id != index.id));
                if new.is_some_and(|new| counterpart(self.after, new, self.child).is_some()) {
                    return None;
                }
                TableConstraint::Unique(sqlparser::ast::UniqueConstraint {
                    name: None,
                    ..unique.clone()
                })
            }
            TableConstraint::PrimaryKey(key) => {
                if counterpart(self.after, &self.after.primary_key, self.child).is_some() {
                    return None;
                }
                TableConstraint::PrimaryKey(sqlparser::ast::PrimaryKeyConstraint {
                    name: None,
                    ..key.clone()
                })
            }
            _ => return None,
        })
    }

    /// What the partition calls a foreign key of its table.
    fn own_foreign_key(&self, name: &str) -> Option<&str> {
        let key = self.before.foreign_key(name)?;
        let own = self.before.foreign_key_below(key, self.child)?;
        Some(&own.name)
    }

    fn dropped(&self, name: &str, drop_behavior: Option<DropBehavior>) -> Option<AlterTableOperation> {
        let index = self
            .before
            .all_indexes()
            .find(|index| index.constraint && index.name == name);
        let own = match index {
            Some(index) => &counterpart(self.before, index, self.child)?.name,
            None if self.before.foreign_key(name).is_some() => self.own_foreign_key(name)?,
            None if self.child.has_constraint(name) => name,
            None => return None,
        };
        Some(AlterTableOperation::DropConstraint {
            if_exists: false,
            name: Ident::with_quote('"', own),
            drop_behavior,
        })
    }
}
