//! Tests of `Sequences` over the memory store: values are given once, whatever becomes of the transactions that took them.

use std::sync::Arc;

use super::{SequenceState, Sequences};
use crate::catalog::{Catalog, CatalogWriter, FIRST_OID, SequenceDef, SequenceType};
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, StoreOptions};
use crate::txn::Transaction;

const OID: u32 = FIRST_OID + 7;

fn sequence() -> SequenceDef {
    let (schema, name) = ("public".to_string(), "s".to_string());
    SequenceDef::rising(7, schema, name, SequenceType::BigInt)
}

async fn begin(store: &Arc<dyn Store>) -> Transaction {
    Transaction::begin(Arc::clone(store), 1 << 20).await.unwrap()
}

/// Writes the definition, and what it begins with.
fn write(txn: &Transaction, def: &SequenceDef, start: i64) {
    let catalog = Catalog::empty();
    let writer = CatalogWriter::begin(txn, &catalog).unwrap();
    writer.put_sequence(def).unwrap();
    Sequences::begin(txn, def, SequenceState::starting_at(start)).unwrap();
}

async fn store() -> Arc<dyn Store> {
    let store: Arc<dyn Store> =
        Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap());
    let txn = begin(&store).await;
    write(&txn, &sequence(), 1);
    txn.commit(false).await.unwrap();
    store
}

/// So many values at least one at a time.
async fn take(sequences: &Sequences, txn: &Transaction, count: usize) -> Vec<i64> {
    let open = sequences.open(txn, OID).await.unwrap();
    let mut values = Vec::new();
    while values.len() < count {
        let wanted = (count - values.len()) as u64;
        values.extend(sequences.take(txn, &open, wanted).await.unwrap().values());
    }
    values
}

#[tokio::test]
async fn values_are_given_once() {
    let store = store().await;
    let sequences = Arc::new(Sequences::new(Arc::clone(&store)));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (sequences, store) = (Arc::clone(&sequences), Arc::clone(&store));
            tokio::spawn(async move {
                let mut taken = Vec::new();
                for count in 1..20 {
                    let txn = begin(&store).await;
                    taken.extend(take(&sequences, &txn, count).await);
                    assert!(!txn.has_writes());
                    txn.roll_back();
                }
                taken
            })
        })
        .collect();
    let mut taken = Vec::new();
    for task in tasks {
        taken.extend(task.await.unwrap());
    }
    let count = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(
        (count, taken.first(), taken.last()),
        (1520, Some(&1), Some(&1520))
    );
    assert_eq!(taken.len(), count, "no value is given twice");
    let restarted = Sequences::new(Arc::clone(&store));
    assert!(take(&restarted, &begin(&store).await, 1).await[0] > 1520);
}

#[tokio::test]
async fn a_value_that_is_set_is_what_follows_is_counted_from() {
    let store = store().await;
    let (sequences, txn) = (Sequences::new(Arc::clone(&store)), begin(&store).await);
    assert_eq!(take(&sequences, &txn, 2).await, [1, 2]);
    let open = sequences.open(&txn, OID).await.unwrap();
    let set = SequenceState {
        last: 50,
        is_called: true,
    };
    sequences.set(&txn, &open, set).await.unwrap();
    assert_eq!(sequences.state(&txn, &open.def).await, Ok((set, 0)));
    txn.roll_back();
    let restarted = Sequences::new(Arc::clone(&store));
    assert_eq!(take(&restarted, &begin(&store).await, 1).await, [51]);
    assert_eq!(
        take(&sequences, &begin(&store).await, 1).await[0],
        84,
        "behind the block of another"
    );
}

#[tokio::test]
async fn a_change_that_is_rolled_back_leaves_the_old_count() {
    let store = store().await;
    let sequences = Sequences::new(Arc::clone(&store));
    assert_eq!(take(&sequences, &begin(&store).await, 3).await, [1, 2, 3]);
    let changed = SequenceDef {
        generation: 1,
        increment: 10,
        ..sequence()
    };
    for commits in [false, true] {
        let txn = begin(&store).await;
        write(&txn, &changed, 100);
        assert_eq!(take(&sequences, &txn, 2).await, [100, 110]);
        match commits {
            true => txn.commit(false).await.unwrap(),
            false => {
                txn.roll_back();
                assert_eq!(take(&sequences, &begin(&store).await, 1).await, [4]);
            }
        }
    }
    assert_eq!(take(&sequences, &begin(&store).await, 1).await, [120]);
}

#[tokio::test]
async fn what_is_no_sequence_is_told() {
    let store = store().await;
    let sequences = Sequences::new(Arc::clone(&store));
    for oid in [0, 1, FIRST_OID, OID + 1] {
        let opened = sequences.open(&begin(&store).await, oid).await;
        assert_eq!(opened.unwrap_err().sqlstate(), "42P01");
    }
}
