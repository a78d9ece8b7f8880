//! sqlx: migrations up and down, typed rows, transactions, bulk inserts by UNNEST, COPY, a listener, a pool.

use chrono::{DateTime, NaiveDate, Utc};
use futures::TryStreamExt;
use rust_decimal::Decimal;
use serde_json::Value;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgListener, PgPool, PgPoolCopyExt, PgPoolOptions, PgTypeKind};
use sqlx::types::Json;
use sqlx::{Acquire, Column, Connection, Executor, FromRow, QueryBuilder, Row, Statement, TypeInfo};
use uuid::Uuid;

use crate::{Fault, told};

#[derive(Debug, Clone, Copy, PartialEq, sqlx::Type)]
#[sqlx(type_name = "mood", rename_all = "lowercase")]
enum Mood {
    Sad,
    Ok,
    Happy,
}

#[derive(Debug, FromRow)]
struct Person {
    id: i64,
    name: String,
    feels: Mood,
    born: Option<NaiveDate>,
    paid: Decimal,
    tags: Vec<String>,
    doc: Option<Json<Value>>,
}

const COLUMNS: &str = "id, name, feels, born, paid, tags, doc";

pub async fn run(url: &str) {
    let pool = PgPoolOptions::new().max_connections(4).connect(url).await.expect("a pool");
    let migrator = Migrator::new(std::path::Path::new("migrations")).await.expect("migrations");
    let wiped = pool.execute("DROP VIEW IF EXISTS rich; DROP TABLE IF EXISTS orders, people, _sqlx_migrations; DROP TYPE IF EXISTS mood").await;
    told("sqlx wiped", wiped.map(|_| ()).map_err(Fault::from));
    told("sqlx migrates", migrator.run(&pool).await.map_err(Fault::from));
    told("sqlx migrates again", migrator.run(&pool).await.map_err(Fault::from));
    told("sqlx undone", migrator.undo(&pool, 1).await.map_err(Fault::from));
    told("sqlx undone, all", migrator.undo(&pool, 0).await.map_err(Fault::from));
    told("sqlx migrates anew", migrator.run(&pool).await.map_err(Fault::from));
    told("sqlx migrations", migrations(&pool).await);
    told("sqlx insert", insert(&pool).await);
    told("sqlx read", read(&pool).await);
    told("sqlx stream", stream(&pool).await);
    told("sqlx unnest", unnest(&pool).await);
    told("sqlx builder", builder(&pool).await);
    told("sqlx upsert", upsert(&pool).await);
    told("sqlx transaction", transaction(&pool).await);
    told("sqlx describe", describe(&pool).await);
    told("sqlx copy", copy(&pool).await);
    told("sqlx listener", listener(&pool).await);
    told("sqlx jobs", jobs(&pool).await);
    told("sqlx advisory", advisory(&pool).await);
    for (name, sql) in [
        ("unique", "INSERT INTO people (name) VALUES ('ann')"),
        ("check", "UPDATE people SET paid = -1"),
        ("foreign", "INSERT INTO orders (person, amount) VALUES (99999, 1)"),
        ("null", "INSERT INTO people (name) VALUES (NULL)"),
        ("enum", "UPDATE people SET feels = 'angry'"),
    ] {
        told(&format!("sqlx error {name}"), sqlx::query(sql).execute(&pool).await.map(|_| ()).map_err(Fault::from));
    }
    told("sqlx cascade", cascade(&pool).await);
}

async fn migrations(pool: &PgPool) -> Result<Vec<(i64, String, bool)>, Fault> {
    Ok(sqlx::query_as("SELECT version, description, success FROM _sqlx_migrations ORDER BY version").fetch_all(pool).await?)
}

async fn insert(pool: &PgPool) -> Result<(i64, Mood, bool), Fault> {
    let uid: Uuid = "00000000-0000-0000-0000-000000000007".parse()?;
    let at: DateTime<Utc> = "2024-01-02T03:04:05Z".parse()?;
    let row: (i64, Mood, Uuid, DateTime<Utc>) = sqlx::query_as("INSERT INTO people (name, feels, born, paid, tags, doc, uid, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id, feels, uid, created_at")
        .bind("ann")
        .bind(Mood::Happy)
        .bind(NaiveDate::from_ymd_opt(1990, 5, 6))
        .bind(Decimal::new(123_450, 2))
        .bind(vec!["x", "y z"])
        .bind(Json(serde_json::json!({"k": [1, 2]})))
        .bind(uid)
        .bind(at)
        .fetch_one(pool)
        .await?;
    Ok((row.0, row.1, row.2 == uid && row.3 == at))
}

async fn read(pool: &PgPool) -> Result<Vec<Person>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM people WHERE lower(name) = ANY ($1) OR feels = $2 ORDER BY id");
    Ok(sqlx::query_as(&sql).bind(vec!["ann".to_string(), "first".to_string()]).bind(Mood::Sad).fetch_all(pool).await?)
}

async fn stream(pool: &PgPool) -> Result<i64, Fault> {
    let mut rows = sqlx::query("SELECT g::int8 FROM generate_series(1, 10000) g").fetch(pool);
    let mut sum = 0;
    while let Some(row) = rows.try_next().await? {
        sum += row.try_get::<i64, _>(0)?;
        if sum > 1_000_000 {
            break;
        }
    }
    Ok(sum)
}

async fn unnest(pool: &PgPool) -> Result<u64, Fault> {
    let names: Vec<String> = (0..500).map(|n| format!("p{n}")).collect();
    let paid: Vec<Decimal> = (0..500).map(|n| Decimal::new(n, 1)).collect();
    let moods: Vec<Mood> = (0..500).map(|n| [Mood::Sad, Mood::Ok][n % 2]).collect();
    let done = sqlx::query("INSERT INTO people (name, paid, feels) SELECT * FROM UNNEST($1::text[], $2::numeric[], $3::mood[])").bind(names).bind(paid).bind(moods).execute(pool).await?;
    Ok(done.rows_affected())
}

async fn builder(pool: &PgPool) -> Result<(u64, i64), Fault> {
    let mut builder = QueryBuilder::new("INSERT INTO orders (person, amount, note) ");
    let people: Vec<i64> = sqlx::query_scalar("SELECT id FROM people ORDER BY id LIMIT 100").fetch_all(pool).await?;
    builder.push_values(people.iter().enumerate(), |mut row, (n, person)| {
        row.push_bind(*person).push_bind(n as i32).push_bind((n % 2 == 0).then(|| format!("note {n}")));
    });
    let done = builder.build().execute(pool).await?;
    let total: i64 = sqlx::query_scalar("SELECT coalesce(sum(total), 0)::int8 FROM rich").fetch_one(pool).await?;
    Ok((done.rows_affected(), total))
}

async fn upsert(pool: &PgPool) -> Result<Vec<(String, Decimal, bool)>, Fault> {
    let sql = "INSERT INTO people (name, paid) VALUES ($1, $2), ($3, $2) ON CONFLICT (name) DO UPDATE SET paid = people.paid + excluded.paid RETURNING name, paid, paid > 1";
    Ok(sqlx::query_as(sql).bind("ann").bind(Decimal::new(50, 2)).bind("zoe").fetch_all(pool).await?)
}

async fn transaction(pool: &PgPool) -> Result<(i64, i64), Fault> {
    let count = "SELECT count(*) FROM people";
    let before: i64 = sqlx::query_scalar(count).fetch_one(pool).await?;
    let mut outer = pool.begin().await?;
    sqlx::query("INSERT INTO people (name) VALUES ('outer')").execute(&mut *outer).await?;
    let mut inner = outer.begin().await?;
    let failed = sqlx::query("INSERT INTO people (name) VALUES ('outer')").execute(&mut *inner).await;
    assert!(failed.is_err());
    inner.rollback().await?;
    outer.commit().await?;
    let mut dropped = pool.begin().await?;
    sqlx::query("DELETE FROM people").execute(&mut *dropped).await?;
    drop(dropped);
    let after: i64 = sqlx::query_scalar(count).fetch_one(pool).await?;
    Ok((before, after))
}

async fn describe(pool: &PgPool) -> Result<String, Fault> {
    // What the macros of sqlx ask while a program is compiled: types, and which columns may be NULL.
    let mut connection = pool.acquire().await?;
    let sql = "SELECT p.id, p.name, o.note, p.feels, count(*) AS n, p.tags FROM people p LEFT JOIN orders o ON o.person = p.id WHERE p.name = $1 AND p.paid > $2 GROUP BY p.id, o.note";
    let described = connection.describe(sql).await?;
    let columns: Vec<_> = described.columns().iter().map(|column| (column.name(), column.type_info().name().to_string())).collect();
    let nullable: Vec<_> = (0..columns.len()).map(|at| described.nullable(at)).collect();
    let statement = connection.prepare("SELECT feels FROM people").await?;
    let kind = format!("{:?}", matches!(statement.columns()[0].type_info().kind(), PgTypeKind::Enum(_)));
    Ok(format!("{columns:?} {nullable:?} {:?} {kind}", described.parameters().map(|given| format!("{given:?}").len() > 5)))
}

async fn copy(pool: &PgPool) -> Result<(u64, String), Fault> {
    let mut sink = pool.copy_in_raw("COPY people (name, born) FROM STDIN (FORMAT csv, NULL 'none')").await?;
    sink.send(&b"\"c,1\",2020-01-01\n"[..]).await?;
    sink.send(&b"c2,none\n"[..]).await?;
    let rows = sink.finish().await?;
    let given: Vec<_> = pool.copy_out_raw("COPY (SELECT name, born FROM people WHERE name LIKE 'c%' ORDER BY name) TO STDOUT").await?.try_collect().await?;
    Ok((rows, String::from_utf8(given.concat())?))
}

async fn listener(pool: &PgPool) -> Result<(String, String, bool), Fault> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all(["jobs", "Other Jobs"]).await?;
    sqlx::query("SELECT pg_notify($1, $2)").bind("Other Jobs").bind("{\"a\":1}").execute(pool).await?;
    let note = listener.recv().await?;
    listener.unlisten_all().await?;
    Ok((note.channel().to_string(), note.payload().to_string(), note.process_id() != 0))
}

/// A queue: four workers take jobs that nobody else has.
async fn jobs(pool: &PgPool) -> Result<(usize, i64), Fault> {
    pool.execute("DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL DEFAULT 'new'); INSERT INTO jobs (id) SELECT generate_series(1, 40)").await?;
    let worker = |_| async {
        let mut taken = 0;
        loop {
            let mut transaction = pool.begin().await?;
            let sql = "UPDATE jobs SET state = 'done' WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";
            let job: Option<(i32,)> = sqlx::query_as(sql).fetch_optional(&mut *transaction).await?;
            transaction.commit().await?;
            match job {
                Some(_) => taken += 1,
                None => return Ok::<usize, Fault>(taken),
            }
        }
    };
    let taken = futures::future::try_join_all((0..4).map(worker)).await?;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM jobs WHERE state = 'new'").fetch_one(pool).await?;
    Ok((taken.iter().sum(), left))
}

async fn advisory(pool: &PgPool) -> Result<(bool, bool), Fault> {
    let lock = sqlx::postgres::PgAdvisoryLock::new("one of mine");
    let (one, other) = (pool.acquire().await?, pool.acquire().await?);
    let guard = lock.acquire(one).await?;
    let tried = lock.try_acquire(other).await?;
    let refused = tried.is_right();
    let mut released = guard.release_now().await?;
    released.ping().await?;
    Ok((refused, true))
}

async fn cascade(pool: &PgPool) -> Result<(u64, i64), Fault> {
    let done = sqlx::query("DELETE FROM people WHERE id IN (SELECT person FROM orders)").execute(pool).await?;
    Ok((done.rows_affected(), sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(pool).await?))
}
