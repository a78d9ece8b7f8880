//! GRANT and REVOKE. There are no privileges: every role that connects may do everything. So a GRANT of what is there is true
//! before it runs, and a REVOKE could not be kept.

use super::routine_ref::found_routine;
use super::{notice, type_lookup};
use crate::catalog::{Access, ObjectKind};
use crate::parse::grant::{Grant, GrantObjects};
use crate::sql::relation::relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs GRANT or REVOKE. Errors: those of finding the objects; 0A000 for REVOKE.
pub(super) fn execute(ctx: &StatementContext, grant: &Grant) -> Result<()> {
    find(ctx, &grant.objects)?;
    let everything = "There are no privileges yet: every role that connects may do everything.";
    if grant.revokes {
        let way_out =
            format!("{everything} Keep out whoever is not to by the address that the server listens on.");
        return Err(Error::unsupported("REVOKE", Some(&way_out)));
    }
    let message = "the privileges are there already".to_string();
    notice(ctx, "00000", message, Some(everything.to_string()));
    Ok(())
}

/// Errors: what is said of objects that do not exist.
fn find(ctx: &StatementContext, objects: &GrantObjects) -> Result<()> {
    match objects {
        GrantObjects::Relations(names) => names
            .iter()
            .try_for_each(|name| relation(ctx, name, Access::Grant).map(drop)),
        GrantObjects::Sequences(names) => {
            let access = Access::Comment(ObjectKind::Sequence);
            names
                .iter()
                .try_for_each(|name| relation(ctx, name, access).map(drop))
        }
        GrantObjects::Databases(names) => match names.iter().find(|name| ***name != *ctx.database) {
            Some(name) => Err(Error::UndefinedObject {
                kind: "database",
                name: name.clone(),
            }),
            None => Ok(()),
        },
        GrantObjects::Schemas(names) => names
            .iter()
            .try_for_each(|name| ctx.catalog.schema(ctx.settings.schema_meant(name)).map(drop)),
        GrantObjects::Routines(word, routines) => routines
            .iter()
            .try_for_each(|routine| found_routine(ctx, *word, routine).map(drop)),
        GrantObjects::Types(names) => names
            .iter()
            .try_for_each(|name| type_lookup::user_type(ctx, name).map(drop)),
        GrantObjects::Defaults | GrantObjects::Others => Ok(()),
    }
}
