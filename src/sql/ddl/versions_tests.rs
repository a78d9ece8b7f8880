//! Random statements on a table that keeps versions of its rows, against a model of a few lines, with a clock of the test's own, beside
//! indexes, blocks, savepoints and the removal in the background; every store must stay sound. And what of it SQL cannot say.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::catalog::Catalog;
use crate::sql::testing::Client;
use crate::store::Store;
use crate::table::{VersionPass, remove_versions_page};
use crate::txn::{Savepoint, Transaction};

/// When the test begins, in microseconds since 1970; times are told from there.
const BEGIN: i64 = 1_800_000_000_000_000;
const MILLI: i64 = 1000;
const STEPS: usize = 160;
/// The time of what is not committed.
const UNSETTLED: i64 = i64::MAX;

/// Removes the versions that no history needs, as the background does; answers how many.
async fn remove_versions(store: &Arc<dyn Store>, versions_max: usize) -> usize {
    let begin = || Transaction::begin(Arc::clone(store), 1 << 20);
    let catalog = Catalog::load(&begin().await.unwrap(), None).await.unwrap();
    let mut removed = 0;
    for table in catalog.tables().filter(|table| table.keeps_versions()) {
        let mut pass = Some(VersionPass::default());
        while let Some(at) = pass.take() {
            let txn = begin().await.unwrap();
            Catalog::load(&txn, Some(Arc::clone(&catalog))).await.unwrap();
            let page = remove_versions_page(&txn, table, at, versions_max).await.unwrap();
            removed += page.removed;
            pass = page.next;
        }
    }
    removed
}

/// `u`, `v`.
type Row = (Option<i64>, i64);

/// A version of a row; `None`: it was removed.
#[derive(Debug, Clone, PartialEq)]
struct Version {
    time: i64,
    row: Option<Row>,
}

/// What the table must be: of each key its versions, newest first.
#[derive(Debug, Clone, Default)]
struct Model {
    rows: BTreeMap<i64, Vec<Version>>,
    count: Option<usize>,
    history: Option<i64>,
}

impl Model {
    fn row(&self, k: i64) -> Option<Row> {
        self.rows.get(&k)?.first()?.row
    }

    fn seen(&self) -> impl Iterator<Item = (i64, Row)> {
        self.rows.keys().filter_map(|k| Some((*k, self.row(*k)?)))
    }

    fn has_u(&self, u: Option<i64>, but: i64) -> bool {
        u.is_some() && self.seen().any(|(k, row)| k != but && row.0 == u)
    }

    /// Whether a write of a time comes before the row as it is.
    fn is_past(&self, k: i64, given: Option<i64>, now: i64) -> bool {
        match self.rows.get(&k).and_then(|chain| chain.first()) {
            Some(Version { row: None, .. }) | None => false,
            Some(Version { time: UNSETTLED, .. }) => given.is_some_and(|given| given <= now),
            Some(top) => given.unwrap_or(now) < top.time,
        }
    }

    /// The row that a write of some columns changes.
    fn base(&self, k: i64, given: Option<i64>, now: i64) -> Option<Row> {
        match self.is_past(k, given, now) {
            false => self.row(k),
            true => {
                let at = given.unwrap_or(now);
                let mut chain = self.rows[&k].iter();
                chain.find(|version| version.time <= at)?.row
            }
        }
    }

    fn put(&mut self, k: i64, row: Row, given: Option<i64>, now: i64) {
        let is_past = self.is_past(k, given, now);
        let chain = self.rows.entry(k).or_default();
        let row = Some(row);
        if chain
            .first()
            .is_some_and(|top| top.row.is_none() && top.time == UNSETTLED)
        {
            chain.remove(0);
        }
        if is_past {
            let time = given.unwrap_or(now);
            match chain.iter().position(|version| version.time <= time) {
                Some(at) if chain[at].time == time => chain[at].row = row,
                at => chain.insert(at.unwrap_or(chain.len()), Version { time, row }),
            }
        } else {
            let time = given.unwrap_or(UNSETTLED);
            match chain.first_mut().filter(|top| top.row.is_some()) {
                Some(top) if top.time == time => top.row = row,
                Some(top) if top.time == UNSETTLED => {
                    top.time = now;
                    chain.insert(0, Version { time, row });
                }
                _ => chain.insert(0, Version { time, row }),
            }
        }
        if let (Some(count), None) = (self.count, self.history) {
            chain.truncate(count);
        }
    }

    fn delete(&mut self, k: i64) {
        let Some(chain) = self.rows.get_mut(&k) else {
            return;
        };
        if self.history.is_none() {
            self.rows.remove(&k);
            return;
        }
        if chain.first().is_some_and(|top| top.time == UNSETTLED) {
            chain.remove(0);
        }
        if !chain.is_empty() {
            let removed = Version {
                time: UNSETTLED,
                row: None,
            };
            chain.insert(0, removed);
        }
    }

    fn commit(&mut self, now: i64) {
        for version in self.rows.values_mut().flatten() {
            if version.time == UNSETTLED {
                version.time = now;
            }
        }
    }

    /// What was the row at some moment of these.
    fn between(&self, from: i64, to: i64) -> Vec<String> {
        let mut found = Vec::new();
        for (k, chain) in &self.rows {
            let mut next = i64::MAX;
            for version in chain.iter().filter(|version| version.time != UNSETTLED) {
                if let Some(row) = version.row.filter(|_| version.time <= to && next > from) {
                    found.push(text(*k, row, Some(version.time)));
                }
                next = version.time;
            }
        }
        found
    }

    fn newest(&self, wanted: usize, from: i64, before: i64, now: i64) -> Vec<String> {
        let mut found = Vec::new();
        for (k, _) in self.seen() {
            let mut given = 0;
            for version in &self.rows[&k] {
                let time = if version.time == UNSETTLED {
                    now
                } else {
                    version.time
                };
                let Some(row) = version.row.filter(|_| time >= from && given < wanted) else {
                    break;
                };
                if time < before {
                    given += 1;
                    found.push(text(k, row, Some(time)));
                }
            }
        }
        found
    }
}

fn text(k: i64, (u, v): Row, time: Option<i64>) -> String {
    let u = u.map_or_else(String::new, |u| u.to_string());
    match time {
        Some(time) => format!("{k}|{u}|{v}|{}", time / MILLI),
        None => format!("{k}|{u}|{v}"),
    }
}

fn sql(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_string(), |value| value.to_string())
}

struct Walk {
    client: Client,
    random: StdRng,
    model: Model,
    now: i64,
    /// In a block: the model and the time as it began, and its savepoint.
    block: Option<(Model, i64)>,
    savepoint: Option<(Savepoint, Model)>,
    log: Vec<String>,
}

impl Walk {
    async fn new(seed: u64) -> Walk {
        let (count, history) = match seed % 3 {
            0 => (Some(3), None),
            1 => (None, Some(60 * MILLI)),
            _ => (Some(4), Some(40 * MILLI)),
        };
        let client = Client::new();
        client.store.clock().set(BEGIN);
        let mut options = Vec::new();
        options.extend(count.map(|count| format!("versions = {count}")));
        options.extend(history.map(|micros| format!("history = '{} ms'", micros / MILLI)));
        client
            .ok(&format!(
                "CREATE TABLE t (k int PRIMARY KEY, u bigint UNIQUE, v bigint) WITH ({}); CREATE INDEX t_v ON t (v) INCLUDE (u)",
                options.join(", ")
            ))
            .await;
        Walk {
            client,
            random: StdRng::seed_from_u64(seed),
            model: Model {
                count,
                history,
                ..Model::default()
            },
            now: BEGIN,
            block: None,
            savepoint: None,
            log: vec![format!("seed {seed}")],
        }
    }

    /// The time at which the statement at hand began, as its transaction knows it.
    fn time(&self) -> i64 {
        self.block.as_ref().map_or(self.now, |(_, time)| *time)
    }

    fn pass_time(&mut self) {
        self.now += self.random.random_range(1..6) * MILLI;
        self.client.store.clock().set(self.now);
    }

    async fn expect(&mut self, statement: String, expected: Result<String, &str>, after: Model) {
        self.log.push(statement.clone());
        let savepoint = self.client.savepoint();
        let done = self.client.run_with(&statement, &[]).await;
        let done = done
            .map(|(tag, _)| tag)
            .map_err(|error| error.sqlstate().to_string());
        let expected = expected.map_err(str::to_string);
        assert_eq!(done, expected, "{}\n{:#?}", self.log.join("\n"), self.model);
        match done {
            Ok(_) => self.model = after,
            Err(_) => self.client.rollback_to(savepoint),
        }
        if self.block.is_none() {
            self.model.commit(self.now);
        }
    }

    #[expect(clippy::too_many_lines, reason = "an arm a kind of statement")]
    async fn step(&mut self) {
        self.pass_time();
        let now = self.time();
        let (k, u, v) = (
            self.random.random_range(0..5),
            Some(self.random.random_range(0..8)).filter(|u| *u < 6),
            self.random.random_range(0..5),
        );
        let given = match self.model.history {
            None if self.random.random_range(0..3) == 0 => {
                Some(now + self.random.random_range(-25..8) * MILLI)
            }
            _ => None,
        };
        let hint = given.map_or_else(String::new, |given| format!("/*+ _l_ts_({}) */", given / MILLI));
        let mut after = self.model.clone();
        match self.random.random_range(0..17) {
            0..=3 => {
                let result = match self.model.row(k).is_some() || self.model.has_u(u, k) {
                    true => Err("23505"),
                    false => {
                        after.put(k, (u, v), given, now);
                        Ok("INSERT 0 1".to_string())
                    }
                };
                let statement = format!("INSERT {hint} INTO t VALUES ({k}, {}, {v})", sql(u));
                self.expect(statement, result, after).await;
            }
            4..=7 => {
                let base = self.model.base(k, given, now);
                after.put(k, (base.and_then(|row| row.0), v), given, now);
                let statement = format!("UPSERT {hint} INTO t (k, v) VALUES ({k}, {v})");
                self.expect(statement, Ok("INSERT 0 1".to_string()), after).await;
            }
            8..=10 => {
                let result = match self.model.row(k) {
                    None => Ok("UPDATE 0".to_string()),
                    Some(_) if !self.model.is_past(k, given, now) && self.model.has_u(u, k) => Err("23505"),
                    Some(_) => {
                        after.put(k, (u, v), given, now);
                        Ok("UPDATE 1".to_string())
                    }
                };
                let statement = format!("UPDATE {hint} t SET u = {}, v = {v} WHERE k = {k}", sql(u));
                self.expect(statement, result, after).await;
            }
            11 => {
                let gone: Vec<i64> = self
                    .model
                    .seen()
                    .filter(|(_, row)| row.1 == v)
                    .map(|(k, _)| k)
                    .collect();
                gone.iter().for_each(|k| after.delete(*k));
                let statement = format!("DELETE FROM t WHERE v = {v}");
                self.expect(statement, Ok(format!("DELETE {}", gone.len())), after)
                    .await;
            }
            12 => {
                let standing = self.model.row(k);
                let result = match standing {
                    Some((u, v)) => {
                        after.put(k, (u, v + 10), None, now);
                        Ok("INSERT 0 1".to_string())
                    }
                    None if self.model.has_u(u, k) => Err("23505"),
                    None => {
                        after.put(k, (u, v), None, now);
                        Ok("INSERT 0 1".to_string())
                    }
                };
                let statement = format!(
                    "INSERT INTO t VALUES ({k}, {}, {v}) ON CONFLICT (k) DO UPDATE SET v = t.v + 10",
                    sql(u)
                );
                self.expect(statement, result, after).await;
            }
            13..=14 => self.change_block().await,
            _ if self.block.is_none() => {
                self.log.push("remove".to_string());
                let versions_max = self.random.random_range(1..5);
                remove_versions(&self.client.store, versions_max).await;
            }
            _ => {}
        }
    }

    async fn change_block(&mut self) {
        match (self.block.take(), self.random.random_range(0..5)) {
            (None, _) => {
                self.client.begin().await;
                self.block = Some((self.model.clone(), self.now));
                self.log.push("BEGIN".to_string());
            }
            (Some(block), 0..=1) => {
                self.block = Some(block);
                let savepoint = self.client.savepoint();
                self.savepoint = savepoint.map(|savepoint| (savepoint, self.model.clone()));
                self.log.push("SAVEPOINT".to_string());
            }
            (Some(block), 2) if self.savepoint.is_some() => {
                self.block = Some(block);
                if let Some((savepoint, model)) = self.savepoint.take() {
                    self.client.rollback_to(Some(savepoint));
                    self.model = model;
                    self.log.push("ROLLBACK TO".to_string());
                }
            }
            (Some((before, _)), 3) => {
                self.client.rollback();
                (self.model, self.savepoint) = (before, None);
                self.log.push("ROLLBACK".to_string());
            }
            (Some(_), _) => {
                self.savepoint = None;
                self.log.push("COMMIT".to_string());
                self.client.commit().await.unwrap();
                self.model.commit(self.now);
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "a comparison a way to read")]
    async fn compare(&mut self) {
        let now = self.time();
        let seen: Vec<String> = self.model.seen().map(|(k, row)| text(k, row, None)).collect();
        let mut by_u: Vec<(i64, i64)> = self
            .model
            .seen()
            .filter_map(|(k, row)| Some((row.0?, k)))
            .collect();
        by_u.sort_unstable();
        let by_u = by_u.into_iter().map(|(u, k)| format!("{u}|{k}")).collect();
        let mut queries = vec![
            ("SELECT k, u, v FROM t ORDER BY k".to_string(), seen),
            ("SELECT u, k FROM t WHERE u >= 0 ORDER BY u".to_string(), by_u),
        ];
        // Of what no history needs it is not known whether it is still there.
        let kept_from = self.model.history.map_or(0, |history| (now - history).max(BEGIN));
        let wanted = self.random.random_range(1..5);
        let from = (now - self.random.random_range(0..60) * MILLI).max(kept_from);
        let before = now + self.random.random_range(-30..20) * MILLI;
        let newest = self.model.newest(wanted, from, before, now);
        queries.push((
            format!(
                "SELECT /*+ _l_versions_({wanted}), _l_ts_min_({}), _l_ts_max_({}) */ k, u, v, k_l_ts FROM t ORDER BY k, k_l_ts DESC",
                from / MILLI,
                before / MILLI
            ),
            newest,
        ));
        let k = self.random.random_range(0..5);
        let of_one = self.model.newest(1, 0, i64::MAX, now);
        let of_one = of_one.into_iter().filter(|row| row.starts_with(&format!("{k}|")));
        queries.push((
            format!("SELECT k, u, v, v_l_ts FROM t WHERE k = {k}"),
            of_one.collect(),
        ));
        if self.model.history.is_some() {
            let moment = self.random.random_range(kept_from..=now);
            let other = self.random.random_range(kept_from..=now);
            let written = |micros: i64| format!("'{}'", self.moment_text(micros));
            queries.push((
                format!(
                    "SELECT k, u, v, k_l_ts FROM t AS OF SYSTEM TIME {} ORDER BY k",
                    written(moment)
                ),
                self.model.between(moment, moment),
            ));
            queries.push((
                format!(
                    "SELECT a.k, a.u, a.v, b.k_l_ts FROM t FOR SYSTEM_TIME AS OF {0} a JOIN t FOR SYSTEM_TIME AS OF {0} b ON a.k = b.k ORDER BY 1",
                    written(moment)
                ),
                self.model.between(moment, moment),
            ));
            let (from, to) = (moment.min(other), moment.max(other));
            queries.push((
                format!(
                    "SELECT k, u, v, k_l_ts FROM t FOR SYSTEM_TIME BETWEEN {} AND {} ORDER BY k, k_l_ts DESC",
                    written(from),
                    written(to)
                ),
                self.model.between(from, to),
            ));
            queries.push((
                format!(
                    "SELECT k, u, v, k_l_ts FROM t FOR SYSTEM_TIME FROM {} TO {} WHERE k = {k} ORDER BY k_l_ts DESC",
                    written(from),
                    written(to)
                ),
                match from < to {
                    true => self.model.between(from, to - 1),
                    false => Vec::new(),
                }
                .into_iter()
                .filter(|row| row.starts_with(&format!("{k}|")))
                .collect(),
            ));
        }
        for (query, rows) in queries {
            let found = self.client.rows(&query).await;
            assert_eq!(
                found,
                rows,
                "{query} at {now}\n{}\n{:#?}",
                self.log.join("\n"),
                self.model
            );
        }
    }

    /// A moment as a time stamp. The test begins at 2027-01-15 08:00 UTC.
    fn moment_text(&self, micros: i64) -> String {
        let since = micros - BEGIN;
        format!(
            "2027-01-15 08:00:{:02}.{:06}+00",
            since / 1_000_000,
            since % 1_000_000
        )
    }
}

#[tokio::test]
async fn a_random_walk_sees_what_the_model_does() {
    let seeds: u64 = std::env::var("KEYSPAN_VERSIONS_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(18);
    for seed in 0..seeds {
        let mut walk = Walk::new(seed).await;
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
        if walk.block.is_some() {
            walk.client.commit().await.unwrap();
        }
        let faults = walk.client.check().await;
        assert_eq!(faults, Vec::<String>::new(), "{}", walk.log.join("\n"));
    }
}

/// A table with a history of ten seconds, whose row 1 was 10 from the beginning, 20 from second 1, and is gone since second 2.
async fn one_row() -> Client {
    let client = Client::new();
    client.store.clock().set(BEGIN);
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY, v int) WITH (history = 10)")
        .await;
    client.ok("INSERT INTO t VALUES (1, 10)").await;
    client.store.clock().set(BEGIN + 1_000_000);
    client.ok("UPDATE t SET v = 20").await;
    client.store.clock().set(BEGIN + 2_000_000);
    client.ok("DELETE FROM t WHERE k = 1").await;
    client
}

async fn sqlstate(client: &Client, query: &str) -> String {
    match client.run_with(query, &[]).await {
        Ok((tag, _)) => tag,
        Err(error) => error.sqlstate().to_string(),
    }
}

#[tokio::test]
async fn the_past_is_told_as_long_as_it_is_kept() {
    let client = one_row().await;
    client.store.clock().set(BEGIN + 5_000_000);
    for (ago, rows) in [
        ("5s", vec!["10"]),
        ("4001 ms", vec!["10"]),
        ("4s", vec!["20"]),
        ("3s", vec![]),
        ("0s", vec![]),
    ] {
        let query = format!("SELECT v FROM t AS OF SYSTEM TIME '-{ago}'");
        assert_eq!(client.rows(&query).await, rows, "{ago}");
        let query = format!("SELECT v FROM t FOR SYSTEM_TIME AS OF now() - interval '{ago}' WHERE k = 1");
        assert_eq!(client.rows(&query).await, rows, "{ago}");
        let query = format!("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF INTERVAL '-{ago}' x");
        assert_eq!(client.rows(&query).await, [rows.len().to_string()], "{ago}");
    }
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '-6s'").await,
        "72000"
    );
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '6s'").await,
        "22007"
    );
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME now() + interval '6s'").await,
        "22023"
    );
    let all =
        "SELECT v, v_l_ts - 1800000000000 FROM t FOR SYSTEM_TIME BETWEEN now() - interval '5s' AND now()";
    assert_eq!(client.rows(all).await, ["20|1000", "10|0"]);
    let query = "SELECT v FROM t FOR SYSTEM_TIME FROM '-4s' TO '-3s'";
    assert_eq!(client.rows(query).await, ["20"]);
    // Brought back.
    client
        .ok("INSERT INTO t SELECT * FROM t FOR SYSTEM_TIME AS OF '-4s'")
        .await;
    assert_eq!(client.rows("SELECT v FROM t").await, ["20"]);
    client.store.clock().set(BEGIN + 11_500_000);
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '-11s'").await,
        "72000"
    );
    assert_eq!(
        client.rows("SELECT v FROM t AS OF SYSTEM TIME '-9900 ms'").await,
        ["20"]
    );
    assert_eq!(remove_versions(&client.store, 100).await, 1);
    assert_eq!(
        client.rows("SELECT v FROM t AS OF SYSTEM TIME '-9900 ms'").await,
        ["20"]
    );
    client.store.clock().set(BEGIN + 30_000_000);
    assert_eq!(
        remove_versions(&client.store, 100).await,
        1,
        "before it is told that it was removed"
    );
    assert_eq!(remove_versions(&client.store, 100).await, 1);
    assert_eq!(client.check().await, Vec::<String>::new());
    assert_eq!(
        client.rows("SELECT v FROM t AS OF SYSTEM TIME '-9s'").await,
        ["20"]
    );
}

#[tokio::test]
async fn a_transaction_has_one_time_that_of_its_commit() {
    let mut client = one_row().await;
    client
        .ok("CREATE TABLE u (k int PRIMARY KEY, v int) WITH (history = 10)")
        .await;
    client.store.clock().set(BEGIN + 3_000_000);
    let other = client.other();
    client.begin().await;
    client.ok("INSERT INTO t VALUES (5, 1)").await;
    client.ok("INSERT INTO u VALUES (5, 1)").await;
    client.store.clock().set(BEGIN + 4_000_000);
    client.ok("UPDATE u SET v = 2").await;
    assert_eq!(client.rows("SELECT v FROM u").await, ["2"]);
    client.commit().await.unwrap();
    client.store.clock().set(BEGIN + 5_000_000);
    let joined = |ago: &str| format!("SELECT t.v, u.v FROM t, u AS OF SYSTEM TIME '-{ago}' WHERE t.k = u.k");
    assert_eq!(other.rows(&joined("1001 ms")).await, Vec::<String>::new());
    assert_eq!(other.rows(&joined("1s")).await, ["1|2"]);
    assert_eq!(
        other
            .rows("SELECT v FROM u FOR SYSTEM_TIME BETWEEN '-2s' AND now()")
            .await,
        ["2"]
    );
}

#[tokio::test]
async fn a_block_that_keeps_its_snapshot_reads_the_past_of_that() {
    let mut client = one_row().await;
    client.store.clock().set(BEGIN + 3_000_000);
    let other = client.other();
    client.begin_keeping(false).await;
    client.store.clock().set(BEGIN + 4_000_000);
    other.ok("INSERT INTO t VALUES (2, 2)").await;
    let past = "SELECT k, v FROM t AS OF SYSTEM TIME '-2s'";
    assert_eq!(client.rows(past).await, ["1|20"], "two seconds before it began");
    client.store.clock().set(BEGIN + 25_000_000);
    other.ok("UPDATE t SET v = 3").await;
    remove_versions(&other.store, 100).await;
    assert_eq!(
        client.rows(past).await,
        ["1|20"],
        "what it may read is in its snapshot"
    );
    client.rollback();
}

#[tokio::test]
async fn rows_that_are_over_have_been_there() {
    let client = Client::new();
    client.store.clock().set(BEGIN);
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY, v int) WITH (history = 100, ttl = 5)")
        .await;
    client.ok("INSERT INTO t VALUES (1, 10)").await;
    client.store.clock().set(BEGIN + 6_000_000);
    let of = |ago: &str| format!("SELECT v FROM t AS OF SYSTEM TIME '-{ago}'");
    assert_eq!(client.rows("SELECT v FROM t").await, Vec::<String>::new());
    for is_removed in [false, true] {
        assert_eq!(client.rows(&of("2s")).await, ["10"], "{is_removed}");
        assert_eq!(client.rows(&of("1s")).await, Vec::<String>::new());
        if !is_removed {
            assert_eq!(super::expiry_tests::remove_over(&client.store).await, 1);
        }
    }
    client.ok("INSERT INTO t VALUES (1, 11)").await;
    assert_eq!(client.rows("SELECT v FROM t").await, ["11"]);
    assert_eq!(client.rows(&of("2s")).await, ["10"]);
    assert_eq!(client.check().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_clock_that_stands_gives_commits_times_of_their_own() {
    let client = Client::new();
    client.store.clock().set(BEGIN);
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY, v int) WITH (history = 10)")
        .await;
    for v in 0..5 {
        client.ok(&format!("UPSERT INTO t VALUES (1, {v})")).await;
    }
    let all = "SELECT v FROM t FOR SYSTEM_TIME BETWEEN '2027-01-15 08:00:00+00' AND now() + interval '1s'";
    assert_eq!(client.rows(all).await, ["4", "3", "2", "1", "0"]);
}

#[tokio::test]
async fn options_that_change_forget_what_is_kept_no_more() {
    let client = one_row().await;
    client.ok("INSERT INTO t VALUES (2, 1)").await;
    client.store.clock().set(BEGIN + 8_000_000);
    client.ok("ALTER TABLE t SET (history = 3)").await;
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '-4s'").await,
        "72000"
    );
    client.ok("ALTER TABLE t SET (history = 100)").await;
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '-4s'").await,
        "72000",
        "it may have gone"
    );
    assert_eq!(
        client.rows("SELECT v FROM t AS OF SYSTEM TIME '-3s'").await,
        ["1"]
    );
    client.ok("ALTER TABLE t RESET (history)").await;
    assert_eq!(
        sqlstate(&client, "SELECT v FROM t AS OF SYSTEM TIME '-0s'").await,
        "55000"
    );
    client.ok("ALTER TABLE t SET (versions = 2)").await;
    assert_eq!(client.rows("SELECT /*+ _l_versions_(2) */ v FROM t").await, ["1"]);
    client.ok("UPDATE t SET v = 5").await;
    assert_eq!(
        client.rows("SELECT /*+ _l_versions_(2) */ v FROM t").await,
        ["5", "1"]
    );
    assert_eq!(client.check().await, Vec::<String>::new());
}
