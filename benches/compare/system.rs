//! `System`: a database server under measurement, started over an empty folder and ended with it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// A running server.
pub(crate) struct System {
    name: &'static str,
    addr: SocketAddr,
    user: &'static str,
    child: Child,
    data_dir: Option<TempDir>,
    memory_bytes_max: u64,
}

impl System {
    /// The binary of this build, with the defaults that users get.
    pub(crate) async fn keyspan() -> System {
        let data_dir = TempDir::new().expect("a temporary folder");
        let addr = free_address();
        let child = Command::new(env!("CARGO_BIN_EXE_keyspan"))
            .args([
                "serve",
                "--store",
                "sled",
                "--listen",
                &addr.to_string(),
                "--data-dir",
            ])
            .arg(data_dir.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        System {
            name: "Keyspan",
            addr,
            user: "bench",
            child,
            data_dir: Some(data_dir),
            memory_bytes_max: 0,
        }
        .ready()
        .await
    }

    /// PostgreSQL with `initdb`'s own settings, or `None` where it is not installed.
    pub(crate) async fn postgresql() -> Option<System> {
        let Some(programs) = postgresql_programs() else {
            eprintln!("PostgreSQL is not installed: measuring Keyspan alone");
            return None;
        };
        let data_dir = TempDir::new().expect("a temporary folder");
        let run_as = owner_of_postgresql(data_dir.path());
        let cluster = data_dir.path().join("cluster");
        let made = command(&programs.join("initdb"), run_as)
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&cluster)
            .stdout(Stdio::null())
            .status()
            .expect("initdb runs");
        assert!(made.success(), "initdb failed");
        let addr = free_address();
        let child = command(&programs.join("postgres"), run_as)
            .args([
                "-p",
                &addr.port().to_string(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-k",
            ])
            .arg(data_dir.path())
            .arg("-D")
            .arg(&cluster)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres starts");
        Some(
            System {
                name: "PostgreSQL",
                addr,
                user: "postgres",
                child,
                data_dir: Some(data_dir),
                memory_bytes_max: 0,
            }
            .ready()
            .await,
        )
    }

    /// Waits until it answers.
    async fn ready(self) -> System {
        for _ in 0..300 {
            if self.try_connect().await.is_ok() {
                return self;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{} does not answer on {}", self.name, self.addr);
    }

    /// Its name in the table.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Client {
        self.try_connect().await.expect("the server accepts connections")
    }

    async fn try_connect(&self) -> Result<Client, tokio_postgres::Error> {
        let options = format!(
            "host={} port={} user={} dbname=postgres",
            self.addr.ip(),
            self.addr.port(),
            self.user
        );
        let (client, connection) = tokio_postgres::connect(&options, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// After loading: what PostgreSQL's autovacuum would do sooner or later in the middle of a measurement.
    pub(crate) async fn settle(&mut self) {
        if self.name == "PostgreSQL" {
            let client = self.connect().await;
            for statement in ["VACUUM ANALYZE bench", "CHECKPOINT"] {
                client.batch_execute(statement).await.expect("maintenance runs");
            }
        }
    }

    /// Looks at the memory of the server and all its processes; pages that they share count once.
    pub(crate) fn sample_memory(&mut self) {
        let bytes = process_tree(self.child.id())
            .into_iter()
            .map(proportional_bytes)
            .sum();
        self.memory_bytes_max = self.memory_bytes_max.max(bytes);
    }

    /// The most memory that any sample saw.
    pub(crate) fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// Ends the server; gives Keyspan's folder back.
    pub(crate) fn stop(mut self) -> Option<TempDir> {
        self.end();
        self.data_dir.take().filter(|_| self.name == "Keyspan")
    }

    /// Asks the server to end, and waits.
    fn end(&mut self) {
        let signal = if self.name == "PostgreSQL" {
            "-INT"
        } else {
            "-TERM"
        };
        let _ = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        let _ = self.child.wait();
    }
}

/// A measurement that fails leaves no server behind.
impl Drop for System {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// A port that was free a moment ago.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket has an address")
}

/// The folder of PostgreSQL's server programs.
fn postgresql_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = ["/usr/lib/postgresql/15/bin"].map(PathBuf::from);
    debian
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file())
}

/// PostgreSQL refuses to run as root: then it runs as the user `postgres`, who must own its folder.
fn owner_of_postgresql(folder: &Path) -> Option<&'static str> {
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        return None;
    }
    let owned = Command::new("chown")
        .arg("postgres")
        .arg(folder)
        .status()
        .expect("chown runs");
    assert!(
        owned.success(),
        "PostgreSQL does not run as root, and there is no user \"postgres\""
    );
    Some("postgres")
}

/// A command, as another user where needed.
fn command(program: &Path, user: Option<&str>) -> Command {
    match user {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args([
                format!("--reuid={user}"),
                format!("--regid={user}"),
                "--init-groups".to_string(),
            ]);
            command.arg("--").arg(program);
            command
        }
    }
}

/// A process and everything it started.
fn process_tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(id) = tree.get(at) {
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        tree.extend(
            children
                .split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
        at += 1;
    }
    tree
}

/// Resident bytes of a process, shared pages divided among those who share them.
fn proportional_bytes(id: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .unwrap_or_default();
    line.split_whitespace()
        .next()
        .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
