//! Counters that all sessions increment: at the end each says how often that was committed.

use rand::Rng;

use super::{Level, PLACES, SESSIONS, Worker, load, number, seed};
use crate::place::Place;
use crate::server::ok;

const COUNTERS: usize = 4;

/// One increment of a counter, by its key, by its unique name, among others, or by an upsert, which makes it when it is not there.
fn increment(worker: &mut Worker, counter: usize) -> String {
    match worker.random.random_range(0..4) {
        0 => format!("UPDATE counters SET n = n + 1 WHERE k = {counter}"),
        1 => format!("UPDATE counters SET n = n + 1 WHERE name = 'c{counter}'"),
        2 => format!("UPDATE counters SET n = n + CASE k WHEN {counter} THEN 1 ELSE 0 END"),
        _ => format!(
            "INSERT INTO counters VALUES ({counter}, 'c{counter}', 1) \
             ON CONFLICT (k) DO UPDATE SET n = counters.n + excluded.n"
        ),
    }
}

/// Increments until the time is over; how often each counter.
async fn count(mut worker: Worker, level: Level) -> [i64; COUNTERS] {
    let mut counted = [0; COUNTERS];
    while worker.is_on() {
        let chosen: Vec<usize> = (0..worker.random.random_range(1..=3))
            .map(|_| worker.random.random_range(0..COUNTERS))
            .collect();
        let statements: Vec<String> = chosen
            .iter()
            .map(|counter| increment(&mut worker, *counter))
            .collect();
        let is_committed = match statements.as_slice() {
            // Of its own it is run again until it succeeds, at either level.
            [statement] if level == Level::ReadCommitted => {
                let ran = worker.run(statement).await;
                let is_allowed = ran.as_ref().map_or_else(|error| level.may_fail(error), |_| true);
                assert!(is_allowed, "{statement}: {ran:?}");
                ran.is_ok()
            }
            statements => worker.block(level, statements).await,
        };
        if is_committed {
            chosen.into_iter().for_each(|counter| counted[counter] += 1);
        }
    }
    counted
}

async fn counters(level: Level) {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        let table = "CREATE TABLE counters (k int PRIMARY KEY, name text UNIQUE, n bigint)";
        ok(&mut client, table).await;
        for k in 0..COUNTERS {
            ok(
                &mut client,
                &format!("INSERT INTO counters VALUES ({k}, 'c{k}', 0)"),
            )
            .await;
        }
        let counted = load(&place, seed, SESSIONS, |worker| count(worker, level)).await;
        let expected: Vec<i64> = (0..COUNTERS)
            .map(|k| counted.iter().map(|counted| counted[k]).sum())
            .collect();
        let rows = ok(&mut client, "SELECT n FROM counters ORDER BY k").await;
        let left: Vec<i64> = rows.iter().map(|row| number(&row[0])).collect();
        assert_eq!(left, expected, "seed {seed} on {name}");
        assert!(
            left.iter().all(|n| *n > 0),
            "a counter was never counted on {name}"
        );
        drop(client);
        place.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_at_read_committed_lose_nothing() {
    counters(Level::ReadCommitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_at_repeatable_read_lose_nothing() {
    counters(Level::RepeatableRead).await;
}
