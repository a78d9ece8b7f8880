//! Gives the serial and identity columns of an older release, which counted them by column, the sequences that they come with now. Done
//! when a server starts, before clients come.

use std::sync::Arc;

use super::verification::begin;
use crate::catalog::{
    Catalog, CatalogWriter, ColumnDef, MadeName, NO_SEQUENCE, ObjectIds, SequenceDef, SequenceOwner,
    SequenceType, TableDef,
};
use crate::codec::keyspace::Keyspace;
use crate::store::Write;
use crate::table::{SequenceState, Sequences};
use crate::txn::DatabaseStore;
use crate::txn::Transaction;
use crate::{Error, Result};

/// Makes the sequences that columns lack; answers the names of their tables. Errors: the store's.
pub async fn make_missing_sequences(store: &DatabaseStore) -> Result<Vec<String>> {
    let txn = begin(store).await?;
    let catalog = Catalog::load(&txn, None).await?;
    let lacks = |column: &ColumnDef| column.sequence() == Some(NO_SEQUENCE);
    let tables: Vec<&Arc<TableDef>> = catalog
        .tables()
        .filter(|table| table.columns.iter().any(lacks))
        .collect();
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let numbers = ObjectIds::new(Arc::clone(&store.store));
    let writer = CatalogWriter::begin(&txn, &catalog)?;
    let mut taken = Vec::new();
    for table in &tables {
        let mut changed = TableDef::clone(table);
        for column in changed.columns.iter_mut().filter(|column| lacks(column)) {
            let base = MadeName::of_columns(&table.name, [column.name.as_str()], "seq");
            let name = base.free_in(&catalog, &table.schema, &taken);
            taken.push(name.clone());
            let (id, ty) = (numbers.take().await?, SequenceType::of(&column.ty));
            let ty = ty.unwrap_or(SequenceType::BigInt);
            let mut def = SequenceDef::rising(id, table.schema.clone(), name, ty);
            def.owner = Some(SequenceOwner::of(table.oid, column));
            column.set_sequence(def.oid());
            writer.put_sequence(&def)?;
            let state = take_counter(&txn, table, column).await?;
            Sequences::begin(&txn, &def, state)?;
        }
        writer.put_table(changed)?;
    }
    let names = tables.iter().map(|table| table.name.clone()).collect();
    txn.commit(false).await?;
    Ok(names)
}

/// What an older release has counted of a column; its counter goes.
async fn take_counter(txn: &Transaction, table: &TableDef, column: &ColumnDef) -> Result<SequenceState> {
    let key = Keyspace::Sequence {
        relation: table.id,
        part: column.id,
    }
    .encode();
    let values = txn.get_many(std::slice::from_ref(&key)).await?;
    let next = match values.get(0) {
        None => 1,
        Some(bytes) => bytes
            .try_into()
            .map(i64::from_be_bytes)
            .map_err(|_| Error::Corrupt {
                what: "counter".to_string(),
                reason: format!("{} bytes instead of 8", bytes.len()),
            })?,
    };
    txn.write(Write::Delete { key }, None)?;
    Ok(match next {
        ..=1 => SequenceState::starting_at(1),
        next => SequenceState {
            last: next - 1,
            is_called: true,
        },
    })
}
