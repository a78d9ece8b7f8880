//! What a transaction locks: rows before they are written, and at a statement's end what it has read and rests on.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::{Transaction, is_data};
use crate::store::{
    HeldLocks, LockAsks, LockMode, LockPolicy, LockTable, LockWait, Locked, RangeState, Unlocked, Values,
    Wanted, WantedRange,
};
use crate::{Error, Result};

/// Fewer keys are locked one by one.
const RANGE_KEYS_MIN: usize = 16;

/// With so many keys locked, new ones that rise are locked as ranges. Nothing is there, so that only those wait who would insert something
/// between them.
const NEW_KEYS_MAX: usize = 1_024;

/// What is committed under keys that were locked, with the transaction's own writes over it.
#[derive(Debug)]
pub struct LockedValues {
    /// One a key; none for a row that is over.
    pub values: Values,
    /// Places of the keys, rising, that others put or deleted since the snapshot, and of which `values` tells: for a transaction that keeps
    /// its snapshot.
    pub changed: Vec<usize>,
    /// The rows that are over, by their places: who writes in their stead removes them.
    pub over: BTreeMap<usize, Vec<u8>>,
}

/// Rows that were locked, and what became of them since they were read.
#[derive(Debug, Default)]
pub struct LockedRows {
    /// The rows that are not locked.
    pub unlocked: Unlocked,
    /// Places of the rows, rising, that others put or deleted since the snapshot.
    pub newer: Vec<usize>,
    /// What is committed under these, one each.
    pub newest: Values,
}

impl Transaction {
    /// How it locks from now on.
    pub fn set_lock_policy(&self, policy: LockPolicy) {
        *self.whole.policy.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    fn lock_policy(&self) -> LockPolicy {
        *self.whole.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks keys whose values were read; they are as the snapshot has them until the transaction ends. Errors: `Conflict` when one
    /// was changed since (`ConcurrentDelete` where the transaction keeps its snapshot and the value is gone), which leaves the locks; 40P01, 55P03, 53200.
    pub async fn lock(&self, keys: &[Vec<u8>], mode: LockMode) -> Result<()> {
        self.lock_read(keys, mode).await.map(drop)
    }

    /// The same; answers for what it had to wait.
    async fn lock_read(&self, keys: &[Vec<u8>], mode: LockMode) -> Result<Unlocked> {
        if !self.is_behind() && self.locks().are_read(keys, mode) {
            return Ok(Unlocked::default());
        }
        let locked = self.ask(keys, mode, LockWait::Block, LockAsks::Changes).await?;
        self.require_unchanged(keys, &locked, mode, |key| self.is_known(key))
            .await?;
        Ok(locked.unlocked)
    }

    /// Locks keys whose values were read at the snapshot. What the transaction has come to know of them since does not count: another part of
    /// the same statement may have locked them and seen what is newer, which is not what was read. Errors: as [`Transaction::lock`].
    pub async fn lock_as_read(&self, keys: &[Vec<u8>], mode: LockMode) -> Result<()> {
        let locked = self.ask(keys, mode, LockWait::Block, LockAsks::Changes).await?;
        let writes = |key: &[u8]| self.lock_buffer().writes(key);
        self.require_unchanged(keys, &locked, mode, writes).await?;
        let buffer = self.lock_buffer();
        let read = keys.iter().map(|key| (key.as_slice(), !buffer.writes(key)));
        self.locks().note_read(read);
        Ok(())
    }

    /// Locks the records of tables, one after the other, for a statement that reads or writes their rows behind that. Errors: `Conflict`
    /// where it waited and need not keep its snapshot, which is older than what it waited for; this leaves the locks; 40P01, 53200, 55P03.
    pub async fn lock_before_reading(&self, records: &[Vec<u8>], mode: LockMode) -> Result<()> {
        let unlocked = self.lock_as_it_is(records, mode, LockWait::Block).await?;
        self.require_no_wait(records, &unlocked)
    }

    /// The same for a record that is read: it is as the snapshot has it. Errors: as [`Transaction::lock`], too.
    pub async fn lock_before_writing(&self, record: Vec<u8>, mode: LockMode) -> Result<()> {
        let records = [record];
        let unlocked = self.lock_read(&records, mode).await?;
        self.require_no_wait(&records, &unlocked)
    }

    /// Errors: `Conflict`.
    fn require_no_wait(&self, keys: &[Vec<u8>], unlocked: &Unlocked) -> Result<()> {
        match unlocked.waited_for.and_then(|at| keys.get(at)) {
            Some(key) if !self.keeps_snapshot() => Err(changed(key)),
            _ => Ok(()),
        }
    }

    /// Locks the keys of rows that the statement has read, and tells of those that others have changed since what they are now. Errors:
    /// `Conflict` or `ConcurrentDelete` for such a row where the transaction keeps its snapshot, which leaves the locks; 40P01, 55P03, 53200.
    pub async fn lock_rows(&self, keys: &[Vec<u8>], mode: LockMode, wait: LockWait) -> Result<LockedRows> {
        if self.lock_range(keys, mode, RangeState::Unchanged).await? {
            return Ok(LockedRows::default());
        }
        let mut locked = self.ask(keys, mode, wait, LockAsks::Changes).await?;
        let mut rows = LockedRows {
            unlocked: std::mem::take(&mut locked.unlocked),
            ..LockedRows::default()
        };
        if rows.unlocked.refused.is_some() {
            return Ok(rows);
        }
        locked.changed.retain(|at| rows.unlocked.is_locked(*at));
        if mode == LockMode::KeyShare && rows.unlocked.waited_for.is_none() {
            // What has changed but for its key is as good to those who keep the key; who had to wait did so for one that takes it away.
            locked
                .changed
                .retain(|at| self.locks().known(&keys[*at]) != Some(Some(true)));
        }
        if self.keeps_snapshot() {
            self.require_unchanged(keys, &locked, mode, |key| self.is_known(key))
                .await?;
        } else {
            // Not what it knows of them: its statement may have read before it knew.
            locked.changed.retain(|at| !self.lock_buffer().writes(&keys[*at]));
            rows.newer = locked.changed;
        }
        if !rows.newer.is_empty() {
            let newer: Vec<Vec<u8>> = rows.newer.iter().map(|at| keys[*at].clone()).collect();
            rows.newest = self.lock_newest(&newer, mode).await?.values;
        }
        if mode.keeps_row() {
            let buffer = self.lock_buffer();
            let locked = (0..keys.len()).filter(|at| rows.unlocked.is_locked(*at));
            // A commit that writes what is there need not look for it.
            let read = locked.map(|at| {
                let is_newer = rows.newer.binary_search(&at).is_ok();
                (keys[at].as_slice(), !is_newer && !buffer.writes(&keys[at]))
            });
            self.locks().note_read(read);
        }
        Ok(rows)
    }

    /// Locks new keys, which came rising, and all between them, where that is one lock instead of many and nothing is there; answers whether it
    /// did. Errors: 53200.
    pub async fn lock_new(&self, keys: &[Vec<u8>]) -> Result<bool> {
        self.lock_range(keys, LockMode::Insert, RangeState::Absent).await
    }

    /// Locks keys, and all between them, where they rise, the transaction has locked many, and nothing else is in the range but what is wanted.
    async fn lock_range(&self, keys: &[Vec<u8>], mode: LockMode, state: RangeState) -> Result<bool> {
        if keys.len() < RANGE_KEYS_MIN {
            return Ok(false);
        }
        let keys_max = match state {
            RangeState::Absent => self.lock_policy().keys_max.min(NEW_KEYS_MAX),
            RangeState::Unchanged => self.lock_policy().keys_max,
        };
        if self.locks().count() < keys_max || !keys.is_sorted() {
            return Ok(false);
        }
        let wanted = WantedRange { keys, mode, state };
        let store = &self.whole.store;
        let rests_on = store.lock_range(self.locks(), wanted, &self.snapshot).await?;
        self.whole.options.dependency.rest_on(rests_on.unwrap_or(0));
        Ok(rests_on.is_some())
    }

    /// Locks keys that are to be written whatever stands under them. Errors: 40P01, 55P03, 53200.
    pub async fn lock_unread(&self, keys: &[Vec<u8>], mode: LockMode) -> Result<()> {
        self.ask(keys, mode, LockWait::Block, LockAsks::Changes)
            .await
            .map(drop)
    }

    /// Locks keys of what is only to stay as it will be then, and looks at nothing; answers those that are not locked. Errors: 40P01, 55P03,
    /// 53200.
    pub async fn lock_as_it_is(&self, keys: &[Vec<u8>], mode: LockMode, wait: LockWait) -> Result<Unlocked> {
        let unlocked = self.locks().acquire(self.wanted(keys, mode, wait)).await?;
        if keys.iter().any(|key| is_data(key)) {
            // Whoever held one may have passed it on.
            let newest = self.whole.store.newest_commit();
            self.whole.options.dependency.rest_on(newest);
        }
        Ok(unlocked)
    }

    /// Locks keys and tells what is there then, whatever the snapshot sees, but for rows that are over. Errors: 40P01, 55P03, 53200.
    pub async fn lock_newest(&self, keys: &[Vec<u8>], mode: LockMode) -> Result<LockedValues> {
        let asks = match self.keeps_snapshot() {
            true => LockAsks::ChangesAndValues,
            false => LockAsks::Values,
        };
        let mut locked = self.ask(keys, mode, LockWait::Block, asks).await?;
        locked.changed.retain(|at| !self.is_known(&keys[*at]));
        self.locks()
            .note_read(keys.iter().map(|key| (key.as_slice(), false)));
        let mut values = self.with_own(keys, locked.values);
        let over = self.visibility.keep_seen(keys, &mut values)?;
        Ok(LockedValues {
            values,
            changed: locked.changed,
            over,
        })
    }

    /// Whether who asks now for a lock of the key would wait.
    pub fn would_wait(&self, key: &[u8], mode: LockMode) -> bool {
        self.locks().would_wait(key, mode)
    }

    /// The locks of all transactions.
    pub fn lock_table(&self) -> &LockTable {
        self.whole.store.lock_table()
    }

    /// Whether it holds a lock that includes the mode.
    pub fn holds(&self, key: &[u8], mode: LockMode) -> bool {
        self.locks().includes(key, mode)
    }

    /// Whether it holds any lock of the key.
    pub fn has_locked(&self, key: &[u8]) -> bool {
        self.locks().known(key).is_some()
    }

    /// A mark of the locks so far, for [`Transaction::unlock_after`].
    pub fn lock_mark(&self) -> usize {
        self.locks().mark()
    }

    /// Gives up of the locks after the mark those whose keys are not kept: nothing was written under them.
    pub fn unlock_after(&self, mark: usize, is_kept: impl Fn(&[u8]) -> bool) {
        self.locks().release_some(mark, is_kept);
    }

    /// A statement ends: what it rests on is locked from now on, but for what the statement around it does. Errors: as [`Transaction::lock`]; the statement has to be
    /// undone then.
    pub async fn settle(&self) -> Result<()> {
        let unsettled = {
            let mut buffer = self.lock_buffer();
            if buffer.is_settled() || !buffer.has_writes() {
                return Ok(());
            }
            buffer.take_unsettled(self.began_at)
        };
        // In one order, whatever the mode: so two statements never wait for one another here. Records of objects come before what others did
        // to the objects (the buffer sees to it), so that who holds a record for himself then finds all of that.
        for of_mode in unsettled.chunk_by(|(_, mode), (_, next)| mode == next) {
            let Some((_, mode)) = of_mode.first() else {
                continue;
            };
            // A record that was locked as it was is looked at all the same: what is written to it may rest on a catalog that is older than
            // the lock.
            let new = of_mode
                .iter()
                .filter(|(key, _)| !mode.is_of_rows() || !self.locks().includes(key, *mode));
            let keys: Vec<Vec<u8>> = new.map(|(key, _)| key.to_vec()).collect();
            if keys.is_empty() {
                continue;
            }
            let locked = self.ask(&keys, *mode, LockWait::Block, LockAsks::Changes).await?;
            // What the transaction wrote unlocked counts: nobody knew that it would.
            let mut changes = locked.changed.into_iter();
            if let Some(at) = changes.find(|at| !self.has_read(&keys[*at])) {
                return Err(changed(&keys[at]));
            }
        }
        Ok(())
    }

    async fn ask(&self, keys: &[Vec<u8>], mode: LockMode, wait: LockWait, asks: LockAsks) -> Result<Locked> {
        let wanted = self.wanted(keys, mode, wait);
        let store = &self.whole.store;
        let locked = store.lock(self.locks(), wanted, &self.snapshot, asks).await?;
        self.whole.options.dependency.rest_on(locked.rests_on);
        Ok(locked)
    }

    fn wanted<'a>(&self, keys: &'a [Vec<u8>], mode: LockMode, wait: LockWait) -> Wanted<'a> {
        Wanted {
            keys,
            mode,
            wait,
            policy: self.lock_policy(),
        }
    }

    /// Errors: `Conflict`, or `ConcurrentDelete` where a transaction that keeps its snapshot cannot begin again with what is there now.
    /// `is_known`: of a key that has changed whether that does not matter.
    async fn require_unchanged(
        &self,
        keys: &[Vec<u8>],
        locked: &Locked,
        mode: LockMode,
        is_known: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let mut changes = locked.changed.iter();
        let Some(at) = changes.find(|at| !is_known(&keys[**at])) else {
            return Ok(());
        };
        let key = &keys[*at];
        if self.keeps_snapshot() && is_data(key) {
            let newest = self
                .ask(std::slice::from_ref(key), mode, LockWait::Block, LockAsks::Values)
                .await?;
            if newest.values.get(0).is_none() {
                return Err(Error::ConcurrentDelete { key: key.clone() });
            }
        }
        Err(changed(key))
    }

    /// Whether the transaction knows what is under a locked key although that changed since its snapshot.
    fn is_known(&self, key: &[u8]) -> bool {
        self.has_read(key) || self.lock_buffer().writes(key)
    }

    /// The same by what this statement may have read.
    fn has_read(&self, key: &[u8]) -> bool {
        !self.is_behind() && self.locks().is_read(key)
    }

    fn locks(&self) -> &HeldLocks {
        &self.whole.locks
    }
}

fn changed(key: &[u8]) -> Error {
    Error::Conflict { key: key.to_vec() }
}
