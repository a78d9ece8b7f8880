//! A queue of jobs from which workers take by SKIP LOCKED: each job is done once, also when some workers give theirs back.

use std::collections::BTreeSet;

use super::{Level, PLACES, SESSIONS, Worker, load, number, seed};
use crate::place::Place;
use crate::server::ok;

const JOBS: usize = 300;

/// How jobs are taken.
#[derive(Debug, Clone, Copy)]
enum Taking {
    /// By DELETE … RETURNING over a subquery that locks.
    Deleting,
    /// By SELECT FOR UPDATE, and an UPDATE that says that it is done.
    Updating,
}

/// Takes jobs until there are none; those that it has done.
async fn work(mut worker: Worker, taking: Taking) -> Vec<i64> {
    let left = "SELECT count(*) FROM jobs WHERE state = 'waiting'";
    let mut done = Vec::new();
    while worker.number(left).await > 0 {
        let taken = match taking {
            Taking::Deleting => take_by_delete(&mut worker).await,
            Taking::Updating => take_by_update(&mut worker).await,
        };
        done.extend(taken);
    }
    done
}

/// One statement, alone or in a block that is rolled back now and then.
async fn take_by_delete(worker: &mut Worker) -> Vec<i64> {
    let delete = "DELETE FROM jobs WHERE id IN \
                  (SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";
    let is_block = worker.chance(70);
    if is_block {
        worker.ok(Level::ReadCommitted.begin()).await;
    }
    let rows = worker.ok(delete).await;
    let commits = !is_block || worker.chance(80);
    if is_block {
        worker.ok(if commits { "COMMIT" } else { "ROLLBACK" }).await;
    }
    match commits {
        true => rows.iter().map(|row| number(&row[0])).collect(),
        false => Vec::new(),
    }
}

/// Up to three at once, which it then marks one by one.
async fn take_by_update(worker: &mut Worker) -> Vec<i64> {
    let count = if worker.chance(50) { 1 } else { 3 };
    let select = format!(
        "SELECT id FROM jobs WHERE state = 'waiting' ORDER BY id LIMIT {count} FOR UPDATE SKIP LOCKED"
    );
    worker.ok(Level::ReadCommitted.begin()).await;
    let rows = worker.ok(&select).await;
    let ids: Vec<i64> = rows.iter().map(|row| number(&row[0])).collect();
    for id in &ids {
        let update = format!(
            "UPDATE jobs SET state = 'done', who = {} WHERE id = {id} AND state = 'waiting'",
            worker.number
        );
        let updated = worker.run(&update).await.expect("its row is locked");
        assert_eq!(updated.count(), 1, "job {id} was taken by another");
    }
    match worker.chance(80) {
        true => {
            worker.ok("COMMIT").await;
            ids
        }
        false => {
            worker.ok("ROLLBACK").await;
            Vec::new()
        }
    }
}

async fn queue(taking: Taking) {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        ok(
            &mut client,
            "CREATE TABLE jobs (id int PRIMARY KEY, state text, who int)",
        )
        .await;
        let fill = format!("INSERT INTO jobs SELECT g, 'waiting', NULL FROM generate_series(1, {JOBS}) g");
        ok(&mut client, &fill).await;
        let done = load(&place, seed, SESSIONS, |worker| work(worker, taking)).await;
        let all: Vec<i64> = done.iter().flatten().copied().collect();
        let once: BTreeSet<i64> = all.iter().copied().collect();
        assert_eq!(
            all.len(),
            once.len(),
            "seed {seed} on {name}: a job was done twice"
        );
        assert_eq!(once.len(), JOBS, "seed {seed} on {name}: a job was not done");
        let busy = done.iter().filter(|done| !done.is_empty()).count();
        assert!(busy > 1, "one worker did all on {name}");
        drop(client);
        place.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_is_deleted_once() {
    queue(Taking::Deleting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_is_marked_once() {
    queue(Taking::Updating).await;
}
