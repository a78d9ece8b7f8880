//! What a client may do that has not sent Sync, or sends nothing more: what it executes is executed, others can end its session, and its answers
//! take no memory that it does not read.

use std::time::Duration;

use crate::protocol::{Raw, assert_kinds, kinds, sqlstate};
use crate::server::TestServer;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks until the query gives a row.
async fn until(raw: &mut Raw, sql: &str) {
    let asked = async {
        while !kinds(&raw.run(sql).await).contains('D') {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .expect("it becomes so");
}

#[tokio::test]
async fn an_execute_without_sync_is_executed_and_its_session_can_be_ended() {
    let server = TestServer::start("memory").await;
    let mut other = Raw::connect(server.addr()).await;
    for flush in [true, false] {
        let mut raw = Raw::connect(server.addr()).await;
        raw.run("SET application_name = 'unsynced'").await;
        raw.bind("SELECT pg_advisory_lock(5)").await;
        raw.execute(0).await;
        if flush {
            raw.send('H', b"").await;
        }
        until(&mut other, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").await;
        let ended = other
            .run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'unsynced'")
            .await;
        assert_kinds(&ended, "TDCZ");
        assert_eq!(raw.farewell().await.field('C'), "57P01");
        until(
            &mut other,
            "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory')",
        )
        .await;
    }
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("SET idle_in_transaction_session_timeout = '50ms'; BEGIN")
        .await;
    raw.bind("SELECT 1").await;
    raw.execute(0).await;
    assert_eq!(raw.farewell().await.field('C'), "25P03");
}

#[tokio::test]
async fn a_copy_without_sync_takes_its_data() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (a int PRIMARY KEY)").await;
    raw.bind("COPY t FROM STDIN").await;
    raw.execute(0).await;
    assert_kinds(&raw.until('G').await, "12G");
    raw.send('d', b"1\n2\n").await;
    raw.send('c', b"").await;
    raw.send('S', b"").await;
    assert_kinds(&raw.until('Z').await, "CZ");
    assert_kinds(&raw.run("SELECT a FROM t").await, "TDDCZ");
}

#[tokio::test]
async fn a_client_that_sends_no_more_is_answered() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.query("SELECT pg_sleep(0.1)").await;
    raw.send_no_more().await;
    assert_kinds(&raw.until('Z').await, "TDCZ");
    assert_eq!(raw.next().await, None);
}

/// 16 MB of RowDescriptions are more than sockets hold: the server does not read on before they are taken.
#[tokio::test]
async fn answers_that_nobody_reads_stop_the_server_from_reading() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let columns: Vec<String> = (0..500).map(|number| format!("1 AS column_{number}")).collect();
    raw.send(
        'P',
        format!("wide\0SELECT {}\0\0\0", columns.join(", ")).as_bytes(),
    )
    .await;
    raw.send('S', b"").await;
    raw.until('Z').await;
    const DESCRIBED: usize = 1000;
    let mut other = Raw::connect(server.addr()).await;
    for _ in 0..DESCRIBED {
        raw.send('D', b"Swide\0").await;
    }
    raw.bind("SELECT pg_advisory_lock(6)").await;
    raw.execute(0).await;
    raw.send('H', b"").await;
    // It is in the midst of what comes before, and has not come so far.
    let locked = other
        .run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
        .await;
    assert_kinds(&locked, "TCZ");
    for _ in 0..DESCRIBED {
        assert_eq!(raw.next().await.map(|message| message.kind), Some('t'));
        assert_eq!(raw.next().await.map(|message| message.kind), Some('T'));
    }
    assert_kinds(&raw.until('C').await, "12DC");
}

#[tokio::test]
async fn a_role_given_at_the_start_is_one() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE ROLE clerk").await;
    for (given, answer) in [("clerk", "clerk"), ("none", "test")] {
        let mut raw = Raw::open(server.addr()).await;
        raw.startup(0, format!("user\0test\0options\0-c role={given}\0\0").as_bytes())
            .await;
        raw.until('Z').await;
        let messages = raw.run("SELECT current_user").await;
        assert!(messages[1].body.ends_with(answer.as_bytes()), "{messages:?}");
    }
    let mut raw = Raw::open(server.addr()).await;
    raw.startup(0, b"user\0test\0role\0nobody\0\0").await;
    let error = raw.farewell().await;
    assert_eq!(
        (error.field('C').as_str(), error.field('M').as_str()),
        ("22023", "role \"nobody\" does not exist")
    );
}

/// What others are told of a statement is bounded, and so is what an idle session keeps of it.
#[tokio::test]
async fn a_long_statement_is_told_of_in_part() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let mut other = Raw::connect(server.addr()).await;
    let long = format!("SELECT length(current_query()) /* {} */", "é".repeat(5000));
    let messages = raw.run(&long).await;
    assert!(
        messages[1]
            .body
            .ends_with(long.chars().count().to_string().as_bytes()),
        "{messages:?}"
    );
    let told = "SELECT octet_length(query) FROM pg_stat_activity WHERE query LIKE '%current_query%/*%'";
    let messages = other.run(told).await;
    assert_kinds(&messages, "TDDCZ");
    assert!(
        messages[1..3].iter().any(|row| row.body.ends_with(b"1022")),
        "a character has two bytes: {messages:?}"
    );
}

/// Portals have names, and any number of bytes each: all of them are within the server's memory.
#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_portals_are_counted() {
    let (_data_dir, server, _client) =
        crate::server::ServerProcess::start_new(&["--memory-bytes-max", "16MB"]).await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.send('P', b"p\0SELECT length($1::text)\0\0\0").await;
    let text = vec![b'x'; 1 << 20];
    for portal in 0..64 {
        let length = (text.len() as u32).to_be_bytes();
        let names = format!("{portal}\0p\0\0\0\0\x01");
        raw.send('B', &[names.as_bytes(), &length, &text, b"\0\0"].concat())
            .await;
    }
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "53200");
    // They have gone with their transaction.
    raw.send('B', &[&b"\0p\0\0\0\0\x01\0\0\0\x02ab\0\0"[..]].concat())
        .await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_kinds(&raw.until('Z').await, "2DCZ");
}
