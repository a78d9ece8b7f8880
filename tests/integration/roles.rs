//! Roles as clients meet them: passwords, who may log in, how often and until when, and who a session runs as.

use keyspan::{Server, ServerOptions, StoreKind};
use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

use crate::client::{Protocol, TextClient};
use crate::server::{ServerProcess, TestServer, fails, ok, run, target};

/// What becomes of a connection: the user it is, or the error's SQLSTATE.
async fn connects(addr: std::net::SocketAddr, user: &str, password: Option<&str>) -> String {
    let mut config = Config::new();
    config
        .host(addr.ip().to_string())
        .port(addr.port())
        .user(user)
        .dbname("postgres");
    if let Some(password) = password {
        config.password(password);
    }
    match config.connect(NoTls).await {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            let row = client.query_one("SELECT current_user::text", &[]).await.unwrap();
            row.get(0)
        }
        Err(error) => error
            .code()
            .map_or("no answer".to_string(), |code| code.code().to_string()),
    }
}

const ROLES: &str = "CREATE USER bob PASSWORD 'the secret'; CREATE USER eve PASSWORD 'other' VALID UNTIL '2001-01-01';
    CREATE USER nobody; CREATE ROLE nologin PASSWORD 'x'; CREATE USER \"Ünï\" PASSWORD 'pass\u{ad}wörd';
    CREATE USER twice PASSWORD 'x'; ALTER USER twice PASSWORD 'y';
    CREATE USER kept PASSWORD 'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU='";

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_lets_in_who_knows_the_password() {
    let folder = TempDir::new().unwrap();
    let server = ServerProcess::start(folder.path(), &[]);
    let mut admin = TextClient::connect(&target(server.addr())).await.unwrap();
    ok(&mut admin, ROLES).await;
    // Without being asked everybody is who he says, but for those who may not log in.
    assert_eq!(connects(server.addr(), "bob", None).await, "bob");
    assert_eq!(connects(server.addr(), "anybody", None).await, "anybody");
    assert_eq!(connects(server.addr(), "nologin", Some("x")).await, "28000");
    drop(admin);
    assert!(server.terminate());

    let server = ServerProcess::start(folder.path(), &["--set", "keyspan.authentication=scram-sha-256"]);
    let cases = [
        ("bob", Some("the secret"), "bob"),
        ("bob", Some("the Secret"), "28P01"),
        ("bob", Some(""), "28P01"),
        ("eve", Some("other"), "28P01"),
        ("nobody", Some("x"), "28P01"),
        ("nologin", Some("x"), "28000"),
        ("anybody", Some("x"), "28P01"),
        ("Ünï", Some("password\u{ad}"), "28P01"),
        ("Ünï", Some("passwörd"), "Ünï"),
        ("twice", Some("x"), "28P01"),
        ("twice", Some("y"), "twice"),
        ("kept", Some("pencil"), "kept"),
        ("postgres", Some("x"), "28P01"),
    ];
    for (user, password, expected) in cases {
        assert_eq!(
            connects(server.addr(), user, password).await,
            expected,
            "{user} {password:?}"
        );
    }
    // A driver that has no password says so itself.
    assert_eq!(connects(server.addr(), "bob", None).await, "no answer");
}

/// Messages in place of those that the exchange asks for end the connection, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_to_a_password_request_ends_the_connection() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = TempDir::new().unwrap();
    let server = ServerProcess::start(folder.path(), &["--set", "keyspan.authentication=scram-sha-256"]);
    let startup = b"\0\0\0\x13\0\x03\0\0user\0test\0\0";
    let answers: [&[u8]; 8] = [
        b"Q\0\0\0\x0dSELECT 1\0",
        b"p\0\0\0\x04",
        b"p\0\0\0\x05\0",
        b"p\0\0\0\x12SCRAM-SHA-256\0",
        b"p\0\0\0\x16SCRAM-SHA-256\0\0\0\xff\xff",
        b"p\0\0\0\x1aSCRAM-SHA-256\0\0\0\0\x04n,,x",
        b"p\0\0\0\x0bSCRAM\0\x01",
        b"p\x7f\xff\xff\xff",
    ];
    for answer in answers {
        let mut stream = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
        stream.write_all(startup).await.unwrap();
        stream.write_all(answer).await.unwrap();
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told).await;
        // It was asked for SASL, and told an error.
        assert_eq!(told.first(), Some(&b'R'), "{answer:?}");
        let text = String::from_utf8_lossy(&told);
        assert!(
            text.contains("C08P01") || text.contains("C54000"),
            "{answer:?}: {text:?}"
        );
    }
    assert_eq!(connects(server.addr(), "x", Some("y")).await, "28P01");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_beyond_this_machine_need_passwords() {
    let start = |settings: Vec<(String, String)>| async {
        let options = ServerOptions {
            listen: "0.0.0.0:0".parse().unwrap(),
            store: StoreKind::Memory,
            settings,
            ..ServerOptions::default()
        };
        Server::start(options).await
    };
    let refused = start(Vec::new()).await.unwrap_err();
    assert_eq!(refused.sqlstate(), "22023");
    let asks = [("keyspan.authentication".to_string(), "scram-sha-256".to_string())];
    start(asks.to_vec()).await.unwrap().shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_limited_by_role() {
    let server = TestServer::start("sled").await;
    let mut admin = server.connect_text().await;
    ok(&mut admin, "CREATE USER bob CONNECTION LIMIT 1").await;
    let mut config = Config::new();
    let addr = server.addr();
    config.host(addr.ip().to_string()).port(addr.port()).user("bob");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    assert_eq!(connects(addr, "bob", None).await, "53300");
    drop(client);
    connection.await.unwrap().unwrap();
    ok(&mut admin, "ALTER USER bob CONNECTION LIMIT -1").await;
    assert_eq!(connects(addr, "bob", None).await, "bob");
    server.stop_sound("roles").await;
}

/// A prepared statement goes on with who the session is when it runs, and what a role's sessions begin with counts for its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_runs_as_the_role_that_it_set() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    ok(
        &mut client,
        "CREATE ROLE a; CREATE ROLE b; PREPARE who AS SELECT current_user, session_user",
    )
    .await;
    for protocol in [Protocol::Simple, Protocol::Extended] {
        for (statement, expected) in [
            ("SET ROLE a", ["a", "test"]),
            ("SET ROLE b", ["b", "test"]),
            ("SET SESSION AUTHORIZATION a", ["a", "a"]),
            ("SET ROLE b", ["b", "a"]),
            ("RESET ROLE", ["a", "a"]),
            ("DISCARD ALL", ["test", "test"]),
        ] {
            client.run(statement, protocol).await.unwrap();
            if statement == "DISCARD ALL" {
                ok(&mut client, "PREPARE who AS SELECT current_user, session_user").await;
            }
            let direct = client
                .run("SELECT current_user, session_user", protocol)
                .await
                .unwrap();
            let expected: Vec<_> = expected.iter().map(|name| Some(name.to_string())).collect();
            assert_eq!(direct.rows, std::slice::from_ref(&expected), "{statement}");
            assert_eq!(ok(&mut client, "EXECUTE who").await, [expected], "{statement}");
        }
    }
    ok(
        &mut client,
        "BEGIN; SET ROLE a; SAVEPOINT s; SET ROLE b; ROLLBACK TO s",
    )
    .await;
    assert_eq!(
        ok(&mut client, "SELECT current_user").await[0][0].as_deref(),
        Some("a")
    );
    ok(&mut client, "ROLLBACK").await;
    assert_eq!(
        ok(&mut client, "SELECT current_user").await[0][0].as_deref(),
        Some("test")
    );
    assert_eq!(fails(&mut client, "SET ROLE nobody").await.sqlstate, "22023");
    ok(
        &mut client,
        "ALTER ROLE a SET work_mem = '9MB'; ALTER ROLE a RENAME TO c",
    )
    .await;
    let told = "SELECT rolname, setconfig FROM pg_db_role_setting JOIN pg_roles r ON r.oid = setrole";
    let rows = ok(&mut client, told).await;
    assert_eq!(
        rows,
        [[Some("c".to_string()), Some("{work_mem=9MB}".to_string())]]
    );
    ok(&mut client, "DROP ROLE c, b").await;
    assert!(ok(&mut client, told).await.is_empty());
    assert!(run(&mut client, "SET ROLE c").await.is_err());
}
