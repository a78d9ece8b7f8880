//! Counts of rows against the rows themselves: at every snapshot, after random commits from several sides, small and large,
//! checked and blind, and after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::MvccStore;
use super::limits::LARGE_WRITES;
use super::tests::{log_on, put, rows};
use crate::codec::keyspace::{CountRole, Keyspace, TableId, count_role};
use crate::store::disk::simulated::SimulatedDisk;
use crate::store::memory::MemoryEngine;
use crate::store::{Batch, Snapshot, Store, StoreOptions, Write};

const TABLES: [TableId; 3] = [1, 2, 300];

fn row_key(table: TableId, number: u16) -> Vec<u8> {
    let fields = &number.to_be_bytes();
    Keyspace::Entry {
        table,
        index: 0,
        fields,
    }
    .encode()
}

fn count_key(table: TableId) -> Vec<u8> {
    Keyspace::Written { table }.encode()
}

/// The counts that a snapshot has, each the number of rows that it has.
async fn check_counts(snapshot: &dyn Snapshot) {
    let (mut kept, mut counted) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in rows(snapshot).await.unwrap() {
        match count_role(&key) {
            CountRole::Count(table) => {
                let count = value.try_into().map(u64::from_be_bytes);
                kept.insert(table, count.expect("the table is counted from its first row on"));
            }
            CountRole::Row(table) => *counted.entry(table).or_insert(0) += 1,
            CountRole::None => {}
        }
    }
    kept.retain(|_, count| *count > 0);
    assert_eq!(kept, counted);
}

/// A batch of writes to rows of one or two tables, as a transaction makes it.
fn random_batch(random: &mut StdRng, snapshot: &Arc<dyn Snapshot>) -> Batch {
    let mut writes = BTreeMap::new();
    for _ in 0..random.random_range(1..=2) {
        let table = *TABLES.choose(random).unwrap();
        writes.insert(count_key(table), put(count_key(table), ""));
        let count = match random.random_bool(0.1) {
            true => LARGE_WRITES * 2,
            false => random.random_range(1..=4),
        };
        for _ in 0..count {
            let key = row_key(table, random.random_range(0..400));
            let write = match random.random_bool(0.6) {
                true => put(&key, "row"),
                false => Write::Delete { key: key.clone() },
            };
            writes.insert(key, write);
        }
    }
    let writes: Vec<Write> = writes.into_values().collect();
    let is_row = |at: &usize| matches!(count_role(writes[*at].key()), CountRole::Row(_));
    let checked = match random.random() {
        true => (0..writes.len()).filter(is_row).collect(),
        false => Vec::new(),
    };
    Batch {
        snapshot: Some(Arc::clone(snapshot)),
        checked,
        writes,
        relaxed: random.random_bool(0.3),
        ..Batch::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_are_those_of_the_rows_at_every_snapshot() {
    let (disk, engine) = (SimulatedDisk::new(0), Arc::new(MemoryEngine::new()));
    for restart in 0..4 {
        let log = log_on(&disk).unwrap();
        let store = MvccStore::open(Arc::clone(&engine) as _, &StoreOptions::default(), Some(log));
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        if restart == 0 {
            let begin = TABLES.map(|table| put(count_key(table), 0u64.to_be_bytes()));
            let batch = Batch {
                writes: begin.to_vec(),
                ..Batch::default()
            };
            store.commit(batch).await.unwrap();
        }
        check_counts(&*store.snapshot().await.unwrap()).await;
        let writers = (0..4).map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut random = StdRng::seed_from_u64(restart * 10 + writer);
                for step in 0..40 {
                    let snapshot = store.snapshot().await.unwrap();
                    // Some lose the race for a row, and are as if they had not been.
                    let _ = store.commit(random_batch(&mut random, &snapshot)).await;
                    if step % 8 == 0 {
                        check_counts(&*snapshot).await;
                        check_counts(&*store.snapshot().await.unwrap()).await;
                    }
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        check_counts(&*store.snapshot().await.unwrap()).await;
        drop(store);
    }
}
