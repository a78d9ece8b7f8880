//! VERSIONS and HISTORY of a table: whether it can have them, where its older versions stand, and from when on they are whole. Called by
//! CREATE TABLE and ALTER TABLE once options are set, and by what gives a table other keys.

use crate::catalog::{TableDef, Versions};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Makes a table's new options whole, which were `before`. Errors: 0A000 for a materialized view.
pub(super) fn settle(ctx: &StatementContext, table: &mut TableDef, before: &Versions) -> Result<()> {
    let new = &table.options.versions;
    if new == before {
        return Ok(());
    }
    if !new.are_kept() {
        table.options.versions = Versions::default();
        return Ok(());
    }
    if table.is_materialized_view() {
        return Err(Error::unsupported(
            "older versions of the rows of a materialized view",
            Some("REFRESH makes all of its rows anew: keep the versions of the tables that it reads."),
        ));
    }
    let now = ctx.txn.write_time();
    let whole_since = match (new.history, before.history.filter(|_| before.store != 0)) {
        (None, _) => 0,
        (Some(_), None) => now,
        // What was older has gone, or may have.
        (Some(new), Some(old)) if new > old => before.whole_since.max(now.saturating_sub(old)),
        (Some(_), Some(_)) => before.whole_since,
    };
    let (store, since) = match before.store {
        0 => {
            table.next_index_id += 1;
            (table.next_index_id - 1, now)
        }
        store => (store, before.since),
    };
    table.options.versions = Versions {
        store,
        since,
        whole_since,
        ..new.clone()
    };
    Ok(())
}

/// The table has other, empty keys from now on.
pub(super) fn begin_anew(table: &mut TableDef, now: i64) {
    let versions = &mut table.options.versions;
    if versions.store != 0 {
        versions.since = now;
    }
    if versions.history.is_some() {
        versions.whole_since = now;
    }
}

/// The rows of a table are to be written anew. Errors: 0A000 where nobody would know which versions are of which row.
pub(super) fn check_rewrite(old: &TableDef, new: &TableDef) -> Result<()> {
    match old.keeps_versions() && new.keeps_versions() && new.has_hidden_key() {
        true => Err(Error::unsupported(
            format!(
                "writing the rows of \"{}\" anew, which has no primary key and of which older versions are kept",
                old.name
            ),
            Some(
                "Give it a primary key, or give the versions up first: ALTER TABLE ... RESET (versions, history).",
            ),
        )),
        false => Ok(()),
    }
}
