//! Scans that run because their table is small (`keyspan.full_scan = small`): how many rows it has is asked before they do;
//! `SmallScans` tells the log of each statement once, for whoever wants to know what would be refused otherwise.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::Result;
use crate::parse::Parameterized;
use crate::plan::AccessPath;
use crate::table::committed_row_counts;
use crate::txn::Transaction;

/// Texts that are remembered; of more nothing is said.
const TEXTS_MAX: usize = 10_000;

/// Errors: 53400 when the path may read a small table only, and its table is not small at the transaction's snapshot.
pub(crate) async fn require_small(txn: &Transaction, path: &AccessPath) -> Result<()> {
    if !path.is_small_scan() {
        return Ok(());
    }
    let rows = committed_row_counts(txn, &[&path.table]).await?;
    path.require_small(rows.first().copied().flatten().unwrap_or(0))
}

/// The statements of a server that ran because a table is small.
#[derive(Debug, Default)]
pub struct SmallScans {
    hasher: RandomState,
    /// Hashes of their texts, constants left out.
    noted: Mutex<HashSet<u64>>,
}

impl SmallScans {
    /// A statement reads a small table whole: the first time that its text does so, but for its constants, the log says it.
    pub fn note(&self, text: &str, table: &str) {
        let parameterized = Parameterized::of(text);
        let text = parameterized.as_ref().map_or(text, |known| &known.text);
        if self.is_new(text) {
            tracing::info!(
                table,
                statement = text,
                "a filter without a key bound reads a small table"
            );
        }
    }

    fn is_new(&self, text: &str) -> bool {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.len() < TEXTS_MAX && noted.insert(self.hasher.hash_one(text))
    }
}

#[cfg(test)]
mod tests {
    use super::SmallScans;

    #[test]
    fn a_text_is_new_once() {
        let scans = SmallScans::default();
        assert!(scans.is_new("SELECT 1"));
        assert!(!scans.is_new("SELECT 1"));
        assert!(scans.is_new("SELECT 2"));
    }
}
