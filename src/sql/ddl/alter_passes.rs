//! What several actions of one ALTER TABLE do together: the order in which they are carried out, and how the table is locked.

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, TableConstraint};

use crate::parse::definition::{AlterAction, IdentityChange};
use crate::parse::own_action;
use crate::store::LockMode;
use crate::system::StatementContext;

/// The operations as PostgreSQL carries them out, whatever the order in which they are written: what is dropped goes first, then columns get
/// other types, then come new ones, and then the rest.
pub(super) fn in_passes<'o>(
    ctx: &StatementContext,
    operations: &'o [AlterTableOperation],
) -> Vec<&'o AlterTableOperation> {
    let mut operations: Vec<&AlterTableOperation> = operations.iter().collect();
    operations.sort_by_key(|operation| pass(ctx, operation));
    operations
}

fn pass(ctx: &StatementContext, operation: &AlterTableOperation) -> u8 {
    use AlterColumnOperation::{DropDefault, DropNotNull, SetDataType};
    use AlterTableOperation as O;
    if let Some(own) = own_action(operation, &ctx.hints) {
        return match own {
            AlterAction::DropExpression { .. }
            | AlterAction::Identity {
                change: IdentityChange::Drop { .. },
                ..
            } => 0,
            _ => 3,
        };
    }
    match operation {
        O::DropColumn { .. } | O::DropConstraint { .. } | O::DropPrimaryKey { .. } => 0,
        O::AlterColumn {
            op: DropDefault | DropNotNull,
            ..
        } => 0,
        O::AlterColumn {
            op: SetDataType { .. },
            ..
        } => 1,
        O::AddColumn { .. } => 2,
        _ => 3,
    }
}

/// How the table is locked: who reads it does not mind foreign keys, triggers, nor that constraints are validated.
pub(super) fn lock_mode(operations: &[AlterTableOperation]) -> LockMode {
    let mode = |operation: &AlterTableOperation| match operation {
        AlterTableOperation::ValidateConstraint { .. } => LockMode::ShareUpdateExclusive,
        AlterTableOperation::AddConstraint {
            constraint: TableConstraint::ForeignKey(_),
            ..
        }
        | AlterTableOperation::EnableTrigger { .. }
        | AlterTableOperation::DisableTrigger { .. }
        | AlterTableOperation::EnableAlwaysTrigger { .. }
        | AlterTableOperation::EnableReplicaTrigger { .. } => LockMode::ShareRowExclusive,
        _ => LockMode::AccessExclusive,
    };
    // Each includes those before it.
    let strongest = operations.iter().map(mode).max();
    strongest.unwrap_or(LockMode::AccessExclusive)
}
