//! What DROP and TRUNCATE put into the trash while `keyspan.trash_hours` says so: tables with their rows and entries, indexes, constraints
//! and sequences. `undrop` takes them out again.

use std::collections::BTreeSet;

use super::foreign_key::Reference;
use super::versions;
use crate::Result;
use crate::catalog::{
    Catalog, CatalogWriter, Kept, Relation, TableDef, TrashedBy, TrashedDependents, TrashedSequence,
    TrashedTable,
};
use crate::codec::keyspace::TableId;
use crate::system::StatementContext;
use crate::table::{begin_count, stored_row_count};

const HOUR_MICROS: i64 = 3_600_000_000;

/// For how long the statement keeps what it removes; `None`: it keeps nothing.
pub(super) fn kept(ctx: &StatementContext) -> Option<Kept> {
    let (hours, at) = (i64::from(ctx.settings.trash_hours), ctx.txn.write_time());
    (hours > 0).then(|| Kept {
        at,
        until: at.saturating_add(hours.saturating_mul(HOUR_MICROS)),
    })
}

/// Whether the trash takes the table: not what goes with its session, nor what is computed of others, nor what has no rows of its own.
pub(super) fn takes(table: &TableDef) -> bool {
    !table.is_temporary() && !table.is_materialized_view() && table.partitioning.is_none()
}

/// What of relations that are dropped and of foreign keys goes with a table of them.
pub(super) fn dependents_of(
    table: &TableDef,
    dropped: &[&Relation],
    foreign_keys: &[Reference<'_>],
) -> TrashedDependents {
    let of_others = foreign_keys.iter().filter(|(_, key)| key.table == table.oid);
    let mut over = BTreeSet::from([table.oid]);
    let mut views = Vec::new();
    loop {
        let before = views.len();
        for relation in dropped {
            if let Relation::View(view) = relation
                && view.depends_on.iter().any(|read| over.contains(read))
                && over.insert(view.oid())
            {
                views.push((**view).clone());
            }
        }
        if views.len() == before {
            break;
        }
    }
    TrashedDependents {
        foreign_keys: of_others.map(|(by, key)| (by.oid, (*key).clone())).collect(),
        views,
    }
}

/// Drops a table into the trash, with what goes by CASCADE.
pub(super) async fn drop_table(
    catalog: &Catalog,
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    (kept, dependents): (Kept, TrashedDependents),
) -> Result<()> {
    let owned = catalog.sequences_of(table.oid);
    let sequences = owned.map(|sequence| TrashedSequence {
        def: (**sequence).clone(),
        given: None,
    });
    let rows = stored_row_count(writer.txn(), table).await?;
    let mut trashed = TrashedTable::new(table, TrashedBy::Drop, kept, rows, sequences.collect())?;
    trashed.dependents = dependents;
    writer.trash_table(table, &trashed)
}

/// Gives a table new, empty key ranges and puts the old ones into the trash. `restart`: hidden row ids begin anew.
pub(super) async fn empty(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    (kept, restart): (Kept, bool),
) -> Result<()> {
    let mut sequences = Vec::new();
    for owned in ctx.catalog.sequences_of(table.oid) {
        let (state, _) = ctx.sequences.state(&ctx.txn, owned).await?;
        sequences.push(TrashedSequence {
            def: (**owned).clone(),
            given: Some((state.last, state.is_called)),
        });
    }
    let rows = stored_row_count(&ctx.txn, table).await?;
    let trashed = TrashedTable::new(table, TrashedBy::Truncate, kept, rows, sequences)?;
    let id: TableId = ctx.sequences.object_ids().take().await?;
    let mut emptied = TableDef { id, ..table.clone() };
    versions::begin_anew(&mut emptied, ctx.txn.write_time());
    let emptied = writer.trash_keys(table, emptied, &trashed)?;
    let counted = ctx.sequences.copy_row_ids(&ctx.txn, table, &emptied, restart);
    counted.await?;
    begin_count(&ctx.txn, &emptied)
}
