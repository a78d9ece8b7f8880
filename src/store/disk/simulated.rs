//! A disk in memory that fails as disks do, for tests: at an operation chosen beforehand it gives an error or loses its
//! power, and leaves any part of that operation done. Everything random comes from a seed.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng, SeedableRng};

use super::{BLOCK_BYTES, Disk, DiskFile, NoteFile};

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A simulated disk; clones are the same disk.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedDisk(Arc<Mutex<State>>, Arc<Gate>);

/// Where writes wait while a test holds them up.
#[derive(Debug, Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
    is_waiting: AtomicBool,
}

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The operation is done in part, and no other after it.
    PowerCut,
    /// The operation is done in part, and answers an error; others go on.
    Error,
    /// A write is done in part, and answers that there is no room; others go on.
    NoRoom,
    /// From then on no file can be made.
    Full,
}

type Content = Arc<Mutex<Vec<u8>>>;

#[derive(Debug)]
struct State {
    files: BTreeMap<PathBuf, Content>,
    /// What was noted in which file and is not synced yet: where, and what stood there before.
    notes: Vec<(PathBuf, usize, Vec<u8>)>,
    operations: u64,
    fault: Option<(u64, Fault)>,
    has_power: bool,
    is_full: bool,
    /// Room for all files.
    capacity: u64,
    random: StdRng,
}

#[derive(Debug)]
struct SimulatedNote {
    disk: SimulatedDisk,
    path: PathBuf,
    content: Content,
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    content: Content,
}

impl SimulatedDisk {
    /// An empty disk.
    pub(crate) fn new(seed: u64) -> SimulatedDisk {
        SimulatedDisk::holding(BTreeMap::new(), seed)
    }

    fn holding(files: BTreeMap<PathBuf, Content>, seed: u64) -> SimulatedDisk {
        let state = State {
            files,
            notes: Vec::new(),
            operations: 0,
            fault: None,
            has_power: true,
            is_full: false,
            capacity: 1 << 40,
            random: StdRng::seed_from_u64(seed),
        };
        SimulatedDisk(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// Holds up writes to files, or lets them go on.
    pub(crate) fn hold(&self, hold: bool) {
        *self.1.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = hold;
        self.1.opened.notify_all();
    }

    /// Whether a write was held up.
    pub(crate) fn is_waiting(&self) -> bool {
        self.1.is_waiting.load(Ordering::SeqCst)
    }

    fn pass_gate(&self) {
        let mut is_closed = self.1.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_closed {
            self.1.is_waiting.store(true, Ordering::SeqCst);
            is_closed = self
                .1
                .opened
                .wait(is_closed)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The fault happens this many operations from now.
    pub(crate) fn fail_in(&self, operations: u64, fault: Fault) {
        let mut state = self.lock();
        state.fault = Some((state.operations + operations, fault));
    }

    /// From now on it has so much room; what does not fit is written all the same.
    pub(crate) fn resize(&self, capacity: u64) {
        self.lock().capacity = capacity;
    }

    /// Nothing is written any more.
    pub(crate) fn cut_power(&self) {
        self.lock().has_power = false;
    }

    /// The disk as it is found when the power is back.
    pub(crate) fn after_power_cut(&self) -> SimulatedDisk {
        let mut state = self.lock();
        let mut files: BTreeMap<PathBuf, Content> = BTreeMap::new();
        for (path, content) in &state.files {
            files.insert(path.clone(), copy(content));
        }
        // Of notes that were not synced the last ones are lost.
        let notes = state.notes.len();
        let lost = state.random.random_range(0..=notes);
        for (path, at, before) in state.notes.iter().rev().take(lost) {
            if let Some(content) = files.get(path) {
                let mut content = content.lock().unwrap_or_else(PoisonError::into_inner);
                content[*at..at + before.len()].copy_from_slice(before);
            }
        }
        let seed = state.random.random();
        SimulatedDisk::holding(files, seed)
    }

    /// The files, and how long they are.
    pub(crate) fn files(&self) -> Vec<(PathBuf, usize)> {
        let state = self.lock();
        let length = |content: &Content| content.lock().unwrap_or_else(PoisonError::into_inner).len();
        state
            .files
            .iter()
            .map(|(path, content)| (path.clone(), length(content)))
            .collect()
    }

    /// Damages a byte of a file.
    pub(crate) fn damage(&self, path: &Path, at: usize, mask: u8) {
        let state = self.lock();
        let content = state.files.get(path).expect("the file is there");
        content.lock().unwrap_or_else(PoisonError::into_inner)[at] ^= mask;
    }

    /// Counts an operation. `Ok(true)`: it fails, after a part of it was done.
    fn begin(&self) -> Result<bool> {
        let mut state = self.lock();
        if !state.has_power {
            return Err(Error::other("there is no power"));
        }
        state.operations += 1;
        let fails = match state.fault {
            Some((at, fault)) if at == state.operations => {
                state.is_full |= fault == Fault::Full;
                state.has_power = fault != Fault::PowerCut;
                fault != Fault::Full
            }
            _ => false,
        };
        Ok(fails)
    }

    /// Whether a failing operation is done nevertheless.
    fn is_done_anyway(&self) -> bool {
        self.lock().random.random()
    }

    fn content(&self, path: &Path) -> Result<Content> {
        let found = self.lock().files.get(path).cloned();
        found.ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed() -> Error {
    Error::other("the disk failed")
}

fn copy(content: &Content) -> Content {
    Arc::new(Mutex::new(
        content.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    ))
}

impl Disk for SimulatedDisk {
    fn create_directory(&self, _: &Path) -> Result<()> {
        if self.begin()? { Err(failed()) } else { Ok(()) }
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>> {
        let state = self.lock();
        let names = state
            .files
            .keys()
            .filter(|path| path.parent() == Some(directory))
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        Ok(names.collect())
    }

    fn create(&self, path: &Path, length: u64) -> Result<()> {
        let fails = self.begin()?;
        let mut state = self.lock();
        if state.is_full {
            return Err(Error::from(ErrorKind::StorageFull));
        }
        if state.files.contains_key(path) {
            return Err(Error::from(ErrorKind::AlreadyExists));
        }
        let made = match fails {
            false => length,
            true if state.random.random() => return Err(failed()),
            true => state.random.random_range(0..=length),
        };
        let content = Arc::new(Mutex::new(vec![0; made as usize]));
        state.files.insert(path.to_path_buf(), content);
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        if self.begin()? {
            return Err(failed());
        }
        let content = self.content(path)?;
        Ok(Box::new(SimulatedFile {
            disk: self.clone(),
            content,
        }))
    }

    fn open_to_read(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.open(path)
    }

    fn open_note(&self, path: &Path) -> Result<Box<dyn NoteFile>> {
        if self.begin()? {
            return Err(failed());
        }
        Ok(Box::new(SimulatedNote {
            disk: self.clone(),
            path: path.to_path_buf(),
            content: self.content(path)?,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let fails = self.begin()?;
        assert!(self.content(to).is_err(), "{} is there already", to.display());
        let content = self.content(from)?;
        if !fails || self.is_done_anyway() {
            let mut state = self.lock();
            state.files.remove(from);
            state.files.insert(to.to_path_buf(), content);
        }
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let fails = self.begin()?;
        self.content(path)?;
        if !fails || self.is_done_anyway() {
            self.lock().files.remove(path);
        }
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn free_bytes(&self, _: &Path) -> Result<u64> {
        let state = self.lock();
        let files = state.files.values();
        let used: usize = files
            .map(|content| content.lock().unwrap_or_else(PoisonError::into_inner).len())
            .sum();
        Ok(state.capacity.saturating_sub(used as u64))
    }
}

impl NoteFile for SimulatedNote {
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let fails = self.disk.begin()?;
        if fails && !self.disk.is_done_anyway() {
            return Err(failed());
        }
        let at = offset as usize;
        let before = {
            let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
            let target = &mut content[at..at + bytes.len()];
            let before = target.to_vec();
            target.copy_from_slice(bytes);
            before
        };
        self.disk.lock().notes.push((self.path.clone(), at, before));
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn sync(&self) -> Result<()> {
        if self.disk.begin()? {
            return Err(failed());
        }
        self.disk.lock().notes.clear();
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> Result<u64> {
        Ok(self.content.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        if self.disk.begin()? {
            return Err(failed());
        }
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let found = content
            .get(offset as usize..offset as usize + bytes.len())
            .ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        assert!(bytes.len().is_multiple_of(BLOCK_BYTES) && offset.is_multiple_of(BLOCK_BYTES as u64));
        self.disk.pass_gate();
        let fails = self.disk.begin()?;
        // What is on the disk is locked before what is in one of its files, as everywhere.
        let mut state = self.disk.lock();
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let target = &mut content[offset as usize..offset as usize + bytes.len()];
        if !fails {
            target.copy_from_slice(bytes);
            return Ok(());
        }
        let state = &mut *state;
        let (fault, random) = (state.fault, &mut state.random);
        let sectors = bytes.len() / SECTOR_BYTES;
        let border = random.random_range(0..=sectors);
        let way = *["none", "all", "first", "any", "last"]
            .choose(random)
            .expect("ways");
        for sector in 0..sectors {
            let is_written = match way {
                "none" => false,
                "all" => true,
                "first" => sector < border,
                "last" => sector >= border,
                _ => random.random(),
            };
            if is_written {
                let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
                target[range.clone()].copy_from_slice(&bytes[range]);
            }
        }
        match fault {
            Some((_, Fault::NoRoom)) => Err(Error::from(ErrorKind::StorageFull)),
            _ => Err(failed()),
        }
    }
}
