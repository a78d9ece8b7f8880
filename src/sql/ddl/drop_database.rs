//! What is left of databases that were dropped: a `DroppedDatabase` record stands from the drop's own commit until nothing of the
//! database is there any more but the keys of its rows, which are left to `reclaim_dropped`; a restart resumes it.

use std::sync::Arc;

use crate::Result;
use crate::catalog::{Catalog, CatalogWriter, DatabaseId, Relation, SettingOverrides, SettingsOwner};
use crate::codec::keyspace::{
    Keyspace, dropped_databases_range, large_object_pages_range, large_objects_range,
};
use crate::store::{Page, ScanRequest, Store, Write};
use crate::txn::{DatabaseStore, Transaction};

/// How many records are read at a time.
const RECORDS_PAGE: usize = 100;
/// What the removal of one database's records may write.
const REMOVAL_BYTES_MAX: usize = 1 << 30;

/// The databases that were dropped and are to be emptied. Errors: the store's.
pub async fn dropped_databases(store: &Arc<dyn Store>) -> Result<Vec<DatabaseId>> {
    let snapshot = store.snapshot().await?;
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![dropped_databases_range()],
        reverse: false,
        keys_only: true,
        page_rows_max: RECORDS_PAGE,
        page_bytes_max: 1 << 20,
    });
    let (mut page, mut dropped) = (Page::new(), Vec::new());
    scan.next_page(&mut page).await?;
    for (key, _) in page.iter() {
        if let Keyspace::DroppedDatabase { database } = Keyspace::decode(key)? {
            dropped.push(database);
        }
    }
    Ok(dropped)
}

/// Removes everything that is in a database nobody is in, in one commit, and that it was dropped. Errors: the store's.
pub async fn empty_dropped(store: &Arc<dyn Store>, database: DatabaseId) -> Result<()> {
    for range in [
        large_object_pages_range(database, None),
        large_objects_range(database),
    ] {
        store.delete_range(range).await?;
    }
    let of_database = DatabaseStore {
        store: Arc::clone(store),
        database,
    };
    let txn = of_database.begin(REMOVAL_BYTES_MAX).await?;
    let catalog = Catalog::load(&txn, None).await?;
    remove_all(&txn, &catalog)?;
    let key = Keyspace::DroppedDatabase { database }.encode();
    txn.write(Write::Delete { key }, None)?;
    txn.note_statement(true);
    txn.commit(false).await
}

/// Drops what the catalog of a database has.
fn remove_all(txn: &Transaction, catalog: &Catalog) -> Result<()> {
    let writer = CatalogWriter::begin(txn, catalog)?;
    for relation in catalog.relations.iter() {
        match relation {
            Relation::Table(table) => writer.drop_table(table)?,
            Relation::View(view) => writer.drop_view(view)?,
            // Those of columns go with their tables.
            Relation::Sequence(sequence) if sequence.owner.is_none() => writer.drop_sequence(sequence)?,
            Relation::Sequence(_) => {}
        }
    }
    catalog.casts.iter().try_for_each(|cast| writer.drop_cast(cast))?;
    catalog
        .routines
        .iter()
        .try_for_each(|routine| writer.drop_routine(routine))?;
    catalog.types.iter().try_for_each(|ty| writer.drop_type(ty))?;
    let mut extensions = catalog.extensions.values();
    extensions.try_for_each(|extension| writer.drop_extension(extension))?;
    catalog
        .trash
        .values()
        .try_for_each(|trashed| writer.purge(trashed))?;
    for schema in catalog.stored_schemas() {
        writer.drop_schema(schema)?;
    }
    // That it was dropped has a record.
    let public = Catalog::empty().schemas.remove("public");
    if let Some(public) = public.filter(|public| !catalog.schemas.contains_key(&public.name)) {
        writer.drop_schema(&public)?;
    }
    let database = Some(txn.database());
    let owners = catalog.altered.keys();
    for owner in owners.filter(|owner: &&SettingsOwner| owner.database() == database) {
        writer.put_settings(&SettingOverrides {
            owner: owner.clone(),
            values: Default::default(),
        })?;
    }
    Ok(())
}
