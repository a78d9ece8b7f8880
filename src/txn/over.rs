//! What a transaction tells of rows that are over, and by what time it judges that.

use std::sync::Arc;

use super::Transaction;
use crate::Result;
use crate::codec::expiry::{ExpiryRules, NEVER};
use crate::store::Page;

impl Transaction {
    /// When the rows of a page are over, those that are already among them, in microseconds since 1970. Errors: `Corrupt`.
    pub fn moments_over(&self, page: &Page) -> Result<Vec<i64>> {
        let judge = page.last().and_then(|(key, _)| self.visibility.judge_of(key));
        match judge {
            Some(judge) => judge.moments_over(page),
            None => Ok(vec![NEVER; page.len()]),
        }
    }

    /// Takes the rows that are over out of a page of rows; answers their keys and values. Errors: `Corrupt`.
    pub fn take_over_rows(&self, page: &mut Page) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let judge = page.last().and_then(|(key, _)| self.visibility.judge_of(key));
        match judge {
            Some(judge) => judge.take_over(page),
            None => Ok(Vec::new()),
        }
    }

    /// The same transaction, whose reads see all that it has written by then, and rows that are over as well: for who must know all that
    /// is stored.
    pub fn with_rows_that_are_over(&self) -> Transaction {
        Transaction {
            visibility: self.visibility.of_all(),
            ..self.with_own_writes()
        }
    }

    /// From now on rows are over by the rules of the catalog that it has loaded.
    pub fn judge_by(&self, rules: Option<&Arc<ExpiryRules>>) {
        self.visibility.judge_by(rules);
    }

    /// The time by which its reads judge whether rows are over, in microseconds since 1970.
    pub fn read_time(&self) -> i64 {
        self.visibility.time()
    }

    /// What time it is, in microseconds since 1970: later than that of any commit that it can read, no later than that of its own.
    pub fn now(&self) -> i64 {
        self.visibility.now_of_clock()
    }

    /// The time that rows which it writes have, in microseconds since 1970: when the statement began.
    pub fn write_time(&self) -> i64 {
        self.visibility.write_time()
    }
}
