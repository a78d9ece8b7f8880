//! Sessions that commit, the ledger of what was acknowledged to them, and the check of what a server holds.
//!
//! Every transaction of a session writes the session's counter and rows that follow from seed, session and number alone.
//! So a server's counter says which transactions of a session it has, and its rows must be exactly what these made:
//! a transaction that is half there, lost below a later one, or written by nobody shows as a wrong row.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio_postgres::{Client, NoTls};

use super::shim::Shim;

/// How long an answer may take; then the server hangs.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Rows that the large session changes in each of its commits.
pub(super) const LARGE_ROWS: i64 = 21_000;
/// Every so many commits of the relaxed session one is durable, and with it all before.
const DURABLE_OF_RELAXED: i64 = 8;

/// What a session commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A few rows put and deleted.
    Small,
    /// One value of up to 200 kB, and a small row.
    Values,
    /// As `Small`, acknowledged before it is durable.
    Relaxed,
    /// Every row of a table of its own.
    Large,
}

/// The sessions, by number.
const SESSIONS: [Kind; 6] = [
    Kind::Small,
    Kind::Small,
    Kind::Small,
    Kind::Values,
    Kind::Relaxed,
    Kind::Large,
];

/// One write of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Op {
    /// A row with a filler of this length.
    Put {
        slot: i32,
        length: usize,
    },
    Delete {
        slot: i32,
    },
}

/// A commit that was acknowledged as durable.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    /// Position of the trace: every operation that came before it stands before.
    at: u64,
    session: usize,
    number: i64,
}

/// What clients know.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Where the trace stood when the tables were acknowledged.
    made_at: Option<u64>,
    acknowledged: Vec<Acknowledged>,
    /// The last transaction that each session began.
    begun: [i64; SESSIONS.len()],
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was told to.
    Stopped,
    /// By an error: SQLSTATE (empty for a connection that broke) and message.
    Failed(String, String),
    /// The server did not answer in time.
    Hung(String),
}

/// A workload over one data directory, however many servers come and go.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    seed: u64,
    /// Whether the large session takes part.
    large: bool,
    ledger: Arc<Mutex<Ledger>>,
}

/// When a workload's sessions stop.
#[derive(Debug, Default)]
pub(super) struct Stop {
    commits: AtomicUsize,
    commits_max: usize,
    stopped: AtomicBool,
    enough: Notify,
}

impl Stop {
    pub(super) fn after(commits_max: usize) -> Arc<Stop> {
        Arc::new(Stop {
            commits_max,
            ..Stop::default()
        })
    }

    fn count(&self) {
        if self.commits.fetch_add(1, Ordering::Relaxed) + 1 >= self.commits_max {
            self.stopped.store(true, Ordering::Relaxed);
            self.enough.notify_one();
        }
    }
}

impl Workload {
    pub(super) fn new(seed: u64, large: bool) -> Workload {
        Workload {
            seed,
            large,
            ledger: Arc::default(),
        }
    }

    /// Makes the tables.
    pub(super) async fn make_tables(&self, addr: SocketAddr, shim: Option<&Shim>) {
        let client = connect(addr).await.expect("the server accepts connections");
        let sql = format!(
            "CREATE TABLE counters (session int PRIMARY KEY, number bigint);
             CREATE TABLE rows (session int, slot int, number bigint, filler text, PRIMARY KEY (session, slot));
             CREATE INDEX rows_by_number ON rows (number DESC, session);
             CREATE TABLE large (slot bigint PRIMARY KEY, number bigint);
             INSERT INTO large SELECT g, 0 FROM generate_series(1, {LARGE_ROWS}) g"
        );
        client.batch_execute(&sql).await.expect("tables can be made");
        self.with_ledger(|ledger| ledger.made_at = Some(shim.map_or(0, Shim::traced)));
    }

    /// Runs every session until `stop` says so or the server fails it; how each ended.
    pub(super) async fn run(
        &self,
        addr: SocketAddr,
        stop: &Arc<Stop>,
        shim: Option<&Arc<Shim>>,
    ) -> Vec<Ending> {
        let sessions = SESSIONS.iter().enumerate();
        let running: Vec<_> = sessions
            .filter(|(_, kind)| self.large || **kind != Kind::Large)
            .map(|(session, _)| {
                let (workload, stop, shim) = (self.clone(), stop.clone(), shim.cloned());
                tokio::spawn(async move { workload.run_session(session, addr, &stop, shim.as_deref()).await })
            })
            .collect();
        let mut endings = Vec::new();
        for session in running {
            endings.push(session.await.expect("a session does not panic"));
        }
        // Whoever waits for enough commits of a server that fails waits no longer.
        stop.enough.notify_one();
        endings
    }

    async fn run_session(
        &self,
        session: usize,
        addr: SocketAddr,
        stop: &Stop,
        shim: Option<&Shim>,
    ) -> Ending {
        match self.commit_until(session, addr, stop, shim).await {
            Ok(()) => Ending::Stopped,
            Err(ending) => ending,
        }
    }

    async fn commit_until(
        &self,
        session: usize,
        addr: SocketAddr,
        stop: &Stop,
        shim: Option<&Shim>,
    ) -> Result<(), Ending> {
        let client = connect(addr).await?;
        let kind = SESSIONS[session];
        let select = format!("SELECT number FROM counters WHERE session = {session}");
        let found = answer(client.query_opt(&select, &[])).await?;
        let mut number: i64 = found.map_or(0, |row| row.get(0));
        while !stop.stopped.load(Ordering::Relaxed) {
            number += 1;
            self.with_ledger(|ledger| ledger.begun[session] = ledger.begun[session].max(number));
            let durable = kind != Kind::Relaxed || number % DURABLE_OF_RELAXED == 0;
            let sql = self.statements(session, number, durable);
            answer(client.batch_execute(&sql)).await?;
            if durable {
                let at = shim.map_or(0, Shim::traced);
                let acknowledged = Acknowledged { at, session, number };
                self.with_ledger(|ledger| ledger.acknowledged.push(acknowledged));
            }
            stop.count();
        }
        Ok(())
    }

    /// The transaction as SQL.
    fn statements(&self, session: usize, number: i64, durable: bool) -> String {
        let mode = if durable { "on" } else { "off" };
        let mut sql = format!(
            "SET synchronous_commit = {mode}; BEGIN; UPSERT INTO counters VALUES ({session}, {number});"
        );
        if SESSIONS[session] == Kind::Large {
            sql.push_str(&format!("UPDATE large SET number = {number};"));
        }
        for op in self.ops(session, number) {
            sql.push_str(&match op {
                Op::Put { slot, length } => format!(
                    "UPSERT INTO rows VALUES ({session}, {slot}, {number}, repeat('{}', {length}));",
                    letter(number)
                ),
                Op::Delete { slot } => {
                    format!("DELETE FROM rows WHERE session = {session} AND slot = {slot};")
                }
            });
        }
        sql.push_str("COMMIT");
        sql
    }

    /// What the transaction does to the table `rows`.
    fn ops(&self, session: usize, number: i64) -> Vec<Op> {
        let mut random =
            StdRng::seed_from_u64(self.seed ^ (session as u64) << 56 ^ (number as u64).rotate_left(20));
        let small = |random: &mut StdRng| {
            let slot = random.random_range(0..40);
            match random.random_range(0..4) {
                0 => Op::Delete { slot },
                kind => Op::Put {
                    slot,
                    length: [5, 200, 3000][kind - 1],
                },
            }
        };
        match SESSIONS[session] {
            Kind::Small | Kind::Relaxed => (0..3).map(|_| small(&mut random)).collect(),
            Kind::Values => {
                let slot = random.random_range(40..46);
                let length = random.random_range(1_000..200_000);
                vec![Op::Put { slot, length }, small(&mut random)]
            }
            Kind::Large => vec![small(&mut random)],
        }
    }

    /// The rows of a session after its transactions up to `number`: by slot, number and length of the filler.
    fn expected(&self, session: usize, number: i64) -> BTreeMap<i32, (i64, usize)> {
        let mut rows = BTreeMap::new();
        for number in 1..=number {
            for op in self.ops(session, number) {
                match op {
                    Op::Put { slot, length } => {
                        rows.insert(slot, (number, length));
                    }
                    Op::Delete { slot } => {
                        rows.remove(&slot);
                    }
                }
            }
        }
        rows
    }

    /// What is wrong with what a server holds, when the trace was cut at `cut` (`u64::MAX`: it was not). Ends with a
    /// commit, which must succeed unless the disk is full.
    pub(super) async fn check(&self, addr: SocketAddr, cut: u64, writable: bool) -> Vec<String> {
        match self.check_answers(addr, cut, writable).await {
            Ok(findings) => findings,
            Err(ending) => vec![format!("the check failed: {ending:?}")],
        }
    }

    async fn check_answers(&self, addr: SocketAddr, cut: u64, writable: bool) -> Result<Vec<String>, Ending> {
        let mut findings = Vec::new();
        let client = connect(addr).await?;
        if self.with_ledger(|ledger| ledger.made_at.is_none_or(|made_at| made_at > cut)) {
            return Ok(findings);
        }
        let counters = answer(client.query("SELECT session, number FROM counters", &[])).await?;
        let counters: BTreeMap<i32, i64> = counters.iter().map(|row| (row.get(0), row.get(1))).collect();
        for session in 0..SESSIONS.len() {
            let number = counters.get(&(session as i32)).copied().unwrap_or(0);
            self.check_counter(session, number, cut, &mut findings);
            self.check_rows(&client, session, number, &mut findings).await?;
        }
        let large = SESSIONS
            .iter()
            .position(|kind| *kind == Kind::Large)
            .expect("one is");
        let number = counters.get(&(large as i32)).copied().unwrap_or(0);
        let groups = answer(client.query("SELECT number, count(*) FROM large GROUP BY number", &[])).await?;
        let groups: Vec<(i64, i64)> = groups.iter().map(|row| (row.get(0), row.get(1))).collect();
        if groups != [(number, LARGE_ROWS)] {
            findings.push(format!("torn: large has {groups:?}, and its counter is {number}"));
        }
        if writable {
            answer(client.batch_execute("UPSERT INTO counters VALUES (-1, 1)")).await?;
        }
        Ok(findings)
    }

    /// No acknowledged transaction is missing, and none is there that nobody began.
    fn check_counter(&self, session: usize, number: i64, cut: u64, findings: &mut Vec<String>) {
        let (acknowledged, begun) = self.with_ledger(|ledger| {
            let numbers = ledger.acknowledged.iter();
            let numbers = numbers.filter(|commit| commit.session == session && commit.at <= cut);
            (
                numbers.map(|commit| commit.number).max().unwrap_or(0),
                ledger.begun[session],
            )
        });
        let kind = SESSIONS[session];
        if number < acknowledged {
            findings.push(format!(
                "lost: session {session} ({kind:?}) has {number} transactions of {acknowledged} acknowledged"
            ));
        }
        if number > begun {
            findings.push(format!(
                "invented: session {session} ({kind:?}) has {number} transactions, and began {begun}"
            ));
        }
    }

    async fn check_rows(
        &self,
        client: &Client,
        session: usize,
        number: i64,
        findings: &mut Vec<String>,
    ) -> Result<(), Ending> {
        let select = format!(
            "SELECT slot, number, length(filler)::bigint, filler = repeat(chr((97 + number % 26)::int), length(filler))
             FROM rows WHERE session = {session}"
        );
        let found = answer(client.query(&select, &[])).await?;
        let found: BTreeMap<i32, (i64, usize, bool)> = found
            .iter()
            .map(|row| {
                let length = usize::try_from(row.get::<_, i64>(2)).expect("lengths are not negative");
                (row.get(0), (row.get(1), length, row.get(3)))
            })
            .collect();
        let expected = self.expected(session, number);
        let wrong = |slot: &&i32| {
            let expected = expected
                .get(slot)
                .map(|(number, length)| (*number, *length, true));
            found.get(slot).copied() != expected
        };
        let slots: std::collections::BTreeSet<&i32> = expected.keys().chain(found.keys()).collect();
        let slots: Vec<_> = slots.into_iter().filter(wrong).collect();
        if let Some(slot) = slots.first() {
            findings.push(format!(
                "torn: session {session} ({:?}) at transaction {number}: {} wrong rows; slot {slot} has {:?}, right is {:?}",
                SESSIONS[session],
                slots.len(),
                found.get(slot),
                expected.get(slot)
            ));
        }
        Ok(())
    }

    /// Where the trace stood when there were tables to commit to.
    pub(super) fn made_at(&self) -> u64 {
        self.with_ledger(|ledger| ledger.made_at.unwrap_or(0))
    }

    /// How many commits were acknowledged as durable.
    pub(super) fn acknowledged(&self) -> usize {
        self.with_ledger(|ledger| ledger.acknowledged.len())
    }

    fn with_ledger<T>(&self, work: impl FnOnce(&mut Ledger) -> T) -> T {
        work(&mut self.ledger.lock().expect("no session panics with it"))
    }

    /// A workload of its own that knows the same.
    pub(super) fn fork(&self) -> Workload {
        let ledger = self.with_ledger(|ledger| Ledger {
            made_at: ledger.made_at,
            acknowledged: ledger.acknowledged.clone(),
            begun: ledger.begun,
        });
        Workload {
            seed: self.seed,
            large: self.large,
            ledger: Arc::new(Mutex::new(ledger)),
        }
    }
}

/// Waits until a workload has committed enough, or has ended.
pub(super) async fn enough(stop: &Stop) {
    stop.enough.notified().await;
}

fn letter(number: i64) -> char {
    char::from(b'a' + u8::try_from(number % 26).expect("a letter"))
}

async fn connect(addr: SocketAddr) -> Result<Client, Ending> {
    let options = format!("host={} port={} user=test dbname=test", addr.ip(), addr.port());
    let (client, connection) = answer(tokio_postgres::connect(&options, NoTls)).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The answer to a request, in bounded time.
async fn answer<T>(request: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Ending> {
    match tokio::time::timeout(ANSWER_TIME_MAX, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let sqlstate = error
                .code()
                .map(|code| code.code().to_string())
                .unwrap_or_default();
            let message = error.as_db_error().map(|error| error.message().to_string());
            Err(Ending::Failed(
                sqlstate,
                message.unwrap_or_else(|| error.to_string()),
            ))
        }
        Err(_) => Err(Ending::Hung(format!("no answer within {ANSWER_TIME_MAX:?}"))),
    }
}
