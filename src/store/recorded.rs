//! Which engine a data directory belongs to, read without opening or making anything: for commands that look at a
//! directory rather than serve from it. `open` does the rest.

use std::io::ErrorKind;
use std::path::Path;

use super::StoreKind;
use super::format::{DATA_DIR_FORMAT, parse_format};
use crate::{Error, Result};

/// The engine that the directory's FORMAT file names. Errors: `InvalidParameter` when it is no data directory,
/// `DataDirFormat` when it is a later release's, `Corrupt` when its FORMAT file is unreadable or lost, `Io`.
pub fn recorded_kind(data_dir: &Path) -> Result<StoreKind> {
    let shown = data_dir.display().to_string();
    let damaged = |reason: &str| Error::Corrupt {
        what: format!("data directory \"{shown}\""),
        reason: reason.to_string(),
    };
    let path = data_dir.join("FORMAT");
    let line = match std::fs::read(&path) {
        Ok(line) => line,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let holds_engine = StoreKind::ALL
                .into_iter()
                .any(|kind| data_dir.join(kind.name()).exists());
            return Err(match holds_engine {
                true => damaged("it has no FORMAT file"),
                false => Error::InvalidParameter {
                    message: format!("\"{shown}\" is not a data directory"),
                    hint: Some("Give the folder that --data-dir named.".to_string()),
                },
            });
        }
        Err(error) => {
            return Err(Error::Io {
                action: format!("could not read \"{}\"", path.display()),
                reason: error.to_string(),
            });
        }
    };
    let (found, engine) = parse_format(&line).ok_or_else(|| damaged("its FORMAT file is unreadable"))?;
    if found > DATA_DIR_FORMAT {
        return Err(Error::DataDirFormat {
            path: shown,
            found,
            supported: DATA_DIR_FORMAT,
        });
    }
    engine.parse()
}
