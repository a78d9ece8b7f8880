//! What RowDescription says of each column of a result: the table it is of, by its oid, and its attribute number, as drivers read them for
//! metadata. PostgreSQL's own answers, which the statements have been given when `PG_URI` is set.

use std::collections::HashMap;

use tokio_postgres::Client;

use crate::postgresql::Database;
use crate::server::TestServer;

const SETUP: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b text, c varchar(10));
    CREATE TABLE u (a int PRIMARY KEY, z int);
    CREATE VIEW v AS SELECT b, a, upper(b) AS u FROM t;
    CREATE VIEW w AS SELECT u, a FROM v;
    CREATE VIEW x AS SELECT a FROM t UNION ALL SELECT a FROM u;
    CREATE MATERIALIZED VIEW m AS SELECT a, upper(b) AS u FROM t;
    CREATE FUNCTION rows() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t';
    CREATE FUNCTION pairs() RETURNS TABLE (p int, q text) LANGUAGE sql AS 'SELECT a, b FROM t';
";

/// Statements, and the tables and attribute numbers of their columns; `-`: those of none.
const ORIGINS: &[(&str, &str)] = &[
    ("SELECT a AS n, b FROM t AS s(a)", "t.1 t.2"),
    (
        "SELECT a + 1, upper(b), 1, NULL, b::varchar, +a FROM t",
        "- - - - - -",
    ),
    (
        "SELECT a::int, b::text, c::varchar(10), (a) FROM t",
        "t.1 t.2 t.3 t.1",
    ),
    (
        "SELECT coalesce(a), coalesce(a, 0), CASE WHEN true THEN a END, b COLLATE \"C\" FROM t",
        "- - - -",
    ),
    ("SELECT count(*), max(a), a FROM t GROUP BY a", "- - t.1"),
    ("SELECT t, tableoid, tableoid::regclass FROM t", "t.0 t.-6 -"),
    // A view's columns are its own.
    ("SELECT * FROM v", "v.1 v.2 v.3"),
    ("SELECT * FROM w", "w.1 w.2"),
    ("SELECT v.a, w.u, v FROM v JOIN w ON true", "v.2 w.1 v.0"),
    ("SELECT a FROM x", "x.1"),
    ("SELECT * FROM m", "m.1 m.2"),
    // Those of subqueries and of WITH are what they are of.
    ("SELECT * FROM (SELECT a, b, a + 1 AS n FROM t) s", "t.1 t.2 -"),
    ("SELECT s.n FROM (SELECT a AS n FROM v) s", "v.2"),
    (
        "WITH s(n) AS MATERIALIZED (SELECT b FROM t) SELECT * FROM s",
        "t.2",
    ),
    (
        "WITH s AS (DELETE FROM u RETURNING *, z + 1) SELECT * FROM s",
        "u.1 u.2 -",
    ),
    (
        "WITH RECURSIVE s AS (SELECT a FROM t UNION ALL SELECT a + 1 FROM s WHERE a < 3) SELECT * FROM s",
        "-",
    ),
    ("SELECT a FROM t UNION SELECT a FROM t", "-"),
    ("SELECT (SELECT a FROM t LIMIT 1)", "-"),
    // USING: of the side whose values it shows.
    ("SELECT a, t.a, u.a FROM t JOIN u USING (a)", "t.1 t.1 u.1"),
    ("SELECT a FROM t RIGHT JOIN u USING (a)", "u.1"),
    ("SELECT a, t.a FROM t FULL JOIN u USING (a)", "- t.1"),
    ("SELECT j.* FROM (t JOIN u USING (a)) j", "t.1 t.2 t.3 u.2"),
    // What a function gives is no table's.
    ("SELECT * FROM rows()", "- - -"),
    ("SELECT * FROM pairs()", "- -"),
    ("SELECT * FROM (VALUES (1)) s", "-"),
    ("SELECT relname FROM pg_catalog.pg_class", "pg_class.2"),
    // Of what is written.
    ("INSERT INTO u VALUES (1, 2) RETURNING *, z + 1", "u.1 u.2 -"),
    (
        "UPDATE u SET z = 2 FROM v WHERE v.a = u.a RETURNING u.a, v.b, tableoid",
        "u.1 v.1 u.-6",
    ),
    (
        "UPDATE u SET z = 2 FROM (SELECT b FROM t) s RETURNING s.b, tableoid",
        "t.2 u.-6",
    ),
];

#[tokio::test]
async fn columns_say_what_they_are_of() {
    let server = TestServer::start("memory").await;
    check(&server.connect().await, "Keyspan").await;
    server.stop().await;
    let Some(admin) = crate::postgresql::admin() else {
        return;
    };
    let database = Database::create(&admin, "origins").await;
    let target = database.target();
    let (host, port) = target.addr.rsplit_once(':').unwrap();
    let config = format!(
        "host={host} port={port} user={} dbname={}",
        target.user, target.database
    );
    let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    check(&client, "PostgreSQL").await;
    drop(client);
    connection.await.unwrap().unwrap();
    database.drop().await;
}

async fn check(client: &Client, server: &str) {
    client.batch_execute(SETUP).await.unwrap();
    let rows = client
        .query("SELECT oid, relname::text FROM pg_class", &[])
        .await
        .unwrap();
    let names: HashMap<u32, String> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (sql, expected) in ORIGINS {
        let statement = client.prepare(sql).await.unwrap();
        let origins = statement.columns().iter().map(|column| match column.table_oid() {
            // The driver tells of neither when there is none; of a whole row it tells no number.
            None => "-".to_string(),
            Some(oid) => format!("{}.{}", names[&oid], column.column_id().unwrap_or(0)),
        });
        let origins: Vec<String> = origins.collect();
        assert_eq!(origins.join(" "), *expected, "{server}: {sql}");
    }
}
