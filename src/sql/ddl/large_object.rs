//! ALTER and COMMENT ON LARGE OBJECT. Making and filling one is for functions (`functions::large_object`).

use sqlparser::ast::Ident;

use super::role;
use crate::parse::definition::{LargeObjectChange, RoleName};
use crate::system::StatementContext;
use crate::table::{comment_large_object, large_object};
use crate::{Error, Result};

/// Runs it. Errors: 42704.
pub(super) async fn change(ctx: &StatementContext, oid: u32, change: &LargeObjectChange) -> Result<()> {
    match change {
        LargeObjectChange::Comment(comment) => {
            match comment_large_object(&ctx.txn, oid, comment.clone()).await? {
                true => Ok(()),
                false => Err(missing(oid)),
            }
        }
        LargeObjectChange::Owner(owner) => {
            require(ctx, oid).await?;
            match owner {
                RoleName::Named(name) => role::check(ctx, &Ident::with_quote('"', name)),
                RoleName::Current | RoleName::All => Ok(()),
            }
        }
    }
}

/// Errors: 42704.
pub(super) async fn require(ctx: &StatementContext, oid: u32) -> Result<()> {
    match large_object(&ctx.txn, oid).await? {
        Some(_) => Ok(()),
        None => Err(missing(oid)),
    }
}

fn missing(oid: u32) -> Error {
    Error::DataException {
        state: "42704",
        message: format!("large object {oid} does not exist"),
    }
}
