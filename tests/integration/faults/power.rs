//! Power cuts: of a running server, and of one that starts again after a cut. What the disk may hold then is built from
//! the record of all file operations (see `disk`), opened, and checked: every acknowledged commit, each whole.

use std::path::Path;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::index;
use tempfile::TempDir;

use super::disk::{Disk, Model};
use super::process::{Launch, list_files};
use super::shim::Shim;
use super::trace::{self, Operation, What};
use super::workload::{Stop, Workload};
use super::{assert_none, keep, seed, stores, variable};

/// Of the moments at which most is unsynced, every so many is a cut: neighbours are alike.
const WORST_STRIDE: usize = 8;
/// Images of each start that is cut.
const IMAGES_A_START: usize = 4;
/// Of the images, every so many is opened a second time: what a recovery leaves behind must open as well.
const OPENED_TWICE: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_of_a_running_server_loses_nothing() {
    let images: usize = variable("KEYSPAN_POWER_IMAGES", 8);
    for store in stores() {
        let Some(recording) = Recording::make(store).await else {
            return;
        };
        let operations = trace::read(&recording.trace);
        let mut random = StdRng::seed_from_u64(seed());
        let cuts = choose_cuts(&operations, images, recording.workload.made_at(), &mut random);
        let mut disk = Disk::new(&recording.launch.data_dir);
        let (mut findings, mut done) = (Vec::new(), 0);
        for (round, cut) in cuts.into_iter().enumerate() {
            for operation in &operations[done..=cut] {
                disk.apply(operation);
            }
            done = cut + 1;
            let model = models()[round % models().len()];
            let image = Image::new(&recording, round);
            disk.write_image(model, &mut random, &image.cut);
            for finding in image.check(&recording.workload, operations[cut].end, round).await {
                let after = describe(&operations[cut]);
                findings.push(format!(
                    "{model:?} cut at {cut} of {} after {after}: {finding}",
                    operations.len()
                ));
                keep(&image.cut, &format!("{store}-power-{model:?}-{cut}"));
            }
        }
        assert_none(&findings, images, &repeat(store, images));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_of_a_starting_server_loses_nothing() {
    let images: usize = variable("KEYSPAN_POWER_IMAGES", 8);
    for store in stores() {
        let Some(recording) = Recording::make(store).await else {
            return;
        };
        let operations = trace::read(&recording.trace);
        let mut random = StdRng::seed_from_u64(seed());
        let cuts = choose_cuts(
            &operations,
            images.div_ceil(IMAGES_A_START),
            recording.workload.made_at(),
            &mut random,
        );
        let mut disk = Disk::new(&recording.launch.data_dir);
        let (mut findings, mut done) = (Vec::new(), 0);
        for (round, cut) in cuts.into_iter().enumerate() {
            for operation in &operations[done..=cut] {
                disk.apply(operation);
            }
            done = cut + 1;
            let model = models()[round % models().len()];
            let image = Image::new(&recording, round);
            disk.write_image(model, &mut random, &image.cut);
            let position = operations[cut].end;
            for finding in cut_again(&image, &recording.workload, position, &mut random).await {
                findings.push(format!(
                    "{model:?} cut at {cut} of {}: {finding}",
                    operations.len()
                ));
                keep(&image.cut, &format!("{store}-again-{model:?}-{cut}"));
            }
        }
        assert_none(&findings, images, &repeat(store, images));
    }
}

/// A server's run, and all it did to its files.
struct Recording {
    folder: TempDir,
    launch: Launch,
    workload: Workload,
    trace: Vec<u8>,
}

impl Recording {
    /// Runs the workload over a new directory; `None` without a shim.
    async fn make(store: &'static str) -> Option<Recording> {
        let folder = TempDir::new().expect("a temporary folder");
        let launch = Launch::new(store, folder.path().join("data"));
        let shim = Arc::new(Shim::new(&launch.data_dir, true)?);
        let workload = Workload::new(seed(), true);
        let server = launch.start(Some(&shim)).expect("a new directory opens");
        workload.make_tables(server.addr(), Some(&shim)).await;
        let stop = Stop::after(variable("KEYSPAN_POWER_COMMITS", 150));
        workload.run(server.addr(), &stop, Some(&shim)).await;
        server.kill();
        let trace = shim.read_trace();
        Some(Recording {
            folder,
            launch,
            workload,
            trace,
        })
    }
}

/// A disk after a cut: as it was cut, for a report, and a copy that servers open.
struct Image {
    cut: std::path::PathBuf,
    launch: Launch,
}

impl Image {
    fn new(recording: &Recording, round: usize) -> Image {
        let folder = recording.folder.path().join(format!("image-{round}"));
        Image {
            cut: folder.join("cut"),
            launch: Launch {
                data_dir: folder.join("opened"),
                ..recording.launch.clone()
            },
        }
    }

    /// Opens the copy and checks what it holds.
    async fn check(&self, workload: &Workload, position: u64, round: usize) -> Vec<String> {
        super::copy_folder(&self.cut, &self.launch.data_dir);
        let findings = open_and_check(&self.launch, workload, position, round).await;
        self.remove(&findings);
        findings
    }

    /// Takes the room back when nothing is to be seen.
    fn remove(&self, findings: &[String]) {
        let _ = std::fs::remove_dir_all(&self.launch.data_dir);
        if findings.is_empty() {
            let _ = std::fs::remove_dir_all(&self.cut);
        }
    }
}

async fn open_and_check(launch: &Launch, workload: &Workload, position: u64, round: usize) -> Vec<String> {
    let starts = if round.is_multiple_of(OPENED_TWICE) { 2 } else { 1 };
    for start in 1..=starts {
        let findings = match launch.start(None) {
            Ok(server) => workload.check(server.addr(), position, true).await,
            Err(refusal) => vec![format!(
                "refused: {refusal:?}; files: {}",
                list_files(&launch.data_dir)
            )],
        };
        if !findings.is_empty() {
            return findings
                .into_iter()
                .map(|finding| format!("start {start}: {finding}"))
                .collect();
        }
        if let Some(finding) = launch.check_files() {
            return vec![finding];
        }
    }
    Vec::new()
}

/// Records a start over the image, and cuts that again at some moments.
async fn cut_again(image: &Image, workload: &Workload, position: u64, random: &mut StdRng) -> Vec<String> {
    let data_dir = &image.launch.data_dir;
    super::copy_folder(&image.cut, data_dir);
    let shim = Shim::new(data_dir, true).expect("it was there before");
    let server = match image.launch.start(Some(&shim)) {
        Ok(server) => server,
        Err(refusal) => return vec![format!("refused: {refusal:?}; files: {}", list_files(data_dir))],
    };
    // Not before what follows the start in the background has begun.
    let mut findings = workload.check(server.addr(), position, true).await;
    server.kill();
    let trace = shim.read_trace();
    let operations = trace::read(&trace);
    let mut disk = Disk::load(&image.cut, data_dir);
    let mut done = 0;
    for (round, cut) in choose_cuts(&operations, IMAGES_A_START, 0, random)
        .into_iter()
        .enumerate()
    {
        for operation in &operations[done..=cut] {
            disk.apply(operation);
        }
        done = cut + 1;
        let model = models()[round % models().len()];
        let launch = Launch {
            data_dir: data_dir.with_extension(format!("again-{round}")),
            ..image.launch.clone()
        };
        disk.write_image(model, random, &launch.data_dir);
        let again = open_and_check(&launch, workload, position, round).await;
        let after = describe(&operations[cut]);
        findings.extend(again.into_iter().map(|finding| {
            format!(
                "then {model:?} cut of its start at {cut} of {} after {after}: {finding}",
                operations.len()
            )
        }));
        let _ = std::fs::remove_dir_all(&launch.data_dir);
    }
    image.remove(&findings);
    findings
}

/// Moments of the cuts, ascending: by chance, or those at which a file has most changes unsynced (after position `from` of
/// the trace: before, there is nothing to lose), or half of each.
fn choose_cuts(operations: &[Operation<'_>], count: usize, from: u64, random: &mut StdRng) -> Vec<usize> {
    let worst = match variable("KEYSPAN_POWER_CUTS", "both".to_string()).as_str() {
        "random" => 0,
        "worst" => count,
        "both" => count / 2,
        other => panic!("KEYSPAN_POWER_CUTS cannot be {other}"),
    };
    let mut heights = heights(operations);
    heights.retain(|(_, at)| operations[*at].end > from);
    heights.sort_unstable_by_key(|(height, at)| (std::cmp::Reverse(*height), *at));
    let mut cuts: Vec<usize> = heights
        .iter()
        .step_by(WORST_STRIDE)
        .take(worst)
        .map(|(_, at)| *at)
        .collect();
    let by_chance = (count - cuts.len()).min(operations.len());
    cuts.extend(index::sample(random, operations.len(), by_chance));
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// For each write, how many of its file's are not synced then.
fn heights(operations: &[Operation<'_>]) -> Vec<(usize, usize)> {
    let mut unsynced = std::collections::HashMap::<&str, usize>::new();
    let mut heights = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let count = unsynced.entry(operation.path).or_default();
        match operation.what {
            What::Sync | What::Create => *count = 0,
            What::Write { durable: false, .. } | What::SyncRange { .. } | What::Resize { .. } => {
                *count += 1;
                heights.push((*count, at));
            }
            _ => {}
        }
    }
    heights
}

fn models() -> Vec<Model> {
    let names = variable("KEYSPAN_POWER_MODELS", "some,ext4,prefix,none".to_string());
    names
        .split(',')
        .map(|name| name.parse().unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The operation in a few words.
fn describe(operation: &Operation<'_>) -> String {
    let name = Path::new(operation.path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    match &operation.what {
        What::Write {
            offset,
            data,
            durable,
        } => {
            let how = if *durable { "durable write" } else { "write" };
            format!("{how} {name} {offset}+{}", data.len())
        }
        what => format!("{what:?} {name}"),
    }
}

fn repeat(store: &str, images: usize) -> String {
    format!(
        "KEYSPAN_FAULTS_STORE={store} KEYSPAN_POWER_IMAGES={images} KEYSPAN_POWER_COMMITS={}",
        variable("KEYSPAN_POWER_COMMITS", 150)
    )
}
