//! Locks that a commit passes on while it waits for the disk: who gets them, what he sees, and what he may tell of it.

use std::sync::Arc;
use std::time::Duration;

use super::{CommitDependency, DurabilityBarrier, Transaction, TransactionOptions};
use crate::codec::keyspace::entry_prefix;
use crate::store::mvcc::store_on;
use crate::store::{LockMode, LockWait, SimulatedDisk, Store, Write};

fn row(number: u8) -> Vec<u8> {
    [entry_prefix(9, 0).as_slice(), &[number]].concat()
}

fn put(number: u8, value: &[u8]) -> Write {
    Write::Put {
        key: row(number),
        value: value.to_vec(),
    }
}

async fn begin(store: &Arc<dyn Store>, dependency: &CommitDependency) -> Transaction {
    let options = TransactionOptions {
        bytes_max: 1 << 20,
        dependency: dependency.clone(),
        ..TransactionOptions::default()
    };
    Transaction::begin_with(Arc::clone(store), options).await.unwrap()
}

/// What the transaction sees in rows 1 and 2.
async fn seen(txn: &Transaction) -> [Option<Vec<u8>>; 2] {
    let values = txn.get_many(&[row(1), row(2)]).await.unwrap();
    [0, 1].map(|at| values.get(at).map(<[u8]>::to_vec))
}

/// A store whose rows 1 and 2 are `old` and durable, and a commit under way that writes both, has locked row 3, and waits for the disk.
async fn held_commit() -> (
    SimulatedDisk,
    Arc<dyn Store>,
    tokio::task::JoinHandle<crate::Result<()>>,
) {
    let disk = SimulatedDisk::new(0);
    let store = store_on(&disk);
    let first = begin(&store, &CommitDependency::default()).await;
    for number in [1, 2] {
        first.write(put(number, b"old"), Some(LockMode::Change)).unwrap();
    }
    first.commit(false).await.unwrap();
    let writer = begin(&store, &CommitDependency::default()).await;
    writer.lock(&[row(3)], LockMode::Change).await.unwrap();
    for number in [1, 2] {
        writer.write(put(number, b"new"), Some(LockMode::Change)).unwrap();
    }
    disk.hold(true);
    let commit = tokio::spawn(async move { writer.commit(false).await });
    while !disk.is_waiting() {
        tokio::task::yield_now().await;
    }
    (disk, store, commit)
}

#[tokio::test]
async fn who_gets_a_lock_early_sees_the_commit_and_nobody_else_does() {
    let (disk, store, commit) = held_commit().await;
    let dependency = CommitDependency::default();
    let next = begin(&store, &dependency).await;
    assert_eq!(seen(&next).await, [Some(b"old".to_vec()), Some(b"old".to_vec())]);
    let locked = next
        .lock_rows(&[row(1)], LockMode::Change, LockWait::Block)
        .await
        .unwrap();
    assert_eq!((locked.newer, locked.newest.get(0)), (vec![0], Some(&b"new"[..])));
    // All that the commit wrote, or the two rows would be of two times.
    let statement = next.next_statement().await.unwrap();
    assert_eq!(
        seen(&statement).await,
        [Some(b"new".to_vec()), Some(b"new".to_vec())]
    );
    let other = begin(&store, &CommitDependency::default()).await;
    assert_eq!(seen(&other).await, [Some(b"old".to_vec()), Some(b"old".to_vec())]);

    let barrier = DurabilityBarrier::new(Arc::clone(&store), dependency.clone());
    let told = tokio::spawn(async move { barrier.pass().await });
    statement.write(put(1, b"newer"), None).unwrap();
    let second = tokio::spawn(async move { statement.commit(false).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!told.is_finished() && !second.is_finished() && !commit.is_finished());
    disk.hold(false);
    for ended in [commit, told, second] {
        ended.await.unwrap().unwrap();
    }
    assert_eq!(dependency.commit(), 0, "nothing is to be waited for any more");
    let after = begin(&store, &CommitDependency::default()).await;
    assert_eq!(
        seen(&after).await,
        [Some(b"newer".to_vec()), Some(b"new".to_vec())]
    );
}

#[tokio::test]
async fn what_was_locked_and_not_written_is_kept_until_the_commit_is_visible() {
    let (disk, store, commit) = held_commit().await;
    let next = begin(&store, &CommitDependency::default()).await;
    assert!(next.would_wait(&row(3), LockMode::Change));
    assert!(!next.would_wait(&row(1), LockMode::Change));
    disk.hold(false);
    commit.await.unwrap().unwrap();
    assert!(!next.would_wait(&row(3), LockMode::Change));
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_any_more_goes_on_under_its_locks() {
    let (disk, store, commit) = held_commit().await;
    let next = begin(&store, &CommitDependency::default()).await;
    commit.abort();
    assert!(commit.await.unwrap_err().is_cancelled());
    assert!(next.would_wait(&row(3), LockMode::Change));
    disk.hold(false);
    next.lock(&[row(3)], LockMode::Change).await.unwrap();
    let after = begin(&store, &CommitDependency::default()).await;
    assert_eq!(seen(&after).await, [Some(b"new".to_vec()), Some(b"new".to_vec())]);
}

#[tokio::test]
async fn a_serializable_transaction_that_waits_for_a_commit_leaves_its_thread_to_others() {
    let (disk, store, commit) = held_commit().await;
    let options = TransactionOptions {
        bytes_max: 1 << 20,
        keeps_snapshot: true,
        is_serializable: true,
        ..TransactionOptions::default()
    };
    let begun = Transaction::begin_with(Arc::clone(&store), options);
    let held = tokio::time::timeout(Duration::from_millis(20), begun);
    assert!(held.await.is_err());
    disk.hold(false);
    commit.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_locked_as_it_is_is_read_as_the_commit_left_it() {
    let (disk, store, commit) = held_commit().await;
    let next = begin(&store, &CommitDependency::default()).await;
    next.lock_as_it_is(&[row(1)], LockMode::Keep, LockWait::Block)
        .await
        .unwrap();
    let newest = next.get_newest(&[row(1), row(2)]).await.unwrap();
    assert_eq!(
        (newest.get(0), newest.get(1)),
        (Some(&b"new"[..]), Some(&b"new"[..]))
    );
    disk.hold(false);
    commit.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_rests_on_a_commit_that_failed_is_told_to_nobody() {
    let (disk, store, commit) = held_commit().await;
    let dependency = CommitDependency::default();
    let next = begin(&store, &dependency).await;
    next.lock(&[row(1)], LockMode::Change).await.unwrap_err();
    disk.cut_power();
    disk.hold(false);
    commit.await.unwrap().unwrap_err();
    let barrier = DurabilityBarrier::new(Arc::clone(&store), dependency);
    barrier.pass().await.unwrap_err();
}
