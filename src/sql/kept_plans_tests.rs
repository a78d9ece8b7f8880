//! Tests of what drops the plans that statements keep, and what does not; and of which are chains.

use std::sync::Arc;

use super::testing::Client;
use super::{KeptPlan, Statement, describe, execute, parse};
use crate::system::StatementContext;

/// A schema in the search path before that of the tables, which holds nothing yet.
const SETUP: &str = "CREATE SCHEMA app;
    CREATE TABLE public.a (k int PRIMARY KEY, v text, n int DEFAULT 1);
    CREATE TABLE public.b (k int PRIMARY KEY) WITH (DYNAMIC_COLUMNS);
    CREATE VIEW public.low AS SELECT k, v FROM a WHERE k < 9;
    CREATE VIEW public.lower AS SELECT k FROM low WHERE k < 5";

async fn client() -> Client {
    let mut client = Client::new();
    let path = ["early", "app", "public"].map(str::to_string);
    client.settings.set("search_path", &path).unwrap();
    client.ok(SETUP).await;
    client
}

/// The statement, which has run once.
async fn ran(client: &Client, text: &str) -> Arc<Statement> {
    let statement = Arc::new(parse(text).unwrap().pop().unwrap());
    run(client, &statement).await;
    let ctx = client.context(&[]).await;
    assert!(has_plan(&statement, &ctx), "{text} keeps a plan");
    statement
}

async fn run(client: &Client, statement: &Arc<Statement>) {
    let ctx = StatementContext {
        hints: statement.parsed.hints.clone(),
        ..client.context(&[]).await
    };
    execute(&ctx, statement).await.unwrap();
    if !ctx.in_block && ctx.txn.has_writes() {
        ctx.txn.commit(false).await.unwrap();
    }
}

fn has_plan(statement: &Statement, ctx: &StatementContext) -> bool {
    let basis = ctx.plan_basis();
    match &statement.kept {
        KeptPlan::Query(kept) => kept.get(basis).is_some(),
        KeptPlan::Write(kept) => kept.get(basis).is_some(),
        KeptPlan::WithWrites(kept) => kept.get(basis).is_some(),
        KeptPlan::None => false,
    }
}

/// Whether the statement's plan is good after these statements.
#[track_caller]
fn check(text: &str, change: &str, expected: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let is_good = runtime.block_on(async {
        let client = client().await;
        let statement = ran(&client, text).await;
        client.ok(change).await;
        has_plan(&statement, &client.context(&[]).await)
    });
    assert_eq!(is_good, expected, "{text} after {change}");
}

/// Statements that use table `a` by its name alone, in all the ways there are.
const OF_A: [&str; 8] = [
    "SELECT v FROM a WHERE k = 1",
    "SELECT count(*) FROM b WHERE k IN (SELECT k FROM a WHERE k < 3)",
    "SELECT k FROM lower WHERE k = 1",
    "SELECT x.k FROM b x JOIN a y ON x.k = y.k WHERE x.k = 1",
    "INSERT INTO a (k, v) VALUES (1, 'x') ON CONFLICT (k) DO UPDATE SET v = 'y'",
    "INSERT INTO b (k) SELECT k FROM a WHERE k = 77",
    "UPDATE a SET v = 'z' WHERE k = 1",
    "DELETE FROM a WHERE k = 1",
];

#[test]
fn what_a_plan_does_not_use_does_not_drop_it() {
    for text in ["SELECT v FROM a WHERE k = 1", "UPDATE a SET v = 'z' WHERE k = 1"] {
        for change in [
            "ALTER TABLE b ADD COLUMN x int",
            "INSERT INTO b (k, fresh) VALUES (1, 2)",
            "DROP TABLE b",
            "CREATE TABLE public.c (k int PRIMARY KEY)",
            "CREATE TABLE app.c (k int PRIMARY KEY)",
            "CREATE VIEW public.c AS SELECT v FROM a WHERE k = 3",
            "DROP VIEW lower",
            "CREATE SCHEMA early",
            "COMMENT ON SCHEMA app IS 'empty'",
            "ALTER ROLE keyspan SET application_name = 'x'",
            "INSERT INTO a VALUES (5, 'five')",
        ] {
            check(text, change, true);
        }
    }
}

#[test]
fn what_becomes_of_a_table_drops_the_plans_that_use_it() {
    for text in OF_A {
        check(text, "CREATE INDEX later ON a (v)", false);
        check(text, "ALTER TABLE a ADD COLUMN x int", false);
        check(text, "TRUNCATE a", false);
    }
    for change in [
        "ALTER TABLE a RENAME TO z",
        "ALTER TABLE a ALTER COLUMN n SET DEFAULT 2",
        "ALTER TABLE a SET SCHEMA app",
        "DROP TABLE a CASCADE; CREATE TABLE public.a (k int PRIMARY KEY, v text, n int DEFAULT 1)",
    ] {
        check("SELECT v FROM a WHERE k = 1", change, false);
        check("INSERT INTO a (k) VALUES (99)", change, false);
    }
}

#[test]
fn what_hides_a_table_drops_the_plans_that_name_it() {
    let hides = "CREATE TABLE app.a (k int PRIMARY KEY, v text)";
    for text in OF_A {
        check(text, hides, false);
    }
    let view = "CREATE VIEW app.a AS SELECT k, v FROM public.low WHERE k < 2";
    check("SELECT v FROM a WHERE k = 1", view, false);
    check("SELECT v FROM public.a WHERE k = 1", hides, true);
    check("DELETE FROM public.a WHERE k = 1", hides, true);
    check(
        "SELECT current_schema FROM a WHERE k = 1",
        "CREATE SCHEMA early",
        false,
    );
    check(
        "SELECT current_schema FROM a WHERE k = 1",
        "CREATE SCHEMA late",
        true,
    );
}

#[test]
fn a_view_that_changes_drops_the_plans_over_it() {
    let over = "SELECT k FROM lower WHERE k = 1";
    check(
        over,
        "CREATE OR REPLACE VIEW public.low AS SELECT k, v FROM a WHERE k < 8",
        false,
    );
    check(over, "ALTER VIEW low RENAME TO deep", false);
    check(over, "COMMENT ON TABLE b IS 'other'", true);
}

#[test]
fn settings_that_plans_depend_on_drop_them_and_no_others() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for (name, value, expected) in [
            ("application_name", "me", true),
            ("statement_timeout", "5s", true),
            ("synchronous_commit", "off", true),
            ("client_min_messages", "warning", true),
            ("keyspan.known_texts_max", "3", true),
            ("app.user", "7", true),
            ("TimeZone", "UTC", true),
            ("TimeZone", "Europe/Berlin", false),
            ("DateStyle", "German", false),
            ("IntervalStyle", "iso_8601", false),
            ("search_path", "app", false),
            ("keyspan.full_scan", "allow", false),
            ("keyspan.multi_get_max_keys", "7", false),
        ] {
            let mut client = client().await;
            let statement = ran(&client, "SELECT v FROM a WHERE k = 1").await;
            client.settings.set(name, &[value.to_string()]).unwrap();
            let is_good = has_plan(&statement, &client.context(&[]).await);
            assert_eq!(is_good, expected, "{name} = {value}");
        }
    });
}

#[tokio::test]
async fn definitions_of_a_transaction_are_no_longer_those_of_a_plan_when_it_is_rolled_back() {
    let mut client = client().await;
    let text = "SELECT v FROM a WHERE k = 1";
    let (idle, used) = (ran(&client, text).await, ran(&client, text).await);
    client.begin().await;
    client.ok("ALTER TABLE a ADD COLUMN x int").await;
    let ctx = client.context(&[]).await;
    assert!(!has_plan(&used, &ctx));
    run(&client, &used).await;
    assert!(has_plan(&used, &client.context(&[]).await));
    client.rollback();
    let ctx = client.context(&[]).await;
    assert!(!has_plan(&used, &ctx), "its table is not that of the plan");
    assert!(has_plan(&idle, &ctx), "nothing has changed");
}

#[tokio::test]
async fn uncommitted_definitions_drop_the_plans_of_their_own_transaction_only() {
    let mut client = client().await;
    let text = "SELECT v FROM a WHERE k = 1";
    let other = client.other();
    let (own, others) = (
        ran(&client, text).await,
        ran(&other, "SELECT v FROM public.a WHERE k = 1").await,
    );
    client.begin().await;
    client.ok("ALTER TABLE a ADD COLUMN x int").await;
    assert!(!has_plan(&own, &client.context(&[]).await));
    assert!(has_plan(&others, &other.context(&[]).await));
    client.commit().await.unwrap();
    assert!(!has_plan(&others, &other.context(&[]).await));
}

#[tokio::test]
async fn recursions_that_leave_nothing_out_are_chains() {
    let client = client().await;
    for (text, expected) in [
        (
            "WITH RECURSIVE s (n, k) AS (SELECT 1, a.k FROM a WHERE a.k = 1 UNION ALL \
             SELECT s.n + 1, a.k FROM s JOIN a ON a.k = s.k + 1 WHERE s.n < 9) SELECT n, k FROM s",
            true,
        ),
        (
            "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9) SELECT sum(n) FROM s",
            true,
        ),
        (
            "WITH RECURSIVE s (n) AS (SELECT 1 UNION SELECT n % 5 + 1 FROM s WHERE n < 9) SELECT n FROM s",
            false,
        ),
    ] {
        let statement = Arc::new(parse(text).unwrap().pop().unwrap());
        run(&client, &statement).await;
        let ctx = client.context(&[]).await;
        let KeptPlan::Query(kept) = &statement.kept else {
            panic!("{text} is a query");
        };
        let plan = kept.get(ctx.plan_basis()).expect("it keeps its plan");
        assert_eq!(plan.is_chain(), expected, "{text}");
    }
}

/// What is read by the whole primary key, each column of which is a parameter of its type, needs no transaction.
#[tokio::test]
async fn reads_by_a_whole_key_of_parameters_are_of_points() {
    let client = client().await;
    for statement in [
        "CREATE TABLE keyed (a int, b text, v int, n numeric, PRIMARY KEY (a, b))",
        "CREATE TABLE hashed (a int, v int, PRIMARY KEY (hash32(a), a))",
        "CREATE TABLE ending (a int PRIMARY KEY, v int) WITH (TTL = '60')",
        "CREATE TABLE exact (a numeric(8,2) PRIMARY KEY, v int)",
    ] {
        client.ok(statement).await;
    }
    for (text, expected) in [
        ("SELECT v FROM keyed WHERE a = $1 AND b = $2", true),
        ("SELECT n, a, n FROM keyed WHERE $2 = b AND a = $1", true),
        ("SELECT * FROM keyed WHERE a = $1 AND b = $2", true),
        ("SELECT v FROM keyed WHERE a = $1 AND b = $2 LIMIT 1", false),
        ("SELECT v + 1 FROM keyed WHERE a = $1 AND b = $2", false),
        ("SELECT v FROM keyed WHERE a = $1 AND b = $2 AND v = 1", false),
        ("SELECT v FROM keyed WHERE a = $1", false),
        ("SELECT v FROM keyed WHERE a >= $1 AND b = $2", false),
        ("SELECT v FROM keyed WHERE a = $1::bigint AND b = $2", false),
        ("SELECT v FROM keyed WHERE a = $1 AND b = $2 FOR UPDATE", false),
        ("SELECT count(*) FROM keyed WHERE a = $1 AND b = $2", false),
        ("SELECT v FROM hashed WHERE a = $1", false),
        ("SELECT v FROM ending WHERE a = $1", false),
        ("SELECT v FROM exact WHERE a = $1", false),
    ] {
        let statement = Arc::new(parse(text).unwrap().pop().unwrap());
        let ctx = client.context(&[]).await;
        describe(&ctx, &statement, &[]).await.unwrap();
        let KeptPlan::Query(kept) = &statement.kept else {
            panic!("{text} is a query");
        };
        let plan = kept.get(ctx.plan_basis()).expect("it keeps its plan");
        assert_eq!(plan.point_read().is_some(), expected, "{text}");
    }
}
