//! The actions of ALTER TABLE by the words that PostgreSQL's messages have for them.

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation};

use super::alter_storage;
use crate::catalog::Access;
use crate::parse::definition::{AlterAction, IdentityChange};
use crate::parse::own_action;
use crate::system::StatementContext;

/// What an operation wants of a relation that is no table.
pub(super) fn access(ctx: &StatementContext, operation: &AlterTableOperation) -> Access {
    use AlterColumnOperation as C;
    use AlterTableOperation as O;
    if let Some(own) = own_action(operation, &ctx.hints) {
        return Access::AlterAction(match own {
            AlterAction::Storage(change) => alter_storage::action(change),
            AlterAction::Options(options) if is_reset(options) => "RESET",
            AlterAction::Options(_) => "SET",
            AlterAction::Identity { change, .. } => match change {
                IdentityChange::Add { .. } => "ALTER COLUMN ... ADD IDENTITY",
                IdentityChange::Set { .. } => "ALTER COLUMN ... SET",
                IdentityChange::Drop { .. } => "ALTER COLUMN ... DROP IDENTITY",
            },
            AlterAction::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
            AlterAction::Constraint { .. } => "ALTER CONSTRAINT",
            AlterAction::AddWildcard { .. } => "ADD COLUMN",
            AlterAction::DropWildcard { .. } => "DROP COLUMN",
            AlterAction::PrimaryKey { .. } => "ALTER PRIMARY KEY",
            AlterAction::Compact => "COMPACT",
            AlterAction::SplitAt(_) => "SPLIT AT",
            AlterAction::UnsplitAt(_) => "UNSPLIT",
            AlterAction::AttachPartition { .. } => "ATTACH PARTITION",
            AlterAction::DetachPartition { .. } => "DETACH PARTITION",
            AlterAction::Refused { .. } => return Access::Alter,
        });
    }
    Access::AlterAction(match operation {
        O::RenameTable { .. } => return Access::Rename,
        O::OwnerTo { .. } => return Access::Alter,
        O::RenameColumn { .. } | O::RenameConstraint { .. } => return Access::RenameColumns,
        O::AddColumn { .. } => "ADD COLUMN",
        O::DropColumn { .. } => "DROP COLUMN",
        O::AddConstraint { .. } => "ADD CONSTRAINT",
        O::DropConstraint { .. } | O::DropPrimaryKey { .. } => "DROP CONSTRAINT",
        O::AlterColumn { op, .. } => match op {
            C::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
            C::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
            C::SetDefault { .. } | C::DropDefault => "ALTER COLUMN ... SET DEFAULT",
            C::SetDataType { .. } => "ALTER COLUMN ... SET DATA TYPE",
            C::AddGenerated { .. } => "ALTER COLUMN ... ADD IDENTITY",
        },
        O::SetOptionsParens { .. } | O::SetTblProperties { .. } => "SET",
        O::EnableTrigger { .. } => "ENABLE TRIGGER",
        O::EnableAlwaysTrigger { .. } => "ENABLE ALWAYS TRIGGER",
        O::EnableReplicaTrigger { .. } => "ENABLE REPLICA TRIGGER",
        O::DisableTrigger { .. } => "DISABLE TRIGGER",
        O::EnableRowLevelSecurity => "ENABLE ROW SECURITY",
        O::DisableRowLevelSecurity => "DISABLE ROW SECURITY",
        O::ForceRowLevelSecurity => "FORCE ROW SECURITY",
        O::NoForceRowLevelSecurity => "NO FORCE ROW SECURITY",
        O::ReplicaIdentity { .. } => "REPLICA IDENTITY",
        O::ValidateConstraint { .. } => "VALIDATE CONSTRAINT",
        O::EnableRule { .. } | O::EnableAlwaysRule { .. } | O::EnableReplicaRule { .. } => "ENABLE RULE",
        O::DisableRule { .. } => "DISABLE RULE",
        O::AttachPartition { .. } => "ATTACH PARTITION",
        O::DetachPartition { .. } => "DETACH PARTITION",
        // Of other dialects: whatever the relation is, they are refused.
        _ => return Access::Alter,
    })
}

/// Whether options are reset, not set.
pub(super) fn is_reset(options: &[(String, Option<String>)]) -> bool {
    options.iter().all(|(_, value)| value.is_none())
}
