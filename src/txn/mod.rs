//! Transactions over the store: writes buffered over a snapshot, read-your-writes, savepoints, locks. Sessions
//! begin and end them; `catalog`, `table` and `scan` read and write through them. Knows nothing of tables or SQL.
//!
//! ```text
//!   reads ──► buffer (own writes, newest first) ──► snapshot (everything committed before the statement, or the block)
//!   write ──► buffer          lock ──► the store's lock table         commit ──► Batch ──► Store, then the locks go
//! ```
//!
//! A transaction changes nothing that it has not locked, and so nothing is left to be found out at commit. Rows are locked before
//! they are written ([`Transaction::lock`]); what a statement has read of records and names and must stay so (guards, writes
//! with a lock mode) is locked at its end ([`Transaction::settle`]). Whoever locks a key that was changed behind the
//! statement's snapshot gets `Error::Conflict`: the session undoes the statement and runs it again from a newer one, with its locks
//! kept, or, where a block keeps its snapshot, fails it. Who can make of one row what the statement makes of it asks for what the row is
//! now instead ([`Transaction::lock_rows`]).
//!
//! Invariants
//!
//! 1. A read sees the snapshot and exactly the writes whose call ended before the read began (for a scan: before it was
//!    opened; of a view: before that was made), whatever other tasks write meanwhile.
//! 2. After `rollback_to(s)` every read, the batch at commit and the locks are as they were when `s` was made.
//! 3. A transaction without writes never conflicts, and touches the store for reads and locks alone.
//! 4. Buffered keys, values and their bookkeeping never exceed `bytes_max`, nor what the server's memory has left; the write
//!    that would is refused whole.
//! 5. A key that the transaction has locked, and has read since or has found unchanged, is committed as the transaction knows it until
//!    the transaction ends.
//! 6. Locks are given up after the commit is visible, but for those of rows that it writes: whoever gets these first rests on it
//!    (`CommitDependency`), and no client is told of what rests on a commit before that is durable.
//! 7. No read sees a row that is over at the statement's time, by the rules of the catalog that it has loaded (`visibility`): this is the one
//!    place where that is judged.

mod beside;
mod buffer;
mod change_log;
mod commit_dependency;
mod database_store;
pub mod heat;
mod locking;
mod next_statement;
mod options;
mod over;
mod own_keys;
mod read_as;
mod reads;
mod scan;
mod shared_snapshot;
mod transaction_ids;
mod unsettled;
mod view;
mod visibility;

#[cfg(test)]
mod passed_on_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::keyspace::DatabaseId;
use crate::store::{
    Batch, HeldLocks, KeyRange, LockMode, LockPolicy, LocksToEnd, ScanRequest, Snapshot, Store, Values,
    Write, WriteWatch,
};
use crate::{Error, Result};
use buffer::{Buffer, Finished};
use change_log::{ChangeLogs, put_logged};
pub use commit_dependency::{CommitDependency, DurabilityBarrier};
pub use database_store::DatabaseStore;
use heat::{HeatView, KeyHeat, ScanHeat};
pub use locking::{LockedRows, LockedValues};
pub use options::TransactionOptions;
use reads::ReadSet;
pub use reads::is_data;
pub use scan::TransactionScan;
pub use shared_snapshot::SharedSnapshot;
use transaction_ids::TransactionId;
pub use transaction_ids::{OpenNumbers, TransactionNumbers, TransactionState};
pub use unsettled::VersionsPrefix;
use view::View;
use visibility::{Judge, Visibility};

/// A commit of more writes passes no locks on before it is durable: finding them would take longer.
const PASSED_ON_MAX: usize = 1024;

/// How many snapshots transactions of the process have taken.
static SNAPSHOTS: AtomicU64 = AtomicU64::new(0);

/// A transaction as one statement sees it: a snapshot and the writes made over it. Cheap to share (`Arc`); reads may run side by side,
/// a write takes effect for reads that start after it. Dropping the last one of a transaction without `commit` forgets its
/// writes and gives up its locks.
#[derive(Debug)]
pub struct Transaction {
    /// See [`Transaction::number`].
    number: u64,
    snapshot: Arc<dyn Snapshot>,
    /// Of a view: what its reads see.
    view: Option<View>,
    visibility: Visibility,
    /// What its reads and writes are counted by.
    heat: Option<HeatView>,
    /// Whether a serializable transaction is said to have read what is read by it.
    is_noted: bool,
    /// The numbers that were open when its snapshot was taken.
    open: OpenNumbers,
    /// Of a statement within another: how much had been written before it ([`Transaction::next_within`]).
    began_at: usize,
    whole: Arc<Whole>,
}

/// What all statements of a transaction share.
#[derive(Debug)]
struct Whole {
    /// Its number, once somebody has asked for it.
    id: Mutex<Option<TransactionId>>,
    store: Arc<dyn Store>,
    options: TransactionOptions,
    buffer: Arc<Mutex<Buffer>>,
    locks: Arc<HeldLocks>,
    policy: Mutex<LockPolicy>,
    keeps_snapshot: bool,
    /// The newest snapshot that one of its statements had, by its number.
    newest: AtomicU64,
    change_logs: ChangeLogs,
    /// What it has read, if it is serializable.
    reads: Option<Reads>,
    /// Whether every statement that wrote only frees space; `None`: none has written.
    frees_space: Mutex<Option<bool>>,
    /// Where rows stand, and older versions of them, that get the time of the commit.
    unsettled: Mutex<BTreeSet<VersionsPrefix>>,
}

/// What a serializable transaction has read.
#[derive(Debug)]
struct Reads {
    set: Mutex<ReadSet>,
    watch: Arc<dyn WriteWatch>,
}

/// Marks a place in a transaction's writes and locks to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    writes: usize,
    locks: usize,
}

impl Transaction {
    /// Begins at the newest snapshot, for nobody's session. `bytes_max`: see [`TransactionOptions`].
    pub async fn begin(store: Arc<dyn Store>, bytes_max: usize) -> Result<Transaction> {
        let options = TransactionOptions {
            bytes_max,
            ..TransactionOptions::default()
        };
        Transaction::begin_with(store, options).await
    }

    /// Begins at the newest snapshot.
    pub async fn begin_with(store: Arc<dyn Store>, mut options: TransactionOptions) -> Result<Transaction> {
        // Another of the session begins at the newest.
        let shared = options.snapshot.take();
        let reads = options.is_serializable.then(|| Reads {
            set: Mutex::default(),
            watch: match shared.as_ref().and_then(|shared| shared.watch.as_ref()) {
                Some(watch) => Arc::clone(watch),
                None => store.watch().into(),
            },
        });
        let locks = Arc::new(store.locks(options.session));
        let mut buffer = Buffer::new(options.bytes_max);
        if let Some(memory) = &options.memory {
            buffer.count_in(memory.account());
            locks.count_in(memory.account());
        }
        let whole = Whole {
            id: Mutex::new(None),
            store,
            options: options.clone(),
            buffer: Arc::new(Mutex::new(buffer)),
            locks,
            policy: Mutex::default(),
            keeps_snapshot: options.keeps_snapshot,
            newest: AtomicU64::default(),
            change_logs: ChangeLogs::default(),
            reads,
            frees_space: Mutex::new(None),
            unsettled: Mutex::default(),
        };
        let whole = Arc::new(whole);
        if let Some(shared) = &shared {
            whole.options.dependency.rest_on(shared.rests_on);
        }
        match shared {
            Some(shared) => Ok(Transaction {
                number: shared.number,
                snapshot: shared.snapshot,
                view: None,
                visibility: shared.visibility.next(whole.store.clock(), true),
                heat: whole.heat(),
                is_noted: true,
                // Nobody knows which were open when another took it: none of this server's is said to have ended.
                open: OpenNumbers::default(),
                began_at: 0,
                whole,
            }),
            None => Transaction::at_newest_of(whole, None).await,
        }
    }

    /// `before`: what the statement before it judged rows by.
    async fn at_newest_of(whole: Arc<Whole>, before: Option<&Visibility>) -> Result<Transaction> {
        // Before the snapshot: what has ended by now it sees.
        let open = whole.options.numbers.open();
        let mut snapshot = whole.newest().await?;
        while let Some(reads) = &whole.reads
            && !reads.watch.covers(&snapshot)
        {
            // A commit was on its way when the watch began: that is visible when the disk has it.
            whole.store.make_durable(whole.store.newest_commit()).await?;
            snapshot = whole.newest().await?;
        }
        // Behind the snapshot: what was removed before it is over at the time.
        let clock = whole.store.clock();
        let visibility = match before {
            Some(before) => before.next(clock, false),
            None => Visibility::now(clock, whole.keeps_snapshot),
        };
        let number = SNAPSHOTS.fetch_add(1, Ordering::Relaxed);
        whole.newest.fetch_max(number, Ordering::Relaxed);
        Ok(Transaction {
            number,
            snapshot,
            view: None,
            visibility,
            heat: whole.heat(),
            is_noted: true,
            open,
            began_at: 0,
            whole,
        })
    }

    /// The snapshots that the process took before its: one of a higher number was taken later, and most often sees more.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The database in whose catalog it reads and writes.
    pub fn database(&self) -> DatabaseId {
        self.whole.options.database
    }

    /// Where other transactions of its database begin.
    pub fn database_store(&self) -> DatabaseStore {
        DatabaseStore {
            store: Arc::clone(&self.whole.store),
            database: self.database(),
        }
    }

    /// Whether all its statements read one snapshot.
    pub fn keeps_snapshot(&self) -> bool {
        self.whole.keeps_snapshot
    }

    /// Values of keys, own writes first, but for rows that are over.
    pub async fn get_many(&self, keys: &[Vec<u8>]) -> Result<Values> {
        let mut values = self.get_all(keys).await?;
        self.visibility.keep_seen(keys, &mut values)?;
        Ok(values)
    }

    /// The same, with the places of the rows that are over: those are there, though nobody sees them.
    pub async fn get_many_and_over(&self, keys: &[Vec<u8>]) -> Result<(Values, BTreeSet<usize>)> {
        let mut values = self.get_all(keys).await?;
        let over = self.visibility.keep_seen(keys, &mut values)?;
        Ok((values, over.into_keys().collect()))
    }

    async fn get_all(&self, keys: &[Vec<u8>]) -> Result<Values> {
        self.note_reads(|reads| reads.add_keys(keys));
        if let Some(heat) = &self.heat {
            heat.count_gets(keys);
        }
        let own = self.lock_buffer().get_many(keys, self.seen());
        if own.is_empty() {
            return self.snapshot.get_many(keys).await;
        }
        let missing: Vec<Vec<u8>> = keys
            .iter()
            .zip(&own)
            .filter(|(_, own)| own.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        let stored = if missing.is_empty() {
            Values::default()
        } else {
            self.snapshot.get_many(&missing).await?
        };
        let mut values = Values::with_capacity(keys.len());
        let mut stored_index = 0;
        for own in own {
            match own {
                Some(value) => values.push(value.as_deref()),
                None => {
                    values.push(stored.get(stored_index));
                    stored_index += 1;
                }
            }
        }
        Ok(values)
    }

    /// Values that are committed under keys by now, whatever the snapshot sees, own writes first, but for rows that are over: what they are
    /// a moment later nobody knows.
    pub async fn get_newest(&self, keys: &[Vec<u8>]) -> Result<Values> {
        if keys.is_empty() {
            return Ok(Values::default());
        }
        let newest = self.whole.newest().await?;
        let stored = newest.get_many(keys).await?;
        let mut values = self.with_own(keys, stored);
        self.visibility.keep_seen(keys, &mut values)?;
        Ok(values)
    }

    /// What the transaction has written itself over values that are stored.
    fn with_own(&self, keys: &[Vec<u8>], stored: Values) -> Values {
        let own = self.lock_buffer().get_many(keys, self.seen());
        if own.is_empty() {
            return stored;
        }
        let mut values = Values::with_capacity(keys.len());
        for (at, own) in own.iter().enumerate() {
            values.push(match own {
                Some(own) => own.as_deref(),
                None => stored.get(at),
            });
        }
        values
    }

    /// Values of keys as the snapshot has them, own writes left out, and rows that are over among them.
    pub async fn get_stored(&self, keys: &[Vec<u8>]) -> Result<Values> {
        self.snapshot.get_many(keys).await
    }

    /// The same, without rows that are over.
    pub async fn get_stored_rows(&self, keys: &[Vec<u8>]) -> Result<Values> {
        let mut values = self.get_stored(keys).await?;
        self.visibility.keep_seen(keys, &mut values)?;
        Ok(values)
    }

    /// The keys of a range that the transaction has written, in their order, and whether it put (`true`) or deleted them.
    pub fn own_writes(&self, range: KeyRange) -> Vec<(Vec<u8>, bool)> {
        self.lock_buffer().written(&range)
    }

    /// Puts an empty value, blind, under a key that the transaction has not written yet.
    pub fn mark(&self, key: Vec<u8>) -> Result<()> {
        self.lock_buffer().mark(key)
    }

    /// A scan of snapshot and own writes merged, in key order (or reverse), without rows that are over. All its ranges are of one key.
    pub fn scan(&self, request: ScanRequest) -> TransactionScan {
        let first = request.ranges.first();
        let judge = first.and_then(|range| self.visibility.judge_of(&range.start));
        self.judged_scan(judge, request)
    }

    /// The same with rows that are over.
    pub fn scan_with_over(&self, request: ScanRequest) -> TransactionScan {
        self.judged_scan(None, request)
    }

    fn judged_scan(&self, judge: Option<Judge>, request: ScanRequest) -> TransactionScan {
        self.note_reads(|reads| reads.add_ranges(&request.ranges));
        let first = request.ranges.first().map(|range| &*range.start);
        let heat = ScanHeat::of(self.heat.as_ref(), first);
        TransactionScan::new(
            &*self.snapshot,
            (Arc::clone(&self.whole.buffer), self.seen()),
            (judge, heat),
            request,
        )
    }

    /// Which of the keys were written after an earlier view of the same transaction was made, as far as this one sees.
    pub fn are_written_since(&self, earlier: &Transaction, keys: &[Vec<u8>]) -> Vec<bool> {
        let buffer = self.lock_buffer();
        let now = buffer.progress();
        let mark = |txn: &Transaction| txn.seen().unwrap_or(now);
        buffer.are_written_between(mark(earlier), mark(self), keys)
    }

    /// Buffers a write. `lock`: the key is locked so at the statement's end, and must not have changed since the snapshot unless
    /// it was locked before; `None`: it is locked already, or nobody else can write it, or the last one wins.
    pub fn write(&self, write: Write, lock: Option<LockMode>) -> Result<()> {
        let logged = self.whole.change_logs.key_of(write.key());
        let mut buffer = self.lock_buffer();
        buffer.write(write, lock)?;
        put_logged(&mut buffer, logged)
    }

    /// Gives a key that the transaction has written another value, which stays when a savepoint is rolled back to that is younger than the
    /// value that it stands for: what a sequence gives is not given again. Errors: 54000.
    pub fn amend(&self, key: &[u8], value: Vec<u8>) -> Result<()> {
        self.lock_buffer().amend(key, value)
    }

    /// Buffers a write of a key that is locked, or that nobody else can write, and under which nothing is committed unless the
    /// transaction itself has written it before.
    pub fn write_new(&self, write: Write) -> Result<()> {
        let logged = self.whole.change_logs.key_of(write.key());
        let mut buffer = self.lock_buffer();
        buffer.write_new(write)?;
        put_logged(&mut buffer, logged)
    }

    /// For each key whether the transaction has put a value under it.
    pub fn are_put<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Vec<bool> {
        self.lock_buffer().are_put(keys, self.seen())
    }

    /// The key must not have changed since the snapshot, nor change until this commits (the record of a table written to …):
    /// [`Transaction::guard_in`] that many may do at once.
    pub fn guard(&self, key: &[u8]) {
        self.guard_in(key, LockMode::KeyShare);
    }

    /// The key must not have changed since the snapshot, and is locked so at the statement's end. Only takes effect when the
    /// transaction has writes: read-only transactions never conflict.
    pub fn guard_in(&self, key: &[u8], mode: LockMode) {
        self.lock_buffer().guard(key, mode, self.is_behind());
    }

    /// Whether the key was.
    pub fn has_written(&self, key: &[u8]) -> bool {
        self.lock_buffer().writes(key)
    }

    /// Whether anything was written.
    pub fn has_writes(&self) -> bool {
        self.lock_buffer().has_writes()
    }

    /// How much was written: a number that rises with each write and guard.
    pub fn progress(&self) -> usize {
        self.lock_buffer().progress()
    }

    /// A statement has written, and only `frees` space or not: a transaction all of whose statements do commits even when
    /// the disk is nearly full.
    pub fn note_statement(&self, frees: bool) {
        let mut frees_space = self
            .whole
            .frees_space
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *frees_space = Some(frees && frees_space.unwrap_or(true));
    }

    /// A mark to roll back to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            writes: self.lock_buffer().savepoint(),
            locks: self.whole.locks.mark(),
        }
    }

    /// Forgets every write and guard since the mark, and every mark made after it, and gives up the locks; the mark itself stays.
    pub fn rollback_to(&self, savepoint: Savepoint) {
        self.undo_to(savepoint);
        self.whole.locks.release_after(savepoint.locks);
    }

    /// As [`Transaction::rollback_to`], but for the locks: what is written again after that waits for nobody.
    pub fn undo_to(&self, savepoint: Savepoint) {
        self.lock_buffer().rollback_to(savepoint.writes);
    }

    /// Ends the transaction without its writes; its locks are given up, whoever still reads in it.
    pub fn roll_back(&self) {
        // One that has ended has given them up, or is on its way into the store under them.
        if self.lock_buffer().finish().is_ok() {
            self.whole.locks.release_all();
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.lock_buffer().is_finished()
    }

    /// Whether it is serializable and has written: then it may be refused for what it has read.
    pub fn may_be_refused(&self) -> bool {
        self.whole.reads.is_some() && self.has_writes()
    }

    /// Errors: `ReadConflict` when others have written what a serializable transaction has read.
    pub fn require_unread(&self) -> Result<()> {
        match self.read_ranges().as_slice() {
            [] => Ok(()),
            ranges => self.whole.store.require_untouched(&self.snapshot, ranges),
        }
    }

    /// Commits the writes atomically and durably (`relaxed`: durable soon). Errors: those of [`Transaction::settle`], after
    /// which the transaction is as it was; those of [`Store::commit`], after which it is over, as it is without an error: later
    /// writes fail.
    pub async fn commit(&self, relaxed: bool) -> Result<()> {
        self.settle().await?;
        let untouched = self.read_ranges();
        let (Finished { mut writes, are_new }, _account) = {
            let mut buffer = self.lock_buffer();
            (buffer.finish()?, buffer.take_account())
        };
        // Given up at the end, and also where the commit fails; one that is dropped goes on under them.
        let locks = Arc::new(LocksToEnd(Arc::clone(&self.whole.locks)));
        if writes.is_empty() {
            self.end_id();
            return Ok(());
        }
        self.settle_versions(&mut writes);
        let frees_space = *self
            .whole
            .frees_space
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let batch = Batch {
            known: self
                .whole
                .locks
                .known_of(writes.iter().map(Write::key).zip(are_new)),
            snapshot: (!untouched.is_empty()).then(|| Arc::clone(&self.snapshot)),
            untouched,
            relaxed,
            reclaims: frees_space == Some(true),
            unseen: self.whole.options.is_unseen,
            passes_on: self.whole.passed_on(&writes),
            locks: Some(Arc::clone(&locks)),
            writes,
            ..Batch::default()
        };
        if let Some(heat) = &self.heat {
            heat.count_writes(&batch);
        }
        self.whole.store.commit(batch).await?;
        self.end_id();
        Ok(())
    }

    fn seen(&self) -> Option<usize> {
        self.view.as_ref().map(View::mark)
    }

    fn lock_buffer(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.whole.buffer)
    }
}

impl Whole {
    /// A snapshot of everything visible, and of what the session rests on.
    async fn newest(&self) -> Result<Arc<dyn Snapshot>> {
        self.store.snapshot_after(self.options.dependency.commit()).await
    }

    /// The locks that a commit of the writes passes on: of rows alone, for who waits for an object looks at more than what is written.
    fn passed_on(&self, writes: &[Write]) -> Option<Arc<HeldLocks>> {
        let is_of_rows = writes.len() <= PASSED_ON_MAX && writes.iter().all(|write| is_data(write.key()));
        is_of_rows.then(|| Arc::clone(&self.locks))
    }

    /// What a statement that begins counts by.
    fn heat(&self) -> Option<HeatView> {
        self.options.heat.as_ref().map(KeyHeat::view)
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
fn lock(buffer: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A write after the end of the transaction: a bug of the caller.
fn finished() -> Error {
    Error::internal("a write to a transaction that has ended")
}
