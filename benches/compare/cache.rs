//! What becomes of reads when the data outgrow the cache: the same table at a small and at a large size, point reads all
//! over it, the first and the second count of everything, and memory against what the cache's setting says.

use std::time::Instant;

use crate::report::Report;
use crate::system::{System, stores};
use crate::workload::{self, LOADED_ROWS, Sizes, number};

/// Point reads of each of 8 connections in a round.
const POINTS_EACH: usize = 2_000;
/// Keyspan's cache: a fraction of the data, as PostgreSQL's shared buffers are by default.
const CACHE: &str = "256MB";
/// The small size is this part of the large one.
const SMALL_PART: usize = 8;

/// Measures every store and PostgreSQL, one after the other, so that one at a time has the machine's memory.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_CACHE_ROWS", 8_000_000).max(SMALL_PART * LOADED_ROWS);
    let heading = format!(
        "beyond the cache: {rows} rows, Keyspan with a cache of {CACHE}, medians of {} rounds",
        sizes.rounds
    );
    let mut report = Report::of_part(&heading, Vec::new());
    for store in stores() {
        let system =
            System::keyspan_on(store, format!("Keyspan on {store}"), &["--cache-bytes", CACHE]).await;
        measure_one(&mut report, system, rows, sizes).await;
    }
    if let Some(system) = System::postgresql().await {
        measure_one(&mut report, system, rows, sizes).await;
    }
    report.table()
}

async fn measure_one(report: &mut Report, mut system: System, rows: usize, sizes: &Sizes) {
    let column = report.add_system(system.name());
    let small = rows / SMALL_PART;
    workload::create_table(&system).await;
    let start = Instant::now();
    load(&mut system, 0, small).await;
    points(
        report,
        column,
        "point reads, 8 connections, the table small",
        &system,
        small,
        sizes,
    )
    .await;
    load(&mut system, small, rows).await;
    let speed = rows as f64 / start.elapsed().as_secs_f64();
    report.add("load, reads between included", "rows/s", column, speed);
    points(
        report,
        column,
        "point reads, 8 connections, the table large",
        &system,
        rows,
        sizes,
    )
    .await;
    let mut system = system.restart().await;
    for name in ["first count of values after a start", "second count of values"] {
        let start = Instant::now();
        let client = system.connect().await;
        let counted = client.query_one("SELECT count(note) FROM bench", &[]).await;
        let counted: i64 = counted.expect("the rows are counted").get(0);
        assert_eq!(counted as usize, rows);
        report.add(name, "s", column, start.elapsed().as_secs_f64());
        system.sample_memory();
    }
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let cache = size_bytes(&system.cache_setting().await);
    report.add("cache, by its setting", "MiB", column, mebibytes(cache));
    report.add(
        "memory after the counts",
        "MiB",
        column,
        mebibytes(system.memory_bytes()),
    );
    report.add("peak memory", "MiB", column, mebibytes(system.memory_bytes_max()));
    eprintln!("measured: beyond the cache, {}", system.name());
    system.stop();
}

async fn load(system: &mut System, first: usize, end: usize) {
    for at in (first..end).step_by(LOADED_ROWS) {
        workload::load_rows(system, at, end.min(at + LOADED_ROWS)).await;
        if at % (100 * LOADED_ROWS) == 0 {
            system.sample_memory();
        }
    }
    system.settle().await;
}

async fn points(
    report: &mut Report,
    column: usize,
    name: &'static str,
    system: &System,
    rows: usize,
    sizes: &Sizes,
) {
    // A round before that counts: what comes first warms up whatever fits into the cache.
    for round in 0..=sizes.rounds {
        let speed = workload::uniform_points(system, POINTS_EACH, rows, round).await;
        if round > 0 {
            report.add(name, "reads/s", column, speed);
        }
    }
}

/// The bytes of a size that PostgreSQL's SHOW prints.
fn size_bytes(text: &str) -> u64 {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().expect("a size begins with a number");
    let units = ["B", "kB", "MB", "GB", "TB"];
    let unit = units.iter().position(|unit| *unit == &text[digits..]);
    number << (10 * unit.unwrap_or(0))
}
