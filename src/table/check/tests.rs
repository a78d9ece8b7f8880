//! Tests of the check of rows, index entries and what lies between, over the memory store: damage is planted by blind
//! writes, and must be named. Data directories made by SQL are checked by the integration tests.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};

use super::*;
use crate::catalog::{Catalog, CatalogWriter, ColumnDef, FIRST_OID, IndexDef, KeyColumn};
use crate::codec::keyspace::{IndexId, Keyspace, entry_prefix};
use crate::store::KeyRange;
use crate::store::StoreOptions;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Batch, Page, ScanRequest, Write};
use crate::table::{Limits, insert_rows};
use crate::txn::Transaction;
use crate::types::SqlType;

const ROWS: i32 = 10;

fn index(id: IndexId, name: &str, column: u16, unique: bool) -> IndexDef {
    IndexDef {
        unique,
        built: !unique || id == 0,
        ..IndexDef::new(
            id,
            FIRST_OID + 2 + u32::from(id),
            name,
            vec![KeyColumn {
                column,
                descending: id == 2,
                nulls_first: false,
            }],
        )
    }
}

/// `public.t (k int PRIMARY KEY, u text UNIQUE, s text NOT NULL)` with an index on `s DESC` that plans may read.
fn table() -> TableDef {
    TableDef {
        next_column_id: 4,
        indexes: vec![index(1, "t_u", 2, true), index(2, "t_s", 3, false)],
        next_index_id: 3,
        ..TableDef::new(
            (1, FIRST_OID + 1),
            "public",
            "t",
            vec![
                ColumnDef::new(1, "k", SqlType::Int4),
                ColumnDef::new(2, "u", SqlType::Text),
                ColumnDef {
                    not_null: true,
                    ..ColumnDef::new(3, "s", SqlType::Text)
                },
            ],
            index(0, "t_pkey", 1, true),
        )
    }
}

/// Rows `(k, 'u<k>' or NULL, 'same')`; every fifth is NULL in `u`.
fn batch(rows: std::ops::Range<i32>) -> RecordBatch {
    let u = rows.clone().map(|k| (k % 5 != 0).then(|| format!("u{k}")));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.clone())),
        Arc::new(StringArray::from_iter(u)),
        Arc::new(StringArray::from_iter_values(rows.map(|_| "same"))),
    ];
    RecordBatch::try_new(table().write_schema(), columns).unwrap()
}

async fn sound_store() -> Arc<dyn Store> {
    let store: Arc<dyn Store> =
        Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap());
    let txn = Transaction::begin(Arc::clone(&store), 1 << 20).await.unwrap();
    let catalog = Catalog::empty();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    let next = Write::Put {
        key: Keyspace::NextTableId.encode(),
        value: 6u32.to_be_bytes().to_vec(),
    };
    txn.write(next, None).unwrap();
    let table = writer.put_table(table()).unwrap();
    writer.drop_keys(9, IndexId::MAX).unwrap();
    insert_rows(&txn, &table, &batch(0..ROWS), Limits::default())
        .await
        .unwrap();
    txn.commit(false).await.unwrap();
    store
}

/// Keys and values under an index.
async fn stored(store: &Arc<dyn Store>, index: IndexId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let snapshot = store.snapshot().await.unwrap();
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange::of_prefix(&entry_prefix(1, index))],
        reverse: false,
        keys_only: false,
        page_rows_max: 100,
        page_bytes_max: 1 << 20,
    });
    let mut page = Page::new();
    scan.next_page(&mut page).await.unwrap();
    page.iter()
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

async fn plant(store: &Arc<dyn Store>, writes: Vec<Write>) {
    let batch = Batch {
        writes,
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
}

fn put(key: &[u8], value: &[u8]) -> Write {
    Write::Put {
        key: key.to_vec(),
        value: value.to_vec(),
    }
}

fn delete(key: &[u8]) -> Write {
    Write::Delete { key: key.to_vec() }
}

/// The report, and its faults as lines with their kinds.
async fn checked(store: &Arc<dyn Store>) -> (CheckReport, Vec<(FaultKind, String)>) {
    let mut pages = 0;
    let report = check_store(&**store, &mut |_| pages += 1).await.unwrap();
    assert!(pages > 0 || report.relations.is_empty(), "progress is told");
    let text = |kind, fault: &crate::catalog::check::Fault| {
        let relation = fault.relation.as_deref().unwrap_or("-");
        (kind, format!("{relation} {}: {}", fault.key, fault.reason))
    };
    let faults = report.faults.by_kind();
    let lines = faults
        .flat_map(|(kind, _, kept)| kept.iter().map(|fault| text(kind, fault)).collect::<Vec<_>>())
        .collect();
    (report, lines)
}

/// Plants the writes and expects exactly these faults.
#[track_caller]
fn assert_faults(found: &[(FaultKind, String)], expected: &[(FaultKind, &str)]) {
    let found: Vec<_> = found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_sound_table_is_counted_and_dropped_keys_may_remain() {
    let store = sound_store().await;
    plant(&store, vec![put(&entry_prefix(9, 0), b"left")]).await;
    let (report, faults) = checked(&store).await;
    assert_faults(&faults, &[]);
    assert!(report.is_sound());
    assert_eq!((report.dropped_ranges, report.dropped_keys), (1, 1));
    let figures = &report.relations[0];
    assert_eq!(
        (figures.name.as_str(), figures.rows, figures.entries),
        ("public.t", 10, 20)
    );
    assert!(report.to_string().ends_with("no damage found\n"));
}

#[tokio::test]
async fn a_flipped_byte_of_a_row_is_named() {
    let store = sound_store().await;
    for at in [0, 5, 12] {
        let (key, mut value) = stored(&store, 0).await.swap_remove(3);
        let sound = value.clone();
        value[at] ^= 4;
        plant(&store, vec![put(&key, &value)]).await;
        let (report, faults) = checked(&store).await;
        let expected = "public.t (k)=(3): row is damaged: its checksum does not match";
        assert_faults(&faults, &[(FaultKind::Row, expected)]);
        assert_eq!(report.relations[0].faults, 1);
        assert!(!report.is_sound());
        plant(&store, vec![put(&key, &sound)]).await;
    }
}

#[tokio::test]
async fn a_missing_entry_is_named() {
    let store = sound_store().await;
    let unique = stored(&store, 1).await.swap_remove(0).0;
    let plain = stored(&store, 2).await.swap_remove(4).0;
    plant(&store, vec![delete(&unique), delete(&plain)]).await;
    let (_, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (
                FaultKind::MissingEntry,
                "public.t (k)=(1): it has no entry in index \"t_u\"",
            ),
            (
                FaultKind::MissingEntry,
                "public.t (k)=(4): it has no entry in index \"t_s\"",
            ),
        ],
    );
}

#[tokio::test]
async fn a_deleted_row_leaves_entries_that_are_named() {
    let store = sound_store().await;
    let key = stored(&store, 0).await.swap_remove(7).0;
    plant(&store, vec![delete(&key)]).await;
    let (_, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (
                FaultKind::StrayEntry,
                "public.t (u)=(u7): entry of index \"t_u\": there is no such row",
            ),
            (
                FaultKind::StrayEntry,
                "public.t (s, k)=(same, 7): entry of index \"t_s\": there is no such row",
            ),
        ],
    );
}

/// The same number of entries too few and too many must not cancel out.
#[tokio::test]
async fn stray_entries_are_named_beside_missing_ones() {
    let store = sound_store().await;
    let entries = stored(&store, 1).await;
    let (key, value) = &entries[0];
    let mut moved = key.clone();
    let at = moved.len() - 3;
    moved[at] = b'z';
    plant(&store, vec![delete(key), put(&moved, value)]).await;
    let (_, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (
                FaultKind::MissingEntry,
                "public.t (k)=(1): it has no entry in index \"t_u\"",
            ),
            (
                FaultKind::StrayEntry,
                "public.t (u)=(uz): entry of index \"t_u\": its row holds other values",
            ),
        ],
    );
}

#[tokio::test]
async fn two_rows_of_one_unique_value_are_named() {
    let store = sound_store().await;
    let rows = stored(&store, 0).await;
    // Row 2 gets the value of row 1; its own entry stays behind.
    plant(&store, vec![put(&rows[2].0, &rows[1].1)]).await;
    let (_, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (
                FaultKind::WrongEntry,
                "public.t (k)=(2): the entry of its values in unique index \"t_u\" is another row's, or damaged",
            ),
            (
                FaultKind::StrayEntry,
                "public.t (u)=(u2): entry of index \"t_u\": its row holds other values",
            ),
        ],
    );
}

#[tokio::test]
async fn a_damaged_entry_is_named_on_both_sides() {
    let store = sound_store().await;
    let (key, mut value) = stored(&store, 1).await.swap_remove(0);
    *value.last_mut().unwrap() ^= 1;
    plant(&store, vec![put(&key, &value)]).await;
    let (_, faults) = checked(&store).await;
    let kinds: Vec<_> = faults.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [FaultKind::WrongEntry, FaultKind::StrayEntry]);
    assert!(
        faults[1]
            .1
            .ends_with("row is damaged: its checksum does not match"),
        "{faults:?}"
    );
}

#[tokio::test]
async fn rows_that_their_table_cannot_hold_are_named() {
    let store = sound_store().await;
    let rows = stored(&store, 0).await;
    let sound = crate::codec::row::RowReader::new(&rows[1].1).unwrap();
    let value = |ids: &[u16]| {
        let mut writer = crate::codec::row::RowWriter::default();
        ids.iter()
            .for_each(|id| writer.push_stored(*id, sound.get(3).unwrap()));
        writer.finish()
    };
    let mut longer = rows[1].0.clone();
    longer.push(1);
    let mut unfinished = rows[1].0.clone();
    unfinished.pop();
    for (write, expected) in [
        (
            put(&rows[0].0, &value(&[2])),
            "public.t (k)=(0): column \"s\" is NULL, which it cannot be",
        ),
        (
            put(&rows[0].0, &value(&[3, 4])),
            "public.t (k)=(0): row is damaged: it holds column 4, which its table never had",
        ),
        (
            put(&rows[0].0, &value(&[1, 3])),
            "public.t (k)=(0): row is damaged: it repeats key column 1",
        ),
        (
            put(&longer, &rows[1].1),
            "public.t (k)=(1): row is damaged: its key is not written as keys are",
        ),
        (
            put(&unfinished, &rows[1].1),
            "public.t \\x0000000100002080000000000000: key is damaged: it ends within a field",
        ),
    ] {
        let store = sound_store().await;
        plant(&store, vec![write]).await;
        let (_, faults) = checked(&store).await;
        assert_eq!((faults.len(), faults[0].0), (1, FaultKind::Row), "{faults:?}");
        assert!(faults[0].1.starts_with(expected), "{faults:?}");
    }
}

/// What a kill leaves of CREATE UNIQUE INDEX or SET NOT NULL is undone by the next start, and is no damage.
#[tokio::test]
async fn unfinished_changes_may_lack_entries_and_hold_nulls() {
    let store = sound_store().await;
    let mut table = table();
    table.version = 1;
    table.indexes[0].building = true;
    table.columns[1].not_null = true;
    table.columns[1].unverified = Some(crate::catalog::Unverified::NotNull);
    let txn = Transaction::begin(Arc::clone(&store), 1 << 20).await.unwrap();
    let catalog = Catalog::load(&txn, None).await.unwrap();
    CatalogWriter::begin(&txn, &catalog)
        .unwrap()
        .put_table(table)
        .unwrap();
    txn.commit(false).await.unwrap();
    let entries = stored(&store, 1).await;
    plant(&store, vec![delete(&entries[0].0)]).await;
    let (report, faults) = checked(&store).await;
    assert_faults(&faults, &[]);
    assert_eq!(report.unfinished, 2);
    // An entry without a row is one too many all the same.
    let row = stored(&store, 0).await.swap_remove(2).0;
    plant(&store, vec![delete(&row)]).await;
    let (_, faults) = checked(&store).await;
    let kinds: Vec<_> = faults.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [FaultKind::StrayEntry; 2]);
}

#[tokio::test]
async fn keys_of_nothing_are_named() {
    let store = sound_store().await;
    plant(
        &store,
        vec![
            put(&[0], b""),
            put(&entry_prefix(7, 0), b"row"),
            put(&entry_prefix(1, 3), b"entry"),
            put(&[0xFF, 0xFF, 0xFF], b""),
        ],
    )
    .await;
    let (_, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (FaultKind::Key, "- \\x00: key is damaged: no such kind of key"),
            (FaultKind::Key, "- \\xffffff: key is damaged: no such kind of key"),
            (
                FaultKind::Ownerless,
                "public.t \\x000000010003: the table has no index 3 with entries",
            ),
            (FaultKind::Ownerless, "- \\x000000070000: there is no table 7"),
        ],
    );
}

#[tokio::test]
async fn a_damaged_record_is_named_and_hides_only_its_own_rows() {
    let store = sound_store().await;
    plant(
        &store,
        vec![
            put(&Keyspace::Relation { id: 1 }.encode(), b"garbage"),
            put(&entry_prefix(7, 0), b""),
        ],
    )
    .await;
    let (report, faults) = checked(&store).await;
    assert_faults(
        &faults,
        &[
            (
                FaultKind::Record,
                "- relation 1: catalog record is damaged: 7 bytes are too few",
            ),
            (FaultKind::Ownerless, "- \\x000000070000: there is no table 7"),
        ],
    );
    assert!(report.relations.is_empty());
}

/// More rows than a page, and more faults than are kept.
#[tokio::test]
async fn faults_beyond_a_page_are_all_counted() {
    let store = sound_store().await;
    let rows = 5_000;
    let txn = Transaction::begin(Arc::clone(&store), 1 << 26).await.unwrap();
    insert_rows(&txn, &table(), &batch(ROWS..rows), Limits::default())
        .await
        .unwrap();
    txn.commit(false).await.unwrap();
    let (report, faults) = checked(&store).await;
    assert_faults(&faults, &[]);
    assert_eq!(report.relations[0].rows, 5_000);
    store
        .delete_range(KeyRange::of_prefix(&entry_prefix(1, 2)))
        .await
        .unwrap();
    let (report, faults) = checked(&store).await;
    assert_eq!((report.faults.count(), faults.len()), (5_000, 100));
    assert!(
        report
            .to_string()
            .contains("rows without their index entry: 5000\n")
    );
    assert!(report.to_string().contains("  ... 4900 more\n"));
}
