//! What `Store::lock` promises.

use std::sync::Arc;

use futures::FutureExt;

use super::{delete, put, write};
use crate::store::{LockAsks, LockMode, LockPolicy, LockWait, RangeState, Store, Wanted, WantedRange};

fn replace(keys: &[Vec<u8>]) -> Wanted<'_> {
    Wanted {
        keys,
        mode: LockMode::Replace,
        wait: LockWait::Block,
        policy: LockPolicy::default(),
    }
}

fn keys(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

pub(super) async fn a_lock_tells_what_is_committed_under_its_key(store: &dyn Store) {
    write(store, vec![put("a", "1"), put("b", "1"), put("c", "1")]).await;
    let since = store.snapshot().await.unwrap();
    let locks = store.locks(1);
    let (before, asked) = (keys(&["a"]), keys(&["a", "b", "c", "d", "e"]));
    let locked = store
        .lock(&locks, replace(&before), &since, LockAsks::ChangesAndValues)
        .await
        .unwrap();
    assert_eq!((locked.changed, locked.values.get(0)), (vec![], Some(&b"1"[..])));
    write(store, vec![put("b", "2"), delete("c"), put("d", "2")]).await;
    let locked = store
        .lock(&locks, replace(&asked), &since, LockAsks::ChangesAndValues)
        .await
        .unwrap();
    assert_eq!(locked.changed, [1, 2, 3]);
    let values = (0..asked.len()).map(|at| locked.values.get(at));
    let expected = [Some(&b"1"[..]), Some(b"2"), None, Some(b"2"), None];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    let known = asked.iter().map(|key| locks.known(key));
    let there = [true, true, false, true, false].map(|is_there| Some(Some(is_there)));
    assert_eq!(known.collect::<Vec<_>>(), there);
    assert_eq!(store.lock_table().rows().len(), 5);
    // Who only locks rows keeps nobody from putting one where there is none.
    drop(locks);
    let locks = store.locks(1);
    let mode = LockMode::Update;
    let wanted = Wanted {
        mode,
        ..replace(&asked)
    };
    store
        .lock(&locks, wanted, &since, LockAsks::ChangesAndValues)
        .await
        .unwrap();
    let known = asked.iter().map(|key| locks.known(key));
    let there = [true, true, false, true, false].map(|is_there| Some(is_there.then_some(true)));
    assert_eq!(known.collect::<Vec<_>>(), there);
    drop(locks);
    assert!(store.lock_table().rows().is_empty());
}

pub(super) async fn who_waited_sees_what_the_holder_committed(store: Arc<dyn Store>) {
    write(&*store, vec![put("k", "old")]).await;
    let since = store.snapshot().await.unwrap();
    let (holder, waiter, key) = (store.locks(1), store.locks(2), keys(&["k"]));
    store
        .lock(&holder, replace(&key), &since, LockAsks::Changes)
        .await
        .unwrap();
    let mut wait = store.lock(&waiter, replace(&key), &since, LockAsks::ChangesAndValues);
    assert!(wait.as_mut().now_or_never().is_none());
    write(&*store, vec![put("k", "new")]).await;
    holder.release_all();
    let locked = wait.await.unwrap();
    assert_eq!(
        (locked.changed, locked.values.get(0)),
        (vec![0], Some(&b"new"[..]))
    );
}

pub(super) async fn a_range_is_locked_where_it_is_as_it_should_be(store: &dyn Store) {
    write(store, vec![put("b", "1"), put("d", "1"), put("k", "1")]).await;
    let since = store.snapshot().await.unwrap();
    let (locks, other) = (store.locks(1), store.locks(2));
    let take = async |names: &[&str], state| {
        let keys = keys(names);
        let mode = match state {
            RangeState::Absent => LockMode::Insert,
            RangeState::Unchanged => LockMode::Change,
        };
        let keys = &keys;
        let taken = store
            .lock_range(&locks, WantedRange { keys, mode, state }, &since)
            .await
            .unwrap();
        (taken.is_some(), locks.known(&keys[0]))
    };
    let (absent, unchanged) = (RangeState::Absent, RangeState::Unchanged);
    assert_eq!(take(&["a", "c"], absent).await, (false, None));
    assert_eq!(take(&["e", "i"], absent).await, (true, Some(Some(false))));
    assert_eq!(take(&["b", "d"], unchanged).await, (true, Some(None)));
    assert!(locks.is_read(b"c") && other.would_wait(b"c", LockMode::Update));
    locks.release_all();
    // Others have changed something since: a key that the range has, one that was not there, one that is there no more.
    write(store, vec![put("d", "2"), put("g", "1"), delete("k")]).await;
    assert_eq!(take(&["b", "d"], unchanged).await, (false, None));
    assert_eq!(take(&["b", "c"], unchanged).await, (true, Some(None)));
    assert_eq!(take(&["e", "i"], absent).await, (false, None));
    assert_eq!(take(&["h", "i"], absent).await, (true, Some(Some(false))));
    assert_eq!(take(&["j", "l"], absent).await, (false, None));
    let held = keys(&["m"]);
    store
        .lock(&other, replace(&held), &since, LockAsks::Changes)
        .await
        .unwrap();
    assert_eq!(take(&["l", "n"], absent).await, (false, None));
    drop(locks);
    assert!(!other.would_wait(b"h", LockMode::Insert) && store.lock_table().rows().len() == 1);
}
