//! `TransactionOptions`: what a transaction begins with.

use std::sync::Arc;

use super::heat::KeyHeat;
use super::{CommitDependency, SharedSnapshot, TransactionNumbers};
use crate::codec::keyspace::{DatabaseId, FIRST_DATABASE};
use crate::store::ServerMemory;

/// What a transaction begins with.
#[derive(Debug, Clone)]
pub struct TransactionOptions {
    /// The database in whose catalog it reads and writes.
    pub database: DatabaseId,
    /// Bounds the buffered writes (54000 `LimitExceeded` above it).
    pub bytes_max: usize,
    /// What it writes and locks is taken from what all statements and transactions may hold together (53200 when there is
    /// none), until the commit is done or it is dropped. `None`: nothing counts it.
    pub memory: Option<Arc<ServerMemory>>,
    /// The process id of its session, as others see who holds locks; 0: none.
    pub session: i32,
    /// It changes nothing that anybody reads: see [`Batch::unseen`].
    pub is_unseen: bool,
    /// All its statements read the snapshot that it begins with (REPEATABLE READ).
    pub keeps_snapshot: bool,
    /// It commits only where it has read what it would read at its commit, but for its own writes (SERIALIZABLE).
    pub is_serializable: bool,
    /// Counts what it reads and writes.
    pub heat: Option<Arc<KeyHeat>>,
    /// Where it gets its number from.
    pub numbers: Arc<TransactionNumbers>,
    /// What its session rests on.
    pub dependency: CommitDependency,
    /// It begins at this snapshot, which it then keeps; of a serializable one that of another such. `None`: the newest.
    pub snapshot: Option<SharedSnapshot>,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            database: FIRST_DATABASE,
            bytes_max: 0,
            memory: None,
            session: 0,
            is_unseen: false,
            keeps_snapshot: false,
            is_serializable: false,
            heat: None,
            numbers: Arc::default(),
            dependency: CommitDependency::default(),
            snapshot: None,
        }
    }
}
