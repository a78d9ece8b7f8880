//! What the suite asks of reads: gets, scans and their pages, ranges, `skip_to`. Called by `check_all`.

use super::*;

pub(super) async fn gets_answer_in_the_order_asked(store: &dyn Store) {
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

pub(super) async fn keys_that_extend_one_another_keep_their_order(store: &dyn Store) {
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

pub(super) async fn pages_end_by_rows(store: &dyn Store) {
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

pub(super) async fn pages_end_by_bytes(store: &dyn Store) {
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
            read_ahead: false,
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

pub(super) async fn ranges_are_half_open(store: &dyn Store) {
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

pub(super) async fn prefixes_ending_in_ff(store: &dyn Store) {
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

/// Small negative and positive numbers as keys hold them, rising and falling: up to seven bytes of FF or 00 in a row.
pub(super) async fn runs_of_00_and_ff_keep_their_order(store: &dyn Store) {
    let key = crate::store::engine_tests::number_key;
    let falling = |n| key(n).iter().map(|byte| !byte).collect::<Vec<_>>();
    let both = (-700..700).flat_map(|n| [put(key(n), b""), put(falling(n), b"")]);
    write(store, both.collect()).await;
    for (from, to) in [(-700, 700), (-700, 0), (-257, -1), (-255, 255), (0, 700), (-1, 1)] {
        let mut expected: Vec<Vec<u8>> = (from..to).map(key).collect();
        let ranges = vec![range(&key(from), Some(&key(to)))];
        assert_eq!(keys(store, request(ranges.clone(), false)).await, expected);
        expected.reverse();
        assert_eq!(
            keys(store, request(ranges, true)).await,
            expected,
            "{from} to {to}"
        );
        let expected: Vec<Vec<u8>> = (from + 1..=to.min(699)).map(falling).collect();
        let ranges = vec![range(&falling(to), Some(&falling(from)))];
        assert_eq!(
            keys(store, request(ranges, true)).await,
            expected,
            "falling, {from} to {to}"
        );
    }
}

pub(super) async fn skip_to_only_goes_on(store: &dyn Store) {
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

pub(super) async fn keys_only_leaves_values_out(store: &dyn Store) {
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

pub(super) async fn empty_and_large_values(store: &dyn Store) {
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

pub(super) async fn a_scan_of_an_old_snapshot_keeps_limits(store: &dyn Store) {
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
            read_ahead: false,
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

pub(super) async fn split_points_cut_inside(store: &dyn Store) {
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
        let starts = [std::slice::from_ref(&range.start), &cuts[..]].concat();
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
