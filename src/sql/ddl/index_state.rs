//! ALTER INDEX … ACTIVE, INACTIVE and DISABLED, and BUILD INDEX: whether an index is kept, and read. Called by `alter_index`.

use super::index::{Completion, rebuild};
use super::{keys_lock, notice};
use crate::catalog::{CatalogWriter, IndexDef, TableDef};
use crate::error::StatementFault;
use crate::parse::definition::IndexState;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Brings an index into a state. `later`: nobody waits for what must be built. Errors: 55006 while it is being built, 55000 for INACTIVE of one
/// that has no entries, 0A000 for one that keeps rows apart, 25001; as CREATE INDEX for what must be built.
pub(super) async fn change(
    ctx: &StatementContext,
    table: &TableDef,
    index: &IndexDef,
    (state, later): (IndexState, bool),
) -> Result<()> {
    let (is_disabled, name) = (!index.is_kept(), &index.name);
    if table.is_being_built(index) {
        return match state {
            IndexState::Active => Ok(()),
            IndexState::Inactive | IndexState::Disabled => Err(fault(
                StatementFault::ObjectInUse,
                format!("index \"{name}\" is being built"),
                "Wait until SHOW INDEX says that it is ACTIVE, or drop it.",
            )),
        };
    }
    match state {
        IndexState::Active if is_disabled => {
            let completion = completion(ctx, index, later)?;
            return rebuild(ctx, table, index.oid, completion).await;
        }
        IndexState::Active if !index.inactive => {
            notice(
                ctx,
                "00000",
                format!("index \"{name}\" is active, skipping"),
                None,
            );
            return Ok(());
        }
        IndexState::Disabled if is_disabled => {
            notice(
                ctx,
                "00000",
                format!("index \"{name}\" is disabled, skipping"),
                None,
            );
            return Ok(());
        }
        IndexState::Inactive if is_disabled => {
            return Err(fault(
                StatementFault::NotInPrerequisiteState,
                format!("index \"{name}\" is disabled"),
                "BUILD INDEX, or ALTER INDEX ... ACTIVE, gives it its entries.",
            ));
        }
        IndexState::Inactive | IndexState::Disabled if index.unique || index.deferral.is_some() => {
            return Err(Error::unsupported(
                format!("to turn off index \"{name}\", which keeps rows apart,"),
                Some("Only an index that is not unique can be turned off: drop it, or its constraint."),
            ));
        }
        IndexState::Active | IndexState::Inactive | IndexState::Disabled => {}
    }
    keys_lock::share(ctx, table).await?;
    put(ctx, table, index, state)
}

fn put(ctx: &StatementContext, table: &TableDef, index: &IndexDef, state: IndexState) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let mut changed = table.clone();
    let fresh = changed.next_index_id;
    let Some(turned) = changed.indexes.iter_mut().find(|turned| turned.oid == index.oid) else {
        return Err(Error::internal("an index that its table does not have"));
    };
    turned.inactive = state == IndexState::Inactive;
    if state == IndexState::Disabled {
        // Under an id that no entry has: those that it had are removed.
        writer.drop_keys(table.id, index.id)?;
        turned.id = fresh;
        (turned.built, turned.invalid) = (false, true);
        changed.next_index_id += 1;
    }
    writer.put_table(changed)?;
    Ok(())
}

/// Errors: 25001.
fn completion(ctx: &StatementContext, index: &IndexDef, later: bool) -> Result<Completion> {
    match (later, ctx.in_block) {
        (true, true) => Err(Error::TransactionState {
            state: "25001",
            message: format!(
                "BUILD INDEX ASYNC of \"{}\" cannot run inside a transaction block",
                index.name
            ),
        }),
        (true, false) => Ok(Completion::Later),
        // It stays as it was when it cannot be built.
        (false, _) => Ok(Completion::Concurrent),
    }
}

fn fault(state: StatementFault, message: String, hint: &str) -> Error {
    Error::InvalidStatement {
        state,
        message,
        hint: Some(hint.to_string()),
    }
}
