//! Rows that come, go and move, and the indexes over them: in any snapshot what an index leads to is what a scan of the table finds, and
//! no unique value stands twice.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;

use super::{Level, PLACES, SESSIONS, Worker, load, number, seed};
use crate::client::ServerError;
use crate::place::Place;
use crate::server::ok;

/// Primary keys, values and unique values are drawn from so many.
const KEYS: i64 = 8;
const VALUES: i64 = 4;
/// Of the sessions, those that only read.
const READERS: usize = 2;

/// One write of any kind; most of them meet with another's.
fn write(worker: &mut Worker) -> String {
    let mut draw = |count: i64| worker.random.random_range(0..count);
    let (k, other, u, v) = (draw(KEYS), draw(KEYS), draw(2 * KEYS), draw(VALUES));
    match draw(9) {
        0 => format!("INSERT INTO t VALUES ({k}, {u}, {v})"),
        1 => format!("INSERT INTO t VALUES ({k}, {u}, {v}) ON CONFLICT DO NOTHING"),
        2 => format!("INSERT INTO t VALUES ({k}, NULL, {v}) ON CONFLICT (k) DO UPDATE SET v = excluded.v"),
        3 => format!("INSERT INTO t VALUES ({k}, {u}, {v}) ON CONFLICT (u) DO UPDATE SET v = t.v + 1"),
        4 => format!("DELETE FROM t WHERE k = {k}"),
        5 => format!("DELETE FROM t WHERE v = {v} AND k < {other}"),
        6 => format!("UPDATE t SET k = {other} WHERE k = {k}"),
        7 => format!("UPDATE t SET u = {u} WHERE v = {v} AND k = {k}"),
        _ => format!("UPDATE t SET v = (v + 1) % {VALUES} WHERE u = {u} OR k = {k}"),
    }
}

/// Whether a block may end so, besides by what others do: values stand already.
fn may_fail(level: Level, error: &ServerError) -> bool {
    error.sqlstate == "23505" || level.may_fail(error)
}

/// Writes in blocks until the time is over. Some go on behind a savepoint where a statement fails.
async fn change(mut worker: Worker, level: Level) {
    while worker.is_on() {
        worker.ok(level.begin()).await;
        for _ in 0..worker.random.random_range(1..=4) {
            let (sql, is_guarded) = (write(&mut worker), worker.chance(30));
            if is_guarded {
                worker.ok("SAVEPOINT s").await;
            }
            let Err(error) = worker.run(&sql).await else {
                continue;
            };
            assert!(may_fail(level, &error), "{level:?}: {sql}: {error}");
            if !is_guarded {
                break;
            }
            worker.ok("ROLLBACK TO s").await;
        }
        let end = if worker.chance(80) { "COMMIT" } else { "ROLLBACK" };
        worker.ok(end).await;
    }
}

/// Compares until the time is over: in blocks that keep their snapshot.
async fn compare(mut worker: Worker) {
    while worker.is_on() {
        worker.ok(Level::RepeatableRead.begin()).await;
        compare_once(&mut worker).await;
        worker.ok("COMMIT").await;
    }
}

/// Compares the ways to the rows of one snapshot.
async fn compare_once(worker: &mut Worker) {
    let rows = worker.ok("SELECT k, u, v FROM t").await;
    let mut by_value: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    let mut by_unique: BTreeMap<i64, i64> = BTreeMap::new();
    let mut keys = BTreeSet::new();
    for row in &rows {
        let (k, v) = (number(&row[0]), number(&row[2]));
        assert!(keys.insert(k), "the key {k} stands twice: {rows:?}");
        by_value.entry(v).or_default().insert(k);
        if row[1].is_some() {
            let stood = by_unique.insert(number(&row[1]), k);
            assert_eq!(stood, None, "a unique value stands twice: {rows:?}");
        }
    }
    for v in 0..VALUES {
        let found = worker.ok(&format!("SELECT k FROM t WHERE v = {v}")).await;
        let found: BTreeSet<i64> = found.iter().map(|row| number(&row[0])).collect();
        let expected = by_value.get(&v).cloned().unwrap_or_default();
        assert_eq!(found, expected, "v = {v} of {rows:?}");
    }
    for u in 0..2 * KEYS {
        let found = worker.ok(&format!("SELECT k FROM t WHERE u = {u}")).await;
        let found: Vec<i64> = found.iter().map(|row| number(&row[0])).collect();
        let expected: Vec<i64> = by_unique.get(&u).copied().into_iter().collect();
        assert_eq!(found, expected, "u = {u} of {rows:?}");
    }
}

async fn indexes(level: Level) {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        let table = "CREATE TABLE t (k int PRIMARY KEY, u int UNIQUE, v int); CREATE INDEX ON t (v)";
        ok(&mut client, table).await;
        load(&place, seed, SESSIONS, |worker| async move {
            match worker.number < READERS {
                true => compare(worker).await,
                false => change(worker, level).await,
            }
        })
        .await;
        compare_once(&mut Worker::connect(&place, seed, SESSIONS).await).await;
        drop(client);
        place.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_lead_to_the_rows_at_read_committed() {
    indexes(Level::ReadCommitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_lead_to_the_rows_at_repeatable_read() {
    indexes(Level::RepeatableRead).await;
}
