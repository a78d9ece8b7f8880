//! Who may look into a data directory: its owner and nobody else, as with PostgreSQL. Called when a directory is made or
//! opened; knows nothing of what is in it.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::format::io_error;
use crate::Result;

/// Mode of the data directory and of each folder made above it.
const DIRECTORY_MODE: u32 = 0o700;
/// The permissions of group and others.
const OTHERS: u32 = 0o077;

/// Creates a data directory and what is missing above it, for its owner alone, and makes their names durable: what is
/// committed into the directory could else be gone with it after a power cut. One that is there is left as it is.
/// Errors: `Io`.
pub fn create_data_dir(path: &Path) -> Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    for directory in missing.into_iter().rev() {
        let create = || -> io::Result<()> {
            match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created?,
            }
            File::open(parent(directory))?.sync_all()
        };
        create().map_err(io_error("create", directory))?;
    }
    Ok(())
}

/// Takes away what group and others may do with the directory and all that is in it, and logs that it did. A file
/// system without permissions, or another owner, is no reason not to start: that is logged as well. Errors: `Io` when
/// the directory cannot be read.
pub fn restrict(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(io_error("look at", path))?;
    let mut open = Vec::new();
    if is_open(&metadata) {
        open.push(path.to_path_buf());
    }
    find_open(path, &mut open).map_err(io_error("list", path))?;
    if open.is_empty() {
        return Ok(());
    }
    match open.iter().try_for_each(|path| close(path)) {
        Ok(()) => tracing::info!(
            "\"{}\" was open to other users; from now on only its owner may use it",
            path.display()
        ),
        Err(error) => tracing::warn!(
            %error,
            "\"{}\" is open to other users, and that cannot be changed; make it its owner's alone: chmod -R go= …",
            path.display()
        ),
    }
    Ok(())
}

/// Adds what is open to others below a directory. A file that goes meanwhile is no error.
fn find_open(directory: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_symlink() {
            continue;
        }
        if is_open(&metadata) {
            open.push(entry.path());
        }
        if metadata.is_dir() {
            find_open(&entry.path(), open)?;
        }
    }
    Ok(())
}

fn is_open(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & OTHERS != 0
}

fn close(path: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

/// The folder that holds a path's name; of a bare name, the current one.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use tempfile::TempDir;

    use super::{create_data_dir, restrict};

    fn mode(path: &Path) -> u32 {
        let metadata = std::fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn every_directory_that_is_made_is_the_owners_alone() {
        let base = TempDir::new().expect("a temporary folder");
        let path = base.path().join("a/b/data");
        create_data_dir(&path).expect("it is made");
        create_data_dir(&path).expect("it is there");
        for made in [path.as_path(), &base.path().join("a"), &base.path().join("a/b")] {
            assert_eq!(mode(made), 0o700, "{}", made.display());
        }
        std::fs::write(base.path().join("file"), "").expect("a file");
        assert!(create_data_dir(&base.path().join("file/data")).is_err());
    }

    #[test]
    fn a_directory_open_to_others_is_closed_to_them() {
        let base = TempDir::new().expect("a temporary folder");
        let path = base.path().join("data");
        std::fs::create_dir_all(path.join("sled")).expect("folders");
        std::fs::write(path.join("sled/db"), "").expect("a file");
        std::os::unix::fs::symlink("/", path.join("link")).expect("a link");
        for (open, bits) in [("", 0o755), ("sled", 0o775), ("sled/db", 0o644)] {
            std::fs::set_permissions(path.join(open), Permissions::from_mode(bits)).expect("ours");
        }
        restrict(&path).expect("it is restricted");
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join("sled")), 0o700);
        assert_eq!(mode(&path.join("sled/db")), 0o600);
        assert_ne!(mode(Path::new("/")) & 0o055, 0, "what a link names is left alone");
    }
}
