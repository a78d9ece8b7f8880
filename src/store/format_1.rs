//! What data directories of format 1 had instead of a log, read once when such a directory is taken along: a WATERMARK, which
//! names a commit known to be durable, and now and then a JOURNAL, which holds a large commit that was under way.
//!
//! ```text
//!   WATERMARK   one line: the number of the commit
//!   JOURNAL     [timestamp: u64 BE]
//!               [length: u64 BE][piece]  …            at least one; no length is 0
//!               [0: u64][crc32c of all before: u32 BE]
//!
//!   piece:      for each write  [key length: u64 BE][value length + 1, or 0 to delete: u64 BE][key][value]
//! ```
//!
//! A journal was whole and durable before the engine had any of its pieces, and the last piece moved the clock. So one
//! that names the commit behind the clock is applied; an older one is done. One that is not whole belongs to a commit that
//! never began, unless the engine has values of that commit: then it is damaged.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

use super::engine::{Engine, EngineBatch};
use super::format::{corrupt, io_error};
use super::mvcc::{read_clock, split_stored};
use crate::Result;

/// The format of such directories.
pub(super) const FORMAT: u32 = 1;

const WATERMARK: &str = "WATERMARK";
const JOURNAL: &str = "JOURNAL";

/// Brings the engine of a directory of format 1 to its last commit. May be repeated. Errors: `Corrupt`, `Io`.
pub(super) fn finish(data_dir: &Path, engine: &dyn Engine) -> Result<()> {
    if let Some(journal) = read(&data_dir.join(JOURNAL))? {
        finish_journal(data_dir, &journal, engine)?;
    }
    let Some(watermark) = read(&data_dir.join(WATERMARK))? else {
        return Ok(());
    };
    let durable: u64 = str::from_utf8(&watermark)
        .ok()
        .and_then(|line| line.trim_end().parse().ok())
        .ok_or_else(|| corrupt(data_dir, "its WATERMARK file is unreadable"))?;
    let clock = read_clock(engine)?.timestamp;
    if clock < durable {
        let reason = format!("its engine ends at commit {clock}, but commit {durable} was durable");
        return Err(corrupt(data_dir, &reason));
    }
    Ok(())
}

/// Removes the files, once the directory has this release's format.
pub(super) fn forget(data_dir: &Path) -> Result<()> {
    for name in [WATERMARK, JOURNAL] {
        let path = data_dir.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(io_error("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn finish_journal(data_dir: &Path, journal: &[u8], engine: &dyn Engine) -> Result<()> {
    let clock = read_clock(engine)?.timestamp;
    match decode(journal) {
        Some((timestamp, batch)) if timestamp == clock + 1 => engine.apply(&batch),
        Some((timestamp, _)) if timestamp > clock => {
            let reason = format!("its engine ends at commit {clock}, but commit {timestamp} had begun");
            Err(corrupt(data_dir, &reason))
        }
        Some(_) => Ok(()),
        None if has_newer(engine, clock)? => Err(corrupt(
            data_dir,
            "its JOURNAL is unreadable, and the commit in it had begun",
        )),
        None => Ok(()),
    }
}

/// Whether the engine has a value of a commit above its clock.
fn has_newer(engine: &dyn Engine, clock: u64) -> Result<bool> {
    let mut found = Ok(false);
    engine.scan(&[0], None, false, &mut |_, stored| match split_stored(stored) {
        Ok((timestamp, _)) if timestamp <= clock => ControlFlow::Continue(()),
        newer_or_damaged => {
            found = newer_or_damaged.map(|_| true);
            ControlFlow::Break(())
        }
    })?;
    found
}

/// The timestamp and the writes of a journal, if it is whole.
fn decode(journal: &[u8]) -> Option<(u64, EngineBatch)> {
    let (covered, checksum) = journal.split_last_chunk()?;
    if u32::from_be_bytes(*checksum) != crc32c::crc32c(covered) {
        return None;
    }
    let (timestamp, mut rest) = number(covered)?;
    let mut batch = EngineBatch::default();
    loop {
        let (length, behind) = number(rest)?;
        if length == 0 {
            return behind.is_empty().then_some((timestamp, batch));
        }
        let (mut piece, behind) = cut(behind, length)?;
        while !piece.is_empty() {
            piece = decode_write(piece, &mut batch)?;
        }
        rest = behind;
    }
}

/// Adds the first write of a piece to the batch; answers the rest.
fn decode_write<'a>(piece: &'a [u8], batch: &mut EngineBatch) -> Option<&'a [u8]> {
    let (key_length, rest) = number(piece)?;
    let (value_length, rest) = number(rest)?;
    let (key, rest) = cut(rest, key_length)?;
    match value_length.checked_sub(1) {
        None => {
            batch.delete(key);
            Some(rest)
        }
        Some(length) => {
            let (value, rest) = cut(rest, length)?;
            batch.put(key, &[value]);
            Some(rest)
        }
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

fn cut(bytes: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(length).ok()?)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => bytes.map(Some).map_err(io_error("read", path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryEngine;

    fn engine(clock: u64, rows: &[(&[u8], u64)]) -> MemoryEngine {
        let engine = MemoryEngine::new();
        let mut batch = EngineBatch::default();
        batch.put(b"", &[&clock.to_be_bytes(), &1u32.to_be_bytes()]);
        rows.iter()
            .for_each(|(key, timestamp)| batch.put(key, &[&timestamp.to_be_bytes(), b"value"]));
        engine.apply(&batch).unwrap();
        engine
    }

    /// A journal of commit 8: one piece, which puts `b`, deletes `a` and moves the clock.
    fn journal() -> Vec<u8> {
        let clock = [8u64.to_be_bytes().as_slice(), &1u32.to_be_bytes()].concat();
        let value = [8u64.to_be_bytes().as_slice(), b"new"].concat();
        let mut piece = Vec::new();
        let writes: [(&[u8], Option<&[u8]>); 3] = [(b"b", Some(&value)), (b"a", None), (b"", Some(&clock))];
        for (key, value) in writes {
            piece.extend((key.len() as u64).to_be_bytes());
            piece.extend(value.map_or(0, |value| value.len() as u64 + 1).to_be_bytes());
            piece.extend(key);
            piece.extend(value.unwrap_or_default());
        }
        let mut journal = 8u64.to_be_bytes().to_vec();
        journal.extend((piece.len() as u64).to_be_bytes());
        journal.extend(piece);
        journal.extend([0; 8]);
        journal.extend(crc32c::crc32c(&journal).to_be_bytes());
        journal
    }

    fn finished(journal: Option<&[u8]>, watermark: &str, engine: &MemoryEngine) -> Result<u64> {
        let directory = tempfile::tempdir().unwrap();
        if let Some(journal) = journal {
            std::fs::write(directory.path().join(JOURNAL), journal).unwrap();
        }
        std::fs::write(directory.path().join(WATERMARK), watermark).unwrap();
        finish(directory.path(), engine)?;
        forget(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        read_clock(engine).map(|clock| clock.timestamp)
    }

    fn is_corrupt<T>(result: Result<T>) -> bool {
        matches!(result, Err(crate::Error::Corrupt { .. }))
    }

    #[test]
    fn a_commit_under_way_is_finished() {
        let half = engine(7, &[(b"a", 3), (b"b", 8)]);
        assert_eq!(finished(Some(&journal()), "7\n", &half), Ok(8));
        let mut keys = Vec::new();
        half.scan(b"", None, false, &mut |key, _| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(keys, [b"".to_vec(), b"b".to_vec()]);
        assert_eq!(
            finished(Some(&journal()), "8\n", &engine(9, &[(b"a", 9)])),
            Ok(9),
            "an old journal"
        );
        assert!(
            is_corrupt(finished(Some(&journal()), "0\n", &engine(6, &[]))),
            "a commit was lost"
        );
    }

    #[test]
    fn a_damaged_journal_is_never_taken_for_none() {
        let whole = journal();
        for cut in 0..whole.len() {
            let (begun, not_begun) = (engine(7, &[(b"b", 8)]), engine(7, &[(b"b", 7)]));
            assert!(
                is_corrupt(finished(Some(&whole[..cut]), "7\n", &begun)),
                "{cut} bytes"
            );
            assert_eq!(
                finished(Some(&whole[..cut]), "7\n", &not_begun),
                Ok(7),
                "{cut} bytes"
            );
            let mut flipped = whole.clone();
            flipped[cut] ^= 1;
            assert!(is_corrupt(finished(Some(&flipped), "7\n", &begun)), "byte {cut}");
        }
    }

    #[test]
    fn an_engine_behind_the_watermark_is_refused() {
        assert!(is_corrupt(finished(None, "8\n", &engine(7, &[]))));
        assert!(is_corrupt(finished(None, "many", &engine(7, &[]))));
        assert_eq!(finished(None, "7\n", &engine(7, &[])), Ok(7));
    }
}
