//! The layers below SQL over the files that Keyspan left: its store (snapshots, pages), and the engine alone.

use std::path::Path;
use std::time::Instant;

use keyspan::store::{KeyRange, Page, ScanRequest, StoreKind, StoreOptions, open_store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::report::Report;
use crate::workload::{Sizes, Workload};

/// Keys read one by one in a round.
const POINTS: usize = 50_000;

/// Measures both layers.
pub(crate) async fn measure(report: &mut Report, data_dir: &Path, sizes: &Sizes) {
    let keys = store(report, &data_dir.join("data"), sizes).await;
    engine(report, &data_dir.join("data/sled"), &keys, sizes);
}

/// Reads through the store; gives a sample of its keys.
async fn store(report: &mut Report, data_dir: &Path, sizes: &Sizes) -> Vec<Vec<u8>> {
    let column = Report::layer("store");
    let store = open_store(StoreKind::Sled, data_dir, &StoreOptions::default()).expect("the store opens");
    let snapshot = store.snapshot().await.expect("a snapshot");
    let mut sample = Vec::new();
    for round in 0..sizes.rounds {
        let mut scan = snapshot.scan(ScanRequest {
            read_ahead: false,
            ranges: vec![KeyRange {
                start: vec![0],
                end: None,
            }],
            reverse: false,
            keys_only: false,
            page_rows_max: 4096,
            page_bytes_max: 1 << 20,
        });
        let (mut page, mut rows, start) = (Page::new(), 0, Instant::now());
        loop {
            scan.next_page(&mut page).await.expect("a page");
            if page.is_empty() {
                break;
            }
            rows += page.len();
            if round == 0 {
                sample.extend(page.iter().map(|(key, _)| key.to_vec()).step_by(7));
            }
        }
        let (name, unit) = (Workload::Stream.name(), Workload::Stream.unit());
        if round > 0 || sizes.rounds == 1 {
            report.add(name, unit, column, rows as f64 / start.elapsed().as_secs_f64());
        }
    }
    let mut random = StdRng::seed_from_u64(1);
    let mut some = |count: usize| -> Vec<Vec<u8>> {
        (0..count)
            .map(|_| sample[random.random_range(0..sample.len())].clone())
            .collect()
    };
    for (workload, keys_each) in [
        (Workload::PointPrepared, 1),
        (Workload::MultiGet100, 100),
        (Workload::MultiGet2000, 2_000),
    ] {
        for _ in 0..sizes.rounds {
            let requests: Vec<_> = (0..POINTS / keys_each).map(|_| some(keys_each)).collect();
            let start = Instant::now();
            for keys in &requests {
                let values = snapshot.get_many(keys).await.expect("the values");
                assert!(values.get(0).is_some());
            }
            let speed = (requests.len() * keys_each) as f64 / start.elapsed().as_secs_f64();
            report.add(workload.name(), workload.unit(), column, speed);
        }
    }
    drop(snapshot);
    store.close().await.expect("the store closes");
    sample
}

/// Reads through sled alone.
fn engine(report: &mut Report, folder: &Path, keys: &[Vec<u8>], sizes: &Sizes) {
    let column = Report::layer("sled");
    let db = sled::Config::new()
        .path(folder)
        .cache_capacity(256 << 20)
        .open()
        .expect("sled opens");
    for _ in 0..sizes.rounds {
        let start = Instant::now();
        let rows = db
            .iter()
            .fold(0usize, |rows, entry| rows + usize::from(entry.is_ok()));
        let (name, unit) = (Workload::Stream.name(), Workload::Stream.unit());
        report.add(name, unit, column, rows as f64 / start.elapsed().as_secs_f64());
    }
    let mut random = StdRng::seed_from_u64(2);
    for workload in [
        Workload::PointPrepared,
        Workload::MultiGet100,
        Workload::MultiGet2000,
    ] {
        for _ in 0..sizes.rounds {
            let wanted: Vec<_> = (0..POINTS)
                .map(|_| &keys[random.random_range(0..keys.len())])
                .collect();
            let start = Instant::now();
            let found = wanted
                .iter()
                .filter(|key| db.get(key).expect("sled reads").is_some())
                .count();
            let speed = POINTS as f64 / start.elapsed().as_secs_f64();
            assert_eq!(found, POINTS);
            report.add(workload.name(), workload.unit(), column, speed);
        }
    }
}
