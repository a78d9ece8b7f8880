//! The layers below SQL over the files that Keyspan left: its store (snapshots, pages), and each engine alone.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use keyspan::StoreKind;
use keyspan::layers::{
    Engine, EngineBatch, FjallEngine, KeyRange, Page, ScanRequest, SledEngine, StoreOptions, open_store,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::report::Report;
use crate::workload::{Sizes, Workload};

/// Keys read one by one in a round.
const POINTS: usize = 50_000;

/// The copy for fjall is written in batches of this size.
const BATCH_BYTES: usize = 1 << 20;

/// Measures all layers.
pub(crate) async fn measure(report: &mut Report, data_dir: &Path, sizes: &Sizes) {
    let keys = store(report, &data_dir.join("data"), sizes).await;
    engines(report, &data_dir.join("data"), &keys, sizes);
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

/// Reads through each engine alone: sled has the server's own data, fjall a copy.
fn engines(report: &mut Report, data_dir: &Path, keys: &[Vec<u8>], sizes: &Sizes) {
    let cache_bytes = StoreOptions::default().cache_bytes;
    let lock = File::open(data_dir).expect("the data directory is there");
    let sled = SledEngine::open(data_dir, cache_bytes, lock).expect("sled opens");
    engine(report, "sled", &sled, keys, sizes);
    let copy = tempfile::tempdir().expect("a temporary folder");
    let lock = File::open(copy.path()).expect("the folder is there");
    let fjall = FjallEngine::open(copy.path(), cache_bytes, lock).expect("fjall opens");
    let mut batch = EngineBatch::default();
    sled.scan(&[], None, false, &mut |key, value| {
        batch.put(key, &[value]);
        if batch.size_bytes() > BATCH_BYTES {
            let full = std::mem::take(&mut batch);
            fjall.apply(&full).expect("fjall writes");
        }
        ControlFlow::Continue(())
    })
    .expect("sled reads");
    fjall.apply(&batch).expect("fjall writes");
    fjall.make_durable().expect("fjall syncs");
    engine(report, "fjall", &fjall, keys, sizes);
}

/// Scans and gets of one engine.
fn engine(report: &mut Report, name: &str, engine: &dyn Engine, keys: &[Vec<u8>], sizes: &Sizes) {
    let column = Report::layer(name);
    for _ in 0..sizes.rounds {
        let (mut rows, start) = (0, Instant::now());
        let count = &mut |_: &[u8], _: &[u8]| {
            rows += 1;
            ControlFlow::Continue(())
        };
        engine.scan(&[], None, false, count).expect("the engine reads");
        let (name, unit) = (Workload::Stream.name(), Workload::Stream.unit());
        report.add(
            name,
            unit,
            column,
            f64::from(rows) / start.elapsed().as_secs_f64(),
        );
    }
    let mut random = StdRng::seed_from_u64(2);
    for workload in [
        Workload::PointPrepared,
        Workload::MultiGet100,
        Workload::MultiGet2000,
    ] {
        for _ in 0..sizes.rounds {
            let (mut found, start) = (0, Instant::now());
            for _ in 0..POINTS {
                let key = &keys[random.random_range(0..keys.len())];
                engine.get(key, &mut |_| found += 1).expect("the engine reads");
            }
            let speed = POINTS as f64 / start.elapsed().as_secs_f64();
            assert_eq!(found, POINTS);
            report.add(workload.name(), workload.unit(), column, speed);
        }
    }
}

/// How long sled alone goes over all entries with a reader for each processor: the median.
pub(crate) fn scan_on_all_processors(data_dir: &Path, rounds: usize) -> Duration {
    let lock = File::open(data_dir).expect("the data directory is there");
    let cache_bytes = StoreOptions::default().cache_bytes;
    let engine = SledEngine::open(data_dir, cache_bytes, lock).expect("sled opens");
    let borders = borders(&engine);
    let mut times: Vec<Duration> = (0..rounds.max(1))
        .map(|_| {
            let (engine, start) = (&engine, Instant::now());
            std::thread::scope(|scope| {
                for pair in borders.windows(2) {
                    let (from, to) = (&pair[0], &pair[1]);
                    scope.spawn(move || {
                        let end = (!to.is_empty()).then_some(to.as_slice());
                        let go_on = &mut |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                        engine.scan(from, end, false, go_on).expect("the engine reads");
                    });
                }
            });
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Keys that part the entries evenly among the processors; the empty key at both ends.
fn borders(engine: &SledEngine) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let take = &mut |key: &[u8], _: &[u8]| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    };
    engine.scan(&[], None, false, take).expect("the engine reads");
    let parts = std::thread::available_parallelism().map_or(1, |count| count.get());
    let inner = (1..parts).filter_map(|part| keys.get(keys.len() * part / parts).cloned());
    [vec![]].into_iter().chain(inner).chain([vec![]]).collect()
}
