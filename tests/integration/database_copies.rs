//! CREATE DATABASE … TEMPLATE: a copy has what its template has, under numbers of its own, and goes its own way from there on.

use crate::client::TextClient;
use crate::databases::{column, connect, contents, told_of, try_connect};
use crate::server::{TestServer, fails, ok};

/// What the catalogs tell of everything in a database, but for its numbers.
const TOLD: &[&str] = &[
    "SELECT c.oid::regclass::text, c.relkind, c.relnatts FROM pg_class c
     WHERE c.relnamespace >= 16384 OR c.relnamespace = 'public'::regnamespace",
    "SELECT a.attrelid::regclass::text, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum)
     FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid >= 16384",
    "SELECT conrelid::regclass::text, contypid::regtype::text, conname, convalidated, pg_get_constraintdef(oid)
     FROM pg_constraint WHERE connamespace >= 16384 OR connamespace = 'public'::regnamespace",
    "SELECT schemaname, tablename, indexname, indexdef FROM pg_indexes WHERE schemaname <> 'pg_catalog'",
    "SELECT tgrelid::regclass::text, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT pg_get_functiondef(oid), obj_description(oid, 'pg_proc') FROM pg_proc WHERE oid >= 16384 AND prokind <> 'a'",
    "SELECT t.oid::regtype::text, t.typtype, t.typnotnull, t.typdefault, t.typbasetype::regtype::text,
            (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)
     FROM pg_type t WHERE t.oid >= 16384",
    "SELECT oid::regclass::text, pg_get_viewdef(oid) FROM pg_class WHERE relkind IN ('v', 'm') AND oid >= 16384",
    "SELECT * FROM pg_sequences",
    "SELECT classoid::regclass::text, objsubid, description FROM pg_description WHERE objoid >= 16384",
    "SELECT classid::regclass::text, refclassid::regclass::text, deptype, count(*) FROM pg_depend
     WHERE objid >= 16384 GROUP BY 1, 2, 3",
    "SELECT castsource::regtype::text, casttarget::regtype::text, castfunc::regprocedure::text FROM pg_cast WHERE oid >= 16384",
    "SELECT oid, md5(lo_get(oid)) FROM pg_largeobject_metadata",
    "SELECT inhrelid::regclass::text, inhparent::regclass::text FROM pg_inherits",
    "SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname !~ '^pg_t'",
    "SELECT extname, extversion, extnamespace::regnamespace::text FROM pg_extension",
];

/// Everything that is told of a database: query by query the rows, sorted, then table by table.
async fn told(client: &mut TextClient) -> Vec<(String, Vec<String>)> {
    let setup = "SET keyspan.full_scan = allow";
    ok(client, setup).await;
    let tables = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND oid >= 16384";
    let tables = column(client, tables).await.into_iter();
    let rows = tables.map(|table| format!("SELECT * FROM ONLY {table}"));
    let queries = TOLD.iter().map(ToString::to_string).chain(rows);
    let mut told = Vec::new();
    for query in queries.collect::<Vec<_>>() {
        let rows = ok(client, &query).await.into_iter();
        let mut rows: Vec<String> = rows.map(|row| format!("{row:?}")).collect();
        rows.sort_unstable();
        told.push((query, rows));
    }
    told.sort();
    told
}

/// Copies a database that nobody is in, and finds the same in both; the copy's name.
pub(crate) async fn copy_equal(server: &TestServer, name: &str) -> String {
    let copy = format!("{name}_copy");
    // What was a session's own goes when it has ended.
    let temporary = "SELECT count(*) FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'pg_temp%'";
    let mut client = connect(server, name).await;
    while column(&mut client, temporary).await != ["0"] {}
    drop(client);
    let mut admin = connect(server, "postgres").await;
    ok(&mut admin, &format!("CREATE DATABASE {copy} TEMPLATE {name}")).await;
    let of_template = told(&mut connect(server, name).await).await;
    let of_copy = told(&mut connect(server, &copy).await).await;
    assert_eq!(of_template.len(), of_copy.len());
    for ((query, in_template), (in_copy_of, in_copy)) in of_template.into_iter().zip(of_copy) {
        assert_eq!(query, in_copy_of);
        let lost: Vec<&String> = in_template.iter().filter(|row| !in_copy.contains(row)).collect();
        let new: Vec<&String> = in_copy.iter().filter(|row| !in_template.contains(row)).collect();
        assert_eq!(lost, new, "{query}");
        assert_eq!(in_template.len(), in_copy.len(), "{query}");
    }
    copy
}

/// What [`contents`] says of a database called `one`, in one that may be called otherwise.
async fn assert_contents(client: &mut TextClient) {
    ok(client, "SELECT setval('q', 1)").await;
    let mut told = ok(client, crate::databases::TOLD).await;
    told[0].pop();
    assert_eq!(told[0], told_of("one")[0][..told[0].len()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_what_its_template_has_and_goes_its_own_way() {
    let mut server = TestServer::start("sled").await;
    let mut first = connect(&server, "postgres").await;
    ok(&mut first, "CREATE DATABASE one").await;
    ok(&mut connect(&server, "one").await, &contents("one")).await;
    for _restart in 0..2 {
        let copy = copy_equal(&server, "one").await;
        let mut client = connect(&server, &copy).await;
        assert_contents(&mut client).await;
        let writes = "INSERT INTO s (m) VALUES ('b'); INSERT INTO t VALUES (2, 'two'); INSERT INTO p VALUES (1)
                      ON CONFLICT DO NOTHING; ALTER TYPE mood ADD VALUE 'c'; DROP VIEW w; SELECT lo_unlink(77);
                      ALTER TABLE other.t ADD v text; DROP MATERIALIZED VIEW mv; CREATE TABLE mv (k int)";
        ok(&mut client, writes).await;
        assert_eq!(
            fails(&mut client, "INSERT INTO t VALUES (3, 'one')")
                .await
                .sqlstate,
            "23505"
        );
        assert_eq!(
            column(&mut client, "SELECT id FROM s ORDER BY id").await,
            ["1", "2"]
        );
        drop(client);
        let mut client = connect(&server, "one").await;
        assert_contents(&mut client).await;
        drop(client);
        let folder = server.stop_sound("a copy").await;
        server = TestServer::start_at("sled", folder).await;
        ok(
            &mut connect(&server, "postgres").await,
            &format!("DROP DATABASE {copy}"),
        )
        .await;
    }
    // The session's own database, and a copy of a copy.
    let mut client = connect(&server, "one").await;
    ok(&mut client, "CREATE DATABASE two TEMPLATE one").await;
    ok(&mut client, "CREATE DATABASE three TEMPLATE two").await;
    drop(client);
    let mut admin = connect(&server, "postgres").await;
    ok(&mut admin, "DROP DATABASE one").await;
    ok(&mut admin, "DROP DATABASE two").await;
    let mut client = connect(&server, "three").await;
    assert_contents(&mut client).await;
    drop(client);
    server.stop_sound("a copy of a copy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_in_the_way_of_a_copy_is_told() {
    let server = TestServer::start("memory").await;
    let mut admin = connect(&server, "postgres").await;
    ok(&mut admin, "CREATE DATABASE one").await;
    let mut other = connect(&server, "one").await;
    let error = fails(&mut admin, "CREATE DATABASE two TEMPLATE one").await;
    assert_eq!(error.sqlstate, "55006");
    assert_eq!(
        error.message,
        "source database \"one\" is being accessed by other users"
    );
    let error = fails(&mut other, "CREATE DATABASE one TEMPLATE one").await;
    assert_eq!(error.sqlstate, "42P04");
    ok(
        &mut other,
        "CREATE TABLE t AS SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i",
    )
    .await;
    // Its own template is let in again, whether the copy was made or not.
    ok(&mut other, "BEGIN").await;
    assert_eq!(
        fails(&mut other, "CREATE DATABASE two TEMPLATE one")
            .await
            .sqlstate,
        "25001"
    );
    ok(&mut other, "ROLLBACK; SET statement_timeout = 1").await;
    assert_eq!(
        fails(&mut other, "CREATE DATABASE two TEMPLATE one")
            .await
            .sqlstate,
        "57014"
    );
    ok(&mut other, "RESET statement_timeout").await;
    try_connect(&server.target(), "one").await.unwrap();
    let error = fails(&mut admin, "CREATE DATABASE two TEMPLATE nobody").await;
    assert_eq!(
        (error.sqlstate.as_str(), error.message.as_str()),
        ("3D000", "template database \"nobody\" does not exist")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_the_history_of_its_template() {
    let server = TestServer::start("memory").await;
    let mut admin = connect(&server, "postgres").await;
    ok(&mut admin, "CREATE DATABASE one").await;
    let mut one = connect(&server, "one").await;
    for statement in [
        "CREATE TABLE v (k int PRIMARY KEY, c text) WITH (versions = 9)",
        "UPSERT /*+ _l_ts_(1000) */ INTO v VALUES (1, 'first')",
        "UPSERT /*+ _l_ts_(2000) */ INTO v VALUES (1, 'second')",
        "UPSERT /*+ _l_ts_(3000) */ INTO v VALUES (1, 'third')",
    ] {
        ok(&mut one, statement).await;
    }
    drop(one);
    ok(&mut admin, "CREATE DATABASE two TEMPLATE one").await;
    let mut two = connect(&server, "two").await;
    let versions = "SELECT /*+ _l_versions_(9) */ c FROM v WHERE k = 1";
    assert_eq!(column(&mut two, versions).await, ["third", "second", "first"]);
}
