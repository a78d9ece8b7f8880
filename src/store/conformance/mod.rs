//! The suite that every store passes: what the doc comments of `Store`, `Snapshot` and `Scan` promise, one function a
//! promise. Stores call `check_all` from their tests; it knows nothing of any one store.

mod commits;
mod locks;
mod reads;

use std::sync::Arc;

use super::{Batch, KeyRange, Page, ScanRequest, Snapshot, Store, Write};

/// Runs the whole suite, each check on a fresh, empty store.
pub(crate) async fn check_all(open: impl Fn() -> Arc<dyn Store>) {
    reads::gets_answer_in_the_order_asked(&*open()).await;
    reads::keys_that_extend_one_another_keep_their_order(&*open()).await;
    reads::pages_end_by_rows(&*open()).await;
    reads::pages_end_by_bytes(&*open()).await;
    reads::ranges_are_half_open(&*open()).await;
    reads::prefixes_ending_in_ff(&*open()).await;
    reads::runs_of_00_and_ff_keep_their_order(&*open()).await;
    reads::skip_to_only_goes_on(&*open()).await;
    reads::keys_only_leaves_values_out(&*open()).await;
    reads::empty_and_large_values(&*open()).await;
    commits::a_failed_commit_leaves_nothing(&*open()).await;
    commits::of_two_writers_of_a_key_one_wins(&*open()).await;
    commits::unchanged_counts_puts_and_deletes(&*open()).await;
    commits::blind_writes_never_conflict(&*open()).await;
    commits::a_snapshot_sees_one_moment(&*open()).await;
    reads::a_scan_of_an_old_snapshot_keeps_limits(&*open()).await;
    commits::dropped_scans_and_snapshots_free_their_memory(&*open()).await;
    commits::relaxed_commits_are_visible(&*open()).await;
    commits::concurrent_commits_all_arrive(open()).await;
    commits::delete_range_removes_exactly_the_range(&*open()).await;
    commits::checkpoints_change_nothing_that_is_read(open()).await;
    reads::split_points_cut_inside(&*open()).await;
    locks::a_lock_tells_what_is_committed_under_its_key(&*open()).await;
    locks::who_waited_sees_what_the_holder_committed(open()).await;
    locks::a_range_is_locked_where_it_is_as_it_should_be(&*open()).await;
    commits::a_closed_store_says_so(&*open()).await;
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
        // So that every check of both directions is one of both ways to read, too.
        read_ahead: reverse,
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
            ..Batch::default()
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
