//! Numbers by which statements tell transactions apart (`pg_current_xact_id`). A transaction gets one when it is first asked for: most never
//! do. A number is open until its transaction is committed and can be read, or is forgotten; so who sees a number below all that are open
//! sees everything that its transaction has written.
//!
//! Numbers rise with the time at which they were given, and begin anew with each start of the process; `functions` puts the time of the start
//! before them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Transaction;

/// Ends of transactions that are remembered.
const ENDS_MAX: usize = 100_000;

/// The numbers of one server's transactions.
#[derive(Debug, Default)]
pub struct TransactionNumbers {
    /// Whether any was given: as long as none was, nobody need wait for the lock.
    is_used: AtomicBool,
    numbers: Mutex<Numbers>,
}

/// Which numbers were open at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenNumbers {
    /// In their order.
    pub open: Vec<u64>,
    /// The one to be given next.
    pub next: u64,
}

#[derive(Debug, Default)]
struct Numbers {
    next: u64,
    open: BTreeSet<u64>,
    /// Numbers, and whether their transactions were committed, the first that ended first.
    ends: VecDeque<(u64, bool)>,
}

/// How a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionState {
    /// It is open.
    InProgress,
    /// Its writes are there.
    Committed,
    /// Its writes are nowhere.
    Aborted,
    /// It ended too long ago.
    Forgotten,
    /// Nobody has the number yet.
    Future,
}

impl TransactionNumbers {
    /// The numbers that are open now.
    pub fn open(&self) -> OpenNumbers {
        if !self.is_used.load(Ordering::Acquire) {
            return OpenNumbers::default();
        }
        let numbers = self.lock();
        OpenNumbers {
            open: numbers.open.iter().copied().collect(),
            next: numbers.next,
        }
    }

    /// How the transaction with a number stands.
    pub fn state(&self, number: u64) -> TransactionState {
        let numbers = self.lock();
        if number >= numbers.next {
            return TransactionState::Future;
        }
        if numbers.open.contains(&number) {
            return TransactionState::InProgress;
        }
        let ended = numbers.ends.iter().rev().find(|(ended, _)| *ended == number);
        match ended {
            Some((_, true)) => TransactionState::Committed,
            Some((_, false)) => TransactionState::Aborted,
            None => TransactionState::Forgotten,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of a transaction; it ends with this.
#[derive(Debug)]
pub(super) struct TransactionId {
    pub(super) number: u64,
    numbers: Arc<TransactionNumbers>,
    is_ended: bool,
}

impl TransactionId {
    /// The next number.
    pub(super) fn take(numbers: &Arc<TransactionNumbers>) -> TransactionId {
        let mut held = numbers.lock();
        numbers.is_used.store(true, Ordering::Release);
        let number = held.next;
        held.next += 1;
        held.open.insert(number);
        TransactionId {
            number,
            numbers: Arc::clone(numbers),
            is_ended: false,
        }
    }

    /// The transaction was committed, and others see it.
    pub(super) fn commit(&mut self) {
        self.end(true);
    }

    fn end(&mut self, committed: bool) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        let mut numbers = self.numbers.lock();
        numbers.open.remove(&self.number);
        if numbers.ends.len() >= ENDS_MAX {
            numbers.ends.pop_front();
        }
        numbers.ends.push_back((self.number, committed));
    }
}

impl Drop for TransactionId {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Transaction {
    /// Which of the process's transactions it is, the same for all its statements: given when it is first asked for.
    pub fn transaction_number(&self) -> u64 {
        let mut id = self.whole.id.lock().unwrap_or_else(PoisonError::into_inner);
        id.get_or_insert_with(|| TransactionId::take(&self.whole.options.numbers))
            .number
    }

    /// The numbers of transactions that were open when its snapshot was taken.
    pub fn open_numbers(&self) -> &OpenNumbers {
        &self.open
    }

    /// The numbers of all transactions of its server.
    pub fn numbers(&self) -> &TransactionNumbers {
        &self.whole.options.numbers
    }

    /// The same, if it has been asked for.
    pub fn given_transaction_number(&self) -> Option<u64> {
        let id = self.whole.id.lock().unwrap_or_else(PoisonError::into_inner);
        id.as_ref().map(|id| id.number)
    }

    /// Others see what it has written.
    pub(super) fn end_id(&self) {
        let mut id = self.whole.id.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = id.as_mut() {
            id.commit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_open_until_its_transaction_ends() {
        let numbers = Arc::new(TransactionNumbers::default());
        let mut one = TransactionId::take(&numbers);
        let other = TransactionId::take(&numbers);
        let open = |open: &[u64], next| OpenNumbers {
            open: open.to_vec(),
            next,
        };
        assert_eq!(numbers.open(), open(&[0, 1], 2));
        assert_eq!(numbers.state(one.number), TransactionState::InProgress);
        one.commit();
        drop(other);
        assert_eq!(numbers.state(0), TransactionState::Committed);
        assert_eq!(numbers.state(1), TransactionState::Aborted);
        assert_eq!(numbers.state(2), TransactionState::Future);
        assert_eq!(numbers.open(), open(&[], 2));
        for _ in 0..ENDS_MAX {
            TransactionId::take(&numbers).commit();
        }
        assert_eq!(numbers.state(1), TransactionState::Forgotten);
    }
}
