//! Notices: they come while the statement that raises them runs, no faster than the client reads them, and say where they were raised.

use std::time::Duration;

use crate::protocol::{Raw, assert_kinds};
use crate::server::TestServer;

#[tokio::test]
async fn a_notice_comes_while_its_statement_runs() {
    let server = TestServer::start("memory").await;
    let mut holder = Raw::connect(server.addr()).await;
    holder.run("SELECT pg_advisory_lock(7)").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run(
        "CREATE FUNCTION waits() RETURNS int LANGUAGE plpgsql AS \
         $$ BEGIN RAISE NOTICE 'before'; PERFORM pg_advisory_lock(7); RAISE NOTICE 'behind'; RETURN 1; END $$",
    )
    .await;
    for (sql, rest) in [
        ("DO 'BEGIN PERFORM waits(); END'", "NCZ"),
        ("SELECT waits()", "NTDCZ"),
        ("SELECT waits() FROM generate_series(1, 1)", "NTDCZ"),
    ] {
        raw.query(sql).await;
        let first = raw.next().await.expect("a notice");
        let first = match first.kind {
            'T' => raw.next().await.expect("a notice"),
            _ => first,
        };
        assert_eq!((first.kind, first.field('M').as_str()), ('N', "before"), "{sql}");
        holder.run("SELECT pg_advisory_unlock(7)").await;
        let messages = raw.until('Z').await;
        let kinds = |kinds: &str| kinds.replace('T', "");
        assert_eq!(kinds(&crate::protocol::kinds(&messages)), kinds(rest), "{sql}");
        raw.run("SELECT pg_advisory_unlock(7)").await;
        holder.run("SELECT pg_advisory_lock(7)").await;
    }
}

/// 200 MB of notices are more than sockets hold: who raises them waits until they are taken.
#[tokio::test]
async fn notices_that_nobody_reads_stop_who_raises_them() {
    const ROUNDS: usize = 20_000;
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let mut other = Raw::connect(server.addr()).await;
    other.run("CREATE SEQUENCE rounds").await;
    raw.query(&format!(
        "DO $$ BEGIN FOR i IN 1..{ROUNDS} LOOP PERFORM nextval('rounds'); RAISE NOTICE '% %', i, repeat('x', 10000); END LOOP; END $$"
    ))
    .await;
    let mut seen = Vec::new();
    // Until it stands still.
    while seen.len() < 3 || seen[seen.len() - 3] != seen[seen.len() - 1] {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let messages = other.run("SELECT last_value FROM rounds").await;
        seen.push(messages[1].body.clone());
    }
    let digits = String::from_utf8_lossy(&seen[seen.len() - 1][6..]).into_owned();
    let reached: usize = digits.parse().expect("a number");
    assert!(reached < ROUNDS / 2, "{reached}");
    let messages = raw.until('Z').await;
    let notices = messages.iter().filter(|message| message.kind == 'N');
    let numbers: Vec<usize> = notices
        .map(|notice| {
            notice
                .field('M')
                .split(' ')
                .next()
                .map_or(0, |number| number.parse().unwrap_or(0))
        })
        .collect();
    assert!(numbers.iter().copied().eq(1..=ROUNDS), "each once, in order");
    assert_kinds(&messages[ROUNDS..], "CZ");
}

#[tokio::test]
async fn a_notice_says_where_it_was_raised() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run(
        "CREATE FUNCTION inner_one() RETURNS int LANGUAGE plpgsql AS $$ BEGIN\n\
         RAISE NOTICE 'x'; RETURN 1; END $$",
    )
    .await;
    raw.run(
        "CREATE FUNCTION outer_one() RETURNS int LANGUAGE plpgsql AS $$ DECLARE a int; BEGIN\n\n\
         a := inner_one(); RETURN a; END $$",
    )
    .await;
    let inner = "PL/pgSQL function inner_one() line 2 at RAISE";
    for (sql, context) in [
        ("SELECT inner_one()", inner.to_string()),
        (
            "SELECT outer_one()",
            format!("{inner}\nPL/pgSQL function outer_one() line 3 at assignment"),
        ),
        (
            "DO 'BEGIN PERFORM inner_one(); END'",
            format!("{inner}\nSQL statement \"SELECT inner_one()\"\nPL/pgSQL function inline_code_block line 1 at PERFORM"),
        ),
        (
            "DO 'BEGIN DROP TABLE IF EXISTS nosuch; END'",
            "SQL statement \"DROP TABLE IF EXISTS nosuch\"\nPL/pgSQL function inline_code_block line 1 at SQL statement"
                .to_string(),
        ),
        ("DROP TABLE IF EXISTS nosuch", String::new()),
    ] {
        let messages = raw.run(sql).await;
        let notice = messages.iter().find(|message| message.kind == 'N');
        assert_eq!(notice.expect("a notice").field('W'), context, "{sql}");
    }
}
