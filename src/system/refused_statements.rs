//! `RefusedStatements`: the statements that the rule of full scans refused, and those that read many rows for each that was left of them:
//! what `keyspan.refused_statements` shows. In memory, without the constants of their texts; a start begins anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Statements that are kept; those of which it is longest ago that they came go first.
pub const STATEMENTS_MAX: usize = 500;
/// A read of fewer rows is never much.
pub const ROWS_READ_MIN: u64 = 1000;
/// So many rows are read for each that is left, or more.
pub const ROWS_READ_EACH: u64 = 100;

/// Why a statement is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// It was refused.
    Refused,
    /// It read many rows for each that it gave.
    ReadsMuch,
}

impl RefusalReason {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            RefusalReason::Refused => "refused",
            RefusalReason::ReadsMuch => "reads much",
        }
    }
}

/// What is known of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedStatement {
    /// Why it is there.
    pub reason: RefusalReason,
    /// Its text, without constants.
    pub text: String,
    /// The table that it would read, or read.
    pub table: String,
    /// The CREATE INDEX that would serve it.
    pub index: Option<String>,
    /// How often it came.
    pub count: u64,
    /// When it came last, in microseconds since 1970.
    pub last: i64,
    /// Rows that its runs read.
    pub rows_read: u64,
    /// Rows that were left of them.
    pub rows_left: u64,
}

/// The statements of all sessions.
#[derive(Debug, Default)]
pub struct RefusedStatements(Mutex<HashMap<(RefusalReason, String, String), RefusedStatement>>);

impl RefusedStatements {
    /// A statement came: it is counted with those of the same text. Its `count` is of this time alone.
    pub fn note(&self, statement: RefusedStatement) {
        let key = (statement.reason, statement.text.clone(), statement.table.clone());
        let mut kept = self.lock();
        if let Some(known) = kept.get_mut(&key) {
            known.count += statement.count;
            known.last = known.last.max(statement.last);
            known.rows_read += statement.rows_read;
            known.rows_left += statement.rows_left;
            known.index = statement.index;
            return;
        }
        if kept.len() >= STATEMENTS_MAX {
            let oldest = kept.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                kept.remove(&oldest);
            }
        }
        kept.insert(key, statement);
    }

    /// All of them, what came last first.
    pub fn list(&self) -> Vec<RefusedStatement> {
        let mut list: Vec<RefusedStatement> = self.lock().values().cloned().collect();
        list.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.text.cmp(&b.text)));
        list
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<(RefusalReason, String, String), RefusedStatement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether so many rows were read for those that were left that an index should be thought of.
pub fn reads_much(read: u64, left: u64) -> bool {
    read >= ROWS_READ_MIN && read > left.max(1).saturating_mul(ROWS_READ_EACH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, last: i64) -> RefusedStatement {
        RefusedStatement {
            reason: RefusalReason::Refused,
            text: text.to_string(),
            table: "t".to_string(),
            index: None,
            count: 1,
            last,
            rows_read: 0,
            rows_left: 0,
        }
    }

    #[test]
    fn equal_texts_are_counted_and_the_oldest_go() {
        let refused = RefusedStatements::default();
        refused.note(statement("a", 1));
        refused.note(statement("a", 5));
        let found: Vec<(u64, i64)> = refused.list().iter().map(|one| (one.count, one.last)).collect();
        assert_eq!(found, [(2, 5)]);
        for at in 0..2 * STATEMENTS_MAX {
            refused.note(statement(&format!("b{at}"), at as i64 + 10));
        }
        let list = refused.list();
        assert_eq!(list.len(), STATEMENTS_MAX);
        assert_eq!(list[0].text, format!("b{}", 2 * STATEMENTS_MAX - 1));
        assert!(list.iter().all(|one| one.text != "a"));
    }

    #[test]
    fn much_is_a_hundred_for_each_and_a_thousand_at_least() {
        assert!(!reads_much(999, 0));
        assert!(reads_much(1000, 0) && reads_much(1000, 9));
        assert!(!reads_much(1000, 10));
    }
}
