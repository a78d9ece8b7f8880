//! The files of the log: which segments hold records, which spares wait to be used, and how one becomes the other. The
//! committer begins segments here, the checkpoint recycles them; any thread may call it.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::segment::{FileKind, Segment, file_kind, spare_name, unfinished_name};
use super::{Position, Survey, Timestamp, io_error, io_failure, record};
use crate::Result;
use crate::store::disk::{BLOCK_BYTES, Disk, DiskFile};

/// Spares that are made ahead, so that beginning a segment need not wait for zeros to be written.
const SPARES_MIN: usize = 2;

/// The log's directory.
#[derive(Debug)]
pub(crate) struct LogFiles {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// Length of a segment's file; one that must hold a larger record is longer.
    segment_bytes: u64,
    /// More spares are not kept.
    spares_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Segments with records, the last one growing.
    segments: VecDeque<Kept>,
    /// The numbers of spares.
    spares: Vec<u64>,
    /// The number of the next spare.
    next_spare: u64,
    /// No more spares are kept than are needed: others want the room.
    keeps_few: bool,
    /// Large commits whose parts must stay: where the first stands, and the commit it became.
    large: Vec<(Position, Option<Timestamp>)>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    segment: Segment,
    length: u64,
}

impl LogFiles {
    /// The directory as `survey` found it (`None`: there is no log yet). Removes what was left half made. Errors: `Io`.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        directory: &Path,
        segment_bytes: u64,
        bytes_max: u64,
        survey: Option<&Survey>,
    ) -> Result<LogFiles> {
        let mut state = State::default();
        for segment in survey.iter().flat_map(|survey| &survey.segments) {
            state.segments.push_back(Kept {
                segment: segment.segment,
                length: segment.length,
            });
        }
        let names = disk
            .list(directory)
            .map_err(|error| io_error("list", directory, &error))?;
        for name in names {
            let path = directory.join(&name);
            match file_kind(&name) {
                FileKind::Unfinished => remove(&*disk, &path)?,
                FileKind::Spare(number) => {
                    state.next_spare = state.next_spare.max(number + 1);
                    if length(&*disk, &path)? == segment_bytes {
                        state.spares.push(number);
                    } else {
                        remove(&*disk, &path)?;
                    }
                }
                FileKind::Segment(_) | FileKind::Other => {}
            }
        }
        Ok(LogFiles {
            disk,
            directory: directory.to_path_buf(),
            segment_bytes,
            spares_max: usize::try_from(bytes_max / segment_bytes)
                .unwrap_or(usize::MAX)
                .max(SPARES_MIN),
            state: Mutex::new(state),
        })
    }

    /// Makes a file for a segment that will hold a record of `needed` bytes first: from a spare if there is one. Its header
    /// and its name are durable when it answers. Errors: `Io`; 53100, and then nothing has changed.
    pub(super) fn begin(&self, segment: Segment, needed: u64) -> Result<(Box<dyn DiskFile>, u64)> {
        let number = self.take_spare(needed)?;
        let spare = self.directory.join(spare_name(number));
        let path = self.path(&segment);
        let file = self.begin_file(&segment, &spare, &path)?;
        let length = file.length().map_err(|error| io_error("open", &path, &error))?;
        self.lock().segments.push_back(Kept { segment, length });
        Ok((file, length))
    }

    fn begin_file(&self, segment: &Segment, spare: &Path, path: &Path) -> Result<Box<dyn DiskFile>> {
        let file = self
            .disk
            .open(spare)
            .map_err(|error| io_error("open", spare, &error))?;
        file.write_at(&segment.header(), 0)
            .map_err(|error| io_error("write", spare, &error))?;
        // On a full disk, too: it may be renamed already, and then the log goes on there.
        self.disk
            .rename(spare, path)
            .map_err(|error| io_failure("rename", spare, &error))?;
        Ok(file)
    }

    /// Where a segment stands.
    pub(super) fn path(&self, segment: &Segment) -> PathBuf {
        self.directory.join(segment.file_name())
    }

    /// Makes spares until enough wait. Errors: `Io`; 53100.
    pub(crate) fn make_spares(&self) -> Result<()> {
        while self.lock().spares.len() < SPARES_MIN {
            let number = self.make_spare(self.segment_bytes)?;
            self.lock().spares.push(number);
        }
        Ok(())
    }

    /// Keeps no more spares than are needed from now on, and removes those that wait, or keeps many again. Error: `Io`.
    pub(crate) fn keep_few_spares(&self, keeps_few: bool) -> Result<()> {
        let surplus = {
            let mut state = self.lock();
            state.keeps_few = keeps_few;
            let kept = if keeps_few { SPARES_MIN } else { usize::MAX }.min(state.spares.len());
            state.spares.split_off(kept)
        };
        surplus
            .iter()
            .try_for_each(|number| remove(&*self.disk, &self.directory.join(spare_name(*number))))
    }

    /// Whether `make_spares` has something to do.
    pub(crate) fn needs_spares(&self) -> bool {
        self.lock().spares.len() < SPARES_MIN
    }

    /// Recycles the segments whose commits the engine has for sure, being durable up to `clock`. Error: `Io`.
    pub(crate) fn recycle(&self, clock: Timestamp) -> Result<()> {
        while let Some(kept) = self.pop_recyclable(clock) {
            let path = self.path(&kept.segment);
            let number = {
                let mut state = self.lock();
                let spares_max = if state.keeps_few {
                    SPARES_MIN
                } else {
                    self.spares_max
                };
                let is_wanted = kept.length == self.segment_bytes && state.spares.len() < spares_max;
                is_wanted.then(|| {
                    state.next_spare += 1;
                    state.next_spare - 1
                })
            };
            match number {
                Some(number) => {
                    self.disk
                        .rename(&path, &self.directory.join(spare_name(number)))
                        .map_err(|error| io_error("rename", &path, &error))?;
                    self.lock().spares.push(number);
                }
                None => remove(&*self.disk, &path)?,
            }
        }
        Ok(())
    }

    /// Whether there are segments behind the one that is written and the one before.
    pub(crate) fn has_old_segments(&self) -> bool {
        self.lock().segments.len() > 2
    }

    /// Keeps the parts of a large commit, the first of which stands at `first`, until `recycle` is told of the commit.
    pub(crate) fn keep_large(&self, first: Position) {
        self.lock().large.push((first, None));
    }

    /// The large commit became `timestamp`; `None`: it will not be one.
    pub(crate) fn end_large(&self, first: Position, timestamp: Option<Timestamp>) {
        let mut state = self.lock();
        state.large.retain(|(position, _)| *position != first);
        if timestamp.is_some() {
            state.large.push((first, timestamp));
        }
    }

    /// Bytes of the segments that hold records.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().segments.iter().map(|kept| kept.length).sum()
    }

    /// Bytes that may still be written to the file system.
    pub(crate) fn free_bytes(&self) -> Result<u64> {
        self.disk
            .free_bytes(&self.directory)
            .map_err(|error| io_error("measure", &self.directory, &error))
    }

    /// The oldest segment, unless a commit that the engine may lack stands in it, or it is the last.
    fn pop_recyclable(&self, clock: Timestamp) -> Option<Kept> {
        let mut state = self.lock();
        state
            .large
            .retain(|(_, timestamp)| timestamp.is_none_or(|timestamp| timestamp > clock));
        let next = state.segments.get(1)?.segment;
        let is_needed = next.clock > clock || state.large.iter().any(|(first, _)| *first < next.start);
        if is_needed {
            None
        } else {
            state.segments.pop_front()
        }
    }

    /// The number of a spare with room for a record of `needed` bytes.
    fn take_spare(&self, needed: u64) -> Result<u64> {
        let length = (BLOCK_BYTES as u64 + needed).next_multiple_of(BLOCK_BYTES as u64);
        if length > self.segment_bytes {
            return self.make_spare(length);
        }
        let spare = self.lock().spares.pop();
        match spare {
            Some(number) => Ok(number),
            None => self.make_spare(self.segment_bytes),
        }
    }

    fn make_spare(&self, length: u64) -> Result<u64> {
        let number = {
            let mut state = self.lock();
            state.next_spare += 1;
            state.next_spare - 1
        };
        let unfinished = self.directory.join(unfinished_name(number));
        let made = self.disk.create(&unfinished, length);
        if let Err(error) = made {
            // It takes room that others need; if it cannot go, the next start removes it.
            let _ = self.disk.remove(&unfinished);
            return Err(io_error("make", &unfinished, &error));
        }
        self.disk
            .rename(&unfinished, &self.directory.join(spare_name(number)))
            .map_err(|error| io_error("rename", &unfinished, &error))?;
        Ok(number)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the spares in a log's directory that nobody has open, to give room on a full disk. Error: `Io`.
pub(crate) fn remove_spares(disk: &dyn Disk, directory: &Path) -> Result<()> {
    let names = disk
        .list(directory)
        .map_err(|error| io_error("list", directory, &error))?;
    names
        .iter()
        .filter(|name| matches!(file_kind(name), FileKind::Spare(_) | FileKind::Unfinished))
        .try_for_each(|name| remove(disk, &directory.join(name)))
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", path, &error)),
        _ => Ok(()),
    }
}

fn length(disk: &dyn Disk, path: &Path) -> Result<u64> {
    disk.open(path)
        .and_then(|file| file.length())
        .map_err(|error| io_error("open", path, &error))
}

// A segment holds at least its header and a record's.
const _: () = assert!(record::HEADER_BYTES < BLOCK_BYTES);
