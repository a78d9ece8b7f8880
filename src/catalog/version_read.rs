//! `VersionRead`: which versions of a table's rows a read wants. What the table looks like then, `versioned_table` says.

use super::versions::Versions;
use crate::codec::expiry::ExpiryRule;
use crate::codec::row::ColumnId;
use crate::{Error, Result};

/// The column of a version's time, in milliseconds since 1970.
pub const VERSION_TIME: ColumnId = ColumnId::MAX;
/// The column of its time in the key, in microseconds since 1970.
pub const VERSION_KEY: ColumnId = ColumnId::MAX - 1;

/// Which versions are read, of which table.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionRead {
    /// What is asked for.
    pub wanted: WantedVersions,
    /// What the table keeps.
    pub kept: Versions,
    /// When rows of the table are over.
    pub rule: Option<ExpiryRule>,
}

/// Which versions of each row are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedVersions {
    /// Of rows that are there now, the newest ones of some times.
    Newest {
        /// So many of a row at most.
        count: u32,
        /// From this time on, in microseconds since 1970.
        from: Option<i64>,
        /// Before this time, likewise.
        before: Option<i64>,
    },
    /// That which was the row at a moment.
    AsOf(Moment),
    /// All that were the row at some moment of these.
    Between {
        /// The first.
        from: Moment,
        /// The last.
        to: Moment,
        /// Whether they end with the last, and not before it.
        includes_end: bool,
    },
}

/// A moment of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// In microseconds since 1970.
    At(i64),
    /// So many microseconds before the statement, or the block that keeps its snapshot.
    Before(i64),
    /// What only a run tells: the number of an expression that stands with the scan.
    Open(usize),
}

impl WantedVersions {
    /// The same with what the open moments of it are.
    #[must_use]
    pub fn told(self, told: &[Moment]) -> WantedVersions {
        let told = |moment: Moment| match moment {
            Moment::Open(at) => told.get(at).copied().unwrap_or(moment),
            moment => moment,
        };
        match self {
            WantedVersions::AsOf(moment) => WantedVersions::AsOf(told(moment)),
            WantedVersions::Between {
                from,
                to,
                includes_end,
            } => WantedVersions::Between {
                from: told(from),
                to: told(to),
                includes_end,
            },
            newest @ WantedVersions::Newest { .. } => newest,
        }
    }

    /// Whether it is one version of a row at most.
    pub fn is_of_one(&self) -> bool {
        match self {
            WantedVersions::Newest { count, .. } => *count == 1,
            WantedVersions::AsOf(_) => true,
            WantedVersions::Between { .. } => false,
        }
    }
}

impl Moment {
    /// In microseconds since 1970, for a statement that reads at `now`. Errors: nobody has asked what it is.
    pub fn at(self, now: i64) -> Result<i64> {
        match self {
            Moment::At(moment) => Ok(moment),
            Moment::Before(micros) => Ok(now.saturating_sub(micros)),
            Moment::Open(_) => Err(Error::internal("a moment of the past that nobody has asked")),
        }
    }
}
