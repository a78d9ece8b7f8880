//! `RelationsInUse`: the tables that running statements and open cursors of a session read or write, and indexes that they keep, while
//! other statements of it run: those of functions and triggers, and those between FETCHes. What such a statement may not change under
//! them asks here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug, Default)]
pub struct RelationsInUse(Mutex<HashMap<u32, usize>>);

/// Relations in use as long as it is there.
#[derive(Debug)]
pub struct InUse {
    all: Arc<RelationsInUse>,
    oids: Arc<[u32]>,
}

impl RelationsInUse {
    /// The relations with these oids are in use from now on.
    pub fn enter(self: &Arc<RelationsInUse>, oids: &Arc<[u32]>) -> InUse {
        let mut counts = self.lock();
        for oid in oids.iter() {
            *counts.entry(*oid).or_default() += 1;
        }
        InUse {
            all: Arc::clone(self),
            oids: Arc::clone(oids),
        }
    }

    /// Whether the relation is in use.
    pub fn contains(&self, oid: u32) -> bool {
        self.lock().contains_key(&oid)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        for oid in self.oids.iter() {
            if let Some(count) = counts.get_mut(oid) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(oid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_in_use_as_long_as_anybody_uses_it() {
        let all = Arc::new(RelationsInUse::default());
        let both = all.enter(&[1, 2].into());
        let again = all.enter(&[1].into());
        drop(both);
        assert!(all.contains(1) && !all.contains(2));
        drop(again);
        assert!(!all.contains(1));
    }
}
