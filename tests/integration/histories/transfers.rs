//! Money moves between accounts, and none is made or lost: what a snapshot sums up to is the same at any time, and at the end each
//! account has what the committed transfers left it.

use rand::Rng;

use super::{Level, PLACES, SESSIONS, Worker, load, number, seed};
use crate::place::Place;
use crate::server::ok;

const ACCOUNTS: usize = 6;
const BALANCE: i64 = 1000;
const TOTAL: i64 = ACCOUNTS as i64 * BALANCE;
/// Of the sessions, those that only read.
const READERS: usize = 2;

/// One transfer.
struct Transfer {
    from: usize,
    to: usize,
    amount: i64,
}

impl Transfer {
    fn draw(worker: &mut Worker) -> Transfer {
        let from = worker.random.random_range(0..ACCOUNTS);
        let step = worker.random.random_range(1..ACCOUNTS);
        Transfer {
            from,
            to: (from + step) % ACCOUNTS,
            amount: worker.random.random_range(1..20),
        }
    }

    /// As two updates, as one, or as two behind others that are rolled back.
    fn statements(&self, form: u32) -> Vec<String> {
        let Transfer { from, to, amount } = self;
        let change =
            |k: &usize, by: i64| format!("UPDATE accounts SET balance = balance + {by} WHERE k = {k}");
        let both = [change(from, -amount), change(to, *amount)];
        match form {
            0 => both.to_vec(),
            1 => {
                let by = format!("CASE k WHEN {from} THEN -{amount} ELSE {amount} END");
                vec![format!(
                    "UPDATE accounts SET balance = balance + {by} WHERE k IN ({from}, {to})"
                )]
            }
            _ => [
                "SAVEPOINT s".to_string(),
                change(to, 5000),
                "ROLLBACK TO s".to_string(),
            ]
            .into_iter()
            .chain(both)
            .collect(),
        }
    }

    /// By what was read under a lock. Whether it was committed.
    async fn by_locked_rows(&self, worker: &mut Worker, level: Level) -> bool {
        let Transfer { from, to, amount } = self;
        worker.ok(level.begin()).await;
        let locks =
            format!("SELECT k, balance FROM accounts WHERE k IN ({from}, {to}) ORDER BY k FOR UPDATE");
        let rows = match worker.run(&locks).await {
            Ok(reply) => reply.rows,
            Err(error) => {
                assert!(level.may_fail(&error), "{level:?}: {locks}: {error}");
                worker.ok("ROLLBACK").await;
                return false;
            }
        };
        assert_eq!(rows.len(), 2, "{locks}");
        for row in rows {
            let (k, balance) = (number(&row[0]), number(&row[1]));
            let left = balance + if k == *from as i64 { -amount } else { *amount };
            // Nobody can be in the way any more.
            worker
                .ok(&format!("UPDATE accounts SET balance = {left} WHERE k = {k}"))
                .await;
        }
        worker.ok("COMMIT").await;
        true
    }
}

/// Transfers until the time is over; what they add to each account.
async fn transfer(mut worker: Worker, level: Level) -> [i64; ACCOUNTS] {
    let mut added = [0; ACCOUNTS];
    while worker.is_on() {
        let transfer = Transfer::draw(&mut worker);
        let is_done = match worker.random.random_range(0..4) {
            3 => transfer.by_locked_rows(&mut worker, level).await,
            form => worker.block(level, &transfer.statements(form)).await,
        };
        if is_done {
            added[transfer.from] -= transfer.amount;
            added[transfer.to] += transfer.amount;
        }
    }
    added
}

/// Sums up until the time is over: in statements of their own, and in blocks that keep their snapshot.
async fn sum_up(mut worker: Worker) -> [i64; ACCOUNTS] {
    let sum = "SELECT sum(balance) FROM accounts";
    while worker.is_on() {
        assert_eq!(worker.number(sum).await, TOTAL);
        worker.ok(Level::RepeatableRead.begin()).await;
        let mut by_key = 0;
        for k in 0..ACCOUNTS {
            by_key += worker
                .number(&format!("SELECT balance FROM accounts WHERE k = {k}"))
                .await;
        }
        assert_eq!(by_key, TOTAL, "one by one");
        assert_eq!(worker.number(sum).await, TOTAL);
        let halves = "SELECT (SELECT sum(balance) FROM accounts WHERE k < 3) + sum(balance) FROM accounts WHERE k >= 3";
        assert_eq!(worker.number(halves).await, TOTAL);
        worker.ok("COMMIT").await;
    }
    [0; ACCOUNTS]
}

async fn transfers(level: Level) {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        ok(
            &mut client,
            "CREATE TABLE accounts (k int PRIMARY KEY, balance bigint)",
        )
        .await;
        for k in 0..ACCOUNTS {
            ok(
                &mut client,
                &format!("INSERT INTO accounts VALUES ({k}, {BALANCE})"),
            )
            .await;
        }
        let added = load(&place, seed, SESSIONS, |worker| async move {
            match worker.number < READERS {
                true => sum_up(worker).await,
                false => transfer(worker, level).await,
            }
        })
        .await;
        let expected: Vec<i64> = (0..ACCOUNTS)
            .map(|k| BALANCE + added.iter().map(|added| added[k]).sum::<i64>())
            .collect();
        let rows = ok(&mut client, "SELECT balance FROM accounts ORDER BY k").await;
        let left: Vec<i64> = rows.iter().map(|row| number(&row[0])).collect();
        assert_eq!(left, expected, "seed {seed} on {name}");
        assert_ne!(left, [BALANCE; ACCOUNTS], "nothing was transferred on {name}");
        drop(client);
        place.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_at_read_committed_keep_the_sum() {
    transfers(Level::ReadCommitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_at_repeatable_read_keep_the_sum() {
    transfers(Level::RepeatableRead).await;
}
