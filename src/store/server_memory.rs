//! `ServerMemory`: the bytes that all statements and transactions of a server may hold together; `MemoryAccount`: what one
//! of them holds of these. `txn`, `system` and `session` take from it; who finds none spills, or ends with 53200. Nobody waits
//! for memory: who waits holds some, and those that hold wait for each other.
//!
//! Invariants
//!
//! 1. What the accounts took with `take` is never more than `bytes_max` together.
//! 2. The last quarter goes only to accounts that hold less than an equal share: a large statement leaves small ones
//!    what they need.
//! 3. An account that is dropped has given everything back.
//! 4. Beside what is counted stands what is: when the process itself has nearly all memory of its machine or control
//!    group, only small accounts grow ([`ACCOUNT_BYTES_SMALL`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use super::machine;
use crate::error::Limit;
use crate::{Error, Result};

/// An account up to this grows also where others are told that the process is short of memory.
pub const ACCOUNT_BYTES_SMALL: usize = 1 << 20;

/// What [`CountedBytes`] tells at once.
const STEP_BYTES: usize = 64 << 10;

/// The part of the bound that every account may take from, in quarters.
const QUARTERS_FOR_ALL: usize = 3;

/// How old a measurement of the process may be, and how many bytes may have been taken since.
const MEASURED_AGE_MS_MAX: u64 = 20;

/// The bound on what all statements and transactions hold, and what they hold.
#[derive(Debug)]
pub struct ServerMemory {
    bytes_max: usize,
    held: Mutex<Held>,
    process: ProcessMemory,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Accounts that hold anything.
    accounts: usize,
}

/// What one statement or transaction holds.
#[derive(Debug)]
pub struct MemoryAccount {
    server: Arc<ServerMemory>,
    bytes: Mutex<usize>,
}

/// What the process has of the memory that it may have.
#[derive(Debug)]
struct ProcessMemory {
    /// Above this it is short.
    bytes_max: u64,
    measure: fn() -> Option<u64>,
    begun: Instant,
    /// When it was measured last, in milliseconds since `begun`, and what was found.
    measured_ms: AtomicU64,
    measured_bytes: AtomicU64,
    /// See [`ProcessBytes`].
    promised: AtomicU64,
}

impl ServerMemory {
    /// `bytes_max`: what all accounts may hold together.
    pub fn new(bytes_max: usize) -> Arc<ServerMemory> {
        let (process_bytes_max, measure) = (machine::process_bytes_max(), machine::process_bytes);
        Arc::new(ServerMemory::measured(bytes_max, process_bytes_max, measure))
    }

    fn measured(bytes_max: usize, process_bytes_max: u64, measure: fn() -> Option<u64>) -> ServerMemory {
        ServerMemory {
            bytes_max,
            held: Mutex::default(),
            process: ProcessMemory::new(process_bytes_max, measure),
        }
    }

    /// An account that holds nothing yet.
    pub fn account(self: &Arc<ServerMemory>) -> MemoryAccount {
        MemoryAccount {
            server: Arc::clone(self),
            bytes: Mutex::new(0),
        }
    }

    /// What all accounts hold.
    pub fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// What all accounts may hold.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Whether the process could take so many bytes more.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.process.has_room(bytes as u64)
    }

    /// Changes what an account holds; `false`, and nothing changes, when it asks for more than there is.
    fn change(&self, from: usize, to: usize, must: bool) -> bool {
        if !must && to > from && to > ACCOUNT_BYTES_SMALL && !self.has_room(to - from) {
            return false;
        }
        let mut held = self.held();
        let accounts = held.accounts + usize::from(from == 0 && to > 0) - usize::from(from > 0 && to == 0);
        let bytes = (held.bytes - from).saturating_add(to);
        if !must && to > from {
            let for_all = self.bytes_max / 4 * QUARTERS_FOR_ALL;
            let share = self.bytes_max / (accounts + 1);
            if bytes > self.bytes_max || bytes > for_all && to > share {
                return false;
            }
        }
        *held = Held { bytes, accounts };
        true
    }

    /// Nothing is left half done under this lock.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ServerMemory {
    /// Without a bound.
    fn default() -> ServerMemory {
        ServerMemory::measured(usize::MAX, u64::MAX, || None)
    }
}

impl MemoryAccount {
    /// Holds so many bytes more; `false`: there are none, and it holds what it held.
    pub fn take(&self, bytes: usize) -> bool {
        self.change(|held| held.saturating_add(bytes), false)
    }

    /// Holds exactly so many bytes; `false`: there are none, and it holds what it held.
    pub fn resize(&self, bytes: usize) -> bool {
        self.change(|_| bytes, false)
    }

    /// Holds so many bytes more, whatever the bound: they are there already.
    pub fn take_anyway(&self, bytes: usize) {
        self.change(|held| held.saturating_add(bytes), true);
    }

    /// Holds so many bytes fewer.
    pub fn give_back(&self, bytes: usize) {
        self.change(|held| held.saturating_sub(bytes), true);
    }

    /// What it holds.
    pub fn bytes(&self) -> usize {
        *self.lock()
    }

    /// Whose bytes it takes.
    pub fn server(&self) -> &Arc<ServerMemory> {
        &self.server
    }

    fn change(&self, change: impl FnOnce(usize) -> usize, must: bool) -> bool {
        let mut bytes = self.lock();
        let wanted = change(*bytes);
        let changed = self.server.change(*bytes, wanted, must);
        if changed {
            *bytes = wanted;
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryAccount {
    fn drop(&mut self) {
        self.change(|_| 0, true);
    }
}

/// Bytes that somebody counts one by one, told to an account in steps: few bytes cost nothing.
#[derive(Debug, Default)]
pub struct CountedBytes {
    /// `None`: nothing counts them.
    account: Option<MemoryAccount>,
    /// Steps of [`STEP_BYTES`] that the account holds.
    steps: usize,
}

impl CountedBytes {
    /// From now on they are taken from this account.
    pub fn count_in(&mut self, account: MemoryAccount) {
        self.account = Some(account);
    }

    /// The account with what was told to it, which the caller holds from now on.
    pub fn take_account(&mut self) -> Option<MemoryAccount> {
        self.account.take()
    }

    /// They are so many now. Errors: 53200 when there are not so many; fewer are never refused.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        let steps = bytes / STEP_BYTES;
        if steps == self.steps {
            return Ok(());
        }
        if let Some(account) = &self.account
            && !account.resize(steps * STEP_BYTES)
        {
            return Err(out_of_server_memory());
        }
        self.steps = steps;
        Ok(())
    }
}

/// Bytes that this process is about to fill, whatever the accounts say: they count beside what it has until they are given back,
/// which is when they are filled. Several take them at the same time, and none of them has touched any yet.
#[derive(Debug, Default)]
pub struct ProcessBytes {
    bytes: u64,
}

impl ProcessBytes {
    /// Takes so many more; `false`: the process has no room for them.
    pub fn take(&mut self, bytes: usize) -> bool {
        let is_promised = process_memory().promise(bytes as u64);
        self.bytes += if is_promised { bytes as u64 } else { 0 };
        is_promised
    }
}

impl Drop for ProcessBytes {
    fn drop(&mut self) {
        if self.bytes > 0 {
            process_memory().fill(self.bytes);
        }
    }
}

fn process_memory() -> &'static ProcessMemory {
    static PROCESS: OnceLock<ProcessMemory> = OnceLock::new();
    PROCESS.get_or_init(|| ProcessMemory::new(machine::process_bytes_max(), machine::process_bytes))
}

impl ProcessMemory {
    fn new(bytes_max: u64, measure: fn() -> Option<u64>) -> ProcessMemory {
        ProcessMemory {
            bytes_max,
            measure,
            begun: Instant::now(),
            measured_ms: AtomicU64::new(0),
            measured_bytes: AtomicU64::new(0),
            promised: AtomicU64::new(0),
        }
    }

    /// Whether so many bytes more leave it below its bound.
    fn has_room(&self, bytes: u64) -> bool {
        self.look();
        // Until it is measured again, others may take as much as this.
        let process_bytes = self.measured_bytes.fetch_add(bytes, Ordering::Relaxed);
        let promised = self.promised.load(Ordering::Relaxed);
        process_bytes.saturating_add(promised).saturating_add(bytes) <= self.bytes_max
    }

    /// Promises so many bytes, if that leaves it below its bound.
    fn promise(&self, bytes: u64) -> bool {
        self.look();
        let promised = self.promised.fetch_add(bytes, Ordering::Relaxed);
        let process_bytes = self.measured_bytes.load(Ordering::Relaxed);
        let has_room = process_bytes.saturating_add(promised).saturating_add(bytes) <= self.bytes_max;
        if !has_room {
            self.promised.fetch_sub(bytes, Ordering::Relaxed);
        }
        has_room
    }

    /// What was promised is filled: the next measurement knows of it.
    fn fill(&self, bytes: u64) {
        self.measured_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.promised.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Measures it, unless that was done not long ago.
    fn look(&self) {
        let now_ms = self.begun.elapsed().as_millis() as u64 + 1;
        let measured_ms = self.measured_ms.load(Ordering::Relaxed);
        if measured_ms == 0 || now_ms - measured_ms.min(now_ms) > MEASURED_AGE_MS_MAX {
            let measured = (self.measure)().unwrap_or(0);
            self.measured_bytes.store(measured, Ordering::Relaxed);
            self.measured_ms.store(now_ms, Ordering::Relaxed);
        }
    }
}

/// 53200: all statements together hold what they may.
pub fn out_of_server_memory() -> Error {
    Error::LimitExceeded {
        state: Limit::Memory,
        message: "out of memory".to_string(),
        hint: "All statements and transactions together hold what keyspan.memory_bytes_max allows: try again when others \
               have ended, start the server with more, or read and write in smaller parts."
            .to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(bytes_max: usize) -> Arc<ServerMemory> {
        Arc::new(ServerMemory::measured(bytes_max, u64::MAX, || None))
    }

    #[test]
    fn accounts_never_hold_more_than_the_bound_and_give_everything_back() {
        let memory = server(1000);
        let accounts: Vec<MemoryAccount> = (0..10).map(|_| memory.account()).collect();
        let mut taken = 0;
        for round in 0..100 {
            let account = &accounts[round % accounts.len()];
            taken += usize::from(account.take(37)) * 37;
            assert!(memory.bytes() <= 1000);
            assert_eq!(memory.bytes(), taken);
        }
        accounts[0].take_anyway(5000);
        assert_eq!(memory.bytes(), taken + 5000);
        assert!(!accounts[1].take(1));
        assert!(accounts[0].resize(7));
        drop(accounts);
        assert_eq!((memory.bytes(), memory.held().accounts), (0, 0));
    }

    #[test]
    fn the_last_quarter_is_for_those_that_hold_less_than_an_equal_share() {
        let memory = server(1200);
        let (large, small) = (memory.account(), memory.account());
        assert!(large.take(900));
        assert!(!large.take(1));
        assert!(small.take(300));
        assert_eq!((large.bytes(), small.bytes()), (900, 300));
        assert!(!small.take(1));
        assert!(large.resize(500));
        assert!(small.resize(400));
        assert!(!small.resize(401));
    }

    #[test]
    fn a_process_that_is_short_of_memory_lets_only_small_accounts_grow() {
        let memory = Arc::new(ServerMemory::measured(1 << 40, 1 << 30, || Some(1 << 30)));
        let account = memory.account();
        assert!(account.take(ACCOUNT_BYTES_SMALL));
        assert!(!account.take(1));
        account.give_back(1);
        assert!(account.take(1));
        let memory = Arc::new(ServerMemory::measured(1 << 40, 1 << 30, || Some(1 << 29)));
        let account = memory.account();
        assert!(account.take(1 << 29));
        // The measurement is the same, but what was taken since counts.
        assert!(!account.take(1 << 28));
    }

    #[test]
    fn what_is_promised_counts_until_it_is_measured() {
        let process = ProcessMemory::new(1000, || Some(400));
        assert!(process.promise(300));
        assert!(process.promise(300));
        assert!(!process.promise(1));
        assert!(!process.has_room(1));
        process.fill(600);
        assert_eq!(process.promised.load(Ordering::Relaxed), 0);
    }
}
