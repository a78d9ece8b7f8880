//! Columns that writes add, by many sessions at once: none is lost, and what is rolled back leaves nothing. By seed;
//! `KEYSPAN_RANDOM_SEED=7` begins elsewhere.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::TextClient;
use crate::server::{TestServer, ok, run};

/// Sessions of the random model, each with rows of its own.
const SESSIONS: i64 = 4;
/// Statements of each.
const STATEMENTS: usize = 150;
/// Rows of each.
const KEYS: i64 = 6;

/// What a session knows of its rows: by key the columns that are not NULL.
type Rows = BTreeMap<i64, BTreeMap<String, String>>;

/// Columns of three kinds: of a pattern of numbers, of one of texts, and of whoever writes first.
fn column(random: &mut StdRng) -> (String, String) {
    let at = random.random_range(0..20);
    match random.random_range(0..3) {
        0 => (format!("n_{at}"), random.random_range(0..1000).to_string()),
        1 => (format!("c{at}_str"), format!("s{}", random.random_range(0..1000))),
        _ => (format!("d{at}"), random.random_range(0..1000).to_string()),
    }
}

fn literal(name: &str, value: &str) -> String {
    match name.ends_with("_str") {
        true => format!("'{value}'"),
        false => value.to_string(),
    }
}

/// One write to a row, and what it makes of it.
fn write(random: &mut StdRng, k: i64, rows: &mut Rows) -> String {
    if random.random_range(0..8) == 0 {
        rows.remove(&k);
        return format!("DELETE FROM t WHERE k = {k}");
    }
    let mut given: BTreeMap<String, Option<String>> = BTreeMap::new();
    for _ in 0..random.random_range(1..4) {
        let (name, value) = column(random);
        let is_null = random.random_range(0..6) == 0;
        given.insert(name, (!is_null).then_some(value));
    }
    let sql = |value: (&String, &Option<String>)| match value {
        (name, Some(value)) => literal(name, value),
        (_, None) => "NULL".to_string(),
    };
    let names: Vec<&str> = given.keys().map(String::as_str).collect();
    let values: Vec<String> = given.iter().map(sql).collect();
    let (names_listed, values_listed) = (names.join(", "), values.join(", "));
    let statement = match random.random_range(0..4) {
        // UPDATE adds what it names, too.
        0 => {
            let sets: Vec<String> = names
                .iter()
                .zip(&values)
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            let statement = format!("UPDATE t SET {} WHERE k = {k}", sets.join(", "));
            if !rows.contains_key(&k) {
                return statement;
            }
            statement
        }
        1 => {
            let sets: Vec<String> = names
                .iter()
                .map(|name| format!("{name} = excluded.{name}"))
                .collect();
            // What nothing but NULL is given may not be there to be set.
            if given.values().any(Option::is_none) {
                format!("UPSERT INTO t (k, {names_listed}) VALUES ({k}, {values_listed})")
            } else {
                format!(
                    "INSERT INTO t (k, {names_listed}) VALUES ({k}, {values_listed}) ON CONFLICT (k) DO UPDATE SET {}",
                    sets.join(", ")
                )
            }
        }
        _ => format!("UPSERT INTO t (k, {names_listed}) VALUES ({k}, {values_listed})"),
    };
    let row = rows.entry(k).or_default();
    for (name, value) in given {
        match value {
            Some(value) => row.insert(name, value),
            None => row.remove(&name),
        };
    }
    statement
}

/// Runs random transactions on the session's rows; answers what is committed of them.
async fn write_at_random(mut client: TextClient, seed: u64, session: i64) -> Rows {
    let mut random = StdRng::seed_from_u64(seed);
    let mut committed = Rows::new();
    // What the block sees, and what it saw at each savepoint.
    let (mut seen, mut savepoints): (Rows, Vec<Rows>) = (Rows::new(), Vec::new());
    let mut in_block = false;
    for _ in 0..STATEMENTS {
        let k = session * 1000 + random.random_range(0..KEYS);
        let kind = random.random_range(0..20);
        let statement = match kind {
            0..=1 if !in_block => "BEGIN".to_string(),
            0 if in_block => "COMMIT".to_string(),
            1 if in_block => "ROLLBACK".to_string(),
            2..=3 if in_block => "SAVEPOINT s".to_string(),
            4 if !savepoints.is_empty() => "ROLLBACK TO s".to_string(),
            5 if in_block && !savepoints.is_empty() => {
                "INSERT INTO t (k, wrong) VALUES (NULL, 1)".to_string()
            }
            _ => write(&mut random, k, &mut seen),
        };
        let result = run(&mut client, &statement).await;
        match statement.as_str() {
            "BEGIN" => in_block = true,
            "COMMIT" | "ROLLBACK" => {
                if statement == "ROLLBACK" {
                    seen.clone_from(&committed);
                }
                savepoints.clear();
                in_block = false;
            }
            "SAVEPOINT s" => savepoints.push(seen.clone()),
            "ROLLBACK TO s" => seen = savepoints.last().cloned().unwrap_or_default(),
            _ => {}
        }
        match result {
            Ok(_) => {}
            Err(error) if error.sqlstate == "23502" => {
                ok(&mut client, "ROLLBACK TO s").await;
                seen = savepoints.last().cloned().unwrap_or_default();
            }
            Err(error) => panic!("{statement}: {error}, session {session}, seed {seed}"),
        }
        if !in_block {
            committed.clone_from(&seen);
        }
    }
    if in_block {
        ok(&mut client, "COMMIT").await;
    }
    client.close().await;
    seen
}

/// The rows as a query gives them, without what is NULL.
async fn stored(client: &mut TextClient, sql: &str) -> Rows {
    let reply = run(client, sql).await.unwrap();
    let names = reply.columns.unwrap();
    let rows = reply.rows.into_iter().map(|row| {
        let k = row[0].as_deref().unwrap().parse().unwrap();
        let others = names.iter().cloned().zip(row).skip(1);
        let values = others.filter_map(|(name, value)| Some((name, value?)));
        (k, values.collect())
    });
    rows.collect()
}

async fn columns(client: &mut TextClient) -> Vec<Vec<Option<String>>> {
    let sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position";
    ok(client, sql).await
}

async fn random_columns(store: &str) {
    let seed = std::env::var("KEYSPAN_RANDOM_SEED").ok();
    let seed = seed.and_then(|text| text.parse().ok()).unwrap_or(1);
    let server = TestServer::start(store).await;
    let mut client = server.connect_text().await;
    let create = "CREATE TABLE t (k bigint PRIMARY KEY, \"n_*\" bigint, \"*_str\" varchar)
        WITH (dynamic_columns = 'any', wildcard_column = 'n_*,*_str')";
    ok(&mut client, create).await;
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let client = server.connect_text().await;
        sessions.push(tokio::spawn(write_at_random(
            client,
            seed * 1000 + session as u64,
            session,
        )));
    }
    let mut expected = Rows::new();
    for session in sessions {
        expected.extend(session.await.unwrap());
    }
    assert_eq!(
        stored(&mut client, "SELECT * FROM t").await,
        expected,
        "seed {seed}"
    );
    ok(&mut client, "CREATE INDEX by_n ON t (n_0, n_1) INCLUDE (c0_str)").await;
    let by_n = "SELECT /*+ _l_force_index_('by_n') */ k, n_0, n_1 FROM t WHERE n_0 >= 0";
    let of_index: Rows = stored(&mut client, by_n).await;
    let with_n = expected.iter().filter(|(_, row)| row.contains_key("n_0"));
    let with_n: Vec<i64> = with_n.map(|(k, _)| *k).collect();
    assert_eq!(of_index.into_keys().collect::<Vec<_>>(), with_n, "seed {seed}");
    let before = columns(&mut client).await;
    client.close().await;
    if store == "memory" {
        server.stop().await;
        return;
    }
    let folder = server.stop_sound(&format!("seed {seed}")).await;
    let server = TestServer::start_at(store, folder).await;
    let mut client = server.connect_text().await;
    assert_eq!(
        stored(&mut client, "SELECT * FROM t").await,
        expected,
        "seed {seed}"
    );
    assert_eq!(columns(&mut client).await, before, "seed {seed}");
    ok(
        &mut client,
        "UPSERT INTO t (k, n_later, later_str) VALUES (1, 5, 5)",
    )
    .await;
    let types = "SELECT pg_typeof(n_later), pg_typeof(later_str) FROM t WHERE k = 1";
    let found = ok(&mut client, types).await;
    assert_eq!(
        found[0],
        [Some("bigint".to_string()), Some("character varying".to_string())]
    );
    client.close().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_add_columns_at_random_in_memory() {
    random_columns("memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_add_columns_at_random_on_sled() {
    random_columns("sled").await;
}

/// Each of a thousand writes names a column of its own and one that others name at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_writers_lose_no_column() {
    const CLIENTS: usize = 50;
    const WRITES: usize = 20;
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    ok(
        &mut client,
        "CREATE TABLE t (k bigint PRIMARY KEY) WITH (DYNAMIC_COLUMNS);
         CREATE TABLE beside (k bigint PRIMARY KEY, v int)",
    )
    .await;
    let mut writers = Vec::new();
    for writer in 0..CLIENTS {
        let mut client = server.connect_text().await;
        writers.push(tokio::spawn(async move {
            for at in 0..WRITES {
                let k = writer * WRITES + at;
                let sql = format!("UPSERT INTO t (k, own{k}, shared{at}) VALUES ({k}, {k}, {at})");
                ok(&mut client, &sql).await;
                ok(&mut client, &format!("UPSERT INTO beside VALUES ({k}, 1)")).await;
            }
            client.close().await;
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(columns(&mut client).await.len(), 1 + CLIENTS * WRITES + WRITES);
    let rows = stored(&mut client, "SELECT * FROM t").await;
    assert_eq!(rows.len(), CLIENTS * WRITES);
    for (k, row) in rows {
        let at = k as usize % WRITES;
        let expected = [
            (format!("own{k}"), k.to_string()),
            (format!("shared{at}"), at.to_string()),
        ];
        assert_eq!(row, BTreeMap::from(expected));
    }
    // The table is full before it is full for anybody else.
    ok(&mut client, "SET keyspan.columns_max = 1021").await;
    let error = run(&mut client, "UPSERT INTO t (k, one_more) VALUES (1, 1)").await;
    assert_eq!(error.expect_err("there are as many").sqlstate, "54011");
    client.close().await;
    server.stop().await;
}
