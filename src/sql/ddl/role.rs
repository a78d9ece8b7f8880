//! The roles that definitions name. There are no roles to give anything to but the one that is connected.

use sqlparser::ast::{Ident, Owner};

use crate::parse::names;
use crate::system::StatementContext;
use crate::system::catalog_version::objects::OWNER_NAME;
use crate::{Error, Result};

/// OWNER TO. Errors: 42704 for a role that does not exist.
pub(super) fn check_owner(ctx: &StatementContext, owner: &Owner) -> Result<()> {
    match owner {
        Owner::CurrentRole | Owner::CurrentUser | Owner::SessionUser => Ok(()),
        Owner::Ident(name) => check(ctx, name),
    }
}

/// A role by its name. Errors: 42704.
pub(super) fn check(ctx: &StatementContext, name: &Ident) -> Result<()> {
    let name = names::fold(name);
    // Whatever is made belongs to the owner, as the catalogs say and dumps repeat.
    match *name == *ctx.user || name == OWNER_NAME {
        true => Ok(()),
        false => Err(Error::UndefinedObject { kind: "role", name }),
    }
}
