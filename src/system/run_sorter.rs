//! `RunSorter`: entries, pairs of byte strings, into the order of their keys, in bounded memory. What does not fit becomes a sorted run
//! in a temporary file; `MergedRuns` reads runs and what is still in memory as one. Used by `sql::ddl` for the entries of a new index;
//! what a key means it does not know.
//!
//! ```text
//!   push ─► memory, until it is full ─► sorted ─► run, run, run … ─► (so many of one size: merged into one of the next)
//!                  └──────────────── MergedRuns ─────────┘
//!   run    [key length u32 LE][value length u32 LE][key][value] …
//! ```

use std::cmp::Ordering;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;

use super::datafusion_error::from_temporary_file;
use super::spill::{SpillFiles, TemporaryFile};
use super::statement_memory::HeldBytes;
use crate::{Error, Result};

/// The runs of one size that are merged into one: as many are read at once, each through a buffer.
const RUNS_MAX: usize = if cfg!(test) { 4 } else { 64 };
/// Bytes of the buffer of a run that is read or written.
const BUFFER_BYTES: usize = 128 << 10;
/// The memory is counted anew each time it has grown by so much.
const COUNTED_BYTES: usize = 1 << 20;
/// Bytes of a key that are compared as a number, behind those that all have.
const DIGITS: usize = 16;

/// Sorts entries.
#[derive(Debug)]
pub struct RunSorter {
    spill: Arc<SpillFiles>,
    held: HeldBytes,
    held_bytes: usize,
    bytes_max: usize,
    memory: Sorted,
    /// The runs of each size, the smallest first.
    runs: Vec<Vec<TemporaryFile>>,
}

/// Entries in memory, in the order of their places once these are sorted.
#[derive(Debug, Default)]
struct Sorted {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Leading bytes that all keys have in common.
    common: usize,
}

/// Where an entry stands among the bytes: its key, its value behind it.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// What its key has behind the common bytes: most keys are told apart by it.
    digits: u128,
    start: usize,
    key: u32,
    value: u32,
}

impl RunSorter {
    /// Without entries. `bytes_max`: what it holds in memory; `common`: so many leading bytes all keys have in common.
    pub(crate) fn new(spill: Arc<SpillFiles>, held: HeldBytes, bytes_max: usize, common: usize) -> RunSorter {
        RunSorter {
            spill,
            held,
            held_bytes: 0,
            bytes_max,
            memory: Sorted {
                common,
                ..Sorted::default()
            },
            runs: Vec::new(),
        }
    }

    /// Takes an entry. Errors: 53100, 53200, 58030.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let grown = self.memory.size_bytes() + key.len() + value.len() + size_of::<Place>();
        if grown > self.bytes_max && !self.memory.places.is_empty() {
            self.write_run()?;
        } else if grown > self.held_bytes {
            let wanted = grown + COUNTED_BYTES;
            match self.held.resize(wanted) {
                Ok(()) => self.held_bytes = wanted,
                // Others have the memory: what is here makes room for itself.
                Err(_) if !self.memory.places.is_empty() => self.write_run()?,
                Err(error) => return Err(error),
            }
        }
        self.memory.push(key, value)
    }

    fn write_run(&mut self) -> Result<()> {
        self.memory.sort();
        let mut file = RunWriter::create(&self.spill)?;
        for at in 0..self.memory.places.len() {
            let (key, value) = self.memory.entry(at);
            file.push(key, value)?;
        }
        let run = file.finish()?;
        self.memory.clear();
        self.held_bytes = 0;
        self.held.resize(0)?;
        self.add_run(run)
    }

    fn add_run(&mut self, run: TemporaryFile) -> Result<()> {
        let mut run = run;
        for size in 0.. {
            if self.runs.len() == size {
                self.runs.push(Vec::new());
            }
            self.runs[size].push(run);
            if self.runs[size].len() < RUNS_MAX {
                return Ok(());
            }
            let full = std::mem::take(&mut self.runs[size]);
            let mut merged = MergedRuns::of_sources(sources_of(full)?)?;
            let mut file = RunWriter::create(&self.spill)?;
            while let Some((key, value)) = merged.next_entry()? {
                file.push(key, value)?;
            }
            run = file.finish()?;
        }
        Ok(())
    }
}

impl Sorted {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let too_long = |_| Error::internal("an entry of 4 GB");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.places.push(Place {
            digits: digits(key.get(self.common..).unwrap_or_default()),
            start,
            key: u32::try_from(key.len()).map_err(too_long)?,
            value: u32::try_from(value.len()).map_err(too_long)?,
        });
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |place: &Place| &bytes[place.start..place.start + place.key as usize];
        self.places.sort_unstable_by(|one, other| {
            let by_digits = one.digits.cmp(&other.digits);
            by_digits.then_with(|| key(one).cmp(key(other)))
        });
    }

    fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        let place = &self.places[at];
        let middle = place.start + place.key as usize;
        (
            &self.bytes[place.start..middle],
            &self.bytes[middle..middle + place.value as usize],
        )
    }

    fn size_bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// The first bytes as a number that orders as they do; what is behind decides between equal ones.
fn digits(bytes: &[u8]) -> u128 {
    let mut digits = [0; DIGITS];
    let length = bytes.len().min(DIGITS);
    digits[..length].copy_from_slice(&bytes[..length]);
    u128::from_be_bytes(digits)
}

/// The entries of sorters in the order of their keys.
#[derive(Debug)]
pub struct MergedRuns {
    sources: Vec<Source>,
    /// The sources that have an entry, as a heap: the one with the least key first.
    heap: Vec<usize>,
    /// The source of the entry that was given last is to go on.
    is_given: bool,
    /// What the sorters hold.
    _held: Vec<HeldBytes>,
}

#[derive(Debug)]
enum Source {
    Memory { sorted: Sorted, at: usize },
    File(RunReader),
}

impl MergedRuns {
    /// All that the sorters were given. Errors: 58030.
    pub fn new(sorters: Vec<RunSorter>) -> Result<MergedRuns> {
        let (mut sources, mut held) = (Vec::new(), Vec::new());
        for mut sorter in sorters {
            sorter.memory.sort();
            sources.push(Source::Memory {
                sorted: sorter.memory,
                at: 0,
            });
            sources.extend(sources_of(sorter.runs.into_iter().flatten())?);
            held.push(sorter.held);
        }
        let merged = MergedRuns::of_sources(sources)?;
        Ok(MergedRuns {
            _held: held,
            ..merged
        })
    }

    fn of_sources(sources: Vec<Source>) -> Result<MergedRuns> {
        let heap = (0..sources.len()).filter(|at| sources[*at].entry().is_some());
        let mut merged = MergedRuns {
            heap: heap.collect(),
            sources,
            is_given: false,
            _held: Vec::new(),
        };
        for at in (0..merged.heap.len() / 2).rev() {
            merged.sift_down(at);
        }
        Ok(merged)
    }

    /// The next entry. Errors: 58030.
    pub fn next_entry(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if std::mem::replace(&mut self.is_given, true)
            && let Some(first) = self.heap.first().copied()
        {
            self.sources[first].advance()?;
            if self.sources[first].entry().is_none() {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        let first = self.heap.first();
        Ok(first.and_then(|first| self.sources[*first].entry()))
    }

    fn sift_down(&mut self, from: usize) {
        let mut at = from;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.compare(child, least) == Ordering::Less {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn compare(&self, one: usize, other: usize) -> Ordering {
        let key = |at: usize| self.sources[self.heap[at]].entry().map(|(key, _)| key);
        key(one).cmp(&key(other))
    }
}

impl Source {
    /// The entry at hand; `None` at the end.
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Source::Memory { sorted, at } => (*at < sorted.places.len()).then(|| sorted.entry(*at)),
            Source::File(run) => run.entry(),
        }
    }

    fn advance(&mut self) -> Result<()> {
        match self {
            Source::Memory { at, .. } => {
                *at += 1;
                Ok(())
            }
            Source::File(run) => run.advance(),
        }
    }
}

fn sources_of(runs: impl IntoIterator<Item = TemporaryFile>) -> Result<Vec<Source>> {
    let open = |run| RunReader::open(run).map(Source::File);
    runs.into_iter().map(open).collect()
}

/// A run being written.
struct RunWriter {
    file: TemporaryFile,
    buffer: Vec<u8>,
}

impl RunWriter {
    fn create(spill: &SpillFiles) -> Result<RunWriter> {
        Ok(RunWriter {
            file: spill.create("a sort")?,
            buffer: Vec::with_capacity(BUFFER_BYTES),
        })
    }

    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.buffer.is_empty() && self.buffer.len() + key.len() + value.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.buffer);
        written.map_err(|error| from_temporary_file(&error))?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<TemporaryFile> {
        self.flush()?;
        Ok(self.file)
    }
}

/// A run being read.
#[derive(Debug)]
struct RunReader {
    reader: BufReader<std::fs::File>,
    /// Removed when it is dropped.
    _file: TemporaryFile,
    key: Vec<u8>,
    value: Vec<u8>,
    is_ended: bool,
}

impl RunReader {
    fn open(file: TemporaryFile) -> Result<RunReader> {
        let opened = file.open().map_err(|error| unread(&error))?;
        let mut run = RunReader {
            reader: BufReader::with_capacity(BUFFER_BYTES, opened),
            _file: file,
            key: Vec::new(),
            value: Vec::new(),
            is_ended: false,
        };
        run.advance()?;
        Ok(run)
    }

    fn entry(&self) -> Option<(&[u8], &[u8])> {
        (!self.is_ended).then_some((self.key.as_slice(), self.value.as_slice()))
    }

    fn advance(&mut self) -> Result<()> {
        let mut lengths = [0; 8];
        let (first, rest) = lengths.split_at_mut(1);
        self.is_ended = self.reader.read(first).map_err(|error| unread(&error))? == 0;
        if self.is_ended {
            return Ok(());
        }
        self.reader.read_exact(rest).map_err(|error| unread(&error))?;
        let [a, b, c, d, e, f, g, h] = lengths;
        self.key.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        self.value.resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
        for part in [&mut self.key, &mut self.value] {
            self.reader.read_exact(part).map_err(|error| unread(&error))?;
        }
        Ok(())
    }
}

fn unread(error: &std::io::Error) -> Error {
    Error::Io {
        action: "could not read a temporary file".to_string(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn sorter(bytes_max: usize) -> RunSorter {
        let held = HeldBytes::new(Settings::default().statement_memory());
        RunSorter::new(Arc::default(), held, bytes_max, 2)
    }

    /// Entries of many lengths, some keys twice, through sorters with less and less memory.
    #[test]
    fn entries_come_in_the_order_of_their_keys_however_little_memory_there_is() {
        let entry = |number: u64| {
            let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut key = b"ab".to_vec();
            key.extend_from_slice(&scattered.to_be_bytes()[..(number % 9) as usize]);
            key.extend(std::iter::repeat_n(7, (scattered % 40) as usize));
            (key, number.to_string().into_bytes())
        };
        for bytes_max in [1 << 20, 4 << 10, 200, 1] {
            for count in [0, 1, 700] {
                let mut sorters = vec![sorter(bytes_max), sorter(bytes_max), sorter(bytes_max)];
                let mut expected: Vec<_> = (0..count).map(entry).collect();
                for (at, (key, value)) in expected.iter().enumerate() {
                    sorters[at % 2].push(key, value).unwrap();
                }
                expected.sort();
                let mut merged = MergedRuns::new(sorters).unwrap();
                let mut found = Vec::new();
                while let Some((key, value)) = merged.next_entry().unwrap() {
                    found.push((key.to_vec(), value.to_vec()));
                }
                assert!(merged.next_entry().unwrap().is_none());
                assert!(found.is_sorted_by(|(one, _), (other, _)| one <= other));
                found.sort();
                assert_eq!(found, expected, "{bytes_max} bytes, {count} entries");
            }
        }
    }

    /// Temporary files may be so large and no larger.
    #[test]
    fn an_entry_that_finds_no_file_is_an_error() {
        let directory = tempfile::TempDir::new().unwrap();
        let taken = directory.path().join("spill");
        std::fs::write(&taken, "a file, not a folder").unwrap();
        let held = HeldBytes::new(Settings::default().statement_memory());
        let spill = Arc::new(SpillFiles::in_folder(taken));
        let mut sorter = RunSorter::new(spill, held, 1, 0);
        sorter.push(b"a", b"").unwrap();
        assert!(sorter.push(b"b", b"").is_err());
    }
}
