//! Definitions that take long and are stopped: by a cancel, a time limit, a client that goes away. Afterwards the index is
//! not there, and nothing is refused in its name. After a kill the next start finishes them.

use std::net::SocketAddr;
use std::path::Path;

use keyspan::check_data_dir;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::server::{ServerProcess, TestServer, connect};

/// Enough rows for dozens of pages of a build.
const MANY: &str = "CREATE TABLE t (a int PRIMARY KEY, b int);
    INSERT INTO t SELECT g, g FROM generate_series(1, 40000) g";
const BUILD: &str = "CREATE UNIQUE INDEX i ON t (b)";

/// Waits until the index is listed, or is no longer; answers whether it was valid when it was last seen.
async fn wait_for_index(client: &Client, listed: bool) -> bool {
    let mut valid = false;
    loop {
        let query = "SELECT x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE c.relname = 'i'";
        let found = client.query(query, &[]).await.unwrap();
        match found.first() {
            Some(row) => valid = row.get(0),
            None if !listed => return valid,
            None => continue,
        }
        if listed {
            return valid;
        }
        assert!(!valid, "the index was completed");
    }
}

async fn assert_no_index(client: &Client) {
    let listed = client
        .query("SELECT 1 FROM pg_class WHERE relname = 'i'", &[])
        .await
        .unwrap();
    assert!(listed.is_empty(), "the index is gone");
    let written = client
        .execute("INSERT INTO t VALUES (-1, 5), (-2, 40000)", &[])
        .await;
    assert_eq!(written.unwrap(), 2, "nothing enforces it");
    let error = client
        .batch_execute(BUILD)
        .await
        .expect_err("there are duplicates");
    assert_eq!(error.code().map(|code| code.code()), Some("23505"));
    client.batch_execute("DELETE FROM t WHERE a < 0").await.unwrap();
    client.batch_execute(BUILD).await.unwrap();
    assert!(wait_for_index(client, true).await);
}

fn state(error: &tokio_postgres::Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_build_is_removed_before_the_client_hears_of_it() {
    let server = TestServer::start("sled").await;
    let (client, watcher) = (server.connect().await, server.connect().await);
    client.batch_execute(MANY).await.unwrap();
    let cancel = client.cancel_token();
    let (built, ()) = tokio::join!(client.batch_execute(BUILD), async {
        assert!(
            !wait_for_index(&watcher, true).await,
            "it is invalid while it is built"
        );
        cancel.cancel_query(NoTls).await.unwrap();
    });
    assert_eq!(state(&built.unwrap_err()), Some("57014"));
    assert_no_index(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_times_out_is_removed() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client.batch_execute(MANY).await.unwrap();
    client.batch_execute("SET statement_timeout = 20").await.unwrap();
    let error = client.batch_execute(BUILD).await.unwrap_err();
    assert_eq!(state(&error), Some("57014"));
    client.batch_execute("SET statement_timeout = 0").await.unwrap();
    assert_no_index(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_whose_client_goes_away_is_removed() {
    let server = TestServer::start("sled").await;
    let watcher = server.connect().await;
    watcher.batch_execute(MANY).await.unwrap();
    let going = going_client(server.addr()).await;
    wait_for_index(&watcher, true).await;
    going.abort();
    wait_for_index(&watcher, false).await;
    assert_no_index(&watcher).await;
}

/// A connection of its own that builds the index; aborted, it breaks (one that only ends its side is answered for a while).
async fn going_client(addr: SocketAddr) -> tokio::task::JoinHandle<()> {
    let stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    stream.set_zero_linger().unwrap();
    let mut config = tokio_postgres::Config::new();
    let (client, connection) = config
        .user("test")
        .dbname("test")
        .connect_raw(stream, NoTls)
        .await
        .unwrap();
    tokio::spawn(async move {
        let building = client.batch_execute(BUILD);
        let _ = tokio::join!(connection, building);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_after_a_kill_finishes_a_build() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let (client, watcher) = (connect(server.addr()).await, connect(server.addr()).await);
    client.batch_execute(MANY).await.unwrap();
    let building = tokio::spawn(async move { client.batch_execute(BUILD).await });
    wait_for_index(&watcher, true).await;
    server.kill();
    assert!(
        building.await.unwrap().is_err(),
        "nobody was told that it is there"
    );

    let server = ServerProcess::start(data_dir.path(), &[]);
    let client = connect(server.addr()).await;
    while !wait_for_index(&client, true).await {}
    let twice = client.batch_execute("INSERT INTO t VALUES (-1, 40000)").await;
    assert_eq!(state(&twice.unwrap_err()), Some("23505"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_async_build_goes_on_behind_its_statement() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client.batch_execute(MANY).await.unwrap();
    client
        .batch_execute("CREATE INDEX i ON t (b) INCLUDE (a) ASYNC")
        .await
        .unwrap();
    let listed = "SELECT relid::regclass::text, command, tuples_done FROM pg_stat_progress_create_index";
    client.query(listed, &[]).await.unwrap();
    while !wait_for_index(&client, true).await {
        let refused = client.query("SELECT a FROM t WHERE b = 39999", &[]).await;
        if let Err(error) = refused {
            let hint = error
                .as_db_error()
                .and_then(|error| error.hint().map(str::to_string));
            let hint = hint.unwrap_or_default();
            assert!(
                hint.starts_with("Index \"i\" will serve it once it is built"),
                "{hint}"
            );
        }
    }
    assert!(
        client.query(listed, &[]).await.unwrap().is_empty(),
        "it has ended"
    );
    let found = client
        .query("SELECT a FROM t WHERE b = 39999", &[])
        .await
        .unwrap();
    assert_eq!(found[0].get::<_, i32>(0), 39999);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_build_serves_when_its_statement_answers() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client.batch_execute(MANY).await.unwrap();
    client
        .batch_execute("CREATE INDEX CONCURRENTLY i ON t (b)")
        .await
        .unwrap();
    assert!(wait_for_index(&client, true).await);
    let found = client.query("SELECT a FROM t WHERE b = 39999", &[]).await;
    assert_eq!(found.unwrap()[0].get::<_, i32>(0), 39999);
}

/// The build comes by the rows in the order of their keys, the writer in the other one: it must not stand in the writer's way while it waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_waits_for_no_writer_who_waits_for_it() {
    for expires in ["", " WITH (ttl = '1 day')"] {
        let server = TestServer::start("sled").await;
        let (writer, watcher) = (server.connect().await, server.connect().await);
        let builder = server.connect().await;
        let table = format!("CREATE TABLE t (a int PRIMARY KEY, b int){expires}");
        writer.batch_execute(&table).await.unwrap();
        let rows = "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); BEGIN; UPDATE t SET b = b + 10 WHERE a = 3";
        writer.batch_execute(rows).await.unwrap();
        let build = tokio::spawn(async move {
            let create = "CREATE UNIQUE INDEX CONCURRENTLY i ON t (b)";
            builder.batch_execute(create).await
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        while watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
        for key in [2, 1] {
            let update = format!("UPDATE t SET b = b + 10 WHERE a = {key}");
            writer.batch_execute(&update).await.unwrap();
        }
        writer.batch_execute("COMMIT").await.unwrap();
        build.await.unwrap().unwrap();
        let found = "SELECT a FROM t WHERE b > 10 ORDER BY b";
        let found = watcher.query(found, &[]).await.unwrap();
        assert_eq!(
            found.iter().map(|row| row.get(0)).collect::<Vec<i32>>(),
            [1, 2, 3]
        );
        drop((writer, watcher));
        assert_sound(server.stop().await.path()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_unique_build_over_duplicates_leaves_an_invalid_index() {
    for create in [
        "CREATE UNIQUE INDEX CONCURRENTLY i ON t (b)",
        "CREATE UNIQUE INDEX i ON t (b) ASYNC",
    ] {
        let server = TestServer::start("sled").await;
        let client = server.connect().await;
        client
            .batch_execute(
                "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 4), (2, 5), (3, 5)",
            )
            .await
            .unwrap();
        if let Err(error) = client.batch_execute(create).await {
            let told = error.as_db_error().unwrap();
            assert_eq!(told.code().code(), "23505");
            assert_eq!(told.message(), "could not create unique index \"i\"");
            assert_eq!(told.detail(), Some("Key (b)=(5) is duplicated."));
        } else {
            assert!(create.ends_with("ASYNC"));
        }
        let states = "SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'i'::regclass";
        loop {
            let row = client.query_one(states, &[]).await.unwrap();
            assert!(!row.get::<_, bool>(0));
            if !row.get::<_, bool>(1) {
                break;
            }
        }
        client.batch_execute("INSERT INTO t VALUES (6, 5)").await.unwrap();
        let unread = client.query("SELECT a FROM t WHERE b = 5", &[]).await;
        assert_eq!(state(&unread.unwrap_err()), Some("53400"));
        let arbiter = "INSERT INTO t VALUES (7, 5) ON CONFLICT (b) DO NOTHING";
        let refused = client.batch_execute(arbiter).await;
        assert_eq!(state(&refused.unwrap_err()), Some("42P10"));
        let data_dir = server.stop().await;
        assert_sound(data_dir.path()).await;

        let server = TestServer::start_at("sled", data_dir).await;
        let client = server.connect().await;
        let row = client.query_one(states, &[]).await.unwrap();
        assert!(!row.get::<_, bool>(0), "a start does not build it again");
        let again = "DELETE FROM t WHERE a > 2; DROP INDEX i";
        client.batch_execute(again).await.unwrap();
        let create = "CREATE UNIQUE INDEX CONCURRENTLY i ON t (b)";
        client.batch_execute(create).await.unwrap();
        assert!(wait_for_index(&client, true).await);
    }
}

/// Nothing in a server's folder contradicts anything else.
async fn assert_sound(folder: &Path) {
    let report = check_data_dir(&folder.join("data"), &mut |_| {}).await.unwrap();
    assert!(report.is_sound(), "{report}");
}

/// What a session does to objects of its own.
fn own_definition(random: &mut StdRng, session: usize, step: usize) -> String {
    let table = format!("t{session}_{}", random.random_range(0..3));
    let create = format!("CREATE TABLE IF NOT EXISTS {table} (a int PRIMARY KEY, b int, c int)");
    let define = match random.random_range(0..12) {
        0 => format!("CREATE INDEX {table}_i{step} ON {table} (b)"),
        1 => format!("CREATE UNIQUE INDEX CONCURRENTLY {table}_i{step} ON {table} (a, b)"),
        2 => format!("CREATE INDEX CONCURRENTLY ON {table} (c)"),
        3 => format!("ALTER TABLE {table} ADD COLUMN d{step} int DEFAULT {step}"),
        4 => format!("ALTER TABLE {table} ALTER b SET NOT NULL; ALTER TABLE {table} ALTER b DROP NOT NULL"),
        5 => format!("CREATE VIEW {table}_v AS SELECT a FROM {table}; DROP VIEW {table}_v"),
        6 => format!("TRUNCATE {table}"),
        7 => format!("COMMENT ON TABLE {table} IS 'step {step}'"),
        8 => format!("DROP TABLE {table}"),
        9 => format!(
            "CREATE SCHEMA s{session}; CREATE TABLE s{session}.t AS SELECT * FROM {table}; DROP SCHEMA s{session} CASCADE"
        ),
        10 => format!(
            "BEGIN; ALTER TABLE {table} RENAME TO {table}_r; CREATE INDEX ON {table}_r (c); ALTER TABLE {table}_r RENAME TO {table}; COMMIT"
        ),
        _ => format!("INSERT INTO {table} (a, b, c) VALUES ({step}, {step}, 1) ON CONFLICT DO NOTHING"),
    };
    format!("{create}; {define}")
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_different_objects_never_fail() {
    for store in ["memory", "sled"] {
        let server = TestServer::start(store).await;
        let mut sessions = tokio::task::JoinSet::new();
        for session in 0..8 {
            let client = server.connect().await;
            sessions.spawn(async move {
                let mut random = StdRng::seed_from_u64(session as u64);
                for step in 0..25 {
                    for text in own_definition(&mut random, session, step).split("; ") {
                        let done = client.batch_execute(text).await;
                        done.unwrap_or_else(|error| panic!("session {session}, {text}: {error:?}"));
                    }
                }
            });
        }
        sessions.join_all().await;
        let client = server.connect().await;
        let unbuilt = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
        let unbuilt = client.query_one(unbuilt, &[]).await.unwrap();
        assert_eq!(unbuilt.get::<_, i64>(0), 0);
        let data_dir = server.stop().await;
        if store == "sled" {
            assert_sound(data_dir.path()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_share_names_see_each_others_objects() {
    const EXPECTED: [&str; 6] = ["42P07", "42P01", "42P06", "3F000", "2BP01", "42704"];
    for store in ["memory", "sled"] {
        let server = TestServer::start(store).await;
        let mut sessions = tokio::task::JoinSet::new();
        for session in 0..6u64 {
            let client = server.connect().await;
            sessions.spawn(async move {
                let mut random = StdRng::seed_from_u64(session);
                for _ in 0..40 {
                    let name = ["s.x", "s.y", "z"][random.random_range(0..3)];
                    let text = match random.random_range(0..9) {
                        0 => "CREATE SCHEMA s".to_string(),
                        1 => "DROP SCHEMA s CASCADE".to_string(),
                        2 => "DROP SCHEMA s".to_string(),
                        3 => format!("CREATE VIEW {name} AS SELECT a FROM z"),
                        4 => format!("DROP VIEW {name}"),
                        5 => format!("CREATE INDEX x ON {name} (b)"),
                        6 => format!("DROP TABLE {name} CASCADE"),
                        _ => format!("CREATE TABLE {name} (a int PRIMARY KEY, b int)"),
                    };
                    let state = match client.batch_execute(&text).await {
                        Ok(()) => continue,
                        Err(error) => error.code().map(|code| code.code().to_string()),
                    };
                    let state = state.unwrap_or_default();
                    // An object of another kind may have the name.
                    let is_expected = EXPECTED.contains(&state.as_str()) || state == "42809";
                    assert!(is_expected, "session {session}, {text}: {state}");
                }
            });
        }
        sessions.join_all().await;
        let data_dir = server.stop().await;
        if store == "sled" {
            assert_sound(data_dir.path()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_dropped_while_its_index_is_built_is_named() {
    let server = TestServer::start("memory").await;
    let (client, other) = (server.connect().await, server.connect().await);
    client.batch_execute(MANY).await.unwrap();
    let (built, ()) = tokio::join!(client.batch_execute(BUILD), async {
        wait_for_index(&other, true).await;
        other.batch_execute("DROP TABLE t").await.unwrap();
    });
    let error = built.unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!(
        (told.code().code(), told.message()),
        ("42P01", "relation \"t\" does not exist")
    );
}

/// Options that do nothing, and the states of indexes, are there after a restart; a disabled index has no entries then, and gets them.
#[tokio::test(flavor = "multi_thread")]
async fn options_and_states_of_indexes_last() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    let made =
        "CREATE TABLE t (a int PRIMARY KEY, b int, c int) WITH (COMPRESSION = 'ZSTD', fillfactor = 70);
        CREATE INDEX off ON t (b) WITH (COMPRESSION = 'LZ4');
        CREATE INDEX idle ON t (c);
        INSERT INTO t SELECT g, g, g FROM generate_series(1, 2000) g";
    client.batch_execute(made).await.unwrap();
    client
        .batch_execute("ALTER INDEX off ON t DISABLED")
        .await
        .unwrap();
    client
        .batch_execute("ALTER INDEX idle ON t INACTIVE")
        .await
        .unwrap();
    client
        .batch_execute("INSERT INTO t VALUES (3000, 3000, 3000); DELETE FROM t WHERE a = 5")
        .await
        .unwrap();
    client.batch_execute("VACUUM t").await.unwrap();
    drop(client);
    let folder = server.stop().await;
    assert_sound(folder.path()).await;
    let server = TestServer::start_at("sled", folder).await;
    let client = server.connect().await;
    let texts = "SELECT array_to_string(reloptions, ',') FROM pg_class WHERE relname IN ('t', 'off', 'idle') ORDER BY relname";
    let found = client.query(texts, &[]).await.unwrap();
    let found: Vec<Option<&str>> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        found,
        [
            None,
            Some("compression=LZ4"),
            Some("compression=ZSTD,fillfactor=70")
        ]
    );
    for (index, column) in [("off", "b"), ("idle", "c")] {
        let of = format!("SELECT a FROM t WHERE {column} IN (5, 3000)");
        let refused = client.query(&of, &[]).await.unwrap_err();
        assert_eq!(state(&refused), Some("53400"), "{index}");
        client
            .batch_execute(&format!("ALTER INDEX {index} ON t ACTIVE"))
            .await
            .unwrap();
        let rows = client.query(&of, &[]).await.unwrap();
        let rows: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(rows, [3000], "{index}");
    }
    drop(client);
    let folder = server.stop().await;
    assert_sound(folder.path()).await;
}

/// BUILD INDEX goes on behind writers, and is taken up again by a start when it is not awaited.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_index_is_built_while_others_write() {
    let server = TestServer::start("sled").await;
    let (client, writer) = (server.connect().await, server.connect().await);
    client.batch_execute(MANY).await.unwrap();
    client
        .batch_execute("CREATE INDEX i ON t (b); ALTER INDEX i ON t DISABLED")
        .await
        .unwrap();
    let writes = async {
        for at in 0..200 {
            let write = format!(
                "UPDATE t SET b = -a WHERE a = {}; DELETE FROM t WHERE a = {}",
                1 + at,
                20_000 + at
            );
            writer.batch_execute(&write).await.unwrap();
        }
    };
    let (built, ()) = tokio::join!(client.batch_execute("BUILD INDEX i ON t"), writes);
    built.unwrap();
    let counted = client
        .query_one("SELECT count(*) FROM t WHERE b < 0", &[])
        .await
        .unwrap();
    assert_eq!(counted.get::<_, i64>(0), 200);
    drop((client, writer));
    let folder = server.stop().await;
    assert_sound(folder.path()).await;
}

/// An UPDATE in batches does not go on in a table that was stored anew: it would not know which rows it has written.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_in_batches_ends_where_its_table_is_stored_anew() {
    let server = TestServer::start("memory").await;
    let client = connect(server.addr()).await;
    let made = "CREATE TABLE t (a int PRIMARY KEY, b int, c text);
        INSERT INTO t SELECT g, 0, 'x' FROM generate_series(1, 3000) g";
    client.batch_execute(made).await.unwrap();
    let writer = connect(server.addr()).await;
    let update = tokio::spawn(async move {
        let update = "UPDATE /*+ _l_batch_(1), _l_allow_filtering_ */ t SET b = b + 1";
        writer.batch_execute(update).await
    });
    loop {
        let first = client
            .query_one("SELECT b FROM t WHERE a = 1", &[])
            .await
            .unwrap();
        if first.get::<_, i32>(0) == 1 {
            break;
        }
    }
    let alter = "ALTER TABLE t ALTER COLUMN c TYPE varchar(9)";
    client.batch_execute(alter).await.unwrap();
    let error = update.await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55000", "{error:?}");
    let query = "SELECT /*+ _l_allow_filtering_ */ min(b), max(b) FROM t";
    let row = client.query_one(query, &[]).await.unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (0, 1));
    server.stop().await;
}
