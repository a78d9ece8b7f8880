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
        let mut number = || parts.next()?.parse::<i64>().ok();
        let (first, next) = (number()?, number()?);
        let listed = parts.next()?;
        let listed = listed.split(',').filter(|_| !listed.is_empty());
        let listed = listed.map(|item| item.parse().ok());
        TransactionSnapshot::of(first, next, listed.collect::<Option<Vec<i64>>>()?)
    }

    /// Of numbers that somebody wrote; `None`: they are no snapshot's.
    fn of(first: i64, next: i64, listed: Vec<i64>) -> Option<TransactionSnapshot> {
        let mut open: Vec<i64> = Vec::new();
        for item in listed {
            if item < first || item >= next || open.last().is_some_and(|last| *last > item) {
                return None;
            }
            if open.last() != Some(&item) {
                open.push(item);
            }
        }
        (0 < first && first <= next).then_some(TransactionSnapshot { first, next, open })
    }

    /// Reads the binary form, as PostgreSQL's `pg_snapshot_recv` does; `None`: it is none. How many are open stands first.
    pub(super) fn from_binary(bytes: &[u8]) -> Option<TransactionSnapshot> {
        let (count, numbers) = bytes.split_first_chunk::<4>()?;
        let (numbers, []) = numbers.as_chunks::<8>() else {
            return None;
        };
        let [first, next, open @ ..] = numbers else {
            return None;
        };
        let number = |bytes: &[u8; 8]| i64::from_be_bytes(*bytes);
        let is_whole = usize::try_from(u32::from_be_bytes(*count)).ok()? == open.len();
        let open = open.iter().map(number).collect();
        TransactionSnapshot::of(number(first), number(next), open).filter(|_| is_whole)
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

/// Appends the binary form of a snapshot's text, as PostgreSQL's `pg_snapshot_send` writes it.
pub(super) fn put_binary(out: &mut Vec<u8>, text: &[u8]) {
    let snapshot = std::str::from_utf8(text).ok().and_then(TransactionSnapshot::read);
    let Some(TransactionSnapshot { first, next, open }) = snapshot else {
        // No value is other than what was read.
        return out.extend_from_slice(text);
    };
    out.extend_from_slice(&(open.len() as u32).to_be_bytes());
    for number in [first, next].iter().chain(&open) {
        out.extend_from_slice(&number.to_be_bytes());
    }
}
