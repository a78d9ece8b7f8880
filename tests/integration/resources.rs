//! What the server takes of the system, and what it leaves to others: descriptors, start-ups, permissions, files to spill.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::server::{ServerProcess, TestServer, connect};

/// Far longer than a connection takes, far shorter than start-up may.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn silent_sockets_keep_nobody_out() {
    let server = TestServer::start("memory").await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(server.addr()).await.expect("it listens"));
    }
    let connected = tokio::time::timeout(CONNECT_TIME_MAX, server.connect()).await;
    let client = connected.expect("a client connects at once");
    client.batch_execute("SELECT 1").await.expect("and is served");
    // The oldest made room for it.
    let ended = tokio::time::timeout(CONNECT_TIME_MAX, silent[0].read_u8()).await;
    assert!(ended.expect("it is closed").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn few_descriptors_bound_the_clients_and_the_store_keeps_its_own() {
    let data_dir = TempDir::new().expect("a temporary folder");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -n 128; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_keyspan"),
    ]);
    let server = ServerProcess::start_as(command, data_dir.path(), &[]);
    let first = connect(server.addr()).await;
    let shown = first
        .query_one("SHOW max_connections", &[])
        .await
        .expect("a setting");
    // 128 without 64 for the store, 12 for the threads and 13 for start-ups.
    assert_eq!(shown.get::<_, String>(0), "39");
    first
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY)")
        .await
        .expect("a table");
    let (mut clients, mut refused) = (vec![first], 0);
    let options = format!("host=127.0.0.1 port={} user=test", server.addr().port());
    for _ in 0..110 {
        match tokio_postgres::connect(&options, NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                clients.push(client);
            }
            Err(error) => {
                assert_eq!(error.code().map(SqlState::code), Some("53300"), "{error}");
                refused += 1;
            }
        }
    }
    assert_eq!((clients.len(), refused), (39, 72));
    for (id, client) in clients.iter().enumerate() {
        client
            .batch_execute(&format!("INSERT INTO t VALUES ({id})"))
            .await
            .expect("the store has its descriptors");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_makes_is_its_owners_alone_and_old_spill_files_go() {
    let folder = TempDir::new().expect("a temporary folder");
    let data_dir = folder.path().join("data");
    let serve = || async {
        let server = ServerProcess::start(&data_dir, &["--demo"]);
        let client = connect(server.addr()).await;
        client
            .batch_execute("SELECT count(*) FROM orders a JOIN orders b USING (id)")
            .await
            .expect("a join");
        server.kill();
    };
    serve().await;
    assert_private(&data_dir);
    let left = data_dir.join("spill/datafusion-left");
    std::fs::create_dir_all(&left).expect("a folder");
    std::fs::write(left.join("file"), "rows").expect("a file");
    serve().await;
    assert!(!left.exists(), "a start empties the folder");
}

/// No file or folder has anything for group or others.
#[track_caller]
fn assert_private(path: &Path) {
    let about = std::fs::metadata(path).expect("it is there");
    let mode = about.permissions().mode() & 0o777;
    assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
    if about.is_dir() {
        for entry in std::fs::read_dir(path).expect("ours") {
            assert_private(&entry.expect("ours").path());
        }
    }
}
