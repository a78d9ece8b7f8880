//! The end of temporary relations: what ON COMMIT says, before a transaction of their session commits; and all of them, when the session
//! ends, or asks for it, or has not lived to see to it. Called by `session`; says nothing to clients.
//!
//! A session's temporary relations stand in a schema of its own (`pg_temp_` and its process id), whose name its search path begins with.
//! They are stored as any others are: a server that is killed leaves them, and the next one removes them before clients come.

use crate::catalog::{Catalog, CatalogWriter, OnCommit, Relation, TableDef, written_key};
use crate::table::Sequences;
use crate::txn::Transaction;
use crate::{Error, Result};

use super::drop::drop_with_dependents;
use super::truncate;

/// Does what ON COMMIT says of the tables of a session's temporary schema, in the transaction that is about to commit.
/// Errors: 0A000 for a table that is emptied while another keeps rows that refer to it.
pub async fn before_commit(
    txn: &Transaction,
    catalog: &Catalog,
    sequences: &Sequences,
    schema: &str,
) -> Result<()> {
    let own = |relation: &&Relation| relation.schema() == schema;
    let on_commit = |wanted: OnCommit| {
        let relations = catalog.relations.iter().filter(own);
        relations.filter(move |relation| {
            let table = relation.get_table();
            table.is_some_and(|table| table.options.on_commit == Some(wanted))
        })
    };
    let is_written = |table: &&TableDef| txn.has_written(&written_key(table.id));
    let mut emptied: Vec<&TableDef> = on_commit(OnCommit::DeleteRows)
        .filter_map(|relation| relation.get_table().map(|table| &**table))
        .collect();
    emptied
        .iter()
        .try_for_each(|table| check_referring(catalog, table))?;
    emptied.retain(is_written);
    let dropped: Vec<&Relation> = on_commit(OnCommit::Drop).collect();
    if emptied.is_empty() && dropped.is_empty() {
        return Ok(());
    }
    let writer = CatalogWriter::begin(txn, catalog)?;
    for table in emptied {
        truncate::empty(&writer, sequences, table.clone(), false).await?;
    }
    match dropped.is_empty() {
        true => Ok(()),
        false => drop_with_dependents(catalog, &writer, dropped).await,
    }
}

/// Errors: 0A000 for a table that refers to this one, and keeps its rows.
fn check_referring(catalog: &Catalog, table: &TableDef) -> Result<()> {
    let mut referring = catalog.references_to(table.oid);
    match referring.find(|(by, _)| by.options.on_commit.is_none()) {
        None => Ok(()),
        Some((by, _)) => Err(Error::OnCommitReferenced {
            table: table.name.clone(),
            by: by.name.clone(),
        }),
    }
}

/// Removes all that is in the schemas that `is_gone` tells of, and the schemas; whether there was anything.
pub async fn drop_temporary(
    txn: &Transaction,
    catalog: &Catalog,
    is_gone: impl Fn(&str) -> bool,
) -> Result<bool> {
    let schemas: Vec<_> = catalog
        .schemas
        .values()
        .filter(|schema| is_gone(&schema.name))
        .collect();
    if schemas.is_empty() {
        return Ok(false);
    }
    let writer = CatalogWriter::begin(txn, catalog)?;
    let dropped: Vec<&Relation> = catalog
        .relations
        .iter()
        .filter(|relation| is_gone(relation.schema()))
        // A sequence that goes with a column goes with its table, which is in the same schema.
        .filter(|relation| {
            relation
                .get_sequence()
                .is_none_or(|sequence| sequence.owner.is_none())
        })
        .collect();
    drop_with_dependents(catalog, &writer, dropped).await?;
    schemas
        .into_iter()
        .try_for_each(|schema| writer.drop_schema(schema))?;
    Ok(true)
}
