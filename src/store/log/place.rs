//! Where a log stands and how a start found it: the first thing that a start asks, before anything is written. Called by
//! `open_store` and the check; `mvcc` goes on from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::end::{EndFile, Vouched};
use super::{Survey, io_error};
use crate::store::disk::{BLOCK_BYTES, Disk};
use crate::{Error, Result};

/// A log beside an engine on disk, as it was found.
#[derive(Debug)]
pub(crate) struct LogPlace {
    pub(crate) disk: Arc<dyn Disk>,
    /// Where the segments stand; is there once something is written.
    pub(crate) directory: PathBuf,
    /// The file that vouches for its end, away from the segments.
    pub(crate) end_path: PathBuf,
    /// What that file says; `None`: there is none, as in directories of earlier formats.
    pub(crate) vouched: Option<Vouched>,
    /// `None`: nothing was ever written to it.
    pub(crate) survey: Option<Survey>,
}

impl LogPlace {
    /// Reads the log and what vouches for it; writes nothing. Errors: `Corrupt`, `Io`.
    pub(crate) fn look(disk: Arc<dyn Disk>, directory: &Path, end_path: &Path) -> Result<LogPlace> {
        let vouched = Vouched::read(&*disk, end_path)?;
        let survey = Survey::read(&*disk, directory, vouched.as_ref())?;
        Ok(LogPlace {
            disk,
            directory: directory.to_path_buf(),
            end_path: end_path.to_path_buf(),
            vouched,
            survey,
        })
    }

    /// Opens the file that vouches for the end, or makes it, and has it vouch for all that was found: from now on it will be
    /// seen. What nobody vouched for is written once more before, for it may be in the system's memory only. On a full disk that
    /// is left to the next start. Errors: `Corrupt`, `Io`; 53100.
    pub(crate) fn open_end(&self) -> Result<EndFile> {
        let disk = &*self.disk;
        if self.vouched.is_none() {
            let mut first = Vouched::new();
            if let Some(survey) = &self.survey {
                first.origin.log_id = survey.last.log_id;
            }
            first.create(disk, &self.end_path)?;
        }
        let mut end = EndFile::open(disk, &self.end_path)?;
        let Some(survey) = &self.survey else {
            return Ok(end);
        };
        if survey.end > end.vouched().position {
            match self.write_again(survey, end.vouched().position) {
                Err(Error::DiskFull { .. }) => return Ok(end),
                written => written?,
            }
            let branch = survey.origin_of(survey.clock).map_or(0, |origin| origin.branch);
            end.note(survey.end, survey.clock, branch)?;
            end.sync()?;
        }
        Ok(end)
    }

    /// Writes the blocks of the last segment from a position to its end as they are; earlier segments are durable.
    fn write_again(&self, survey: &Survey, from: super::Position) -> Result<()> {
        let segment = &survey.last;
        let path = self.directory.join(segment.file_name());
        let from = segment.offset(from.max(segment.start)) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        let end = segment.offset(survey.end).next_multiple_of(BLOCK_BYTES as u64);
        let write = || -> std::io::Result<()> {
            let file = self.disk.open(&path)?;
            let end = end.min(file.length()? / BLOCK_BYTES as u64 * BLOCK_BYTES as u64);
            if from < end {
                let mut bytes = vec![0; (end - from) as usize];
                file.read_at(&mut bytes, from)?;
                file.write_at(&bytes, from)?;
            }
            Ok(())
        };
        write().map_err(|error| io_error("write", &path, &error))
    }
}
