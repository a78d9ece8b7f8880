//! What the suite asks of commits and snapshots: atomicity, conflicts, one moment in time. Called by `check_all`.

use super::*;
use crate::Error;

pub(super) async fn a_failed_commit_leaves_nothing(store: &dyn Store) {
    write(store, vec![put(b"a", b"1"), put(b"b", b"1")]).await;
    let snapshot = store.snapshot().await.unwrap();
    write(store, vec![put(b"b", b"2")]).await;
    let writes = vec![put(b"a", b"3"), put(b"b", b"3"), put(b"c", b"3"), delete(b"a1")];
    let refused = write_checked(store, &snapshot, writes, &[b"a", b"b"]).await;
    assert_eq!(refused, Err(Error::Conflict { key: b"b".to_vec() }));
    let expected: Rows = vec![(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())];
    assert_eq!(
        rows(&*store.snapshot().await.unwrap(), everything()).await,
        expected
    );
}

pub(super) async fn of_two_writers_of_a_key_one_wins(store: &dyn Store) {
    for round in 0..50u8 {
        let snapshot = store.snapshot().await.unwrap();
        let racers = (0..4u8).map(|racer| {
            let snapshot = &snapshot;
            async move {
                let writes = vec![put(b"key", [round, racer]), put([b'r', round, racer], b"")];
                write_checked(store, snapshot, writes, &[b"key"])
                    .await
                    .map(|()| racer)
            }
        });
        let results = futures::future::join_all(racers).await;
        let winners: Vec<u8> = results
            .iter()
            .filter_map(|result| result.as_ref().ok().copied())
            .collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        assert!(
            results
                .iter()
                .flat_map(|result| result.as_ref().err())
                .all(|error| *error == Error::Conflict { key: b"key".to_vec() })
        );
        let after = store.snapshot().await.unwrap();
        assert_eq!(get(&*after, b"key").await, Some(vec![round, winners[0]]));
        let marks = keys(
            store,
            request(vec![range(&[b'r', round], Some(&[b'r', round, 9]))], false),
        )
        .await;
        assert_eq!(marks, [vec![b'r', round, winners[0]]]);
    }
}

pub(super) async fn unchanged_counts_puts_and_deletes(store: &dyn Store) {
    write(
        store,
        vec![
            put(b"put", b"1"),
            put(b"deleted", b"1"),
            put(b"reborn", b"1"),
            put(b"kept", b"1"),
        ],
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    write(
        store,
        vec![
            put(b"put", b"1"),
            delete(b"deleted"),
            delete(b"reborn"),
            put(b"new", b"1"),
        ],
    )
    .await;
    write(store, vec![put(b"reborn", b"1")]).await;
    for key in ["put", "deleted", "reborn", "new"] {
        let refused = write_checked(store, &snapshot, vec![put(b"other", b"1")], &[key.as_bytes()]).await;
        assert_eq!(refused, Err(Error::Conflict { key: key.into() }));
        let refused = write_checked(store, &snapshot, vec![put(key, b"2")], &[key.as_bytes()]).await;
        assert_eq!(refused, Err(Error::Conflict { key: key.into() }));
    }
    write_checked(store, &snapshot, vec![put(b"kept", b"2")], &[b"kept", b"absent"])
        .await
        .unwrap();
    write_checked(store, &snapshot, vec![put(b"absent", b"2")], &[b"absent"])
        .await
        .unwrap();
    let refused = write_checked(store, &snapshot, vec![], &[b"absent"]).await;
    assert_eq!(
        refused,
        Err(Error::Conflict {
            key: b"absent".to_vec()
        }),
        "its own commit counts, too"
    );
}

pub(super) async fn blind_writes_never_conflict(store: &dyn Store) {
    let snapshot = store.snapshot().await.unwrap();
    write(store, vec![put(b"a", b"1")]).await;
    write_checked(store, &snapshot, vec![put(b"a", b"2"), put(b"b", b"2")], &[b"b"])
        .await
        .unwrap();
    write(store, vec![delete(b"never there")]).await;
    assert_eq!(
        get(&*store.snapshot().await.unwrap(), b"a").await.as_deref(),
        Some(&b"2"[..])
    );
}

pub(super) async fn a_snapshot_sees_one_moment(store: &dyn Store) {
    let before: Rows = (0..500u32)
        .map(|n| (n.to_be_bytes().to_vec(), n.to_string().into_bytes()))
        .collect();
    write(store, before.iter().map(|(key, value)| put(key, value)).collect()).await;
    let snapshot = store.snapshot().await.unwrap();
    let mut scan = snapshot.scan(ScanRequest {
        page_rows_max: 50,
        ..everything()
    });
    let mut page = Page::new();
    let mut seen: Rows = Vec::new();
    // Between any two pages every row is changed in one of four ways, and others appear.
    for round in 0u32.. {
        scan.next_page(&mut page).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        let changes = (0..500u32).flat_map(|n| {
            let key = n.to_be_bytes();
            match (n + round) % 4 {
                0 => vec![put(key, b"changed")],
                1 => vec![delete(key)],
                2 => vec![put([&key[..], b"new"].concat(), b"new")],
                _ => vec![],
            }
        });
        write(store, changes.collect()).await;
    }
    assert_eq!(seen, before);
    let mut reversed = rows(&*snapshot, request(vec![range(b"", None)], true)).await;
    reversed.reverse();
    assert_eq!(reversed, before);
    for (key, value) in before.iter().step_by(17) {
        assert_eq!(get(&*snapshot, key).await.as_ref(), Some(value));
    }
    assert_eq!(
        get(&*snapshot, &[&1u32.to_be_bytes()[..], b"new"].concat()).await,
        None
    );
}

pub(super) async fn dropped_scans_and_snapshots_free_their_memory(store: &dyn Store) {
    let writes = |value: &[u8]| (0..100u8).map(|n| put([n], value)).collect::<Vec<_>>();
    write(store, writes(b"1")).await;
    let snapshot = store.snapshot().await.unwrap();
    let mut scan = snapshot.scan(ScanRequest {
        page_rows_max: 10,
        ..everything()
    });
    drop(snapshot);
    scan.next_page(&mut Page::new()).await.unwrap();
    write(store, writes(b"2")).await;
    assert_eq!(store.stats().snapshots, 1, "the scan holds its snapshot");
    let mut page = Page::new();
    scan.next_page(&mut page).await.unwrap();
    assert_eq!(page.row(0), (&[10][..], &b"1"[..]));
    // A page that nobody waits for any more is no harm either.
    drop(scan.next_page(&mut page));
    drop(scan);
    assert_eq!((store.stats().snapshots, store.stats().undo_bytes), (0, 0));
}

pub(super) async fn relaxed_commits_are_visible(store: &dyn Store) {
    for n in 0..20u8 {
        let batch = Batch {
            writes: vec![put(b"key", [n])],
            relaxed: n % 3 != 0,
            ..Batch::default()
        };
        store.commit(batch).await.unwrap();
        assert_eq!(
            get(&*store.snapshot().await.unwrap(), b"key").await,
            Some(vec![n])
        );
    }
    store
        .commit(Batch {
            relaxed: true,
            ..Batch::default()
        })
        .await
        .unwrap();
}

pub(super) async fn concurrent_commits_all_arrive(store: Arc<dyn Store>) {
    let writers: Vec<_> = (0..8u8)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for n in 0..25u8 {
                    write(&*store, vec![put([writer, n], [n]), put([writer], [n])]).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(keys(&*store, everything()).await.len(), 8 * 26);
    let stats = store.stats();
    assert!(stats.commits == 200 && stats.commit_groups <= 200, "{stats:?}");
}

pub(super) async fn delete_range_removes_exactly_the_range(store: &dyn Store) {
    write(
        store,
        (0..5000u32).map(|n| put(n.to_be_bytes(), b"value")).collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    // The commit that drops it.
    write(store, vec![delete(b"dropped")]).await;
    let (start, end) = (1000u32.to_be_bytes(), 4500u32.to_be_bytes());
    for _ in 0..2 {
        store.delete_range(range(&start, Some(&end))).await.unwrap();
        let expected: Vec<Vec<u8>> = (0..1000u32)
            .chain(4500..5000)
            .map(|n| n.to_be_bytes().to_vec())
            .collect();
        assert_eq!(keys(store, everything()).await, expected);
    }
    assert_eq!(
        rows(&*snapshot, everything()).await.len(),
        5000,
        "an older snapshot still sees them"
    );
    drop(snapshot);
    store.delete_range(range(b"", None)).await.unwrap();
    assert_eq!(keys(store, everything()).await, Vec::<Vec<u8>>::new());
    assert_eq!(store.stats().undo_bytes, 0);
}

pub(super) async fn checkpoints_change_nothing_that_is_read(store: Arc<dyn Store>) {
    store.checkpoint().await.unwrap();
    let old = store.snapshot().await.unwrap();
    for round in 0..20u8 {
        write(
            &*store,
            vec![put([b'a', round], [round]), delete([b'a', round.wrapping_sub(3)])],
        )
        .await;
        // Several at once, and beside a writer.
        let writes = write(&*store, vec![put(b"b", [round])]);
        let (one, other, ()) = futures::join!(store.checkpoint(), store.checkpoint(), writes);
        assert_eq!((one, other), (Ok(()), Ok(())));
    }
    assert!(rows(&*old, everything()).await.is_empty());
    let expected = [vec![b'a', 17], vec![b'a', 18], vec![b'a', 19], b"b".to_vec()];
    assert_eq!(keys(&*store, everything()).await, expected);
}

pub(super) async fn a_closed_store_says_so(store: &dyn Store) {
    write(store, vec![put(b"a", b"1")]).await;
    let snapshot = store.snapshot().await.unwrap();
    store.close().await.unwrap();
    assert_eq!(store.snapshot().await.err(), Some(Error::Shutdown));
    assert_eq!(store.commit(Batch::default()).await, Err(Error::Shutdown));
    assert_eq!(store.close().await, Err(Error::Shutdown));
    assert_eq!(
        snapshot.get_many(&[b"a".to_vec()]).await.err(),
        Some(Error::Shutdown)
    );
}
