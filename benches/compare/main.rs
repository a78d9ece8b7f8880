//! Keyspan beside PostgreSQL on one machine: `cargo bench --bench compare` prints one table of medians and ratios.
//!
//! Both systems get the same rows over loopback TCP through the same driver, with durable commits. Every figure is the
//! median over several rounds in which the systems take turns. Beside them stand the store and the raw engine read in
//! this process, over the very files that Keyspan wrote, so that the cost of each layer shows.
//!
//! `cargo bench --bench compare -- range stream` measures only what has one of these words in its name, after loading
//! (the parts `compare`, `stores` and `shapes`).
//! Sizes: `KEYSPAN_BENCH_ROWS` (rows of the table, 1,000,000), `KEYSPAN_BENCH_ROUNDS` (5). PostgreSQL is left out where
//! `initdb` is not installed.
//!
//! `KEYSPAN_BENCH_PARTS` names other parts, each a table of its own, parted by commas, or `all`:
//!
//! | part | what it measures | sizes |
//! |---|---|---|
//! | `compare` | what stands above (the default) | |
//! | `stores` | the same, with Keyspan on each of its stores | |
//! | `cache` | reads when data outgrow the cache, and memory | `KEYSPAN_BENCH_CACHE_ROWS` (8,000,000) |
//! | `large-commit` | small commits beside one of a million rows | `KEYSPAN_BENCH_LARGE_ROWS` (1,000,000) |
//! | `checkpoints` | small commits with and without checkpoints | |
//! | `recovery` | the start after a kill | `KEYSPAN_BENCH_LOG_BYTES` (1 GB) |
//! | `statements` | short statements in both protocols | `KEYSPAN_BENCH_STATEMENT_ROWS` (100,000) |
//! | `shapes` | statements of many shapes, prepared | `KEYSPAN_BENCH_STATEMENT_ROWS` (100,000) |
//! | `indexes` | reads through indexes, along keys, by lookups | |
//! | `analytics` | queries that read much; milliseconds | |
//! | `bulk` | COPY in and out, indexes and keys over rows; seconds, and processor seconds of the server | |
//! | `wide` | what expiry, versions and many columns cost | `KEYSPAN_BENCH_WIDE_ROWS` (20,000), `KEYSPAN_BENCH_EXPIRED_ROWS` (1,000,000) |
//! | `tpch` | the 22 queries of TPC-H, answers compared; milliseconds | `KEYSPAN_BENCH_TPCH_DATA` (a folder of .tbl files) |

#![allow(clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod analytics;
mod bulk;
mod cache;
mod commits;
mod floor;
mod indexes;
mod part;
mod raw;
mod recovery;
mod report;
mod shapes;
mod statements;
mod system;
mod tpch;
mod wide;
mod workload;

use part::Part;
use report::Report;
use system::System;
use workload::{Sizes, Workload, is_wanted};

#[tokio::main]
async fn main() {
    // `cargo test --benches` and `cargo bench -- --test` only ask whether the program starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if floor::serve_if_asked().await {
        return;
    }
    let sizes = Sizes::from_environment();
    for part in Part::from_environment() {
        let table = match part {
            Part::Compare => compare(vec![System::keyspan().await], &sizes).await,
            Part::Stores => compare(System::keyspan_on_each().await, &sizes).await,
            Part::Cache => cache::measure(&sizes).await,
            Part::LargeCommit => commits::beside_large(&sizes).await,
            Part::Checkpoints => commits::with_checkpoints(&sizes).await,
            Part::Recovery => recovery::measure(&sizes).await,
            Part::Statements => statements::measure(&sizes).await,
            Part::Shapes => shapes::measure(&sizes).await,
            Part::Indexes => indexes::measure(&sizes).await,
            Part::Analytics => analytics::measure(&sizes).await,
            Part::Tpch => tpch::measure().await,
            Part::Bulk => bulk::measure(&sizes).await,
            Part::Wide => wide::measure(&sizes).await,
        };
        println!("{table}\n");
    }
}

/// Measures every workload on Keyspan and PostgreSQL, and the layers below.
async fn compare(mut systems: Vec<System>, sizes: &Sizes) -> String {
    systems.extend(System::postgresql().await);
    let mut report = Report::new(sizes, &systems);
    load(&mut report, &mut systems, sizes).await;
    for workload in Workload::ALL
        .into_iter()
        .filter(|workload| is_wanted(workload.name()))
    {
        for round in 0..sizes.rounds {
            for (at, system) in systems.iter_mut().enumerate() {
                report.add(
                    workload.name(),
                    workload.unit(),
                    at,
                    workload.run(system, sizes, round).await,
                );
                system.sample_memory();
            }
        }
        eprintln!("measured: {}", workload.name());
    }
    for (at, system) in systems.iter().enumerate() {
        report.add(
            "peak memory",
            "MiB",
            at,
            system.memory_bytes_max() as f64 / f64::from(1 << 20),
        );
    }
    // The first system is Keyspan on its default store, whose files the layers below read.
    let mut data_dir = None;
    for system in systems {
        data_dir = data_dir.or(system.stop());
    }
    if let Some(data_dir) = data_dir {
        raw::measure(&mut report, data_dir.path(), sizes).await;
    }
    report.table()
}

/// Fills both tables, a few statements of 1,000 rows at a time in turns; each statement's speed is a measurement.
async fn load(report: &mut Report, systems: &mut [System], sizes: &Sizes) {
    for system in systems.iter_mut() {
        workload::create_table(system).await;
    }
    for start in (0..sizes.rows).step_by(workload::LOADED_ROWS * 10) {
        for (at, system) in systems.iter_mut().enumerate() {
            for first in
                (start..sizes.rows.min(start + workload::LOADED_ROWS * 10)).step_by(workload::LOADED_ROWS)
            {
                let speed =
                    workload::load_rows(system, first, sizes.rows.min(first + workload::LOADED_ROWS)).await;
                report.add("inserts of 1,000 rows, durable", "rows/s", at, speed);
            }
            system.sample_memory();
        }
    }
    for system in systems.iter_mut() {
        system.settle().await;
    }
    eprintln!("loaded {} rows", sizes.rows);
}
