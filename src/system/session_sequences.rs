//! `SessionSequences`: what a session has of sequences: the values that `currval` and `lastval` tell of, those that it holds by CACHE, and
//! those that its statement has taken, which are given again when the statement is run again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::table::{OpenSequence, SequenceRun, SequenceState};

/// What one session has of sequences.
#[derive(Debug, Default)]
pub struct SessionSequences(Mutex<Used>);

#[derive(Debug, Default)]
struct Used {
    /// By the sequence's oid.
    sequences: HashMap<u32, UsedSequence>,
    /// The sequence that gave a value last.
    last: Option<u32>,
    /// What the statement has taken, in order.
    taken: Vec<Taken>,
    /// What earlier runs of it had taken.
    again: VecDeque<Taken>,
    /// The next statement is the same once more.
    is_repeated: bool,
}

#[derive(Debug, Default)]
struct UsedSequence {
    last: Option<i64>,
    /// Values of a generation that only this session gives.
    cached: Option<(u16, SequenceRun)>,
}

/// Values of a generation of a sequence.
#[derive(Debug, Clone, Copy)]
struct Taken {
    oid: u32,
    generation: u16,
    run: SequenceRun,
}

impl SessionSequences {
    /// The value that the sequence gave this session last.
    pub fn last_of(&self, oid: u32) -> Option<i64> {
        self.lock().sequences.get(&oid)?.last
    }

    /// The sequence that gave this session a value last, and the value.
    pub fn last(&self) -> Option<(u32, i64)> {
        let used = self.lock();
        let oid = used.last?;
        Some((oid, used.sequences.get(&oid)?.last?))
    }

    /// DISCARD SEQUENCES.
    pub fn discard(&self) {
        *self.lock() = Used::default();
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        let mut used = self.lock();
        if !std::mem::take(&mut used.is_repeated) {
            used.taken.clear();
            used.again.clear();
        }
    }

    /// The statement failed, and the next that begins is the same in another form: what it has taken that one gets.
    pub fn repeat(&self) {
        self.begin_again();
        self.lock().is_repeated = true;
    }

    /// The statement begins anew: what it has taken it gets again.
    pub fn begin_again(&self) {
        let used = &mut *self.lock();
        for taken in used.taken.drain(..).rev() {
            used.again.push_front(taken);
        }
    }

    /// Values that the session has already.
    pub(super) fn take_held(&self, open: &OpenSequence, wanted: u64) -> Option<SequenceRun> {
        // What is counted in the transaction was undone with the statement.
        if open.is_own {
            return None;
        }
        let (oid, generation) = (open.def.oid(), open.def.generation);
        let used = &mut *self.lock();
        let mut again = used.again.iter_mut();
        if let Some(taken) = again.find(|taken| taken.oid == oid && taken.run.left() > 0)
            && taken.generation == generation
        {
            return Some(taken.run.take_first(wanted));
        }
        let (cached_of, cached) = used.sequences.get_mut(&oid)?.cached.as_mut()?;
        let is_left = *cached_of == generation && cached.left() > 0;
        is_left.then(|| cached.take_first(wanted))
    }

    /// Keeps values for later.
    pub(super) fn keep(&self, open: &OpenSequence, rest: SequenceRun) {
        if rest.left() > 0 && !open.is_own {
            let mut used = self.lock();
            let sequence = used.sequences.entry(open.def.oid()).or_default();
            sequence.cached = Some((open.def.generation, rest));
        }
    }

    pub(super) fn note_given(&self, open: &OpenSequence, run: SequenceRun) {
        let (oid, generation) = (open.def.oid(), open.def.generation);
        let used = &mut *self.lock();
        used.last = Some(oid);
        let sequence = used.sequences.entry(oid).or_default();
        sequence.last = run.last().or(sequence.last);
        if open.is_own {
            return;
        }
        let before = used.taken.last_mut();
        let before = before.filter(|taken| taken.oid == oid && taken.generation == generation);
        if before.is_none_or(|taken| !taken.run.extend(run)) {
            used.taken.push(Taken { oid, generation, run });
        }
    }

    pub(super) fn note_set(&self, oid: u32, state: SequenceState) {
        let used = &mut *self.lock();
        let sequence = used.sequences.entry(oid).or_default();
        sequence.cached = None;
        if state.is_called {
            sequence.last = Some(state.last);
        }
        used.taken.retain(|taken| taken.oid != oid);
        used.again.retain(|taken| taken.oid != oid);
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::{Catalog, CatalogWriter, FIRST_OID, SequenceDef, SequenceType};
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::table::Sequences;
    use crate::txn::Transaction;

    /// A committed sequence, opened.
    async fn open() -> OpenSequence {
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap());
        let begin = || Transaction::begin(Arc::clone(&store), 1 << 20);
        let (schema, name) = ("public".to_string(), "s".to_string());
        let def = SequenceDef::rising(1, schema, name, SequenceType::Integer);
        let (txn, catalog) = (begin().await.unwrap(), Catalog::empty());
        CatalogWriter::begin(&txn, &catalog)
            .unwrap()
            .put_sequence(&def)
            .unwrap();
        Sequences::begin(&txn, &def, SequenceState::starting_at(1)).unwrap();
        txn.commit(false).await.unwrap();
        let txn = begin().await.unwrap();
        let sequences = Sequences::new(Arc::clone(&store));
        sequences.open(&txn, FIRST_OID + 1).await.unwrap()
    }

    fn values(run: Option<SequenceRun>) -> Vec<i64> {
        run.into_iter().flat_map(SequenceRun::values).collect()
    }

    #[tokio::test]
    async fn a_statement_that_begins_again_gets_its_values_again() {
        let (open, session) = (open().await, SessionSequences::default());
        let mut run = SequenceState::starting_at(1).next_run(&open.def, 5).unwrap();
        session.begin_statement();
        session.note_given(&open, run.take_first(2));
        session.note_given(&open, run.take_first(1));
        session.begin_again();
        let again = session.take_held(&open, 2);
        session.note_given(&open, again.unwrap());
        assert_eq!(values(again), [1, 2]);
        // Once more, before all were given again.
        session.begin_again();
        assert_eq!(values(session.take_held(&open, 2)), [1, 2]);
        assert_eq!(values(session.take_held(&open, 2)), [3]);
        assert!(session.take_held(&open, 1).is_none());
        session.begin_again();
        session.begin_statement();
        assert!(session.take_held(&open, 1).is_none(), "another statement");
        assert_eq!(session.last(), Some((open.def.oid(), 2)));
        session.discard();
        assert_eq!((session.last(), session.last_of(open.def.oid())), (None, None));
    }

    #[tokio::test]
    async fn cached_values_go_when_one_is_set() {
        let (open, session) = (open().await, SessionSequences::default());
        let mut run = SequenceState::starting_at(1).next_run(&open.def, 4).unwrap();
        session.note_given(&open, run.take_first(1));
        session.keep(&open, run);
        assert_eq!(values(session.take_held(&open, 1)), [2]);
        let set = SequenceState {
            last: 9,
            is_called: true,
        };
        session.note_set(open.def.oid(), set);
        assert!(session.take_held(&open, 1).is_none());
        assert_eq!(session.last_of(open.def.oid()), Some(9));
    }
}
