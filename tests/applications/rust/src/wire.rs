//! tokio-postgres: statements, types in binary, pipelines, COPY in text and binary, portals, notifications, cancel.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures::{SinkExt, StreamExt, TryStreamExt, future, pin_mut};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{AsyncMessage, Client, IsolationLevel, NoTls, SimpleQueryMessage};
use uuid::Uuid;

use crate::{Fault, told};

pub async fn run(url: &str) {
    let (mut client, mut connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    let (sender, mut notes) = futures::channel::mpsc::unbounded();
    tokio::spawn(async move {
        let mut messages = futures::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(note) = message {
                let _ = sender.unbounded_send((note.channel().to_string(), note.payload().to_string()));
            }
        }
    });
    told("wire tables", tables(&client).await);
    told("wire types", types(&client).await);
    told("wire arrays", arrays(&client).await);
    told("wire enum", enums(&client).await);
    told("wire described", described(&client).await);
    told("wire pipeline", pipeline(&client).await);
    told("wire transaction", transaction(&mut client).await);
    told("wire savepoint", savepoint(&mut client).await);
    told("wire portal", portal(&mut client).await);
    told("wire copy text", copy_text(&client).await);
    told("wire copy binary", copy_binary(&client).await);
    told("wire copy fails", copy_fails(&client).await);
    told("wire copy given up", copy_given_up(&client).await);
    told("wire simple", simple(&client).await);
    told("wire typed", typed(&client).await);
    told("wire listen", async {
        client.batch_execute("LISTEN shop; NOTIFY shop, 'one'; SELECT pg_notify('shop', 'two')").await?;
        Ok(future::join(notes.next(), async {}).await.0)
    }.await);
    told("wire listen, second", Ok(notes.next().await));
    told("wire cancel", cancel(&client).await);
    for (name, sql) in [("unique", "INSERT INTO wire VALUES (1)"), ("syntax", "SELEC 1"), ("table", "SELECT * FROM nothing"), ("division", "SELECT 1 / 0")] {
        told(&format!("wire error {name}"), client.execute(sql, &[]).await.map_err(Fault::from));
    }
    told("wire wrong type", client.query("SELECT $1::int4", &[&"x"]).await.map(|rows| rows.len()).map_err(Fault::from));
    told("wire again", client.query_one("SELECT 1", &[]).await.map(|row| row.get::<_, i32>(0)).map_err(Fault::from));
}

async fn tables(client: &Client) -> Result<(), Fault> {
    let sql = "DROP TABLE IF EXISTS wire; DROP TABLE IF EXISTS copied; DROP TYPE IF EXISTS size;
        CREATE TYPE size AS ENUM ('s', 'm', 'l');
        CREATE TABLE wire (id int PRIMARY KEY, i2 int2, i8 int8, f4 float4, f8 float8, b bool, t text, v varchar(10), c char(3), raw bytea, d date, tm time, ts timestamp, tz timestamptz, u uuid, j json, jb jsonb, o oid, s size, a int[], ta text[]);
        CREATE TABLE copied (id int PRIMARY KEY, name text, at timestamptz, f float8, tags text[])";
    Ok(client.batch_execute(sql).await?)
}

async fn types(client: &Client) -> Result<String, Fault> {
    let at: DateTime<Utc> = "2024-02-29T12:34:56.789012Z".parse()?;
    let (day, time) = (NaiveDate::from_ymd_opt(1969, 12, 31), NaiveTime::from_hms_micro_opt(23, 59, 59, 1));
    let ts: NaiveDateTime = at.naive_utc();
    let document = Json(serde_json::json!({"a": [1, null, "x"], "b": {"c": 1.5}}));
    let uuid: Uuid = "00000000-0000-0000-0000-0000000000ff".parse()?;
    let insert = client
        .prepare("INSERT INTO wire (id, i2, i8, f4, f8, b, t, v, c, raw, d, tm, ts, tz, u, j, jb, o) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)")
        .await?;
    let n = client
        .execute(&insert, &[&1i32, &-5i16, &i64::MAX, &1.5f32, &f64::NAN, &true, &"té\u{1F600}", &"abc", &"x", &vec![0u8, 255, 10], &day, &time, &ts, &at, &uuid, &document, &document, &77u32])
        .await?;
    let row = client.query_one("SELECT * FROM wire WHERE id = $1", &[&1i32]).await?;
    Ok(format!(
        "{n} {:?}",
        (
            (row.get::<_, i16>("i2"), row.get::<_, i64>("i8"), row.get::<_, f32>("f4"), row.get::<_, f64>("f8").is_nan(), row.get::<_, bool>("b")),
            (row.get::<_, &str>("t"), row.get::<_, &str>("v"), row.get::<_, &str>("c"), row.get::<_, &[u8]>("raw")),
            (row.get::<_, NaiveDate>("d"), row.get::<_, NaiveTime>("tm"), row.get::<_, NaiveDateTime>("ts"), row.get::<_, DateTime<Utc>>("tz")),
            (row.get::<_, Uuid>("u"), row.get::<_, serde_json::Value>("j"), row.get::<_, serde_json::Value>("jb"), row.get::<_, u32>("o"), row.get::<_, Option<Vec<i32>>>("a")),
        )
    ))
}

async fn arrays(client: &Client) -> Result<String, Fault> {
    client.execute("UPDATE wire SET a = $1, ta = $2 WHERE id = $3", &[&vec![Some(1), None, Some(3)], &vec!["a", "b\"c", ""], &1i32]).await?;
    let row = client.query_one("SELECT a, ta, id = ANY ($1), array_length(a, 1) FROM wire WHERE id = ANY ($1)", &[&vec![1i32, 5]]).await?;
    Ok(format!("{:?} {:?} {} {}", row.get::<_, Vec<Option<i32>>>(0), row.get::<_, Vec<String>>(1), row.get::<_, bool>(2), row.get::<_, i32>(3)))
}

async fn enums(client: &Client) -> Result<String, Fault> {
    let statement = client.prepare("UPDATE wire SET s = $1 WHERE id = 1 RETURNING s").await?;
    // Asks the catalog for the type: its kind, its labels.
    Ok(format!("{} {:?}", statement.params()[0].name(), statement.params()[0].kind()))
}

async fn described(client: &Client) -> Result<String, Fault> {
    let statement = client.prepare("SELECT w.id, upper(t) AS up, count(*) OVER (), $1::numeric, a, s, w.tz AT TIME ZONE 'UTC' FROM wire w WHERE id = $2 OR t = $3 LIMIT $4").await?;
    let columns: Vec<_> = statement.columns().iter().map(|column| (column.name().to_string(), column.type_().to_string(), column.column_id())).collect();
    Ok(format!("{:?} {columns:?}", statement.params()))
}

async fn pipeline(client: &Client) -> Result<Vec<i32>, Fault> {
    let statement = client.prepare("SELECT $1::int4 * 2").await?;
    let ask = |n: i32| {
        let statement = statement.clone();
        async move { Ok::<i32, Fault>(client.query_one(&statement, &[&n]).await?.get(0)) }
    };
    future::try_join_all((0..20).map(ask)).await
}

async fn transaction(client: &mut Client) -> Result<String, Fault> {
    let transaction = client.build_transaction().isolation_level(IsolationLevel::Serializable).read_only(true).deferrable(true).start().await?;
    let refused = transaction.execute("INSERT INTO wire (id) VALUES (2)", &[]).await;
    drop(transaction);
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
    transaction.execute("INSERT INTO wire (id) VALUES (2)", &[]).await?;
    let level: String = transaction.query_one("SHOW transaction_isolation", &[]).await?.get(0);
    transaction.rollback().await?;
    let left: i64 = client.query_one("SELECT count(*) FROM wire", &[]).await?.get(0);
    Ok(format!("{:?} {level} {left}", refused.err().and_then(|error| error.code().map(|code| code.code().to_string()))))
}

async fn savepoint(client: &mut Client) -> Result<i64, Fault> {
    let mut transaction = client.transaction().await?;
    transaction.execute("INSERT INTO wire (id) VALUES (3)", &[]).await?;
    let inner = transaction.savepoint("deeper").await?;
    let _ = inner.execute("INSERT INTO wire (id) VALUES (3)", &[]).await;
    inner.rollback().await?;
    let inner = transaction.transaction().await?;
    inner.execute("INSERT INTO wire (id) VALUES (4)", &[]).await?;
    inner.commit().await?;
    transaction.commit().await?;
    Ok(client.query_one("SELECT count(*) FROM wire", &[]).await?.get(0))
}

async fn portal(client: &mut Client) -> Result<Vec<usize>, Fault> {
    let transaction = client.transaction().await?;
    let statement = transaction.prepare("SELECT g FROM generate_series(1, $1::int4) g").await?;
    let (one, other) = (transaction.bind(&statement, &[&10i32]).await?, transaction.bind(&statement, &[&4i32]).await?);
    let mut counts = Vec::new();
    for portal in [&one, &other, &one, &other, &one] {
        counts.push(transaction.query_portal(portal, 4).await?.len());
    }
    Ok(counts)
}

async fn copy_text(client: &Client) -> Result<String, Fault> {
    let sink = client.copy_in("COPY copied (id, name, at) FROM STDIN").await?;
    pin_mut!(sink);
    for piece in ["1\ta\\tb\t2024-01-01 00:00:00+00\n2\t\\N\t20", "24-01-02 00:00:00+00\n", "3\t\t\\N\n"] {
        sink.send(bytes(piece)).await?;
    }
    let rows = sink.finish().await?;
    let stream = client.copy_out("COPY (SELECT id, name, at FROM copied ORDER BY id) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (name))").await?;
    let pieces: Vec<_> = stream.try_collect().await?;
    Ok(format!("{rows} {:?}", String::from_utf8(pieces.concat())?))
}

fn bytes(text: &'static str) -> std::io::Cursor<&'static [u8]> {
    std::io::Cursor::new(text.as_bytes())
}

async fn copy_binary(client: &Client) -> Result<String, Fault> {
    let types = [Type::INT4, Type::TEXT, Type::TIMESTAMPTZ, Type::FLOAT8, Type::TEXT_ARRAY];
    let sink = client.copy_in("COPY copied FROM STDIN (FORMAT binary)").await?;
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    let at: DateTime<Utc> = "2024-02-29T00:00:00Z".parse()?;
    for id in 10..20i32 {
        let name = (id % 3 != 0).then(|| format!("n{id}"));
        writer.as_mut().write(&[&id, &name, &at, &f64::from(id), &vec!["x", "y"]]).await?;
    }
    let written = writer.finish().await?;
    let stream = client.copy_out("COPY (SELECT * FROM copied WHERE id >= 10 ORDER BY id) TO STDOUT (FORMAT binary)").await?;
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &types).try_collect().await?;
    let last = rows.last().ok_or("no rows")?;
    Ok(format!("{written} {} {:?} {:?} {:?}", rows.len(), last.get::<Option<&str>>(1), last.get::<DateTime<Utc>>(2), last.get::<Vec<&str>>(4)))
}

async fn copy_fails(client: &Client) -> Result<u64, Fault> {
    let sink = client.copy_in("COPY copied (id, name) FROM STDIN").await?;
    pin_mut!(sink);
    sink.send(bytes("100\tx\nsix\ty\n")).await?;
    Ok(sink.finish().await?)
}

async fn copy_given_up(client: &Client) -> Result<i64, Fault> {
    {
        let sink = client.copy_in("COPY copied (id, name) FROM STDIN").await?;
        pin_mut!(sink);
        sink.send(bytes("200\tx\n")).await?;
    }
    Ok(client.query_one("SELECT count(*) FROM copied WHERE id >= 100", &[]).await?.get(0))
}

async fn simple(client: &Client) -> Result<Vec<String>, Fault> {
    let messages = client.simple_query("SELECT id, NULL FROM wire ORDER BY id LIMIT 2; UPDATE wire SET b = false WHERE id = 1; SELECT 1 WHERE false").await?;
    let told = messages.iter().map(|message| match message {
        SimpleQueryMessage::Row(row) => format!("row {:?} {:?}", row.get(0), row.get(1)),
        SimpleQueryMessage::CommandComplete(rows) => format!("done {rows}"),
        SimpleQueryMessage::RowDescription(columns) => format!("columns {:?}", columns.iter().map(|column| column.name()).collect::<Vec<_>>()),
        _ => "other".to_string(),
    });
    Ok(told.collect())
}

async fn typed(client: &Client) -> Result<String, Fault> {
    let rows = client.query_typed("SELECT $1 + 1, $2 || 'x'", &[(&41i32, Type::INT4), (&"a", Type::TEXT)]).await?;
    let statement = client.prepare_typed("SELECT $1, $2 IS NULL", &[Type::INT8, Type::VARCHAR]).await?;
    let row = client.query_one(&statement, &[&5i64, &None::<String>]).await?;
    Ok(format!("{} {} {} {}", rows[0].get::<_, i32>(0), rows[0].get::<_, &str>(1), row.get::<_, i64>(0), row.get::<_, bool>(1)))
}

async fn cancel(client: &Client) -> Result<u64, Fault> {
    let token = client.cancel_token();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    };
    let (ran, cancelled) = future::join(client.execute("SELECT pg_sleep(20)", &[]), cancel).await;
    cancelled?;
    Ok(ran?)
}
