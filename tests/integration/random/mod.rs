//! Random statements by seed, each answered in several ways that must agree: as a short statement, by the general plan,
//! with parameters for literals, as a text that came before, in the binary format, and by PostgreSQL when `PG_URI` is set. Writes are foretold by a SELECT and compared with
//! what the table holds after them. A statement that fails is shrunk and printed with its seed. Others are answered by plans that one of
//! the rules did not rewrite (`keyspan.rewrite_rule_off`), and by plans as they were bound.
//!
//! `KEYSPAN_RANDOM_STATEMENTS=10000` runs more; `KEYSPAN_RANDOM_SEED=7` begins elsewhere.

mod casts;
mod cursors;
mod exclusions;
mod expression;
mod first_rows;
mod from;
mod functions;
mod many_rows;
mod nested;
mod nested_keys;
mod partitions;
mod query;
mod scripts;
mod statement;
mod terms;
mod windows;

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;
use statement::{Form, Generator, Select, Sql};

/// Statements a store and protocol.
const STATEMENTS: usize = 150;
/// Statements whose plans are made without each of the rules.
const PLANS: usize = 60;
/// Statements between two writes.
const BETWEEN_WRITES: usize = 5;
/// Statements until the tables are made anew.
const BETWEEN_TABLES: usize = 50;

/// Rows as text, or the SQLSTATE that the statement failed with.
type Answer = Result<Vec<Vec<Option<String>>>, String>;

/// Runs a statement and answers its rows, sorted unless their order counts.
async fn answer(client: &mut TextClient, sql: &Sql, form: Form, protocol: Protocol, ordered: bool) -> Answer {
    let mut rows = Vec::new();
    let texts = sql.write(form, "random");
    let last = texts.iter().rposition(|text| text.starts_with("EXECUTE"));
    for (at, text) in texts.iter().enumerate() {
        match client.run(text, protocol).await {
            Ok(reply) if reply.columns.is_some() => rows = reply.rows,
            Ok(_) => {}
            // Other values than those that are asked of may fail.
            Err(_) if last.is_some_and(|last| at < last) && text.starts_with("EXECUTE") => {}
            Err(error) => {
                // What was prepared by then must not be in the way.
                let _ = client.run("DEALLOCATE ALL", Protocol::Simple).await;
                // A fault of ours is nobody's answer, and says what it is.
                return Err(match error.sqlstate.as_str() {
                    "XX000" => format!("XX000 in {form:?}: {}", error.message),
                    _ => error.sqlstate,
                });
            }
        }
    }
    if !ordered {
        rows.sort();
    }
    Ok(rows)
}

/// Who answers.
struct Oracles {
    keyspan: TextClient,
    postgresql: Option<TextClient>,
    protocol: Protocol,
    /// Rules of which each is left out, instead of all else.
    rules: Vec<String>,
}

impl Oracles {
    /// What is wrong with a statement's answers, if something is.
    async fn disagreement(&mut self, select: &Select) -> Option<String> {
        if !self.rules.is_empty() {
            return self.disagreement_without_rules(select).await;
        }
        let (ordered, protocol) = (select.is_ordered(), self.protocol);
        let plain = select.sql(Form::Plain);
        let short = answer(&mut self.keyspan, &plain, Form::Plain, protocol, ordered).await;
        let general = select.sql(Form::General);
        let general = answer(&mut self.keyspan, &general, Form::General, protocol, ordered).await;
        if short != general {
            return Some(format!("short: {short:?}\ngeneral: {general:?}"));
        }
        let parameters = answer(&mut self.keyspan, &plain, Form::Parameters, protocol, ordered).await;
        if short != parameters {
            return Some(format!("literals: {short:?}\nparameters: {parameters:?}"));
        }
        let (first, again) = self.again(&plain, ordered).await;
        if first != again {
            return Some(format!("bare: {first:?}\nagain: {again:?}"));
        }
        let binary = self.by_binary(&plain, ordered).await;
        if short != binary {
            return Some(format!("text: {short:?}\nbinary: {binary:?}"));
        }
        let postgresql = self.postgresql.as_mut()?;
        let theirs = answer(postgresql, &plain, Form::Plain, protocol, ordered).await;
        (short != theirs).then(|| format!("keyspan: {short:?}\npostgresql: {theirs:?}"))
    }

    /// What is wrong with the rows of plans that one of the rules did not rewrite. A value that cannot be computed for some row fails
    /// where a plan computes it for that row: as in PostgreSQL, it depends on the plan.
    async fn disagreement_without_rules(&mut self, select: &Select) -> Option<String> {
        let (ordered, protocol) = (select.is_ordered(), self.protocol);
        let sql = select.sql(Form::General);
        let rewritten = answer(&mut self.keyspan, &sql, Form::General, protocol, ordered).await;
        for rule in self.rules.clone() {
            run(&mut self.keyspan, &format!("SET {rule}")).await;
            let without = answer(&mut self.keyspan, &sql, Form::General, protocol, ordered).await;
            if let Some((setting, _)) = rule.split_once(" = ") {
                run(&mut self.keyspan, &format!("RESET {setting}")).await;
            }
            let is_data_error =
                |answer: &Answer| matches!(answer, Err(sqlstate) if sqlstate.starts_with("22"));
            if without != rewritten && !is_data_error(&without) && !is_data_error(&rewritten) {
                return Some(format!("rewritten: {rewritten:?}\nwithout {rule}: {without:?}"));
            }
        }
        None
    }

    /// The answer to a text that did not come before, and to the same text when it is known.
    async fn again(&mut self, sql: &Sql, ordered: bool) -> (Answer, Answer) {
        let (form, protocol) = (Form::Bare, Protocol::Simple);
        let first = answer(&mut self.keyspan, sql, form, protocol, ordered).await;
        answer(&mut self.keyspan, sql, form, protocol, ordered).await.ok();
        let again = answer(&mut self.keyspan, sql, form, protocol, ordered).await;
        (first, again)
    }

    /// The answer by way of the binary format.
    async fn by_binary(&mut self, sql: &Sql, ordered: bool) -> Answer {
        let text = sql.write(Form::Plain, "").remove(0);
        let rows = self.keyspan.rows_by_binary(&text).await;
        let mut rows = rows.map_err(|error| error.sqlstate)?;
        if !ordered {
            rows.sort();
        }
        Ok(rows)
    }

    /// Fails with the smallest statement that still disagrees.
    async fn check(&mut self, select: Select, seed: u64) {
        let Some(mut reason) = self.disagreement(&select).await else {
            return;
        };
        let mut smallest = select;
        'smaller: loop {
            for smaller in smallest.smaller() {
                if let Some(other) = self.disagreement(&smaller).await {
                    (smallest, reason) = (smaller, other);
                    continue 'smaller;
                }
            }
            break;
        }
        let text = smallest.sql(Form::Plain).write(Form::Plain, "").remove(0);
        panic!("seed {seed}: {text}\n{reason}");
    }

    /// Runs a statement that both must take.
    async fn run_both(&mut self, sql: &str) {
        for client in std::iter::once(&mut self.keyspan).chain(&mut self.postgresql) {
            run(client, sql).await;
        }
    }

    /// Whether both take a statement, or neither, for the same reason.
    async fn is_taken(&mut self, sql: &str) -> bool {
        let own = self.keyspan.run(sql, Protocol::Simple).await;
        let state = |error: &str| error.split(':').next().unwrap_or_default().to_string();
        let own = own.map(drop).map_err(|error| state(&error.to_string()));
        if let Some(postgresql) = &mut self.postgresql {
            let theirs = postgresql.run(sql, Protocol::Simple).await;
            let theirs = theirs.map(drop).map_err(|error| state(&error.to_string()));
            assert_eq!(own, theirs, "{sql}");
        }
        own.is_ok()
    }

    async fn make_tables(&mut self, generator: &mut Generator) {
        self.run_both("DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS u")
            .await;
        let [ours, theirs] = generator.tables();
        run(&mut self.keyspan, &ours).await;
        if let Some(postgresql) = &mut self.postgresql {
            run(postgresql, &theirs).await;
        }
        // Some indexes are kept from the first row on, some are built over those that are there.
        let (rows, indexes) = (generator.rows(25).join("; "), generator.indexes().join("; "));
        let first_rows = generator.chance(50);
        for statements in if first_rows {
            [&rows, &indexes]
        } else {
            [&indexes, &rows]
        } {
            self.run_both(statements).await;
        }
    }

    /// Writes in a transaction block with savepoints, of which some are rolled back to, and compares what stays.
    async fn check_block(&mut self, generator: &mut Generator, seed: u64) {
        let Some(_) = &self.postgresql else { return };
        let block = generator.block();
        for sql in &block {
            if !self.is_taken(&sql.write(Form::Plain, "").remove(0)).await {
                // A value that cannot be computed, for both: the block is over.
                self.run_both("ROLLBACK").await;
                break;
            }
        }
        let all = Sql::of("SELECT * FROM t", &[]);
        let found = answer(&mut self.keyspan, &all, Form::Plain, self.protocol, false).await;
        if let Some(postgresql) = &mut self.postgresql {
            let theirs = answer(postgresql, &all, Form::Plain, self.protocol, false).await;
            let text: Vec<String> = block
                .iter()
                .map(|sql| sql.write(Form::Plain, "").remove(0))
                .collect();
            assert_eq!(found, theirs, "seed {seed}: {}", text.join("; "));
        }
    }

    /// Writes to `t`, and compares it with what a SELECT by the general plan foretold.
    async fn check_write(&mut self, generator: &mut Generator, seed: u64) {
        let condition = generator.condition_of_t();
        let t = "(SELECT * FROM t UNION ALL SELECT * FROM t WHERE false) t";
        let (write, foretold) = match generator.is_update() {
            true => {
                let value = generator.value_of_v();
                let write = Sql::of(
                    "UPDATE t SET v = {} WHERE {}",
                    &[value.clone(), condition.clone()],
                );
                let items = "a, s, d, CASE WHEN {} THEN {} ELSE v END, x, n, ts, b";
                let foretold = Sql::of(&format!("SELECT {items} FROM {t}"), &[condition, value]);
                (write, foretold)
            }
            false => {
                let condition = Sql::of("({}) AND t.a > 3", &[condition]);
                let foretold = format!("SELECT * FROM {t} WHERE ({{}}) IS NOT TRUE");
                (
                    Sql::of("DELETE FROM t WHERE {}", std::slice::from_ref(&condition)),
                    Sql::of(&foretold, &[condition]),
                )
            }
        };
        let expected = answer(&mut self.keyspan, &foretold, Form::Plain, self.protocol, false).await;
        // A value that cannot be computed writes nothing.
        if matches!(&expected, Err(sqlstate) if sqlstate.starts_with("22")) {
            return;
        }
        let text = write.write(Form::Plain, "").remove(0);
        self.run_both(&text).await;
        let all = Sql::of("SELECT * FROM t", &[]);
        let found = answer(&mut self.keyspan, &all, Form::Plain, self.protocol, false).await;
        assert_eq!(found, expected, "seed {seed}: {text}");
        if let Some(postgresql) = &mut self.postgresql {
            let theirs = answer(postgresql, &all, Form::Plain, self.protocol, false).await;
            assert_eq!(found, theirs, "seed {seed}, beside PostgreSQL: {text}");
        }
    }
}

impl Oracles {
    /// A write of any kind beside PostgreSQL: what it returns, and what the tables hold after it.
    async fn check_wide_write(&mut self, generator: &mut Generator, seed: u64) {
        if self.postgresql.is_none() {
            return;
        }
        let write = generator.wide_write();
        let text = write.write(Form::Plain, "").remove(0);
        let all = ["SELECT * FROM t", "SELECT * FROM u"].map(|text| Sql::of(text, &[]));
        for sql in std::iter::once(&write).chain(&all) {
            let found = answer(&mut self.keyspan, sql, Form::Plain, self.protocol, false).await;
            let Some(postgresql) = &mut self.postgresql else {
                return;
            };
            let theirs = answer(postgresql, sql, Form::Plain, self.protocol, false).await;
            assert_eq!(found, theirs, "seed {seed}, beside PostgreSQL: {text}");
        }
    }
}

/// The number that a variable of the environment holds.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

async fn random_statements(store: &str, protocol: Protocol) {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(STATEMENTS, |count| count as usize);
    let server = TestServer::start(store).await;
    let mut keyspan = server.connect_text().await;
    let allow = keyspan
        .run("SET keyspan.full_scan = allow", Protocol::Simple)
        .await;
    allow.expect("the setting exists");
    let (database, postgresql) = Database::with_client("random").await.unzip();
    let mut oracles = Oracles {
        keyspan,
        postgresql,
        protocol,
        rules: Vec::new(),
    };
    for at in 0..count {
        let seed = seed * 1_000_000 + at as u64;
        let mut generator = Generator {
            random: StdRng::seed_from_u64(seed),
        };
        if at % BETWEEN_TABLES == 0 {
            oracles.make_tables(&mut generator).await;
        }
        if at % BETWEEN_WRITES == BETWEEN_WRITES - 1 {
            oracles.check_write(&mut generator, seed).await;
            oracles.check_block(&mut generator, seed).await;
            oracles.check_wide_write(&mut generator, seed).await;
        }
        let select = generator.statement();
        oracles.check(select, seed).await;
    }
    if let Some(database) = database {
        database.drop().await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_statements_agree_in_memory() {
    random_statements("memory", Protocol::Simple).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_statements_agree_on_sled() {
    random_statements("sled", Protocol::Extended).await;
}

/// Every rule is left out in turn; texts that came before must not be answered by the plans that they had.
#[tokio::test(flavor = "multi_thread")]
async fn random_plans_give_the_same_rows_without_each_rule() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(PLANS, |count| count as usize);
    let server = TestServer::start("memory").await;
    let mut keyspan = server.connect_text().await;
    run(&mut keyspan, "SET keyspan.full_scan = allow").await;
    run(&mut keyspan, "SET keyspan.known_texts_max = 0").await;
    let words = "SELECT unnest(enumvals) FROM pg_settings WHERE name = 'keyspan.rewrite_rule_off'";
    let words = keyspan
        .run(words, Protocol::Simple)
        .await
        .expect("there are rules");
    let rules = words
        .rows
        .into_iter()
        .flatten()
        .flatten()
        .filter(|rule| rule != "none")
        .map(|rule| format!("keyspan.rewrite_rule_off = {rule}"))
        .chain(["keyspan.join_order_rows = 0".to_string()])
        .collect();
    let mut oracles = Oracles {
        keyspan,
        postgresql: None,
        protocol: Protocol::Simple,
        rules,
    };
    assert!(!oracles.rules.is_empty());
    for at in 0..count {
        let seed = seed * 1_000_000 + at as u64;
        let mut generator = Generator {
            random: StdRng::seed_from_u64(seed),
        };
        if at % BETWEEN_TABLES == 0 {
            oracles.make_tables(&mut generator).await;
        }
        let select = generator.statement();
        oracles.check(select, seed).await;
    }
    server.stop().await;
}

/// The rows of a statement that is sent as it is, or the SQLSTATE that it failed with, which is none of a fault of ours.
async fn answer_of(client: &mut TextClient, sql: &str) -> Answer {
    match client.run(sql, Protocol::Simple).await {
        Ok(reply) => Ok(reply.rows),
        Err(error) => {
            assert_ne!(error.sqlstate, "XX000", "{sql}\n{error}");
            Err(error.sqlstate)
        }
    }
}

/// Runs a statement that must not fail.
async fn run(client: &mut TextClient, sql: &str) {
    let done = client.run(sql, Protocol::Simple).await;
    done.unwrap_or_else(|error| panic!("{sql}\n{error}"));
}
