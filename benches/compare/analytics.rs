//! Analytics: queries that read much of a table, one at a time; milliseconds, so that less is better.

use std::time::Instant;

use crate::report::Report;
use crate::system::System;
use crate::workload::{self, LOADED_ROWS, Sizes};

/// What the table calls a query, and the query.
const QUERIES: [(&str, &str); 10] = [
    ("count(*)", "SELECT count(*) FROM bench"),
    (
        "sum, avg, min, max",
        "SELECT sum(amount), avg(amount), min(amount), max(amount) FROM bench",
    ),
    (
        "GROUP BY an integer, three aggregates",
        "SELECT amount % 100, count(*), sum(id), max(id) FROM bench GROUP BY amount % 100",
    ),
    (
        "GROUP BY a text, the first 10",
        "SELECT location, count(*) FROM bench GROUP BY location ORDER BY count(*) DESC, location LIMIT 10",
    ),
    (
        "ORDER BY no key, LIMIT 10",
        "SELECT * FROM bench ORDER BY amount DESC LIMIT 10",
    ),
    (
        "five functions over an eighth",
        "SELECT max(upper(note)), max(length(status)), max(abs(amount)), max(substr(note, 3)), max(round(id / 3.0)) \
         FROM bench WHERE channel = 'channel3'",
    ),
    (
        "date_trunc and sum",
        "SELECT date_trunc('hour', ts), sum(amount) FROM bench GROUP BY 1",
    ),
    (
        "self-join by key of a tenth",
        "SELECT count(*) FROM bench a JOIN bench b ON b.channel = a.channel AND b.id = a.id \
         WHERE a.channel = 'channel3' AND b.channel = 'channel3'",
    ),
    (
        "DISTINCT",
        "SELECT count(*) FROM (SELECT DISTINCT amount % 1000 FROM bench) d",
    ),
    (
        "window over an eighth",
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
    let mut report = Report::of_part(&heading, names);
    for system in &mut systems {
        workload::create_table(system).await;
        for first in (0..sizes.rows).step_by(LOADED_ROWS) {
            workload::load_rows(system, first, sizes.rows.min(first + LOADED_ROWS)).await;
        }
        system.settle().await;
    }
    for (name, sql) in QUERIES {
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
    for system in systems {
        system.stop();
    }
    report.table()
}
