//! Random scripts: tables with constraints, indexes and views that are made, changed, written and read in any order, in transactions and
//! out of them. Each statement must do here what it does in PostgreSQL: its rows or its SQLSTATE, what the tables hold after it, and what
//! the catalogs say of them. A script that differs is shrunk to the statements that it takes, and printed with its seed.
//!
//! What PostgreSQL leaves open is not asked: which of several rows fails first, and so with which error of data.

mod definitions;
mod reads;
mod tables;
mod triggers;
mod writes;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::{number, run};
use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;
use tables::Script;

/// Scripts a store, unless `KEYSPAN_RANDOM_STATEMENTS` says how many statements.
const SCRIPTS: usize = 12;
/// Statements of a script, beside those that make its first tables.
const STATEMENTS: usize = 40;

/// Scripts that differ until no more are tried.
const SHOWN: usize = 8;

/// What the catalogs say of a script's tables: columns, constraints, indexes, views. That a domain's column is read as its base type is not
/// printed here.
const CATALOGS: &str = "
    SELECT table_name || '.' || column_name, data_type, is_nullable, column_default, is_generated, generation_expression
    FROM information_schema.columns WHERE table_schema = 'r'
    UNION ALL
    SELECT conrelid::regclass || ':' || conname, contype::text, convalidated::text, condeferred::text,
        regexp_replace(pg_get_constraintdef(oid), '[(](c[0-9]+)[)]::integer', '\\1', 'g'), null
    FROM pg_constraint WHERE connamespace = 'r'::regnamespace AND conrelid <> 0
    UNION ALL SELECT indexname, regexp_replace(indexdef, '[(](c[0-9]+)[)]::integer', '\\1', 'g'), null, null, null, null FROM pg_indexes WHERE schemaname = 'r'
    UNION ALL
    SELECT tgrelid::regclass || ':' || tgname, tgenabled::text, pg_get_triggerdef(oid), null, null, null
    FROM pg_trigger WHERE NOT tgisinternal AND tgfoid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'r'::regnamespace)
    UNION ALL
    SELECT table_name, check_option, is_updatable, is_insertable_into, null, null
    FROM information_schema.views WHERE table_schema = 'r'";

/// What a statement answers: its rows, sorted, and its tag, or its SQLSTATE and message.
type Outcome = Result<(Vec<Vec<Option<String>>>, String), (String, String)>;

async fn outcome(client: &mut TextClient, sql: &str) -> Outcome {
    match client.run(sql, Protocol::Simple).await {
        Ok(mut reply) => {
            reply.rows.sort();
            Ok((reply.rows, reply.tag))
        }
        Err(error) => Err((error.sqlstate, error.message)),
    }
}

/// Whether PostgreSQL found a constant wrong that no row was to take.
fn is_of_no_row(ours: &Outcome, theirs: &Outcome) -> bool {
    let is_of_data = matches!(theirs, Err((state, _)) if state.starts_with("22"));
    is_of_data && matches!(ours, Ok((rows, tag)) if rows.is_empty() && tag == "INSERT 0 0")
}

/// Whether two outcomes are as good as one. Which error of data a statement of many rows meets first is open, and which of several in its
/// text.
fn agree(ours: &Outcome, theirs: &Outcome) -> bool {
    let is_of_data = |state: &str| {
        ["21", "22", "23", "44", "55000", "P0001"]
            .iter()
            .any(|class| state.starts_with(class))
    };
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (Err((ours, _)), Err((theirs, _))) => {
            let is_of_text = |state: &str| state.starts_with("42") || state == "22P02" || state == "22007";
            ours == theirs || is_of_data(ours) && is_of_data(theirs) || is_of_text(ours) && is_of_text(theirs)
        }
        _ => false,
    }
}

fn difference(sql: &str, ours: &Outcome, theirs: &Outcome) -> String {
    format!("{sql}\nkeyspan: {ours:?}\npostgresql: {theirs:?}")
}

/// Keyspan and PostgreSQL, and the tables that a script may have left.
struct Pair {
    keyspan: TextClient,
    postgresql: TextClient,
}

impl Pair {
    /// Runs a statement on both; what differs, if something does.
    async fn differs(&mut self, sql: &str) -> Option<String> {
        let ours = outcome(&mut self.keyspan, sql).await;
        let theirs = outcome(&mut self.postgresql, sql).await;
        (!agree(&ours, &theirs)).then(|| difference(sql, &ours, &theirs))
    }

    /// Begins with an empty schema.
    async fn begin(&mut self) {
        for client in [&mut self.keyspan, &mut self.postgresql] {
            run(
                client,
                "ROLLBACK; DROP SCHEMA IF EXISTS r CASCADE; CREATE SCHEMA r",
            )
            .await;
            run(client, "DEALLOCATE ALL").await;
            run(client, "SET search_path = r").await;
        }
    }

    /// Runs a script's statements, up to the first that is refused here; where the two first differ, and how.
    async fn first_difference(&mut self, script: &[String], tables: &[String]) -> Option<(usize, String)> {
        self.begin().await;
        for (at, sql) in script.iter().enumerate() {
            let ours = outcome(&mut self.keyspan, sql).await;
            if let Err((state, message)) = &ours
                && state == "0A000"
            {
                eprintln!("refused: {message}: {sql}");
                return None;
            }
            let theirs = outcome(&mut self.postgresql, sql).await;
            // Nor is it asked of deferrable constraints beside others over the same columns.
            let is_of_arbiter = |outcome: &Outcome| matches!(outcome, Err((state, _)) if state == "55000");
            if is_of_arbiter(&ours) || is_of_arbiter(&theirs) || is_of_no_row(&ours, &theirs) {
                return None;
            }
            if !agree(&ours, &theirs) {
                return Some((at, difference(sql, &ours, &theirs)));
            }
            let is_failed = "SELECT 1";
            if outcome(&mut self.postgresql, is_failed).await.is_err() {
                // Nothing can be asked until the block is over.
                continue;
            }
            for table in tables {
                if let Some(reason) = self.differs(&format!("SELECT * FROM {table}")).await {
                    return Some((at, format!("after {sql}\n{reason}")));
                }
            }
            let is_definition = ["CREATE", "ALTER", "DROP"]
                .iter()
                .any(|word| sql.starts_with(word));
            if is_definition && let Some(reason) = self.differs(CATALOGS).await {
                return Some((at, format!("after {sql}\n{}", lines_that_differ(&reason))));
            }
        }
        None
    }

    /// The fewest statements of a script that still differ, and how.
    async fn difference(&mut self, script: Vec<String>, tables: &[String]) -> Option<String> {
        let (at, mut reason) = self.first_difference(&script, tables).await?;
        let mut smallest = script[..=at].to_vec();
        let mut place = smallest.len() - 1;
        while place > 0 {
            place -= 1;
            let mut smaller = smallest.clone();
            smaller.remove(place);
            if let Some((at, other)) = self.first_difference(&smaller, tables).await
                && other.lines().next() == reason.lines().next()
            {
                smaller.truncate(at + 1);
                (smallest, reason) = (smaller, other);
                place = place.min(smallest.len());
            }
        }
        Some(format!("{};\n\n{reason}", smallest.join(";\n")))
    }
}

/// Of two answers with many rows what only one of them has.
fn lines_that_differ(reason: &str) -> String {
    let rows = |name: &str| -> Vec<&str> {
        let line = reason.lines().find(|line| line.starts_with(name));
        line.into_iter().flat_map(|line| line.split("], [")).collect()
    };
    let (ours, theirs) = (rows("keyspan"), rows("postgresql"));
    let only = |of: &[&str], other: &[&str]| {
        let rows = of.iter().filter(|row| !other.contains(row));
        rows.copied().collect::<Vec<_>>().join("\n  ")
    };
    format!(
        "catalogs\nkeyspan: {}\npostgresql: {}",
        only(&ours, &theirs),
        only(&theirs, &ours)
    )
}

async fn random_scripts(store: &str, first_seed: u64) {
    let Some((database, postgresql)) = Database::with_client("scripts").await else {
        return;
    };
    let server = TestServer::start(store).await;
    let mut pair = Pair {
        keyspan: server.connect_text().await,
        postgresql,
    };
    for client in [&mut pair.keyspan, &mut pair.postgresql] {
        run(client, "SET client_min_messages = warning; SET timezone = 'UTC'").await;
    }
    run(&mut pair.keyspan, "SET keyspan.full_scan = allow").await;
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let statements = number("KEYSPAN_RANDOM_STATEMENTS").map_or(SCRIPTS * STATEMENTS, |count| count as usize);
    let mut differences = Vec::new();
    for at in 0..statements.div_ceil(STATEMENTS) {
        let seed = seed * 1_000_000 + first_seed + at as u64;
        let mut script = Script::new(StdRng::seed_from_u64(seed));
        script.make_tables();
        for _ in 0..STATEMENTS {
            script.statement();
        }
        let tables = script.names();
        let difference = pair.difference(script.statements, &tables).await;
        differences.extend(difference.map(|difference| format!("seed {seed}:\n{difference}\n")));
        if differences.len() >= SHOWN {
            break;
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    database.drop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_scripts_agree_in_memory() {
    random_scripts("memory", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_scripts_agree_on_sled() {
    random_scripts("sled", 500_000).await;
}
