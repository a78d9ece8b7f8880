//! Sessions that all write the same few rows at random, and what must hold however they come between one another: sums, counts, winners,
//! and for lists that sessions append to (`appends`) the order that what each saw implies (`checker`). On the stores, and on
//! PostgreSQL when `PG_URI` is set, which must hold all of it, too.
//!
//! The statements are drawn by seed (`KEYSPAN_RANDOM_SEED=7` begins elsewhere); how they fall together is the machine's. A load
//! lasts for `LOAD`, or `KEYSPAN_HISTORY_SECONDS=600`.

mod appends;
mod checker;
mod counters;
mod indexes;
mod job_queue;
mod transfers;
mod unique_races;

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;

use crate::client::{Reply, ServerError, TextClient};
use crate::place::Place;
use crate::server::{ok, run};

/// Where a load runs.
const PLACES: [&str; 3] = ["memory", "sled", "postgresql"];
/// Sessions that work at once.
const SESSIONS: usize = 6;
/// How long a load goes on.
const LOAD: Duration = Duration::from_millis(1500);
/// Longer than what has been begun takes to end when the time is over.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a block is isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    ReadCommitted,
    RepeatableRead,
}

impl Level {
    const BOTH: [Level; 2] = [Level::ReadCommitted, Level::RepeatableRead];

    fn begin(self) -> &'static str {
        match self {
            Level::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Level::RepeatableRead => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        }
    }

    /// Whether what others do may end a block so.
    fn may_fail(self, error: &ServerError) -> bool {
        match error.sqlstate.as_str() {
            "40P01" => true,
            "40001" => self == Level::RepeatableRead,
            _ => false,
        }
    }
}

/// A session at work.
struct Worker {
    client: TextClient,
    random: StdRng,
    number: usize,
    until: Instant,
}

impl Worker {
    async fn connect(place: &Place, seed: u64, number: usize) -> Worker {
        let mut client = place.connect().await;
        ok(&mut client, "SET deadlock_timeout = '5ms'").await;
        Worker {
            client,
            random: StdRng::seed_from_u64(seed * 1000 + number as u64),
            number,
            until: Instant::now() + duration(),
        }
    }

    fn is_on(&self) -> bool {
        Instant::now() < self.until
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    async fn run(&mut self, sql: &str) -> Result<Reply, ServerError> {
        run(&mut self.client, sql).await
    }

    /// The rows of a statement that must succeed.
    async fn ok(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        ok(&mut self.client, sql).await
    }

    /// The first column of the first row as a number.
    async fn number(&mut self, sql: &str) -> i64 {
        let rows = self.ok(sql).await;
        number(&rows[0][0])
    }

    /// Runs the statements of a block and ends it: at random by ROLLBACK now and then. Whether it was committed, which what
    /// others do may prevent as `Level::may_fail` says.
    async fn block(&mut self, level: Level, statements: &[String]) -> bool {
        self.ok(level.begin()).await;
        for sql in statements {
            if let Err(error) = self.run(sql).await {
                assert!(level.may_fail(&error), "{level:?}: {sql}: {error}");
                self.ok("ROLLBACK").await;
                return false;
            }
        }
        let commits = !self.chance(10);
        self.ok(if commits { "COMMIT" } else { "ROLLBACK" }).await;
        commits
    }
}

/// Has so many sessions work at once, and answers what each made of it.
async fn load<T, Work>(
    place: &Place,
    seed: u64,
    sessions: usize,
    mut work: impl FnMut(Worker) -> Work,
) -> Vec<T>
where
    T: Send + 'static,
    Work: Future<Output = T> + Send + 'static,
{
    let mut working = JoinSet::new();
    for number in 0..sessions {
        working.spawn(work(Worker::connect(place, seed, number).await));
    }
    let mut made = Vec::new();
    let ends = async {
        while let Some(ended) = working.join_next().await {
            made.push(ended.expect("what must hold does hold"));
        }
    };
    tokio::time::timeout(duration() + PATIENCE, ends)
        .await
        .unwrap_or_else(|_| panic!("seed {seed}: a session never ends"));
    made
}

fn duration() -> Duration {
    let seconds = std::env::var("KEYSPAN_HISTORY_SECONDS").ok();
    seconds.map_or(LOAD, |seconds| {
        Duration::from_secs(seconds.parse().expect("a number of seconds"))
    })
}

/// Where the random numbers begin; printed, for whoever sees the test fail.
fn seed() -> u64 {
    let seed = std::env::var("KEYSPAN_RANDOM_SEED").ok();
    let seed = seed.map_or(1, |seed| seed.parse().expect("a number"));
    eprintln!("KEYSPAN_RANDOM_SEED={seed}");
    seed
}

fn number(value: &Option<String>) -> i64 {
    let text = value.as_deref().expect("it is not NULL");
    text.parse().expect("it is a number")
}
