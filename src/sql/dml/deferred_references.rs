//! Foreign keys and unique keys that are asked when the transaction commits, or when SET CONSTRAINTS says so: what a statement leaves of
//! foreign keys, and the questions themselves. Missing keys and keys that are gone are asked alike: is a key not there, and does a row still refer to it?

use super::deferrable_keys;
use super::exclusions;
use super::referenced_keys::{Keys, Missing, not_present, referenced_table};
use super::references::Gone;
use super::referring_rows::{first_referring, still_referenced};
use super::row_triggers;
use crate::Result;
use crate::catalog::ForeignKey;
use crate::system::{DeferredCause, DeferredCheck, ReferenceCheck, StatementContext};

/// Whether a foreign key is not asked when the statement ends.
pub(super) fn is_deferred(ctx: &StatementContext, key: &ForeignKey) -> bool {
    ctx.asks_deferred && key.deferrable && ctx.session.deferred.is_deferred(key.oid, key.initially_deferred)
}

/// Keys are gone, and whether rows refer to them is asked later.
pub(super) fn leave_gone(ctx: &StatementContext, gone: Gone) {
    leave(
        ctx,
        ReferenceCheck {
            cause: DeferredCause::Gone,
            table: gone.table,
            by: gone.by,
            foreign_key: gone.foreign_key,
            keys: gone.old,
        },
    );
}

/// Keys were not there, and whether they are and are still referred to is asked later.
pub(super) fn leave_missing(ctx: &StatementContext, missing: Missing) {
    leave(
        ctx,
        ReferenceCheck {
            cause: DeferredCause::Missing,
            by: missing.table.oid,
            table: missing.table,
            foreign_key: missing.foreign_key,
            keys: missing.columns,
        },
    );
}

fn leave(ctx: &StatementContext, check: ReferenceCheck) {
    ctx.session.touch();
    ctx.session.deferred.leave(DeferredCheck::Reference(check));
}

/// Asks what the transaction has left of the constraints, by their oids, that are wanted. Errors: 23503, 23505, 23P01, those of
/// triggers' functions.
pub(crate) async fn check_deferred(ctx: &StatementContext, is_wanted: impl Fn(u32) -> bool) -> Result<()> {
    // What the functions of triggers write may leave more.
    loop {
        let open = ctx.session.deferred.open(|check| is_wanted(check.constraint()));
        if open.is_empty() {
            return Ok(());
        }
        for (place, check) in open {
            ctx.session.deferred.strike(place);
            match check.as_ref() {
                DeferredCheck::Reference(check) => Box::pin(ask(ctx, check)).await?,
                DeferredCheck::Unique(check) => Box::pin(deferrable_keys::ask(ctx, check)).await?,
                DeferredCheck::Exclusion(check) => Box::pin(exclusions::ask(ctx, check)).await?,
                DeferredCheck::Trigger(check) => Box::pin(row_triggers::call_deferred(ctx, check)).await?,
            }
        }
    }
}

async fn ask(ctx: &StatementContext, check: &ReferenceCheck) -> Result<()> {
    let by = ctx.table_by_oid(check.by).cloned();
    let Some((by, key)) = by.and_then(|by| {
        let key = by
            .foreign_keys
            .iter()
            .find(|key| key.oid == check.foreign_key.oid)?;
        let key = key.clone();
        Some((by, key))
    }) else {
        // What it was asked of is dropped.
        return Ok(());
    };
    let referenced = referenced_table(ctx, &by, &key)?;
    let of = match check.cause {
        DeferredCause::Missing => (&*by, key.columns.as_slice()),
        DeferredCause::Gone => (&*referenced, key.referenced.as_slice()),
    };
    let keys = Keys::new(of, &check.keys);
    let found = first_referring(ctx, (&by, &key), &referenced, &keys).await?;
    match (found, check.cause) {
        (None, _) => Ok(()),
        (Some(found), DeferredCause::Missing) => Err(not_present(&by, &key, &referenced, &found, 0)),
        (Some(found), DeferredCause::Gone) => Err(still_referenced((&referenced, &key), &by, &found)),
    }
}
