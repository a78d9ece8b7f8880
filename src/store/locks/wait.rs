//! Waiting for locks: how long, and what ends it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::key_map::{HashedKey, KeptKey};
use super::{Asked, LockMode, LockModes, LockOwner, LockTable, lock_of};
use crate::{Error, Result};

/// What to do when a key is locked by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockWait {
    /// Wait for them.
    #[default]
    Block,
    /// Fail: 55P03.
    NoWait,
    /// Leave the key out.
    SkipLocked,
}

/// How a transaction locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPolicy {
    /// `lock_timeout`: the longest wait for one lock; `None`: for ever.
    pub timeout: Option<Duration>,
    /// `deadlock_timeout`: after so long a wait it is asked whether it can end.
    pub deadlock_after: Duration,
    /// `keyspan.key_locks_max`: with so many keys locked one by one it locks ranges.
    pub keys_max: usize,
}

impl Default for LockPolicy {
    fn default() -> LockPolicy {
        LockPolicy {
            timeout: None,
            deadlock_after: Duration::from_secs(1),
            keys_max: usize::MAX,
        }
    }
}

impl LockTable {
    /// Takes a lock at once; `None`: somebody is in the way.
    pub fn try_lock(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode) -> Option<KeptKey> {
        match self.ask(owner, key, mode, false) {
            Asked::Granted(key) => Some(key),
            Asked::Refused | Asked::Waits(..) => None,
        }
    }

    /// Takes a lock, and waits for it; answers the key as the table holds it. Dropped, it waits no more. Errors: 40P01, 55P03.
    pub async fn lock(
        &self,
        owner: LockOwner,
        key: HashedKey<'_>,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<KeptKey> {
        match self.ask(owner, key, mode, true) {
            Asked::Granted(key) => Ok(key),
            Asked::Refused => Err(Error::internal("a lock was neither granted nor waited for")),
            Asked::Waits(key, granted) => {
                lock_of(&self.waits).insert(owner, Arc::clone(key.bytes()));
                let wait = Wait {
                    table: self,
                    owner,
                    key: key.clone(),
                    mode,
                    is_over: false,
                };
                if self.is_upgrade_against_another(owner, key.hashed(), mode) {
                    self.require_no_circle(owner)?;
                }
                wait.end(granted, policy).await.map(|()| key)
            }
        }
    }
}

/// A wait on its way; given up when dropped before it is over.
struct Wait<'a> {
    table: &'a LockTable,
    owner: LockOwner,
    key: KeptKey,
    mode: LockMode,
    is_over: bool,
}

impl Wait<'_> {
    async fn end(mut self, mut granted: oneshot::Receiver<()>, policy: LockPolicy) -> Result<()> {
        let timeout = policy.timeout.unwrap_or(Duration::MAX);
        let first = timeout.min(policy.deadlock_after);
        let mut ended = waited(&mut granted, Some(first)).await;
        if !ended && timeout > policy.deadlock_after {
            self.table.require_no_circle(self.owner)?;
            let left = policy.timeout.map(|timeout| timeout - policy.deadlock_after);
            ended = waited(&mut granted, left).await;
        }
        // What was granted in the moment of giving up is given back by the drop.
        self.is_over = ended;
        match ended {
            true => Ok(()),
            false => Err(Error::LockTimeout),
        }
    }
}

/// Whether the lock was granted in time (`None`: however late).
async fn waited(granted: &mut oneshot::Receiver<()>, time: Option<Duration>) -> bool {
    match time {
        Some(time) => tokio::time::timeout(time, granted).await.is_ok(),
        None => granted.await.is_ok(),
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        lock_of(&self.table.waits).remove(self.owner);
        if self.is_over {
            return;
        }
        let mut shard = self.table.shard(self.key.hashed());
        let Some(lock) = shard.get_mut(self.key.hashed()) else {
            return;
        };
        let is_it = |owner: LockOwner, mode: LockMode| owner == self.owner && mode == self.mode;
        let place = lock
            .waiting
            .iter()
            .position(|waiter| is_it(waiter.owner, waiter.mode));
        match place {
            Some(place) => drop(lock.waiting.remove(place)),
            // It was granted, and nobody has heard of it.
            None => lock.take_back(self.owner, self.mode),
        }
        lock.grant_waiting();
        if lock.is_unused() {
            shard.remove(self.key.hashed());
        }
    }
}

impl super::Lock {
    /// Takes one mode from an owner.
    fn take_back(&mut self, owner: LockOwner, mode: LockMode) {
        if let Some(at) = self.held.iter().position(|held| held.owner == owner) {
            let left = self.held[at].modes.iter().filter(|held| *held != mode);
            let left = left.fold(LockModes::default(), LockModes::with);
            match left.is_empty() {
                true => drop(self.held.swap_remove(at)),
                false => self.held[at].modes = left,
            }
        }
    }
}
