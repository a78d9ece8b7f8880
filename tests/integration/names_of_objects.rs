//! Values of regclass, regtype and their kin in binary form: oids, as PostgreSQL sends and takes them. In text they are names (`sql-tests`).
//! Snapshots of transactions, too; and types of parameters that are told before a statement runs.

use crate::protocol::{Raw, assert_kinds};
use crate::server::TestServer;

/// The fields of the first row of a statement, all in binary.
async fn fields(raw: &mut Raw, sql: &str, parameters: &[&[u8]]) -> Vec<Vec<u8>> {
    raw.send('P', format!("\0{sql}\0\0\0").as_bytes()).await;
    let mut bind = b"\0\0\0\x01\0\x01".to_vec();
    bind.extend((parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        bind.extend((parameter.len() as u32).to_be_bytes());
        bind.extend(*parameter);
    }
    bind.extend(b"\0\x01\0\x01");
    raw.send('B', &bind).await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_kinds(&messages, "12DCZ");
    let mut rest = &messages[2].body[2..];
    let mut fields = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (field, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        fields.push(field.to_vec());
        rest = behind;
    }
    fields
}

#[tokio::test]
async fn names_of_objects_are_oids_in_binary() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let oid = |oid: u32| oid.to_be_bytes().to_vec();
    let found = fields(
        &mut raw,
        "SELECT 'pg_class'::regclass, 'int4'::regtype, 'now'::regproc, 'sum(int4)'::regprocedure, \
         'pg_catalog'::regnamespace, 'postgres'::regrole, '+(int4,int4)'::regoperator, '\"C\"'::regcollation, 0::regclass",
        &[],
    )
    .await;
    let expected = [1259, 23, 1299, 2108, 11, 10, 551, 950, 0];
    assert_eq!(found, expected.map(oid));
    let array = fields(&mut raw, "SELECT ARRAY['int4'::regtype, 'text']", &[]).await;
    let expected = [1, 0, 2206, 2, 1, 4, 23, 4, 25].map(oid).concat();
    assert_eq!(array, std::slice::from_ref(&expected));
    let back = fields(
        &mut raw,
        "SELECT $1::regclass, $2::regtype[], $1::regclass::text",
        &[&oid(1259), &expected],
    )
    .await;
    assert_eq!(back, [oid(1259), expected, b"pg_class".to_vec()]);
}

#[tokio::test]
async fn what_returning_gives_of_objects_is_oids_in_binary() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (a int PRIMARY KEY, r regclass)").await;
    let sent = fields(
        &mut raw,
        "INSERT INTO t VALUES (1, 'pg_class') RETURNING r, 'int4'::regtype",
        &[],
    )
    .await;
    assert_eq!(sent, [1259u32, 23].map(|oid| oid.to_be_bytes().to_vec()));
}

#[tokio::test]
async fn snapshots_go_both_ways_in_binary() {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let numbers = [1u64, 5, 2, 3]
        .map(|number| number.to_be_bytes().to_vec())
        .concat();
    let expected = [2u32.to_be_bytes().to_vec(), numbers].concat();
    let sql = "SELECT '1:5:2,3'::pg_snapshot, $1::pg_snapshot, $1::pg_snapshot::text, $2::xid8";
    let eight = 8u64.to_be_bytes();
    let sent = fields(&mut raw, sql, &[&expected, &eight]).await;
    assert_eq!(
        sent,
        [expected.clone(), expected, b"1:5:2,3".to_vec(), eight.to_vec()]
    );
}

#[tokio::test]
async fn parameters_of_definitions_and_frames_have_the_types_that_they_get_there() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    let types = async |sql: &str| {
        let statement = client.prepare(sql).await.unwrap();
        let names = statement.params().iter().map(|ty| ty.name().to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        types("CREATE TABLE made AS SELECT $1::int AS a, $2::uuid AS b").await,
        ["int4", "uuid"]
    );
    assert_eq!(types("SELECT $1::int AS a INTO made").await, ["int4"]);
    let frame = "SELECT sum(x) OVER (ORDER BY x RANGE $1 PRECEDING) FROM generate_series(1, 3) x";
    assert_eq!(types(frame).await, ["int4"]);
    let statement = client.prepare(frame).await.unwrap();
    let rows = client.query(&statement, &[&1i32]).await.unwrap();
    let sums: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(sums, [1, 3, 5]);
}
