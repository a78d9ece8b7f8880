//! The settings that sessions begin with: ALTER SYSTEM, DATABASE and ROLE … SET, the server's own (`--set`), those that the
//! client gives; which of them counts, and where it comes from.

use std::net::SocketAddr;

use keyspan::{Server, ServerOptions, StoreKind};

use crate::client::{Target, TextClient};
use crate::server::{TestServer, run, target};

/// The first column of the first row.
async fn value(client: &mut TextClient, sql: &str) -> Option<String> {
    let reply = run(client, sql).await.expect("the query runs");
    reply.rows.into_iter().next()?.into_iter().next()?
}

/// What a new session has of a setting, and from where.
async fn begun_with(target: &Target, name: &str) -> (String, String) {
    let mut client = TextClient::connect(target).await.expect("a session begins");
    let query = format!("SELECT setting, source FROM pg_settings WHERE name = '{name}'");
    let row = run(&mut client, &query)
        .await
        .expect("the query runs")
        .rows
        .remove(0);
    let [setting, source] = [0, 1].map(|at| row[at].clone().unwrap_or_default());
    (setting, source)
}

fn known(setting: &str, source: &str) -> (String, String) {
    (setting.to_string(), source.to_string())
}

/// Statements, what `keyspan.full_scan` begins with after each, and where that comes from.
const STEPS: [(&str, &str, &str); 8] = [
    (
        "ALTER SYSTEM SET keyspan.full_scan = allow",
        "allow",
        "configuration file",
    ),
    (
        "ALTER ROLE ALL SET keyspan.full_scan = forbid",
        "forbid",
        "global",
    ),
    (
        "ALTER DATABASE test SET keyspan.full_scan = small",
        "small",
        "database",
    ),
    (
        "ALTER ROLE CURRENT_USER SET keyspan.full_scan TO 'allow'",
        "allow",
        "user",
    ),
    (
        "ALTER USER test IN DATABASE test SET keyspan.full_scan = forbid",
        "forbid",
        "database user",
    ),
    (
        "ALTER ROLE test IN DATABASE test RESET keyspan.full_scan",
        "allow",
        "user",
    ),
    ("ALTER ROLE test RESET ALL", "small", "database"),
    (
        "BEGIN; ALTER DATABASE test RESET keyspan.full_scan; ROLLBACK",
        "small",
        "database",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_with_what_was_altered() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    let name = "keyspan.full_scan";
    for (statement, setting, source) in STEPS {
        run(&mut client, statement).await.unwrap();
        assert_eq!(
            begun_with(&server.target(), name).await,
            known(setting, source),
            "{statement}"
        );
        assert_eq!(
            value(&mut client, "SHOW keyspan.full_scan").await.as_deref(),
            Some("reject"),
            "the session that altered them goes on with its own"
        );
    }
    let mut other = TextClient::connect(&Target {
        user: "other".to_string(),
        ..server.target()
    })
    .await
    .unwrap();
    run(&mut client, "ALTER ROLE test SET search_path = a, \"B c\"")
        .await
        .unwrap();
    assert_eq!(
        value(&mut other, "SHOW search_path").await.as_deref(),
        Some("\"$user\", public")
    );
    assert_eq!(begun_with(&server.target(), "search_path").await.0, "a, \"B c\"");
    // What psql's \drds shows.
    let listed = "SELECT rolname, datname, array_to_string(setconfig, '|') FROM pg_db_role_setting s \
                  LEFT JOIN pg_database d ON d.oid = setdatabase LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY 1, 2";
    let listed = run(&mut client, listed).await.unwrap();
    let rows: Vec<String> = listed
        .rows
        .into_iter()
        .map(|row| {
            row.into_iter()
                .map(Option::unwrap_or_default)
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "test,,search_path=a, \"B c\"",
            ",test,keyspan.full_scan=small",
            ",,keyspan.full_scan=forbid",
        ]
    );
    // RESET goes back to what the session began with.
    let mut later = server.connect_text().await;
    run(
        &mut later,
        "SET keyspan.full_scan = reject; RESET keyspan.full_scan",
    )
    .await
    .unwrap();
    assert_eq!(
        value(&mut later, "SHOW keyspan.full_scan").await.as_deref(),
        Some("small")
    );
    // They are as durable as tables.
    drop((client, later, other));
    let server = TestServer::start_at("sled", server.stop().await).await;
    assert_eq!(
        begun_with(&server.target(), name).await,
        known("small", "database")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_altered_is_said() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    for (statement, sqlstate) in [
        ("ALTER DATABASE nowhere SET work_mem = '8MB'", "3D000"),
        ("ALTER ROLE nobody SET work_mem = '8MB'", "42704"),
        ("ALTER ROLE ALL SET keyspan.full_scan = perhaps", "22023"),
        ("ALTER ROLE ALL SET keyspan.ful_scan = small", "42704"),
        ("ALTER ROLE ALL RESET keyspan.ful_scan", "42704"),
        ("ALTER DATABASE test SET max_connections = 5", "55P02"),
        ("ALTER DATABASE test SET server_version = '5'", "55P02"),
        ("ALTER SYSTEM SET keyspan.cache_bytes = '64MB'", "0A000"),
        ("ALTER SYSTEM SET keyspan.load_dir = '/'", "0A000"),
        ("SET keyspan.load_dir = '/'", "55P02"),
        ("BEGIN; ALTER SYSTEM SET work_mem = '8MB'", "25001"),
        (
            "ROLLBACK; BEGIN READ ONLY; ALTER ROLE ALL SET work_mem = '8MB'",
            "25006",
        ),
        ("ROLLBACK; ALTER ROLE nobody CREATEDB", "42704"),
        ("ALTER ROLE test IN DATABASE test CREATEDB", "42601"),
    ] {
        let error = run(&mut client, statement).await.expect_err(statement);
        assert_eq!(error.sqlstate, sqlstate, "{statement}: {error}");
        if sqlstate == "3D000" {
            // As the answer to a start-up the client takes it for the connection's end.
            client = server.connect_text().await;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_started_with_any_setting() {
    let folder = tempfile::TempDir::new().unwrap();
    let start = |settings: &[(&str, &str)]| {
        Server::start(ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: folder.path().join("data"),
            store: StoreKind::Memory,
            settings: settings
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            ..ServerOptions::default()
        })
    };
    let server = start(&[
        ("keyspan.full_scan", "small"),
        ("Statement_Timeout", "5min"),
        ("keyspan.cache_bytes", "64MB"),
        ("keyspan.key_bytes_max", "1kB"),
    ])
    .await
    .unwrap();
    let target = target(server.local_addr());
    let command_line = |setting| known(setting, "command line");
    for (name, setting) in [
        ("keyspan.full_scan", "small"),
        ("statement_timeout", "300000"),
        ("keyspan.cache_bytes", "67108864"),
        ("keyspan.key_bytes_max", "1024"),
    ] {
        assert_eq!(begun_with(&target, name).await, command_line(setting));
    }
    // It counts more than ALTER SYSTEM does, and less than the database's.
    let mut client = TextClient::connect(&target).await.unwrap();
    run(&mut client, "ALTER SYSTEM SET keyspan.full_scan = allow")
        .await
        .unwrap();
    assert_eq!(
        begun_with(&target, "keyspan.full_scan").await,
        command_line("small")
    );
    run(&mut client, "ALTER DATABASE test SET keyspan.full_scan = forbid")
        .await
        .unwrap();
    assert_eq!(
        begun_with(&target, "keyspan.full_scan").await,
        known("forbid", "database")
    );
    drop(client);
    server.shutdown().await.unwrap();
    for (name, sqlstate) in [
        ("no_such", "42704"),
        ("server_version", "55P02"),
        ("port", "22023"),
    ] {
        let error = start(&[(name, "x")]).await.expect_err(name);
        assert_eq!(error.sqlstate(), sqlstate);
    }
}
