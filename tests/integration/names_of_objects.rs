//! Values of regclass, regtype and their kin in binary form: oids, as PostgreSQL sends and takes them. In text they are names (`sql-tests`).

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
