//! `Waits`: what owners of locks wait for, by their sessions: what one owner of a session holds, the session does not give up before its
//! others go on.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::LockOwner;

/// An owner and the key that it waits for.
pub(super) type OwnWait = (LockOwner, Arc<[u8]>);

/// The waits of all owners, one each.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// By what stands for the session's owners; see [`LockOwner::of_session`].
    by_session: HashMap<LockOwner, SmallVec<[OwnWait; 1]>>,
}

impl Waits {
    /// The owner waits for the key.
    pub(super) fn insert(&mut self, owner: LockOwner, key: Arc<[u8]>) {
        let own = self.by_session.entry(owner.of_session()).or_default();
        own.push((owner, key));
    }

    /// The owner waits no more.
    pub(super) fn remove(&mut self, owner: LockOwner) {
        let session = owner.of_session();
        if let Some(own) = self.by_session.get_mut(&session) {
            own.retain(|(waiter, _)| *waiter != owner);
            if own.is_empty() {
                self.by_session.remove(&session);
            }
        }
    }

    /// The waits of the owner and of the others of its session.
    pub(super) fn of(&self, owner: LockOwner) -> &[OwnWait] {
        let own = self.by_session.get(&owner.of_session());
        own.map_or(&[], SmallVec::as_slice)
    }

    /// The waits of the owners of a session.
    pub(super) fn of_session(&self, session: i32) -> &[OwnWait] {
        self.of(LockOwner { number: 0, session })
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &OwnWait> {
        self.by_session.values().flatten()
    }
}

impl LockOwner {
    /// What stands for the owner and the others of its session.
    pub(super) fn of_session(self) -> LockOwner {
        match self.session {
            0 => self,
            session => LockOwner { number: 0, session },
        }
    }
}
