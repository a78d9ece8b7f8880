//! `Disk`: files as the server sees them and, of each, what is durable; built up by the operations of a trace. At any
//! moment an `Image` of what a power cut would leave can be written to a folder.
//!
//! fsync and fdatasync make a file's data and size durable, fsync of a folder the names in it, a write through O_DSYNC
//! itself. Of everything else a cut leaves what the model says:
//!
//! - `none`: nothing of it.
//! - `some`: each 4 kB of each write or not, by chance, sizes by chance, names up to a random change (POSIX allows all that).
//! - `prefix`: changes of each file, and names, up to a random one (a disk that keeps order).
//! - `ext4`: every name; of the data, what sync_file_range wrote below the durable size. Growth is lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use rand::Rng;
use rand::rngs::StdRng;

use super::trace::{Operation, What};

const BLOCK: usize = 4096;
/// Out of ten blocks, how many of an unsynced write the model `some` keeps.
const KEPT_OF_TEN: u32 = 6;

/// What a power cut leaves of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Nothing,
    Some,
    Prefix,
    Ext4,
}

impl FromStr for Model {
    type Err = String;

    fn from_str(name: &str) -> Result<Model, String> {
        match name {
            "none" => Ok(Model::Nothing),
            "some" => Ok(Model::Some),
            "prefix" => Ok(Model::Prefix),
            "ext4" => Ok(Model::Ext4),
            _ => Err(format!("no model {name}")),
        }
    }
}

/// Index of an [`Inode`].
type InodeId = usize;

/// A file or folder, whatever its name.
#[derive(Debug, Clone, Default)]
struct Inode<'a> {
    is_folder: bool,
    durable: Vec<u8>,
    /// Changes since it was last synced.
    pending: Vec<Change<'a>>,
}

#[derive(Debug, Clone)]
enum Change<'a> {
    Write {
        offset: usize,
        data: &'a [u8],
        durable: bool,
    },
    Resize(usize),
    SyncRange {
        offset: usize,
        end: usize,
    },
}

#[derive(Debug, Clone)]
enum NameChange {
    Add(String, InodeId),
    Move(String, String),
    Remove(String),
}

/// The names of all inodes.
type Names = BTreeMap<String, InodeId>;

/// A disk under one folder.
#[derive(Debug)]
pub(super) struct Disk<'a> {
    root: String,
    inodes: Vec<Inode<'a>>,
    names: Names,
    durable_names: Names,
    pending_names: Vec<NameChange>,
}

impl<'a> Disk<'a> {
    /// An empty folder, which is durable itself.
    pub(super) fn new(root: &Path) -> Disk<'a> {
        let root = root.to_str().expect("paths are UTF-8").to_string();
        let mut disk = Disk {
            root: root.clone(),
            inodes: Vec::new(),
            names: Names::new(),
            durable_names: Names::new(),
            pending_names: Vec::new(),
        };
        disk.add_durable(root, true, Vec::new());
        disk
    }

    /// What lies in a folder, all of it durable, as if it lay under `root`.
    pub(super) fn load(from: &Path, root: &Path) -> Disk<'a> {
        let mut disk = Disk::new(root);
        let mut folders = vec![from.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder can be listed") {
                let path = entry.expect("a folder can be listed").path();
                let below = path.strip_prefix(from).expect("it lies below");
                let name = format!("{}/{}", disk.root, below.display());
                if path.is_dir() {
                    disk.add_durable(name, true, Vec::new());
                    folders.push(path);
                } else {
                    let bytes = std::fs::read(&path).expect("a file can be read");
                    disk.add_durable(name, false, bytes);
                }
            }
        }
        disk
    }

    fn add_durable(&mut self, name: String, is_folder: bool, durable: Vec<u8>) {
        let id = self.add_inode(is_folder);
        self.inodes[id].durable = durable;
        self.names.insert(name.clone(), id);
        self.durable_names.insert(name, id);
    }

    fn add_inode(&mut self, is_folder: bool) -> InodeId {
        self.inodes.push(Inode {
            is_folder,
            ..Inode::default()
        });
        self.inodes.len() - 1
    }

    /// Does one operation. Answers how many changes of its file are unsynced after it.
    pub(super) fn apply(&mut self, operation: &Operation<'a>) -> usize {
        let path = operation.path;
        match operation.what {
            What::Create | What::MakeFolder => self.create(path, operation.what == What::MakeFolder),
            What::Rename { to } => {
                self.change_name(NameChange::Move(path.to_string(), to.to_string()));
            }
            What::Unlink => self.change_name(NameChange::Remove(path.to_string())),
            What::Sync => self.sync(path),
            What::Write {
                offset,
                data,
                durable,
            } => {
                let offset = offset as usize;
                self.change(
                    path,
                    Change::Write {
                        offset,
                        data,
                        durable,
                    },
                );
            }
            What::Resize { size } => self.change(path, Change::Resize(size as usize)),
            What::SyncRange { offset, length } => {
                let (offset, length) = (offset as usize, length as usize);
                // A length of 0 means to the end.
                let end = if length == 0 { usize::MAX } else { offset + length };
                self.change(path, Change::SyncRange { offset, end });
            }
        }
        let id = self.names.get(path);
        id.map_or(0, |id| self.inodes[*id].pending.len())
    }

    fn create(&mut self, path: &str, is_folder: bool) {
        // The folder of all is durable, whoever made it.
        if path != self.root {
            let id = self.add_inode(is_folder);
            self.change_name(NameChange::Add(path.to_string(), id));
        }
    }

    fn change_name(&mut self, change: NameChange) {
        apply_name(&mut self.names, &change);
        self.pending_names.push(change);
    }

    fn change(&mut self, path: &str, change: Change<'a>) {
        // A file that was removed while it was open is nothing that a cut leaves.
        if let Some(id) = self.names.get(path) {
            self.inodes[*id].pending.push(change);
        }
    }

    fn sync(&mut self, path: &str) {
        let Some(id) = self.names.get(path) else {
            return;
        };
        let inode = &mut self.inodes[*id];
        if !inode.is_folder {
            for change in inode.pending.drain(..) {
                apply_change(&mut inode.durable, &change);
            }
            return;
        }
        let (synced, pending) = std::mem::take(&mut self.pending_names)
            .into_iter()
            .partition(|change| folder_of(change) == path);
        self.pending_names = pending;
        for change in synced {
            apply_name(&mut self.durable_names, &change);
        }
    }

    /// Writes what a power cut leaves to a folder that is not there yet.
    pub(super) fn write_image(&self, model: Model, random: &mut StdRng, to: &Path) {
        let mut names = self.durable_names.clone();
        let kept = match model {
            Model::Nothing => 0,
            Model::Some | Model::Prefix => random.random_range(0..=self.pending_names.len()),
            Model::Ext4 => self.pending_names.len(),
        };
        for change in &self.pending_names[..kept] {
            apply_name(&mut names, change);
        }
        std::fs::create_dir_all(to).expect("a folder can be made");
        // A folder's name stands before those in it.
        for (name, id) in names.iter().filter(|(name, _)| **name != self.root) {
            let target = to.join(&name[self.root.len() + 1..]);
            let inode = &self.inodes[*id];
            if inode.is_folder {
                std::fs::create_dir_all(target).expect("a folder can be made");
            } else if target.parent().is_some_and(Path::exists) {
                // Else its folder's name is lost, and it with that.
                std::fs::write(target, left(inode, model, random)).expect("a file can be written");
            }
        }
    }
}

/// What a cut leaves of a file.
fn left(inode: &Inode<'_>, model: Model, random: &mut StdRng) -> Vec<u8> {
    let mut bytes = inode.durable.clone();
    let changes = &inode.pending;
    let prefix = match model {
        Model::Prefix => random.random_range(0..=changes.len()),
        _ => 0,
    };
    for (at, change) in changes.iter().enumerate() {
        match change {
            Change::Write { durable: true, .. } => apply_change(&mut bytes, change),
            _ if at < prefix => apply_change(&mut bytes, change),
            Change::Write { offset, data, .. } if model == Model::Some => {
                write_some(&mut bytes, *offset, data, random);
            }
            Change::Resize(_) if model == Model::Some && random.random_ratio(1, 2) => {
                apply_change(&mut bytes, change);
            }
            Change::SyncRange { offset, end } if model == Model::Ext4 => {
                for earlier in &changes[..at] {
                    write_within(&mut bytes, earlier, *offset, *end, inode.durable.len());
                }
            }
            _ => {}
        }
    }
    bytes
}

/// Each block of a write or not, by chance.
fn write_some(bytes: &mut Vec<u8>, offset: usize, data: &[u8], random: &mut StdRng) {
    let mut at = 0;
    while at < data.len() {
        let step = (BLOCK - (offset + at) % BLOCK).min(data.len() - at);
        if random.random_ratio(KEPT_OF_TEN, 10) {
            write_at(bytes, offset + at, &data[at..at + step]);
        }
        at += step;
    }
}

/// A write, if it lies in a range that sync_file_range wrote, as far as it lies below the durable size.
fn write_within(bytes: &mut Vec<u8>, change: &Change<'_>, start: usize, end: usize, durable_size: usize) {
    if let Change::Write { offset, data, .. } = change
        && *offset >= start
        && offset + data.len() <= end
    {
        let kept = durable_size.saturating_sub(*offset).min(data.len());
        write_at(bytes, *offset, &data[..kept]);
    }
}

fn apply_change(bytes: &mut Vec<u8>, change: &Change<'_>) {
    match change {
        Change::Write { offset, data, .. } => write_at(bytes, *offset, data),
        Change::Resize(size) => bytes.resize(*size, 0),
        Change::SyncRange { .. } => {}
    }
}

/// A gap is zeroes.
fn write_at(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

fn apply_name(names: &mut Names, change: &NameChange) {
    match change {
        NameChange::Add(path, id) => {
            names.insert(path.clone(), *id);
        }
        NameChange::Move(from, to) => {
            let below = format!("{from}/");
            let moved: Vec<String> = names
                .keys()
                .filter(|name| *name == from || name.starts_with(&below))
                .cloned()
                .collect();
            for name in moved {
                if let Some(id) = names.remove(&name) {
                    names.insert(format!("{to}{}", &name[from.len()..]), id);
                }
            }
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
    }
}

/// The folder whose fsync makes the change durable.
fn folder_of(change: &NameChange) -> &str {
    let (NameChange::Add(path, _) | NameChange::Move(path, _) | NameChange::Remove(path)) = change;
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use tempfile::TempDir;

    use super::*;

    const ROOT: &str = "/data";

    /// What each model leaves of the file `/data/f`, if anything.
    #[track_caller]
    fn check(operations: &[(&str, What<'static>)], expected: [(Model, Option<&str>); 3]) {
        let mut disk = Disk::new(Path::new(ROOT));
        for (path, what) in operations {
            let (what, end) = (what.clone(), 0);
            disk.apply(&Operation { path, what, end });
        }
        for (model, left) in expected {
            let folder = TempDir::new().unwrap();
            let mut random = StdRng::seed_from_u64(1);
            disk.write_image(model, &mut random, &folder.path().join("image"));
            let found = std::fs::read_to_string(folder.path().join("image/f")).ok();
            assert_eq!(found.as_deref(), left, "{model:?}");
        }
    }

    fn write(offset: u64, data: &'static str, durable: bool) -> (&'static str, What<'static>) {
        let data = data.as_bytes();
        let what = What::Write {
            offset,
            data,
            durable,
        };
        ("/data/f", what)
    }

    const CREATE: (&str, What<'static>) = ("/data/f", What::Create);
    const SYNC: (&str, What<'static>) = ("/data/f", What::Sync);
    const SYNC_FOLDER: (&str, What<'static>) = (ROOT, What::Sync);

    #[test]
    fn what_is_synced_stays() {
        use Model::{Ext4, Nothing, Prefix};
        let all = |left| [(Nothing, left), (Ext4, left), (Prefix, left)];
        check(
            &[CREATE, write(0, "abc", false), SYNC, SYNC_FOLDER],
            all(Some("abc")),
        );
        check(&[CREATE, write(0, "abc", true), SYNC_FOLDER], all(Some("abc")));
        // A durable write is not undone by an earlier one that was not.
        check(
            &[
                CREATE,
                SYNC_FOLDER,
                write(0, "abcd", false),
                write(1, "XX", true),
                SYNC,
            ],
            all(Some("aXXd")),
        );
        let renamed = ("/data/g", What::Rename { to: "/data/f" });
        check(
            &[
                ("/data/g", What::Create),
                (
                    "/data/g",
                    What::Write {
                        offset: 0,
                        data: b"abc",
                        durable: false,
                    },
                ),
                ("/data/g", What::Sync),
                renamed,
                SYNC_FOLDER,
            ],
            all(Some("abc")),
        );
    }

    #[test]
    fn what_is_not_synced_is_lost() {
        use Model::{Ext4, Nothing};
        let lost = |nothing, ext4| [(Nothing, nothing), (Ext4, ext4), (Nothing, nothing)];
        check(&[CREATE, write(0, "abc", false), SYNC], lost(None, Some("abc")));
        check(
            &[CREATE, SYNC_FOLDER, write(0, "abc", false)],
            lost(Some(""), Some("")),
        );
        let range = |length| ("/data/f", What::SyncRange { offset: 0, length });
        check(
            &[
                CREATE,
                SYNC_FOLDER,
                write(0, "abc", false),
                SYNC,
                write(0, "XYZUV", false),
                range(0),
            ],
            lost(Some("abc"), Some("XYZ")),
        );
        check(
            &[
                CREATE,
                SYNC_FOLDER,
                write(0, "abc", false),
                SYNC,
                ("/data/f", What::Unlink),
            ],
            lost(Some("abc"), None),
        );
    }
}
