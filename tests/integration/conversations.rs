//! Conversations in the protocol, message by message: portals, failed blocks and what ends them, as PostgreSQL answers. Where one is there it
//! is asked the same.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::postgresql;
use crate::protocol::{Message, Raw};
use crate::server::TestServer;

/// What is sent, a message a line, and what comes back. A line begins with the message's kind; its parts stand between bars:
/// `P name|text`, `B portal|statement`, `E portal|rows`, `D S|name`, `C P|name`, `H`, `S`, `Q text`.
struct Conversation {
    name: &'static str,
    sent: &'static str,
    answered: &'static str,
}

/// Answers are read up to ReadyForQuery behind `Q` and `S`.
async fn answers(raw: &mut Raw, sent: &str) -> String {
    let mut answers = Vec::new();
    for line in sent.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_at(1);
        let (first, second) = rest.trim().split_once('|').unwrap_or((rest.trim(), ""));
        let body = match kind {
            "P" => format!("{first}\0{second}\0\0\0"),
            "B" => format!("{first}\0{second}\0\0\0\0\0\0\0"),
            "D" | "C" => format!("{first}{second}\0"),
            "E" => format!("{first}\0"),
            "Q" => format!("{}\0", rest.trim()),
            _ => String::new(),
        };
        let mut body = body.into_bytes();
        if kind == "E" {
            let rows: i32 = second.parse().unwrap_or(0);
            body.extend(rows.to_be_bytes());
        }
        raw.send(kind.chars().next().expect("a kind"), &body).await;
        if matches!(kind, "Q" | "S") {
            let messages = raw.until('Z').await;
            let told = messages.iter().filter(|message| message.kind != 'S');
            answers.push(told.map(essence).collect::<Vec<_>>().join(" "));
        }
    }
    answers.join("\n")
}

/// A message as far as it must be the same.
fn essence(message: &Message) -> String {
    match message.kind {
        'E' | 'N' => format!("{}({})", message.kind, message.field('C')),
        'C' => format!("C({})", message.text()),
        'Z' => message.text(),
        'D' => {
            let value = message.body.get(6..).unwrap_or_default();
            format!("D({})", String::from_utf8_lossy(value))
        }
        kind => kind.to_string(),
    }
}

const CONVERSATIONS: &[Conversation] = &[
    Conversation {
        name: "the tag of a part of RETURNING counts its rows",
        sent: "Q BEGIN
            P |INSERT INTO conversation SELECT generate_series(1, 5) RETURNING a
            B |
            E |2
            E |2
            E |2
            E |2
            S
            P |UPDATE conversation SET a = a + 10 RETURNING a
            B |
            E |4
            S
            E |
            S
            Q ROLLBACK",
        answered: "C(BEGIN) T\n1 2 D(1) D(2) s D(3) D(4) s D(5) C(INSERT 0 1) C(INSERT 0 0) T\n\
            1 2 D(11) D(12) D(13) D(14) s T\nD(15) C(UPDATE 1) T\nC(ROLLBACK) I",
    },
    Conversation {
        name: "a statement of the simple protocol takes the unnamed portal's place",
        sent: "Q BEGIN
            P |SELECT generate_series(1, 3)
            B |
            E |1
            S
            Q
            E |1
            S
            Q SAVEPOINT s
            E |1
            S
            Q ROLLBACK",
        answered: "C(BEGIN) T\n1 2 D(1) s T\nI T\nD(2) s T\nC(SAVEPOINT) T\nE(34000) E\nC(ROLLBACK) I",
    },
    Conversation {
        name: "in a failed block nothing is told of columns, and an empty text is not bound",
        sent: "P one|SELECT 1
            P none|SET work_mem = 1000
            P empty|
            P end|ROLLBACK
            S
            Q BEGIN
            Q SELECT 1/0
            D S|one
            S
            D S|none
            S
            B |empty
            S
            B |end
            D P|
            E |
            S
            D S|one
            S
            C S|one
            C S|none
            C S|empty
            C S|end
            S",
        answered: "1 1 1 1 I\nC(BEGIN) T\nE(22012) E\nE(25P02) E\nt n E\nE(25P02) E\n2 n C(ROLLBACK) I\nt T I\n3 3 3 3 I",
    },
    Conversation {
        name: "the portals of a failed block are not run, and known until it ends",
        sent: "Q BEGIN
            P |SELECT generate_series(1, 3)
            B p|
            B q|
            E p|1
            S
            Q SELECT 1/0
            E p|1
            S
            D P|q
            S
            E unknown|
            S
            C P|p
            E p|1
            S
            Q ROLLBACK
            E q|
            S",
        answered: "C(BEGIN) T\n1 2 2 D(1) s T\nE(22012) E\nE(25P02) E\nE(25P02) E\nE(34000) E\n3 E(34000) E\nC(ROLLBACK) I\nE(34000) I",
    },
    Conversation {
        name: "what a savepoint had before it is known behind it",
        sent: "Q BEGIN
            P s|SELECT generate_series(1, 3)
            B p|s
            E p|1
            S
            Q SAVEPOINT s
            B q|s
            S
            Q SELECT 1/0
            E q|
            S
            Q ROLLBACK TO s
            E q|
            S
            Q ROLLBACK TO s
            E p|1
            S
            Q ROLLBACK
            C S|s
            S",
        answered: "C(BEGIN) T\n1 2 D(1) s T\nC(SAVEPOINT) T\n2 T\nE(22012) E\nE(25P02) E\nC(ROLLBACK) T\nE(34000) E\nC(ROLLBACK) T\nD(2) s T\nC(ROLLBACK) I\n3 I",
    },
    Conversation {
        name: "LOCK TABLE wants a block, which a pipeline is none",
        sent: "P |LOCK TABLE conversation
            B |
            E |
            S
            P |SELECT 1
            B |
            E |
            P |LOCK TABLE conversation
            B |
            E |
            S
            Q LOCK TABLE conversation
            Q SELECT 1; LOCK TABLE conversation",
        answered: "1 2 E(25P01) I\n1 2 D(1) C(SELECT 1) 1 2 E(25P01) I\nE(25P01) I\nT D(1) C(SELECT 1) C(LOCK TABLE) I",
    },
    Conversation {
        name: "a table whose rows a portal has not given yet is not changed",
        sent: "Q BEGIN; INSERT INTO conversation VALUES (1), (2)
            P |SELECT a FROM conversation
            B p|
            E p|1
            S
            Q ALTER TABLE conversation ADD b int
            Q ROLLBACK
            Q BEGIN; INSERT INTO conversation VALUES (1), (2)
            P |SELECT a FROM conversation
            B p|
            E p|1
            C P|p
            S
            Q TRUNCATE conversation
            Q ROLLBACK",
        answered: "C(BEGIN) C(INSERT 0 2) T\n1 2 D(1) s T\nE(55006) E\nC(ROLLBACK) I\n\
            C(BEGIN) C(INSERT 0 2) T\n1 2 D(1) s 3 T\nC(TRUNCATE TABLE) T\nC(ROLLBACK) I",
    },
    Conversation {
        name: "what a statement sets whose rows then fail is not set",
        sent: "Q SET application_name = 'before'
            Q SELECT set_config('application_name', 'within', false), 1 / (i - 1) FROM generate_series(1, 3) i
            Q SHOW application_name
            P |SELECT set_config('application_name', 'within', false), 1 / (i - 1) FROM generate_series(1, 3) i
            B |
            E |
            S
            Q SHOW application_name
            Q SELECT set_config('application_name', 'within', false) FROM generate_series(1, 1) i
            Q SHOW application_name",
        answered: "C(SET) I\nT E(22012) I\nT D(before) C(SHOW) I\n1 2 E(22012) I\nT D(before) C(SHOW) I\n\
            T D(within) C(SELECT 1) I\nT D(within) C(SHOW) I",
    },
    Conversation {
        name: "an empty text is run as often as it is asked for, and a portal goes with the transaction that it ends",
        sent: "P |
            B |
            E |
            E |
            S
            Q BEGIN
            P |COMMIT
            B |
            E |
            E |
            S
            P |EXECUTE conversation_later
            S
            P later|DECLARE c CURSOR FOR SELECT 1
            B |later
            E |
            S
            P later|SELECT nosuch
            S
            P later|SELECT 1
            S
            C S|later
            S",
        answered: "1 2 I I I\nC(BEGIN) T\n1 2 C(COMMIT) E(34000) I\n1 I\n1 2 E(25P01) I\nE(42703) I\nE(42P05) I\n3 I",
    },
    Conversation {
        name: "INFO is always told, and a name that is cut is told of",
        sent: "Q SET client_min_messages = error
            Q DO 'BEGIN RAISE INFO ''i''; RAISE NOTICE ''n''; END'
            Q RESET client_min_messages
            Q SET application_name = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
        answered: "C(SET) I\nN(00000) C(DO) I\nC(RESET) I\nN(42622) C(SET) I",
    },
];

async fn hold(addr: SocketAddr, user: &str, database: &str, server: &str) {
    let mut raw = Raw::open(addr).await;
    raw.startup(0, format!("user\0{user}\0database\0{database}\0\0").as_bytes())
        .await;
    raw.until('Z').await;
    for conversation in CONVERSATIONS {
        raw.run("CREATE TEMP TABLE conversation (a int)").await;
        let answered = answers(&mut raw, conversation.sent).await;
        assert_eq!(answered, conversation.answered, "{}, {server}", conversation.name);
        raw.run("DROP TABLE conversation").await;
    }
}

#[tokio::test]
async fn answers_are_postgresqls() {
    let server = TestServer::start("memory").await;
    hold(server.addr(), "test", "test", "Keyspan").await;
    let Some(admin) = postgresql::admin() else {
        return;
    };
    let mut addrs = admin.addr.to_socket_addrs().expect("an address");
    let addr = addrs.next().expect("one");
    hold(addr, &admin.user, &admin.database, "PostgreSQL").await;
}
