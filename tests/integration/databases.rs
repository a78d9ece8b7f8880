//! Databases: what is in one is in no other, what is dropped leaves nothing, and sessions stand in the way of what would take a database
//! from under them.

use std::path::Path;

use keyspan::check_data_dir;
use tokio::task::JoinSet;

use crate::client::{Target, TextClient};
use crate::server::{ServerProcess, TestServer, fails, ok, run, target};

/// Makes a database, from the first.
pub(crate) async fn create(server: &TestServer, name: &str) {
    let mut admin = connect(server, "postgres").await;
    ok(&mut admin, &format!("CREATE DATABASE {name}")).await;
}

/// Drops a database, whatever is in it, and finds that nothing is left in the folder that belongs to nobody, nor a table.
pub(crate) async fn drop_without_trace(server: TestServer, name: &str) {
    let mut admin = connect(&server, "postgres").await;
    ok(
        &mut admin,
        &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
    )
    .await;
    drop(admin);
    let folder = server.stop_sound(name).await;
    // A start goes on where the end may have come between.
    let server = TestServer::start_at("sled", folder).await;
    let folder = server.stop_sound(name).await;
    assert_eq!(counted(folder.path().join("data").as_path()).await, (0, 0));
}

/// Tables, and schemas with a record, of a folder.
async fn counted(data_dir: &Path) -> (usize, usize) {
    let report = check_data_dir(data_dir, &mut |_| {}).await.unwrap();
    assert!(report.is_sound(), "{report}");
    (report.relations.len(), report.schemas)
}

pub(crate) async fn connect(server: &TestServer, database: &str) -> TextClient {
    try_connect(&server.target(), database)
        .await
        .unwrap_or_else(|error| panic!("{database}: {error}"))
}

pub(crate) async fn try_connect(
    target: &Target,
    database: &str,
) -> Result<TextClient, crate::client::ServerError> {
    let target = Target {
        database: database.to_string(),
        ..target.clone()
    };
    TextClient::connect(&target).await
}

/// The first column of all rows.
pub(crate) async fn column(client: &mut TextClient, query: &str) -> Vec<String> {
    let rows = ok(client, query).await.into_iter();
    rows.map(|row| row.into_iter().next().flatten().unwrap_or_default())
        .collect()
}

/// Something of every kind that a database holds, with the database's name in it.
pub(crate) fn contents(name: &str) -> String {
    format!(
        "CREATE TABLE t (k int PRIMARY KEY, v text UNIQUE); INSERT INTO t VALUES (1, '{name}');
         CREATE INDEX t_v ON t (v, k);
         CREATE TYPE mood AS ENUM ('{name}', 'b'); CREATE DOMAIN d AS text DEFAULT '{name}';
         CREATE SEQUENCE q; CREATE TABLE s (id serial PRIMARY KEY, m mood DEFAULT '{name}', x d);
         INSERT INTO s DEFAULT VALUES;
         CREATE VIEW w AS SELECT v AS of_view FROM t WHERE k = 1;
         CREATE MATERIALIZED VIEW mv AS SELECT v AS of_view FROM t;
         CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$SELECT '{name}'::text$$;
         CREATE EXTENSION citext; CREATE SCHEMA other; CREATE TABLE other.t (k int);
         INSERT INTO other.t VALUES (1), (2);
         COMMENT ON SCHEMA public IS 'of {name}';
         CREATE TABLE p (k int PRIMARY KEY) PARTITION BY LIST (k); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
         INSERT INTO p VALUES (1); SELECT lo_from_bytea(77, '{name}'); SELECT nextval('q');
         SET keyspan.trash_hours = 5; CREATE TABLE gone (k int); INSERT INTO gone VALUES (1); DROP TABLE gone"
    )
}

/// What each of `contents` says.
pub(crate) const TOLD: &str = "SELECT (SELECT v FROM t WHERE k = 1), (SELECT m FROM s WHERE id = 1), (SELECT x FROM s WHERE id = 1), \
    (SELECT of_view FROM w), (SELECT of_view FROM mv), f(), (SELECT string_agg(enumlabel, ' ') FROM pg_enum), \
    (SELECT count(*) FROM other.t), obj_description('public'::regnamespace, 'pg_namespace'), (SELECT count(*) FROM p), \
    convert_from(lo_get(77), 'UTF8'), currval('q'), current_database()";

pub(crate) fn told_of(name: &str) -> Vec<Vec<Option<String>>> {
    let of = format!("of {name}");
    let labels = format!("{name} b");
    let told = [
        name, name, name, name, name, name, &labels, "2", &of, "1", name, "1", name,
    ];
    vec![told.iter().map(|text| Some(text.to_string())).collect()]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_a_database_is_in_no_other() {
    let mut server = TestServer::start("sled").await;
    let mut first = connect(&server, "postgres").await;
    ok(&mut first, "CREATE DATABASE one; ").await;
    ok(&mut first, "CREATE DATABASE two").await;
    let names = ["postgres", "one", "two"];
    for name in names {
        let mut client = connect(&server, name).await;
        ok(&mut client, &contents(name)).await;
        assert_eq!(ok(&mut client, TOLD).await, told_of(name));
    }
    drop(first);
    // After a restart each is as it was, and is written on.
    for restart in 0..2 {
        for name in names {
            let mut client = connect(&server, name).await;
            ok(&mut client, "SELECT setval('q', 1)").await;
            assert_eq!(ok(&mut client, TOLD).await, told_of(name));
            assert_eq!(column(&mut client, "SELECT nextval('q')").await, ["2"]);
            let oids = column(&mut client, "SELECT count(DISTINCT oid) = count(*) FROM pg_class").await;
            assert_eq!(oids, ["t"]);
            ok(
                &mut client,
                &format!(
                    "INSERT INTO s DEFAULT VALUES; INSERT INTO t VALUES ({}, 'x{restart}')",
                    restart + 2
                ),
            )
            .await;
            assert_eq!(column(&mut client, "SHOW TRASH").await.len(), 1, "{name}");
        }
        let folder = server.stop_sound("three databases").await;
        server = TestServer::start_at("sled", folder).await;
    }
    let mut client = connect(&server, "two").await;
    ok(&mut client, "DROP DATABASE one").await;
    assert_eq!(
        column(&mut client, "SELECT datname FROM pg_database ORDER BY 1").await,
        ["postgres", "two"]
    );
    ok(&mut client, "UNDROP TABLE gone; SELECT setval('q', 1)").await;
    assert_eq!(ok(&mut client, TOLD).await.len(), 1);
    drop(client);
    let mut client = connect(&server, "postgres").await;
    ok(&mut client, "DROP DATABASE two").await;
    assert_eq!(column(&mut client, "SELECT count(*) FROM t").await, ["3"]);
    drop(client);
    let server = TestServer::start_at("sled", server.stop_sound("one database").await).await;
    let folder = server.stop_sound("one database").await;
    let (tables, _) = counted(&folder.path().join("data")).await;
    // t, s, mv, other.t, p and p1 of the first, and the one in its trash.
    assert_eq!(tables, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_channels_and_settings_are_of_one_database() {
    let server = TestServer::start("memory").await;
    create(&server, "a").await;
    create(&server, "b").await;
    let (mut in_a, mut in_b) = (connect(&server, "a").await, connect(&server, "b").await);
    let lock = "SELECT pg_try_advisory_lock(7)";
    assert_eq!(column(&mut in_a, lock).await, ["t"]);
    assert_eq!(column(&mut in_b, lock).await, ["t"]);
    let mut other_in_b = connect(&server, "b").await;
    assert_eq!(column(&mut other_in_b, lock).await, ["f"]);
    let shown = "SELECT d.datname FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = 'advisory' ORDER BY 1";
    assert_eq!(column(&mut in_b, shown).await, ["a", "b"]);
    assert_eq!(
        column(&mut in_a, "SELECT datname FROM pg_stat_activity ORDER BY 1").await,
        ["a", "b", "b"]
    );
    ok(&mut in_a, "ALTER DATABASE b SET work_mem = '11MB'").await;
    ok(&mut in_b, "ALTER ROLE test IN DATABASE a SET work_mem = '12MB'").await;
    for (database, expected) in [("a", "12MB"), ("b", "11MB"), ("c", "4MB")] {
        let mut client = connect(&server, database).await;
        assert_eq!(
            column(&mut client, "SHOW work_mem").await,
            [expected],
            "{database}"
        );
    }
    ok(&mut in_a, "CREATE TEMP TABLE here (k int)").await;
    assert_eq!(fails(&mut in_b, "SELECT * FROM here").await.sqlstate, "42P01");
    ok(&mut in_a, "LISTEN news").await;
    ok(&mut in_b, "NOTIFY news, 'of b'").await;
    assert_eq!(
        fails(&mut in_a, "SELECT * FROM b.public.t").await.sqlstate,
        "0A000"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_keep_their_database() {
    let server = TestServer::start("sled").await;
    create(&server, "a").await;
    let mut admin = connect(&server, "postgres").await;
    let mut inside = connect(&server, "a").await;
    let error = fails(&mut admin, "DROP DATABASE a").await;
    assert_eq!(error.sqlstate, "55006");
    let detail = error.detail.unwrap_or_default();
    assert_eq!(detail, "There is 1 other session using the database.");
    assert_eq!(
        fails(&mut admin, "ALTER DATABASE a RENAME TO z").await.sqlstate,
        "55006"
    );
    assert_eq!(fails(&mut inside, "DROP DATABASE a").await.sqlstate, "55006");
    ok(&mut inside, "CREATE TABLE t (k int); INSERT INTO t VALUES (1)").await;
    ok(&mut admin, "DROP DATABASE a WITH (FORCE)").await;
    assert!(run(&mut inside, "SELECT 1").await.is_err());
    // The name is free, and reaches the first again.
    let mut client = connect(&server, "a").await;
    assert_eq!(fails(&mut client, "SELECT * FROM t").await.sqlstate, "42P01");
    assert_eq!(fails(&mut admin, "CREATE DATABASE a").await.sqlstate, "42P04");
    drop(client);
    // Until nobody calls the first by it any more.
    while run(&mut admin, "CREATE DATABASE a").await.is_err() {
        tokio::task::yield_now().await;
    }
    ok(&mut admin, "ALTER DATABASE a RENAME TO z").await;
    ok(&mut connect(&server, "z").await, "CREATE TABLE t (k int)").await;
    drop_without_trace(server, "z").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_limited_by_database() {
    let server = TestServer::start("memory").await;
    let mut admin = connect(&server, "postgres").await;
    ok(&mut admin, "CREATE DATABASE a CONNECTION LIMIT 2").await;
    let held = [connect(&server, "a").await, connect(&server, "a").await];
    let refused = |state: &'static str| {
        let target = server.target();
        async move {
            let error = try_connect(&target, "a").await.err().expect("no session begins");
            assert_eq!(error.sqlstate, state, "{error}");
        }
    };
    refused("53300").await;
    drop(held);
    ok(
        &mut admin,
        "ALTER DATABASE a WITH ALLOW_CONNECTIONS false CONNECTION LIMIT -1",
    )
    .await;
    refused("55000").await;
    ok(&mut admin, "ALTER DATABASE a ALLOW_CONNECTIONS true").await;
    let _held = [
        connect(&server, "a").await,
        connect(&server, "a").await,
        connect(&server, "a").await,
    ];
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_make_one_name_one_does() {
    let server = TestServer::start("sled").await;
    let mut makers = JoinSet::new();
    for maker in 0..8 {
        let target = server.target();
        makers.spawn(async move {
            let mut client = try_connect(&target, "postgres").await.unwrap();
            let own = run(&mut client, &format!("CREATE DATABASE own{maker}")).await;
            own.unwrap();
            match run(&mut client, "CREATE DATABASE shared").await {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.sqlstate, "42P04");
                    0
                }
            }
        });
    }
    let made: i32 = makers.join_all().await.into_iter().sum();
    assert_eq!(made, 1);
    let mut client = connect(&server, "shared").await;
    assert_eq!(
        column(&mut client, "SELECT count(*) FROM pg_database").await,
        ["10"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_as_many_databases_as_a_setting_says() {
    let arguments = [
        "--set",
        "keyspan.databases_max=1",
        "--set",
        "keyspan.any_database=off",
    ];
    let folder = tempfile::TempDir::new().unwrap();
    let server = ServerProcess::start(folder.path(), &arguments);
    let of = target(server.addr());
    let mut admin = try_connect(&of, "postgres").await.unwrap();
    let error = try_connect(&of, "other").await.err().expect("nobody made it");
    assert_eq!(error.sqlstate, "3D000");
    ok(&mut admin, "CREATE DATABASE other").await;
    assert_eq!(fails(&mut admin, "CREATE DATABASE third").await.sqlstate, "54000");
    try_connect(&of, "other").await.unwrap();
}

/// A server is killed while databases come, are filled and go: each is there whole or not at all afterwards, and none leaves anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_databases_whole_or_none() {
    let folder = tempfile::TempDir::new().unwrap();
    for round in 0..6u32 {
        let server = ServerProcess::start(folder.path(), &["--log-segment-bytes", "1MB"]);
        let of = target(server.addr());
        let mut admin = try_connect(&of, "postgres").await.unwrap();
        for name in column(
            &mut admin,
            "SELECT datname FROM pg_database WHERE datname <> 'postgres'",
        )
        .await
        {
            let mut client = try_connect(&of, &name).await.unwrap();
            let filled = column(&mut client, "SELECT count(*) FROM pg_class WHERE relname = 't'").await;
            if filled == ["1"] {
                let called = name.trim_end_matches('c').to_string();
                assert_eq!(column(&mut client, "SELECT f()").await, [called]);
            }
            drop(client);
            ok(&mut admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
        let work = tokio::spawn(async move {
            for at in 0.. {
                let name = format!("d{round}_{at}");
                if run(&mut admin, &format!("CREATE DATABASE {name}")).await.is_err() {
                    return;
                }
                let Ok(mut client) = try_connect(&of, &name).await else {
                    return;
                };
                let _ = run(&mut client, &contents(&name)).await;
                // A copy of what is in it, by itself: it is called as its template, and so is all that is in it.
                let copy = format!("CREATE DATABASE {name}c TEMPLATE {name}");
                let _ = run(&mut client, &copy).await;
                drop(client);
                if at % 3 > 0 {
                    let _ = run(&mut admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
                }
            }
        });
        tokio::time::sleep(std::time::Duration::from_millis(300 + u64::from(round) * 130)).await;
        server.kill();
        work.await.unwrap();
        counted(folder.path()).await;
    }
    let server = ServerProcess::start(folder.path(), &[]);
    let mut admin = try_connect(&target(server.addr()), "postgres").await.unwrap();
    for name in column(
        &mut admin,
        "SELECT datname FROM pg_database WHERE datname <> 'postgres'",
    )
    .await
    {
        ok(&mut admin, &format!("DROP DATABASE {name}")).await;
    }
    assert!(server.terminate());
    // What the end came between is gone on with.
    let server = ServerProcess::start(folder.path(), &[]);
    ok(
        &mut try_connect(&target(server.addr()), "postgres").await.unwrap(),
        "VACUUM",
    )
    .await;
    assert!(server.terminate());
    assert_eq!(counted(folder.path()).await, (0, 0));
}
