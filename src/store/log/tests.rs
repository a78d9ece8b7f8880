//! Tests of the log by itself: what is appended is read back, over segments and restarts; torn ends go, damage is named.

use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::store::Write;
use crate::store::disk::simulated::{Fault, SimulatedDisk};
use crate::store::disk::{Disk, OsDisk};

const SEGMENT_BYTES: u64 = 16 << 10;
const LOG_BYTES: u64 = 256 << 10;

fn put(key: u64, length: usize) -> Write {
    Write::Put {
        key: key.to_be_bytes().to_vec(),
        value: vec![key as u8; length],
    }
}

/// Opens the log that is there, or a new one.
fn open(disk: &Arc<dyn Disk>, directory: &Path) -> Result<(Log, Option<Survey>)> {
    let place = LogPlace::look(Arc::clone(disk), directory, &directory.join("end"))?;
    let end_file = place.open_end()?;
    let survey = place.survey;
    let files = LogFiles::open(
        Arc::clone(disk),
        directory,
        SEGMENT_BYTES,
        LOG_BYTES,
        survey.as_ref(),
    )?;
    let clock = survey.as_ref().map_or(0, |survey| survey.clock);
    let log = Log::open(Arc::new(files), survey.as_ref(), clock, end_file);
    Ok((log, survey))
}

fn append(log: &mut Log, timestamp: Timestamp, length: usize) -> Result<Position> {
    let mut body = Body::default();
    body.commit(timestamp);
    body.push(&put(timestamp, length));
    log.append(&body, timestamp)
}

/// The timestamps and the lengths of the values in the log.
fn commits(disk: &dyn Disk, directory: &Path) -> Result<Vec<(Timestamp, usize)>> {
    let vouched = Vouched::read(disk, &directory.join("end"))?;
    let Some(survey) = Survey::read(disk, directory, vouched.as_ref())? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    ReadRecords::new(disk, directory, &survey).for_each(|_, record| {
        if let Record::Commit {
            timestamp, writes, ..
        } = record
        {
            writes.for_each(|key, value| {
                assert_eq!(key, timestamp.to_be_bytes());
                found.push((timestamp, value.map_or(0, <[u8]>::len)));
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(found)
}

#[test]
fn records_of_every_size_are_read_back_over_segments_and_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
    let mut expected = Vec::new();
    let mut timestamp = 0;
    for _ in 0..3 {
        let (mut log, _) = open(&disk, directory.path()).unwrap();
        for length in [0, 1, 7, 8, 100, 4000, 4096, 5000, 16_000, 20_000, 100_000, 3] {
            timestamp += 1;
            append(&mut log, timestamp, length).unwrap();
            expected.push((timestamp, length));
            if timestamp % 3 == 0 {
                log.sync().unwrap();
            }
        }
        log.sync().unwrap();
        assert_eq!(commits(&*disk, directory.path()).unwrap(), expected);
    }
}

#[test]
fn a_start_writes_nothing_before_there_is_a_record() {
    let disk = SimulatedDisk::new(1);
    let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (mut log, _) = open(&as_disk, Path::new("log")).unwrap();
    append(&mut log, 1, 100).unwrap();
    log.sync().unwrap();
    let files = disk.files();
    disk.fail_in(1, Fault::Full);
    let (mut log, _) = open(&as_disk, Path::new("log")).unwrap();
    log.sync().unwrap();
    log.mark().unwrap();
    assert_eq!(disk.files(), files);
    assert_eq!(append(&mut log, 2, 100).unwrap_err().sqlstate(), "53100");
    assert_eq!(commits(&disk, Path::new("log")).unwrap(), [(1, 100)]);
}

#[test]
fn what_was_not_synced_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
    let (mut log, _) = open(&disk, directory.path()).unwrap();
    append(&mut log, 1, 10).unwrap();
    log.sync().unwrap();
    append(&mut log, 2, 10).unwrap();
    assert!(log.unsynced_bytes() > 0);
    drop(log);
    assert_eq!(commits(&*disk, directory.path()).unwrap(), [(1, 10)]);
}

#[test]
fn segments_are_recycled_once_the_engine_has_their_commits() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
    let (mut log, _) = open(&disk, directory.path()).unwrap();
    let mut body = Body::default();
    body.part(None);
    body.push(&put(0, 100));
    let part = log.append(&body, 0).unwrap();
    log.files().keep_large(part);
    for timestamp in 1..200 {
        append(&mut log, timestamp, 1000).unwrap();
        log.sync().unwrap();
    }
    let full = log.files().bytes();
    assert!(full > 10 * SEGMENT_BYTES);
    log.files().recycle(150).unwrap();
    assert_eq!(
        log.files().bytes(),
        full,
        "the part of a large commit is still needed"
    );
    log.files().end_large(part, Some(100));
    log.files().recycle(99).unwrap();
    assert_eq!(
        log.files().bytes(),
        full,
        "the large commit is not in the engine yet"
    );
    log.files().recycle(150).unwrap();
    let left = commits(&*disk, directory.path()).unwrap();
    assert!(
        left[0].0 > 100 && left[0].0 <= 151 && left.last().unwrap().0 == 199,
        "{left:?}"
    );
    // The spares are used again, and what stands in them from before is not taken for records.
    let files = std::fs::read_dir(directory.path()).unwrap().count();
    for timestamp in 200..300 {
        append(&mut log, timestamp, 1000).unwrap();
        log.sync().unwrap();
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), files);
    let found = commits(&*disk, directory.path()).unwrap();
    assert!(found.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0) && found.last().unwrap().0 == 299);
}

/// Appends commits until the disk fails; answers the last one synced and the last one appended.
fn append_until_failure(log: &mut Log, random: &mut StdRng, from: Timestamp) -> (Timestamp, Timestamp) {
    let (mut synced, mut appended) = (from, from);
    for timestamp in from + 1..from + 200 {
        let length = match random.random_range(0..20) {
            0 => random.random_range(0..30_000),
            _ => random.random_range(0..600),
        };
        appended = timestamp;
        if append(log, timestamp, length).is_err() {
            break;
        }
        if random.random() {
            match log.sync() {
                Ok(()) => synced = timestamp,
                Err(_) => break,
            }
        }
        if random.random_range(0..30) == 0 && log.files().recycle(synced.saturating_sub(5)).is_err() {
            break;
        }
    }
    (synced, appended)
}

#[test]
fn after_a_fault_anywhere_the_log_ends_between_what_was_synced_and_what_was_appended() {
    for seed in 0..400 {
        let mut random = StdRng::seed_from_u64(seed);
        let directory = Path::new("log");
        let mut disk = SimulatedDisk::new(seed);
        let (mut synced, mut end) = (0, 0);
        for _ in 0..4 {
            let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
            let fault = if random.random() {
                Fault::PowerCut
            } else {
                Fault::Error
            };
            disk.fail_in(random.random_range(1..120), fault);
            match open(&as_disk, directory) {
                Ok((mut log, survey)) => {
                    end = survey.map_or(end, |survey| survey.clock);
                    assert!(end >= synced, "seed {seed}: ends at {end}, {synced} was synced");
                    (synced, end) = append_until_failure(&mut log, &mut random, end);
                }
                Err(Error::Corrupt { what, reason }) => panic!("seed {seed}: {what}: {reason}"),
                Err(_) => {}
            }
            disk.cut_power();
            disk = disk.after_power_cut();
            let found = commits(&disk, directory).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let last = found.last().map_or(0, |commit| commit.0);
            assert!(
                last >= synced && last <= end,
                "seed {seed}: ends at {last}, not between {synced} and {end}"
            );
            synced = last;
        }
    }
}

#[test]
fn a_full_disk_refuses_a_segment_and_leaves_the_log_as_it_was() {
    let disk = SimulatedDisk::new(1);
    let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (mut log, _) = open(&as_disk, Path::new("log")).unwrap();
    append(&mut log, 1, 100).unwrap();
    disk.fail_in(1, Fault::Full);
    let error = append(&mut log, 2, 50_000).unwrap_err();
    assert_eq!(error.sqlstate(), "53100");
    append(&mut log, 2, 100).unwrap();
    log.sync().unwrap();
    assert_eq!(commits(&disk, Path::new("log")).unwrap(), [(1, 100), (2, 100)]);
}

#[test]
fn a_write_without_room_before_a_segment_leaves_the_log_as_it_was() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let (mut log, _) = open(&as_disk, Path::new("log")).unwrap();
        append(&mut log, 1, 100).unwrap();
        log.sync().unwrap();
        append(&mut log, 2, 100).unwrap();
        // The next record takes a new segment, before which what stands in this one is written.
        disk.fail_in(1, Fault::NoRoom);
        let error = append(&mut log, 3, 50_000).unwrap_err();
        assert_eq!(error.sqlstate(), "53100", "seed {seed}");
        append(&mut log, 3, 100).unwrap();
        log.sync().unwrap();
        append(&mut log, 4, 100).unwrap();
        log.sync().unwrap();
        let found = commits(&disk, Path::new("log")).unwrap();
        assert_eq!(found, [(1, 100), (2, 100), (3, 100), (4, 100)], "seed {seed}");
    }
}

#[test]
fn damage_before_something_durable_is_never_taken_for_the_end() {
    let mut refused = 0;
    for seed in 0..300 {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedDisk::new(seed);
        let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let (mut log, _) = open(&as_disk, Path::new("log")).unwrap();
        for timestamp in 1..60 {
            append(&mut log, timestamp, random.random_range(0..900)).unwrap();
            log.sync().unwrap();
        }
        log.mark().unwrap();
        let files = disk.files();
        let (path, length) = &files[random.random_range(0..files.len())];
        disk.damage(
            path,
            random.random_range(0..*length),
            1 << random.random_range(0..8),
        );
        match commits(&disk, Path::new("log")) {
            Ok(found) => assert_eq!(found.len(), 59, "seed {seed}: {} is damaged", path.display()),
            Err(Error::Corrupt { .. }) => refused += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(refused > 100, "{refused} of 300 were found");
}

#[test]
fn a_missing_segment_is_damage() {
    for missing in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
        let (mut log, _) = open(&disk, directory.path()).unwrap();
        for timestamp in 1..100 {
            append(&mut log, timestamp, 1000).unwrap();
        }
        log.sync().unwrap();
        let path = directory.path().join(format!("{:016x}.log", 2 + missing));
        std::fs::remove_file(path).unwrap();
        assert!(matches!(
            commits(&*disk, directory.path()),
            Err(Error::Corrupt { .. })
        ));
    }
}
