//! Functions and procedures run: who computes an expression asks here by `StatementContext::call_routine`; CALL and DO as statements. A
//! function's statements run as any other, in the transaction of the statement around them. `plpgsql` runs bodies in that language.

mod call;
mod sql_body;

pub(super) use call::{describe_call, execute_block, execute_call};
pub(super) use sql_body::check_sql_body;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::plpgsql;
use super::routine_run::{check_rows, inner_context};
use crate::catalog::{Language, RoutineDef, RoutineKind, Volatile};
use crate::error::Limit;
use crate::system::{CALLS_MAX, RoutineCall, Settings, StatementContext};
use crate::types::Value;
use crate::{Error, Result};

/// The setting that functions have as a list of names.
const SEARCH_PATH: &str = "search_path";

/// Runs a function: see [`crate::system::RoutineCaller`].
pub(crate) fn call_routine(
    ctx: &StatementContext,
    call: RoutineCall,
) -> BoxFuture<'_, Result<Vec<Vec<Value>>>> {
    async move {
        if ctx.calls >= CALLS_MAX {
            return Err(Error::LimitExceeded {
                state: Limit::Complexity,
                message: "stack depth limit exceeded".to_string(),
                hint: format!(
                    "Functions may call one another {CALLS_MAX} levels deep: a loop has no such bound."
                ),
            });
        }
        let routine = Arc::clone(&call.routine);
        let around = ctx;
        let ctx = context_of(ctx, &routine)?;
        let rows = match routine.language {
            Language::Sql => Box::pin(async { sql_body::run(seeing_now(&ctx).await?, call).await }).await?,
            Language::Plpgsql => plpgsql::call(ctx.clone(), call).await?,
            Language::Internal => {
                let message = format!(
                    "aggregate function \"{}\" called in non-aggregate context",
                    routine.name
                );
                return Err(Error::internal(message));
            }
        };
        check_rows(&ctx, &routine, &rows).await?;
        if !runs_with_settings_around(&routine) {
            let is_set = |name: &str| {
                name == SEARCH_PATH && !routine.search_path.is_empty()
                    || routine.settings.iter().any(|(own, _)| own == name)
            };
            around.settings.hand_on(&ctx.settings, is_set);
        }
        Ok(rows)
    }
    .boxed()
}

/// What the statements of a function in SQL run in: where it is VOLATILE it sees what others have committed before its first.
async fn seeing_now(ctx: &StatementContext) -> Result<StatementContext> {
    let txn = match ctx.in_stable_function {
        true => Arc::clone(&ctx.txn),
        false => Arc::new(ctx.txn.next_within().await?),
    };
    Ok(StatementContext { txn, ..ctx.clone() })
}

/// What a function's statements run in: that of the statement around it, with the function's settings.
fn context_of(ctx: &StatementContext, routine: &RoutineDef) -> Result<StatementContext> {
    let inner = inner_context(ctx);
    let is_own = runs_with_settings_around(routine);
    let txn = match routine.volatile {
        Volatile::Volatile => Arc::new(ctx.txn.with_own_writes()),
        // It sees what the statement around it sees.
        Volatile::Stable | Volatile::Immutable => Arc::clone(&ctx.reading().txn),
    };
    let may_end = is_own
        && routine.kind == RoutineKind::Procedure
        && routine.language == Language::Plpgsql
        && !routine.security_definer;
    Ok(StatementContext {
        transaction_control: ctx.transaction_control.clone().filter(|_| may_end),
        txn,
        in_stable_function: routine.volatile != Volatile::Volatile,
        settings: match is_own {
            true => inner.settings.clone(),
            false => Arc::new(own_settings(&inner.settings, routine)?),
        },
        ..inner
    })
}

/// Whether a function says nothing of settings.
fn runs_with_settings_around(routine: &RoutineDef) -> bool {
    routine.search_path.is_empty() && routine.settings.is_empty()
}

/// The settings that a function says it runs with. What it asks for is kept apart: what it sets locally and says itself ends with it.
fn own_settings(around: &Settings, routine: &RoutineDef) -> Result<Settings> {
    let mut settings = around.with_requested().unwrap_or_else(|| around.clone());
    settings.detach();
    if !routine.search_path.is_empty() {
        settings.set(SEARCH_PATH, &routine.search_path)?;
    }
    for (name, values) in &routine.settings {
        settings.set(name, values)?;
    }
    Ok(settings)
}
