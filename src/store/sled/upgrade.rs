//! Takes a database of data format 1 along: copies its entries into one of this release. Called by `open_store` before
//! it opens the engine; knows nothing of what the entries mean.
//!
//! Format 1 had segments of 512 KiB, keys as they are and files for large values. Its folder `sled` is read from the
//! first key to the last (backward it might lose its way) into `sled-2.new`, which takes its place as told in `folder`:
//! whenever the process ends, the next start either begins again or finds all of it done. Both are on the disk for a
//! moment, so that there must be room for both.

use std::path::Path;
use std::time::{Duration, Instant};

use super::SledEngine;
use super::fault::{Failure, Fault};
use super::folder;
use crate::Result;
use crate::store::engine::{Engine, EngineBatch};

/// The cache of either database: each page is read or written once.
const CACHE_BYTES: u64 = 64 << 20;
/// Entries are written in batches of about this size.
const BATCH_BYTES: usize = 1 << 20;
/// How often a long copy says how far it is.
const REPORT_PERIOD: Duration = Duration::from_secs(5);

impl SledEngine {
    /// Makes sure that a data directory with a database of format 1 has one of this release instead; one without is left
    /// alone. `check` judges the copy before it takes the place of the old database, which is gone afterwards: an old
    /// database that lost what it held reads as an empty one. Errors: those of `open` and `check`; nothing is changed
    /// then.
    pub fn upgrade(data_dir: &Path, check: &dyn Fn(&dyn Engine) -> Result<()>) -> Result<()> {
        let old = data_dir.join(folder::OLD);
        if !old.exists() {
            return Ok(());
        }
        if !data_dir.join(folder::CURRENT).exists() {
            folder::remove(data_dir, folder::UNFINISHED)?;
            let new = SledEngine::open_folder(&data_dir.join(folder::UNFINISHED), true, CACHE_BYTES)?;
            copy(&old, &new)?;
            check(&new)?;
            new.close()?;
            drop(new);
            folder::finish(data_dir)?;
        }
        folder::remove(data_dir, folder::OLD)
    }
}

/// Copies every entry.
fn copy(old: &Path, new: &SledEngine) -> Result<()> {
    tracing::info!(
        "taking along the data of an earlier release in \"{}\"",
        old.display()
    );
    let started = Instant::now();
    let config = folder::config(old, folder::OLD_SEGMENT_BYTES, CACHE_BYTES);
    let db = folder::open(old, &config, false)?;
    let failure = Failure::new(old);
    let mut entries = failure.call(|| Ok(db.iter()))?;
    let (mut copied, mut reported) = (0u64, started);
    loop {
        let batch = failure.call(|| next_batch(&mut entries))?;
        if batch.is_empty() {
            break;
        }
        copied += batch.len() as u64;
        new.apply(&batch)?;
        if reported.elapsed() >= REPORT_PERIOD {
            reported = Instant::now();
            tracing::info!("{copied} entries are copied");
        }
    }
    tracing::info!(
        "{copied} entries were copied in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The next entries; none at the end.
fn next_batch(entries: &mut sled::Iter) -> Result<EngineBatch, Fault> {
    let mut batch = EngineBatch::default();
    while batch.size_bytes() < BATCH_BYTES {
        let Some(entry) = entries.next() else { break };
        let (key, value) = entry?;
        batch.put(&key, &[&value]);
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::Error;
    use crate::store::engine_tests::{compare, entries, random_key};
    use crate::store::memory::MemoryEngine;

    fn open(data_dir: &Path) -> Result<SledEngine> {
        SledEngine::open(data_dir, 1 << 20, File::create(data_dir.join("LOCK")).unwrap())
    }

    /// Writes a database of format 1, as releases of that format did; answers what it holds.
    fn old_database(data_dir: &Path) -> MemoryEngine {
        let config = folder::config(&data_dir.join("sled"), folder::OLD_SEGMENT_BYTES, 1 << 20);
        let db = config.open().unwrap();
        let model = MemoryEngine::new();
        let mut random = StdRng::seed_from_u64(1);
        let mut batch = EngineBatch::default();
        batch.put(b"", &[b"the clock"]);
        for number in 0..3000u32 {
            let size = if number % 500 == 0 {
                300_000
            } else {
                random.random_range(0..300)
            };
            batch.put(&random_key(&mut random), &[&vec![number as u8; size]]);
        }
        model.apply(&batch).unwrap();
        for (key, value) in batch.iter() {
            db.insert(key, value.unwrap_or_default()).unwrap();
        }
        db.flush().unwrap();
        model
    }

    fn accept(_: &dyn Engine) -> Result<()> {
        Ok(())
    }

    #[test]
    fn every_entry_is_taken_along() {
        let directory = tempfile::tempdir().unwrap();
        let model = old_database(directory.path());
        assert!(
            std::fs::read_dir(directory.path().join("sled/blobs"))
                .unwrap()
                .count()
                > 0
        );
        assert!(open(directory.path()).is_err(), "an old database is no empty one");
        // What an earlier attempt left is thrown away.
        std::fs::create_dir(directory.path().join("sled-2.new")).unwrap();
        std::fs::write(directory.path().join("sled-2.new/conf"), "half").unwrap();
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        compare(&open(directory.path()).unwrap(), &model, &[Vec::new()]);
        let left = ["sled", "sled-2.new"].map(|name| directory.path().join(name).exists());
        assert_eq!(left, [false, false]);
        // Once more, as every start does.
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        compare(&open(directory.path()).unwrap(), &model, &[Vec::new()]);
    }

    #[test]
    fn a_copy_that_is_refused_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let model = old_database(directory.path());
        let refuse = |copy: &dyn Engine| {
            assert!(entries(copy, b"", None, false) == entries(&model, b"", None, false));
            Err(Error::unsupported("this", None))
        };
        assert_eq!(
            SledEngine::upgrade(directory.path(), &refuse),
            Err(Error::unsupported("this", None))
        );
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        compare(&open(directory.path()).unwrap(), &model, &[Vec::new()]);
    }

    /// A start that ended between the last two steps.
    #[test]
    fn beside_a_finished_copy_the_old_database_is_a_left_over() {
        let directory = tempfile::tempdir().unwrap();
        let model = old_database(directory.path());
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        std::fs::create_dir(directory.path().join("sled")).unwrap();
        std::fs::write(directory.path().join("sled/db"), "something").unwrap();
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        compare(&open(directory.path()).unwrap(), &model, &[Vec::new()]);
        assert!(!directory.path().join("sled").exists());
    }

    /// A data directory that release 1 made, kept in `fixtures`.
    #[test]
    fn the_kept_data_directory_is_taken_along() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/data-format-1/data/sled");
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("sled")).unwrap();
        for file in ["conf", "db"] {
            std::fs::copy(kept.join(file), directory.path().join("sled").join(file)).unwrap();
        }
        SledEngine::upgrade(directory.path(), &accept).unwrap();
        let found = entries(&open(directory.path()).unwrap(), b"", None, true);
        assert!(found.len() > 20, "{} entries", found.len());
        assert!(
            found.iter().all(|(_, value)| value.len() >= 8),
            "each has its timestamp"
        );
    }
}
