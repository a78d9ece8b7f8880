//! Random statements on a table that keeps versions of its rows, against a model of a few lines, with a clock of the test's own, beside
//! indexes, blocks, savepoints and the removal in the background; every store must stay sound. And what of it SQL cannot say.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;

use super::model_walk::{self, BEGIN, Walk, seeds};
use crate::catalog::{Catalog, TableDef};
use crate::sql::testing::Client;
use crate::store::Store;
use crate::table::{VersionPass, remove_versions_page};
use crate::txn::Transaction;

const MILLI: i64 = 1000;
const STEPS: usize = 120;
/// The time of what is not committed.
const UNSETTLED: i64 = i64::MAX;

/// Removes the versions that no history needs, as the background does: some pages, from where it was.
async fn remove_versions(
    store: &Arc<dyn Store>,
    pass: &mut Option<VersionPass>,
    (versions_max, pages_max): (usize, usize),
) -> usize {
    let begin = || Transaction::begin(Arc::clone(store), 1 << 20);
    let catalog = Catalog::load(&begin().await.unwrap(), None).await.unwrap();
    let mut removed = 0;
    for table in catalog.tables().filter(|table| table.keeps_versions()) {
        for _ in 0..pages_max {
            let at = pass.take().unwrap_or_default();
            let txn = begin().await.unwrap();
            Catalog::load(&txn, Some(Arc::clone(&catalog))).await.unwrap();
            let page = remove_versions_page(&txn, table, at, versions_max).await.unwrap();
            removed += page.removed;
            *pass = page.next;
            if pass.is_none() {
                break;
            }
        }
    }
    removed
}

/// All of them.
async fn remove_all_versions(store: &Arc<dyn Store>, versions_max: usize) -> usize {
    remove_versions(store, &mut None, (versions_max, usize::MAX)).await
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
    /// Where the removal in the background is, which goes on from there whatever has become of the table.
    pass: Option<VersionPass>,
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

    /// Whether a write of a time comes before the row as it is. `now`: by the clock, for its commit is later than that.
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

    /// `began`: when the statement began, as its transaction knows it.
    fn put(&mut self, k: i64, row: Row, given: Option<i64>, (began, now): (i64, i64)) {
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
                    top.time = began;
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

impl model_walk::Model for Model {
    fn commit(&mut self, now: i64) {
        for version in self.rows.values_mut().flatten() {
            if version.time == UNSETTLED {
                version.time = now;
            }
        }
    }
}

async fn walk(seed: u64, is_on_sled: bool) -> Walk<Model> {
    let (count, history) = match seed % 3 {
        0 => (Some(3), None),
        1 => (None, Some(60 * MILLI)),
        _ => (Some(4), Some(40 * MILLI)),
    };
    let mut options = Vec::new();
    options.extend(count.map(|count| format!("versions = {count}")));
    options.extend(history.map(|micros| format!("history = '{} ms'", micros / MILLI)));
    let definitions = format!(
        "CREATE TABLE t (k int PRIMARY KEY, u bigint UNIQUE, v bigint) WITH ({}); CREATE INDEX t_v ON t (v) INCLUDE (u)",
        options.join(", ")
    );
    let model = Model {
        count,
        history,
        ..Model::default()
    };
    Walk::new(seed, is_on_sled, &definitions, model).await
}

impl Walk<Model> {
    #[expect(clippy::too_many_lines, reason = "an arm a kind of statement")]
    async fn step(&mut self) {
        let passed = self.random.random_range(1..6) * MILLI;
        self.pass_time(passed);
        let (began, now) = (self.time(), self.now);
        let (k, u, v) = (
            self.random.random_range(0..5),
            Some(self.random.random_range(0..8)).filter(|u| *u < 6),
            self.random.random_range(0..5),
        );
        let given = match self.model.history {
            None if self.random.random_range(0..3) == 0 => {
                Some(began + self.random.random_range(-25..8) * MILLI)
            }
            _ => None,
        };
        let hint = given.map_or_else(String::new, |given| format!("/*+ _l_ts_({}) */", given / MILLI));
        let mut after = self.model.clone();
        match self.random.random_range(0..20) {
            0..=3 => {
                let result = match self.model.row(k).is_some() || self.model.has_u(u, k) {
                    true => Err("23505"),
                    false => {
                        after.put(k, (u, v), given, (began, now));
                        Ok("INSERT 0 1".to_string())
                    }
                };
                let statement = format!("INSERT {hint} INTO t VALUES ({k}, {}, {v})", sql(u));
                self.expect(statement, result, after).await;
            }
            4..=7 => {
                let base = self.model.base(k, given, now);
                after.put(k, (base.and_then(|row| row.0), v), given, (began, now));
                let statement = format!("UPSERT {hint} INTO t (k, v) VALUES ({k}, {v})");
                self.expect(statement, Ok("INSERT 0 1".to_string()), after).await;
            }
            8..=10 => {
                let result = match self.model.row(k) {
                    None => Ok("UPDATE 0".to_string()),
                    Some(_) if !self.model.is_past(k, given, now) && self.model.has_u(u, k) => Err("23505"),
                    Some(_) => {
                        after.put(k, (u, v), given, (began, now));
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
                        after.put(k, (u, v + 10), None, (began, now));
                        Ok("INSERT 0 1".to_string())
                    }
                    None if self.model.has_u(u, k) => Err("23505"),
                    None => {
                        after.put(k, (u, v), None, (began, now));
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
            15 => self.store_anew().await,
            16 => self.open_again().await,
            _ if !self.is_in_block() => {
                self.log.push("remove".to_string());
                let versions_max = self.random.random_range(1..5);
                let pages_max = self.random.random_range(1..4);
                remove_versions(
                    &self.client.store,
                    &mut self.model.pass,
                    (versions_max, pages_max),
                )
                .await;
            }
            _ => {}
        }
    }

    /// Writes all rows of the table anew, under other keys or the same, which changes nothing that anybody sees.
    async fn store_anew(&mut self) {
        let statement = match self.random.random_range(0..6) {
            0 => "ALTER TABLE t ALTER PRIMARY KEY (k DESC)",
            1 => "ALTER TABLE t ALTER PRIMARY KEY (k) WITH (BUCKETS = 3)",
            2 => "ALTER TABLE t ALTER PRIMARY KEY (k)",
            3 => "ALTER TABLE t ALTER COLUMN v TYPE numeric(20)",
            4 => "ALTER TABLE t ALTER COLUMN v TYPE bigint",
            _ => "ALTER TABLE t ALTER COLUMN u TYPE numeric(20), ALTER COLUMN v TYPE bigint",
        };
        let after = self.model.clone();
        self.expect(statement.to_string(), Ok("ALTER TABLE".to_string()), after)
            .await;
    }

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
        // Before its commit a version shows when its statement began, though the one before it may have been given a later time.
        let is_in_order = |chain: &Vec<Version>| match chain.as_slice() {
            [top, next, ..] => top.time != UNSETTLED || next.time <= now,
            _ => true,
        };
        if self.model.rows.values().all(is_in_order) {
            let newest = self.model.newest(wanted, from, before, now);
            queries.push((
                format!(
                    "SELECT /*+ _l_versions_({wanted}), _l_ts_min_({}), _l_ts_max_({}) */ k, u, v, k_l_ts FROM t ORDER BY k, k_l_ts DESC",
                    from / MILLI,
                    before / MILLI
                ),
                newest,
            ));
        }
        let k = self.random.random_range(0..5);
        let of_one = self.model.newest(1, 0, i64::MAX, now);
        let of_one = of_one.into_iter().filter(|row| row.starts_with(&format!("{k}|")));
        queries.push((
            format!("SELECT k, u, v, v_l_ts FROM t WHERE k = {k}"),
            of_one.collect(),
        ));
        if self.model.history.is_some() {
            queries.extend(self.reads_of_the_past(kept_from, now, k));
        }
        self.expect_rows(queries).await;
    }

    /// Queries of moments and periods from `kept_from` to `now`, micros, one of them of the row `k` alone, with their rows.
    fn reads_of_the_past(&mut self, kept_from: i64, now: i64, k: i64) -> Vec<(String, Vec<String>)> {
        let mut queries = Vec::new();
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
        queries
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
    for seed in 0..seeds("KEYSPAN_VERSIONS_SEEDS", 12) {
        let mut walk = walk(seed, seed % 6 == 5).await;
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
        walk.end().await;
    }
}

/// A table that was stored anew between two pages of a pass is gone over from its beginning, and what stands before it is let alone.
#[tokio::test]
async fn a_pass_knows_that_a_table_was_stored_anew() {
    for change in [
        "ALTER TABLE t ALTER COLUMN v TYPE text",
        "TRUNCATE t; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        "ALTER TABLE t RESET (history); ALTER TABLE t SET (history = 10)",
    ] {
        let client = Client::new();
        client.store.clock().set(BEGIN);
        for table in ["t", "u"] {
            client
                .ok(&format!(
                    "CREATE TABLE {table} (k int PRIMARY KEY, v int) WITH (history = 10, full_scan = 'allow');
                     CREATE INDEX ON {table} (v);
                     INSERT INTO {table} VALUES (1, 0), (2, 0), (3, 0), (4, 0);
                     UPDATE {table} SET v = k"
                ))
                .await;
        }
        client.store.clock().set(BEGIN + 100_000_000);
        let page = |table: Arc<TableDef>, pass, versions_max| {
            let store = Arc::clone(&client.store);
            async move {
                let txn = Transaction::begin(store, 1 << 20).await.unwrap();
                Catalog::load(&txn, None).await.unwrap();
                remove_versions_page(&txn, &table, pass, versions_max)
                    .await
                    .unwrap()
            }
        };
        let begun = page(client.table("t").await, VersionPass::default(), 1).await;
        assert_eq!(begun.removed, 1, "{change}");
        client.ok(change).await;
        client.store.clock().set(BEGIN + 300_000_000);
        let (mut pass, mut removed) = (begun.next, 0);
        while let Some(at) = pass.take() {
            let next = page(client.table("t").await, at, 100).await;
            removed += next.removed;
            pass = next.next;
        }
        assert_eq!(
            removed,
            if change.starts_with("ALTER TABLE t ALTER") {
                3
            } else {
                0
            },
            "{change}"
        );
        for table in ["t", "u"] {
            let rows = client.rows(&format!("SELECT k, v FROM {table} ORDER BY k")).await;
            assert_eq!(rows, ["1|1", "2|2", "3|3", "4|4"], "{table}: {change}");
        }
        assert_eq!(client.check().await, Vec::<String>::new(), "{change}");
    }
}

/// Rows that are over are not written anew, and were there until then.
#[tokio::test]
async fn a_history_keeps_rows_that_are_over_when_its_table_is_stored_anew() {
    for change in [
        "ALTER TABLE t ALTER COLUMN v TYPE text",
        "ALTER TABLE t ALTER PRIMARY KEY (k DESC)",
        "ALTER TABLE t ALTER PRIMARY KEY (v)",
        "CREATE INDEX ON t ((k + 1))",
    ] {
        let client = Client::new();
        client.store.clock().set(BEGIN);
        client
            .ok("CREATE TABLE t (k int PRIMARY KEY, v int NOT NULL) WITH (history = 1000, ttl = 10, full_scan = 'allow');
                 INSERT INTO t VALUES (1, 10), (2, 20)")
            .await;
        client.store.clock().set(BEGIN + 4_000_000);
        client
            .ok("UPDATE t SET v = 21 WHERE k = 2; INSERT INTO t VALUES (3, 30)")
            .await;
        client.store.clock().set(BEGIN + 12_000_000);
        client.ok(change).await;
        client.store.clock().set(BEGIN + 13_000_000);
        for (ago, rows) in [
            ("0s", vec!["2|21", "3|30"]),
            ("8s", vec!["1|10", "2|21", "3|30"]),
            ("11s", vec!["1|10", "2|20"]),
        ] {
            let query = format!("SELECT k, v FROM t AS OF SYSTEM TIME '-{ago}' ORDER BY k");
            assert_eq!(client.rows(&query).await, rows, "{ago} {change}");
        }
        assert_eq!(client.check().await, Vec::<String>::new(), "{change}");
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
    assert_eq!(remove_all_versions(&client.store, 100).await, 1);
    assert_eq!(
        client.rows("SELECT v FROM t AS OF SYSTEM TIME '-9900 ms'").await,
        ["20"]
    );
    client.store.clock().set(BEGIN + 30_000_000);
    assert_eq!(
        remove_all_versions(&client.store, 100).await,
        1,
        "before it is told that it was removed"
    );
    assert_eq!(remove_all_versions(&client.store, 100).await, 1);
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
    remove_all_versions(&other.store, 100).await;
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
