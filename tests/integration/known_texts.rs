//! Texts of the simple protocol that differ in their constants only are one statement: it answers as each text would.

use crate::client::{Protocol, ServerError, TextClient};
use crate::server::{TestServer, run};

/// The first column of the result, an error as the client sees it.
async fn column(client: &mut TextClient, sql: &str) -> Result<Vec<Option<String>>, ServerError> {
    let reply = run(client, sql).await?;
    Ok(reply.rows.into_iter().map(|mut row| row.swap_remove(0)).collect())
}

async fn one(client: &mut TextClient, sql: &str) -> String {
    let found = column(client, sql).await.expect(sql);
    assert_eq!(found.len(), 1, "{sql}");
    found[0].clone().unwrap_or_default()
}

async fn client_of(server: &TestServer) -> TextClient {
    let mut client = server.connect_text().await;
    let table = "CREATE TABLE t (k int PRIMARY KEY, s text, n numeric(6,2));
        INSERT INTO t SELECT n, 's' || n, n / 4.0 FROM generate_series(1, 50) n";
    run(&mut client, table).await.expect("the table loads");
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn each_text_is_answered_with_its_own_constants() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    for k in 1..20 {
        let by_key = format!("SELECT s FROM t WHERE k = {k}");
        assert_eq!(one(&mut client, &by_key).await, format!("s{k}"));
        let by_text = format!(
            "SELECT k FROM t WHERE k BETWEEN {k} AND {k} + 3 AND s = 's{}'",
            k + 1
        );
        assert_eq!(one(&mut client, &by_text).await, (k + 1).to_string());
        let listed = format!("SELECT count(*) FROM t WHERE k IN ({k}, {}, 3000)", k + 1);
        assert_eq!(one(&mut client, &listed).await, "2");
        let set = format!("UPDATE t SET s = 'it''s {k}', n = n + {k} WHERE k = {k} RETURNING s");
        assert_eq!(one(&mut client, &set).await, format!("it's {k}"));
        let add = format!(
            "INSERT INTO t VALUES ({}, 'new {k}', '{k}.5') RETURNING n",
            1000 + k
        );
        assert_eq!(one(&mut client, &add).await, format!("{k}.50"));
    }
    // A number beyond int4 is another statement, not another value.
    let beyond = column(&mut client, "SELECT s FROM t WHERE k = 3000000000").await;
    assert!(beyond.expect("it runs").is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_failed_is_known_again_when_definitions_changed() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    for k in 1..9 {
        let missing = column(&mut client, &format!("SELECT v FROM later WHERE k = {k}")).await;
        assert_eq!(missing.expect_err("there is no table").sqlstate, "42P01");
    }
    let create = "CREATE TABLE later (k int PRIMARY KEY, v int); INSERT INTO later SELECT n, n FROM generate_series(1, 9) n";
    run(&mut client, create).await.expect("the table loads");
    for k in 1..9 {
        let by_key = format!("SELECT v FROM later WHERE k = {k}");
        assert_eq!(one(&mut client, &by_key).await, k.to_string());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_of_the_text_as_it_stands() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    for sql in [
        "SELECT s FROM t WHERE k = 'x'",
        "SELECT s FROM t WHERE nothing = 5",
        "SELECT s FROM t WHERE s = 5",
        "SELECT k FROM t WHERE s = 'rare' AND n > 5",
        "SELECT k + 1 FROM t WHERE k = 1 GROUP BY k + 2",
        "INSERT INTO t VALUES (1, 'twice', 3)",
        "INSERT INTO t VALUES ('x', 'twice', 3)",
        "INSERT INTO t VALUES (60, 'long', 123456789)",
        "UPDATE t SET k = k + 2147483647 WHERE k = 5",
    ] {
        let first = column(&mut client, sql).await.expect_err(sql);
        for _ in 0..4 {
            let again = column(&mut client, sql).await.expect_err(sql);
            assert_eq!(again.to_string(), first.to_string(), "{sql}");
        }
    }
    for sql in [
        "SELECT k + 1 FROM t WHERE k < 3 GROUP BY k + 1",
        "SELECT k FROM t WHERE k < 3 ORDER BY k + 1",
    ] {
        for _ in 0..4 {
            assert_eq!(column(&mut client, sql).await.expect(sql).len(), 2, "{sql}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_text_follows_the_catalog_and_the_settings() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    let sql = "SELECT * FROM t WHERE k = 7";
    for _ in 0..3 {
        assert_eq!(run(&mut client, sql).await.expect(sql).rows[0].len(), 3);
    }
    run(&mut client, "ALTER TABLE t ADD COLUMN more text DEFAULT 'm'")
        .await
        .expect("a column is added");
    let rows = run(&mut client, sql).await.expect(sql).rows;
    assert_eq!(rows[0].last(), Some(&Some("m".to_string())));
    let remade = "DROP TABLE t; CREATE TABLE t (k text PRIMARY KEY); INSERT INTO t VALUES ('7')";
    run(&mut client, remade).await.expect("it is made anew");
    let error = run(&mut client, sql).await.expect_err(sql);
    assert_eq!(
        (&*error.sqlstate, error.position.as_deref()),
        ("42883", Some("25"))
    );
    for _ in 0..3 {
        assert_eq!(one(&mut client, "SELECT k FROM t WHERE k = '7'").await, "7");
    }
    let dated = "SELECT timestamptz '2024-01-01 00:00+00' = '2024-01-01 00:00'";
    for (zone, expected) in [("UTC", "t"), ("UTC", "t"), ("UTC", "t"), ("Asia/Shanghai", "f")] {
        let set = format!("SET TimeZone = '{zone}'");
        run(&mut client, &set).await.expect("the zone exists");
        assert_eq!(one(&mut client, dated).await, expected, "{zone}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_new_column_gets_as_its_type_is_the_texts() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    let setup = "SET keyspan.known_texts_threshold = 1;
        CREATE TABLE d (k int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)";
    run(&mut client, setup).await.expect("the table is made");
    run(
        &mut client,
        "INSERT INTO d (k, number, word) VALUES (1, 2, 'three')",
    )
    .await
    .expect("it adds columns");
    let types = "SELECT string_agg(data_type, ' ' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = 'd'";
    assert_eq!(one(&mut client, types).await, "integer bigint text");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_block_and_the_limit_hold() {
    let server = TestServer::start("memory").await;
    let mut client = client_of(&server).await;
    let sql = "SELECT s FROM t WHERE k = 7";
    for _ in 0..3 {
        assert_eq!(one(&mut client, sql).await, "s7");
    }
    run(&mut client, "BEGIN").await.expect("it begins");
    for (k, state) in [("'x'", "22P02"), ("7", "25P02"), ("8", "25P02")] {
        let error = column(&mut client, &format!("SELECT s FROM t WHERE k = {k}")).await;
        assert_eq!(error.expect_err(k).sqlstate, state);
    }
    run(&mut client, "ROLLBACK").await.expect("it ends");
    assert_eq!(one(&mut client, sql).await, "s7");
    for max in [1, 0] {
        run(&mut client, &format!("SET keyspan.known_texts_max = {max}"))
            .await
            .expect("the setting exists");
        for k in 1..5 {
            for column in ["s", "k", "n"] {
                let sql = format!("SELECT {column} FROM t WHERE k = {k}");
                assert!(!one(&mut client, &sql).await.is_empty());
            }
        }
    }
    let extended = client
        .run("SELECT s FROM t WHERE k = 9", Protocol::Extended)
        .await;
    assert_eq!(extended.expect("it runs").rows, [[Some("s9".to_string())]]);
    server.stop().await;
}
