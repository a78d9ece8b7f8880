//! `TransactionSnapshot`: which transactions a snapshot sees, by their numbers; the text of `pg_snapshot`.

use std::fmt;

use crate::{Error, Result};

/// `first:next:open,open`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionSnapshot {
    /// All below it have ended.
    pub first: i64,
    /// It and all above have not begun.
    pub next: i64,
    /// Those between that are open, in their order.
    pub open: Vec<i64>,
}

impl TransactionSnapshot {
    /// Reads the text of the type called so. Errors: 22P02.
    pub fn parse(text: &str, ty: &str) -> Result<TransactionSnapshot> {
        TransactionSnapshot::read(text).ok_or_else(|| Error::InvalidText {
            type_name: ty.to_string(),
            value: text.to_string(),
        })
    }

    fn read(text: &str) -> Option<TransactionSnapshot> {
        let mut parts = text.splitn(3, ':');
        let mut number = || parts.next()?.parse::<i64>().ok().filter(|number| *number > 0);
        let (first, next) = (number()?, number()?);
        let listed = parts.next()?;
        let mut open: Vec<i64> = Vec::new();
        for item in listed.split(',').filter(|_| !listed.is_empty()) {
            let item = item.parse::<i64>().ok()?;
            if item < first || item >= next || open.last().is_some_and(|last| *last > item) {
                return None;
            }
            if open.last() != Some(&item) {
                open.push(item);
            }
        }
        (first <= next).then_some(TransactionSnapshot { first, next, open })
    }

    /// Whether it sees what the transaction with a number has written.
    pub fn sees(&self, number: i64) -> bool {
        number < self.first || number < self.next && self.open.binary_search(&number).is_err()
    }
}

impl fmt::Display for TransactionSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open: Vec<String> = self.open.iter().map(i64::to_string).collect();
        write!(f, "{}:{}:{}", self.first, self.next, open.join(","))
    }
}
