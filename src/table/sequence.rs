//! `Sequences`: the values of sequences and hidden row ids, handed out from blocks that one process reserves in transactions of its own,
//! so that they are never rolled back, never given twice, and concurrent sessions never conflict over a counter.
//!
//! ```text
//!   stored state ── the last value of the newest block          (committed and durable before any of the block is given)
//!   block ───────── given so far │ still to be given            (in memory: a server that ends leaves the rest out)
//! ```
//!
//! Invariants
//!
//! 1. Who takes a value holds the sequence's lock, as PostgreSQL does, until its transaction ends: so nobody changes the sequence
//!    meanwhile, and what was read of its record under the lock stands.
//! 2. ALTER SEQUENCE counts on under another generation, and so under another key: rolled back, the old one goes on.
//! 3. A sequence whose counter the transaction itself has written (CREATE, ALTER) is counted in that transaction: nobody else sees it. What
//!    is taken so goes back with a savepoint. (PostgreSQL's does not; it takes a rolled-back savepoint beside a new sequence to tell.)
//! 4. Of several processes over one store each has blocks of its own: `setval` is seen by another's sessions once their block is used
//!    up, as in PostgreSQL with CACHE.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::row_id::{RowIds, gone};
use super::sequence_state::{SequenceRun, SequenceState};
use crate::catalog::{FIRST_OID, ObjectIds, SequenceDef, TableDef, record_key, sequence_of_record};
use crate::codec::keyspace::TableId;
use crate::store::{LockMode, Store, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// What is reserved beyond what is asked for: the first time as much as PostgreSQL logs ahead, then twice as much each time, so that a
/// small sequence leaves a small gap at a restart and a bulk load reserves seldom.
const AHEAD_FIRST: u64 = 32;
/// The most.
const AHEAD_MAX: u64 = 8192;
/// How often a reservation that loses a race is tried again.
const RESERVE_TRIES: usize = 100;
/// What a reservation may write.
const RESERVE_BYTES_MAX: usize = 1 << 16;

/// The process's reserved blocks. One for a store, shared by all sessions.
#[derive(Debug)]
pub struct Sequences {
    store: Arc<dyn Store>,
    object_ids: ObjectIds,
    row_ids: RowIds,
    /// By the sequence's id. Never locked across an await.
    counters: Mutex<HashMap<TableId, Arc<Counter>>>,
}

/// A sequence as a transaction that holds its lock sees it.
#[derive(Debug, Clone)]
pub struct OpenSequence {
    /// Its definition.
    pub def: Arc<SequenceDef>,
    /// The transaction itself has made or altered it: it is counted there.
    pub is_own: bool,
    counter: Arc<Counter>,
}

/// What the process knows of a sequence.
#[derive(Debug, Default)]
struct Counter {
    /// Held by who reserves or sets.
    reserving: tokio::sync::Mutex<()>,
    /// Never locked across an await.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// As it was read last.
    def: Option<Arc<SequenceDef>>,
    block: Option<Block>,
}

/// Values of a generation that are reserved.
#[derive(Debug, Clone, Copy)]
struct Block {
    generation: u16,
    /// What was given of them, and before.
    given: SequenceState,
    /// What was not.
    rest: SequenceRun,
    /// What the next reservation asks for beyond what it needs.
    ahead: u64,
}

impl Sequences {
    /// For one store.
    pub fn new(store: Arc<dyn Store>) -> Sequences {
        Sequences {
            object_ids: ObjectIds::new(Arc::clone(&store)),
            row_ids: RowIds::new(Arc::clone(&store)),
            store,
            counters: Mutex::default(),
        }
    }

    /// The store that the counters stand in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The numbers of new tables, views, sequences, schemas and indexes.
    pub fn object_ids(&self) -> &ObjectIds {
        &self.object_ids
    }

    /// `count` consecutive hidden row ids of the table.
    pub async fn take_row_ids(
        &self,
        txn: &Transaction,
        table: &TableDef,
        count: usize,
    ) -> Result<Range<i64>> {
        self.row_ids.take(txn, table, count).await
    }

    /// Starts the counter of a new table's row ids, if it has some, in its own transaction.
    pub fn create_row_ids(txn: &Transaction, table: &TableDef) -> Result<()> {
        RowIds::create(txn, table)
    }

    /// Gives the row ids of `old` to `new`, the same table under another id: from 1 on, or from where they are.
    pub async fn move_row_ids(
        &self,
        txn: &Transaction,
        old: &TableDef,
        new: &TableDef,
        restart: bool,
    ) -> Result<()> {
        self.row_ids.move_to(txn, old, new, restart).await
    }

    /// The same, while those of `old` stay for what is kept of it.
    pub async fn copy_row_ids(
        &self,
        txn: &Transaction,
        old: &TableDef,
        new: &TableDef,
        restart: bool,
    ) -> Result<()> {
        self.row_ids.copy_to(txn, old, new, restart).await
    }

    /// Removes the counter of a table's row ids.
    pub fn remove_row_ids(txn: &Transaction, table: &TableDef) -> Result<()> {
        RowIds::remove(txn, table)
    }

    /// Writes what a generation of a sequence begins with, in the transaction that makes or alters it.
    pub fn begin(txn: &Transaction, def: &SequenceDef, state: SequenceState) -> Result<()> {
        put(txn, def, state, None)
    }

    /// The sequence with this oid, whose lock the transaction holds until it ends. Errors: 42809 for another relation, 42P01;
    /// 40P01, 55P03.
    pub async fn open(&self, txn: &Transaction, oid: u32) -> Result<OpenSequence> {
        let id = oid.checked_sub(FIRST_OID).ok_or_else(|| no_sequence(oid))?;
        let counter = self.counter(id);
        let lock = record_key(id);
        let was_held = txn.holds(&lock, LockMode::RowExclusive);
        if !was_held {
            txn.lock_unread(&[lock], LockMode::RowExclusive).await?;
        }
        let (known, record) = (counter.lock().def.clone(), record_key(id));
        let def = match known.filter(|_| was_held && !txn.has_written(&record)) {
            // Nobody else can have changed it since it was read.
            Some(known) => known,
            None => self.read_def(txn, &counter, record, oid).await?,
        };
        let is_own = txn.has_written(&def.counter_key());
        Ok(OpenSequence { def, is_own, counter })
    }

    /// The next values, at most `wanted`, at least one. Errors: 2200H.
    pub async fn take(&self, txn: &Transaction, open: &OpenSequence, wanted: u64) -> Result<SequenceRun> {
        if open.is_own {
            let _one = open.counter.reserving.lock().await;
            let state = own_state(txn, &open.def).await?;
            let run = state.next_run(&open.def, wanted)?;
            txn.amend(&open.def.counter_key(), given(state, run).encode())?;
            return Ok(run);
        }
        if let Some(run) = open.counter.take_reserved(&open.def, wanted) {
            return Ok(run);
        }
        let _one = open.counter.reserving.lock().await;
        // Somebody else may have reserved meanwhile.
        match open.counter.take_reserved(&open.def, wanted) {
            Some(run) => Ok(run),
            None => self.reserve(open, wanted).await,
        }
    }

    /// `setval`: what the sequence gave last, or gives first. Nothing takes it back.
    pub async fn set(&self, txn: &Transaction, open: &OpenSequence, state: SequenceState) -> Result<()> {
        let _one = open.counter.reserving.lock().await;
        if open.is_own {
            return txn.amend(&open.def.counter_key(), state.encode());
        }
        // From here on nothing of the block is given, whether the commit is heard of or not.
        let block = open.counter.lock().block.take();
        self.commit_state(&open.def, |_| Ok(((), state))).await?;
        let ahead = block.map_or(AHEAD_FIRST, |block| block.ahead);
        open.counter.lock().block = Some(Block {
            generation: open.def.generation,
            given: state,
            rest: SequenceRun::empty(),
            ahead,
        });
        Ok(())
    }

    /// What a sequence has given by now, and how many values are reserved beyond it. Errors: XX001 when nothing is known.
    pub async fn state(&self, txn: &Transaction, def: &SequenceDef) -> Result<(SequenceState, u64)> {
        if txn.has_written(&def.counter_key()) {
            return Ok((own_state(txn, def).await?, 0));
        }
        let block = self.counter(def.id).lock().block;
        if let Some(block) = block.filter(|block| block.generation == def.generation) {
            return Ok((block.given, block.rest.left()));
        }
        let key = [def.counter_key()];
        let newest = self.store.snapshot().await?.get_many(&key).await?;
        let bytes = match newest.get(0) {
            Some(bytes) => Some(bytes.to_vec()),
            // It was altered since the transaction's snapshot.
            None => txn.get_stored(&key).await?.get(0).map(<[u8]>::to_vec),
        };
        let bytes = bytes.ok_or_else(|| uncounted(def))?;
        Ok((SequenceState::decode(&bytes)?, 0))
    }

    /// The newest definition, or the one that the transaction itself has written.
    async fn read_def(
        &self,
        txn: &Transaction,
        counter: &Counter,
        record: Vec<u8>,
        oid: u32,
    ) -> Result<Arc<SequenceDef>> {
        let (is_own, key) = (txn.has_written(&record), [record]);
        let values = match is_own {
            true => txn.with_own_writes().get_many(&key).await?,
            false => self.store.snapshot().await?.get_many(&key).await?,
        };
        let bytes = values.get(0).ok_or_else(|| no_sequence(oid))?;
        let known = counter.lock().def.clone();
        let def = sequence_of_record(bytes, known.as_ref())?.ok_or_else(|| no_sequence(oid))?;
        if !is_own {
            counter.lock().def = Some(Arc::clone(&def));
        }
        Ok(def)
    }

    /// Reserves a block and takes values of it. To be called by who holds `reserving`.
    async fn reserve(&self, open: &OpenSequence, wanted: u64) -> Result<SequenceRun> {
        let (def, counter) = (&open.def, &open.counter);
        let known = counter.lock().block;
        let known = known.filter(|block| block.generation == def.generation);
        let ahead = known.map_or(AHEAD_FIRST, |block| block.ahead);
        let reserving = self.commit_state(def, |stored| {
            let run = stored.next_run(def, wanted.saturating_add(ahead))?;
            Ok(((stored, run), given(stored, run)))
        });
        let (stored, mut rest) = reserving.await?;
        let taken = rest.take_first(wanted);
        counter.lock().block = Some(Block {
            generation: def.generation,
            given: given(stored, taken),
            rest,
            ahead: ahead.saturating_mul(2).min(AHEAD_MAX),
        });
        Ok(taken)
    }

    /// Writes what follows on the stored state in a transaction of its own.
    async fn commit_state<T>(
        &self,
        def: &SequenceDef,
        follow: impl Fn(SequenceState) -> Result<(T, SequenceState)>,
    ) -> Result<T> {
        let mut lost = Ok(());
        for _ in 0..RESERVE_TRIES {
            let txn = Transaction::begin(Arc::clone(&self.store), RESERVE_BYTES_MAX).await?;
            let (answer, state) = follow(own_state(&txn, def).await?)?;
            put(&txn, def, state, Some(LockMode::Replace))?;
            match txn.commit(false).await {
                Ok(()) => return Ok(answer),
                Err(error @ Error::Conflict { .. }) => lost = Err(error),
                Err(error) => return Err(error),
            }
        }
        lost?;
        Err(Error::internal("no values after many reservations"))
    }

    /// Forgets what is known of sequences and tables that are gone, once they are many. Errors: the store's.
    pub async fn forget_dropped(&self) -> Result<()> {
        self.row_ids.forget_dropped().await?;
        let ids: Vec<TableId> = self.lock().keys().copied().collect();
        let records: Vec<Vec<u8>> = ids.iter().map(|id| record_key(*id)).collect();
        let gone = gone(&self.store, &records).await?;
        let mut counters = self.lock();
        for at in gone {
            // Who has one at hand may be making its sequence.
            let is_free = |counter: &Arc<Counter>| Arc::strong_count(counter) == 1;
            if counters.get(&ids[at]).is_some_and(is_free) {
                counters.remove(&ids[at]);
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TableId, Arc<Counter>>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counter(&self, id: TableId) -> Arc<Counter> {
        Arc::clone(self.lock().entry(id).or_default())
    }
}

impl Counter {
    /// Values that are reserved already.
    fn take_reserved(&self, def: &SequenceDef, wanted: u64) -> Option<SequenceRun> {
        let mut known = self.lock();
        let block = known.block.as_mut()?;
        if block.generation != def.generation || block.rest.left() == 0 {
            return None;
        }
        let run = block.rest.take_first(wanted);
        block.given = given(block.given, run);
        Some(run)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state once a run is given.
fn given(before: SequenceState, run: SequenceRun) -> SequenceState {
    match run.last() {
        None => before,
        Some(last) => SequenceState {
            last,
            is_called: true,
        },
    }
}

/// The state as the transaction sees it, with all that it has written by now.
async fn own_state(txn: &Transaction, def: &SequenceDef) -> Result<SequenceState> {
    let values = txn.with_own_writes().get_many(&[def.counter_key()]).await?;
    SequenceState::decode(values.get(0).ok_or_else(|| uncounted(def))?)
}

fn put(txn: &Transaction, def: &SequenceDef, state: SequenceState, lock: Option<LockMode>) -> Result<()> {
    let (key, value) = (def.counter_key(), state.encode());
    txn.write(Write::Put { key, value }, lock)
}

fn uncounted(def: &SequenceDef) -> Error {
    Error::Corrupt {
        what: format!("sequence \"{}\"", def.name),
        reason: "its counter is missing".to_string(),
    }
}

fn no_sequence(oid: u32) -> Error {
    Error::UndefinedTable {
        name: oid.to_string(),
        nearest: None,
    }
}
