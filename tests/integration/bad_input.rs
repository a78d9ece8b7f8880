//! What a client does wrong or too much: it goes in the middle of a batch or a portal, opens thousands of statements, portals and savepoints,
//! sends parameters that are none. The session, or the server, goes on. COPY's data stands in `copy`, damaged messages in `protocol`.

use std::fmt::Write as _;

use crate::protocol::{Message, Raw, kinds, sqlstate};
use crate::server::TestServer;

/// How many statements, portals and savepoints a client holds.
const MANY: usize = 10_000;

async fn with_table() -> (TestServer, Raw) {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY, n int)").await;
    (server, raw)
}

/// The only value that a query gives.
async fn value(raw: &mut Raw, sql: &str) -> String {
    let messages = raw.run(sql).await;
    let row = messages.iter().find(|message| message.kind == 'D');
    let row = row.unwrap_or_else(|| panic!("{sql}: {messages:?}"));
    String::from_utf8_lossy(&row.body[6..]).into_owned()
}

/// Parse of a named statement.
fn parse(name: &str, sql: &str) -> Vec<u8> {
    message('P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Bind of a statement with these parameters, in binary or as text.
fn bind(portal: &str, statement: &str, format: u16, parameters: &[&[u8]]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    body.extend_from_slice(&1_u16.to_be_bytes());
    body.extend_from_slice(&format.to_be_bytes());
    body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        body.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
        body.extend_from_slice(parameter);
    }
    body.extend_from_slice(&[0, 0]);
    message('B', &body)
}

fn message(kind: char, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[kind as u8][..], &length.to_be_bytes(), body].concat()
}

fn error(messages: &[Message]) -> &Message {
    let found = messages.iter().find(|message| message.kind == 'E');
    found.unwrap_or_else(|| panic!("no error in {messages:?}"))
}

#[tokio::test]
async fn a_client_that_goes_leaves_nothing_of_its_batch() {
    let (server, mut raw) = with_table().await;
    raw.bind("INSERT INTO t VALUES (1, 1)").await;
    raw.execute(0).await;
    raw.bind("INSERT INTO t SELECT g, g FROM generate_series(2, 500) g")
        .await;
    raw.execute(0).await;
    raw.send('H', b"").await;
    raw.until('C').await;
    drop(raw);
    // What it had locked is free, and nothing of what no Sync committed is there.
    let mut other = Raw::connect(server.addr()).await;
    assert_eq!(kinds(&other.run("INSERT INTO t VALUES (1, 2)").await), "CZ");
    assert_eq!(value(&mut other, "SELECT count(*) FROM t").await, "1");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_leaves_nothing_of_its_portal() {
    let (server, mut raw) = with_table().await;
    raw.run("INSERT INTO t SELECT g, g FROM generate_series(1, 5000) g")
        .await;
    raw.run("BEGIN").await;
    raw.bind("SELECT /*+ _l_allow_filtering_ */ * FROM t FOR UPDATE")
        .await;
    raw.execute(10).await;
    raw.send('H', b"").await;
    raw.until('s').await;
    drop(raw);
    let mut other = Raw::connect(server.addr()).await;
    assert_eq!(kinds(&other.run("UPDATE t SET n = 0 WHERE id <= 10").await), "CZ");
    assert_eq!(kinds(&other.run("DROP TABLE t").await), "CZ");
    server.stop().await;
}

#[tokio::test]
async fn thousands_of_savepoints_are_gone_back_to() {
    let (server, mut raw) = with_table().await;
    let mut batch = "BEGIN;".to_string();
    for number in 0..MANY {
        write!(batch, "SAVEPOINT s{number};").expect("a string grows");
        if number % 1000 == 0 {
            write!(batch, "INSERT INTO t VALUES ({number}, 1);").expect("a string grows");
        }
    }
    raw.run(&batch).await;
    assert_eq!(kinds(&raw.run("ROLLBACK TO s4500").await), "CZ");
    assert_eq!(value(&mut raw, "SELECT count(*) FROM t").await, "5");
    assert_eq!(sqlstate(&raw.run("ROLLBACK TO s9999").await), "3B001");
    assert_eq!(kinds(&raw.run("ROLLBACK TO s10").await), "CZ");
    raw.run("COMMIT").await;
    assert_eq!(value(&mut raw, "SELECT count(*) FROM t").await, "1");
    server.stop().await;
}

#[tokio::test]
async fn thousands_of_statements_and_portals_are_held_and_let_go() {
    let (server, mut raw) = with_table().await;
    raw.run("BEGIN").await;
    let mut bytes = Vec::new();
    for number in 0..MANY {
        bytes.extend(parse(&format!("s{number}"), "SELECT $1::int4"));
        bytes.extend(bind(
            &format!("p{number}"),
            &format!("s{number}"),
            0,
            &[number.to_string().as_bytes()],
        ));
    }
    bytes.extend(message('S', b""));
    // The answers are read meanwhile: two full sockets would wait for each other.
    raw.bytes(&bytes).await;
    let told = raw.until('Z').await;
    assert_eq!(told.iter().filter(|message| message.kind == '2').count(), MANY);
    for portal in ["p0\0", "p9999\0"] {
        raw.send('E', &[portal.as_bytes(), &0_u32.to_be_bytes()].concat())
            .await;
    }
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "DCDCZ");
    assert_eq!(
        value(&mut raw, "SELECT count(*) FROM pg_prepared_statements").await,
        "10000"
    );
    raw.run("ROLLBACK").await;
    raw.run("DEALLOCATE ALL").await;
    assert_eq!(
        value(&mut raw, "SELECT count(*) FROM pg_prepared_statements").await,
        "0"
    );
    raw.send('E', b"p9999\0\0\0\0\0").await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "34000");
    server.stop().await;
}

#[tokio::test]
async fn parameters_that_are_none_are_refused_by_their_number() {
    let (server, mut raw) = with_table().await;
    raw.bytes(&parse("s", "SELECT $1::int4, $2::text, $3::bit(4)"))
        .await;
    let cases: [(u16, [&[u8]; 3], &str, &str); 5] = [
        (
            1,
            [b"\0\0\0", b"", b"\0\0\0\x04\xA0"],
            "22P03",
            "unnamed portal parameter $1",
        ),
        (
            1,
            [b"\0\0\0\x01", b"a\xff", b"\0\0\0\x04\xA0"],
            "22021",
            "unnamed portal parameter $2",
        ),
        (
            1,
            [b"\0\0\0\x01", b"a", b"\0\0\0\x09\xA0"],
            "22P03",
            "unnamed portal parameter $3",
        ),
        (
            1,
            [b"\0\0\0\x01", b"a", b"\xff\0\0\x04\xA0"],
            "22P03",
            "unnamed portal parameter $3",
        ),
        (0, [b"one", b"a", b"1010"], "22P02", "unnamed portal parameter $1"),
    ];
    for (format, parameters, state, context) in cases {
        raw.bytes(&bind("", "s", format, &parameters)).await;
        raw.send('S', b"").await;
        let messages = raw.until('Z').await;
        let found = (sqlstate(&messages), error(&messages).field('W'));
        assert_eq!(found, (state.to_string(), context.to_string()), "{parameters:?}");
    }
    raw.bytes(&bind("named", "s", 1, &[b"\0\0\0\x01", b"a"])).await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "08P01");
    raw.bytes(&bind("", "s", 1, &[b"\0\0\0\x01", b"a", b"\0\0\0\x04\xA0"]))
        .await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "2DCZ");
    server.stop().await;
}
