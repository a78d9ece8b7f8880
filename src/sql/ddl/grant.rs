//! GRANT and REVOKE. There are no privileges: every role that connects may do everything. So a GRANT of what is there is true
//! before it runs, and a REVOKE finds none to take: it warns, as PostgreSQL does of such a one, for dumps are full of them.

use super::comment::undefined_column;
use super::routine_ref::found_routine;
use super::{large_object, role, type_lookup};
use crate::Result;
use crate::catalog::{Access, Object, ObjectKind};
use crate::parse::definition::RoleName;
use crate::parse::grant::{Grant, GrantObjects};
use crate::sql::relation::relation;
use crate::system::{Notice, StatementContext};

/// Runs GRANT or REVOKE. Errors: those of finding the objects; 42704 for a role that does not exist.
pub(super) async fn execute(ctx: &StatementContext, grant: &Grant) -> Result<()> {
    find(ctx, grant).await?;
    grant.roles.iter().try_for_each(|role| match role {
        RoleName::Named(name) if name == "public" => Ok(()),
        RoleName::Named(name) => role::require(ctx, name),
        RoleName::All | RoleName::Current => Ok(()),
    })?;
    let everything = "There are no privileges yet: every role that connects may do everything.";
    let (said, hint) = match grant.revokes {
        true => (
            Notice::warning("01006", "no privileges could be revoked".to_string()),
            format!("{everything} Keep out whoever is not to by the address that the server listens on."),
        ),
        false => (
            Notice::new("00000", "the privileges are there already".to_string()),
            everything.to_string(),
        ),
    };
    ctx.notice(Notice {
        hint: Some(hint),
        ..said
    });
    Ok(())
}

/// Errors: what is said of objects that do not exist.
async fn find(ctx: &StatementContext, grant: &Grant) -> Result<()> {
    match &grant.objects {
        GrantObjects::Relations(names) => names
            .iter()
            .try_for_each(|name| check_columns(relation(ctx, name, Access::Grant)?, &grant.columns)),
        GrantObjects::Sequences(names) => {
            let access = Access::Comment(ObjectKind::Sequence);
            names
                .iter()
                .try_for_each(|name| relation(ctx, name, access).map(drop))
        }
        GrantObjects::Databases(names) => names.iter().try_for_each(|name| ctx.database_id(name).map(drop)),
        GrantObjects::Schemas(names) | GrantObjects::Defaults(names) => names
            .iter()
            .try_for_each(|name| ctx.catalog.schema(ctx.settings.schema_meant(name)).map(drop)),
        GrantObjects::Routines(word, routines) => routines
            .iter()
            .try_for_each(|routine| found_routine(ctx, *word, routine).map(drop)),
        GrantObjects::Types(names) => names
            .iter()
            .try_for_each(|name| type_lookup::user_type(ctx, name).map(drop)),
        GrantObjects::LargeObjects(oids) => {
            for oid in oids {
                large_object::require(ctx, *oid).await?;
            }
            Ok(())
        }
        GrantObjects::Others => Ok(()),
    }
}

/// Errors: 42703 for a column that the relation has not.
fn check_columns(found: Object<'_>, columns: &[String]) -> Result<()> {
    let has = |column: &&String| match found {
        Object::Table(table) => table.column_index(column).is_some(),
        Object::View(view) => view.columns.iter().any(|(name, _)| name == *column),
        Object::Index(..) | Object::Sequence(_) => false,
    };
    match columns.iter().find(|column| !has(column)) {
        Some(column) => Err(undefined_column(column, found.name())),
        None => Ok(()),
    }
}
