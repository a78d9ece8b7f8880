//! Random walks over cursors by seed: FETCH and MOVE in all their words, between writes, savepoints and commits, each foretold by a
//! model of a portal (PostgreSQL's `DoPortalRunFetch`), and answered alike by PostgreSQL when `PG_URI` is set.
//!
//! `KEYSPAN_RANDOM_STATEMENTS=10000` walks more often; `KEYSPAN_RANDOM_SEED=7` begins elsewhere.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{number, run};
use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Walks a store.
const WALKS: usize = 40;
/// Steps a walk.
const STEPS: usize = 15;

/// What a step gives: the tag and the rows, or the SQLSTATE.
type Given = Result<(String, Vec<String>), String>;

/// A portal over rows that are all known.
struct Model {
    rows: Vec<String>,
    /// Rows that were passed; not one more behind the last.
    place: usize,
    at_start: bool,
    at_end: bool,
    scrolls: bool,
}

/// It goes back, and must not.
struct ForwardOnly;

impl Model {
    fn new(rows: Vec<String>, scrolls: bool) -> Model {
        Model {
            rows,
            place: 0,
            at_start: true,
            at_end: false,
            scrolls,
        }
    }

    /// `count`: `None` for all.
    fn forward(&mut self, count: Option<usize>) -> Vec<String> {
        if self.at_end || count == Some(0) {
            return Vec::new();
        }
        let left = self.rows.len() - self.place;
        let taken = count.map_or(left, |count| count.min(left));
        let given = self.rows[self.place..self.place + taken].to_vec();
        self.place += taken;
        self.at_start &= taken == 0;
        self.at_end = count.is_none_or(|count| taken < count);
        given
    }

    fn backward(&mut self, count: Option<usize>) -> Result<Vec<String>, ForwardOnly> {
        if !self.scrolls {
            return Err(ForwardOnly);
        }
        if self.at_start || count == Some(0) {
            return Ok(Vec::new());
        }
        // The row that it is on is not given.
        let before = if self.at_end { self.place } else { self.place - 1 };
        let taken = count.map_or(before, |count| count.min(before));
        let given = self.rows[before - taken..before].iter().rev().cloned().collect();
        if taken > 0 {
            self.at_end = false;
        }
        match count.is_none_or(|count| taken < count) {
            true => {
                (self.place, self.at_start) = (0, true);
                // Behind no row at all it is at both ends.
                self.at_end &= taken == 0;
            }
            false => self.place = before - taken + 1,
        }
        Ok(given)
    }

    fn rewind(&mut self) -> Result<(), ForwardOnly> {
        if self.at_start && !self.at_end {
            return Ok(());
        }
        if !self.scrolls {
            return Err(ForwardOnly);
        }
        (self.place, self.at_start, self.at_end) = (0, true, false);
        Ok(())
    }

    fn absolute(&mut self, row: i64) -> Result<Vec<String>, ForwardOnly> {
        let Ok(row) = usize::try_from(row) else {
            self.forward(None);
            let behind = row.unsigned_abs() as usize;
            if behind > 1 {
                self.backward(Some(behind - 1))?;
            }
            return self.backward(Some(1));
        };
        if row == 0 {
            self.rewind()?;
            return Ok(Vec::new());
        }
        if row - 1 <= self.place / 2 {
            self.rewind()?;
            self.forward(Some(row - 1));
        } else {
            let place = self.place + usize::from(self.at_end);
            if row <= place {
                self.backward(Some(place - row + 1))?;
            } else {
                self.forward(Some(row - place - 1));
            }
        }
        Ok(self.forward(Some(1)))
    }

    /// The row that it is on once more. Where it only moves, that it is on one.
    fn again(&mut self, only_moves: bool) -> Result<Vec<String>, ForwardOnly> {
        let is_on_row = !self.at_start && !self.at_end;
        match (is_on_row, only_moves) {
            (false, _) => Ok(Vec::new()),
            (true, true) => Ok(vec![String::new()]),
            (true, false) => {
                self.backward(Some(1))?;
                Ok(self.forward(Some(1)))
            }
        }
    }

    fn go(&mut self, step: &Movement, only_moves: bool) -> Result<Vec<String>, ForwardOnly> {
        let count = |rows: i64| Some(rows.unsigned_abs() as usize);
        match *step {
            Movement::Forward(0) | Movement::Relative(0) => self.again(only_moves),
            Movement::Forward(rows) if rows > 0 => Ok(self.forward(count(rows))),
            Movement::Forward(rows) => self.backward(count(rows)),
            Movement::All => Ok(self.forward(None)),
            Movement::BackwardAll if only_moves => {
                let passed = match self.at_end {
                    true => self.place,
                    false => self.place.saturating_sub(1),
                };
                self.rewind()?;
                Ok(vec![String::new(); passed])
            }
            Movement::BackwardAll => self.backward(None),
            Movement::Absolute(row) => self.absolute(row),
            Movement::Relative(rows) if rows > 0 => {
                self.forward(count(rows - 1));
                Ok(self.forward(Some(1)))
            }
            Movement::Relative(rows) => {
                self.backward(count(rows + 1))?;
                self.backward(Some(1))
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Movement {
    Forward(i64),
    All,
    BackwardAll,
    Absolute(i64),
    Relative(i64),
}

impl Movement {
    fn random(random: &mut StdRng, rows: usize) -> Movement {
        let near = |random: &mut StdRng| random.random_range(-4..=4_i64);
        let far = rows as i64 + 2;
        match random.random_range(0..20) {
            0..7 => Movement::Forward(random.random_range(0..=4)),
            7..10 => Movement::Forward(near(random)),
            10 => Movement::Forward(random.random_range(-far..=far)),
            11 => Movement::All,
            12 => Movement::BackwardAll,
            13..15 => Movement::Absolute(near(random)),
            15..17 => Movement::Absolute(random.random_range(-far..=far)),
            _ => Movement::Relative(near(random)),
        }
    }

    /// One of the ways to say it.
    fn text(self, random: &mut StdRng) -> String {
        let is_long = random.random_bool(0.5);
        match self {
            Movement::Forward(1) if is_long => "NEXT FROM".to_string(),
            Movement::Forward(-1) if is_long => "PRIOR FROM".to_string(),
            Movement::Forward(rows) if rows < 0 && is_long => format!("BACKWARD {} IN", -rows),
            Movement::Forward(rows) if is_long => format!("FORWARD {rows} FROM"),
            Movement::Forward(rows) => format!("{rows}"),
            Movement::All if is_long => "FORWARD ALL IN".to_string(),
            Movement::All => "ALL".to_string(),
            Movement::BackwardAll => "BACKWARD ALL".to_string(),
            Movement::Absolute(1) if is_long => "FIRST FROM".to_string(),
            Movement::Absolute(-1) if is_long => "LAST FROM".to_string(),
            Movement::Absolute(row) => format!("ABSOLUTE {row} FROM"),
            Movement::Relative(rows) => format!("RELATIVE {rows} IN"),
        }
    }
}

/// Who is asked, and what was said so far.
struct Walk {
    clients: Vec<TextClient>,
    protocol: Protocol,
    said: Vec<String>,
    seed: u64,
}

impl Walk {
    /// Runs a statement everywhere; what all give, which must be the same.
    async fn ask(&mut self, sql: &str) -> Given {
        self.said.push(sql.to_string());
        let mut given: Vec<Given> = Vec::new();
        for client in &mut self.clients {
            let answer = client.run(sql, self.protocol).await;
            let row = |row: Vec<Option<String>>| format!("{row:?}");
            given.push(match answer {
                Ok(reply) => Ok((reply.tag, reply.rows.into_iter().map(row).collect())),
                Err(error) => Err(error.sqlstate),
            });
        }
        for other in &given[1..] {
            assert_eq!(given[0], *other, "beside PostgreSQL: {}", self.story());
        }
        given.swap_remove(0)
    }

    async fn must(&mut self, sql: &str) -> Vec<String> {
        let given = self.ask(sql).await;
        given
            .unwrap_or_else(|error| panic!("{error}: {}", self.story()))
            .1
    }

    fn story(&self) -> String {
        format!("seed {}: {}", self.seed, self.said.join("; "))
    }

    /// Moves, as the model does; whether the cursor is still good.
    async fn step(&mut self, random: &mut StdRng, model: &mut Model) -> bool {
        let (movement, only_moves) = (
            Movement::random(random, model.rows.len()),
            random.random_bool(0.25),
        );
        let verb = if only_moves { "MOVE" } else { "FETCH" };
        let given = self.ask(&format!("{verb} {} c", movement.text(random))).await;
        match (model.go(&movement, only_moves), given) {
            (Ok(rows), Ok((tag, given))) => {
                let expected = if only_moves { Vec::new() } else { rows.clone() };
                assert_eq!(tag, format!("{verb} {}", rows.len()), "{}", self.story());
                assert_eq!(given, expected, "{}", self.story());
                true
            }
            (Err(ForwardOnly), Err(sqlstate)) => {
                assert_eq!(sqlstate, "55000", "{}", self.story());
                false
            }
            (Ok(rows), Err(sqlstate)) => panic!("{rows:?} became {sqlstate}: {}", self.story()),
            (Err(ForwardOnly), Ok(given)) => panic!("it went back to {given:?}: {}", self.story()),
        }
    }

    /// Declares a cursor and walks over it until the walk ends, or the cursor.
    async fn walk(&mut self, random: &mut StdRng) {
        let query = [
            "SELECT k, v FROM t ORDER BY k",
            "SELECT v, k FROM t WHERE k > 2 ORDER BY v DESC, k",
            "SELECT a.k, b.v FROM t a JOIN t b ON b.k = a.v ORDER BY a.k",
            "SELECT v, count(*) FROM t GROUP BY v ORDER BY v",
            "SELECT k FROM t ORDER BY k LIMIT 4 OFFSET 1",
            "SELECT DISTINCT v FROM t ORDER BY v",
            "VALUES (3), (1), (2)",
        ][random.random_range(0..7_usize)];
        let (scrolls, is_held) = (random.random_bool(0.7), random.random_bool(0.4));
        self.must("BEGIN").await;
        if random.random_bool(0.3) {
            self.must("UPDATE t SET v = v + 1 WHERE k < 4").await;
        }
        let rows = self.must(query).await;
        let scroll = if scrolls { "SCROLL" } else { "NO SCROLL" };
        let hold = if is_held { "WITH HOLD" } else { "" };
        self.must(&format!("DECLARE c {scroll} CURSOR {hold} FOR {query}"))
            .await;
        let mut model = Model::new(rows, scrolls);
        let mut is_in_block = true;
        for _ in 0..STEPS {
            match random.random_range(0..10) {
                0 => {
                    let write = [
                        "DELETE FROM t WHERE k = 3",
                        "UPDATE t SET v = v + 2",
                        "INSERT INTO t VALUES (100001, 5) ON CONFLICT DO NOTHING",
                    ];
                    self.must(write[random.random_range(0..3_usize)]).await;
                }
                1 if is_in_block => {
                    self.must("SAVEPOINT s").await;
                    self.must("DELETE FROM t WHERE k < 3").await;
                    let is_good = self.step(random, &mut model).await;
                    self.must("ROLLBACK TO s").await;
                    if !is_good {
                        assert_eq!(self.ask("FETCH c").await, Err("55000".to_string()));
                        break;
                    }
                }
                2 if is_held && is_in_block => {
                    self.must("COMMIT").await;
                    is_in_block = false;
                }
                _ if !self.step(random, &mut model).await => break,
                _ => {}
            }
        }
        self.must("ROLLBACK").await;
        if !is_in_block {
            self.must("CLOSE c").await;
        }
        assert_eq!(
            self.ask("FETCH c").await,
            Err("34000".to_string()),
            "{}",
            self.story()
        );
    }
}

async fn random_walks(store: &str, protocol: Protocol) {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(WALKS, |count| count as usize);
    let server = TestServer::start(store).await;
    let (database, postgresql) = Database::with_client("cursors").await.unzip();
    let mut walk = Walk {
        clients: std::iter::once(server.connect_text().await)
            .chain(postgresql)
            .collect(),
        protocol,
        said: Vec::new(),
        seed: 0,
    };
    for client in &mut walk.clients {
        run(client, "CREATE TABLE t (k int PRIMARY KEY, v int)").await;
    }
    for at in 0..count {
        walk.seed = seed * 1_000_000 + at as u64;
        walk.said.clear();
        let mut random = StdRng::seed_from_u64(walk.seed);
        let rows = [0, 1, 2, 5, 9, 40, 3000][random.random_range(0..7_usize)];
        walk.must("DELETE FROM t").await;
        walk.must(&format!(
            "INSERT INTO t SELECT g, (g * 7) % 5 FROM generate_series(1, {rows}) g"
        ))
        .await;
        walk.walk(&mut random).await;
    }
    drop(walk);
    if let Some(database) = database {
        database.drop().await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_walks_over_cursors_in_memory() {
    random_walks("memory", Protocol::Simple).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_walks_over_cursors_on_sled() {
    random_walks("sled", Protocol::Extended).await;
}
