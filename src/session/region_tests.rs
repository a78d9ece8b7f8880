//! Regions, heat and advice as a server's sessions and its task make them, with a clock of the tests' own.

use std::collections::HashMap;
use std::sync::Arc;

use super::instance::Instance;
use super::{Identity, Reply, Session};
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, StoreOptions};
use crate::system::{Parameters, Settings};
use crate::types::value_at;
use crate::types::{FormatSettings, Value};

const MINUTE: i64 = 60_000_000;

struct Server {
    instance: Arc<Instance>,
    session: Session,
    engine: Arc<MemoryEngine>,
    now: i64,
    known: HashMap<u32, super::regions::KnownTable>,
    round: u64,
}

impl Server {
    async fn start(engine: Arc<MemoryEngine>, settings: &[(&str, &str)]) -> Server {
        let shared = Arc::clone(&engine) as Arc<dyn crate::store::engine::Engine>;
        let opened = MvccStore::open(shared, &StoreOptions::default(), None);
        let store: Arc<dyn Store> = Arc::new(opened.unwrap());
        let now = 1000 * MINUTE;
        store.clock().set(now);
        let values: Vec<(&str, String)> = settings
            .iter()
            .map(|(name, value)| (*name, (*value).to_string()))
            .collect();
        let settings = Settings::with_server_values(&values).unwrap();
        let instance = Arc::new(Instance::new(store, settings));
        let identity = Identity {
            user: "test".into(),
            database: "test".into(),
            process_id: 1,
            client: None,
        };
        let session = Session::new(
            Arc::clone(&instance),
            identity,
            &[],
            crate::system::SessionLimits::default(),
        )
        .await
        .unwrap();
        Server {
            instance,
            session,
            engine,
            now,
            known: HashMap::new(),
            round: 0,
        }
    }

    /// So many seconds pass.
    fn later(&mut self, seconds: i64) {
        self.now += seconds * 1_000_000;
        self.instance.state().heat.turn(self.now);
    }

    /// The task looks at all tables, some times.
    async fn rounds(&mut self, rounds: u64) {
        for _ in 0..rounds {
            self.instance
                .region_round(&mut self.known, self.round)
                .await
                .unwrap();
            self.round += 1;
        }
    }

    /// The rows of a statement, `a|b`.
    async fn rows(&mut self, text: &str) -> Vec<String> {
        let mut rows = Vec::new();
        for statement in self.session.parse(text).await.unwrap() {
            let ran = self.session.run(&statement, Parameters::default(), None).await;
            let Reply::Rows(mut stream) = ran.unwrap_or_else(|error| panic!("{text}: {error}")) else {
                continue;
            };
            let interrupt = Arc::clone(&self.session.interrupt);
            while let Some(piece) = stream.next(&interrupt, usize::MAX).await.unwrap() {
                let batch = piece.into_batch().unwrap();
                for row in 0..batch.num_rows() {
                    let cells = batch.columns().iter().zip(stream.columns.iter());
                    let cells =
                        cells.map(
                            |(array, column)| match value_at(array, row, &column.ty).unwrap() {
                                Value::Null => String::new(),
                                value => value.to_text(&FormatSettings::default()),
                            },
                        );
                    rows.push(cells.collect::<Vec<_>>().join("|"));
                }
            }
            self.session.complete(stream).await.unwrap();
        }
        rows
    }

    async fn regions(&mut self, table: &str) -> Vec<String> {
        let query = format!(
            "SELECT region, start_key, made_by FROM keyspan.regions WHERE relname = '{table}' ORDER BY place"
        );
        self.rows(&query).await
    }

    async fn findings(&mut self, table: &str) -> Vec<String> {
        let query = format!(
            "SELECT coalesce(indexrelname || ': ', '') || finding, coalesce(ddl, '') FROM keyspan.key_advice WHERE relname = '{table}'"
        );
        self.rows(&query).await
    }

    async fn close(self) -> Arc<MemoryEngine> {
        let Server {
            instance,
            session,
            engine,
            ..
        } = self;
        instance.store().close().await.unwrap();
        drop((session, instance));
        engine
    }
}

#[tokio::test]
async fn large_regions_are_split_and_merged_when_they_are_small_and_last_over_a_restart() {
    let settings = [("keyspan.region_bytes", "100000")];
    let mut server = Server::start(Arc::default(), &settings).await;
    server
        .rows("CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 4000) g")
        .await;
    server.rounds(40).await;
    let regions = server.regions("t").await;
    assert!((5..=12).contains(&regions.len()), "{regions:?}");
    assert!(
        regions[1..].iter().all(|region| region.ends_with("|size")),
        "{regions:?}"
    );
    let rows = server.rows("SELECT sum((r ->> 'rows')::int), max((r ->> 'bytes')::int) FROM json_array_elements(keyspan_regions('t')) r").await;
    let (sum, most) = rows[0].split_once('|').unwrap();
    assert!((3900..=4100).contains(&sum.parse::<i64>().unwrap()), "{rows:?}");
    assert!(most.parse::<i64>().unwrap() <= 100_000, "{rows:?}");
    let engine = server.close().await;
    let mut server = Server::start(engine, &settings).await;
    assert_eq!(server.regions("t").await, regions);
    // A statement's stay, the server's go.
    server
        .rows("ALTER TABLE t SPLIT AT VALUES (2477); DELETE FROM t WHERE k > 50")
        .await;
    server.rounds(200).await;
    assert_eq!(server.regions("t").await.len(), 2);
    assert_eq!(
        server.regions("t").await[1].split_once('|').unwrap().1,
        "(2477)|statement"
    );
}

/// 30,000 rows from 0 on, one in ten numbers, and 1,000 rows beside each other at a million.
#[tokio::test]
async fn rows_of_regions_are_told_from_some_of_them() {
    let mut server = Server::start(Arc::default(), &[]).await;
    server
        .rows("CREATE TABLE t (n bigint PRIMARY KEY, v int); INSERT INTO t SELECT g * 10, 0 FROM generate_series(0, 29999) g; INSERT INTO t SELECT g, 0 FROM generate_series(1000000, 1000999) g; ALTER TABLE t SPLIT AT VALUES (3000), (150000), (1000000)")
        .await;
    let figures = server
        .rows("SELECT (r ->> 'rows')::int, (r ->> 'bytes')::int > 10 * (r ->> 'rows')::int FROM json_array_elements(keyspan_regions('t')) r")
        .await;
    let rows: Vec<i64> = figures
        .iter()
        .map(|row| row.strip_suffix("|t").unwrap().parse().unwrap())
        .collect();
    assert_eq!(rows[0], 300);
    assert!((13_000..16_500).contains(&rows[1]), "{rows:?}");
    assert!((13_000..16_500).contains(&rows[2]), "{rows:?}");
    assert!((512..2_000).contains(&rows[3]), "{rows:?}");
}

#[tokio::test]
async fn what_is_hot_is_split_where_it_is_read_and_merged_when_it_is_idle() {
    let settings = [("keyspan.region_hot_per_second", "20")];
    let mut server = Server::start(Arc::default(), &settings).await;
    server
        .rows("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 10000) g")
        .await;
    server.later(180);
    server.rounds(1).await;
    assert_eq!(server.regions("t").await.len(), 1);
    for k in 0..2500 {
        server
            .rows(&format!("SELECT v FROM t WHERE k = {}", 4000 + (k * 37) % 2000))
            .await;
    }
    server.later(20);
    server.rounds(1).await;
    let regions = server.regions("t").await;
    assert_eq!(regions.len(), 2, "{regions:?}");
    assert!(
        regions[1].starts_with("r2|(") && regions[1].ends_with(")|heat"),
        "{regions:?}"
    );
    let point: i64 = regions[1][4..].split(')').next().unwrap().parse().unwrap();
    assert!((4200..5800).contains(&point), "{point}");
    let hot = server
        .rows("SELECT bool_or(hot) FROM keyspan.regions WHERE relname = 't'")
        .await;
    assert_eq!(hot, ["t"]);
    // Both are counted apart.
    let slices = server
        .rows("SELECT count(DISTINCT coalesce(start_key, '')) FROM keyspan.key_heat WHERE relname = 't'")
        .await;
    assert_ne!(slices, ["0"]);
    server.later(300);
    server.rounds(10).await;
    assert_eq!(server.regions("t").await.len(), 1);
}

#[tokio::test]
async fn advice_tells_of_growth_of_unread_indexes_and_of_uneven_regions() {
    let mut server = Server::start(Arc::default(), &[]).await;
    server
        .rows("CREATE TABLE grows (k int PRIMARY KEY, seen int, d int); CREATE INDEX grows_d ON grows (d); CREATE INDEX grows_at ON grows (seen DESC)")
        .await;
    server
        .rows("CREATE TABLE even (k int PRIMARY KEY); CREATE TABLE uneven (k int PRIMARY KEY); ALTER TABLE uneven SPLIT AT VALUES (1000), (2000000)")
        .await;
    server.rounds(1).await;
    for step in 0..60 {
        let insert = format!(
            "INSERT INTO grows SELECT g, g, (g * 7919) % 10007 FROM generate_series({0}, {0} + 49) g; \
             INSERT INTO even SELECT (g::bigint * 2654435761 % 2147483647)::int FROM generate_series({0}, {0} + 49) g; \
             INSERT INTO uneven SELECT (g::bigint * 48271 % 1000000)::int + 1000 FROM generate_series({0}, {0} + 49) g",
            1 + step * 50
        );
        server.rows(&insert).await;
        server.later(2);
    }
    let found = server.findings("grows").await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        "98 % of 3,000 inserts of 10 minutes went above the greatest key|CREATE TABLE grows_spread (LIKE grows INCLUDING ALL) WITH (BUCKETS = 16); INSERT INTO grows_spread SELECT * FROM grows; DROP TABLE grows; ALTER TABLE grows_spread RENAME TO grows;"
    );
    assert_eq!(
        found[1],
        "grows_at: 98 % of 3,000 entries of 10 minutes went below the least key|CREATE INDEX grows_at_spread ON grows (seen DESC) WITH (BUCKETS = 16); DROP INDEX grows_at;"
    );
    assert_eq!(server.findings("even").await, [""; 0]);
    let found = server.findings("uneven").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("region r2 takes 100 % of 3,000 writes of 10 minutes; 2 of 3 regions take none|ALTER TABLE uneven SPLIT AT VALUES ("),
        "{found:?}"
    );
    // Of what is over nothing is said; of an index that nobody has read in an hour something is.
    server.later(3700);
    server.rows("SELECT k FROM grows WHERE seen = 5").await;
    let found = server.findings("grows").await;
    assert_eq!(
        found,
        [
            "grows_d: nobody has read the index in 1 hour, and 3,000 of its entries were written|DROP INDEX grows_d;"
        ]
    );
    assert_eq!(server.findings("uneven").await, [""; 0]);
}
