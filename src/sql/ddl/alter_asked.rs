//! Actions of ALTER TABLE that ask for what is so already, or that there is nothing of. Called by `alter`.

use sqlparser::ast::{AlterTableOperation, ReplicaIdentity};

use super::{role, storage, upkeep};
use crate::catalog::TableDef;
use crate::parse::names;
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

/// Does an action that changes nothing of the table. Errors: 42704; 0A000 for any other.
pub(super) fn apply(ctx: &StatementContext, table: &TableDef, operation: &AlterTableOperation) -> Result<()> {
    match operation {
        AlterTableOperation::OwnerTo { new_owner } => role::check_owner(ctx, new_owner),
        AlterTableOperation::EnableRowLevelSecurity | AlterTableOperation::ForceRowLevelSecurity => {
            ctx.notice(Notice {
                hint: Some("Give a role a view of the rows that it may see.".to_string()),
                ..Notice::warning(
                    "01000",
                    format!(
                        "row level security of \"{}\" has no effect: every role is a superuser, who passes it",
                        table.name
                    ),
                )
            });
            Ok(())
        }
        AlterTableOperation::EnableRule { name }
        | AlterTableOperation::EnableAlwaysRule { name }
        | AlterTableOperation::EnableReplicaRule { name }
        | AlterTableOperation::DisableRule { name } => Err(Error::UndefinedObject {
            kind: "rule",
            name: format!("{}\" for relation \"{}", names::fold(name), table.name),
        }),
        // Nobody is kept from rows, so that it is so already.
        AlterTableOperation::DisableRowLevelSecurity | AlterTableOperation::NoForceRowLevelSecurity => Ok(()),
        AlterTableOperation::ReplicaIdentity { identity } => {
            if let ReplicaIdentity::Index(name) = identity {
                upkeep::check_cluster_index(table, &names::fold(name))?;
            }
            storage::tell(ctx, vec!["REPLICA IDENTITY".to_string()]);
            Ok(())
        }
        other => Err(Error::unsupported(format!("ALTER TABLE ... {other}"), None)),
    }
}
