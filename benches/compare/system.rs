//! `System`: a database server under measurement, started over an empty folder and ended with it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyspan::StoreKind;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// What this program is called with to be the floor (`floor`).
pub(crate) const FLOOR_ARGUMENT: &str = "--floor";
/// How often a server that starts is asked whether it answers, and for how long.
const START_PAUSE: Duration = Duration::from_millis(5);
const START_PATIENCE: Duration = Duration::from_secs(600);

/// A server has settled when it does next to nothing for so many pauses.
const IDLE_PAUSES: usize = 10;
const IDLE_PAUSE: Duration = Duration::from_millis(200);

/// The stores that keep data on disk, the default first: each can be a column of its own.
pub(crate) fn stores() -> Vec<StoreKind> {
    let mut stores = StoreKind::ALL.to_vec();
    stores.retain(|store| *store != StoreKind::Memory);
    stores
}

/// Which program a system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Keyspan,
    PostgreSql,
    /// See `floor`.
    Floor,
}

/// A running server.
pub(crate) struct System {
    name: String,
    program: Program,
    addr: SocketAddr,
    user: &'static str,
    /// What starts it, again if need be.
    command: Command,
    child: Child,
    data_dir: Option<TempDir>,
    memory_bytes_max: u64,
}

impl System {
    /// The binary of this build, with the defaults that users get.
    pub(crate) async fn keyspan() -> System {
        System::keyspan_on(stores()[0], "Keyspan".to_string(), &[]).await
    }

    /// Keyspan on each store, each named after it.
    pub(crate) async fn keyspan_on_each() -> Vec<System> {
        let mut systems = Vec::new();
        for store in stores() {
            systems.push(System::keyspan_on(store, format!("Keyspan on {store}"), &[]).await);
        }
        systems
    }

    /// Keyspan on a store over an empty folder, with further arguments.
    pub(crate) async fn keyspan_on(store: StoreKind, name: String, arguments: &[&str]) -> System {
        let data_dir = TempDir::new().expect("a temporary folder");
        let addr = free_address();
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyspan"));
        command
            .args(["serve", "--store", store.name(), "--listen", &addr.to_string()])
            .arg("--data-dir")
            .arg(data_dir.path().join("data"))
            .args(arguments);
        System::start(name, Program::Keyspan, addr, data_dir, command).await
    }

    /// A server that answers every statement with the rows of this file: see `floor`.
    pub(crate) async fn floor(rows: &Path) -> System {
        let addr = free_address();
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.arg(FLOOR_ARGUMENT).arg(addr.to_string()).arg(rows);
        let folder = TempDir::new().expect("a temporary folder");
        System::start("floor".to_string(), Program::Floor, addr, folder, command).await
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
        let mut command = command(&programs.join("postgres"), run_as);
        command
            .args([
                "-p",
                &addr.port().to_string(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-k",
            ])
            .arg(data_dir.path())
            .arg("-D")
            .arg(&cluster);
        Some(
            System::start(
                "PostgreSQL".to_string(),
                Program::PostgreSql,
                addr,
                data_dir,
                command,
            )
            .await,
        )
    }

    async fn start(
        name: String,
        program: Program,
        addr: SocketAddr,
        data_dir: TempDir,
        mut command: Command,
    ) -> System {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        System {
            name,
            program,
            addr,
            user: match program {
                Program::Keyspan | Program::Floor => "bench",
                Program::PostgreSql => "postgres",
            },
            child: command.spawn().expect("the server starts"),
            command,
            data_dir: Some(data_dir),
            memory_bytes_max: 0,
        }
        .ready()
        .await
    }

    /// Ends it and starts it again over the same folder.
    pub(crate) async fn restart(mut self) -> System {
        self.end();
        self.start_again().await
    }

    /// Ends it in an instant, as a crash would. PostgreSQL has processes of its own that this does not end.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it over its folder, once it has ended.
    pub(crate) async fn start_again(mut self) -> System {
        self.child = self.command.spawn().expect("the server starts again");
        self.ready().await
    }

    /// Where its data lies.
    pub(crate) fn data_dir(&self) -> PathBuf {
        let folder = self
            .data_dir
            .as_ref()
            .expect("a system has its folder until it ends");
        folder.path().join("data")
    }

    /// Waits until it answers.
    async fn ready(self) -> System {
        let start = Instant::now();
        while start.elapsed() < START_PATIENCE {
            if self.try_connect().await.is_ok() {
                return self;
            }
            tokio::time::sleep(START_PAUSE).await;
        }
        panic!("{} does not answer on {}", self.name, self.addr);
    }

    /// Its name in the table.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is this build's.
    pub(crate) fn is_keyspan(&self) -> bool {
        self.program == Program::Keyspan
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

    /// After loading: what would go on in the background in the middle of a measurement is done before.
    pub(crate) async fn settle(&mut self) {
        self.settle_table("bench").await;
    }

    /// The same after loading another table.
    pub(crate) async fn settle_table(&mut self, table: &str) {
        if self.program == Program::PostgreSql {
            let client = self.connect().await;
            for statement in [format!("VACUUM ANALYZE {table}"), "CHECKPOINT".to_string()] {
                client.batch_execute(&statement).await.expect("maintenance runs");
            }
        }
        let start = Instant::now();
        let mut idle = 0;
        while idle < IDLE_PAUSES && start.elapsed() < START_PATIENCE {
            let before = self.processor_ticks();
            tokio::time::sleep(IDLE_PAUSE).await;
            idle = match self.processor_ticks().saturating_sub(before) {
                0 | 1 => idle + 1,
                _ => 0,
            };
        }
    }

    /// Processor time of all its processes so far, in the kernel's ticks (10 ms).
    fn processor_ticks(&self) -> u64 {
        process_tree(self.child.id()).into_iter().map(ticks).sum()
    }

    /// The same, in seconds. A process that has ended counts no more: PostgreSQL's of a connection does as long as it is open.
    pub(crate) fn processor_seconds(&self) -> f64 {
        self.processor_ticks() as f64 / 100.0
    }

    /// Looks at the memory of the server and all its processes; pages that they share count once.
    pub(crate) fn sample_memory(&mut self) {
        self.memory_bytes_max = self.memory_bytes_max.max(self.memory_bytes());
    }

    /// The memory that it and all its processes have now.
    pub(crate) fn memory_bytes(&self) -> u64 {
        process_tree(self.child.id())
            .into_iter()
            .map(proportional_bytes)
            .sum()
    }

    /// What it says its cache may take, as SHOW prints it.
    pub(crate) async fn cache_setting(&self) -> String {
        let query = match self.program {
            Program::Keyspan | Program::Floor => "SHOW keyspan.cache_bytes",
            Program::PostgreSql => "SHOW shared_buffers",
        };
        let row = self.connect().await.query_one(query, &[]).await;
        row.expect("the setting is shown").get(0)
    }

    /// The most memory that any sample saw.
    pub(crate) fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// Ends the server; gives Keyspan's folder back.
    pub(crate) fn stop(mut self) -> Option<TempDir> {
        self.end();
        let program = self.program;
        self.data_dir.take().filter(|_| program == Program::Keyspan)
    }

    /// Asks the server to end, and waits.
    fn end(&mut self) {
        let signal = match self.program {
            Program::PostgreSql => "-INT",
            Program::Keyspan | Program::Floor => "-TERM",
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

/// Processor time of a process so far, in the kernel's ticks.
fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // User and system time are the 14th and 15th field; the second ends with the parenthesis.
    fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum()
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
