//! Analytics: queries that read much of a table, one at a time; milliseconds, so that less is better. Beside them stands
//! how long the engine alone goes over what each query reads, on all processors.

use std::time::Instant;

use crate::raw;
use crate::report::Report;
use crate::system::System;
use crate::workload::{self, LOADED_ROWS, Sizes};

/// How much of the table a query reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    Whole,
    /// One channel of eight.
    Eighth,
}

/// What the table calls a query, what it reads, and the query.
const QUERIES: [(&str, Reads, &str); 10] = [
    ("count(*)", Reads::Whole, "SELECT count(*) FROM bench"),
    (
        "sum, avg, min, max",
        Reads::Whole,
        "SELECT sum(amount), avg(amount), min(amount), max(amount) FROM bench",
    ),
    (
        "GROUP BY an integer, three aggregates",
        Reads::Whole,
        "SELECT amount % 100, count(*), sum(id), max(id) FROM bench GROUP BY amount % 100",
    ),
    (
        "GROUP BY a text, the first 10",
        Reads::Whole,
        "SELECT location, count(*) FROM bench GROUP BY location ORDER BY count(*) DESC, location LIMIT 10",
    ),
    (
        "ORDER BY no key, LIMIT 10",
        Reads::Whole,
        "SELECT * FROM bench ORDER BY amount DESC LIMIT 10",
    ),
    (
        "five functions over an eighth",
        Reads::Eighth,
        "SELECT max(upper(note)), max(length(status)), max(abs(amount)), max(substr(note, 3)), max(round(id / 3.0)) \
         FROM bench WHERE channel = 'channel3'",
    ),
    (
        "date_trunc and sum",
        Reads::Whole,
        "SELECT date_trunc('hour', ts), sum(amount) FROM bench GROUP BY 1",
    ),
    (
        "self-join by key of a tenth",
        Reads::Eighth,
        "SELECT count(*) FROM bench a JOIN bench b ON b.channel = a.channel AND b.id = a.id \
         WHERE a.channel = 'channel3' AND b.channel = 'channel3'",
    ),
    (
        "DISTINCT",
        Reads::Whole,
        "SELECT count(*) FROM (SELECT DISTINCT amount % 1000 FROM bench) d",
    ),
    (
        "window over an eighth",
        Reads::Eighth,
        "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY amount DESC) r FROM bench \
         WHERE channel = 'channel3') w",
    ),
];

/// Measures every query on Keyspan and PostgreSQL in turns.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!(
        "analytics: {} rows, medians of {} rounds",
        sizes.rows, sizes.rounds
    );
    let mut report = Report::of_part(&heading, names).with_layers(&["sled"]);
    for system in &mut systems {
        workload::create_table(system).await;
        for first in (0..sizes.rows).step_by(LOADED_ROWS) {
            workload::load_rows(system, first, sizes.rows.min(first + LOADED_ROWS)).await;
        }
        system.settle().await;
    }
    for (name, _, sql) in QUERIES {
        // A round before those that count: caches fill.
        for round in 0..=sizes.rounds {
            for (at, system) in systems.iter().enumerate() {
                let client = system.connect().await;
                let start = Instant::now();
                client.simple_query(sql).await.expect("the query runs");
                if round > 0 {
                    report.add(name, "ms", at, start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        eprintln!("measured: {name}");
    }
    // The first system is Keyspan, whose files the engine reads.
    let mut data_dir = None;
    for system in systems {
        data_dir = data_dir.or(system.stop());
    }
    if let Some(data_dir) = data_dir {
        let scan = raw::scan_on_all_processors(&data_dir.path().join("data"), sizes.rounds);
        for (name, reads, _) in QUERIES {
            let part = match reads {
                Reads::Whole => 1.0,
                Reads::Eighth => 0.125,
            };
            report.add(name, "ms", Report::layer("sled"), scan.as_secs_f64() * 1e3 * part);
        }
    }
    report.table()
}
