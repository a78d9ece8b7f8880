//! A numeric means the same however a client sends it: as a literal, as a parameter of type numeric in the binary and in
//! the text format, as one without a type. Every edge value goes into a column of every number type.
//! What literals give is `sql-tests/types/numeric_casts.slt`'s, checked on PostgreSQL.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::Client;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use crate::server::TestServer;

const VALUES: &[&str] = &[
    "0",
    "0.00",
    "-0.5",
    "1.5",
    "1.50",
    "-2.500",
    "100",
    "12345.675",
    "99999",
    "9999.9999",
    "10000",
    "10000.0001",
    "0.00001234",
    "1e-20",
    "-1e20",
    "1e40",
    "-1e308",
    "1e400",
    "99999999999999999999999999999999999999",
    "12345678901234567890123456789012345678901.50",
    "NaN",
    "Infinity",
    "-Infinity",
];

const TYPES: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "numeric(10,2)",
    "numeric(38,5)",
    "numeric(50,3)",
    "numeric(5,-2)",
    "numeric(3,5)",
    "text",
];

/// The bytes of a parameter, as they are.
#[derive(Debug)]
struct Sent(Vec<u8>, Format);

impl ToSql for Sent {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(&self.0);
        Ok(IsNull::No)
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    fn encode_format(&self, _: &Type) -> Format {
        self.1
    }
    to_sql_checked!();
}

/// PostgreSQL's binary form of a number in SQL's text.
fn binary(text: &str) -> Vec<u8> {
    let words = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect();
    match text {
        "NaN" => return words(&[0, 0, 0xC000_u16 as i16, 0]),
        "Infinity" => return words(&[0, 0, 0xD000_u16 as i16, 0]),
        "-Infinity" => return words(&[0, 0, 0xF000_u16 as i16, 0]),
        _ => {}
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let mut scale = fraction.len() as i32 - exponent.parse::<i32>().unwrap();
    while scale < 0 {
        digits.push('0');
        scale += 1;
    }
    let shown = scale;
    while scale % 4 != 0 {
        digits.push('0');
        scale += 1;
    }
    while digits.len() % 4 != 0 {
        digits.insert(0, '0');
    }
    let mut groups: Vec<i16> = (0..digits.len() / 4)
        .map(|at| digits[at * 4..at * 4 + 4].parse().unwrap())
        .collect();
    let mut weight = groups.len() as i32 - 1 - scale / 4;
    // Zeros at both ends may stay; PostgreSQL's clients send none.
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let sign = if negative && !groups.is_empty() { 0x4000 } else { 0 };
    let mut all = vec![groups.len() as i16, weight as i16, sign, shown as i16];
    all.extend(groups);
    words(&all)
}

/// What a statement answers: the one value, or the SQLSTATE.
async fn answer(
    client: &Client,
    sql: &str,
    types: &[Type],
    sent: &[&Sent],
) -> Result<Option<String>, String> {
    let state = |error: tokio_postgres::Error| match error.code() {
        Some(code) => code.code().to_string(),
        None => error.to_string(),
    };
    let statement = client.prepare_typed(sql, types).await.map_err(state)?;
    let parameters: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|sent| *sent as &(dyn ToSql + Sync)).collect();
    let row = client.query_one(&statement, &parameters).await.map_err(state)?;
    Ok(row.get(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_means_the_same_in_every_form() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    let columns: Vec<String> = (0..TYPES.len())
        .map(|at| format!("c{at} {}", TYPES[at]))
        .collect();
    let create = format!("CREATE TABLE p (k int PRIMARY KEY, {})", columns.join(", "));
    client.batch_execute(&create).await.unwrap();
    for value in VALUES {
        let (in_text, in_binary) = (
            Sent(value.as_bytes().to_vec(), Format::Text),
            Sent(binary(value), Format::Binary),
        );
        for (at, ty) in TYPES.iter().enumerate() {
            let write = |what: &str| {
                format!(
                    "INSERT INTO p (k, c{at}) VALUES (1, {what}) ON CONFLICT (k) DO UPDATE SET c{at} = excluded.c{at} RETURNING c{at}::text"
                )
            };
            let cast = |what: &str| format!("SELECT ({what})::{ty}::text");
            for form in [&write as &dyn Fn(&str) -> String, &cast] {
                let literal = answer(&client, &form(&format!("'{value}'::numeric")), &[], &[]).await;
                for sent in [&in_text, &in_binary] {
                    let found = answer(&client, &form("$1"), &[Type::NUMERIC], &[sent]).await;
                    assert_eq!(found, literal, "{sent:?} {}", form("$1"));
                }
            }
            // Without a type it is the column's, and read as such.
            let literal = answer(&client, &write(&format!("'{value}'")), &[], &[]).await;
            let found = answer(&client, &write("$1"), &[], &[&in_text]).await;
            assert_eq!(found, literal, "{value} {ty}");
        }
        // Among the items of an array, too, and by its value.
        let among = "SELECT string_agg((n = ANY ($1::numeric[]))::text, ',' ORDER BY n)
                     FROM (VALUES (1.5::numeric(10,2)), (0), (100)) v(n)";
        let array = Sent(format!("{{{value},NULL}}").into_bytes(), Format::Text);
        let literal = answer(
            &client,
            &among.replace("$1", &format!("ARRAY['{value}', NULL]")),
            &[],
            &[],
        )
        .await;
        assert_eq!(
            answer(&client, among, &[Type::NUMERIC_ARRAY], &[&array]).await,
            literal,
            "{array:?}"
        );
        // Beside a column it is compared as it is.
        let compared = "SELECT string_agg((n < $1)::text || (n = $1)::text, ',' ORDER BY n)
                        FROM (VALUES (1.5::numeric(10,2)), (0), (-99999999.99)) v(n)";
        let literal = answer(
            &client,
            &compared.replace("$1", &format!("'{value}'::numeric")),
            &[],
            &[],
        )
        .await;
        for (types, sent) in [
            (&[Type::NUMERIC][..], &in_binary),
            (&[Type::NUMERIC], &in_text),
            (&[], &in_text),
        ] {
            assert_eq!(
                answer(&client, compared, types, &[sent]).await,
                literal,
                "{sent:?}"
            );
        }
    }
    server.stop().await;
}
