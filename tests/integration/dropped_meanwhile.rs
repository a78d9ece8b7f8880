//! Types and functions that one session drops while another makes what uses them: one of the two waits and fails, whoever is first. (In
//! PostgreSQL 15 both succeed, and what is left cannot be read.)

use tokio_postgres::Client;

use crate::protocol::{Raw, assert_kinds, sqlstate};
use crate::server::TestServer;

/// What is used, what uses it, and what is said to who is second then.
struct Use {
    made: &'static str,
    using: &'static str,
    drop: &'static str,
    missing: &'static str,
}

const MOOD: &str = "CREATE TYPE mood AS ENUM ('glad')";
const DROP_MOOD: &str = "DROP TYPE mood";
const TWICE: &str = "CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'";
const DROP_TWICE: &str = "DROP FUNCTION twice";

const fn of_mood(using: &'static str) -> Use {
    Use {
        made: MOOD,
        using,
        drop: DROP_MOOD,
        missing: "42704",
    }
}

const fn of_twice(using: &'static str) -> Use {
    Use {
        made: TWICE,
        using,
        drop: DROP_TWICE,
        missing: "42883",
    }
}

/// Waits until a session waits for another.
async fn wait_for_waiter(watching: &Client) {
    let query = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while watching.query_one(query, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
}

/// Has the first session do something in a block, and the second something that waits for it; answers how the second ends.
async fn second_of(sessions: [&Client; 3], first: &str, second: &str) -> String {
    let [a, b, watching] = sessions;
    a.batch_execute(&format!("BEGIN; {first}")).await.unwrap();
    let (ended, ()) = tokio::join!(b.batch_execute(second), async {
        wait_for_waiter(watching).await;
        a.batch_execute("COMMIT").await.unwrap();
    });
    match ended {
        Ok(()) => "done".to_string(),
        Err(error) => error.code().map_or(String::new(), |code| code.code().to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_that_uses_what_is_gone() {
    let uses = [
        of_mood("CREATE TABLE used (k int PRIMARY KEY, m mood)"),
        of_mood("CREATE TABLE used (k int PRIMARY KEY, m mood[])"),
        of_mood("ALTER TABLE t ADD COLUMN m mood"),
        of_mood("CREATE TYPE pair AS (k int, m mood)"),
        of_mood("CREATE DOMAIN over AS mood"),
        of_mood("CREATE FUNCTION taking(mood) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
        Use {
            made: "CREATE DOMAIN mood AS int",
            using: "CREATE DOMAIN over AS mood",
            drop: "DROP DOMAIN mood",
            missing: "42704",
        },
        Use {
            made: "CREATE TYPE mood AS (a int); CREATE TYPE pair AS (k int)",
            using: "ALTER TYPE pair ADD ATTRIBUTE m mood",
            drop: DROP_MOOD,
            missing: "42704",
        },
        Use {
            made: "CREATE TABLE mood (k int PRIMARY KEY)",
            using: "CREATE FUNCTION taking() RETURNS SETOF mood LANGUAGE sql AS 'SELECT 1'",
            drop: "DROP TABLE mood",
            missing: "42704",
        },
        of_twice("ALTER TABLE t ADD CHECK (twice(v) > 0)"),
        of_twice("ALTER TABLE t ALTER v SET DEFAULT twice(1)"),
        of_twice("ALTER TABLE t ADD w int GENERATED ALWAYS AS (twice(v)) STORED"),
        of_twice("CREATE VIEW shown AS SELECT twice(v) FROM t"),
        of_twice("CREATE AGGREGATE total(int) (SFUNC = pg_catalog.int4pl, STYPE = int, FINALFUNC = twice)"),
        Use {
            made: "CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            using: "CREATE TRIGGER fires BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fired()",
            drop: "DROP FUNCTION fired",
            missing: "42883",
        },
    ];
    for used in uses {
        for is_used_first in [true, false] {
            let server = TestServer::start("memory").await;
            let (a, b, c) = (
                server.connect().await,
                server.connect().await,
                server.connect().await,
            );
            a.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
                .await
                .unwrap();
            a.batch_execute(used.made).await.unwrap();
            let (first, second, told) = match is_used_first {
                true => (used.using, used.drop, "2BP01"),
                false => (used.drop, used.using, used.missing),
            };
            let ended = second_of([&a, &b, &c], first, second).await;
            assert_eq!(ended, told, "{first}; {second}");
            let reads = "SELECT * FROM t; INSERT INTO t (k, v) VALUES (1, 1)";
            let later = server.connect().await;
            later.batch_execute(reads).await.expect("it is read as before");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_made_again_begins_without_settings() {
    let alter = "ALTER ROLE r SET work_mem = '7MB'";
    let drop = "DROP ROLE r";
    for (first, second, told) in [(alter, drop, "done"), (drop, alter, "42704")] {
        let server = TestServer::start("memory").await;
        let (a, b, c) = (
            server.connect().await,
            server.connect().await,
            server.connect().await,
        );
        a.batch_execute("CREATE ROLE r").await.unwrap();
        let ended = second_of([&a, &b, &c], first, second).await;
        assert_eq!(ended, told, "{first}; {second}");
        a.batch_execute("CREATE ROLE r").await.unwrap();
        let settings = "SELECT count(*) FROM pg_db_role_setting";
        let count: i64 = a.query_one(settings, &[]).await.unwrap().get(0);
        assert_eq!(count, 0, "{first}; {second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_parameter_of_a_type_that_is_gone_is_told_as_drivers_know_it() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let other = server.connect().await;
    raw.run(MOOD).await;
    raw.send('P', b"kept\0SELECT $1::mood::text\0\0\0").await;
    raw.send('S', b"").await;
    assert_kinds(&raw.until('Z').await, "1Z");
    let run = async |raw: &mut Raw| {
        raw.send('B', b"\0kept\0\0\0\0\x01\0\0\0\x04glad\0\0").await;
        raw.execute(0).await;
        raw.send('S', b"").await;
        raw.until('Z').await
    };
    assert_kinds(&run(&mut raw).await, "2DCZ");
    other
        .batch_execute(&format!("{DROP_MOOD}; {MOOD}"))
        .await
        .unwrap();
    assert_eq!(sqlstate(&run(&mut raw).await), "XX000");
}
