//! Tests of rows, index entries and counters over the memory store.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int32Type, Int64Type};

use super::*;
use crate::catalog::{ColumnDef, ColumnDefault, FIRST_OID, IndexDef, KeyColumn, TableDef, record_key};
use crate::codec::keyspace::{Keyspace, entry_prefix};
use crate::codec::row::RowReader;
use crate::store::KeyRange;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Entry, LockMode, Page, ScanRequest, Store, StoreOptions, Write};
use crate::txn::Transaction;
use crate::types::{ColumnEncoder, FormatSettings, SqlType, Value, WireFormat};

/// `t (a int, b text, c bigint, PRIMARY KEY (b, a), UNIQUE (c))`.
fn table() -> TableDef {
    let index = |id, name: &str, columns| IndexDef {
        unique: true,
        constraint: true,
        built: id == 0,
        ..IndexDef::new(id, FIRST_OID + 10 + u32::from(id), name, columns)
    };
    TableDef {
        version: 1,
        next_column_id: 4,
        indexes: vec![index(1, "t_c_key", vec![KeyColumn::ascending(3)])],
        next_index_id: 2,
        ..TableDef::new(
            (5, FIRST_OID + 5),
            "public",
            "t",
            vec![
                ColumnDef::new(1, "a", SqlType::Int4),
                ColumnDef::new(2, "b", SqlType::Text),
                ColumnDef::new(3, "c", SqlType::Int8),
            ],
            index(
                0,
                "t_pkey",
                vec![KeyColumn::ascending(2), KeyColumn::ascending(1)],
            ),
        )
    }
}

fn batch(rows: &[(i32, &str, Option<i64>)]) -> RecordBatch {
    let a: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)));
    let b: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
    let c: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.2)));
    RecordBatch::try_new(table().write_schema(), vec![a, b, c]).unwrap()
}

async fn store() -> Arc<dyn Store> {
    let store: Arc<dyn Store> =
        Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap());
    let txn = begin(&store).await;
    txn.write(
        Write::Put {
            key: record_key(5),
            value: vec![1],
        },
        None,
    )
    .unwrap();
    Sequences::create_row_ids(&txn, &counted()).unwrap();
    txn.commit(false).await.unwrap();
    store
}

async fn begin(store: &Arc<dyn Store>) -> Transaction {
    Transaction::begin(Arc::clone(store), 1 << 20).await.unwrap()
}

/// The table with a hidden row id.
fn counted() -> TableDef {
    let mut table = table();
    table.columns.push(ColumnDef {
        hidden: true,
        default: Some(ColumnDefault::RowId),
        ..ColumnDef::new(4, "row id", SqlType::Int8)
    });
    table
}

/// Everything stored under an index: keys without the prefix, values.
async fn entries(txn: &Transaction, index: u16) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut scan = txn.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange::of_prefix(&entry_prefix(5, index))],
        reverse: false,
        keys_only: false,
        page_rows_max: 100,
        page_bytes_max: 1 << 20,
    });
    let mut page = Page::new();
    scan.next_page(&mut page).await.unwrap();
    page.iter()
        .map(|(key, value)| (key[6..].to_vec(), value.to_vec()))
        .collect()
}

/// All rows as `a b c`.
async fn rows(txn: &Transaction) -> Vec<String> {
    let table = table();
    let mut decoder = RowDecoder::new(&table, &[0, 1, 2]);
    for (key, value) in entries(txn, 0).await {
        decoder
            .push(&[&entry_prefix(5, 0)[..], &key].concat(), &value)
            .unwrap();
    }
    let batch = decoder.finish().unwrap();
    (0..batch.num_rows())
        .map(|row| {
            let a = batch.column(0).as_primitive::<Int32Type>().value(row);
            let b = batch.column(1).as_string::<i32>().value(row);
            let c = batch.column(2).as_primitive::<Int64Type>();
            let c = if c.is_null(row) {
                "-".to_string()
            } else {
                c.value(row).to_string()
            };
            format!("{a} {b} {c}")
        })
        .collect()
}

/// Writes rows whatever stands under their keys.
async fn put_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> crate::Result<()> {
    upsert_rows(txn, table, batch, &vec![true; table.columns.len()], limits).await
}

#[tokio::test]
async fn rows_stand_in_key_order_and_decode_by_projection() {
    let store = store().await;
    let txn = begin(&store).await;
    let table = table();
    insert_rows(
        &txn,
        &table,
        &batch(&[(2, "y", Some(1)), (1, "y", None), (9, "x", Some(2))]),
        Limits::default(),
    )
    .await
    .unwrap();
    assert_eq!(rows(&txn).await, ["9 x 2", "1 y -", "2 y 1"]);

    let stored = entries(&txn, 0).await;
    let mut keys_only = RowDecoder::new(&table, &[0, 0]);
    for (key, _) in &stored {
        // Key columns need no value.
        keys_only
            .push(&[&entry_prefix(5, 0)[..], key].concat(), &[])
            .unwrap();
    }
    let decoded = keys_only.finish().unwrap();
    assert_eq!(decoded.num_columns(), 2);
    assert_eq!(decoded.column(0).as_primitive::<Int32Type>().values(), &[9, 1, 2]);
    assert_eq!(keys_only.finish().unwrap().num_rows(), 0);

    let mut count = RowDecoder::new(&table, &[]);
    count.push(&entry_prefix(5, 0), &[]).unwrap();
    assert_eq!(count.finish().unwrap().num_rows(), 1);
    assert_eq!(
        RowDecoder::new(&table, &[2])
            .push(&stored[0].0, &[7])
            .unwrap_err()
            .sqlstate(),
        "XX001"
    );
}

#[tokio::test]
async fn absent_columns_read_as_they_were_when_added() {
    let store = store().await;
    let txn = begin(&store).await;
    let mut table = table();
    insert_rows(&txn, &table, &batch(&[(1, "x", Some(1))]), Limits::default())
        .await
        .unwrap();
    table
        .add_column(ColumnDef {
            missing: Value::Int(7),
            ..ColumnDef::new(0, "d", SqlType::Int4)
        })
        .unwrap();
    let mut decoder = RowDecoder::new(&table, &[3]);
    let (key, value) = entries(&txn, 0).await.remove(0);
    decoder
        .push(&[&entry_prefix(5, 0)[..], &key].concat(), &value)
        .unwrap();
    assert_eq!(
        decoder
            .finish()
            .unwrap()
            .column(0)
            .as_primitive::<Int32Type>()
            .value(0),
        7
    );

    // A NULL written on purpose is no absence.
    let mut columns = batch(&[(2, "x", None)]).columns().to_vec();
    columns.push(Arc::new(Int32Array::from(vec![None::<i32>])));
    let wider = RecordBatch::try_new(table.write_schema(), columns).unwrap();
    insert_rows(&txn, &table, &wider, Limits::default())
        .await
        .unwrap();
    let (key, value) = entries(&txn, 0).await.remove(1);
    decoder
        .push(&[&entry_prefix(5, 0)[..], &key].concat(), &value)
        .unwrap();
    assert!(decoder.finish().unwrap().column(0).is_null(0));
}

#[tokio::test]
async fn unique_entries_hold_the_key_unless_a_column_is_null() {
    let store = store().await;
    let txn = begin(&store).await;
    insert_rows(
        &txn,
        &table(),
        &batch(&[(1, "x", Some(8)), (2, "x", None)]),
        Limits::default(),
    )
    .await
    .unwrap();
    let entries = entries(&txn, 1).await;
    let (exclusive, shared) = (&entries[0], &entries[1]);
    assert_eq!(exclusive.0.len(), 9, "only the column: tag and eight bytes");
    let ids: Vec<_> = RowReader::new(&exclusive.1)
        .unwrap()
        .columns()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, [1, 2]);
    assert!(shared.0.len() > 10, "the key follows the NULL");
    assert_eq!(RowReader::new(&shared.1).unwrap().columns().count(), 0);
}

#[tokio::test]
async fn entries_follow_their_rows() {
    let store = store().await;
    let txn = begin(&store).await;
    let (table, limits) = (table(), Limits::default());
    let first = batch(&[(1, "x", Some(8)), (2, "x", Some(9))]);
    insert_rows(&txn, &table, &first, limits).await.unwrap();
    let swapped = batch(&[(1, "x", Some(9)), (2, "x", Some(8))]);
    update_rows(&txn, &table, &first, &swapped, limits).await.unwrap();
    assert_eq!(rows(&txn).await, ["1 x 9", "2 x 8"]);
    let clash = batch(&[(1, "x", Some(8)), (2, "x", Some(8))]);
    let error = update_rows(&txn, &table, &swapped, &clash, limits)
        .await
        .unwrap_err();
    assert_eq!(error.detail().as_deref(), Some("Key (c)=(8) already exists."));

    put_rows(&txn, &table, &batch(&[(1, "x", None), (3, "z", Some(9))]), limits)
        .await
        .unwrap();
    assert_eq!(rows(&txn).await, ["1 x -", "2 x 8", "3 z 9"]);
    assert_eq!(entries(&txn, 1).await.len(), 3);
    delete_rows(&txn, &table, &batch(&[(1, "x", None), (2, "x", Some(8))]), limits)
        .await
        .unwrap();
    assert_eq!(rows(&txn).await, ["3 z 9"]);
    assert_eq!(entries(&txn, 1).await.len(), 1);
}

#[tokio::test]
async fn a_built_index_is_what_writes_would_have_kept() {
    let store = store().await;
    let txn = begin(&store).await;
    let (table, limits) = (table(), Limits::default());
    let mut without = table.clone();
    without.indexes.clear();
    insert_rows(
        &txn,
        &without,
        &batch(&[(1, "x", Some(8)), (2, "x", None)]),
        limits,
    )
    .await
    .unwrap();
    build_index(&txn, &table, &table.indexes[0], limits)
        .await
        .unwrap();
    let built = entries(&txn, 1).await;
    let other = begin(&self::store().await).await;
    insert_rows(
        &other,
        &table,
        &batch(&[(1, "x", Some(8)), (2, "x", None)]),
        limits,
    )
    .await
    .unwrap();
    assert_eq!(built, entries(&other, 1).await);

    insert_rows(&txn, &without, &batch(&[(7, "x", Some(8))]), limits)
        .await
        .unwrap();
    let error = build_index(&txn, &table, &table.indexes[0], limits)
        .await
        .unwrap_err();
    assert_eq!(error.detail().as_deref(), Some("Key (c)=(8) is duplicated."));
}

/// Rows of the table.
type Rows = Vec<(i32, &'static str, Option<i64>)>;

/// Runs pages of (old, new) rows through one update.
async fn update_in_pages(txn: &Transaction, pages: &[(Rows, Rows)]) -> crate::Result<()> {
    let table = table();
    let mut update = RowUpdate::new(txn, &table, Limits::default(), true);
    for (old, new) in pages {
        update.replace(&batch(old), &batch(new)).await?;
    }
    update.finish()
}

#[tokio::test]
async fn keys_may_move_onto_rows_of_later_pages() {
    let store = store().await;
    let txn = begin(&store).await;
    let all = [(1, "x", Some(1)), (2, "x", Some(2)), (3, "x", Some(3))];
    insert_rows(&txn, &table(), &batch(&all), Limits::default())
        .await
        .unwrap();
    let before = txn.savepoint();
    let up = [
        (vec![(1, "x", Some(1))], vec![(2, "x", Some(2))]),
        (vec![(2, "x", Some(2))], vec![(3, "x", Some(3))]),
        (vec![(3, "x", Some(3))], vec![(4, "x", Some(1))]),
    ];
    update_in_pages(&txn, &up).await.unwrap();
    assert_eq!(rows(&txn).await, ["2 x 2", "3 x 3", "4 x 1"]);
    assert_eq!(entries(&txn, 1).await.len(), 3);

    txn.rollback_to(before);
    // The row that holds the key 3 never comes.
    let error = update_in_pages(&txn, &up[..2]).await.unwrap_err();
    assert_eq!(
        error.detail().as_deref(),
        Some("Key (b, a)=(x, 3) already exists.")
    );
    txn.rollback_to(before);
    let twice = [
        (vec![(1, "x", Some(1))], vec![(3, "x", Some(9))]),
        (vec![(2, "x", Some(2))], vec![(3, "x", Some(8))]),
    ];
    let error = update_in_pages(&txn, &twice).await.unwrap_err();
    assert_eq!(
        error.detail().as_deref(),
        Some("Key (b, a)=(x, 3) already exists.")
    );
}

#[tokio::test]
async fn while_an_index_is_built_nobody_takes_the_entry_of_another_row() {
    let store = store().await;
    let txn = begin(&store).await;
    let (mut table, limits) = (table(), Limits::default());
    table.indexes[0].building = true;
    let mut without = table.clone();
    without.indexes.clear();
    // Two rows from before the index; the build has come by the first.
    let (first, second) = (batch(&[(1, "x", Some(8))]), batch(&[(2, "x", Some(8))]));
    insert_rows(&txn, &without, &first, limits).await.unwrap();
    build_index(&txn, &table, &table.indexes[0], limits)
        .await
        .unwrap();
    insert_rows(&txn, &without, &second, limits).await.unwrap();
    let built = entries(&txn, 1).await;
    let unchanged = txn.savepoint();

    let error = update_rows(&txn, &table, &second, &batch(&[(2, "x", Some(8))]), limits).await;
    assert_eq!(error.unwrap_err().sqlstate(), "23505");
    txn.rollback_to(unchanged);
    delete_rows(&txn, &table, &second, limits).await.unwrap();
    assert_eq!(entries(&txn, 1).await, built);
    txn.rollback_to(unchanged);
    put_rows(&txn, &table, &batch(&[(2, "x", Some(9))]), limits)
        .await
        .unwrap();
    assert_eq!(entries(&txn, 1).await.len(), 2);
    assert!(entries(&txn, 1).await.contains(&built[0]));
    delete_rows(&txn, &table, &first, limits).await.unwrap();
    assert!(!entries(&txn, 1).await.contains(&built[0]));
}

#[tokio::test]
async fn existing_rows_are_found_in_the_order_asked() {
    let store = store().await;
    let txn = begin(&store).await;
    let (table, limits) = (table(), Limits::default());
    insert_rows(
        &txn,
        &table,
        &batch(&[(1, "x", Some(8)), (2, "x", Some(9))]),
        limits,
    )
    .await
    .unwrap();
    let asked = batch(&[(2, "x", None), (5, "x", None), (1, "x", None)]);
    let (found, existing) = get_rows(&txn, &table, &asked, limits).await.unwrap();
    assert_eq!(found, [true, false, true]);
    assert_eq!(existing.column(0).as_primitive::<Int32Type>().values(), &[2, 1]);
}

#[tokio::test]
async fn limits_name_the_setting_that_raises_them() {
    let store = store().await;
    let txn = begin(&store).await;
    let row = batch(&[(1, "xxxxxxxxxxxxxxxxxxxx", Some(8))]);
    for (limits, setting) in [
        (
            Limits {
                key_column_bytes_max: 10,
                ..Limits::default()
            },
            "keyspan.key_column_bytes_max",
        ),
        (
            Limits {
                key_bytes_max: 30,
                ..Limits::default()
            },
            "keyspan.key_bytes_max",
        ),
        (
            Limits {
                value_bytes_max: 10,
                ..Limits::default()
            },
            "keyspan.value_bytes_max",
        ),
    ] {
        let error = insert_rows(&txn, &table(), &row, limits).await.unwrap_err();
        assert_eq!(error.sqlstate(), "54000");
        assert!(error.hint().unwrap().contains(setting), "{error:?}");
    }
    assert!(!txn.has_writes());
    // What counts of a text is its own bytes.
    let limits = Limits {
        key_column_bytes_max: 20,
        ..Limits::default()
    };
    insert_rows(&txn, &table(), &row, limits).await.unwrap();
}

#[tokio::test]
async fn a_write_conflicts_when_the_table_changed_and_holds_up_who_changes_it() {
    let store = store().await;
    let change = |txn: &Transaction, value: u8| {
        let key = record_key(5);
        let write = Write::Put {
            key,
            value: vec![value],
        };
        txn.write(write, Some(LockMode::AccessExclusive)).unwrap();
    };
    let (txn, other) = (begin(&store).await, begin(&store).await);
    change(&other, 2);
    other.commit(false).await.unwrap();
    let rows = batch(&[(1, "x", Some(8))]);
    let refused = put_rows(&txn, &table(), &rows, Limits::default()).await;
    assert_eq!(refused.unwrap_err().sqlstate(), "40001");
    txn.roll_back();

    let (txn, other) = (begin(&store).await, begin(&store).await);
    put_rows(&txn, &table(), &rows, Limits::default()).await.unwrap();
    change(&other, 3);
    let mut changed = Box::pin(other.commit(false));
    assert!(futures::poll!(&mut changed).is_pending());
    txn.commit(false).await.unwrap();
    changed.await.unwrap();
}

#[tokio::test]
async fn counters_rise_across_sessions_and_restarts() {
    let store = store().await;
    let table = counted();
    let sequences = Arc::new(Sequences::new(Arc::clone(&store)));
    let txn = begin(&store).await;
    assert_eq!(sequences.take_row_ids(&txn, &table, 3).await, Ok(1..4));
    assert_eq!(
        sequences.take_row_ids(&begin(&store).await, &table, 1).await,
        Ok(4..5)
    );
    let bulk = sequences.take_row_ids(&txn, &table, 10_000).await.unwrap();
    assert_eq!(bulk.end - bulk.start, 10_000);
    assert!(bulk.start >= 5);
    assert!(
        !txn.has_writes(),
        "blocks are reserved in transactions of their own"
    );

    let mut taken = Vec::new();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (sequences, store, table) = (Arc::clone(&sequences), Arc::clone(&store), table.clone());
            tokio::spawn(async move {
                let txn = begin(&store).await;
                let mut taken = Vec::new();
                for _ in 0..200 {
                    taken.extend(sequences.take_row_ids(&txn, &table, 2).await.unwrap());
                }
                taken
            })
        })
        .collect();
    for task in tasks {
        taken.extend(task.await.unwrap());
    }
    let count = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!((taken.len(), count), (3200, 3200), "no value is given twice");

    let restarted = Sequences::new(Arc::clone(&store));
    let next = restarted
        .take_row_ids(&begin(&store).await, &table, 1)
        .await
        .unwrap();
    assert!(next.start > *taken.last().unwrap());
}

#[tokio::test]
async fn an_uncommitted_counter_counts_in_its_transaction() {
    let store = store().await;
    let sequences = Sequences::new(Arc::clone(&store));
    let mut table = counted();
    table.id = 6;
    let txn = begin(&store).await;
    Sequences::create_row_ids(&txn, &table).unwrap();
    assert_eq!(sequences.take_row_ids(&txn, &table, 2).await, Ok(1..3));
    assert_eq!(sequences.take_row_ids(&txn, &table, 1).await, Ok(3..4));
    drop(txn);
    let key = Keyspace::NextRowId { table: 6 }.encode();
    assert_eq!(begin(&store).await.get_many(&[key]).await.unwrap().get(0), None);
}

/// What a `RowFormatter` appends for a row is what the encoders append for the row's columns, in any order and format.
#[tokio::test]
async fn rows_format_as_their_columns_encode() {
    let store = store().await;
    let txn = begin(&store).await;
    let mut table = table();
    let rows = batch(&[
        (2, "y\0\u{e9}", Some(1)),
        (1, "", None),
        (-9, "x", Some(i64::MIN)),
    ]);
    insert_rows(&txn, &table, &rows, Limits::default()).await.unwrap();
    let missing = [
        (SqlType::Int4, Value::Int(7)),
        (SqlType::Text, Value::Null),
        (SqlType::Date, Value::Date(1)),
    ];
    for (at, (ty, missing)) in missing.into_iter().enumerate() {
        let added = ColumnDef::new(0, format!("added{at}"), ty);
        table.add_column(ColumnDef { missing, ..added }).unwrap();
    }
    let projections: [&[usize]; 5] = [&[0, 1, 2, 3, 4, 5], &[2, 0, 2, 1, 0], &[1], &[5, 2], &[]];
    let settings = FormatSettings::default();
    for (projection, format) in projections
        .iter()
        .flat_map(|projection| [(projection, WireFormat::Text), (projection, WireFormat::Binary)])
    {
        let layout = Arc::new(RowLayout::new(&table, projection));
        assert!(layout.is_formattable());
        let formats = vec![format; projection.len()];
        let types = projection.iter().map(|&at| table.columns[at].ty.clone());
        let mut formatter = RowFormatter::new(Arc::clone(&layout), types, &formats, &settings).unwrap();
        let mut decoder = RowDecoder::with_layout(layout);
        let mut formatted = Vec::new();
        for (key, value) in entries(&txn, 0).await {
            let key = [&entry_prefix(5, 0)[..], &key].concat();
            let entry = Entry::new(&key, &value);
            formatter.put_row(entry, &mut formatted).unwrap();
            decoder.push(&key, &value).unwrap();
            assert_eq!(
                formatter
                    .put_row(Entry::new(&key[..4], &value), &mut Vec::new())
                    .unwrap_err()
                    .sqlstate(),
                "XX001"
            );
        }
        let batch = decoder.finish().unwrap();
        let encoders: Vec<_> = projection
            .iter()
            .zip(batch.columns())
            .map(|(&at, array)| ColumnEncoder::new(&table.columns[at].ty, array, format, &settings).unwrap())
            .collect();
        let mut encoded = Vec::new();
        for row in 0..batch.num_rows() {
            encoders
                .iter()
                .for_each(|encoder| encoder.encode_field(row, &mut encoded));
        }
        assert_eq!(formatted, encoded, "{projection:?} {format:?}");
    }
}

/// A write of many rows gives its thread to others again and again, so that a cancel request is heard.
#[tokio::test]
async fn writes_of_many_rows_take_turns() {
    let (table, store) = (table(), store().await);
    let rows: Vec<_> = (0..2000).map(|n| (n, "b", Some(i64::from(n)))).collect();
    let batch = batch(&rows);
    let txn = Transaction::begin(store, 1 << 30).await.unwrap();
    let mut work = std::pin::pin!(insert_rows(&txn, &table, &batch, Limits::default()));
    let mut turns = 0;
    let written = std::future::poll_fn(|context| {
        turns += 1;
        work.as_mut().poll(context)
    });
    written.await.unwrap();
    assert!(turns >= 2000 / 256, "the thread was given away {turns} times");
}
