//! Tests of the lock table: what its invariants promise, one by one, and random steps of many owners.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::task::coop::unconstrained;

use super::*;

fn table() -> Arc<LockTable> {
    Arc::default()
}

pub(super) fn keys(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

pub(super) fn wanted(keys: &[Vec<u8>], mode: LockMode, wait: LockWait) -> Wanted<'_> {
    Wanted {
        keys,
        mode,
        wait,
        policy: LockPolicy::default(),
    }
}

#[tokio::test]
async fn an_owner_waits_for_others_in_the_order_of_asking() {
    let table = table();
    let [first, second, third] = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let key = keys(&["k"]);
    let update = wanted(&key, LockMode::Update, LockWait::Block);
    first.acquire(update).await.unwrap();
    first.acquire(update).await.unwrap();
    let mut waits = [Box::pin(second.acquire(update)), Box::pin(third.acquire(update))];
    assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()));
    assert_eq!(table.blockers(3), [1, 2]);
    first.release_all();
    assert!(waits[1].as_mut().now_or_never().is_none(), "another asked before");
    assert!(waits[0].as_mut().now_or_never().is_some());
    second.release_all();
    assert!(waits[1].as_mut().now_or_never().is_some());
    drop(waits);
    drop(third);
    assert!(table.rows().is_empty());
}

#[tokio::test]
async fn who_holds_a_key_goes_before_those_who_do_not() {
    let table = table();
    let [first, second, third] = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let key = keys(&["k"]);
    let [share, update] = [LockMode::Share, LockMode::Update].map(|mode| wanted(&key, mode, LockWait::Block));
    first.acquire(share).await.unwrap();
    second.acquire(share).await.unwrap();
    let mut late = Box::pin(third.acquire(update));
    assert!(late.as_mut().now_or_never().is_none());
    let mut upgrade = Box::pin(first.acquire(update));
    assert!(upgrade.as_mut().now_or_never().is_none());
    second.release_all();
    assert!(late.as_mut().now_or_never().is_none());
    assert!(upgrade.as_mut().now_or_never().is_some());
}

#[tokio::test]
async fn nowait_and_skip_locked_leave_keys_out() {
    let table = table();
    let [first, second] = [1, 2].map(|session| HeldLocks::new(&table, session));
    let (one, three) = (keys(&["b"]), keys(&["a", "b", "c"]));
    first
        .acquire(wanted(&one, LockMode::NoKeyUpdate, LockWait::Block))
        .await
        .unwrap();
    let skipping = second.acquire(wanted(&three, LockMode::Share, LockWait::SkipLocked));
    assert_eq!(skipping.await.unwrap().skipped, [1]);
    let refused = second.acquire(wanted(&three, LockMode::Share, LockWait::NoWait));
    assert_eq!(refused.await.unwrap().refused, Some(1));
    let beside = second.acquire(wanted(&one, LockMode::KeyShare, LockWait::NoWait));
    assert_eq!(beside.await.unwrap(), Unlocked::default());
}

#[tokio::test]
async fn a_wait_that_is_given_up_leaves_nothing() {
    let table = table();
    let [first, second] = [1, 2].map(|session| HeldLocks::new(&table, session));
    let key = keys(&["k"]);
    let update = wanted(&key, LockMode::Update, LockWait::Block);
    first.acquire(update).await.unwrap();
    let mut wait = Box::pin(second.acquire(update));
    assert!(wait.as_mut().now_or_never().is_none());
    first.release_all();
    // Granted, and given up before it heard so.
    drop(wait);
    assert!(table.rows().is_empty() && table.waits().is_empty());
    first.acquire(update).await.unwrap();
    let short = Wanted {
        policy: LockPolicy {
            timeout: Some(Duration::from_millis(1)),
            ..LockPolicy::default()
        },
        ..update
    };
    let late = second.acquire(short).await.unwrap_err();
    assert_eq!(late.sqlstate(), "55P03");
    assert_eq!(table.rows().len(), 1);
}

#[tokio::test]
async fn a_circle_of_waits_is_refused_to_the_one_that_looks() {
    let table = table();
    let locks = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let names = ["a", "b", "c"].map(|name| keys(&[name]));
    for (held, key) in locks.iter().zip(&names) {
        held.acquire(wanted(key, LockMode::Update, LockWait::Block))
            .await
            .unwrap();
    }
    let waiting = |at: usize| {
        let key = &names[(at + 1) % 3];
        let mut wait = Box::pin(locks[at].acquire(wanted(key, LockMode::NoKeyUpdate, LockWait::Block)));
        assert!(wait.as_mut().now_or_never().is_none());
        wait
    };
    let _waits = [waiting(0), waiting(1)];
    let hasty = Wanted {
        policy: LockPolicy {
            timeout: None,
            deadlock_after: Duration::ZERO,
            ..LockPolicy::default()
        },
        ..wanted(&names[0], LockMode::Share, LockWait::Block)
    };
    let error = locks[2].acquire(hasty).await.unwrap_err();
    assert_eq!(error.sqlstate(), "40P01");
    let detail = error.detail().unwrap();
    assert_eq!(detail.lines().count(), 3);
    assert!(detail.starts_with("Process 3 waits for"), "{detail}");
}

/// Ten thousand wait for one key, each is granted in its turn and woken once; some of them look for circles meanwhile.
#[tokio::test]
async fn a_crowd_waits_in_its_order() {
    const WAITERS: i32 = 10_000;
    let table = table();
    let key = keys(&["k"]);
    let first = HeldLocks::new(&table, i32::MAX);
    let update = wanted(&key, LockMode::Update, LockWait::Block);
    first.acquire(update).await.unwrap();
    let hasty = Wanted {
        policy: LockPolicy {
            timeout: None,
            deadlock_after: Duration::ZERO,
            ..LockPolicy::default()
        },
        ..update
    };
    let crowd: Vec<_> = (0..WAITERS)
        .map(|session| HeldLocks::new(&table, 1 + session))
        .collect();
    let asks = crowd.iter().enumerate().map(|(at, locks)| {
        let policy = if at % 100 == 0 { hasty } else { update };
        Box::pin(locks.acquire(policy))
    });
    let mut waits: Vec<_> = asks.collect();
    assert!(
        waits
            .iter_mut()
            .all(|wait| unconstrained(wait).now_or_never().is_none())
    );
    // Timers run; nobody is in a circle.
    tokio::task::yield_now().await;
    assert!(
        waits
            .iter_mut()
            .all(|wait| unconstrained(wait).now_or_never().is_none())
    );
    let mut holder = &first;
    for (at, wait) in waits.into_iter().enumerate() {
        holder.release_all();
        let granted = unconstrained(wait).now_or_never();
        granted.expect("it is its turn").unwrap();
        holder = &crowd[at];
    }
    drop(crowd);
    assert!(table.rows().is_empty());
}

#[tokio::test]
async fn who_only_waits_behind_another_goes_before_him_when_that_ends_a_circle() {
    let table = table();
    let [d1, d2, e1, e2] = [1, 2, 3, 4].map(|session| HeldLocks::new(&table, session));
    let [a1, a2] = ["a1", "a2"].map(|name| keys(&[name]));
    let shared = |key| wanted(key, LockMode::AccessShare, LockWait::Block);
    let exclusive = |key| wanted(key, LockMode::AccessExclusive, LockWait::Block);
    d1.acquire(shared(&a1)).await.unwrap();
    d2.acquire(shared(&a2)).await.unwrap();
    let mut waits = [
        Box::pin(e1.acquire(exclusive(&a1))),
        Box::pin(e2.acquire(exclusive(&a2))),
        Box::pin(d1.acquire(shared(&a2))),
    ];
    assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()));
    let hasty = Wanted {
        policy: LockPolicy {
            timeout: Some(Duration::from_millis(1)),
            deadlock_after: Duration::ZERO,
            ..LockPolicy::default()
        },
        ..shared(&a1)
    };
    assert_eq!(d2.acquire(hasty).await.unwrap_err().sqlstate(), "55P03");
    assert!(waits[2].as_mut().now_or_never().is_some(), "the first goes on");
    assert!(waits[1].as_mut().now_or_never().is_none());
}

#[tokio::test]
async fn two_who_both_want_more_of_a_relation_are_told_at_once() {
    let table = table();
    let (first, second) = (HeldLocks::new(&table, 1), HeldLocks::new(&table, 2));
    let key = keys(&["k"]);
    for locks in [&first, &second] {
        let shared = wanted(&key, LockMode::AccessShare, LockWait::Block);
        locks.acquire(shared).await.unwrap();
    }
    let exclusive = wanted(&key, LockMode::AccessExclusive, LockWait::Block);
    let mut wait = Box::pin(first.acquire(exclusive));
    assert!(wait.as_mut().now_or_never().is_none());
    let refused = second.acquire(exclusive).now_or_never().unwrap();
    assert_eq!(refused.unwrap_err().sqlstate(), "40P01");
}

#[tokio::test]
async fn who_asks_for_a_row_waits_for_holders_alone() {
    let table = table();
    let [first, second, third] = [1, 2, 3].map(|session| HeldLocks::new(&table, session));
    let key = keys(&["k"]);
    let share = wanted(&key, LockMode::Share, LockWait::Block);
    first.acquire(share).await.unwrap();
    let mut update = Box::pin(second.acquire(wanted(&key, LockMode::Update, LockWait::Block)));
    assert!(update.as_mut().now_or_never().is_none());
    assert!(third.acquire(share).now_or_never().is_some());
    first.release_all();
    assert!(update.as_mut().now_or_never().is_none());
    third.release_all();
    assert!(update.as_mut().now_or_never().is_some());
}

#[tokio::test]
async fn what_came_after_a_mark_is_given_up() {
    let table = table();
    let (first, second) = (HeldLocks::new(&table, 1), HeldLocks::new(&table, 2));
    let (kept, given) = (keys(&["a"]), keys(&["a", "b"]));
    first
        .acquire(wanted(&kept, LockMode::Share, LockWait::Block))
        .await
        .unwrap();
    let mark = first.mark();
    first
        .acquire(wanted(&given, LockMode::Update, LockWait::Block))
        .await
        .unwrap();
    first.release_after(mark);
    let beside = second.acquire(wanted(&kept, LockMode::Share, LockWait::NoWait));
    assert_eq!(beside.await.unwrap().refused, None);
    let over = second.acquire(wanted(&given, LockMode::Update, LockWait::SkipLocked));
    assert_eq!(over.await.unwrap().skipped, [0]);
}

/// Owners take and give up locks at random, none of them waiting: no two ever hold what conflicts, and nothing stays behind.
#[tokio::test]
async fn random_owners_never_hold_what_conflicts() {
    let mut random = StdRng::seed_from_u64(7);
    let table = table();
    let owners: Vec<HeldLocks> = (1..9).map(|session| HeldLocks::new(&table, session)).collect();
    let modes = [
        LockMode::KeyShare,
        LockMode::Share,
        LockMode::NoKeyUpdate,
        LockMode::Update,
    ];
    for _ in 0..20_000 {
        let owner = &owners[random.random_range(0..owners.len())];
        if random.random_range(0..4) == 0 {
            owner.release_after(random.random_range(0..=owner.mark()));
            continue;
        }
        let key = vec![vec![random.random_range(0..6u8)]];
        let mode = modes[random.random_range(0..modes.len())];
        owner
            .acquire(wanted(&key, mode, LockWait::SkipLocked))
            .await
            .unwrap();
        let rows = table.rows();
        let beside = |row: &LockRow, other: &LockRow| row.key == other.key && row.owner != other.owner;
        let conflict = |row: &LockRow| {
            let mut others = rows.iter().filter(|other| beside(row, other));
            others.any(|other| other.mode.conflicts(row.mode))
        };
        assert!(!rows.iter().any(conflict), "{rows:?}");
    }
    drop(owners);
    assert!(table.rows().is_empty());
}

#[tokio::test]
async fn who_would_not_wait_waits_for_what_is_held_for_a_moment() {
    let table = table();
    let [brief, other, asks] = [BRIEF_SESSION, 1, 2].map(|session| HeldLocks::new(&table, session));
    let key = keys(&["k"]);
    let exclusive = wanted(&key, LockMode::AccessExclusive, LockWait::NoWait);
    let shared = wanted(&key, LockMode::RowExclusive, LockWait::Block);
    brief.acquire(shared).await.unwrap();
    let mut waits = Box::pin(asks.acquire(exclusive));
    assert!(waits.as_mut().now_or_never().is_none());
    brief.release_all();
    let unlocked = waits.as_mut().now_or_never().unwrap().unwrap();
    assert!(unlocked.is_locked(0) && unlocked.waited_for == Some(0));
    drop(waits);
    asks.release_all();
    brief.acquire(shared).await.unwrap();
    other.acquire(shared).await.unwrap();
    assert_eq!(asks.acquire(exclusive).await.unwrap().refused, Some(0));
}
