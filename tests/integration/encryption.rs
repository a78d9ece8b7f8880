//! TLS as clients meet it, by psql: encrypted when they ask for it, refused where others could read what is said.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use keyspan::{Server, ServerOptions, StoreKind};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{ServerProcess, TestServer, ok};

/// A certificate of this machine by its own key: `cert.pem` and `key.pem` in the folder. Whether openssl and psql are here.
fn make_certificate(folder: &Path) -> bool {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args([
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ])
        .current_dir(folder)
        .output();
    let has_psql = Command::new("psql").arg("--version").output().is_ok();
    let is_made = made.is_ok_and(|made| made.status.success()) && has_psql;
    if is_made {
        private(&folder.join("key.pem"), 0o600);
    } else {
        eprintln!("skipped: openssl or psql is not installed");
    }
    is_made
}

fn private(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// What psql prints of a statement, or its first line of complaint.
fn psql(port: u16, options: &str, password: &str, statement: &str) -> String {
    let output = Command::new("psql")
        .arg(format!("host=127.0.0.1 port={port} dbname=postgres {options}"))
        .args(["-X", "-q", "-A", "-t", "-c", statement])
        .env("PGPASSWORD", password)
        .output()
        .unwrap();
    let text = if output.status.success() {
        output.stdout
    } else {
        output.stderr
    };
    String::from_utf8_lossy(&text).trim().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_ask_are_encrypted() {
    let files = TempDir::new().unwrap();
    if !make_certificate(files.path()) {
        return;
    }
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    let (cert, key) = (cert.to_str().unwrap(), key.to_str().unwrap());
    let folder = TempDir::new().unwrap();
    let server = ServerProcess::start(folder.path(), &["--tls-cert", cert, "--tls-key", key]);
    let port = server.addr().port();
    let verify = format!("user=test sslmode=verify-full sslrootcert={cert}");
    let is_encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert_eq!(psql(port, &verify, "", is_encrypted), "t");
    assert_eq!(psql(port, "user=test sslmode=require", "", is_encrypted), "t");
    assert_eq!(psql(port, "user=test sslmode=prefer", "", is_encrypted), "t");
    assert_eq!(psql(port, "user=test sslmode=disable", "", is_encrypted), "f");
    // Results of many messages, and data both ways.
    let many = "SELECT sum(length(repeat(g::text, 50))) FROM generate_series(1, 20000) g";
    assert_eq!(psql(port, &verify, "", many), "4444700");
    let longer = psql(port, &verify, "", "SELECT repeat('x', 3000000)");
    assert_eq!(longer.len(), 3_000_000);
    psql(port, &verify, "", "CREATE USER bob PASSWORD 'it'");
    let rows: String = (0..20_000)
        .map(|k| format!("{k}\t{}\n", "v".repeat(k % 200)))
        .collect();
    std::fs::write(files.path().join("rows"), rows).unwrap();
    psql(port, &verify, "", "CREATE TABLE t (k int PRIMARY KEY, v text)");
    let copy = format!("\\copy t FROM '{}'", files.path().join("rows").display());
    psql(port, &verify, "", &copy);
    assert_eq!(
        psql(port, &verify, "", "SELECT count(*), sum(length(v)) FROM t"),
        "20000|1990000"
    );
    // A client that trusts another root turns away.
    let other = TempDir::new().unwrap();
    assert!(make_certificate(other.path()));
    let wrong = format!(
        "user=test sslmode=verify-full sslrootcert={}",
        other.path().join("cert.pem").display()
    );
    assert!(psql(port, &wrong, "", "SELECT 1").contains("certificate verify failed"));
    // What is sent in the clear behind the request is no part of what is said.
    for stuffed in [
        &b"\0\0\0\x08\x04\xd2\x16\x2f"[..],
        b"\0\0\0\x08\x04\xd2\x16\x2fQ\0\0\0\x0dSELECT 1\0",
        b"\0\0\0\x08\x04\xd2\x16\x30",
    ] {
        let mut stream = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
        stream.write_all(stuffed).await.unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).await.unwrap();
        assert!(answer == *b"S" || answer == *b"N");
    }
    assert!(server.terminate());

    let arguments = [
        "--tls-cert",
        cert,
        "--tls-key",
        key,
        "--set",
        "keyspan.authentication=scram-sha-256",
    ];
    let server = ServerProcess::start(folder.path(), &arguments);
    let port = server.addr().port();
    let bob = format!("user=bob sslmode=verify-full sslrootcert={cert}");
    assert_eq!(psql(port, &bob, "it", is_encrypted), "t");
    assert!(psql(port, &bob, "that", "SELECT 1").contains("password authentication failed"));
    assert_eq!(psql(port, "user=bob sslmode=disable", "it", is_encrypted), "f");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_serve_are_refused() {
    let (files, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    if !make_certificate(files.path()) || !make_certificate(other.path()) {
        return;
    }
    let start = |cert: &Path, key: &Path| {
        let tls = Some((cert.to_path_buf(), key.to_path_buf()));
        async move {
            let options = ServerOptions {
                listen: "127.0.0.1:0".parse().unwrap(),
                store: StoreKind::Memory,
                tls,
                ..ServerOptions::default()
            };
            match Server::start(options).await {
                Ok(server) => server.shutdown().await.map(|()| "it starts".to_string()).unwrap(),
                Err(error) => error.to_string(),
            }
        }
    };
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    assert_eq!(start(&cert, &key).await, "it starts");
    let nothing = files.path().join("nothing.pem");
    assert!(start(&nothing, &key).await.contains("could not use"));
    assert!(start(&cert, &nothing).await.contains("could not use"));
    assert!(start(&key, &key).await.contains("could not use"));
    assert!(
        start(&cert, &other.path().join("key.pem"))
            .await
            .contains("could not use")
    );
    private(&key, 0o640);
    assert!(start(&cert, &key).await.contains("group or world access"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_nobody_is_encrypted() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    let rows = ok(&mut client, "SELECT ssl FROM pg_stat_ssl").await;
    assert_eq!(rows, [[Some("f".to_string())]]);
}
