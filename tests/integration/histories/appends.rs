//! Sessions append unique numbers to a few lists and read them, in blocks of either level; `checker` says what the lists show. What may be
//! there is what PostgreSQL's levels allow: at READ COMMITTED circles with a read that was overtaken, at REPEATABLE READ those with two
//! of them, and nothing else ever.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rand::Rng;

use super::checker::{Anomaly, Circle, Operation, Transaction, anomalies};
use super::{Level, PLACES, SESSIONS, Worker, duration, load, seed};
use crate::client::ServerError;
use crate::place::Place;
use crate::server::ok;

/// Lists of one history.
const KEYS: usize = 3;
/// Transactions of a session in one history: lists stay short, and circles quick to find.
const TRANSACTIONS: usize = 30;

/// What all sessions of a history share.
#[derive(Debug)]
struct Shared {
    /// Of this history, the first.
    first_key: usize,
    /// Counts what happens: an earlier number came before.
    clock: AtomicU64,
    elements: AtomicU64,
}

impl Shared {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// A session, and the transaction that it has begun.
struct Appender {
    worker: Worker,
    shared: Arc<Shared>,
    level: Level,
    transaction: Transaction,
    /// When the snapshot of a block that keeps it was asked for.
    since: Option<u64>,
}

impl Appender {
    /// Runs one transaction to its end.
    async fn transact(&mut self) -> Transaction {
        self.transaction = Transaction::default();
        self.since = None;
        self.worker.ok(self.level.begin()).await;
        for _ in 0..self.worker.random.random_range(1..=5) {
            if let Err(error) = self.operate().await {
                assert!(self.level.may_fail(&error), "{:?}: {error}", self.level);
                self.worker.ok("ROLLBACK").await;
                return std::mem::take(&mut self.transaction);
            }
        }
        let commits = !self.worker.chance(10);
        self.worker.ok(if commits { "COMMIT" } else { "ROLLBACK" }).await;
        self.transaction.is_committed = commits;
        self.transaction.ended = self.shared.now();
        std::mem::take(&mut self.transaction)
    }

    /// One thing that a transaction does.
    async fn operate(&mut self) -> Result<(), ServerError> {
        let key = self.shared.first_key + self.worker.random.random_range(0..KEYS);
        match self.worker.random.random_range(0..10) {
            0..4 => self.append(key).await,
            4 => self.append_and_undo(key).await,
            5 => {
                self.read(
                    &format!("SELECT k, v FROM lists WHERE k = {key} FOR UPDATE"),
                    &[key],
                )
                .await
            }
            6 => {
                let keys: Vec<usize> = (0..KEYS).map(|at| self.shared.first_key + at).collect();
                let (first, last) = (keys[0], keys[KEYS - 1]);
                let all = format!("SELECT k, v FROM lists WHERE k BETWEEN {first} AND {last}");
                self.read(&all, &keys).await
            }
            _ => {
                self.read(&format!("SELECT k, v FROM lists WHERE k = {key}"), &[key])
                    .await
            }
        }
    }

    /// Reads lists of these keys; one that is not there is empty.
    async fn read(&mut self, sql: &str, keys: &[usize]) -> Result<(), ServerError> {
        let since = self.snapshot_since();
        let rows = self.worker.run(sql).await?.rows;
        let mut lists: BTreeMap<usize, Vec<u64>> = rows.iter().map(|row| key_and_list(row)).collect();
        for key in keys {
            self.transaction.operations.push(Operation::Read {
                key: *key,
                list: lists.remove(key).unwrap_or_default(),
                since,
            });
        }
        Ok(())
    }

    /// By UPDATE, where there is a row, or by an upsert; some return the list that it makes.
    async fn append(&mut self, key: usize) -> Result<(), ServerError> {
        let element = self.shared.elements.fetch_add(1, Ordering::SeqCst);
        let form = self.worker.random.random_range(0..3);
        let sql = match form {
            0 => format!("UPDATE lists SET v = v || ',{element}' WHERE k = {key} RETURNING k, v"),
            1 => format!("UPDATE lists SET v = v || ',{element}' WHERE k = {key}"),
            _ => format!(
                "INSERT INTO lists VALUES ({key}, ',{element}') \
                 ON CONFLICT (k) DO UPDATE SET v = lists.v || excluded.v RETURNING k, v"
            ),
        };
        let since = self.snapshot_since();
        let reply = self.worker.run(&sql).await?;
        if reply.count() == 0 {
            return Ok(());
        }
        self.transaction.operations.push(Operation::Append {
            key,
            element,
            is_undone: false,
        });
        for row in &reply.rows {
            let (key, list) = key_and_list(row);
            self.transaction
                .operations
                .push(Operation::Read { key, list, since });
        }
        Ok(())
    }

    /// What is rolled back to a savepoint is nobody's to see from then on.
    async fn append_and_undo(&mut self, key: usize) -> Result<(), ServerError> {
        self.worker.ok("SAVEPOINT s").await;
        let begun = self.transaction.operations.len();
        let appended = self.append(key).await;
        // A block that could not write goes on, too.
        if let Err(error) = &appended {
            assert!(self.level.may_fail(error), "{:?}: {error}", self.level);
        }
        self.worker.ok("ROLLBACK TO s").await;
        let undone = self.transaction.operations.drain(begun..);
        let appends: Vec<Operation> = undone
            .filter_map(|operation| match operation {
                Operation::Append { key, element, .. } => Some(Operation::Append {
                    key,
                    element,
                    is_undone: true,
                }),
                Operation::Read { .. } => None,
            })
            .collect();
        self.transaction.operations.extend(appends);
        Ok(())
    }

    /// When the snapshot of the statement that begins now is asked for.
    fn snapshot_since(&mut self) -> u64 {
        let now = self.shared.now();
        match self.level {
            Level::ReadCommitted => now,
            Level::RepeatableRead => *self.since.get_or_insert(now),
        }
    }
}

fn key_and_list(row: &[Option<String>]) -> (usize, Vec<u64>) {
    let cell = |at: usize| row[at].as_deref().expect("it is not NULL");
    let elements = cell(1).split(',').filter(|element| !element.is_empty());
    let list = elements
        .map(|element| element.parse().expect("a number"))
        .collect();
    (cell(0).parse().expect("a key"), list)
}

/// Whether blocks of these levels may show it.
fn is_allowed(anomaly: &Anomaly, levels: &[Level]) -> bool {
    match anomaly {
        Anomaly::Circle {
            kind, transactions, ..
        } => match kind {
            Circle::G0 | Circle::G1c => false,
            // The first read what others then replaced, and saw it replaced: its snapshot did not stay.
            Circle::GSingle => levels[transactions[0]] == Level::ReadCommitted,
            Circle::G2 => true,
        },
        _ => false,
    }
}

/// One history by blocks of these levels in turn; what it shows that it must not.
async fn history(place: &Place, seed: u64, first_key: usize, levels: &'static [Level]) -> Vec<String> {
    let shared = Arc::new(Shared {
        first_key,
        clock: AtomicU64::new(1),
        elements: AtomicU64::new(1),
    });
    let made = load(place, seed, SESSIONS, |worker| {
        let mut appender = Appender {
            level: levels[worker.number % levels.len()],
            worker,
            shared: Arc::clone(&shared),
            transaction: Transaction::default(),
            since: None,
        };
        async move {
            let mut transactions = Vec::new();
            for _ in 0..TRANSACTIONS {
                transactions.push((appender.level, appender.transact().await));
            }
            transactions
        }
    })
    .await;
    let (mut levels, mut history): (Vec<Level>, Vec<Transaction>) = made.into_iter().flatten().unzip();
    let last = Worker::connect(place, seed, SESSIONS).await;
    levels.push(Level::ReadCommitted);
    history.push(read_all(last, &shared).await);
    let committed = history.iter().filter(|transaction| transaction.is_committed);
    assert!(committed.count() > TRANSACTIONS, "most of it failed");
    anomalies(&history)
        .iter()
        .filter(|anomaly| !is_allowed(anomaly, &levels))
        .map(|anomaly| describe(anomaly, &history, &levels))
        .collect()
}

/// The lists when all is over.
async fn read_all(worker: Worker, shared: &Arc<Shared>) -> Transaction {
    let mut reader = Appender {
        worker,
        shared: Arc::clone(shared),
        level: Level::ReadCommitted,
        transaction: Transaction::default(),
        since: None,
    };
    for key in shared.first_key..shared.first_key + KEYS {
        let sql = format!("SELECT k, v FROM lists WHERE k = {key}");
        reader.read(&sql, &[key]).await.expect("nobody is in the way");
    }
    Transaction {
        is_committed: true,
        ended: shared.now(),
        ..reader.transaction
    }
}

/// The anomaly, and what those did that it names.
fn describe(anomaly: &Anomaly, history: &[Transaction], levels: &[Level]) -> String {
    let named: Vec<usize> = match anomaly {
        Anomaly::Circle { transactions, .. } => transactions.clone(),
        Anomaly::AbortedRead { reader, .. }
        | Anomaly::IntermediateRead { reader, .. }
        | Anomaly::IncompatibleOrder { reader, .. }
        | Anomaly::Repeated { reader, .. }
        | Anomaly::Stale { reader, .. }
        | Anomaly::OwnAppendUnseen { reader, .. } => vec![*reader],
        Anomaly::Lost { writer, .. } => vec![*writer],
    };
    let named: Vec<String> = named
        .iter()
        .map(|at| format!("\n  {at}, {:?}: {:?}", levels[*at], history[*at]))
        .collect();
    format!("{anomaly:?}{}", named.concat())
}

async fn appends(levels: &'static [Level]) {
    let seed = seed();
    for name in PLACES {
        let Some(place) = Place::start(name).await else {
            continue;
        };
        let mut client = place.connect().await;
        ok(
            &mut client,
            "CREATE TABLE lists (k int PRIMARY KEY, v text NOT NULL)",
        )
        .await;
        let until = Instant::now() + duration();
        let mut at = 0;
        while at == 0 || Instant::now() < until {
            let first_key = at * KEYS;
            // Of the others the first append makes the row.
            ok(
                &mut client,
                &format!("INSERT INTO lists VALUES ({first_key}, '')"),
            )
            .await;
            let found = history(&place, seed * 1000 + at as u64, first_key, levels).await;
            assert!(
                found.is_empty(),
                "seed {seed} on {name}, history {at}, {levels:?}:\n{}",
                found.join("\n")
            );
            at += 1;
        }
        drop(client);
        place.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_at_read_committed_show_what_it_allows() {
    appends(&[Level::ReadCommitted]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_at_repeatable_read_show_what_it_allows() {
    appends(&[Level::RepeatableRead]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_at_both_levels_show_what_each_allows() {
    appends(&Level::BOTH).await;
}
