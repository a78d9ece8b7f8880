//! Deadlocks: a circle of owners each of which waits for the next. Looked for when a wait has lasted for `deadlock_timeout`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use super::{Lock, LockMode, LockOwner, LockTable, Shard, lock_of};
use crate::codec::keyspace::{AdvisoryKey, DATABASE_OID, FIRST_OID, Keyspace};
use crate::{Error, Result};

/// The whole table, held still.
struct Still<'a> {
    table: &'a LockTable,
    waits: MutexGuard<'a, HashMap<LockOwner, Arc<[u8]>>>,
    shards: Vec<MutexGuard<'a, Shard>>,
}

/// One owner's wait for another.
struct Edge {
    waiter: LockOwner,
    key: Arc<[u8]>,
    mode: LockMode,
    blocker: LockOwner,
    /// The other does not hold what is waited for: he asked before.
    is_soft: bool,
}

impl LockTable {
    /// Errors: 40P01 when those in the way of a waiting owner wait, over others, for it, and no other order of waiting would end that.
    pub(super) fn require_no_circle(&self, owner: LockOwner) -> Result<()> {
        let mut still = Still {
            table: self,
            waits: lock_of(&self.waits),
            shards: self.shards.iter().map(lock_of).collect(),
        };
        // Who was let go before whom; never the other way round again.
        let mut turned: HashSet<(LockOwner, LockOwner)> = HashSet::new();
        while let Some(circle) = still.circle(owner) {
            // As PostgreSQL, which notes them on its way back from where the circle closed.
            let soft = circle
                .iter()
                .rfind(|edge| edge.is_soft && !turned.contains(&(edge.blocker, edge.waiter)));
            let Some(edge) = soft else {
                return Err(Error::Deadlock {
                    detail: detail(&circle),
                });
            };
            turned.insert((edge.waiter, edge.blocker));
            still.let_before(edge);
        }
        Ok(())
    }
}

impl Still<'_> {
    /// The shortest circle of waits that the owner is in.
    fn circle(&self, owner: LockOwner) -> Option<Vec<Edge>> {
        // Who was reached first over which edge.
        let mut reached: HashMap<LockOwner, Edge> = HashMap::new();
        let mut open = std::collections::VecDeque::from([owner]);
        while let Some(waiter) = open.pop_front() {
            for edge in self.edges(waiter) {
                let blocker = one(edge.blocker);
                if reached.contains_key(&blocker) {
                    continue;
                }
                reached.insert(blocker, edge);
                if blocker == one(owner) {
                    return Some(path_to(blocker, reached));
                }
                open.push_back(blocker);
            }
        }
        None
    }

    /// Lets the one who only waits behind another go before him.
    fn let_before(&mut self, edge: &Edge) {
        let place = self.table.place(&edge.key);
        let Some(lock) = self.shards[place].get_mut(&edge.key) else {
            return;
        };
        let place_of = |lock: &Lock, owner| lock.waiting.iter().position(|waiter| waiter.owner == owner);
        if let (Some(own), Some(other)) = (place_of(lock, edge.waiter), place_of(lock, edge.blocker))
            && other < own
            && let Some(waiter) = lock.waiting.remove(own)
        {
            lock.waiting.insert(other, waiter);
            lock.grant_waiting();
        }
    }

    /// The waits of an owner, and of the others of its session: what one of them holds, the session does not give up before it goes on.
    fn edges(&self, waiter: LockOwner) -> Vec<Edge> {
        let waits = self.waits.iter();
        let own = waits.filter(|(other, _)| is_one(**other, waiter));
        own.flat_map(|(owner, key)| self.edges_at(*owner, key)).collect()
    }

    fn edges_at(&self, waiter: LockOwner, key: &Arc<[u8]>) -> Vec<Edge> {
        let Some(lock) = self.shards[self.table.place(key)].get(key) else {
            return Vec::new();
        };
        let mut asked = lock.waiting.iter();
        let Some(asked) = asked.find(|other| other.owner == waiter) else {
            return Vec::new();
        };
        let blockers = lock.in_the_way_of(waiter);
        let holds = |owner: LockOwner| {
            let mut held = lock.held.iter();
            held.any(|held| held.owner == owner && held.modes.conflict(asked.mode))
        };
        let edges = blockers.map(|blocker| Edge {
            waiter,
            key: Arc::clone(key),
            mode: asked.mode,
            blocker,
            is_soft: !holds(blocker),
        });
        edges.collect()
    }
}

/// The edges that lead from the owner back to it, in their order.
fn path_to(owner: LockOwner, mut reached: HashMap<LockOwner, Edge>) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut at = owner;
    while let Some(edge) = reached.remove(&at) {
        at = one(edge.waiter);
        path.push(edge);
        if at == owner {
            break;
        }
    }
    path.reverse();
    path
}

/// What stands for an owner and the others of its session.
fn one(owner: LockOwner) -> LockOwner {
    match owner.session {
        0 => owner,
        session => LockOwner { number: 0, session },
    }
}

fn is_one(a: LockOwner, b: LockOwner) -> bool {
    one(a) == one(b)
}

/// As PostgreSQL tells it: a line for each wait.
fn detail(circle: &[Edge]) -> String {
    let lines = circle.iter().map(|edge| {
        let mode = edge.mode.name();
        let what = match Keyspace::decode(&edge.key) {
            Ok(Keyspace::AdvisoryLock(AdvisoryKey {
                class,
                object,
                numbers,
            })) => format!("{mode} on advisory lock [{DATABASE_OID},{class},{object},{numbers}]"),
            Ok(Keyspace::Relation { id }) => {
                format!("{mode} on relation {} of database {DATABASE_OID}", FIRST_OID + id)
            }
            // PostgreSQL waits for a row by waiting for the transaction that has it.
            _ => format!("ShareLock on transaction {}", edge.blocker.number),
        };
        format!(
            "Process {} waits for {what}; blocked by process {}.",
            edge.waiter.session, edge.blocker.session
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
