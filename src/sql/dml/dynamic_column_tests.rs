//! Columns that writes add, as records of their own: what of them each snapshot sees, whatever catalog it begins with, and what becomes of
//! them when the table's record is written.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::catalog::{Catalog, CatalogWriter, NewDynamicColumn, TableDef, record_key};
use crate::codec::keyspace::dynamic_columns_range;
use crate::sql::testing::Client;
use crate::store::{Page, ScanRequest, Store};
use crate::txn::Transaction;
use crate::types::SqlType;

async fn begin(store: &Arc<dyn Store>) -> Transaction {
    Transaction::begin(Arc::clone(store), 1 << 20).await.unwrap()
}

/// The sizes of the records that stand beside those of tables.
async fn records_beside(store: &Arc<dyn Store>) -> Vec<usize> {
    let txn = begin(store).await;
    let (mut page, mut sizes) = (Page::new(), Vec::new());
    let mut scan = txn.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![dynamic_columns_range()],
        reverse: false,
        keys_only: false,
        page_rows_max: 10_000,
        page_bytes_max: 1 << 24,
    });
    loop {
        scan.next_page(&mut page).await.unwrap();
        if page.is_empty() {
            return sizes;
        }
        sizes.extend(page.iter().map(|(key, value)| key.len() + value.len()));
    }
}

/// The catalog as a transaction sees it, by way of what is known, and read anew: they are one.
async fn load(txn: &Transaction, known: Option<&Arc<Catalog>>) -> Arc<Catalog> {
    let anew = Catalog::load(txn, None).await.unwrap();
    let loaded = Catalog::load(txn, known.cloned()).await.unwrap();
    assert_eq!(loaded.version, anew.version);
    assert_eq!(table_of(&loaded), table_of(&anew));
    assert_eq!(
        table_of(&loaded).map(|table| table.version),
        table_of(&anew).map(|table| table.version)
    );
    loaded
}

fn table_of(catalog: &Catalog) -> Option<&Arc<TableDef>> {
    catalog.tables().next()
}

#[tokio::test]
async fn a_new_column_is_a_small_record_until_the_table_is_written() {
    let mut client = Client::new();
    let store = Arc::clone(&client.store);
    let store = &store;
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)")
        .await;
    let id = client.table("t").await.id;
    let before = begin(store).await.get_many(&[record_key(id)]).await.unwrap();
    for at in 0..30 {
        client
            .ok(&format!("UPSERT INTO t (k, c{at}) VALUES (1, {at})"))
            .await;
    }
    let after = begin(store).await.get_many(&[record_key(id)]).await.unwrap();
    assert_eq!(before.get(0), after.get(0));
    let sizes = records_beside(store).await;
    assert_eq!(sizes.len(), 30);
    assert!(sizes.iter().all(|bytes| *bytes < 200), "{sizes:?}");
    // Whatever writes the record takes them in.
    client.ok("COMMENT ON TABLE t IS 'wide'").await;
    assert_eq!(records_beside(store).await, Vec::<usize>::new());
    client.ok("UPSERT INTO t (k, d0, d1) VALUES (1, 1, 2)").await;
    assert_eq!(records_beside(store).await.len(), 2);
    client.ok("ALTER TABLE t DROP COLUMN d0").await;
    assert_eq!(records_beside(store).await, Vec::<usize>::new());
    // What a transaction takes back, and what goes with the table.
    client.begin().await;
    client.ok("UPSERT INTO t (k, e0) VALUES (2, 1)").await;
    let savepoint = client.savepoint();
    client.ok("UPSERT INTO t (k, e1) VALUES (2, 1)").await;
    client.ok("ALTER TABLE t RENAME COLUMN e1 TO e2").await;
    client.rollback_to(savepoint);
    client.ok("UPSERT INTO t (k, e3) VALUES (2, 1)").await;
    client.commit().await.unwrap();
    assert_eq!(records_beside(store).await.len(), 2);
    let catalog = Catalog::load(&begin(store).await, None).await.unwrap();
    let table = table_of(&catalog).unwrap();
    let names: Vec<&str> = table
        .visible_columns()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names[30..], ["c29", "d1", "e0", "e3"]);
    client.ok("TRUNCATE t").await;
    assert_eq!(records_beside(store).await, Vec::<usize>::new());
    client.ok("UPSERT INTO t (k, f) VALUES (2, 1)").await;
    assert_eq!(client.check().await, Vec::<String>::new());
    client.ok("DROP TABLE t").await;
    assert_eq!(records_beside(store).await, Vec::<usize>::new());
    assert_eq!(client.check().await, Vec::<String>::new());
}

#[tokio::test]
async fn every_snapshot_sees_its_columns_whatever_is_known() {
    let mut random = StdRng::seed_from_u64(25);
    let client = Client::new();
    let store = &client.store;
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)")
        .await;
    let mut snapshots: Vec<Transaction> = Vec::new();
    let mut known: Vec<Arc<Catalog>> = Vec::new();
    for at in 0..120 {
        let sql = match random.random_range(0..10) {
            0 => format!("ALTER TABLE t ADD COLUMN a{at} int"),
            1 => format!("COMMENT ON TABLE t IS '{at}'"),
            2 => "TRUNCATE t".to_string(),
            3 => format!("CREATE TABLE IF NOT EXISTS u{} (k int PRIMARY KEY)", at % 3),
            _ => format!("UPSERT INTO t (k, c{at}, d{at}) VALUES (1, 1, 'x')"),
        };
        client.ok(&sql).await;
        let txn = begin(store).await;
        let catalog = match known.is_empty() {
            true => load(&txn, None).await,
            false => load(&txn, Some(&known[random.random_range(0..known.len())])).await,
        };
        known.push(catalog);
        snapshots.push(txn);
        let old = &snapshots[random.random_range(0..snapshots.len())];
        load(old, Some(&known[random.random_range(0..known.len())])).await;
    }
}

#[tokio::test]
async fn who_writes_the_record_meets_who_adds_a_column() {
    let client = Client::new();
    let store = &client.store;
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)")
        .await;
    let new = |name: &str| vec![NewDynamicColumn::of_value(name.to_string(), SqlType::Text)];
    // Each begins before the other commits; the second is refused, and nothing is lost.
    for adds_first in [true, false] {
        for other_adds in [true, false] {
            let (first, second) = (begin(store).await, begin(store).await);
            for (txn, adds, name) in [(&first, adds_first, "a"), (&second, other_adds, "b")] {
                let catalog = Catalog::load(txn, None).await.unwrap();
                let writer = CatalogWriter::begin(txn, &catalog).unwrap();
                let table = table_of(&catalog).unwrap();
                let name = format!("{name}{adds_first}{other_adds}");
                match adds {
                    true => drop(writer.add_dynamic_columns(table, new(&name), 100).unwrap()),
                    false => {
                        let mut changed = TableDef::clone(table);
                        changed.comment = Some(name);
                        writer.put_table(changed).unwrap();
                    }
                }
            }
            first.commit(false).await.unwrap();
            let refused = second.commit(false).await.unwrap_err();
            assert_eq!(refused.sqlstate(), "40001", "{adds_first} {other_adds}");
        }
    }
    let catalog = Catalog::load(&begin(store).await, None).await.unwrap();
    assert_eq!(table_of(&catalog).unwrap().visible_columns().count(), 3);
    assert_eq!(client.check().await, Vec::<String>::new());
}
