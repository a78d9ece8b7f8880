//! The actions of ALTER TABLE by the words that PostgreSQL's messages have for them.

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation};

use crate::catalog::Access;

/// What an operation wants of a relation that is no table.
pub(super) fn access(operation: &AlterTableOperation) -> Access {
    use AlterColumnOperation as C;
    use AlterTableOperation as O;
    Access::AlterAction(match operation {
        O::RenameTable { .. } | O::OwnerTo { .. } => return Access::Alter,
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
