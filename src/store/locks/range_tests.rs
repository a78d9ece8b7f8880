//! Tests of locks on ranges: what their invariants promise, and random steps of many owners.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::tests::{keys, wanted};
use super::*;

const MODES: [LockMode; 6] = [
    LockMode::KeyShare,
    LockMode::Share,
    LockMode::NoKeyUpdate,
    LockMode::Change,
    LockMode::Insert,
    LockMode::Replace,
];

fn range(keys: &[Vec<u8>], mode: LockMode) -> WantedRange<'_> {
    WantedRange {
        keys,
        mode,
        state: RangeState::Absent,
    }
}

#[tokio::test]
async fn who_wants_a_key_of_a_range_waits_for_its_owner() {
    let table: Arc<LockTable> = Arc::default();
    let [first, second, third] = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let (ends, inside, outside) = (keys(&["b", "d"]), keys(&["c"]), keys(&["d\0"]));
    assert!(first.acquire_range(range(&ends, LockMode::Insert)).unwrap());
    assert!(first.includes(b"c", LockMode::Insert) && !first.includes(b"a", LockMode::Insert));
    // Beside it others may do what does not conflict with it, and hold what is not in it.
    second
        .acquire(wanted(&inside, LockMode::KeyShare, LockWait::NoWait))
        .await
        .unwrap();
    second
        .acquire(wanted(&outside, LockMode::Insert, LockWait::NoWait))
        .await
        .unwrap();
    let at_once = second.acquire(wanted(&inside, LockMode::Insert, LockWait::NoWait));
    assert_eq!(at_once.await.unwrap().refused, Some(0));
    let passing = second.acquire(wanted(&inside, LockMode::Insert, LockWait::SkipLocked));
    assert_eq!(passing.await.unwrap().skipped, [0]);
    assert!(second.would_wait(b"c", LockMode::Replace) && !second.would_wait(b"c", LockMode::Share));
    let mut waits = [&second, &third]
        .map(|locks| Box::pin(locks.acquire(wanted(&inside, LockMode::Insert, LockWait::Block))));
    assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()));
    assert_eq!((table.blockers(2), table.blockers(3)), (vec![1], vec![1, 2]));
    first.release_all();
    assert!(waits[1].as_mut().now_or_never().is_none(), "another asked before");
    assert!(waits[0].as_mut().now_or_never().is_some());
    drop(waits);
    drop((second, third));
    assert!(table.rows().is_empty() && table.waits().is_empty());
}

#[tokio::test]
async fn a_range_is_refused_where_others_are() {
    let table: Arc<LockTable> = Arc::default();
    let [first, second, third] = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let (ends, inside) = (keys(&["b", "d"]), keys(&["c"]));
    first
        .acquire(wanted(&inside, LockMode::KeyShare, LockWait::Block))
        .await
        .unwrap();
    assert!(second.acquire_range(range(&ends, LockMode::Change)).unwrap());
    assert!(!second.acquire_range(range(&ends, LockMode::Replace)).unwrap());
    // Another's range is in the way of ranges, too.
    let beside = keys(&["a", "b"]);
    assert!(!third.acquire_range(range(&beside, LockMode::Share)).unwrap());
    assert!(
        third
            .acquire_range(range(&keys(&["a", "az"]), LockMode::Share))
            .unwrap()
    );
    // Who has locked each of some keys needs no range of them.
    assert!(
        !second
            .acquire_range(range(&keys(&["b", "c"]), LockMode::Change))
            .unwrap()
    );
    second.release_all();
    assert!(third.acquire_range(range(&beside, LockMode::Change)).unwrap());
    drop((first, second, third));
    assert!(table.rows().is_empty());
}

#[tokio::test]
async fn a_circle_through_a_range_is_a_deadlock() {
    let table: Arc<LockTable> = Arc::default();
    let [first, second] = [1, 2].map(|session| HeldLocks::new(&table, session));
    let (ends, inside, other) = (keys(&["b", "d"]), keys(&["c"]), keys(&["x"]));
    assert!(first.acquire_range(range(&ends, LockMode::Insert)).unwrap());
    second
        .acquire(wanted(&other, LockMode::Update, LockWait::Block))
        .await
        .unwrap();
    let mut wait = Box::pin(second.acquire(wanted(&inside, LockMode::Insert, LockWait::Block)));
    assert!(wait.as_mut().now_or_never().is_none());
    let hasty = Wanted {
        policy: LockPolicy {
            deadlock_after: std::time::Duration::ZERO,
            ..LockPolicy::default()
        },
        ..wanted(&other, LockMode::Update, LockWait::Block)
    };
    assert_eq!(first.acquire(hasty).await.unwrap_err().sqlstate(), "40P01");
}

#[tokio::test]
async fn a_key_that_is_given_up_stays_locked_by_its_range() {
    let table: Arc<LockTable> = Arc::default();
    let [first, second] = [1, 2].map(|session| HeldLocks::new(&table, session));
    let (ends, inside) = (keys(&["b", "d"]), keys(&["c"]));
    assert!(first.acquire_range(range(&ends, LockMode::Insert)).unwrap());
    first.note_range(range(&ends, LockMode::Insert));
    assert_eq!(first.known(b"c"), Some(Some(false)));
    let mark = first.mark();
    first
        .acquire(wanted(&inside, LockMode::Replace, LockWait::Block))
        .await
        .unwrap();
    let mut wait = Box::pin(second.acquire(wanted(&inside, LockMode::Insert, LockWait::Block)));
    assert!(wait.as_mut().now_or_never().is_none());
    first.release_after(mark);
    assert!(wait.as_mut().now_or_never().is_none());
    assert!(first.includes(b"c", LockMode::Insert) && !first.includes(b"c", LockMode::Replace));
    first.release_range(range(&ends, LockMode::Insert));
    assert!(wait.as_mut().now_or_never().is_some());
    assert_eq!(first.known(b"c"), None);
}

/// Who begins to wait for a key in the moment in which a range is asked for and refused does not get it from its holder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_range_gives_up_no_key() {
    let table: Arc<LockTable> = Arc::default();
    let [first, second] = [1, 2].map(|session| HeldLocks::new(&table, session));
    let (ends, own, other) = (keys(&["b", "e"]), keys(&["c"]), keys(&["d"]));
    for (locks, key) in [(&first, &own), (&second, &other)] {
        locks
            .acquire(wanted(key, LockMode::Change, LockWait::Block))
            .await
            .unwrap();
    }
    for _ in 0..100 {
        let (table, key) = (Arc::clone(&table), own.clone());
        let waits = tokio::spawn(async move {
            let locks = HeldLocks::new(&table, 3);
            locks
                .acquire(wanted(&key, LockMode::Change, LockWait::Block))
                .await
        });
        for _ in 0..200 {
            assert!(!first.acquire_range(range(&ends, LockMode::Insert)).unwrap());
        }
        assert!(!waits.is_finished());
        waits.abort();
        assert!(waits.await.is_err(), "it was told to end");
        assert!(second.would_wait(b"c", LockMode::Change));
    }
}

/// Owners lock keys, ranges of them, wait, and give up at random: no two ever hold of a key what conflicts, and nothing stays behind.
#[tokio::test]
async fn random_owners_of_ranges_never_hold_what_conflicts() {
    let names: Vec<Vec<u8>> = (0..8u8).map(|byte| vec![byte]).collect();
    for seed in 0..20 {
        let mut random = StdRng::seed_from_u64(seed);
        let table: Arc<LockTable> = Arc::default();
        let owners: Vec<HeldLocks> = (1..6).map(|session| HeldLocks::new(&table, session)).collect();
        let mut waits: Vec<Option<LocalBoxFuture<'_, _>>> = owners.iter().map(|_| None).collect();
        let (mut granted, mut ranges) = (0, 0);
        for _ in 0..3_000 {
            let at = random.random_range(0..owners.len());
            let (from, mode) = (
                random.random_range(0..names.len()),
                MODES[random.random_range(0..MODES.len())],
            );
            let until = random.random_range(from + 1..=names.len());
            match random.random_range(0..8) {
                // A wait is given up, and with it the transaction.
                0 => {
                    waits[at] = None;
                    owners[at].release_all();
                }
                _ if waits[at].is_some() => {}
                1 => owners[at].release_after(random.random_range(0..=owners[at].mark())),
                2 | 3 => {
                    let wanted = range(&names[from..until], mode);
                    ranges += usize::from(owners[at].acquire_range(wanted).unwrap());
                }
                4 => {
                    let keys = wanted(&names[from..until], mode, LockWait::SkipLocked);
                    owners[at].acquire(keys).await.unwrap();
                }
                _ => {
                    waits[at] = Some(
                        owners[at]
                            .acquire(wanted(&names[from..=from], mode, LockWait::Block))
                            .boxed_local(),
                    )
                }
            }
            for wait in &mut waits {
                if wait.as_mut().is_some_and(|wait| wait.now_or_never().is_some()) {
                    granted += 1;
                    *wait = None;
                }
            }
            require_no_conflict(&owners, &names);
        }
        assert!(granted > 100 && ranges > 20, "{granted} {ranges}");
        drop(waits);
        drop(owners);
        assert!(table.rows().is_empty() && table.waits().is_empty());
        assert_eq!(table.ranges.len(), 0);
    }
}

fn require_no_conflict(owners: &[HeldLocks], keys: &[Vec<u8>]) {
    for (at, owner) in owners.iter().enumerate() {
        for (key, mode) in keys.iter().flat_map(|key| MODES.map(|mode| (key, mode))) {
            let holds = |other: &HeldLocks| {
                MODES
                    .iter()
                    .any(|held| held.conflicts(mode) && other.includes(key, *held))
            };
            assert!(
                !owner.includes(key, mode) || !owners[at + 1..].iter().any(holds),
                "{key:?} {mode:?}"
            );
        }
    }
}
