//! Random statements on a table whose rows are over, against a model of a few lines, with a clock of the test's own that steps in both
//! directions, the removal between them, blocks, savepoints, and restarts; every store must stay sound.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;

use super::model_walk::{self, BEGIN, Walk, seeds};
use crate::catalog::{Catalog, TableDef};
use crate::sql::testing::Client;
use crate::store::Store;
use crate::table::remove_over_page;
use crate::txn::{Transaction, TransactionOptions};

const SECOND: i64 = 1_000_000;
const STEPS: usize = 140;

/// Removes every row that is over, as the background does; answers how many.
pub(super) async fn remove_over(store: &Arc<dyn Store>) -> usize {
    let mut removed = 0;
    let begin = || {
        let options = TransactionOptions {
            is_unseen: true,
            bytes_max: 1 << 20,
            ..TransactionOptions::default()
        };
        Transaction::begin_with(Arc::clone(store), options)
    };
    let catalog = Catalog::load(&begin().await.unwrap(), None).await.unwrap();
    for table in catalog
        .tables()
        .filter(|table| table.options.expiry.may_be_over())
    {
        let mut from = None;
        loop {
            let txn = begin().await.unwrap();
            Catalog::load(&txn, Some(Arc::clone(&catalog))).await.unwrap();
            let horizon = store.clock().oldest_kept();
            let page = remove_over_page(&txn, table, from.as_deref(), horizon, 3)
                .await
                .unwrap();
            removed += page.removed;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    removed
}

/// A row of the model.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    u: Option<i64>,
    v: i64,
    /// Milliseconds since 1970, relative to the beginning.
    ts: Option<i64>,
    written: Option<i64>,
    own: Option<i64>,
}

/// What the table must be.
#[derive(Debug, Clone, Default)]
struct Model {
    rows: BTreeMap<i64, Row>,
    ttl: Option<i64>,
    by_column: bool,
    by_row: bool,
    since: i64,
    /// The type of `v`, which is `bigint` or this.
    is_numeric: bool,
}

impl Model {
    fn over_at(&self, row: &Row) -> i64 {
        let ttl = self.ttl.unwrap_or(0);
        match (row.own, self.by_column, self.ttl) {
            (Some(own), ..) => own,
            (_, true, _) => row.ts.map_or(i64::MAX, |ts| BEGIN + ts * 1000 + ttl),
            (_, false, Some(ttl)) => row.written.unwrap_or(self.since) + ttl,
            (_, false, None) => i64::MAX,
        }
    }

    fn may_be_over(&self) -> bool {
        self.ttl.is_some() || self.by_column || self.by_row
    }

    fn seen(&self, now: i64) -> impl Iterator<Item = (&i64, &Row)> {
        self.rows.iter().filter(move |(_, row)| self.over_at(row) > now)
    }

    /// The row that is in the way of another: by its key, or by `u`.
    fn in_the_way(&self, k: i64, u: Option<i64>, now: i64) -> Option<i64> {
        let mut seen = self.seen(now);
        seen.find(|(key, row)| **key == k || row.u.is_some() && row.u == u)
            .map(|(key, _)| *key)
    }

    /// Rows that are over go where another takes their key or their `u`.
    fn give_way(&mut self, k: i64, u: Option<i64>, now: i64) {
        let over: Vec<i64> = self
            .rows
            .iter()
            .filter(|(_, row)| self.over_at(row) <= now)
            .map(|(key, _)| *key)
            .collect();
        for key in over {
            if key == k || self.rows[&key].u.is_some() && self.rows[&key].u == u {
                self.rows.remove(&key);
            }
        }
    }

    fn times(&self, now: i64, lifetime: Option<i64>) -> (Option<i64>, Option<i64>) {
        let written = self.may_be_over().then_some(now);
        (written, lifetime.map(|lifetime| now + lifetime))
    }

    fn texts(&self, now: i64) -> Vec<String> {
        let text = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
        let seen = self.seen(now);
        seen.map(|(k, row)| format!("{k}|{}|{}", text(row.u), row.v))
            .collect()
    }
}

/// A number of a statement, or NULL.
fn sql(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_string(), |value| value.to_string())
}

impl model_walk::Model for Model {}

async fn walk(seed: u64, is_on_sled: bool) -> Walk<Model> {
    let definitions = "CREATE TABLE t (k int PRIMARY KEY, u bigint UNIQUE, v bigint, ts bigint); CREATE INDEX t_v ON t (v) INCLUDE (u)";
    Walk::new(seed, is_on_sled, definitions, Model::default()).await
}

impl Walk<Model> {
    #[expect(clippy::too_many_lines, reason = "an arm a kind of statement")]
    async fn step(&mut self) {
        let time = self.time();
        let (k, u, v) = (
            self.random.random_range(0..8),
            self.random.random_range(0..8),
            self.random.random_range(0..4),
        );
        let u = Some(u).filter(|u| *u < 6);
        let ts = Some(self.random.random_range(-40_000..40_000)).filter(|ts| ts % 5 != 0);
        let ts_text = sql(ts.map(|ts: i64| BEGIN / 1000 + ts));
        let lifetime =
            Some(self.random.random_range(1..20) * SECOND).filter(|_| self.random.random_range(0..6) == 0);
        let hint = lifetime.map_or_else(String::new, |lifetime| {
            format!("/*+ _l_ttl_({}) */", lifetime / 1000)
        });
        let mut after = self.model.clone();
        after.by_row |= lifetime.is_some();
        let (written, own) = after.times(time, lifetime);
        let row = Row {
            u,
            v,
            ts,
            written,
            own,
        };
        let values = format!("VALUES ({k}, {}, {v}, {ts_text})", sql(u));
        match self.random.random_range(0..22) {
            0..=4 => {
                let result = match self.model.in_the_way(k, u, time) {
                    Some(_) => Err("23505"),
                    None => {
                        after.give_way(k, u, time);
                        after.rows.insert(k, row);
                        Ok("INSERT 0 1".to_string())
                    }
                };
                self.expect(format!("INSERT {hint} INTO t {values}"), result, after)
                    .await;
            }
            5..=6 => {
                let free = self.model.in_the_way(k, u, time).is_none();
                after.give_way(k, u, time);
                if free {
                    after.rows.insert(k, row);
                }
                let tag = format!("INSERT 0 {}", u8::from(free));
                self.expect(
                    format!("INSERT {hint} INTO t {values} ON CONFLICT DO NOTHING"),
                    Ok(tag),
                    after,
                )
                .await;
            }
            7..=8 => {
                // Only the key is asked; another row with the same u is an error.
                let standing = self
                    .model
                    .rows
                    .get(&k)
                    .filter(|row| self.model.over_at(row) > time)
                    .cloned();
                let result = match standing {
                    Some(standing) => {
                        after.rows.insert(
                            k,
                            Row {
                                v: standing.v + 10,
                                written,
                                own,
                                ..standing
                            },
                        );
                        Ok("INSERT 0 1".to_string())
                    }
                    None if self.model.in_the_way(k, u, time).is_some() => Err("23505"),
                    None => {
                        after.give_way(k, u, time);
                        after.rows.insert(k, row);
                        Ok("INSERT 0 1".to_string())
                    }
                };
                let text =
                    format!("INSERT {hint} INTO t {values} ON CONFLICT (k) DO UPDATE SET v = t.v + 10");
                self.expect(text, result, after).await;
            }
            9..=11 => {
                // An UPSERT of some columns.
                let standing = self
                    .model
                    .rows
                    .get(&k)
                    .filter(|row| self.model.over_at(row) > time)
                    .cloned();
                after.give_way(k, None, time);
                let new = match standing {
                    Some(standing) => Row {
                        v,
                        written,
                        own,
                        ..standing
                    },
                    None => Row {
                        u: None,
                        v,
                        ts: None,
                        written,
                        own,
                    },
                };
                after.rows.insert(k, new);
                self.expect(
                    format!("UPSERT {hint} INTO t (k, v) VALUES ({k}, {v})"),
                    Ok("INSERT 0 1".to_string()),
                    after,
                )
                .await;
            }
            12..=13 => {
                let (written, _) = self.model.times(time, None);
                let mut after = self.model.clone();
                let standing = self
                    .model
                    .rows
                    .get(&k)
                    .filter(|row| self.model.over_at(row) > time)
                    .cloned();
                let result = match standing {
                    None => Ok("UPDATE 0".to_string()),
                    Some(standing) => {
                        let others = self.model.seen(time).filter(|(key, _)| **key != k);
                        match others.into_iter().any(|(_, other)| u.is_some() && other.u == u) {
                            true => Err("23505"),
                            false => {
                                after.rows.remove(&k);
                                after.give_way(k, u, time);
                                after.rows.insert(
                                    k,
                                    Row {
                                        u,
                                        v,
                                        written,
                                        own: None,
                                        ..standing
                                    },
                                );
                                Ok("UPDATE 1".to_string())
                            }
                        }
                    }
                };
                self.expect(
                    format!("UPDATE t SET u = {}, v = {v} WHERE k = {k}", sql(u)),
                    result,
                    after,
                )
                .await;
            }
            14 => {
                let mut after = self.model.clone();
                let gone: Vec<i64> = self
                    .model
                    .seen(time)
                    .filter(|(_, row)| row.v == v)
                    .map(|(key, _)| *key)
                    .collect();
                for key in &gone {
                    after.rows.remove(key);
                }
                self.expect(
                    format!("DELETE FROM t WHERE v = {v}"),
                    Ok(format!("DELETE {}", gone.len())),
                    after,
                )
                .await;
            }
            15..=16 => {
                // Forward, or back, which changes nothing.
                let step = self.random.random_range(-30..40) * SECOND / 2;
                self.pass_time(step);
                self.log.push(format!("clock {}", self.machine - BEGIN));
            }
            17 => self.change_ttl(time).await,
            18 => self.change_block().await,
            19 => self.open_again().await,
            20 => self.store_anew().await,
            _ if !self.is_in_block() => {
                self.log.push("remove".to_string());
                let over = self.model.rows.len() - self.model.seen(self.now).count();
                let found = remove_over(&self.client.store).await;
                assert_eq!(found, over, "{}", self.log.join("\n"));
                let model = self.model.clone();
                self.model.rows.retain(|_, row| model.over_at(row) > self.now);
            }
            _ => {}
        }
    }

    async fn change_ttl(&mut self, time: i64) {
        if self.is_in_block() {
            return;
        }
        let mut after = self.model.clone();
        let text = match self.random.random_range(0..4) {
            0 => {
                let seconds = self.random.random_range(1..40);
                after.ttl = Some(seconds * SECOND);
                format!("ALTER TABLE t SET (ttl = {seconds})")
            }
            1 => {
                after.ttl = None;
                "ALTER TABLE t SET (ttl = '')".to_string()
            }
            2 => {
                after.by_column = true;
                "ALTER TABLE t SET (ttl_column = 'ts')".to_string()
            }
            _ => {
                after.by_column = false;
                "ALTER TABLE t SET (ttl_column = '')".to_string()
            }
        };
        let is_of_all = |model: &Model| model.ttl.is_some() || model.by_column;
        if is_of_all(&after) && !is_of_all(&self.model) {
            after.since = time;
        }
        self.expect(text, Ok("ALTER TABLE".to_string()), after).await;
    }

    /// Writes all rows of the table anew: those that are over go, the others stay as they are.
    async fn store_anew(&mut self) {
        let time = self.time();
        let mut after = self.model.clone();
        after.rows.retain(|_, row| self.model.over_at(row) > time);
        after.is_numeric = !self.model.is_numeric;
        let other = if after.is_numeric { "numeric(20)" } else { "bigint" };
        let statement = format!("ALTER TABLE t ALTER COLUMN v TYPE {other}");
        self.expect(statement, Ok("ALTER TABLE".to_string()), after).await;
    }

    /// Every way of reading must see the same rows.
    async fn compare(&mut self) {
        let time = self.time();
        let expected = self.model.texts(time);
        let count = expected.len().to_string();
        let mut by_u: Vec<(i64, i64)> = self
            .model
            .seen(time)
            .filter_map(|(k, row)| Some((row.u?, *k)))
            .collect();
        by_u.sort_unstable();
        let by_u: Vec<String> = by_u.into_iter().map(|(u, k)| format!("{u}|{k}")).collect();
        let mut of_v: Vec<String> = self
            .model
            .seen(time)
            .filter(|(_, row)| row.v == 1)
            .map(|(_, row)| sql(row.u))
            .collect();
        of_v.sort_unstable();
        let ends = (self.model.seen(time).next(), self.model.seen(time).last());
        let ends = match ends {
            (Some((first, _)), Some((last, _))) => format!("{first}|{last}"),
            _ => "|".to_string(),
        };
        let reversed: Vec<String> = expected.iter().rev().cloned().collect();
        let queries = [
            ("SELECT k, u, v FROM t ORDER BY k", expected.clone()),
            ("SELECT k, u, v FROM t ORDER BY k DESC", reversed),
            (
                "SELECT k, u, v FROM t WHERE k IN (0,1,2,3,4,5,6,7) ORDER BY k",
                expected.clone(),
            ),
            ("SELECT u, k FROM t WHERE u >= 0 ORDER BY u", by_u.clone()),
            ("SELECT u, k FROM t WHERE u IN (0,1,2,3,4,5) ORDER BY u", by_u),
            ("SELECT count(*) FROM t", vec![count.clone()]),
            (
                "SELECT count(*) FROM (SELECT k FROM t OFFSET 0) x",
                vec![count.clone()],
            ),
            ("SELECT min(k), max(k) FROM t", vec![ends]),
            (
                "SELECT coalesce(u::text, 'NULL') FROM t WHERE v = 1 ORDER BY 1",
                of_v,
            ),
            ("SELECT count(*) FROM t a JOIN t b ON b.k = a.k", vec![count]),
            (
                "SELECT k, u, v FROM t ORDER BY k LIMIT 1",
                expected.iter().take(1).cloned().collect(),
            ),
        ];
        let queries = queries.map(|(query, rows)| (query.to_string(), rows));
        self.expect_rows(queries.into()).await;
    }
}

#[tokio::test]
async fn a_random_walk_sees_what_the_model_does() {
    for seed in 0..seeds("KEYSPAN_EXPIRY_SEEDS", 12) {
        let mut walk = walk(seed, seed % 4 == 3).await;
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
        walk.end().await;
    }
}

/// A table whose row 1 is over 11 seconds after the beginning, and row 2 never.
async fn two_rows() -> Client {
    let client = Client::new();
    client.store.clock().set(BEGIN);
    client
        .ok("CREATE TABLE t (k int PRIMARY KEY, v int, ts bigint) WITH (ttl_column = 'ts')")
        .await;
    let at = (BEGIN + 11 * SECOND) / 1000;
    client
        .ok(&format!("INSERT INTO t VALUES (1, 1, {at}), (2, 2, NULL)"))
        .await;
    client
}

#[tokio::test]
async fn a_block_that_keeps_its_snapshot_sees_and_changes_what_is_over_since() {
    for is_serializable in [false, true] {
        let mut client = two_rows().await;
        let other = client.other();
        client.begin_keeping(is_serializable).await;
        client.store.clock().set(BEGIN + 12 * SECOND);
        assert_eq!(other.rows("SELECT k FROM t").await, ["2"]);
        assert_eq!(remove_over(&client.store).await, 0, "somebody sees it");
        assert_eq!(client.rows("SELECT k FROM t").await, ["1", "2"]);
        assert_eq!(client.ok("UPDATE t SET ts = NULL WHERE k = 1").await, "UPDATE 1");
        client.commit().await.unwrap();
        assert_eq!(other.rows("SELECT k FROM t").await, ["1", "2"]);
    }
}

#[tokio::test]
async fn the_removal_disturbs_no_serializable_transaction() {
    let mut client = two_rows().await;
    client.store.clock().set(BEGIN + 12 * SECOND);
    client.begin_keeping(true).await;
    assert_eq!(client.rows("SELECT count(*) FROM t").await, ["1"]);
    assert_eq!(remove_over(&client.store).await, 1);
    client.ok("INSERT INTO t VALUES (3, 3, NULL)").await;
    client.commit().await.unwrap();
    assert_eq!(client.rows("SELECT k FROM t").await, ["2", "3"]);
    assert_eq!(client.check().await, Vec::<String>::new());
}

#[tokio::test]
async fn the_removal_waits_for_nobody_and_nobody_for_it() {
    let mut client = two_rows().await;
    client.begin().await;
    assert_eq!(client.rows("SELECT k FROM t WHERE k = 1 FOR UPDATE").await, ["1"]);
    client.store.clock().set(BEGIN + 12 * SECOND);
    assert_eq!(remove_over(&client.store).await, 0, "it is locked");
    client.rollback();
    assert_eq!(remove_over(&client.store).await, 1);
    // A table that somebody else has for himself is left alone.
    client.ok("INSERT INTO t VALUES (1, 1, 0)").await;
    client.begin().await;
    client.ok("LOCK TABLE t IN ACCESS EXCLUSIVE MODE").await;
    client.settle().await.unwrap();
    assert_eq!(remove_over(&client.store).await, 0);
    client.rollback();
    assert_eq!(remove_over(&client.store).await, 1);
}

#[tokio::test]
async fn a_first_key_column_bounds_what_the_removal_reads() {
    for (ty, direction) in [
        ("timestamptz", ""),
        ("bigint", "DESC"),
        ("date", "DESC"),
        ("timestamp", ""),
    ] {
        let client = Client::new();
        client.store.clock().set(BEGIN);
        let table = format!(
            "CREATE TABLE t (ts {ty}, k int, PRIMARY KEY (ts {direction}, k)) WITH (ttl = 86400, ttl_column = 'ts')"
        );
        client.ok(&table).await;
        for day in -4..4 {
            let micros = BEGIN + day * 86_400 * SECOND;
            let value = match ty {
                "bigint" => (micros / 1000).to_string(),
                _ => format!("(to_timestamp({}) AT TIME ZONE 'UTC')::{ty}", micros / SECOND),
            };
            client.ok(&format!("INSERT INTO t SELECT {value}, {day}")).await;
        }
        let over = 8 - client.rows("SELECT k FROM t").await.len();
        let table = client.table("t").await;
        assert!(table.range_over(BEGIN).is_some());
        let txn = Transaction::begin(Arc::clone(&client.store), 1 << 20)
            .await
            .unwrap();
        Catalog::load(&txn, None).await.unwrap();
        let page = remove_over_page(&txn, &table, None, BEGIN, 100).await.unwrap();
        assert_eq!((page.read, page.removed), (over, over), "{ty} {direction}");
        assert_eq!(
            client.rows("SELECT count(*) FROM t").await,
            [(8 - over).to_string()]
        );
        assert_eq!(client.check().await, Vec::<String>::new());
    }
}

/// A table that was stored anew between two pages of a pass is gone over from its beginning, and what stands before it is let alone.
#[tokio::test]
async fn a_pass_knows_that_a_table_was_stored_anew() {
    let client = Client::new();
    client.store.clock().set(BEGIN);
    client
        .ok(
            "CREATE TABLE t (k int PRIMARY KEY, v int) WITH (ttl = 10, full_scan = 'allow');
             CREATE TABLE u (k int PRIMARY KEY, v int) WITH (ttl = 1000, full_scan = 'allow');
             INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
             INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        )
        .await;
    client.store.clock().set(BEGIN + 100 * SECOND);
    let page = |table: Arc<TableDef>, from: Option<Vec<u8>>, rows_max| {
        let store = Arc::clone(&client.store);
        async move {
            let txn = Transaction::begin(store, 1 << 20).await.unwrap();
            Catalog::load(&txn, None).await.unwrap();
            let horizon = BEGIN + 100 * SECOND;
            remove_over_page(&txn, &table, from.as_deref(), horizon, rows_max)
                .await
                .unwrap()
        }
    };
    let begun = page(client.table("t").await, None, 2).await;
    assert_eq!((begun.removed, begun.next.is_some()), (2, true));
    client.ok("INSERT INTO t VALUES (11, 1), (12, 2)").await;
    client.ok("ALTER TABLE t ALTER COLUMN v TYPE text").await;
    let mut from = begun.next;
    let mut read = 0;
    while from.is_some() {
        let next = page(client.table("t").await, from.take(), 100).await;
        read += next.read;
        from = next.next;
    }
    assert_eq!(read, 2);
    assert_eq!(client.rows("SELECT k FROM t ORDER BY k").await, ["11", "12"]);
    assert_eq!(client.rows("SELECT count(*) FROM u").await, ["4"]);
    assert_eq!(client.check().await, Vec::<String>::new());
}
