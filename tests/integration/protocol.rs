//! The protocol byte by byte: what drivers never send, or never show: damaged messages, cancel and timeouts while rows
//! stream, suspended portals, limits, disconnects, shutdown.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use keyspan::{Server, ServerOptions, StoreKind};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::TestServer;

/// No answer takes longer, even on a slow machine; a test that waits for more has found a hang.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// A connection that speaks bytes.
pub(crate) struct Raw {
    stream: TcpStream,
    addr: SocketAddr,
    process_id: i32,
    pub(crate) secret: Vec<u8>,
}

/// A message of the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) kind: char,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// A field of an error or notice.
    pub(crate) fn field(&self, code: char) -> String {
        let field = self
            .body
            .split(|byte| *byte == 0)
            .find(|field| field.first() == Some(&(code as u8)));
        field
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
            .unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body)
            .trim_end_matches('\0')
            .to_string()
    }
}

impl Raw {
    /// A socket without a session.
    pub(crate) async fn open(addr: SocketAddr) -> Raw {
        let stream = TcpStream::connect(addr).await.expect("the server listens");
        Raw {
            stream,
            addr,
            process_id: 0,
            secret: Vec::new(),
        }
    }

    /// A session.
    pub(crate) async fn connect(addr: SocketAddr) -> Raw {
        let mut raw = Raw::open(addr).await;
        raw.startup(0, b"user\0test\0\0").await;
        assert_eq!(raw.ready().await, 'I');
        raw
    }

    pub(crate) async fn packet(&mut self, code: u32, rest: &[u8]) {
        let length = (rest.len() + 8) as u32;
        let bytes = [&length.to_be_bytes(), &code.to_be_bytes(), rest].concat();
        self.stream.write_all(&bytes).await.expect("the server reads");
    }

    pub(crate) async fn startup(&mut self, minor: u32, parameters: &[u8]) {
        self.packet((3 << 16) | minor, parameters).await;
    }

    /// A message with the length it has.
    pub(crate) async fn send(&mut self, kind: char, body: &[u8]) {
        let length = (body.len() + 4) as u32;
        self.bytes(&[&[kind as u8][..], &length.to_be_bytes(), body].concat())
            .await;
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server reads");
    }

    pub(crate) async fn query(&mut self, sql: &str) {
        self.send('Q', format!("{sql}\0").as_bytes()).await;
    }

    /// Ends its side of the connection; answers still come.
    pub(crate) async fn send_no_more(&mut self) {
        self.stream.shutdown().await.expect("the server reads");
    }

    /// Runs SQL and reads up to ReadyForQuery.
    pub(crate) async fn run(&mut self, sql: &str) -> Vec<Message> {
        self.query(sql).await;
        self.until('Z').await
    }

    /// Parse and Bind of a statement without parameters, both unnamed.
    pub(crate) async fn bind(&mut self, sql: &str) {
        self.send('P', format!("\0{sql}\0\0\0").as_bytes()).await;
        self.send('B', b"\0\0\0\0\0\0\0\0").await;
    }

    pub(crate) async fn execute(&mut self, rows_max: u32) {
        self.send('E', &[&b"\0"[..], &rows_max.to_be_bytes()].concat())
            .await;
    }

    /// The next message; `None` when the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        tokio::time::timeout(ANSWER_TIME_MAX, self.read())
            .await
            .expect("the server answers")
    }

    async fn read(&mut self) -> Option<Message> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).await.ok()?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(Message {
            kind: header[0] as char,
            body,
        })
    }

    /// Messages up to one of this kind, which is the last.
    pub(crate) async fn until(&mut self, kind: char) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.next().await.expect("the connection stays open");
            messages.push(message.clone());
            if message.kind == kind {
                return messages;
            }
        }
    }

    /// Reads up to ReadyForQuery, keeps the key of BackendKeyData, and gives the transaction status.
    pub(crate) async fn ready(&mut self) -> char {
        let messages = self.until('Z').await;
        if let Some(key) = messages.iter().find(|message| message.kind == 'K') {
            let (process_id, secret) = key.body.split_at(4);
            self.process_id = i32::from_be_bytes(process_id.try_into().expect("four bytes"));
            self.secret = secret.to_vec();
        }
        messages.last().map_or('?', |ready| ready.body[0] as char)
    }

    /// The error that ends the connection.
    pub(crate) async fn farewell(&mut self) -> Message {
        let mut last = None;
        while let Some(message) = self.next().await {
            last = Some(message);
        }
        let last = last.expect("the server says why it ends the connection");
        assert_eq!((last.kind, last.field('S').as_str()), ('E', "FATAL"), "{last:?}");
        last
    }

    /// Sends a cancel request for this session, with its secret or another, and waits until the server has read it.
    pub(crate) async fn cancel(&self, secret: &[u8]) {
        let mut other = Raw::open(self.addr).await;
        let rest = [&self.process_id.to_be_bytes(), secret].concat();
        other.packet(CANCEL_REQUEST, &rest).await;
        assert_eq!(other.next().await, None);
    }
}

pub(crate) fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|message| message.kind).collect()
}

pub(crate) fn assert_kinds(messages: &[Message], expected: &str) {
    let error = messages
        .iter()
        .find(|message| message.kind == 'E')
        .map(Message::text);
    assert_eq!(kinds(messages), expected, "{error:?}");
}

pub(crate) fn sqlstate(messages: &[Message]) -> String {
    messages
        .iter()
        .find(|message| message.kind == 'E')
        .map(|error| error.field('C'))
        .unwrap_or_default()
}

/// A server with a table `wide` of 20 MB, which no socket's buffers hold: a statement that reads it and is not read
/// itself waits in the middle.
async fn server_with_wide_table() -> TestServer {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client
        .batch_execute("CREATE TABLE wide (id int PRIMARY KEY, filler text)")
        .await
        .expect("a table");
    let filler = "x".repeat(20_000);
    for part in 0..20 {
        let rows: Vec<_> = (0..50)
            .map(|row| format!("({}, '{filler}')", part * 50 + row))
            .collect();
        client
            .batch_execute(&format!("INSERT INTO wide VALUES {}", rows.join(",")))
            .await
            .expect("rows");
    }
    server
}

async fn assert_lives(server: &TestServer) {
    let mut raw = Raw::connect(server.addr()).await;
    assert_eq!(kinds(&raw.run("SHOW server_version").await), "TDCZ");
}

#[tokio::test]
async fn constants_fail_before_their_columns_are_told() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    for (sql, expected) in [
        ("SELECT 1/0", "EZ"),
        ("SELECT CASE WHEN true THEN 1/0 END AS a, 2 AS b", "EZ"),
        ("SELECT 1/1", "TDCZ"),
        ("SELECT 1/(1 - a) FROM generate_series(1, 2) a", "TEZ"),
    ] {
        assert_eq!(kinds(&raw.run(sql).await), expected, "{sql}");
    }
}

#[tokio::test]
async fn encryption_is_refused_and_the_session_begins() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::open(server.addr()).await;
    for request in [SSL_REQUEST, GSS_REQUEST] {
        raw.packet(request, b"").await;
        let mut answer = [0];
        raw.stream.read_exact(&mut answer).await.expect("one byte");
        assert_eq!(answer, *b"N");
    }
    raw.startup(
        0,
        b"user\0test\0application_name\0raw\0DateStyle\0sql, european\0\0",
    )
    .await;
    let messages = raw.until('Z').await;
    assert_eq!(
        messages[0],
        Message {
            kind: 'R',
            body: vec![0; 4]
        }
    );
    let told = |text: &str| {
        messages
            .iter()
            .any(|message| message.kind == 'S' && message.text().starts_with(text))
    };
    assert!(told("server_version\x0015."));
    assert!(told("application_name\0raw"));
    assert!(told("DateStyle\0SQL, DMY"));
    assert!(told("IntervalStyle\0postgres"));
    assert!(told("client_encoding\0UTF8"));
    assert!(told("standard_conforming_strings\0on"));
    assert_eq!(
        messages
            .iter()
            .find(|message| message.kind == 'K')
            .map(|key| key.body.len()),
        Some(8)
    );
}

#[tokio::test]
async fn protocol_versions_are_negotiated() {
    let server = TestServer::start("memory").await;
    let mut newer = Raw::open(server.addr()).await;
    newer.startup(9, b"user\0test\0_pq_.nonsense\0on\0\0").await;
    let messages = newer.until('Z').await;
    assert_eq!(
        (messages[0].kind, &messages[0].body[..8]),
        ('v', &[0, 3, 0, 2, 0, 0, 0, 1][..])
    );
    assert_eq!(
        messages
            .iter()
            .find(|message| message.kind == 'K')
            .map(|key| key.body.len()),
        Some(36)
    );
    let mut old = Raw::open(server.addr()).await;
    old.packet(2 << 16, b"user\0test\0\0").await;
    assert_eq!(old.farewell().await.field('C'), "0A000");
}

#[tokio::test]
async fn bad_startup_packets_end_the_connection_only() {
    let server = TestServer::start("memory").await;
    for (parameters, state) in [
        (&b"\0"[..], "28000"),
        (b"user\0test", "08P01"),
        (b"user\0test\0\0\0\0", "08P01"),
        (b"user\0test\0nonsense\0on\0\0", "42704"),
        (b"user\0test\0options\0-c statement_timeout=soon\0\0", "22023"),
        (b"user\0test\0replication\0database\0\0", "0A000"),
    ] {
        let mut raw = Raw::open(server.addr()).await;
        raw.startup(0, parameters).await;
        assert_eq!(
            raw.farewell().await.field('C'),
            state,
            "{}",
            String::from_utf8_lossy(parameters)
        );
    }
    let mut raw = Raw::open(server.addr()).await;
    raw.bytes(b"GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(raw.farewell().await.field('C'), "08P01");
    assert_lives(&server).await;
}

#[tokio::test]
async fn damaged_messages_end_the_connection_only() {
    let server = TestServer::start("memory").await;
    let damaged: [(char, &[u8]); 10] = [
        ('Q', b"SELECT 1"),
        ('Q', b"SHOW server_version\0more"),
        ('P', b"\0SELECT 1\0\xff\xff\0"),
        ('P', b"name"),
        ('B', b"\0\0\0\0\0\x01\0\0\x03\xe8x"),
        ('B', b"\0\0\0\0\0\x01\x80\0\0\0\0\0"),
        ('D', b"X\0"),
        ('E', b"\0\0"),
        ('C', b""),
        ('S', b"more"),
    ];
    for (kind, body) in damaged {
        let mut raw = Raw::connect(server.addr()).await;
        raw.send(kind, body).await;
        assert_eq!(raw.farewell().await.field('C'), "08P01", "{kind} {body:?}");
    }
    for bytes in [
        &b"?\0\0\0\x04"[..],
        b"Q\0\0\0\x03",
        b"Q\xff\xff\xff\xff",
        b"p\0\0\0\x04",
    ] {
        let mut raw = Raw::connect(server.addr()).await;
        raw.bytes(bytes).await;
        assert_eq!(raw.farewell().await.field('C'), "08P01", "{bytes:?}");
    }
    assert_lives(&server).await;
}

#[tokio::test]
async fn a_message_above_the_limit_ends_the_connection_before_it_is_read() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.bytes(b"Q\x7f\xff\xff\xff").await;
    let error = raw.farewell().await;
    assert_eq!(error.field('C'), "54000");
    assert!(
        error.field('H').contains("keyspan.message_bytes_max"),
        "{error:?}"
    );
    assert_lives(&server).await;
}

#[tokio::test]
async fn text_that_is_not_utf8_fails_the_statement_only() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.send('Q', b"SHOW \xc3\x28\0").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "22021")
    );
    raw.send('P', b"\0SHOW \xff\0\0\0").await;
    raw.send('H', b"").await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "22021")
    );
}

#[tokio::test]
async fn function_calls_are_answered() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let call = |oid: u32, arguments: &[Option<&[u8]>], format: u16| {
        let mut body = oid.to_be_bytes().to_vec();
        // One format for all arguments: binary.
        body.extend([0, 1, 0, 1]);
        body.extend((arguments.len() as u16).to_be_bytes());
        for argument in arguments {
            match argument {
                Some(bytes) => {
                    body.extend((bytes.len() as u32).to_be_bytes());
                    body.extend(*bytes);
                }
                None => body.extend((-1_i32).to_be_bytes()),
            }
        }
        body.extend(format.to_be_bytes());
        body
    };
    // int4pl and lo_create, in binary and in text.
    let (two, three) = (2_i32.to_be_bytes(), 3_i32.to_be_bytes());
    raw.send('F', &call(177, &[Some(&two), Some(&three)], 1)).await;
    let messages = raw.until('Z').await;
    assert_eq!(kinds(&messages), "VZ");
    assert_eq!(messages[0].body, [0, 0, 0, 4, 0, 0, 0, 5]);
    raw.send('F', &call(715, &[Some(&70_000_u32.to_be_bytes())], 0))
        .await;
    let messages = raw.until('Z').await;
    assert_eq!(messages[0].body, b"\0\0\0\x0570000");
    raw.send('F', &call(177, &[Some(&two), None], 1)).await;
    assert_eq!(raw.until('Z').await[0].body, [0xFF; 4]);
    let faults: [(Vec<u8>, &str); 4] = [
        (call(177, &[Some(&two)], 1), "08P01"),
        (call(177, &[Some(&two), Some(b"x")], 1), "22P03"),
        (call(177, &[Some(&two), Some(&three)], 2), "22023"),
        (call(1, &[], 1), "42883"),
    ];
    for (body, state) in faults {
        raw.send('F', &body).await;
        let messages = raw.until('Z').await;
        assert_eq!(
            (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
            ("EZ", state)
        );
    }
    assert_eq!(kinds(&raw.run("SELECT lo_unlink(70000)").await), "TDCZ");
    // Their statements stay, unseen; and may go.
    let listed = raw.run("SELECT 1 FROM pg_prepared_statements").await;
    assert_eq!(kinds(&listed), "TCZ");
    raw.run("DEALLOCATE ALL").await;
    raw.send('F', &call(177, &[Some(&two), Some(&three)], 1)).await;
    assert_eq!(kinds(&raw.until('Z').await), "VZ");
}

#[tokio::test]
async fn copy_outside_copy_is_ignored() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    for kind in ['d', 'c', 'f'] {
        raw.send(kind, b"\0").await;
    }
    assert_eq!(kinds(&raw.run("  -- nothing").await), "IZ");
    raw.bind("").await;
    raw.send('D', b"P\0").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "12nIZ");
}

#[tokio::test]
async fn an_extended_error_skips_to_sync() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.bind("SELEC").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    raw.bind("SHOW server_version").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "42601")
    );
    assert_eq!(kinds(&raw.until('Z').await), "12DCZ");
}

#[tokio::test]
async fn bind_and_portal_errors_are_postgresqls() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    for (kind, body, state) in [
        ('B', &b"\0nosuch\0\0\0\0\0\0\0"[..], "26000"),
        ('E', b"nosuch\0\0\0\0\0", "34000"),
        ('D', b"Snosuch\0", "26000"),
        ('D', b"Pnosuch\0", "34000"),
    ] {
        raw.send(kind, body).await;
        raw.send('S', b"").await;
        assert_eq!(sqlstate(&raw.until('Z').await), state, "{kind}");
    }
    for (bind, state) in [
        (&b"\0\0\0\0\0\x01\0\0\0\x01x\0\0"[..], "08P01"),
        (b"\0\0\0\0\0\0\0\x01\0\x07", "22023"),
        (b"\0\0\0\0\0\0\0\x02\0\0\0\0", "08P01"),
    ] {
        raw.send('P', b"\0SHOW server_version\0\0\0").await;
        raw.send('B', bind).await;
        raw.send('S', b"").await;
        assert_eq!(sqlstate(&raw.until('Z').await), state, "{bind:?}");
    }
    raw.send('P', b"\0SHOW server_version; SHOW ALL\0\0\0").await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "42601");
    raw.send('P', b"named\0SHOW server_version\0\0\0").await;
    raw.send('P', b"named\0SHOW server_version\0\0\0").await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "42P05");
}

/// asyncpg moves in a portal that is bound and not run, goes on by Execute, and waits for the errors of Parse behind Flush.
#[tokio::test]
async fn a_portal_is_moved_in_before_it_is_run_and_flush_brings_errors() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3), (4), (5), (6)")
        .await;
    raw.send('P', b"q\0SELECT id FROM t ORDER BY id\0\0\0").await;
    raw.send('S', b"").await;
    raw.until('Z').await;
    raw.run("BEGIN").await;
    bind_named(&mut raw, "p", "q").await;
    raw.send('S', b"").await;
    raw.until('Z').await;
    let moved = raw.run("MOVE FORWARD 2 p").await;
    assert_eq!(
        (kinds(&moved).as_str(), moved[0].text().as_str()),
        ("CZ", "MOVE 2")
    );
    let value = |messages: &[Message]| {
        let row = messages.iter().find(|message| message.kind == 'D');
        row.and_then(|row| row.body.last().copied())
    };
    assert_eq!(value(&execute_named(&mut raw, "p", 1).await), Some(b'3'));
    assert_eq!(value(&raw.run("FETCH 1 FROM p").await), Some(b'4'));
    let rest = execute_named(&mut raw, "p", 0).await;
    assert_eq!((kinds(&rest).as_str(), value(&rest)), ("DDCZ", Some(b'5')));
    raw.run("ROLLBACK").await;
    raw.send('P', b"\0SELECT nothing\0\0\0").await;
    raw.send('D', b"S\0").await;
    raw.send('H', b"").await;
    assert_eq!(sqlstate(&raw.until('E').await), "42703");
    raw.send('S', b"").await;
    assert_kinds(&raw.until('Z').await, "Z");
}

/// Formats for what gives no columns, and parameters of type void where a driver keeps the place of an OUT parameter.
#[tokio::test]
async fn what_is_said_of_nothing_is_passed_over() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.send('P', b"\0SET search_path = public\0\0\0").await;
    raw.send('B', b"\0\0\0\0\0\0\0\x02\0\x01\0\x01").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_kinds(&raw.until('Z').await, "12CZ");
    raw.run("CREATE FUNCTION half(n int, OUT h int) LANGUAGE sql AS 'SELECT n / 2'")
        .await;
    for (sql, answer) in [
        ("SELECT * FROM half($2, $1)", "2"),
        ("SELECT half($2, $1)", "2"),
        ("SELECT sign($1, $2)", "1"),
    ] {
        let parse = [b"\0", sql.as_bytes(), b"\0\0\x02\0\0\x08\xe6\0\0\0\x17"].concat();
        raw.send('P', &parse).await;
        raw.send('B', b"\0\0\0\0\0\x02\xff\xff\xff\xff\0\0\0\x015\0\0")
            .await;
        raw.execute(0).await;
        raw.send('S', b"").await;
        let messages = raw.until('Z').await;
        assert_kinds(&messages, "12DCZ");
        assert_eq!(messages[2].body[6..], *answer.as_bytes(), "{sql}");
    }
}

#[tokio::test]
async fn a_portal_is_suspended_resumed_and_ends_with_the_transaction() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3), (4), (5)")
        .await;
    raw.bind("SELECT id FROM t").await;
    for _ in 0..3 {
        raw.execute(2).await;
    }
    raw.send('H', b"").await;
    let messages = raw.until('C').await;
    assert_eq!(kinds(&messages), "12DDsDDsDC");
    assert_eq!(messages.last().map(Message::text).as_deref(), Some("SELECT 1"));
    raw.execute(2).await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), messages[0].text().as_str()),
        ("CZ", "SELECT 0")
    );
    raw.execute(2).await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "34000");

    raw.run("BEGIN").await;
    raw.bind("SELECT id FROM t ORDER BY id DESC").await;
    raw.execute(1).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "12DsZ");
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "DDDDCZ");
    raw.run("COMMIT").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    assert_eq!(sqlstate(&raw.until('Z').await), "34000");
}

/// Binds a statement to a portal, both by their names, with text everywhere.
async fn bind_named(raw: &mut Raw, portal: &str, statement: &str) {
    raw.send('B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
        .await;
}

async fn execute_named(raw: &mut Raw, portal: &str, rows_max: u32) -> Vec<Message> {
    let body = [portal.as_bytes(), b"\0", &rows_max.to_be_bytes()].concat();
    raw.send('E', &body).await;
    raw.send('S', b"").await;
    raw.until('Z').await
}

#[tokio::test]
async fn a_fetch_has_the_columns_of_the_cursor_at_hand() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    // It is prepared before there is a cursor.
    raw.send('P', b"f\0FETCH 2 FROM c\0\0\0").await;
    raw.send('D', b"Sf\0").await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "1tnZ");
    raw.run("BEGIN").await;
    for (query, columns, fetched) in [
        ("VALUES (1), (2), (3)", 1, "2TDDCZ"),
        ("VALUES (1, 'a', NULL)", 3, "2TDCZ"),
    ] {
        raw.run(&format!("DECLARE c CURSOR FOR {query}")).await;
        bind_named(&mut raw, "", "f").await;
        raw.send('D', b"P\0").await;
        let messages = execute_named(&mut raw, "", 0).await;
        assert_eq!(kinds(&messages), fetched, "{query}");
        assert_eq!(messages[1].body[..2], [0, columns], "{query}");
        raw.run("CLOSE c").await;
    }
    bind_named(&mut raw, "", "f").await;
    assert_eq!(sqlstate(&execute_named(&mut raw, "", 0).await), "34000");
    raw.run("ROLLBACK").await;
    // A portal that fetches from itself gives nothing.
    raw.run("BEGIN").await;
    raw.send('P', b"g\0FETCH 2 FROM self\0\0\0").await;
    bind_named(&mut raw, "self", "g").await;
    raw.send('D', b"Pself\0").await;
    assert_eq!(sqlstate(&execute_named(&mut raw, "self", 0).await), "34000");
}

#[tokio::test]
async fn portals_stay_where_they_are_behind_a_savepoint_and_younger_ones_go() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 9)")
        .await;
    raw.send('P', b"q\0SELECT id FROM t ORDER BY id\0\0\0").await;
    raw.send('S', b"").await;
    raw.until('Z').await;
    raw.run("BEGIN").await;
    bind_named(&mut raw, "old", "q").await;
    let value = |messages: &[Message]| {
        let row = messages.iter().find(|message| message.kind == 'D');
        row.and_then(|row| row.body.last().copied())
    };
    assert_eq!(kinds(&execute_named(&mut raw, "old", 2).await), "2DDsZ");
    raw.run("DELETE FROM t WHERE id = 5; SAVEPOINT s; DELETE FROM t")
        .await;
    bind_named(&mut raw, "young", "q").await;
    assert_eq!(kinds(&execute_named(&mut raw, "young", 1).await), "2CZ");
    assert_eq!(value(&execute_named(&mut raw, "old", 1).await), Some(b'3'));
    raw.run("ROLLBACK TO s").await;
    assert_eq!(value(&execute_named(&mut raw, "old", 1).await), Some(b'4'));
    // It sees what was there when it began.
    assert_eq!(value(&execute_named(&mut raw, "old", 1).await), Some(b'5'));
    assert_eq!(sqlstate(&execute_named(&mut raw, "young", 1).await), "34000");
    raw.run("ROLLBACK").await;

    // What is looked up for later rows, too.
    raw.run("CREATE TABLE many (id int PRIMARY KEY); INSERT INTO many SELECT generate_series(1, 20000)")
        .await;
    raw.run("CREATE TABLE u (id int PRIMARY KEY, v int); INSERT INTO u VALUES (1, 1), (20000, 1)")
        .await;
    let query = "SELECT (SELECT v FROM u WHERE u.id = m.id) FROM many m ORDER BY id";
    raw.send('P', format!("j\0{query}\0\0\0").as_bytes()).await;
    raw.send('S', b"").await;
    raw.until('Z').await;
    raw.run("BEGIN").await;
    bind_named(&mut raw, "looks_up", "j").await;
    assert_eq!(value(&execute_named(&mut raw, "looks_up", 1).await), Some(b'1'));
    raw.run("UPDATE u SET v = 2").await;
    let rest = execute_named(&mut raw, "looks_up", 0).await;
    let last = rest.iter().rfind(|message| message.kind == 'D');
    assert_eq!(last.and_then(|row| row.body.last().copied()), Some(b'1'));
}

#[tokio::test]
async fn statements_of_one_message_and_of_one_pipeline_are_one_transaction() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY)").await;
    let messages = raw
        .run("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
        .await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("CEZ", "23505")
    );
    for id in ["3", "3", "4"] {
        raw.bind(&format!("INSERT INTO t VALUES ({id})")).await;
        raw.execute(0).await;
    }
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("12C12EZ", "23505")
    );
    assert_eq!(kinds(&raw.run("SELECT id FROM t").await), "TCZ");

    let messages = raw
        .run("INSERT INTO t VALUES (5); BEGIN; INSERT INTO t VALUES (6)")
        .await;
    assert_eq!(
        (
            kinds(&messages).as_str(),
            messages.last().map(|ready| ready.body[0])
        ),
        ("CCCZ", Some(b'T'))
    );
    let messages = raw.run("SELECT nosuch FROM t").await;
    assert_eq!(messages.last().map(|ready| ready.body[0]), Some(b'E'));
    assert_eq!(sqlstate(&raw.run("SHOW server_version").await), "25P02");
    let messages = raw.run("COMMIT").await;
    assert_eq!(
        (messages[0].text().as_str(), messages[1].body[0]),
        ("ROLLBACK", b'I')
    );
    assert_eq!(kinds(&raw.run("SELECT id FROM t").await), "TCZ");
    let messages = raw
        .run("INSERT INTO t VALUES (7); COMMIT; SELECT nosuch FROM t")
        .await;
    assert_eq!(kinds(&messages), "CNCEZ");
    assert_eq!(kinds(&raw.run("SELECT id FROM t").await), "TDCZ");
}

#[tokio::test]
async fn clients_are_told_of_settings_that_change() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let messages = raw.run("SET TIME ZONE 'Europe/Berlin'").await;
    assert_eq!(
        (kinds(&messages).as_str(), messages[1].text().as_str()),
        ("CSZ", "TimeZone\0Europe/Berlin")
    );
    let messages = raw.run("SET DateStyle = german").await;
    assert_eq!(messages[1].text(), "DateStyle\0German, DMY");
    let messages = raw.run("SET IntervalStyle = iso_8601").await;
    assert_eq!(messages[1].text(), "IntervalStyle\0iso_8601");
    let messages = raw.run("BEGIN; SET application_name = 'a'; ROLLBACK").await;
    assert_eq!(kinds(&messages), "CCCZ");
    assert_eq!(sqlstate(&raw.run("SET nosuch = 1").await), "42704");
    assert_eq!(
        sqlstate(&raw.run("SET keyspan.message_bytes_max = '1GB'").await),
        "55P02"
    );
    assert_eq!(kinds(&raw.run("SET LOCAL application_name = 'a'").await), "NCZ");
}

#[tokio::test]
async fn a_cancel_reaches_a_statement_whose_rows_stream() {
    let server = server_with_wide_table().await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.query("SELECT * FROM wide").await;
    let first = [raw.next().await, raw.next().await];
    assert_eq!(kinds(&first.map(|message| message.expect("a message"))), "TD");
    raw.cancel(b"none").await;
    raw.cancel(&raw.secret.clone()).await;
    let messages = raw.until('Z').await;
    assert_eq!(sqlstate(&messages), "57014");
    assert!(messages.len() < 1000, "the scan went on to its end");
    assert_eq!(kinds(&raw.run("SHOW server_version").await), "TDCZ");
    // A cancel that comes when nothing runs is forgotten.
    raw.cancel(&raw.secret.clone()).await;
    assert_eq!(kinds(&raw.run("SHOW server_version").await), "TDCZ");
}

#[tokio::test]
async fn statement_timeout_ends_a_statement_that_nobody_reads() {
    let server = server_with_wide_table().await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("SET statement_timeout = '200ms'").await;
    raw.bind("SELECT * FROM wide").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    // Whoever else asks meanwhile is answered; when that takes its time the statement has timed out.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(400) {
        assert_lives(&server).await;
    }
    let messages = raw.until('Z').await;
    assert_eq!(sqlstate(&messages), "57014");
    assert!(messages.len() < 1000, "the scan went on to its end");
}

/// A join of 10,000,000,000 pairs reads next to nothing and would go on for hours: it ends with its statement all the
/// same, and more of them than there are threads leave room for the next query.
#[tokio::test]
async fn a_join_without_end_stops_with_its_statement() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("SET statement_timeout = '50ms'").await;
    let threads = std::thread::available_parallelism().map_or(8, usize::from);
    for _ in 0..=threads {
        let join =
            "SELECT count(*) FROM generate_series(1, 100000) a JOIN generate_series(1, 100000) b ON a <> b";
        assert_eq!(sqlstate(&raw.run(join).await), "57014");
    }
    raw.run("SET statement_timeout = 0").await;
    let sum = "SELECT sum(a) FROM generate_series(1, 3) a JOIN generate_series(1, 3) b ON a <> b";
    let answered = tokio::time::timeout(Duration::from_secs(60), raw.run(sum)).await;
    assert_kinds(&answered.expect("the query has a thread"), "TDCZ");
}

#[tokio::test]
async fn idle_sessions_end_when_they_may_not_idle() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("SET idle_in_transaction_session_timeout = '50ms'").await;
    raw.run("BEGIN").await;
    assert_eq!(raw.farewell().await.field('C'), "25P03");
}

/// A server that takes this many clients at once.
async fn small_server(connections_max: usize) -> (Server, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let options = ServerOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data_dir: folder.path().join("data"),
        store: StoreKind::Memory,
        connections_max,
        ..ServerOptions::default()
    };
    (Server::start(options).await.expect("the server starts"), folder)
}

#[tokio::test]
async fn one_client_too_many_is_told_so_and_a_client_that_goes_makes_room() {
    let (server, _folder) = small_server(1).await;
    let mut only = Raw::connect(server.local_addr()).await;
    let mut second = Raw::open(server.local_addr()).await;
    second.startup(0, b"user\0test\0\0").await;
    assert_eq!(second.farewell().await.field('C'), "53300");
    // A cancel takes no place.
    only.cancel(&only.secret.clone()).await;
    only.run("CREATE TABLE t (id int PRIMARY KEY, filler text)").await;
    let filler = "x".repeat(1_000_000);
    for id in 0..20 {
        only.run(&format!("INSERT INTO t VALUES ({id}, '{filler}')"))
            .await;
    }
    only.query("SELECT * FROM t").await;
    only.next().await;
    // The statement is in the middle of its rows when its client goes: it must stop, and give its place back.
    drop(only);
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < ANSWER_TIME_MAX, "the place was not given back");
        let mut next = Raw::open(server.local_addr()).await;
        next.startup(0, b"user\0test\0\0").await;
        if next.next().await.map(|message| message.kind) == Some('R') {
            break;
        }
    }
    server.shutdown().await.expect("the server ends");
}

#[tokio::test]
async fn shutdown_ends_idle_clients_at_once_and_statements_after_a_grace() {
    let server = server_with_wide_table().await;
    let mut idle = Raw::connect(server.addr()).await;
    let mut in_block = Raw::connect(server.addr()).await;
    in_block.run("BEGIN; INSERT INTO wide VALUES (-1, '')").await;
    let mut streams = Raw::connect(server.addr()).await;
    streams.query("SELECT * FROM wide").await;
    streams.next().await;
    let begun = Instant::now();
    let (folder, idle, in_block, ()) =
        tokio::join!(server.stop(), idle.farewell(), in_block.farewell(), async {
            // Reads nothing: the server must end all the same.
        });
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!([idle.field('C'), in_block.field('C')], ["57P01", "57P01"]);
    drop(folder);
}

#[tokio::test]
async fn races_lost_outside_a_block_are_run_again_and_never_shown() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 10;
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")
        .await;
    let update = "UPDATE t SET n = n + 1 WHERE id = 1";
    let clients = (0..CLIENTS).map(|_| async {
        let mut client = Raw::connect(server.addr()).await;
        for _ in 0..ROUNDS {
            assert_kinds(&client.run(update).await, "CZ");
            assert_kinds(&client.run(&format!("{update}; {update}")).await, "CCZ");
            for _ in 0..2 {
                client.bind(update).await;
                client.execute(0).await;
            }
            client.send('S', b"").await;
            assert_kinds(&client.until('Z').await, "12C12CZ");
        }
    });
    futures::future::join_all(clients).await;
    let messages = raw.run("SELECT n FROM t WHERE id = 1").await;
    let count = (CLIENTS * ROUNDS * 5).to_string();
    assert!(messages[1].body.ends_with(count.as_bytes()), "{:?}", messages[1]);
}
