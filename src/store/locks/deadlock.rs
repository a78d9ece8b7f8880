//! Deadlocks: a circle of owners each of which waits for the next. Looked for when a wait has lasted for `deadlock_timeout`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use super::waits::Waits;
use super::{Blocker, Lock, LockMode, LockOwner, LockTable, Shard, lock_of, place};
use crate::codec::keyspace::{AdvisoryKey, FIRST_DATABASE, FIRST_OID, Keyspace};
use crate::{Error, Result};

/// The whole table, held still.
struct Still<'a> {
    table: &'a LockTable,
    waits: MutexGuard<'a, Waits>,
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
        let mut still = Still::of(self);
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
    fn of(table: &LockTable) -> Still<'_> {
        Still {
            table,
            waits: lock_of(&table.waits),
            shards: table.shards.iter().map(lock_of).collect(),
        }
    }

    /// The shortest circle of waits that the owner is in.
    fn circle(&self, owner: LockOwner) -> Option<Vec<Edge>> {
        // Who was reached first over which edge.
        let mut reached: HashMap<LockOwner, Edge> = HashMap::new();
        let mut open = std::collections::VecDeque::from([owner]);
        while let Some(waiter) = open.pop_front() {
            for edge in self.edges(waiter, owner) {
                let blocker = edge.blocker.of_session();
                if reached.contains_key(&blocker) {
                    continue;
                }
                reached.insert(blocker, edge);
                if blocker == owner.of_session() {
                    return Some(path_to(blocker, reached));
                }
                open.push_back(blocker);
            }
        }
        None
    }

    /// Lets the one who only waits behind another go before him.
    fn let_before(&mut self, edge: &Edge) {
        let key = self.table.hashed(&edge.key);
        let at = place(key);
        let Some(lock) = self.shards[at].get_mut(key) else {
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

    /// The waits of an owner, and of the others of its session, for whoever may lead to the one who is looked for.
    fn edges(&self, waiter: LockOwner, wanted: LockOwner) -> Vec<Edge> {
        let own = self.waits.of(waiter).iter();
        own.flat_map(|(owner, key)| self.edges_at(*owner, key, wanted))
            .collect()
    }

    fn edges_at(&self, waiter: LockOwner, key: &Arc<[u8]>, wanted: LockOwner) -> Vec<Edge> {
        let hashed = self.table.hashed(key);
        let Some(lock) = self.shards[place(hashed)].get(hashed) else {
            return Vec::new();
        };
        let mut asked = lock.waiting.iter();
        let Some(asked) = asked.find(|other| other.owner == waiter) else {
            return Vec::new();
        };
        // Who waits before it for the same has nobody in the way who is not in its own: no shortest circle leads over him, unless he
        // waits for something else, too. Thousands may wait so.
        let leads_on = |blocker: &Blocker| {
            blocker.waits != Some(asked.mode)
                || blocker.owner.of_session() == wanted.of_session()
                || self.waits.of(blocker.owner).len() > 1
        };
        let holds = |owner: LockOwner| {
            let mut held = lock.held.iter();
            held.any(|held| held.owner == owner && held.modes.conflict(asked.mode))
        };
        let edges = lock.in_the_way_of(waiter).filter(leads_on).map(|blocker| Edge {
            waiter,
            key: Arc::clone(key),
            mode: asked.mode,
            blocker: blocker.owner,
            is_soft: !holds(blocker.owner),
        });
        edges.collect()
    }
}

/// The edges that lead from the owner back to it, in their order.
fn path_to(owner: LockOwner, mut reached: HashMap<LockOwner, Edge>) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut at = owner;
    while let Some(edge) = reached.remove(&at) {
        at = edge.waiter.of_session();
        path.push(edge);
        if at == owner {
            break;
        }
    }
    path.reverse();
    path
}

/// As PostgreSQL tells it: a line for each wait.
fn detail(circle: &[Edge]) -> String {
    let lines = circle.iter().map(|edge| {
        let mode = edge.mode.name();
        let what = match Keyspace::decode(&edge.key) {
            Ok(Keyspace::AdvisoryLock(AdvisoryKey {
                database,
                class,
                object,
                numbers,
            })) => format!("{mode} on advisory lock [{database},{class},{object},{numbers}]"),
            Ok(Keyspace::Relation { id }) => {
                format!(
                    "{mode} on relation {} of database {FIRST_DATABASE}",
                    FIRST_OID + id
                )
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use rand::rngs::StdRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::store::locks::{HeldLocks, LockPolicy, LockWait, Wanted};

    /// Whether a way of waits leads from the owner back to its session, every wait looked at.
    fn is_in_a_circle(still: &Still<'_>, owner: LockOwner) -> bool {
        let mut reached = HashSet::new();
        let mut open = vec![owner];
        while let Some(waiter) = open.pop() {
            for (own, key) in still.waits.of(waiter) {
                let key = still.table.hashed(key);
                let lock = still.shards[place(key)].get(key);
                let blockers = lock.iter().flat_map(|lock| lock.in_the_way_of(*own));
                let new = blockers.map(|blocker| blocker.owner.of_session());
                open.extend(new.filter(|blocker| reached.insert(*blocker)));
            }
        }
        reached.contains(&owner.of_session())
    }

    /// Sessions of two owners each hold and wait at random, over few keys: a circle is found where there is one, and is one.
    #[tokio::test]
    async fn circles_are_found_where_they_are() {
        use LockMode::*;
        let modes = [
            Keep,
            KeyShare,
            Share,
            NoKeyUpdate,
            Change,
            Update,
            Insert,
            Replace,
        ];
        let (mut random, mut circles) = (StdRng::seed_from_u64(11), 0);
        for _ in 0..300 {
            let table = Arc::new(LockTable::default());
            let owners: Vec<_> = (0..12).map(|at| HeldLocks::new(&table, 1 + at / 2)).collect();
            let keys: Vec<_> = (0..5u8).map(|key| vec![vec![key]]).collect();
            let mut waits = Vec::new();
            for owner in &owners {
                for _ in 0..random.random_range(0..4) {
                    let wanted = Wanted {
                        keys: keys.choose(&mut random).unwrap(),
                        mode: *modes.choose(&mut random).unwrap(),
                        wait: LockWait::Block,
                        policy: LockPolicy::default(),
                    };
                    let mut wait = Box::pin(owner.acquire(wanted));
                    if wait.as_mut().now_or_never().is_none() {
                        waits.push(wait);
                        break;
                    }
                }
            }
            let still = Still::of(&table);
            for (owner, _) in still.waits.iter() {
                let circle = still.circle(*owner);
                assert_eq!(circle.is_some(), is_in_a_circle(&still, *owner));
                let Some(circle) = circle else { continue };
                circles += 1;
                for (at, edge) in circle.iter().enumerate() {
                    let next = &circle[(at + 1) % circle.len()];
                    assert_eq!(edge.blocker.of_session(), next.waiter.of_session());
                }
            }
            drop(still);
        }
        assert!(circles > 100, "{circles}");
    }
}
