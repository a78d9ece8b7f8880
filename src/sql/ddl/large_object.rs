//! ALTER and COMMENT ON LARGE OBJECT. Making and filling one is for functions (`functions::large_object`).

use sqlparser::ast::Ident;

use super::role;
use crate::Result;
use crate::parse::definition::{LargeObjectChange, RoleName};
use crate::system::StatementContext;
use crate::table::{comment_large_object, large_object, missing_large_object};

/// Runs it. Errors: 42704.
pub(super) async fn change(ctx: &StatementContext, oid: u32, change: &LargeObjectChange) -> Result<()> {
    match change {
        LargeObjectChange::Comment(comment) => comment_large_object(&ctx.txn, oid, comment.clone()).await,
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
        None => Err(missing_large_object(oid)),
    }
}
