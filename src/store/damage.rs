//! Random damage to the log of a real directory, by seed: segments that are removed, cut, zeroed, swapped, or another's; the log of
//! an older copy, of a copy that went on by itself, of another directory; after a clean end and after SIGKILL. Either a start
//! refuses the directory, or every acknowledged commit is there. `KEYSPAN_DAMAGE_SEEDS` runs more seeds.
//!
//! Directories are filled by a child process, which is this test binary asked for the same test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng, SeedableRng};

use super::{Batch, KeyRange, Page, ScanRequest, Store, StoreKind, StoreOptions, Write, open_store};
use crate::{Error, Result};

/// Tells the child what to do: the folder, the directory's seed, how many commits, whether to close.
const TASK: &str = "KEYSPAN_DAMAGE_TASK";
const SEEDS_VARIABLE: &str = "KEYSPAN_DAMAGE_SEEDS";
/// Directories that are filled for each store, and how often a copy of each is damaged.
const SEEDS: u64 = 3;
const DAMAGES: u64 = 25;
/// A child of this seed waits for the checkpoint that is due when commits were replayed.
const SETTLING: u64 = 77_777;

fn open(kind: StoreKind, directory: &Path, seed: u64) -> Result<Arc<dyn Store>> {
    let options = StoreOptions {
        cache_bytes: 1 << 20,
        // Some recycle segments, some keep all.
        checkpoint_bytes: if seed.is_multiple_of(2) {
            100 << 10
        } else {
            64 << 20
        },
        ..StoreOptions::default()
    };
    open_store(kind, directory, &options)
}

/// What commit `number` of a directory writes.
fn value(seed: u64, number: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003) ^ number);
    let length = match random.random_range(0..40) {
        0 => random.random_range(0..80_000),
        _ => random.random_range(0..3000),
    };
    let mut value = seed.to_be_bytes().to_vec();
    value.resize(8 + length, random.random());
    value
}

/// Commits `from..to`, and says so.
async fn fill(store: &dyn Store, seed: u64, from: u64, to: u64) {
    for number in from..to {
        let key = number.to_be_bytes().to_vec();
        let writes = vec![Write::Put {
            key,
            value: value(seed, number),
        }];
        let batch = Batch {
            writes,
            ..Batch::default()
        };
        store.commit(batch).await.expect("a commit");
    }
}

/// Every row of the store.
async fn rows(store: &dyn Store) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let snapshot = store.snapshot().await?;
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange {
            start: vec![0],
            end: None,
        }],
        reverse: false,
        keys_only: false,
        page_rows_max: 1000,
        page_bytes_max: 1 << 20,
    });
    let (mut found, mut page) = (BTreeMap::new(), Page::new());
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(found);
        }
        found.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}

/// Runs a child that commits `from..to` to the directory and then is killed, or closes the store.
fn run_child(kind: StoreKind, directory: &Path, (seed, from, to): (u64, u64, u64), closes: bool) {
    let mut child = Command::new(std::env::current_exe().expect("the test binary"))
        .args([
            "--exact",
            &format!("store::damage::damage_to_the_log_is_never_silent_on_{kind}"),
            "--nocapture",
        ])
        .env(
            TASK,
            format!("{} {seed} {from} {to} {closes}", directory.display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let is_done = lines
        .map_while(std::result::Result::ok)
        .any(|line| line == "filled");
    assert!(is_done, "the child ended before it had committed all");
    if !closes {
        child.kill().expect("it is killed");
    }
    child.wait().expect("it has ended");
}

async fn be_child(kind: StoreKind, task: &str) {
    let words: Vec<&str> = task.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    let directory = Path::new(words[0]);
    let store = open(kind, directory, number(1)).expect("it opens");
    while number(1) == SETTLING && segments(directory).len() > 2 {
        // The checkpoint is due at once, but comes when it comes.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    fill(&*store, number(1), number(2), number(3)).await;
    if words[4] == "true" {
        store.close().await.expect("it closes");
    }
    println_line("filled");
    if words[4] != "true" {
        std::future::pending::<()>().await;
    }
}

fn println_line(line: &str) {
    use std::io::Write as _;
    // The test harness may have begun a line.
    std::io::stdout()
        .write_all(format!("\n{line}\n").as_bytes())
        .expect("the parent reads");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A directory, and others that it may be mixed up with.
struct Scene {
    kind: StoreKind,
    folder: tempfile::TempDir,
    commits: u64,
    seed: u64,
}

impl Scene {
    /// `data` is the directory as it stands; `older` a copy of it from before; `copy` that copy, after it went on by itself; `other`
    /// another directory.
    fn new(kind: StoreKind, seed: u64) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let mut random = StdRng::seed_from_u64(seed);
        let at = |name: &str| folder.path().join(name);
        let early = random.random_range(1..60);
        let commits = early + random.random_range(1..120);
        run_child(kind, &at("data"), (seed, 0, early), random.random());
        copy(&at("data"), &at("older"));
        copy(&at("data"), &at("copy"));
        run_child(kind, &at("copy"), (seed + 5000, early, commits), random.random());
        run_child(kind, &at("other"), (seed + 9000, 0, commits), random.random());
        run_child(kind, &at("data"), (seed, early, commits), seed.is_multiple_of(3));
        Scene {
            kind,
            folder,
            commits,
            seed,
        }
    }

    /// Damages a copy of the directory, opens it, and answers whether it was refused.
    async fn damage(&self, random: &mut StdRng, round: u64) -> bool {
        let damaged = tempfile::tempdir().unwrap();
        copy(&self.folder.path().join("data"), damaged.path());
        let what = self.plant(damaged.path(), random);
        let told = || format!("{} seed {} round {round}: {what}", self.kind, self.seed);
        let store = match open(self.kind, damaged.path(), self.seed) {
            Ok(store) => store,
            Err(Error::Corrupt { .. }) => return true,
            Err(error) => panic!("{}: {error}", told()),
        };
        let found = rows(&*store)
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", told()));
        for number in 0..self.commits {
            let is_there = found.get(&number.to_be_bytes()[..]) == Some(&value(self.seed, number));
            assert!(
                is_there,
                "{}: commit {number} of {} is lost",
                told(),
                self.commits
            );
        }
        assert_eq!(found.len() as u64, self.commits, "{}", told());
        false
    }

    fn plant(&self, data: &Path, random: &mut StdRng) -> String {
        let segments = segments(data);
        let at = match random.random_range(0..3) {
            0 => random.random_range(0..segments.len()),
            _ => segments.len() - 1,
        };
        let path = &segments[at];
        let name = path.file_name().unwrap();
        let elsewhere = *["older", "copy", "other"].choose(random).unwrap();
        let from = self.folder.path().join(elsewhere);
        let bytes = std::fs::read(path).unwrap();
        // Where something stands, for the most part.
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let offset = match random.random_range(0..3) {
            0 => used.saturating_sub(random.random_range(1..100)),
            1 => random.random_range(0..=used),
            _ => random.random_range(0..=bytes.len()),
        };
        match random.random_range(0..9) {
            0 => {
                std::fs::remove_file(path).unwrap();
                format!("{name:?} is removed")
            }
            1 | 2 => {
                std::fs::write(path, &bytes[..offset]).unwrap();
                format!("{name:?} is cut to {offset} of {used} bytes")
            }
            3 | 4 => {
                let length = random.random_range(1..=bytes.len() - offset.min(bytes.len() - 1));
                let mut zeroed = bytes.clone();
                zeroed[offset.min(bytes.len() - 1)..][..length].fill(0);
                std::fs::write(path, zeroed).unwrap();
                format!("{length} bytes of {name:?} are zeroed from {offset} of {used} on")
            }
            5 => {
                let other = segments.choose(random).unwrap();
                std::fs::write(path, std::fs::read(other).unwrap()).unwrap();
                std::fs::write(other, bytes).unwrap();
                format!("{name:?} and {:?} are swapped", other.file_name().unwrap())
            }
            6 => {
                let others = self::segments(&from);
                let other = others
                    .iter()
                    .find(|other| other.file_name() == Some(name))
                    .unwrap_or(&others[0]);
                std::fs::copy(other, path).unwrap();
                format!("{name:?} is {:?} of {elsewhere}", other.file_name().unwrap())
            }
            7 => {
                std::fs::remove_dir_all(data.join("log")).unwrap();
                if random.random() {
                    copy(&from.join("log"), &data.join("log"));
                    return format!("the log is that of {elsewhere}");
                }
                "the log is removed".to_string()
            }
            _ => {
                // Not the engine of the older copy: its log goes on to the same commits.
                let elsewhere = *["copy", "other"].choose(random).unwrap();
                let from = self.folder.path().join(elsewhere);
                let engine = match self.kind {
                    StoreKind::Sled => "sled-2",
                    _ => "fjall",
                };
                std::fs::remove_dir_all(data.join(engine)).unwrap();
                copy(&from.join(engine), &data.join(engine));
                format!("the engine is that of {elsewhere}")
            }
        }
    }
}

/// The segments of a directory's log, in order.
fn segments(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join("log")).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    found.sort();
    found
}

async fn check(kind: StoreKind) {
    if let Ok(task) = std::env::var(TASK) {
        be_child(kind, &task).await;
        return;
    }
    let seeds = std::env::var(SEEDS_VARIABLE).map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let mut refused = 0;
    for seed in 0..seeds {
        let scene = Scene::new(kind, seed);
        let mut random = StdRng::seed_from_u64(seed);
        for round in 0..DAMAGES {
            refused += u64::from(scene.damage(&mut random, round).await);
        }
    }
    assert!(
        refused > seeds * DAMAGES / 3 && refused < seeds * DAMAGES,
        "{refused} of {} were refused",
        seeds * DAMAGES
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_the_log_is_never_silent_on_sled() {
    check(StoreKind::Sled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_the_log_is_never_silent_on_fjall() {
    check(StoreKind::Fjall).await;
}

/// Kills in a row, one row each: what was replayed is soon in the engine, and its segments are used again.
fn crash_in_a_row(kind: StoreKind) {
    let folder = tempfile::tempdir().unwrap();
    for crash in 0..10 {
        run_child(kind, folder.path(), (SETTLING, crash, crash + 1), false);
        let left = segments(folder.path()).len();
        assert!(left <= 3, "{kind}: {left} segments after {crash} crashes");
    }
}

#[test]
fn crashes_in_a_row_do_not_pile_up_the_log() {
    crash_in_a_row(StoreKind::Sled);
    crash_in_a_row(StoreKind::Fjall);
}
