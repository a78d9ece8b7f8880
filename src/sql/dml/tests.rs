//! Tests of writes over the memory store: what they leave in the table, tags, RETURNING, PostgreSQL's errors.

use std::sync::Arc;

use crate::sql::testing::Client;
use crate::sql::{describe, parse};
use crate::types::{SqlType, Value};

async fn client(definition: &str) -> Client {
    let client = Client::new();
    client.ok(definition).await;
    client.notices();
    client
}

#[tokio::test]
async fn insert_fills_columns_and_defaults() {
    let client = client(
        "CREATE TABLE t (id serial PRIMARY KEY, a int DEFAULT 7, b text, c timestamptz DEFAULT now())",
    )
    .await;
    assert_eq!(
        client.ok("INSERT INTO t (b) VALUES ('x'), ('y')").await,
        "INSERT 0 2"
    );
    assert_eq!(
        client
            .ok("INSERT INTO t VALUES (DEFAULT, NULL, 'z'), (10, 1, DEFAULT)")
            .await,
        "INSERT 0 2"
    );
    assert_eq!(client.ok("INSERT INTO t DEFAULT VALUES").await, "INSERT 0 1");
    assert_eq!(
        client.rows("SELECT id, a, b FROM t").await,
        ["1|7|x", "2|7|y", "3||z", "4|7|", "10|1|"]
    );
    assert_eq!(
        client.rows("SELECT c FROM t WHERE id = 1").await,
        ["2023-11-14 22:13:20+00"]
    );
}

#[tokio::test]
async fn a_table_without_key_keeps_the_order_of_writing() {
    let client = client("CREATE TABLE t (a int)").await;
    client.ok("INSERT INTO t VALUES (3), (1), (3)").await;
    client.ok("INSERT INTO t VALUES (2)").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["3", "1", "3", "2"]);
    assert!(
        client
            .fails("DELETE FROM t WHERE a = 3")
            .await
            .starts_with("53400")
    );
}

#[tokio::test]
async fn duplicate_keys_are_refused_whole() {
    let client = client("CREATE TABLE t (channel text, id text, v int, PRIMARY KEY (channel, id))").await;
    client.ok("INSERT INTO t VALUES ('alipay', 'a1', 1)").await;
    let error = "23505 duplicate key value violates unique constraint \"t_pkey\"";
    assert_eq!(
        client
            .fails("INSERT INTO t VALUES ('alipay', 'a2', 2), ('alipay', 'a1', 3)")
            .await,
        error
    );
    let (detail, _) = client
        .detail_and_hint("INSERT INTO t VALUES ('alipay', 'a1', 3)")
        .await;
    assert_eq!(
        detail.as_deref(),
        Some("Key (channel, id)=(alipay, a1) already exists.")
    );
    assert_eq!(
        client
            .fails("INSERT INTO t VALUES ('b', 'b', 2), ('b', 'b', 3)")
            .await,
        error
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["alipay|a1|1"]);
}

#[tokio::test]
async fn a_failed_statement_leaves_nothing_in_its_transaction() {
    let mut client = client("CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE s (a int PRIMARY KEY)").await;
    client.ok("INSERT INTO s VALUES (1), (2), (5), (9)").await;
    client.ok("INSERT INTO t VALUES (5)").await;
    client.begin().await;
    client.ok("INSERT INTO t VALUES (7)").await;
    assert!(
        client
            .fails("INSERT INTO t VALUES (1), (5)")
            .await
            .starts_with("23505")
    );
    client.commit().await.unwrap();
    assert_eq!(client.rows("SELECT * FROM t").await, ["5", "7"]);
}

#[tokio::test]
async fn nulls_and_wrong_types_have_postgres_words() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL, c boolean, d varchar(2))").await;
    for (text, error) in [
        (
            "INSERT INTO t VALUES (NULL, 'x')",
            "23502 null value in column \"a\" of relation \"t\" violates not-null constraint",
        ),
        (
            "INSERT INTO t (a) VALUES (1)",
            "23502 null value in column \"b\" of relation \"t\" violates not-null constraint",
        ),
        (
            "INSERT INTO t VALUES (true, 'x')",
            "42804 column \"a\" is of type integer but expression is of type boolean",
        ),
        (
            "INSERT INTO t VALUES ('q', 'x')",
            "22P02 invalid input syntax for type integer: \"q\"",
        ),
        (
            "INSERT INTO t VALUES (3000000000, 'x')",
            "22003 integer out of range",
        ),
        (
            "INSERT INTO t VALUES (1, 'x', true, 'abc')",
            "22001 value too long for type character varying(2)",
        ),
        (
            "INSERT INTO t VALUES (1, 2, true, 'a', 5)",
            "42601 INSERT has more expressions than target columns",
        ),
        (
            "INSERT INTO t (a, b) VALUES (1)",
            "42601 INSERT has more target columns than expressions",
        ),
        (
            "INSERT INTO t (a, a) VALUES (1, 2)",
            "42701 column \"a\" specified more than once",
        ),
        (
            "INSERT INTO t (z) VALUES (1)",
            "42703 column \"z\" of relation \"t\" does not exist",
        ),
        (
            "INSERT INTO t VALUES (1, 'x'), (2)",
            "42601 VALUES lists must all be the same length",
        ),
        (
            "INSERT INTO nope VALUES (1)",
            "42P01 relation \"nope\" does not exist",
        ),
        (
            "UPDATE t SET a = 1, a = 2",
            "42601 multiple assignments to same column \"a\"",
        ),
        (
            "UPDATE t SET z = 1 WHERE a = 1",
            "42703 column \"z\" of relation \"t\" does not exist",
        ),
    ] {
        assert_eq!(client.fails(text).await, error, "{text}");
    }
    let (detail, _) = client
        .detail_and_hint("INSERT INTO t (a, c) VALUES (1, true)")
        .await;
    assert_eq!(
        detail.as_deref(),
        Some("Failing row contains (1, null, t, null).")
    );
    let (_, hint) = client.detail_and_hint("INSERT INTO t VALUES (true, 'x')").await;
    assert_eq!(
        hint.as_deref(),
        Some("You will need to rewrite or cast the expression.")
    );
}

#[tokio::test]
async fn keys_and_values_have_limits() {
    let client = client("CREATE TABLE t (a text PRIMARY KEY, b text)").await;
    let long = "x".repeat(2049);
    let error = client.fails(&format!("INSERT INTO t VALUES ('{long}')")).await;
    assert!(error.starts_with("54000 key column \"a\" of "), "{error}");
    client.ok(&format!("INSERT INTO t VALUES ('a', '{long}')")).await;
    let huge = "x".repeat(2 << 20);
    let error = client
        .fails(&format!("INSERT INTO t VALUES ('b', '{huge}')"))
        .await;
    assert!(
        error.starts_with("54000 row value of relation \"t\" of "),
        "{error}"
    );
}

#[tokio::test]
async fn timestamps_take_epoch_milliseconds() {
    let client = client("CREATE TABLE t (ts timestamp PRIMARY KEY)").await;
    client.ok("INSERT INTO t VALUES (1705786502000)").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["2024-01-20 21:35:02"]);
}

#[tokio::test]
async fn returning_gives_the_rows_written() {
    let client = client("CREATE TABLE t (id serial PRIMARY KEY, a int, b text)").await;
    assert_eq!(
        client
            .rows("INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y') RETURNING id")
            .await,
        ["1", "2"]
    );
    assert_eq!(
        client.rows("INSERT INTO t (a) VALUES (3) RETURNING *").await,
        ["3|3|"]
    );
    assert_eq!(
        client
            .rows("UPDATE t SET a = 9 WHERE id = 3 RETURNING t.a, id AS n")
            .await,
        ["9|3"]
    );
    assert_eq!(
        client.rows("DELETE FROM t WHERE id = 3 RETURNING *").await,
        ["3|9|"]
    );
    assert_eq!(
        client
            .rows("UPDATE t SET a = a * 10 WHERE id = 2 RETURNING a + id, b || '!'")
            .await,
        ["22|y!"]
    );
    assert_eq!(
        client.rows("DELETE FROM t WHERE id = 7 RETURNING id").await,
        [""; 0]
    );
}

#[tokio::test]
async fn update_and_delete_by_key_range_and_expression() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b int, c text)").await;
    client
        .ok("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')")
        .await;
    assert_eq!(
        client.ok("UPDATE t SET b = 11, c = 'q' WHERE a = 1").await,
        "UPDATE 1"
    );
    assert_eq!(client.ok("UPDATE t SET b = NULL WHERE a > 1").await, "UPDATE 2");
    assert_eq!(client.ok("UPDATE t SET b = 5 WHERE a = 99").await, "UPDATE 0");
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|11|q", "2||y", "3||z"]);
    assert_eq!(
        client.ok("UPDATE t SET b = a + 1, c = c || c WHERE a <= 2").await,
        "UPDATE 2"
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|2|qq", "2|3|yy", "3||z"]);
    assert_eq!(
        client.ok("UPDATE t SET (b, c) = (0, DEFAULT) WHERE a = 3").await,
        "UPDATE 1"
    );
    assert_eq!(client.rows("SELECT * FROM t WHERE a = 3").await, ["3|0|"]);
    assert_eq!(client.ok("DELETE FROM t WHERE a IN (1, 3)").await, "DELETE 2");
    assert_eq!(client.ok("DELETE FROM t").await, "DELETE 1");
    assert_eq!(client.rows("SELECT * FROM t").await, [""; 0]);
}

#[tokio::test]
async fn writes_follow_the_full_scan_rule() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    client.ok("INSERT INTO t VALUES (1, 10), (2, 20)").await;
    assert!(
        client
            .fails("UPDATE t SET b = 1 WHERE b = 10")
            .await
            .starts_with("53400")
    );
    assert!(
        client
            .fails("DELETE FROM t WHERE b = 10")
            .await
            .starts_with("53400")
    );
    assert_eq!(
        client
            .ok("DELETE /*+ _l_allow_filtering_ */ FROM t WHERE b = 10")
            .await,
        "DELETE 1"
    );
    assert_eq!(client.ok("UPDATE t SET b = 1").await, "UPDATE 1");
}

#[tokio::test]
async fn updating_a_key_moves_the_row() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    client
        .ok("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
        .await;
    client.ok("UPDATE t SET a = 10 WHERE a = 1").await;
    client.ok("UPDATE t SET a = a + 1 WHERE a < 10").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["3|y", "4|z", "10|x"]);
    assert!(
        client
            .fails("UPDATE t SET a = 4 WHERE a = 3")
            .await
            .starts_with("23505")
    );
    assert!(
        client
            .fails("UPDATE t SET a = 5 WHERE a < 10")
            .await
            .starts_with("23505")
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["3|y", "4|z", "10|x"]);
}

#[tokio::test]
async fn upsert_keeps_the_columns_it_does_not_name() {
    let client =
        client("CREATE TABLE t (a int PRIMARY KEY, b text, c text DEFAULT 'dd', d int UNIQUE)").await;
    assert_eq!(
        client.ok("UPSERT INTO t (a, b) VALUES (1, 'x')").await,
        "INSERT 0 1"
    );
    client
        .ok("UPSERT INTO t (a, c) VALUES (1, 'cc'), (2, NULL)")
        .await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|x|cc|", "2|||"]);
    client
        .ok("UPSERT INTO t (a, b) VALUES (1, NULL), (1, 'last'), (3, 'n')")
        .await;
    assert_eq!(
        client.rows("SELECT * FROM t").await,
        ["1|last|cc|", "2|||", "3|n|dd|"]
    );
    client.ok("UPSERT INTO t (a) VALUES (1), (4)").await;
    assert_eq!(
        client
            .rows("UPSERT INTO t (a, d) VALUES (4, 44) RETURNING *")
            .await,
        ["4||dd|44"]
    );
    assert!(
        client
            .fails("UPSERT INTO t (a, d) VALUES (5, 44)")
            .await
            .starts_with("23505")
    );
    client.ok("UPSERT INTO t (a, d) VALUES (4, 45), (5, 44)").await;
    client.ok("UPSERT INTO t VALUES (1, 'whole', 'row', 1)").await;
    assert_eq!(
        client.rows("SELECT * FROM t WHERE a = 1").await,
        ["1|whole|row|1"]
    );
}

#[tokio::test]
async fn on_conflict_does_nothing_or_updates() {
    let client =
        client("CREATE TABLE t (a int, b int, c int DEFAULT 0, u int UNIQUE, PRIMARY KEY (a, b))").await;
    client.ok("INSERT INTO t VALUES (1, 1, 1, 100)").await;
    let text = "INSERT INTO t VALUES (1, 1, 9), (2, 2, 2), (2, 2, 3) ON CONFLICT DO NOTHING RETURNING a";
    assert_eq!(client.rows(text).await, ["2"]);
    assert_eq!(
        client
            .ok("INSERT INTO t VALUES (3, 3, 3, 100) ON CONFLICT (u) DO NOTHING")
            .await,
        "INSERT 0 0"
    );
    assert!(
        client
            .fails("INSERT INTO t VALUES (3, 3, 3, 100) ON CONFLICT (a, b) DO NOTHING")
            .await
            .contains("t_u_key")
    );
    let update = "INSERT INTO t VALUES (1, 1, 5), (3, 3, 3) ON CONFLICT (b, a) DO UPDATE SET c = excluded.c";
    assert_eq!(client.ok(update).await, "INSERT 0 2");
    assert_eq!(
        client.rows("SELECT a, b, c, u FROM t").await,
        ["1|1|5|100", "2|2|2|", "3|3|3|"]
    );
    let update = "INSERT INTO t VALUES (1, 1, 5), (4, 4, 4) ON CONFLICT ON CONSTRAINT t_pkey \
                  DO UPDATE SET c = t.c + excluded.c WHERE t.c = 5 RETURNING a, c";
    assert_eq!(client.rows(update).await, ["1|10", "4|4"]);
    assert_eq!(client.rows(update).await, [""; 0]);
    for (text, error) in [
        (
            "INSERT INTO t VALUES (1, 1) ON CONFLICT (a) DO NOTHING",
            "42P10 there is no unique or exclusion constraint matching the ON CONFLICT specification",
        ),
        (
            "INSERT INTO t VALUES (1, 1) ON CONFLICT DO UPDATE SET c = 1",
            "42601 ON CONFLICT DO UPDATE requires inference specification or constraint name",
        ),
        (
            "INSERT INTO t VALUES (8, 8), (8, 8) ON CONFLICT (a, b) DO UPDATE SET c = 1",
            "21000 ON CONFLICT DO UPDATE command cannot affect row a second time",
        ),
    ] {
        assert_eq!(client.fails(text).await, error, "{text}");
    }
}

#[tokio::test]
async fn dynamic_columns_appear_with_the_type_of_their_first_value() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)").await;
    client
        .ok("INSERT INTO t (a, n, s, f, b) VALUES (1, 5, 'x', 1.5, NULL)")
        .await;
    client
        .ok("UPSERT INTO t (a, d) VALUES (1, DATE '2024-02-29'), (2, NULL)")
        .await;
    client.ok("UPSERT INTO t (a, flag) VALUES (2, true)").await;
    let table = client.table("t").await;
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.ty.name()))
        .collect();
    let expected = [
        "a integer",
        "n bigint",
        "s text",
        "f double precision",
        "d date",
        "flag boolean",
    ];
    assert_eq!(columns, expected);
    assert_eq!(
        client.rows("SELECT * FROM t").await,
        ["1|5|x|1.5|2024-02-29|", "2|||||t"]
    );
    client.ok("INSERT INTO t (a, n) VALUES (3, '7')").await;
    let error = client.fails("INSERT INTO t (a, n) VALUES (4, 'seven')").await;
    assert_eq!(
        error,
        "42804 column \"n\" is of type bigint but expression is of type text"
    );
    let (_, hint) = client
        .detail_and_hint("INSERT INTO t (a, n) VALUES (4, true)")
        .await;
    assert!(
        hint.unwrap()
            .starts_with("The column got type bigint when a write added it")
    );
    let parameters = [Value::Int(9), Value::Bool(false)];
    client
        .run_with("INSERT INTO t (a, p) VALUES ($1, $2)", &parameters)
        .await
        .unwrap();
    assert_eq!(client.table("t").await.columns[6].ty, SqlType::Bool);
}

#[tokio::test]
async fn concurrent_writers_of_one_table_do_not_conflict_over_row_ids() {
    let mut left = client("CREATE TABLE t (s serial, a int)").await;
    let mut right = left.other();
    left.begin().await;
    right.begin().await;
    left.ok("INSERT INTO t (a) VALUES (1)").await;
    right.ok("INSERT INTO t (a) VALUES (2)").await;
    left.ok("INSERT INTO t (a) VALUES (3)").await;
    left.commit().await.unwrap();
    right.commit().await.unwrap();
    assert_eq!(left.rows("SELECT s, a FROM t").await, ["1|1", "2|2", "3|3"]);
}

#[tokio::test]
async fn of_racing_inserts_of_one_key_the_second_waits_for_the_first() {
    let mut left = client("CREATE TABLE t (a int PRIMARY KEY)").await;
    let right = left.other();
    left.begin().await;
    left.ok("INSERT INTO t VALUES (1)").await;
    let (error, committed) = tokio::join!(right.fails("INSERT INTO t VALUES (1)"), left.commit());
    committed.unwrap();
    assert_eq!(
        error,
        "23505 duplicate key value violates unique constraint \"t_pkey\""
    );
    left.begin().await;
    left.ok("INSERT INTO t VALUES (2)").await;
    let inserted = tokio::join!(right.ok("INSERT INTO t VALUES (2)"), async { left.rollback() });
    assert_eq!(inserted.0, "INSERT 0 1");
}

#[tokio::test]
async fn insert_takes_queries_and_expressions() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(6,2))").await;
    client
        .ok("INSERT INTO t VALUES (1 + 1, upper('x'), 10 / 4.0), (7, 'k', 1)")
        .await;
    client
        .ok("INSERT INTO t (b, a) SELECT b || '!', a + 1 FROM t WHERE a = 2")
        .await;
    client.ok("INSERT INTO t SELECT a + 100, b, c FROM t").await;
    let expected = [
        "2|X|2.50",
        "3|X!|",
        "7|k|1.00",
        "102|X|2.50",
        "103|X!|",
        "107|k|1.00",
    ];
    assert_eq!(client.rows("SELECT * FROM t").await, expected);
}

#[tokio::test]
async fn general_conditions_joins_and_subqueries_find_rows() {
    let client = client(
        "CREATE TABLE t (a int, b int) WITH (full_scan = 'allow'); CREATE TABLE u (k int PRIMARY KEY, v int) WITH (full_scan = 'allow');
         INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (3, 4); INSERT INTO u VALUES (2, 20), (3, 30)",
    )
    .await;
    assert_eq!(
        client.ok("UPDATE t SET b = b * 2 WHERE a % 2 = 1").await,
        "UPDATE 3"
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|2", "2|2", "3|6", "3|8"]);
    assert_eq!(
        client
            .ok("UPDATE t SET b = u.v + t.b FROM u WHERE u.k = t.a")
            .await,
        "UPDATE 3"
    );
    assert_eq!(
        client.rows("SELECT * FROM t").await,
        ["1|2", "2|22", "3|36", "3|38"]
    );
    assert_eq!(
        client.ok("UPDATE t SET b = (SELECT max(v) FROM u)").await,
        "UPDATE 4"
    );
    assert_eq!(
        client
            .ok("DELETE FROM t USING u WHERE u.k = t.a AND u.v = 30")
            .await,
        "DELETE 2"
    );
    assert_eq!(
        client.ok("DELETE FROM t WHERE a IN (SELECT k FROM u)").await,
        "DELETE 1"
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|30"]);
}

#[tokio::test]
async fn identity_columns_take_no_values() {
    let client = client("CREATE TABLE t (i int GENERATED ALWAYS AS IDENTITY, a int PRIMARY KEY)").await;
    client
        .ok("INSERT INTO t (a) VALUES (1); INSERT INTO t VALUES (DEFAULT, 2)")
        .await;
    let error = client.fails("INSERT INTO t VALUES (5, 3)").await;
    assert_eq!(error, "428C9 cannot insert a non-DEFAULT value into column \"i\"");
    let error = client.fails("UPDATE t SET i = 5 WHERE a = 1").await;
    assert_eq!(error, "428C9 column \"i\" can only be updated to DEFAULT");
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|1", "2|2"]);
}

#[tokio::test]
async fn char_keys_are_padded_when_read() {
    let client = client("CREATE TABLE t (c char(3) PRIMARY KEY, d char(2))").await;
    client.ok("INSERT INTO t VALUES ('a', 'b')").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["a  |b "]);
    assert!(
        client
            .fails("INSERT INTO t VALUES ('a  ', 'x')")
            .await
            .starts_with("23505")
    );
}

#[tokio::test]
async fn describe_finds_types_of_parameters_and_results() {
    let client = client("CREATE TABLE t (a int PRIMARY KEY, b text, c timestamp)").await;
    let ctx = Arc::new(client.context(&[]).await);
    for (text, count, types, names) in [
        (
            "INSERT INTO t VALUES ($1, $2, $3)",
            3,
            "integer, text, timestamp without time zone",
            None,
        ),
        (
            "INSERT INTO t (c, a) VALUES ($1, $2), ($3, 1) RETURNING a, b AS x",
            3,
            "timestamp without time zone, integer, timestamp without time zone",
            Some("a, x"),
        ),
        ("UPDATE t SET b = $1 WHERE a = $2", 2, "text, integer", None),
        (
            "DELETE FROM t WHERE a = $1 RETURNING *",
            1,
            "integer",
            Some("a, b, c"),
        ),
        (
            "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2",
            2,
            "integer, text",
            None,
        ),
    ] {
        let statement = parse(text).unwrap().remove(0);
        let description = describe(&ctx, &statement.into(), &vec![None; count])
            .await
            .unwrap();
        let found: Vec<_> = description.parameters.iter().map(SqlType::name).collect();
        assert_eq!(found.join(", "), types, "{text}");
        let columns = description.columns.map(|columns| {
            columns
                .iter()
                .map(|column| column.name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        });
        assert_eq!(columns.as_deref(), names, "{text}");
    }
}

/// What folds row by row answers as a query would: the same statements, once over a few rows and once over many.
#[tokio::test]
async fn arithmetic_over_few_rows_agrees_with_a_query() {
    let statements = [
        "UPDATE t SET i = i + 1, b = b - i, f = f * 2, n = n * 1.5 WHERE i > 0",
        "UPDATE t SET i = -i, b = i, n = i + 0.25, f = b",
        "UPDATE t SET i = n, n = f + i, t = u, u = 'x'",
        "UPDATE t SET i = NULL + i, b = NULL",
        "UPDATE t SET b = t.b + i * 1000000000 WHERE i < 3",
        "UPDATE t SET i = i * 100000, b = b * b WHERE i < 3",
        "UPDATE t SET s = s + s",
        "UPDATE t SET u = i",
        "UPDATE t SET i = u",
        "UPDATE t SET i = nope + 1",
        "INSERT INTO t (a, i, b) VALUES (1, 5, 6), (2, 7, 8) ON CONFLICT (a) DO UPDATE SET i = t.i + excluded.i, b = t.a",
        "INSERT INTO t (a, i) VALUES (1, 5) ON CONFLICT (a) DO UPDATE SET i = i + 1",
    ];
    for statement in statements {
        let mut answers = Vec::new();
        for rows in [3, 100] {
            let client = client(
                "CREATE TABLE t (a int PRIMARY KEY, i int, b bigint, f double precision, n numeric(12,2), s smallint, t text, u text)
                 WITH (full_scan = 'allow')",
            )
            .await;
            let values: Vec<_> = (1..=rows)
                .map(|a| format!("({a}, {a}, {a}0, {a}.5, {a}.25, 20000, 't{a}', 'u')"))
                .collect();
            client
                .ok(&format!("INSERT INTO t VALUES {}", values.join(", ")))
                .await;
            let result = client.run_with(statement, &[]).await;
            let error = result.err().map(|error| format!("{} {error}", error.sqlstate()));
            answers.push((error, client.rows("SELECT * FROM t WHERE a <= 3").await));
        }
        assert_eq!(answers[0], answers[1], "{statement}");
    }
}

/// A table of `count` rows of 100 bytes, keys 1 and up.
async fn wide_rows(count: usize) -> Client {
    let client = client("CREATE TABLE w (k int PRIMARY KEY, u int, v text)").await;
    let text = "x".repeat(100);
    let insert = format!("INSERT INTO w SELECT g, g, '{text}' FROM generate_series(1, {count}) g");
    client.ok(&insert).await;
    client
}

#[tokio::test]
async fn a_write_is_refused_when_it_passes_the_limit_and_not_after_it_has_read_all() {
    let mut client = Box::pin(wide_rows(20_000)).await;
    client.settings.transaction_bytes_max = 1 << 20;
    client.settings.full_scan = crate::plan::FullScanPolicy::Allow;
    for text in [
        "UPDATE w SET v = 'y'",
        "UPDATE w SET v = v || 'y'",
        "UPDATE w SET k = k + 1",
        "UPDATE w SET v = 'y' WHERE length(v) > 1",
        "UPDATE w SET k = k + 1 WHERE length(v) > 1",
        "UPDATE w SET v = (SELECT max(v) FROM w)",
        "UPDATE w SET v = o.v FROM w AS o WHERE o.k = w.k",
        "DELETE FROM w",
        "DELETE FROM w WHERE length(v) > 1",
        "DELETE FROM w WHERE k IN (SELECT k FROM w)",
        "INSERT INTO w SELECT k + 100000, u, v FROM w",
    ] {
        client.begin_with(1 << 20).await;
        let error = client.fails(text).await;
        assert!(error.starts_with("54000 "), "{text}: {error}");
        client.rollback();
    }
    // What is returned counts as well, though a deleted row is small in the transaction.
    client.begin_with(64 << 20).await;
    let error = client.fails("DELETE FROM w RETURNING *").await;
    assert!(
        error.starts_with("54000 the rows that the statement must keep"),
        "{error}"
    );
    client.rollback();
    assert_eq!(
        client.rows("SELECT count(*), sum(k) FROM w").await,
        ["20000|200010000"]
    );
}

#[tokio::test]
async fn a_statement_in_pages_does_not_see_its_own_writes() {
    let mut client = Box::pin(wide_rows(10_000)).await;
    client.settings.full_scan = crate::plan::FullScanPolicy::Allow;
    // Each row moves into what is still to be read.
    assert_eq!(client.ok("UPDATE w SET k = k + 5000").await, "UPDATE 10000");
    assert_eq!(
        client.rows("SELECT min(k), max(k), count(*) FROM w").await,
        ["5001|15000|10000"]
    );
    assert_eq!(client.ok("UPDATE w SET k = k - 1").await, "UPDATE 10000");
    assert_eq!(
        client.rows("SELECT min(k), max(k), count(*) FROM w").await,
        ["5000|14999|10000"]
    );
    assert_eq!(
        client.ok("UPDATE w SET k = k + 1 WHERE length(v) = 100").await,
        "UPDATE 10000"
    );
    let maximum = "UPDATE w SET u = u + (SELECT max(u) FROM w) WHERE length(v) = 100";
    assert_eq!(client.ok(maximum).await, "UPDATE 10000");
    assert_eq!(client.rows("SELECT min(u), max(u) FROM w").await, ["10001|20000"]);
    let maximum = "UPDATE w SET u = u - (SELECT min(u) FROM w) + 1";
    assert_eq!(client.ok(maximum).await, "UPDATE 10000");
    assert_eq!(client.rows("SELECT min(u), max(u) FROM w").await, ["1|10000"]);
    let doubled = "UPDATE w SET u = w.u + o.u FROM w AS o WHERE o.k = w.k";
    assert_eq!(client.ok(doubled).await, "UPDATE 10000");
    assert_eq!(client.rows("SELECT min(u), max(u) FROM w").await, ["2|20000"]);
    let error = client.fails("UPDATE w SET k = 7 WHERE k < 5003").await;
    assert_eq!(
        error,
        "23505 duplicate key value violates unique constraint \"w_pkey\""
    );
    let keys: Vec<_> = (5001..6501).map(|key| key.to_string()).collect();
    let moved = format!("UPDATE w SET k = k - 1 WHERE k IN ({})", keys.join(", "));
    assert_eq!(client.ok(&moved).await, "UPDATE 1500");
    assert_eq!(
        client.rows("SELECT min(k), max(k), count(*) FROM w").await,
        ["5000|15000|10000"]
    );
    assert_eq!(
        client.ok("DELETE FROM w WHERE u IN (SELECT u + 2 FROM w)").await,
        "DELETE 9999"
    );
}
