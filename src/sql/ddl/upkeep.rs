//! VACUUM, ANALYZE, REINDEX, CLUSTER and LOCK TABLE. There are no dead rows, an index has the entries of its rows, and rows
//! stand in the order of their key: so most of what is asked for is so already, and what names nothing is an error.

use std::sync::Arc;

use super::{analyze, lock_table};
use crate::catalog::{Access, Object, TableDef, count_dropped, reclaim_dropped, record_key};
use crate::error::StatementFault;
use crate::parse::definition::{ReindexOf, Upkeep, UpkeepKind, UpkeepTarget};
use crate::parse::names;
use crate::sql::alone::require_alone;
use crate::sql::relation::{relation, table};
use crate::store::{LockMode, LockWait};
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

/// Runs one of them. Errors: 25001, 25P01, 42P01, 42703, 42704, 42809, 3F000.
pub(super) async fn execute(ctx: &StatementContext, upkeep: &Upkeep) -> Result<()> {
    let tag = upkeep.kind.tag();
    match &upkeep.kind {
        UpkeepKind::Vacuum {
            full,
            analyze: counts,
            skip_locked,
        } => {
            require_alone(ctx, tag)?;
            let named = tables(ctx, "vacuum", &upkeep.targets)?;
            let tables = locked(ctx, ("vacuum", *skip_locked), upkeep, named).await?;
            match counts {
                true => analyze::recount_all(ctx, &tables).await,
                false if upkeep.targets.iter().any(|target| !target.columns.is_empty()) => {
                    let way_out = "Write VACUUM (ANALYZE), or leave the columns out.";
                    Err(Error::unsupported("VACUUM of columns", Some(way_out)))
                }
                false => Ok(()),
            }?;
            match full {
                true => reclaim(ctx, tag).await,
                false => tell_dropped(ctx).await,
            }
        }
        UpkeepKind::Flush => {
            tables(ctx, "flush", &upkeep.targets)?;
            reclaim(ctx, tag).await
        }
        UpkeepKind::Analyze { skip_locked } => {
            let named = tables(ctx, "analyze", &upkeep.targets)?;
            let tables = locked(ctx, ("analyze", *skip_locked), upkeep, named).await?;
            analyze::recount_all(ctx, &tables).await
        }
        UpkeepKind::Reindex { of, concurrently } => reindex(ctx, of, *concurrently, &upkeep.targets),
        UpkeepKind::Cluster { index } => cluster(ctx, &upkeep.targets, index.as_deref()),
        UpkeepKind::Lock { mode, nowait } => lock_table::execute(ctx, &upkeep.targets, *mode, *nowait).await,
    }
}

/// Takes back at once what is taken back in the background anyway: the keys of dropped tables and indexes, and the log that the
/// engine's files make needless. Says what came of it. Errors: the store's.
pub(super) async fn reclaim(ctx: &StatementContext, statement: &str) -> Result<()> {
    let store = ctx.sequences.store();
    let before = store.stats().size_bytes;
    let dropped = reclaim_dropped(store).await?;
    store.checkpoint().await?;
    let after = store.stats().size_bytes;
    let freed = match before.saturating_sub(after) {
        0 => "nothing on disk; what rows leave is used again by those that come".to_string(),
        freed => format!("{freed} bytes on disk"),
    };
    let message = format!(
        "{statement}: the keys of {dropped} dropped tables and indexes were removed; {after} bytes stand in the engine, freed: {freed}"
    );
    tell(ctx, message, None);
    Ok(())
}

/// Says what is being taken back in the background, if anything is: there is nothing else for VACUUM to do. Errors: the store's.
async fn tell_dropped(ctx: &StatementContext) -> Result<()> {
    let dropped = count_dropped(ctx.sequences.store()).await?;
    if dropped > 0 {
        let message = format!("the keys of {dropped} dropped tables and indexes are being removed");
        tell(
            ctx,
            message,
            Some("VACUUM FULL waits for that and says what it frees."),
        );
    }
    Ok(())
}

fn tell(ctx: &StatementContext, message: String, hint: Option<&str>) {
    ctx.notice(Notice {
        severity: "INFO",
        hint: hint.map(str::to_string),
        ..Notice::new("00000", message)
    });
}

/// The tables that VACUUM or ANALYZE names, all for none; a view is passed over with a WARNING.
fn tables(ctx: &StatementContext, verb: &str, targets: &[UpkeepTarget]) -> Result<Vec<Arc<TableDef>>> {
    if targets.is_empty() {
        return Ok(ctx.catalog.tables().cloned().collect());
    }
    let mut tables = Vec::new();
    for target in targets {
        match relation(ctx, &target.name, Access::Maintain)? {
            Object::Table(table) => {
                for column in &target.columns {
                    if table.column_index(column).is_none() {
                        return Err(Error::UndefinedColumn {
                            name: format!("\"{column}\" of relation \"{}\"", table.name),
                            hint: None,
                        });
                    }
                }
                tables.push(Arc::clone(table));
            }
            _ => ctx.notice(Notice::warning(
                "01000",
                format!(
                    "skipping \"{}\" --- cannot {verb} non-tables or special system tables",
                    names::relation_name(&target.name)?.1
                ),
            )),
        }
    }
    Ok(tables)
}

/// Locks the tables that a statement names, as PostgreSQL does, so that it waits for who changes them; answers them. With SKIP_LOCKED those
/// that others have locked are passed over with a WARNING. Errors: as [`Transaction::lock_before_reading`](crate::txn::Transaction::lock_before_reading).
async fn locked(
    ctx: &StatementContext,
    (verb, skips): (&str, bool),
    upkeep: &Upkeep,
    mut tables: Vec<Arc<TableDef>>,
) -> Result<Vec<Arc<TableDef>>> {
    if upkeep.targets.is_empty() {
        return Ok(tables);
    }
    let mode = LockMode::ShareUpdateExclusive;
    let records: Vec<Vec<u8>> = tables.iter().map(|table| record_key(table.id)).collect();
    if !skips {
        ctx.txn.lock_before_reading(&records, mode).await?;
        return Ok(tables);
    }
    for (at, record) in records.iter().enumerate().rev() {
        let record = std::slice::from_ref(record);
        let unlocked = ctx.txn.lock_as_it_is(record, mode, LockWait::NoWait).await?;
        if unlocked.refused.is_some() {
            let message = format!(
                "skipping {verb} of \"{}\" --- lock not available",
                tables[at].name
            );
            ctx.notice(Notice::warning("55P03", message));
            tables.remove(at);
        }
    }
    Ok(tables)
}

/// REINDEX: an index changes in the same commit as its rows. Errors: 0A000 for one whose build failed.
fn reindex(
    ctx: &StatementContext,
    of: &ReindexOf,
    concurrently: bool,
    targets: &[UpkeepTarget],
) -> Result<()> {
    if concurrently {
        require_alone(ctx, "REINDEX CONCURRENTLY")?;
    }
    let in_one = |of: &TableDef| of.indexes.iter().find(|index| index.invalid).cloned();
    let invalid = match of {
        ReindexOf::Index => {
            let mut invalid = None;
            for target in targets {
                let Object::Index(_, index) = relation(ctx, &target.name, Access::Reindex)? else {
                    return Err(Error::internal("REINDEX of what is no index"));
                };
                invalid = Some(index.clone()).filter(|index| index.invalid).or(invalid);
            }
            invalid
        }
        ReindexOf::Table => match targets.first() {
            Some(target) => in_one(&*table(ctx, &target.name, Access::ReindexTable)?),
            None => None,
        },
        ReindexOf::Schema(name) => {
            require_alone(ctx, "REINDEX SCHEMA")?;
            let name = &ctx.catalog.schema(name)?.name;
            let mut tables = ctx.catalog.tables();
            tables.find_map(|table| in_one(table).filter(|_| table.schema == *name))
        }
        ReindexOf::Database(name) | ReindexOf::System(name) => {
            require_alone(ctx, "REINDEX DATABASE")?;
            if name
                .as_ref()
                .is_some_and(|name| ctx.database_id(name) != Ok(ctx.txn.database()))
            {
                let way_out = "Connect to the database by the name that REINDEX says.";
                return Err(Error::FeatureNotSupported {
                    feature: "REINDEX of another database than the one connected to".to_string(),
                    hint: Some(way_out.to_string()),
                });
            }
            match of {
                ReindexOf::System(_) => None,
                _ => ctx.catalog.tables().find_map(|table| in_one(table)),
            }
        }
    };
    match invalid {
        None => Ok(()),
        Some(index) => Err(Error::unsupported(
            format!("REINDEX of \"{}\", which has no entries,", index.name),
            Some("BUILD INDEX name ON table writes them."),
        )),
    }
}

/// CLUSTER: rows stand in the order of the primary key, whatever is asked for.
fn cluster(ctx: &StatementContext, targets: &[UpkeepTarget], index: Option<&str>) -> Result<()> {
    let Some(target) = targets.first() else {
        return require_alone(ctx, "CLUSTER");
    };
    let table = table(ctx, &target.name, Access::Cluster)?;
    if let Some(index) = index {
        check_cluster_index(&table, index)?;
    }
    if index.is_none_or(|index| index != table.primary_key.name) {
        super::storage::tell(ctx, vec!["CLUSTER".to_string()]);
    }
    Ok(())
}

/// Errors: 42704 for what is no index of the table.
pub(super) fn check_cluster_index(table: &TableDef, index: &str) -> Result<()> {
    match table.all_indexes().find(|known| known.name == index) {
        Some(known) if known.terms.is_some() => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!(
                "cannot cluster on index \"{index}\" because access method does not support clustering"
            ),
            hint: None,
        }),
        Some(_) => Ok(()),
        None => Err(Error::UndefinedObject {
            kind: "index",
            name: format!("{index}\" for table \"{}", table.name),
        }),
    }
}
