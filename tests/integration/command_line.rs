//! The command line as a user meets it: what is refused and in which words, and what the environment sets.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::server::{ServerProcess, connect};

/// The binary over a folder of its own, on a free port unless the arguments say otherwise.
fn keyspan(data_dir: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyspan"));
    command
        .arg("--data-dir")
        .arg(data_dir.path().join("data"))
        // What a developer's shell sets must not make a user's error any longer.
        .env("RUST_BACKTRACE", "1");
    command
}

/// What the binary says before it refuses to run.
fn refusal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let data_dir = TempDir::new().unwrap();
    let output = keyspan(&data_dir)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success(),
        "{arguments:?} {environment:?} runs: {said}"
    );
    for noise in ["panicked", "stack backtrace", "Stack backtrace"] {
        assert!(!said.contains(noise), "{arguments:?} {environment:?}: {said}");
    }
    said
}

#[test]
fn what_cannot_be_served_is_refused_in_a_few_words() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let listen = |address| vec!["--listen", address];
    let cases: [(Vec<&str>, &str); 11] = [
        (listen("0.0.0.0:5433"), "refusing to listen on 0.0.0.0:5433"),
        (listen("[::]:5433"), "Or listen on a loopback address"),
        (listen(&taken), "Address already in use"),
        (listen("5433"), "expected an address and a port"),
        (listen("127.0.0.1:99999"), "expected an address and a port"),
        (vec!["--store", "rocks"], "Available stores: sled, fjall, memory."),
        (
            vec!["--cache-bytes", "1"],
            "outside the valid range for parameter \"keyspan.cache_bytes\"",
        ),
        (vec!["--cache-bytes", "9000000TB"], "outside the valid range"),
        (vec!["--message-bytes-max", "10"], "outside the valid range"),
        (
            vec!["--max-connections", "0"],
            "outside the valid range for parameter \"max_connections\"",
        ),
        (
            vec!["--key-bytes-max", "1XB"],
            "valid units are B, kB, MB, GB, TB",
        ),
    ];
    for (arguments, expected) in cases {
        let said = refusal(&arguments, &[]);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

/// Each with what the message names, and what its HINT says to do.
#[test]
fn each_start_up_error_says_what_to_do() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    std::fs::write(at("file"), "a file").unwrap();
    for (name, file, content) in [
        ("newer", "FORMAT", "keyspan format 999 engine sled\n"),
        ("letters", "letter.txt", "dear reader"),
        ("damaged", "FORMAT", "keyspan format 3 engine sled\n"),
        ("other", "FORMAT", "keyspan format 3 engine fjall\n"),
    ] {
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(folder.path().join(name).join(file), content).unwrap();
    }
    let running = ServerProcess::start(&folder.path().join("used"), &[]);
    let data_dir = |name: &str| vec!["--data-dir".to_string(), at(name)];
    let cases: [(Vec<String>, &str, &str); 9] = [
        (
            vec!["--port".to_string(), port.clone()],
            "Address already in use",
            "give another port with --port",
        ),
        (data_dir("file"), "is not a folder", "Give a data directory"),
        (data_dir("file/below"), "is not a folder", "Give a data directory"),
        (
            data_dir("newer"),
            "has format 999",
            "Open it with the release that wrote it",
        ),
        (
            data_dir("letters"),
            "is not a data directory: it holds",
            "Give an empty or a new folder",
        ),
        (
            data_dir("damaged"),
            "LOG_END is missing",
            "a backup of the whole directory",
        ),
        (
            data_dir("other"),
            "belongs to the store \"fjall\"",
            "Start with --store fjall",
        ),
        (
            data_dir("used"),
            "is in use by another process",
            "Stop the other server",
        ),
        (
            ["--data-dir", "/sys/keyspan"].map(str::to_string).to_vec(),
            "could not create \"/sys/keyspan\"",
            "give another directory with --data-dir",
        ),
    ];
    for (arguments, message, cure) in cases {
        let listen = ["--listen".to_string(), "127.0.0.1:0".to_string()];
        let listens = arguments.iter().any(|argument| argument == "--listen");
        let before = if listens { &[][..] } else { &listen };
        let output = Command::new(env!("CARGO_BIN_EXE_keyspan"))
            .args(before)
            .args(
                ["--data-dir".to_string(), at("unused")]
                    .iter()
                    .filter(|_| !arguments.contains(&"--data-dir".to_string())),
            )
            .args(&arguments)
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} runs: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
        let hint = said.split("HINT: ").nth(1).unwrap_or_default();
        assert!(hint.contains(cure), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
    assert!(!Path::new(&at("letters")).join("LOCK").exists());
    running.kill();
}

#[test]
fn the_environment_sets_each_flag() {
    for (variable, value, expected) in [
        (
            "KEYSPAN_LISTEN",
            "0.0.0.0:5433",
            "refusing to listen on 0.0.0.0:5433",
        ),
        ("KEYSPAN_PORT", "none", "--port"),
        ("KEYSPAN_STORE", "rocks", "Available stores: sled, fjall, memory."),
        ("KEYSPAN_MAX_CONNECTIONS", "0", "max_connections"),
        ("KEYSPAN_CACHE_BYTES", "1", "keyspan.cache_bytes"),
        ("KEYSPAN_UNDO_BYTES_MAX", "0", "--undo-bytes-max"),
        ("KEYSPAN_CHECKPOINT_BYTES", "1", "keyspan.checkpoint_bytes"),
        ("KEYSPAN_DISK_RESERVE_BYTES", "0", "--disk-reserve-bytes"),
        ("KEYSPAN_LOG_SEGMENT_BYTES", "1", "keyspan.log_segment_bytes"),
        ("KEYSPAN_TRANSACTION_BYTES_MAX", "0", "--transaction-bytes-max"),
        (
            "KEYSPAN_QUERY_MEMORY_BYTES_MAX",
            "1",
            "keyspan.query_memory_bytes_max",
        ),
        (
            "KEYSPAN_FUNCTION_VALUE_BYTES_MAX",
            "1",
            "keyspan.function_value_bytes_max",
        ),
        (
            "KEYSPAN_FUNCTION_BATCH_BYTES_MAX",
            "2GB",
            "keyspan.function_batch_bytes_max",
        ),
        ("KEYSPAN_MESSAGE_BYTES_MAX", "1", "keyspan.message_bytes_max"),
        ("KEYSPAN_KEY_COLUMN_BYTES_MAX", "0", "--key-column-bytes-max"),
        ("KEYSPAN_KEY_BYTES_MAX", "0", "--key-bytes-max"),
        ("KEYSPAN_VALUE_BYTES_MAX", "0", "--value-bytes-max"),
    ] {
        let said = refusal(&[], &[(variable, value)]);
        assert!(said.contains(expected), "{variable}={value}: {said}");
    }
}

#[test]
fn help_and_version_name_what_there_is() {
    for (arguments, expected) in [
        (
            ["--help"],
            vec![
                "--listen",
                "KEYSPAN_DATA_DIR",
                "--demo",
                "[default: 127.0.0.1:5433]",
            ],
        ),
        (
            ["--version"],
            vec![concat!("keyspan ", env!("CARGO_PKG_VERSION"))],
        ),
    ] {
        let output = keyspan(&TempDir::new().unwrap())
            .args(arguments)
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        for word in expected {
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_loads_its_table_once_and_settings_are_shown() {
    let data_dir = TempDir::new().unwrap();
    for _ in 0..2 {
        let server = ServerProcess::start(data_dir.path(), &["--demo", "--key-bytes-max", "20kB"]);
        let client = connect(server.addr()).await;
        let count = client
            .query_one("SELECT count(*) FROM orders", &[])
            .await
            .unwrap();
        assert_eq!(count.get::<_, i64>(0), 1000);
        for (setting, shown) in [
            ("keyspan.key_bytes_max", "20kB"),
            ("keyspan.value_bytes_max", "2MB"),
            ("port", &server.addr().port().to_string()),
        ] {
            let row = client.query_one(&format!("SHOW {setting}"), &[]).await.unwrap();
            assert_eq!(row.get::<_, String>(0), shown, "{setting}");
        }
        drop(client);
        let ended = tokio::task::spawn_blocking(|| server.terminate()).await;
        assert!(ended.unwrap(), "the server ends with success");
    }
}
