//! `StatementMemory`: what one statement holds in memory while it runs: sorts, joins, groups, subqueries' answers, rows that
//! are kept. Bounded by keyspan.query_memory_bytes_max, and taken from what all statements of the server may hold together
//! ([`ServerMemory`]). Made by the session for each run; DataFusion's operators know it as their pool, and spill when it
//! has no more.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

use super::datafusion_error::{SERVER_EXHAUSTED, from_datafusion};
use crate::Result;
use crate::store::{MemoryAccount, ServerMemory, out_of_server_memory};

/// A share of a statement's memory; dropped, it gives back what it holds.
pub(crate) type MemoryShare = MemoryReservation;

/// The memory of one statement.
#[derive(Debug)]
pub struct StatementMemory {
    account: Arc<MemoryAccount>,
    bytes_max: usize,
    /// Made by who first needs it: reads by key never do.
    pool: OnceLock<Arc<StatementPool>>,
}

impl StatementMemory {
    /// Nothing is held yet. `bytes_max`: what the statement may hold by itself.
    pub fn new(server: &Arc<ServerMemory>, bytes_max: usize) -> Arc<StatementMemory> {
        Arc::new(StatementMemory {
            account: Arc::new(server.account()),
            bytes_max,
            pool: OnceLock::new(),
        })
    }

    /// Where DataFusion's operators take from.
    pub(crate) fn pool(&self) -> Arc<dyn MemoryPool> {
        let made = self.pool.get_or_init(|| {
            Arc::new(StatementPool {
                own: FairSpillPool::new(self.bytes_max),
                account: Arc::clone(&self.account),
            })
        });
        Arc::clone(made) as Arc<dyn MemoryPool>
    }

    /// A share of it, empty; dropped, it gives back what it holds. `holder`: what it is for.
    pub fn share(&self, holder: &str) -> MemoryReservation {
        MemoryConsumer::new(holder).register(&self.pool())
    }

    /// Holds so many bytes until the statement's result has left, whatever it may hold by itself: they have a bound of
    /// their own. Errors: 53200.
    pub fn hold(&self, bytes: usize) -> Result<()> {
        match self.account.take(bytes) {
            true => Ok(()),
            false => Err(out_of_server_memory()),
        }
    }
}

/// Bytes held in a statement's memory, which knows of them when they are many.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    memory: Arc<StatementMemory>,
    share: Option<MemoryReservation>,
}

/// Fewer than these are not told.
const HELD_BYTES_MIN: usize = 64 << 10;

impl HeldBytes {
    pub(crate) fn new(memory: Arc<StatementMemory>) -> HeldBytes {
        HeldBytes { memory, share: None }
    }

    /// Holds so many bytes. Errors: 53200 when there are not so many.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<()> {
        if self.share.is_none() && bytes < HELD_BYTES_MIN {
            return Ok(());
        }
        let memory = &self.memory;
        let share = self.share.get_or_insert_with(|| memory.share("HeldBytes"));
        share.try_resize(bytes).map_err(from_datafusion)
    }
}

/// The statement's own pool, in step with its account at the server.
#[derive(Debug)]
struct StatementPool {
    own: FairSpillPool,
    account: Arc<MemoryAccount>,
}

impl MemoryPool for StatementPool {
    fn name(&self) -> &str {
        "statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.own.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.own.grow(reservation, additional);
        self.account.take_anyway(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.own.shrink(reservation, shrink);
        self.account.give_back(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        self.own.try_grow(reservation, additional)?;
        if self.account.take(additional) {
            return Ok(());
        }
        self.own.shrink(reservation, additional);
        Err(DataFusionError::ResourcesExhausted(format!(
            "{SERVER_EXHAUSTED} hold what they may"
        )))
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.own.memory_limit()
    }
}

impl fmt::Display for StatementPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_what_it_and_the_server_have() {
        let server = ServerMemory::new(4000);
        let (first, second) = (
            StatementMemory::new(&server, 1000),
            StatementMemory::new(&server, 8000),
        );
        let share = first.share("a test");
        share.try_grow(1000).unwrap();
        let error = from_datafusion(share.try_grow(1).unwrap_err());
        assert!(error.hint().unwrap().contains("keyspan.query_memory_bytes_max"));
        assert_eq!(server.bytes(), 1000);
        let other = second.share("a test");
        other.try_grow(2000).unwrap();
        let error = from_datafusion(other.try_grow(1001).unwrap_err());
        assert_eq!(error.sqlstate(), "53200");
        assert!(error.hint().unwrap().contains("keyspan.memory_bytes_max"));
        assert_eq!(server.bytes(), 3000);
        other.grow(5000);
        assert_eq!(server.bytes(), 8000);
        drop((share, other));
        assert_eq!(server.bytes(), 0);
        first.hold(2500).unwrap();
        assert_eq!(first.hold(1000).unwrap_err().sqlstate(), "53200");
        drop(first);
        assert_eq!(server.bytes(), 0);
    }
}
