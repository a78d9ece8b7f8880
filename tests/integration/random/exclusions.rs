//! Random writes of rows that exclusion constraints keep apart, one at a time and in blocks: each must do as PostgreSQL does. And many sessions
//! at once, after which no two rows overlap.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::client::Protocol;
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 600;
/// Statements until the table is made anew.
const BETWEEN_TABLES: u64 = 60;
const SESSIONS: usize = 8;
/// Statements of each session.
const OF_SESSION: usize = 60;

const CONSTRAINTS: [&str; 8] = [
    "EXCLUDE USING gist (room WITH =, during WITH &&)",
    "EXCLUDE USING gist (during WITH &&, room WITH =) WHERE (kind <> 'off')",
    "EXCLUDE USING gist (during WITH &&)",
    "EXCLUDE USING gist (room WITH =, numrange(low, high, '[]') WITH &&)",
    "EXCLUDE USING gist (room WITH =, kind WITH <>)",
    "EXCLUDE USING gist (room WITH =, during WITH &&) DEFERRABLE",
    "EXCLUDE USING gist (room WITH =, during WITH &&) INITIALLY DEFERRED",
    "EXCLUDE (room WITH =, kind WITH =)",
];

struct Bookings(StdRng);

impl Bookings {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    fn range(&mut self) -> String {
        match self.0.random_range(0..12) {
            0 => "'empty'".to_string(),
            1 => "NULL".to_string(),
            2 => format!("'[{},)'", self.0.random_range(60..90)),
            3 => format!("'(,{})'", self.0.random_range(0..10)),
            _ => {
                let low = self.0.random_range(0..80);
                let high = low + self.0.random_range(0..8);
                let (open, close) = (self.one_of(&["[", "("]), self.one_of(&["]", ")"]));
                format!("'{open}{low},{high}{close}'")
            }
        }
    }

    fn room(&mut self) -> &'static str {
        self.one_of(&["1", "2", "3", "NULL"])
    }

    fn kind(&mut self) -> &'static str {
        self.one_of(&["'a'", "'b'", "'off'"])
    }

    fn low(&mut self) -> (f64, f64) {
        let low = f64::from(self.0.random_range(0..400)) / 4.0;
        (low, low + f64::from(self.0.random_range(0..12)) / 4.0)
    }

    fn table(&mut self) -> Vec<String> {
        let constraint = self.one_of(&CONSTRAINTS);
        vec![
            "ROLLBACK".to_string(),
            "DROP TABLE IF EXISTS bookings".to_string(),
            format!(
                "CREATE TABLE bookings (id int PRIMARY KEY, room int, during int4range, kind text, low numeric, high numeric, \
                 CONSTRAINT apart {constraint})"
            ),
        ]
    }

    fn row(&mut self, id: u64) -> String {
        let (low, high) = self.low();
        format!(
            "({id}, {}, {}, {}, {low}, {high})",
            self.room(),
            self.range(),
            self.kind()
        )
    }

    fn statement(&mut self, at: u64) -> String {
        let id = at - self.0.random_range(0..40).min(at);
        match self.0.random_range(0..14) {
            0..6 => format!("INSERT INTO bookings VALUES {}", self.row(at)),
            6 => format!(
                "INSERT INTO bookings VALUES {} ON CONFLICT DO NOTHING RETURNING id",
                self.row(at)
            ),
            7 => format!("UPDATE bookings SET during = {} WHERE id = {id}", self.range()),
            8 => format!(
                "UPDATE bookings SET room = {}, kind = {} WHERE id = {id}",
                self.room(),
                self.kind()
            ),
            9 => format!("DELETE FROM bookings WHERE id = {id}"),
            10 => "BEGIN".to_string(),
            11 => self.one_of(&["COMMIT", "COMMIT", "ROLLBACK"]).to_string(),
            12 => format!("SET CONSTRAINTS ALL {}", self.one_of(&["DEFERRED", "IMMEDIATE"])),
            _ => format!(
                "DELETE FROM bookings WHERE room = {} AND during && {}",
                self.room(),
                self.range()
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_rows_that_are_kept_apart_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("exclusions").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    for client in [&mut ours, &mut theirs] {
        run(client, "CREATE EXTENSION IF NOT EXISTS btree_gist").await;
    }
    for at in 0..count {
        let mut bookings = Bookings(StdRng::seed_from_u64(seed * 1_000_000 + at));
        let mut statements = match at % BETWEEN_TABLES {
            0 => bookings.table(),
            _ => Vec::new(),
        };
        statements.push(bookings.statement(at));
        statements.push("SELECT * FROM bookings ORDER BY id".to_string());
        for sql in statements {
            let (own, other) = (
                answer_of(&mut ours, &sql).await,
                answer_of(&mut theirs, &sql).await,
            );
            assert_eq!(
                own, other,
                "statement {at} of seed {seed}, beside PostgreSQL: {sql}"
            );
        }
    }
    database.drop().await;
    server.stop_sound("random statements").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_write_at_once_leave_no_two_rows_that_overlap() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    run(
        &mut client,
        "CREATE TABLE bookings (id int PRIMARY KEY, room int, during int4range, kind text, low numeric, high numeric, \
         EXCLUDE USING gist (room WITH =, during WITH &&))",
    )
    .await;
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let mut client = server.connect_text().await;
        sessions.push(tokio::spawn(async move {
            let mut bookings = Bookings(StdRng::seed_from_u64(session as u64));
            let mut written = 0;
            for at in 0..OF_SESSION {
                let id = (session * OF_SESSION + at) as u64;
                let (in_block, moves) = (at % 3 == 0, at % 4 == 1);
                let sql = match moves {
                    true => format!(
                        "UPDATE bookings SET during = {} WHERE id = {}",
                        bookings.range(),
                        id - 1
                    ),
                    false => format!("INSERT INTO bookings VALUES {}", bookings.row(id)),
                };
                if in_block {
                    run(&mut client, "BEGIN").await;
                }
                match client.run(&sql, Protocol::Simple).await {
                    Ok(_) => written += 1,
                    Err(error) => assert_eq!(error.sqlstate, "23P01", "{sql}"),
                }
                if in_block {
                    run(&mut client, "COMMIT").await;
                }
            }
            written
        }));
    }
    let mut written = 0;
    for session in sessions {
        written += session.await.expect("a session");
    }
    assert!(written > SESSIONS, "few statements have written: {written}");
    let overlapping = "SELECT a.id, b.id FROM bookings a JOIN bookings b ON a.room = b.room AND a.id < b.id WHERE a.during && b.during";
    run(&mut client, "SET keyspan.full_scan = allow").await;
    let found = answer_of(&mut client, overlapping).await;
    assert_eq!(found, Ok(Vec::new()));
    server.stop_sound("sessions at once").await;
}
