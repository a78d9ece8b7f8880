//! Rows in bulk: COPY in and out, indexes and keys over tables that have rows. Seconds, and of each the processor time of the server,
//! which other work on the machine changes less.

use std::time::Instant;

use futures::{SinkExt, TryStreamExt};
use tokio_postgres::Client;

use crate::report::Report;
use crate::system::System;
use crate::workload::Sizes;

/// Bytes of a piece of data.
const PIECE_BYTES: usize = 64 << 10;

const COLUMNS: &str = "id int, g int, amount numeric(12,2), name text, at timestamp, status text";

/// What a step does.
enum Step {
    Run(&'static str),
    CopyIn(&'static str),
    CopyOut(&'static str),
}

/// The name of each step, `None`: it is not measured; in the order in which they run.
const STEPS: [(Option<&str>, Step); 13] = [
    (None, Step::Run("DROP TABLE IF EXISTS t, u")),
    (None, Step::Run("CREATE TABLE t ({columns}, PRIMARY KEY (id))")),
    (None, Step::Run("CREATE TABLE u ({columns})")),
    (Some("COPY in, a primary key"), Step::CopyIn("t")),
    (Some("COPY in, no key"), Step::CopyIn("u")),
    (Some("COPY out"), Step::CopyOut("COPY t TO STDOUT")),
    (Some("COPY out, CSV"), Step::CopyOut("COPY t TO STDOUT CSV")),
    (Some("CREATE INDEX, integer"), Step::Run("CREATE INDEX ON t (g)")),
    (
        Some("CREATE INDEX, text and time"),
        Step::Run("CREATE INDEX ON t (name, at)"),
    ),
    (
        Some("CREATE UNIQUE INDEX"),
        Step::Run("CREATE UNIQUE INDEX ON t (status, id)"),
    ),
    (
        Some("CREATE INDEX, expression"),
        Step::Run("CREATE INDEX ON t (lower(name))"),
    ),
    (
        Some("ADD PRIMARY KEY"),
        Step::Run("ALTER TABLE u ADD PRIMARY KEY (id)"),
    ),
    (Some("ADD UNIQUE"), Step::Run("ALTER TABLE u ADD UNIQUE (g, id)")),
];

/// Runs the steps on Keyspan and PostgreSQL in turns.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!(
        "bulk: {} rows, medians of {} rounds, seconds: less is faster",
        sizes.rows, sizes.rounds
    );
    let mut report = Report::of_part(&heading, names);
    let data = data(sizes.rows);
    for _ in 0..sizes.rounds {
        for (at, system) in systems.iter_mut().enumerate() {
            let client = system.connect().await;
            for (name, step) in &STEPS {
                let (start, before) = (Instant::now(), system.processor_seconds());
                run(&client, step, &data).await;
                if let Some(name) = name {
                    let seconds = start.elapsed().as_secs_f64();
                    let computed = system.processor_seconds() - before;
                    report.add(&format!("{name}: seconds"), "s", at, seconds);
                    report.add(&format!("{name}: processor"), "s", at, computed);
                }
            }
            system.settle_table("t").await;
        }
    }
    for system in systems {
        system.stop();
    }
    report.table()
}

async fn run(client: &Client, step: &Step, data: &[u8]) {
    match step {
        Step::Run(sql) => {
            let sql = sql.replace("{columns}", COLUMNS);
            client.batch_execute(&sql).await.expect("the statement runs");
        }
        Step::CopyIn(table) => {
            let sink = client.copy_in(&format!("COPY {table} FROM STDIN")).await;
            let mut sink = std::pin::pin!(sink.expect("the COPY begins"));
            for piece in data.chunks(PIECE_BYTES) {
                sink.send(bytes::Bytes::copy_from_slice(piece))
                    .await
                    .expect("data is taken");
            }
            sink.finish().await.expect("the rows are written");
        }
        Step::CopyOut(sql) => {
            let stream = client.copy_out(*sql).await.expect("the COPY begins");
            let read = stream.try_fold(0, |bytes, piece| async move { Ok(bytes + piece.len()) });
            assert!(read.await.expect("the rows are read") > 0, "no rows");
        }
    }
}

/// Rows of COPY's text.
fn data(rows: usize) -> Vec<u8> {
    let mut data = String::new();
    for row in 0..rows {
        let scattered = row.wrapping_mul(7919) % 1_000_003;
        data.push_str(&format!(
            "{row}\t{}\t{}.{:02}\tcustomer number {scattered}\t2024-{:02}-{:02} 10:{:02}:{:02}\topen\n",
            scattered % 1000,
            scattered % 977,
            scattered % 100,
            row % 12 + 1,
            row % 28 + 1,
            row % 60,
            row * 7 % 60,
        ));
    }
    data.into_bytes()
}
