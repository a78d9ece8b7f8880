//! The forms of a SELECT answer alike: every predicate of a plain SELECT, of the same over a subquery, and with an
//! expression in the select list, literal and as parameters.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::TextClient;
use crate::server::{TestServer, run};

/// A table with every kind of key column and value, NULLs, and ties.
const SETUP: &str = "
    CREATE TABLE t (a int NOT NULL, s text NOT NULL, d date NOT NULL, v int, x double precision, n numeric(10,2),
                    at timestamp, b boolean, PRIMARY KEY (a, s DESC, d));
    INSERT INTO t VALUES
      (1, 'a', '2024-01-01', 10, 1.5, 1.50, '2024-01-01 00:00:00', true),
      (1, 'a', '2024-01-02', NULL, NULL, NULL, NULL, NULL),
      (1, 'ab', '2024-01-01', 12, -0.0, -2.25, '2024-01-01 12:30:00.123456', false),
      (1, 'b', '2023-12-31', 13, 'NaN', 0, '1969-12-31 23:59:59', true),
      (2, 'a', '2024-02-29', 20, 'Infinity', 99999999.99, 'infinity', false),
      (2, '', '2024-02-29', 21, 2.5, 3, '2024-02-29 00:00:00', NULL),
      (2, 'Z', '2024-02-28', NULL, 3, 4, '2024-02-28 01:02:03', true),
      (-1, 'z%', '0001-01-01', -10, -1e300, -0.01, '0001-01-01 00:00:00', false),
      (-1, 'z_', '9999-12-31', -11, 1e-300, 0.01, '9999-12-31 23:59:59.999999', true),
      (2147483647, 'é', '2024-01-01', 2147483647, 0, 0.10, '2024-01-01 00:00:00.5', true),
      (-2147483648, '中文', '2024-01-01', -2147483648, 1, 1, '2024-01-01 00:00:01', false);
";

/// Conditions over `t`, from a full key to none.
const PREDICATES: &[&str] = &[
    "true",
    "a = 1",
    "a = 1 AND s = 'a'",
    "a = 1 AND s = 'a' AND d = '2024-01-01'",
    "a = 1 AND s = 'a' AND d = '2024-01-03'",
    "a IN (1, 2, 2, 7) AND s IN ('a', 'b') AND d IN ('2024-01-01', '2024-02-29', '2023-12-31')",
    "a = 1 AND a = 2",
    "a = 1.5",
    "a > 1.5",
    "a >= 1 AND a < 2",
    "a BETWEEN -1 AND 1",
    "a NOT BETWEEN -1 AND 1",
    "a <> 1",
    "a = ANY (ARRAY[1, 2])",
    "a > 3000000000",
    "a < 3000000000",
    "a IS NULL",
    "a IS NOT NULL",
    "a = NULL",
    "a IN (1, NULL)",
    "a NOT IN (1, NULL)",
    "NOT (a = 1 AND v = 10)",
    "NOT (a = 1 OR v IS NULL)",
    "a = 1 OR a = 2 AND s = 'a'",
    "(a = 1 AND s = 'a') OR (a = 2 AND s = 'Z')",
    "(a, s) = (1, 'a')",
    "(a, s) > (1, 'a')",
    "(a, s, d) >= (1, 'ab', '2024-01-01')",
    "(a, s) IN ((1, 'a'), (2, ''))",
    "a = 1 AND s > 'a'",
    "a = 1 AND s >= 'a' AND s < 'b'",
    "a = 1 AND s LIKE 'a%'",
    "a = -1 AND s LIKE 'z\\%'",
    "a = -1 AND s LIKE 'z_'",
    "a = 1 AND s NOT LIKE 'a%'",
    "a = 1 AND s ~ '^a'",
    "a = 1 AND NOT s ~ '^ab*$'",
    "a = -1 AND s ~ '^z[%_]$'",
    "a = 1 AND s SIMILAR TO '(a|b)%'",
    "a = 1 AND d > '2023-12-31'",
    "a = 2 AND d = '2024-02-29'",
    "s = 'a'",
    "d = '2024-01-01'",
    "v = 10",
    "v > 10",
    "v IS NULL",
    "v IS NOT NULL AND a = 1",
    "v IN (10, 20, NULL)",
    "v NOT IN (10, 20)",
    "v <> 10",
    "x = 0",
    "x = 'NaN'",
    "x > 1e10",
    "x < 0",
    "n = 1.5",
    "n > 0.05",
    "n IN (0.10, 3)",
    "at = '2024-01-01'",
    "at > '2024-01-01 00:00:00.1'",
    "at < '1970-01-01'",
    "b",
    "NOT b",
    "b IS NOT TRUE",
    "b = false AND a > 0",
    "a = 1 AND (v = 10 OR x IS NULL)",
    "false",
    "NULL",
];

/// Rows as text, sorted.
async fn rows(client: &mut TextClient, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = run(client, sql)
        .await
        .unwrap_or_else(|error| panic!("{sql}\n{error}"))
        .rows;
    rows.sort();
    rows
}

/// A client of a server that holds `t`.
async fn client_of(server: &TestServer) -> TextClient {
    let mut client = server.connect_text().await;
    run(&mut client, SETUP).await.expect("the table loads");
    run(&mut client, "SET keyspan.full_scan = allow")
        .await
        .expect("the setting exists");
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_select_and_its_other_forms_agree() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    for predicate in PREDICATES {
        let direct = rows(&mut client, &format!("SELECT * FROM t WHERE {predicate}")).await;
        let over = rows(
            &mut client,
            &format!("SELECT * FROM (SELECT * FROM t) s WHERE {predicate}"),
        )
        .await;
        assert_eq!(direct, over, "over a subquery: {predicate}");
        let mut beside = rows(&mut client, &format!("SELECT *, 1 FROM t WHERE {predicate}")).await;
        beside.iter_mut().for_each(|row| row.truncate(8));
        assert_eq!(direct, beside, "with an expression beside: {predicate}");
        // What a WHERE keeps is what CASE calls true: the engine's own three-valued logic, without any plan.
        let case =
            format!("SELECT * FROM (SELECT *, CASE WHEN {predicate} THEN 1 ELSE 0 END AS kept FROM t) s");
        let mut kept = rows(&mut client, &case).await;
        kept.retain(|row| row[8].as_deref() == Some("1"));
        kept.iter_mut().for_each(|row| row.truncate(8));
        assert_eq!(direct, kept, "without a plan: {predicate}");
        let count = rows(&mut client, &format!("SELECT count(*) FROM t WHERE {predicate}")).await;
        assert_eq!(count, [[Some(direct.len().to_string())]], "counted: {predicate}");
    }
    server.stop().await;
}

/// What is refused on a table is refused on a view of it and on a subquery over it, and nothing else is.
#[tokio::test(flavor = "multi_thread")]
async fn the_full_scan_rule_sees_through_views_and_subqueries() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    let setup = "RESET keyspan.full_scan;
        CREATE VIEW same AS SELECT * FROM t;
        CREATE VIEW other AS SELECT v, b, at, n, x, d, s, a FROM same";
    run(&mut client, setup).await.expect("the views are made");
    let mut refused = 0;
    for predicate in PREDICATES {
        let verdict = async |client: &mut TextClient, from: &str| {
            let sql = format!("SELECT a FROM {from} WHERE {predicate} ORDER BY d, s");
            run(client, &sql)
                .await
                .map(|reply| reply.rows.len())
                .map_err(|error| error.sqlstate)
        };
        let expected = verdict(&mut client, "t").await;
        refused += usize::from(expected.is_err());
        for from in [
            "same",
            "other",
            "(SELECT * FROM t) q",
            "(SELECT * FROM t ORDER BY v) q",
        ] {
            assert_eq!(verdict(&mut client, from).await, expected, "{from}: {predicate}");
        }
        for grouped in [
            "(SELECT DISTINCT a, s, d, v FROM t) q",
            "(SELECT a, s, d, v, count(*) FROM t GROUP BY d, v, a, s) q",
        ] {
            match verdict(&mut client, grouped).await {
                Err(state) if state == "42703" => {}
                found => assert_eq!(found, expected, "{grouped}: {predicate}"),
            }
        }
    }
    assert!(
        (5..PREDICATES.len() - 5).contains(&refused),
        "{refused} are refused"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn order_and_limit_agree() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    for order in [
        "a, s DESC, d",
        "a DESC, s, d DESC",
        "s, a, d",
        "v NULLS FIRST, a, s, d",
        "d DESC, a, s",
    ] {
        for (limit, offset) in [("ALL", 0), ("3", 0), ("3", 2), ("0", 0), ("100", 9)] {
            let tail = format!("ORDER BY {order} LIMIT {limit} OFFSET {offset}");
            let direct = run(&mut client, &format!("SELECT * FROM t {tail}"))
                .await
                .expect("it runs")
                .rows;
            let over = format!("SELECT * FROM (SELECT * FROM t OFFSET 0) s {tail}");
            let over = run(&mut client, &over).await.expect("it runs").rows;
            assert_eq!(direct, over, "{tail}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_and_parameters_agree() {
    let server = TestServer::start("memory").await;
    let mut text = client_of(&server).await;
    let client = server.connect().await;
    client
        .batch_execute("SET keyspan.full_scan = allow")
        .await
        .unwrap();
    for (a, s) in [
        (1, "a"),
        (1, "ab"),
        (2, ""),
        (2, "nothing"),
        (i32::MAX, "é"),
        (7, "a"),
    ] {
        for (condition, literal) in [
            ("a = $1 AND s = $2", format!("a = {a} AND s = '{s}'")),
            ("a >= $1 AND s > $2", format!("a >= {a} AND s > '{s}'")),
            ("(a, s) < ($1, $2)", format!("(a, s) < ({a}, '{s}')")),
            (
                "a IN ($1, 2) AND s <> $2",
                format!("a IN ({a}, 2) AND s <> '{s}'"),
            ),
        ] {
            for sql in [
                "SELECT a, s, v FROM t WHERE",
                "SELECT a, s, v FROM (SELECT * FROM t) q WHERE",
            ] {
                let statement = client.prepare(&format!("{sql} {condition}")).await.unwrap();
                let found = client.query(&statement, &[&a, &s]).await.unwrap();
                let mut found: Vec<_> = found
                    .iter()
                    .map(|row| {
                        let (a, s, v): (i32, String, Option<i32>) = (row.get(0), row.get(1), row.get(2));
                        vec![Some(a.to_string()), Some(s), v.map(|v| v.to_string())]
                    })
                    .collect();
                found.sort();
                assert_eq!(
                    found,
                    rows(&mut text, &format!("{sql} {literal}")).await,
                    "{sql} {literal}"
                );
            }
        }
    }
    server.stop().await;
}

/// Every text of up to three of these.
const LETTERS: [&str; 5] = ["a", "b", "%", "|", "é"];

#[tokio::test(flavor = "multi_thread")]
async fn regular_expressions_find_what_they_match() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    let texts = "WITH RECURSIVE w(s, n) AS (SELECT '', 0 UNION ALL SELECT s || l, n + 1 FROM w, letters WHERE n < 3) SELECT s FROM w";
    let letters = LETTERS.map(|letter| format!("('{letter}')")).join(", ");
    for sql in [
        "SET keyspan.full_scan = allow",
        "CREATE TABLE letters (l text PRIMARY KEY)",
        &format!("INSERT INTO letters VALUES {letters}"),
        "CREATE TABLE words (s text PRIMARY KEY)",
        &format!("INSERT INTO words {texts}"),
    ] {
        run(&mut client, sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}\n{error}"));
    }
    const PIECES: [&str; 17] = [
        "a", "b", "é", "%", "\\|", "*", "+", "?", "{0,2}", "(a|b)", "[ab]", "[^a]", "$", ".", "|", "(?:a)?",
        "_",
    ];
    let mut random = StdRng::seed_from_u64(11);
    let mut matched = 0;
    for _ in 0..250 {
        let pieces = (0..random.random_range(1..5)).map(|_| PIECES[random.random_range(0..PIECES.len())]);
        let pieces: String = pieces.collect();
        let conditions = [format!("s ~ '^{pieces}'"), format!("s SIMILAR TO '{pieces}'")];
        for condition in conditions {
            // A pattern that is none is refused where it is evaluated.
            let every = format!("SELECT s, CASE WHEN {condition} THEN 1 ELSE 0 END FROM words");
            let Ok(every) = run(&mut client, &every).await else {
                continue;
            };
            let mut expected = every.rows;
            expected.retain(|row| row[1].as_deref() == Some("1"));
            expected.iter_mut().for_each(|row| row.truncate(1));
            expected.sort();
            matched += expected.len();
            let found = rows(&mut client, &format!("SELECT s FROM words WHERE {condition}")).await;
            assert_eq!(found, expected, "{condition}");
            let others = rows(&mut client, &format!("SELECT s FROM words WHERE NOT {condition}")).await;
            assert_eq!(found.len() + others.len(), 156, "NOT {condition}");
        }
    }
    assert!(matched > 1_000, "{matched} rows matched");
    server.stop().await;
}
