//! Sessions that insert one unique value at the same time, in rounds: one of those that would commit wins, and the others are
//! told so.

use std::sync::Arc;

use rand::Rng;
use tokio::sync::Barrier;

use super::{Level, PLACES, SESSIONS, Worker, load, number, seed};
use crate::client::ServerError;
use crate::place::Place;
use crate::server::ok;

const ROUNDS: usize = 60;

/// How a session's insert came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Insert {
    Committed,
    /// Somebody else's stays.
    Refused,
    /// Of its own will, without having been refused.
    RolledBack,
}

/// The insert of a round's value by a session: the value is unique, the primary key the session's own or the value itself.
fn statement(worker: &mut Worker, round: usize) -> String {
    let number = worker.number;
    let key = match worker.chance(50) {
        true => round,
        false => (number + 1) * 1_000_000 + round,
    };
    let on_conflict = ["", "", " ON CONFLICT DO NOTHING", " ON CONFLICT (u) DO NOTHING"];
    let on_conflict = on_conflict[worker.random.random_range(0..on_conflict.len())];
    // One that knows no conflict of the primary key must have one that nobody shares.
    let key = match on_conflict.contains("(u)") {
        true => (number + 1) * 1_000_000 + round,
        false => key,
    };
    format!("INSERT INTO races VALUES ({key}, {round}, {number}){on_conflict}")
}

fn outcome(level: Level, ran: Result<u64, ServerError>) -> Insert {
    match ran {
        Ok(1) => Insert::Committed,
        Ok(_) => Insert::Refused,
        Err(error) if error.sqlstate == "23505" => Insert::Refused,
        // DO NOTHING over a row that the snapshot does not show.
        Err(error) if error.sqlstate == "40001" && level == Level::RepeatableRead => Insert::Refused,
        Err(error) => panic!("{level:?}: {error}"),
    }
}

async fn race(mut worker: Worker, barrier: Arc<Barrier>) -> Vec<Insert> {
    let mut outcomes = Vec::new();
    for round in 0..ROUNDS {
        let statement = statement(&mut worker, round);
        let level = Level::BOTH[worker.random.random_range(0..2)];
        let (is_block, rolls_back) = (worker.chance(70), worker.chance(40));
        barrier.wait().await;
        if is_block {
            worker.ok(level.begin()).await;
        }
        let ran = worker.run(&statement).await.map(|reply| reply.count());
        let mut found = outcome(if is_block { level } else { Level::ReadCommitted }, ran);
        if is_block {
            let end = if rolls_back { "ROLLBACK" } else { "COMMIT" };
            worker.ok(end).await;
            if rolls_back && found == Insert::Committed {
                found = Insert::RolledBack;
            }
        }
        outcomes.push(found);
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_those_that_insert_a_unique_value_wins() {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        let table = "CREATE TABLE races (k int PRIMARY KEY, u int UNIQUE, who int)";
        ok(&mut client, table).await;
        let barrier = Arc::new(Barrier::new(SESSIONS));
        let outcomes = load(&place, seed, SESSIONS, |worker| {
            race(worker, Arc::clone(&barrier))
        })
        .await;
        let rows = ok(&mut client, "SELECT u FROM races ORDER BY u").await;
        let left: Vec<i64> = rows.iter().map(|row| number(&row[0])).collect();
        let mut expected = Vec::new();
        for round in 0..ROUNDS {
            let of_round: Vec<Insert> = outcomes.iter().map(|outcomes| outcomes[round]).collect();
            let won = of_round
                .iter()
                .filter(|insert| **insert == Insert::Committed)
                .count();
            let refused = of_round.contains(&Insert::Refused);
            assert!(won <= 1, "seed {seed} on {name}, round {round}: {of_round:?}");
            assert!(
                won == 1 || !refused,
                "seed {seed} on {name}, round {round}: refused for nobody: {of_round:?}"
            );
            expected.extend((won == 1).then_some(round as i64));
        }
        assert_eq!(left, expected, "seed {seed} on {name}");
        drop(client);
        place.end().await;
    }
}
