//! The suite that every store passes: what the doc comments of `Store`, `Snapshot` and `Scan` promise, one function a
//! promise. Stores call `check_all` from their tests; it knows nothing of any one store.

use std::sync::Arc;

use super::{Batch, KeyRange, Page, ScanRequest, Snapshot, Store, Write};
use crate::Error;

/// Runs the whole suite, each check on a fresh, empty store.
pub(crate) async fn check_all(open: impl Fn() -> Arc<dyn Store>) {
    gets_answer_in_the_order_asked(&*open()).await;
    keys_that_extend_one_another_keep_their_order(&*open()).await;
    pages_end_by_rows(&*open()).await;
    pages_end_by_bytes(&*open()).await;
    ranges_are_half_open(&*open()).await;
    prefixes_ending_in_ff(&*open()).await;
    skip_to_only_goes_on(&*open()).await;
    keys_only_leaves_values_out(&*open()).await;
    empty_and_large_values(&*open()).await;
    a_failed_commit_leaves_nothing(&*open()).await;
    of_two_writers_of_a_key_one_wins(&*open()).await;
    unchanged_counts_puts_and_deletes(&*open()).await;
    blind_writes_never_conflict(&*open()).await;
    a_snapshot_sees_one_moment(&*open()).await;
    a_scan_of_an_old_snapshot_keeps_limits(&*open()).await;
    dropped_scans_and_snapshots_free_their_memory(&*open()).await;
    relaxed_commits_are_visible(&*open()).await;
    concurrent_commits_all_arrive(open()).await;
    delete_range_removes_exactly_the_range(&*open()).await;
    split_points_cut_inside(&*open()).await;
    a_closed_store_says_so(&*open()).await;
}

fn put(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Write {
    Write::Put {
        key: key.as_ref().to_vec(),
        value: value.as_ref().to_vec(),
    }
}

fn delete(key: impl AsRef<[u8]>) -> Write {
    Write::Delete {
        key: key.as_ref().to_vec(),
    }
}

fn range(start: &[u8], end: Option<&[u8]>) -> KeyRange {
    KeyRange {
        start: start.to_vec(),
        end: end.map(<[u8]>::to_vec),
    }
}

fn everything() -> ScanRequest {
    request(vec![range(b"", None)], false)
}

fn request(ranges: Vec<KeyRange>, reverse: bool) -> ScanRequest {
    ScanRequest {
        ranges,
        reverse,
        keys_only: false,
        page_rows_max: 1000,
        page_bytes_max: 1 << 20,
    }
}

async fn write(store: &dyn Store, writes: Vec<Write>) {
    store
        .commit(Batch {
            writes,
            ..Batch::default()
        })
        .await
        .expect("a blind commit");
}

/// Commits with keys that must not have changed.
async fn write_checked(
    store: &dyn Store,
    snapshot: &Arc<dyn Snapshot>,
    writes: Vec<Write>,
    unchanged: &[&[u8]],
) -> crate::Result<()> {
    let unchanged = unchanged.iter().map(|key| key.to_vec()).collect();
    store
        .commit(Batch {
            snapshot: Some(Arc::clone(snapshot)),
            writes,
            unchanged,
            relaxed: false,
        })
        .await
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The pages of a scan.
async fn pages(snapshot: &dyn Snapshot, request: ScanRequest) -> Vec<Rows> {
    let mut scan = snapshot.scan(request);
    let mut pages = Vec::new();
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await.expect("a page");
        if page.is_empty() {
            return pages;
        }
        pages.push(
            page.iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec()))
                .collect(),
        );
    }
}

async fn rows(snapshot: &dyn Snapshot, request: ScanRequest) -> Rows {
    pages(snapshot, request).await.concat()
}

async fn keys(store: &dyn Store, request: ScanRequest) -> Vec<Vec<u8>> {
    let snapshot = store.snapshot().await.expect("a snapshot");
    rows(&*snapshot, request)
        .await
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

async fn get(snapshot: &dyn Snapshot, key: &[u8]) -> Option<Vec<u8>> {
    let values = snapshot.get_many(&[key.to_vec()]).await.expect("a get");
    assert_eq!(values.len(), 1);
    values.get(0).map(<[u8]>::to_vec)
}

async fn gets_answer_in_the_order_asked(store: &dyn Store) {
    write(
        store,
        (0..200)
            .map(|n: u32| put(n.to_be_bytes(), n.to_string()))
            .collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    assert!(snapshot.get_many(&[]).await.unwrap().is_empty());
    // Few keys and many: stores may take different ways for them.
    for count in [3u32, 400] {
        let asked: Vec<u32> = (0..count)
            .map(|n| if n % 3 == 0 { 7 } else { count - n })
            .collect();
        let keys: Vec<Vec<u8>> = asked.iter().map(|n| n.to_be_bytes().to_vec()).collect();
        let values = snapshot.get_many(&keys).await.unwrap();
        assert_eq!(values.len(), keys.len());
        for (index, n) in asked.iter().enumerate() {
            let expected = (*n < 200).then(|| n.to_string());
            assert_eq!(
                values.get(index),
                expected.as_deref().map(str::as_bytes),
                "key {n}"
            );
        }
    }
    assert_eq!(get(&*snapshot, b"").await, None, "the empty key is no key");
}

async fn keys_that_extend_one_another_keep_their_order(store: &dyn Store) {
    let expected: Vec<Vec<u8>> = vec![
        vec![0],
        vec![0, 0],
        vec![1],
        vec![1, 0],
        vec![1, 0, 0],
        vec![1, 1],
        vec![2],
    ];
    write(store, expected.iter().rev().map(|key| put(key, b"v")).collect()).await;
    for page_rows_max in 1..=expected.len() {
        for reverse in [false, true] {
            let request = ScanRequest {
                page_rows_max,
                reverse,
                ..everything()
            };
            let mut found = keys(store, request).await;
            if reverse {
                found.reverse();
            }
            assert_eq!(found, expected, "pages of {page_rows_max}, reverse {reverse}");
        }
    }
}

async fn pages_end_by_rows(store: &dyn Store) {
    write(
        store,
        (0..1000u32).map(|n| put(n.to_be_bytes(), b"value")).collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    for reverse in [false, true] {
        for page_rows_max in [1, 7, 300, 5000] {
            let request = ScanRequest {
                page_rows_max,
                reverse,
                ..everything()
            };
            let pages = pages(&*snapshot, request).await;
            assert!(pages.iter().all(|page| page.len() <= page_rows_max));
            let mut found: Vec<Vec<u8>> = pages.concat().into_iter().map(|(key, _)| key).collect();
            if reverse {
                found.reverse();
            }
            assert_eq!(
                found,
                (0..1000u32).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>()
            );
        }
    }
}

async fn pages_end_by_bytes(store: &dyn Store) {
    let sizes = [10, 10, 10, 5000, 10, 10, 200_000, 10];
    write(
        store,
        sizes
            .iter()
            .zip(0u8..)
            .map(|(&size, n)| put([n], vec![n; size]))
            .collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    for reverse in [false, true] {
        let request = ScanRequest {
            page_bytes_max: 25,
            reverse,
            ..everything()
        };
        let pages = pages(&*snapshot, request).await;
        for page in &pages {
            let before_last: usize = page
                .iter()
                .rev()
                .skip(1)
                .map(|(key, value)| key.len() + value.len())
                .sum();
            assert!(before_last < 25, "a page went on after its limit");
        }
        let mut found: Vec<usize> = pages.concat().into_iter().map(|(_, value)| value.len()).collect();
        if reverse {
            found.reverse();
        }
        assert_eq!(found, sizes);
    }
}

async fn ranges_are_half_open(store: &dyn Store) {
    write(store, (0..100u8).map(|n| put([n], [n])).collect()).await;
    let ranges = vec![
        range(&[5], Some(&[8])),
        range(&[8], Some(&[8, 0])),
        range(&[20, 1], Some(&[21])),
        range(&[50], Some(&[52, 3])),
        range(&[97], None),
    ];
    let mut expected: Vec<Vec<u8>> = [5, 6, 7, 8, 50, 51, 52, 97, 98, 99].map(|n| vec![n]).to_vec();
    for page_rows_max in [1, 2, 3, 100] {
        let scan = ScanRequest {
            page_rows_max,
            ..request(ranges.clone(), false)
        };
        assert_eq!(keys(store, scan).await, expected);
    }
    expected.reverse();
    for page_rows_max in [1, 2, 3, 100] {
        let scan = ScanRequest {
            page_rows_max,
            ..request(ranges.clone(), true)
        };
        assert_eq!(keys(store, scan).await, expected);
    }
    for nothing in [
        vec![],
        vec![range(&[200], None)],
        vec![range(&[5, 0], Some(&[6]))],
    ] {
        assert_eq!(
            keys(store, request(nothing.clone(), false)).await,
            Vec::<Vec<u8>>::new()
        );
        assert_eq!(keys(store, request(nothing, true)).await, Vec::<Vec<u8>>::new());
    }
}

async fn prefixes_ending_in_ff(store: &dyn Store) {
    let all: Vec<Vec<u8>> = vec![
        vec![1],
        vec![1, 0xFF],
        vec![1, 0xFF, 0xFF],
        vec![2],
        vec![0xFF],
        vec![0xFF, 0xFF, 7],
    ];
    write(store, all.iter().map(|key| put(key, b"")).collect()).await;
    let within = |prefix: &[u8]| {
        let end = crate::codec::prefix_end(prefix);
        vec![range(prefix, end.as_deref())]
    };
    assert_eq!(keys(store, request(within(&[1, 0xFF]), false)).await, all[1..3]);
    assert_eq!(keys(store, request(within(&[0xFF]), false)).await, all[4..]);
    assert_eq!(keys(store, request(within(&[0xFF, 0xFF]), true)).await, all[5..]);
}

async fn skip_to_only_goes_on(store: &dyn Store) {
    write(store, (0..200u8).map(|n| put([n], [n])).collect()).await;
    let snapshot = store.snapshot().await.unwrap();
    let ranges = vec![range(&[10], Some(&[20])), range(&[100], Some(&[150]))];
    let cases: [(bool, &[u8], u8); 8] = [
        (false, &[15], 15),
        (false, &[15, 0], 16),
        (false, &[30], 100),
        (false, &[1], 12),
        (true, &[120], 120),
        (true, &[120, 0], 120),
        (true, &[50], 19),
        (true, &[180], 147),
    ];
    for (reverse, key, expected) in cases {
        let mut scan = snapshot.scan(ScanRequest {
            page_rows_max: 2,
            ..request(ranges.clone(), reverse)
        });
        let mut page = Page::new();
        scan.next_page(&mut page).await.unwrap();
        assert_eq!(page.row(1).0, if reverse { [148] } else { [11] });
        scan.skip_to(key);
        scan.next_page(&mut page).await.unwrap();
        assert_eq!(page.row(0).0, [expected], "skip to {key:?}, reverse {reverse}");
    }
    let mut scan = snapshot.scan(request(ranges, false));
    scan.skip_to(&[150]);
    let mut page = Page::new();
    scan.next_page(&mut page).await.unwrap();
    assert!(page.is_empty(), "skipped beyond the last range");
}

async fn keys_only_leaves_values_out(store: &dyn Store) {
    write(
        store,
        (0..300u32).map(|n| put(n.to_be_bytes(), b"value")).collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    write(
        store,
        (0..300u32).step_by(3).map(|n| delete(n.to_be_bytes())).collect(),
    )
    .await;
    let found = rows(
        &*snapshot,
        ScanRequest {
            keys_only: true,
            ..everything()
        },
    )
    .await;
    assert_eq!(found.len(), 300);
    assert!(found.iter().all(|(_, value)| value.is_empty()));
}

async fn empty_and_large_values(store: &dyn Store) {
    let large: Vec<u8> = (0..1 << 20).map(|n: u32| (n % 251) as u8).collect();
    write(
        store,
        vec![put(b"empty", b""), put(b"large", &large), put(b"z", b"small")],
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
    write(store, vec![delete(b"empty"), put(b"large", b"not any more")]).await;
    assert_eq!(get(&*snapshot, b"empty").await.as_deref(), Some(&b""[..]));
    assert_eq!(get(&*snapshot, b"large").await.as_ref(), Some(&large));
    let expected: Rows = vec![
        (b"empty".to_vec(), Vec::new()),
        (b"large".to_vec(), large),
        (b"z".to_vec(), b"small".to_vec()),
    ];
    assert_eq!(rows(&*snapshot, everything()).await, expected);
}

async fn a_failed_commit_leaves_nothing(store: &dyn Store) {
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

async fn of_two_writers_of_a_key_one_wins(store: &dyn Store) {
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

async fn unchanged_counts_puts_and_deletes(store: &dyn Store) {
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

async fn blind_writes_never_conflict(store: &dyn Store) {
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

async fn a_snapshot_sees_one_moment(store: &dyn Store) {
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

async fn a_scan_of_an_old_snapshot_keeps_limits(store: &dyn Store) {
    let count = 3000u32;
    write(store, (0..count).map(|n| put(n.to_be_bytes(), [7; 20])).collect()).await;
    let snapshot = store.snapshot().await.unwrap();
    write(
        store,
        (0..count)
            .filter(|n| n % 10 != 0)
            .map(|n| delete(n.to_be_bytes()))
            .collect(),
    )
    .await;
    write(
        store,
        (0..count)
            .map(|n| put([&n.to_be_bytes()[..], &[1]].concat(), b"new"))
            .collect(),
    )
    .await;
    for reverse in [false, true] {
        let scan = ScanRequest {
            page_rows_max: 100,
            page_bytes_max: 1000,
            reverse,
            ..everything()
        };
        let pages = pages(&*snapshot, scan).await;
        for page in &pages {
            let before_last: usize = page
                .iter()
                .rev()
                .skip(1)
                .map(|(key, value)| key.len() + value.len())
                .sum();
            assert!(page.len() <= 100 && before_last < 1000);
        }
        let mut found: Vec<Vec<u8>> = pages.concat().into_iter().map(|(key, _)| key).collect();
        if reverse {
            found.reverse();
        }
        assert_eq!(
            found,
            (0..count).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>()
        );
    }
}

async fn dropped_scans_and_snapshots_free_their_memory(store: &dyn Store) {
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

async fn relaxed_commits_are_visible(store: &dyn Store) {
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

async fn concurrent_commits_all_arrive(store: Arc<dyn Store>) {
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

async fn delete_range_removes_exactly_the_range(store: &dyn Store) {
    write(
        store,
        (0..5000u32).map(|n| put(n.to_be_bytes(), b"value")).collect(),
    )
    .await;
    let snapshot = store.snapshot().await.unwrap();
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

async fn split_points_cut_inside(store: &dyn Store) {
    let all = range(b"", None);
    assert_eq!(
        store.split_points(all.clone(), 4).await.unwrap(),
        Vec::<Vec<u8>>::new()
    );
    write(
        store,
        (0..25_000u32).map(|n| put((n * 13).to_be_bytes(), b"")).collect(),
    )
    .await;
    for (range, count) in [
        (all, 25_000),
        (range(&130u32.to_be_bytes(), Some(&13_000u32.to_be_bytes())), 990),
    ] {
        assert_eq!(
            store.split_points(range.clone(), 1).await.unwrap(),
            Vec::<Vec<u8>>::new()
        );
        let cuts = store.split_points(range.clone(), 4).await.unwrap();
        assert_eq!(cuts.len(), 3);
        assert!(
            cuts.is_sorted() && range.start < cuts[0] && range.end.as_ref().is_none_or(|end| cuts[2] < *end)
        );
        let starts = [&[range.start.clone()], &cuts[..]].concat();
        let ends = [cuts.iter().cloned().map(Some).collect(), vec![range.end.clone()]].concat();
        for (start, end) in starts.into_iter().zip(ends) {
            let part = keys(store, request(vec![KeyRange { start, end }], false))
                .await
                .len();
            assert!(
                part > count / 8 && part < count / 2,
                "a part has {part} of {count}"
            );
        }
    }
}

async fn a_closed_store_says_so(store: &dyn Store) {
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
