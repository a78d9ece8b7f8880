//! Tests of the catalog's records against one another: each contradiction is planted and named.

use std::sync::Arc;

use super::*;
use crate::catalog::{
    Catalog, ColumnDef, ColumnDefault, FIRST_OID, IndexDef, Kept, KeyColumn, NO_SEQUENCE, SchemaDef,
    SequenceDef, SequenceOwner, SequenceType, TrashedBy, TrashedTable, ViewDef,
};
use crate::catalog::{CatalogWriter, FIRST_DATABASE, reclaim, record, trash};
use crate::codec::keyspace::{IndexId, Keyspace, SchemaKey, TableId};
use crate::codec::large_object::LargeObjectRecord;
use crate::codec::row::ColumnId;
use crate::store::StoreOptions;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Batch, Store, Write};
use crate::txn::Transaction;
use crate::types::SqlType;

fn public() -> SchemaKey<'static> {
    SchemaKey {
        database: FIRST_DATABASE,
        name: "public",
    }
}

fn stamp(version: u64) -> record::Stamp {
    record::Stamp {
        version,
        database: FIRST_DATABASE,
    }
}

fn column(id: u16, name: &str) -> ColumnDef {
    ColumnDef::new(id, name, SqlType::Int8)
}

/// `public.t (a bigint PRIMARY KEY, b bigserial)`, relation 1, with index 2's number for its key.
pub(in crate::catalog) fn table() -> TableDef {
    let serial = ColumnDef {
        default: Some(ColumnDefault::Sequence { oid: NO_SEQUENCE }),
        ..column(2, "b")
    };
    TableDef {
        next_column_id: 3,
        ..TableDef::new(
            (1, FIRST_OID + 1),
            "public",
            "t",
            vec![column(1, "a"), serial],
            IndexDef {
                unique: true,
                constraint: true,
                ..IndexDef::new(0, FIRST_OID + 2, "t_pkey", vec![KeyColumn::ascending(1)])
            },
        )
    }
}

fn view() -> ViewDef {
    ViewDef {
        id: 3,
        version: 0,
        schema: "public".to_string(),
        name: "v".to_string(),
        columns: Vec::new(),
        query: "SELECT a FROM t".to_string(),
        printed: None,
        search_path: Vec::new(),
        comment: None,
        column_comments: Default::default(),
        depends_on: vec![FIRST_OID + 1],
        options: Default::default(),
        shows: None,
        triggers: Vec::new(),
    }
}

/// `public.s`, relation 5, which goes with column a.
fn sequence() -> SequenceDef {
    let (schema, name) = ("public".to_string(), "s".to_string());
    SequenceDef {
        owner: Some(SequenceOwner {
            table: FIRST_OID + 1,
            column: 1,
            is_identity: false,
        }),
        ..SequenceDef::rising(5, schema, name, SequenceType::Integer)
    }
}

fn put(key: Keyspace<'_>, value: impl Into<Vec<u8>>) -> Write {
    Write::Put {
        key: key.encode(),
        value: value.into(),
    }
}

fn put_table(id: TableId, table: &TableDef) -> Write {
    put(
        Keyspace::Relation { id },
        record::encode_table(table, FIRST_DATABASE).unwrap(),
    )
}

/// A store with the table, the view, the sequence, a schema and the counters.
async fn sound_store() -> Arc<dyn Store> {
    let store: Arc<dyn Store> =
        Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap());
    let txn = Transaction::begin(Arc::clone(&store), 1 << 20).await.unwrap();
    let catalog = Catalog::empty();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    txn.write(put(Keyspace::NextTableId, 6u32.to_be_bytes()), None)
        .unwrap();
    writer.put_table(table()).unwrap();
    writer.put_view(&view()).unwrap();
    writer.put_sequence(&sequence()).unwrap();
    let counter = Keyspace::Sequence { relation: 5, part: 0 };
    txn.write(put(counter, [0, 0, 0, 0, 0, 0, 0, 1, 0]), None)
        .unwrap();
    let schema = SchemaDef {
        name: "s".to_string(),
        oid: FIRST_OID + 4,
        comment: None,
        dropped: false,
    };
    writer.put_schema(&schema).unwrap();
    writer.drop_keys(9, IndexId::MAX).unwrap();
    let counter = put(Keyspace::Sequence { relation: 1, part: 2 }, 1i64.to_be_bytes());
    txn.write(counter, None).unwrap();
    txn.commit(false).await.unwrap();
    store
}

/// What a check says after the writes.
async fn faults_after(writes: Vec<Write>) -> Vec<String> {
    let store = sound_store().await;
    store
        .commit(Batch {
            writes,
            ..Batch::default()
        })
        .await
        .unwrap();
    let mut faults = Faults::default();
    let snapshot = store.snapshot().await.unwrap();
    check_catalog(&*snapshot, &mut faults).await.unwrap();
    let text = |fault: &Fault| {
        let relation = fault.relation.as_deref().unwrap_or("-");
        format!("{relation} {}: {}", fault.key, fault.reason)
    };
    faults
        .by_kind()
        .flat_map(|(_, _, kept)| kept.iter().map(text).collect::<Vec<_>>())
        .collect()
}

#[tokio::test]
async fn sound_records_have_no_faults() {
    assert_eq!(faults_after(Vec::new()).await, Vec::<String>::new());
}

/// Plants each write alone, and expects a fault that contains the text.
async fn assert_named(cases: Vec<(Write, &str)>) {
    for (write, expected) in cases {
        let found = faults_after(vec![write]).await;
        let is_named = found.iter().any(|fault| fault.contains(expected));
        assert!(is_named, "{expected}: {found:?}");
    }
}

fn delete(key: Keyspace<'_>) -> Write {
    Write::Delete { key: key.encode() }
}

fn changed(change: fn(&mut TableDef)) -> Write {
    let mut table = table();
    change(&mut table);
    put_table(1, &table)
}

#[tokio::test]
async fn records_that_do_not_decode_or_are_missing_are_named() {
    let missing = "- next table id: it is missing";
    let garbage = Write::Put {
        key: vec![0, 0, 0, 0, 0, 99],
        value: Vec::new(),
    };
    assert_named(vec![
        (
            delete(Keyspace::CatalogVersion),
            "- catalog version: it is missing",
        ),
        (delete(Keyspace::NextTableId), missing),
        (
            put(Keyspace::NextTableId, [1, 2]),
            "- next table id: record is damaged: 2 bytes instead of 4",
        ),
        (
            put(Keyspace::Relation { id: 1 }, [7; 30]),
            "- relation 1: catalog record is damaged: format 7",
        ),
        (garbage, "- \\x000000000063: key is damaged: no such kind of key"),
    ])
    .await;
}

#[tokio::test]
async fn names_and_numbers_that_disagree_are_named() {
    let renamed = SchemaDef {
        name: "y".to_string(),
        oid: 1,
        comment: None,
        dropped: false,
    };
    let renamed = record::encode_schema(&renamed, stamp(1)).unwrap();
    let next = put(Keyspace::NextTableId, 3u32.to_be_bytes());
    assert_named(vec![
        (next, "public.v relation 3: its number 3 has not been given out"),
        (
            put_table(4, &table()),
            "public.t relation 4: its record is that of relation 1",
        ),
        (
            changed(|table| table.schema = "gone".to_string()),
            "its schema \"gone\" does not exist",
        ),
        (
            changed(|table| table.name = "v".to_string()),
            "its name \"v\" is also one of",
        ),
        (
            changed(|table| table.primary_key.oid = FIRST_OID + 1),
            "its oid 16385 is also that of",
        ),
        (
            put(
                Keyspace::Name {
                    schema: public(),
                    name: "w",
                },
                (FIRST_OID + 1).to_be_bytes(),
            ),
            "- name \"w\" of schema \"public\": nothing with oid 16385 has it",
        ),
        (
            put(Keyspace::Dependents { oid: 9 }, []),
            "- mark of dependents of oid 9: there is no such relation or schema",
        ),
        (
            put(
                Keyspace::Schema {
                    schema: SchemaKey {
                        database: FIRST_DATABASE,
                        name: "z",
                    },
                },
                renamed,
            ),
            "- schema \"z\": its record is that of schema \"y\"",
        ),
        (
            delete(Keyspace::Relation { id: 1 }),
            "public.v relation 3: it reads the relation with oid 16385",
        ),
    ])
    .await;
}

#[tokio::test]
async fn columns_beside_tables_are_those_of_the_table() {
    let column = |id: ColumnId| ColumnDef {
        id,
        dynamic: true,
        ..table().columns[1].clone()
    };
    let beside = |key: (TableId, ColumnId), of: TableId, column: &ColumnDef| {
        let (table, id) = key;
        let value = record::encode_column(stamp(9), of, column).unwrap();
        put(Keyspace::DynamicColumn { table, column: id }, value)
    };
    let next = table().next_column_id;
    assert_named(vec![
        (beside((1, next), 1, &column(next)), "two columns are named \"b\""),
        (
            beside((1, next + 1), 1, &column(next + 1)),
            "the next column of table 1 is",
        ),
        (beside((1, next), 2, &column(next)), "it is that of column"),
        (
            beside((77, 3), 77, &column(3)),
            "- column 3 beside table 77: there is no such table",
        ),
        (
            put(
                Keyspace::DynamicColumn {
                    table: 1,
                    column: next,
                },
                [7; 30],
            ),
            "catalog record is damaged: format 7",
        ),
    ])
    .await;
}

#[tokio::test]
async fn pages_of_large_objects_stand_within_one() {
    let object = || {
        let record = LargeObjectRecord {
            length: 3000,
            comment: None,
        };
        put(
            Keyspace::LargeObject {
                database: FIRST_DATABASE,
                oid: 70_000,
            },
            record.encode(),
        )
    };
    let page = |oid, page, bytes: usize| {
        let database = FIRST_DATABASE;
        put(Keyspace::LargeObjectPage { database, oid, page }, vec![1; bytes])
    };
    for (writes, expected) in [
        (vec![object(), page(70_000, 1, 952)], None),
        (
            vec![page(70_001, 0, 10)],
            Some("page 0 of large object 70001: record is damaged: there is no such object"),
        ),
        (
            vec![object(), page(70_000, 2, 10)],
            Some("page 2 has 10 bytes, and the object 3000"),
        ),
        (
            vec![object(), page(70_000, 0, 2049)],
            Some("page 0 has 2049 bytes"),
        ),
        (
            vec![put(
                Keyspace::LargeObject {
                    database: FIRST_DATABASE,
                    oid: 70_000,
                },
                [7; 3],
            )],
            Some("record of a large object is damaged"),
        ),
    ] {
        let found = faults_after(writes).await;
        match expected {
            Some(expected) => assert!(found.iter().any(|fault| fault.contains(expected)), "{found:?}"),
            None => assert!(found.is_empty(), "{found:?}"),
        }
    }
}

#[tokio::test]
async fn tables_that_contradict_themselves_are_named() {
    let row_id = put(Keyspace::NextRowId { table: 1 }, 1i64.to_be_bytes());
    let standing = Keyspace::Dropped {
        table: 1,
        index: IndexId::MAX,
    };
    let other = Keyspace::Dropped { table: 8, index: 1 };
    assert_named(vec![
        (
            changed(|table| table.columns[1].id = 1),
            "the id 1 of column \"b\" is not its own",
        ),
        (
            changed(|table| table.columns[1].name = "a".to_string()),
            "two columns are named \"a\"",
        ),
        (
            changed(|table| table.primary_key.columns[0].column = 9),
            "names column 9, which does not exist",
        ),
        (
            changed(|table| table.columns[0].ty = SqlType::Json),
            "of type json in a key is not supported",
        ),
        (
            changed(|table| table.columns[1].default = None),
            "counter 2 of relation 1: nothing is counted by it",
        ),
        (
            delete(Keyspace::Sequence { relation: 1, part: 2 }),
            "the counter of its column 2 is missing",
        ),
        (
            delete(Keyspace::Sequence { relation: 5, part: 0 }),
            "public.s relation 5: its counter is missing",
        ),
        (
            changed(|table| table.columns.remove(0).id = 0),
            "public.s relation 5: it goes with column 1 of the table with oid 16385, which does not exist",
        ),
        (
            changed(|table| table.columns[0].default = Some(ColumnDefault::Sequence { oid: 99 })),
            "a default takes values of the sequence with oid 99, which does not exist",
        ),
        (row_id, "row id counter of table 1: nothing is counted by it"),
        (
            put(standing, [0, 0, 0, 1, 255, 255]),
            "public.t dropped table 1: it is still there",
        ),
        (
            put(other, [0, 0, 0, 1, 0, 1]),
            "index 1 of table 8: record is damaged: it names \\x000000010001",
        ),
    ])
    .await;
}

#[tokio::test]
async fn of_a_table_in_the_trash_only_what_it_has_must_not_be_dropped() {
    let gone = TableDef {
        id: 4,
        oid: FIRST_OID + 9,
        name: "gone".to_string(),
        columns: vec![column(1, "a")],
        ..table()
    };
    let kept = Kept {
        at: 0,
        until: i64::MAX,
    };
    let trashed = TrashedTable::new(&gone, TrashedBy::Drop, kept, None, Vec::new()).unwrap();
    let found = async |index: IndexId| {
        let dropped = Keyspace::Dropped { table: 4, index };
        faults_after(vec![
            put(
                Keyspace::Trash { id: 4 },
                trash::encode(&trashed, stamp(1)).unwrap(),
            ),
            put(dropped, reclaim::encode_dropped(4, index)),
        ])
        .await
    };
    assert_eq!(found(7).await, Vec::<String>::new());
    for index in [0, IndexId::MAX] {
        let found = found(index).await;
        assert!(found[0].contains("it is kept, and would be removed"), "{found:?}");
    }
}
