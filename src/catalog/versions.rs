//! `Versions`: how many older versions of its rows a table keeps and for how long, as its options say it, and where they stand. Set by
//! `sql::ddl`; knows no clock.
//!
//! Invariants:
//!
//! 1. Where `store` is 0 the table keeps one version, and nothing of it is unsettled.
//! 2. A row that does not tell when it was written was written before `since`.

use super::expiry::{micros_of, micros_text};
use crate::codec::keyspace::IndexId;

/// What a table keeps of its rows beside the newest version.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Versions {
    /// VERSIONS: so many, the newest among them; from 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u16>,
    /// HISTORY: all that were the newest at some moment of so many microseconds up to now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<i64>,
    /// The id under which they stand, as entries of an index do, never used for another; 0: there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub store: IndexId,
    /// Since when it keeps versions, in microseconds since 1970: rows that tell no time have this.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: i64,
    /// From which moment on HISTORY is whole, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub whole_since: i64,
}

/// VERSIONS at most.
const VERSIONS_MAX: u16 = 500;

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl Versions {
    /// Whether nothing was ever said.
    pub fn is_default(&self) -> bool {
        *self == Versions::default()
    }

    /// Whether more than one version of a row is asked for.
    pub fn are_kept(&self) -> bool {
        self.count.is_some() || self.history.is_some()
    }

    /// Takes VERSIONS as it is written. `None`: it is no number from 1 to [`VERSIONS_MAX`].
    pub fn set_count(&mut self, text: &str) -> Option<()> {
        let count: u16 = text.parse().ok()?;
        (1..=VERSIONS_MAX).contains(&count).then_some(())?;
        self.count = (count > 1).then_some(count);
        Some(())
    }

    /// Takes HISTORY as it is written: seconds or an interval, above 0; empty: none. `None` for what is neither.
    pub fn set_history(&mut self, text: &str) -> Option<()> {
        self.history = match text {
            "" => None,
            text => Some(micros_of(text)?),
        };
        Some(())
    }

    /// HISTORY in seconds, as it may be written.
    pub fn history_text(&self) -> Option<String> {
        self.history.map(micros_text)
    }

    /// The oldest moment, in microseconds since 1970, that HISTORY tells of at a moment; `None`: it tells of none.
    pub fn horizon(&self, now: i64) -> Option<i64> {
        let kept = now.saturating_sub(self.history?);
        Some(kept.max(self.whole_since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_a_number_and_history_is_a_time() {
        for (written, count) in [("1", None), ("2", Some(2)), ("500", Some(500))] {
            let mut versions = Versions {
                count: Some(7),
                ..Versions::default()
            };
            assert_eq!(versions.set_count(written), Some(()), "{written}");
            assert_eq!((versions.count, versions.are_kept()), (count, count.is_some()));
        }
        for refused in ["0", "501", "-1", "five", "", "1.5"] {
            assert_eq!(Versions::default().set_count(refused), None, "{refused}");
        }
        let mut versions = Versions::default();
        assert_eq!(versions.set_history("7 days"), Some(()));
        assert_eq!(versions.history_text().as_deref(), Some("604800"));
        versions.whole_since = 5;
        assert_eq!(versions.horizon(7), Some(5));
        assert_eq!(versions.horizon(604_800_000_100), Some(100));
        assert_eq!(versions.set_history(""), Some(()));
        assert_eq!((versions.history, versions.horizon(7)), (None, None));
        for refused in ["0", "-7 days", "soon"] {
            assert_eq!(Versions::default().set_history(refused), None, "{refused}");
        }
        assert_eq!(serde_json::to_string(&Versions::default()).unwrap(), "{}");
    }
}
