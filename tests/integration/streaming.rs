//! Results stream: in bounded memory, from the first row on, and only as fast as the client reads. Large writes take
//! memory in proportion to what they write.

use futures::TryStreamExt;
use tempfile::TempDir;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::{ServerProcess, connect};

/// The engine's cache has a budget of its own; a small one keeps it out of what is measured here.
const SMALL_CACHE: [&str; 2] = ["--cache-bytes", "16MB"];
/// How far a scan may grow the server.
const GROWTH_BYTES_MAX: u64 = 64 << 20;
/// Rows that one INSERT … SELECT copies.
const COPIED_ROWS: usize = 2_000;
/// Bytes of text in a row.
const ROW_BYTES: usize = 2_000;
/// Rows that one large INSERT makes …
const INSERTED_ROWS: u64 = 120_000;
/// … and how far each may grow the server: 600 to 820 bytes, by how far the engine lags behind on a busy machine. It was
/// 7 kB when all went to the engine in one batch.
const INSERTED_ROW_GROWTH_BYTES_MAX: u64 = 1_200;

/// Rows of the table: by default more than twice as many bytes as the server may grow by.
fn table_rows() -> usize {
    std::env::var("KEYSPAN_STREAM_ROWS").map_or(80_000, |rows| rows.parse().expect("a number"))
}

/// Fills a table by copying its first rows over and over.
async fn load(client: &Client, rows: usize) {
    client
        .batch_execute("CREATE TABLE big (id bigint PRIMARY KEY, pad text NOT NULL)")
        .await
        .unwrap();
    let values: Vec<String> = (0..COPIED_ROWS)
        .map(|id| format!("({id}, repeat('x', {ROW_BYTES}))"))
        .collect();
    client
        .batch_execute(&format!("INSERT INTO big VALUES {}", values.join(", ")))
        .await
        .unwrap();
    for start in (COPIED_ROWS..rows).step_by(COPIED_ROWS) {
        let copy = format!("INSERT INTO big SELECT id + {start}, pad FROM big WHERE id < {COPIED_ROWS}");
        client.batch_execute(&copy).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_streams_in_bounded_memory_and_stops_with_its_reader() {
    let rows = table_rows();
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    load(&connect(server.addr()).await, rows).await;
    assert!(tokio::task::spawn_blocking(|| server.terminate()).await.unwrap());

    let server = ServerProcess::start(data_dir.path(), &SMALL_CACHE);
    let client = connect(server.addr()).await;
    // The first walk fills the engine's cache, which sled trims late: up to 16,384 pages stay whatever its limit says.
    // From then on nothing may grow with the rows that pass.
    client
        .query("SELECT max(length(pad)) FROM big", &[])
        .await
        .unwrap();
    let before = server.resident_bytes_max();
    let growth = || server.resident_bytes_max().saturating_sub(before);

    stalled_reader(&server, rows).await;
    assert!(
        growth() < GROWTH_BYTES_MAX,
        "a client that does not read grew the server by {} bytes",
        growth()
    );

    let parameters: [i64; 0] = [];
    let mut extended = Box::pin(client.query_raw("SELECT * FROM big", parameters).await.unwrap());
    let mut seen = 0;
    while let Some(row) = extended.try_next().await.unwrap() {
        assert_eq!(row.get::<_, i64>(0), seen);
        seen += 1;
    }
    assert_eq!(seen as usize, rows);
    assert!(
        growth() < GROWTH_BYTES_MAX,
        "the extended protocol grew the server by {} bytes",
        growth()
    );

    let mut simple = Box::pin(client.simple_query_raw("SELECT * FROM big").await.unwrap());
    let mut seen = 0;
    while let Some(message) = simple.try_next().await.unwrap() {
        seen += usize::from(matches!(message, SimpleQueryMessage::Row(_)));
    }
    assert_eq!(seen, rows);
    assert!(
        growth() < GROWTH_BYTES_MAX,
        "the simple protocol grew the server by {} bytes",
        growth()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_insert_takes_memory_for_what_it_writes_not_for_what_it_replaces() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &SMALL_CACHE);
    let client = connect(server.addr()).await;
    client
        .batch_execute("CREATE TABLE big (id bigint PRIMARY KEY, pad text)")
        .await
        .unwrap();
    let insert =
        |from, to| format!("INSERT INTO big SELECT g, 'row ' || g FROM generate_series({from}, {to}) g");
    // What the first statement of its kind takes once is not measured.
    client.batch_execute(&insert(1 - 20_000, 0)).await.unwrap();
    let before = server.resident_bytes_max();
    client.batch_execute(&insert(1, INSERTED_ROWS)).await.unwrap();
    let growth = server.resident_bytes_max() - before;
    assert!(
        growth < INSERTED_ROWS * INSERTED_ROW_GROWTH_BYTES_MAX,
        "one INSERT of {INSERTED_ROWS} rows grew the server by {growth} bytes"
    );
    let row = client
        .query_one("SELECT count(*) FROM big WHERE id > 0", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0) as u64, INSERTED_ROWS);
}

/// Asks for everything, reads one row, and goes: the server serves others meanwhile, and the scan ends with the reader.
async fn stalled_reader(server: &ServerProcess, rows: usize) {
    let stalled = connect(server.addr()).await;
    let parameters: [i64; 0] = [];
    let mut stream = Box::pin(stalled.query_raw("SELECT * FROM big", parameters).await.unwrap());
    let first = stream
        .try_next()
        .await
        .unwrap()
        .expect("the first row arrives before the last is read");
    assert_eq!(first.get::<_, i64>(0), 0);

    let other = connect(server.addr()).await;
    for id in (0..rows as i64).step_by(rows.div_ceil(200)) {
        let row = other
            .query_one("SELECT id FROM big WHERE id = $1", &[&id])
            .await
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), id);
    }
    stalled
        .cancel_token()
        .cancel_query(tokio_postgres::NoTls)
        .await
        .unwrap();
    let mut seen = 1;
    let ended = loop {
        match stream.try_next().await {
            Ok(Some(_)) => seen += 1,
            Ok(None) => break None,
            Err(error) => break error.code().map(|code| code.code().to_string()),
        }
    };
    assert_eq!(
        ended.as_deref(),
        Some("57014"),
        "cancel reaches a result that is streaming"
    );
    assert!(seen < rows, "the scan ran to its end although nobody read");
}
