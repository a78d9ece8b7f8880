//! Answers in the binary format equal those in text: stored columns of every type as every type they can be cast to, as
//! rows that leave as they are stored and as rows that are computed. The random statements are checked so, too.

use crate::client::TextClient;
use crate::server::{TestServer, run};

/// Every type that a column may have, with values of it beside NULL.
const COLUMNS: &[(&str, &[&str])] = &[
    ("boolean", &["true", "false"]),
    ("smallint", &["-32768", "32767", "0"]),
    ("integer", &["-2147483648", "2147483647", "7"]),
    ("bigint", &["-9223372036854775808", "9223372036854775807", "42"]),
    ("real", &["1.5", "-0", "NaN", "Infinity", "1e-30"]),
    ("double precision", &["0.1", "-Infinity", "1e300", "-0"]),
    ("numeric(10,2)", &["-0.01", "12345678.90", "0"]),
    ("text", &["", "Grüße", "{\"a\": 1}", "7"]),
    ("varchar(9)", &["ab ", "true", "1"]),
    ("char(5)", &["ab", "", "t"]),
    ("bytea", &["\\x", "\\x00ff5c"]),
    ("date", &["infinity", "0044-03-15 BC", "2024-02-29"]),
    ("time", &["00:00", "24:00", "12:34:56.789"]),
    (
        "timestamp",
        &["-infinity", "1999-12-31 23:59:59.999999", "2024-02-29 12:00"],
    ),
    (
        "timestamptz",
        &["infinity", "2024-02-29 12:00:00+05:30", "1900-01-01 00:00:00+00"],
    ),
    ("interval", &["1 year -2 mons 3 days -04:05:06.7", "0", "1 day"]),
    (
        "uuid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ],
    ),
    ("json", &["{\"a\" : 1}", "null", "true", "5"]),
    ("jsonb", &["{\"b\": [1, 2], \"a\": \"x\"}", "null", "true", "5"]),
];

const TARGETS: &[&str] = &[
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "oid",
    "real",
    "double precision",
    "numeric",
    "numeric(12,1)",
    "text",
    "varchar",
    "varchar(3)",
    "char(4)",
    "name",
    "\"char\"",
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "json",
    "jsonb",
    "integer[]",
    "bigint[]",
    "text[]",
    "varchar[]",
    "json[]",
    "jsonb[]",
];

/// Compares a statement's answer in text with the one by way of the binary format; whether it has one.
async fn agrees(client: &mut TextClient, sql: &str) -> bool {
    let text = run(client, sql).await.map_err(|error| error.sqlstate);
    let binary = client.rows_by_binary(sql).await.map_err(|error| error.sqlstate);
    match (text, binary) {
        (Ok(reply), Ok(binary)) => {
            let plain = |rows| without_scales(rows, &reply.types);
            assert_eq!(plain(reply.rows), plain(binary), "{sql}");
            true
        }
        (text, binary) => {
            assert_eq!(text.map(|reply| reply.rows), binary, "{sql}");
            false
        }
    }
}

/// The rows with numerics as parameters print, which have no scale of their own.
fn without_scales(mut rows: Vec<Vec<Option<String>>>, types: &[u32]) -> Vec<Vec<Option<String>>> {
    const NUMERIC: u32 = 1700;
    for row in &mut rows {
        for (cell, _) in row.iter_mut().zip(types).filter(|(_, oid)| **oid == NUMERIC) {
            if let Some(text) = cell.as_mut().filter(|text| text.contains('.')) {
                let digits = text.trim_end_matches('0').trim_end_matches('.').len();
                text.truncate(digits);
            }
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_answers_of_every_cast_equal_those_in_text() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    let (mut answered, mut refused) = (0, 0);
    for (at, (ty, values)) in COLUMNS.iter().enumerate() {
        let create =
            format!("CREATE TABLE c{at} (k int PRIMARY KEY, v {ty}); INSERT INTO c{at} VALUES (0, NULL)");
        run(&mut client, &create).await.expect("the table is made");
        for (key, value) in values.iter().enumerate() {
            let insert = format!("INSERT INTO c{at} VALUES ({}, '{value}')", key + 1);
            run(&mut client, &insert)
                .await
                .unwrap_or_else(|error| panic!("{insert}\n{error}"));
        }
        for key in 0..=values.len() {
            assert!(agrees(&mut client, &format!("SELECT * FROM c{at} WHERE k = {key}")).await);
            for target in TARGETS {
                let stored = format!("SELECT v::{target} FROM c{at} WHERE k = {key}");
                let computed = format!(
                    "SELECT v::{target}, k + 1 FROM c{at} WHERE k = {key} UNION ALL SELECT NULL, 1 WHERE false"
                );
                for sql in [stored, computed] {
                    match agrees(&mut client, &sql).await {
                        true => answered += 1,
                        false => refused += 1,
                    }
                }
            }
        }
    }
    assert!(
        answered > 1_000 && refused > 500,
        "{answered} answered, {refused} refused"
    );
    server.stop().await;
}
