//! `Vacated`: the keys that rows give up as they are written anew or removed, and which of their entries may as well stay.

use std::collections::HashMap;

use super::entry::IndexEntry;

/// Keys that rows give up: their own and those of their entries.
#[derive(Debug, Default)]
pub(super) struct Vacated {
    /// What stands under the key of an entry that no other row may have; `None`: another might, or nothing is sure.
    standing: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Vacated {
    /// For so many keys.
    pub(super) fn with_capacity(keys: usize) -> Vacated {
        Vacated {
            standing: HashMap::with_capacity(keys),
        }
    }

    /// Adds the key of a row, or of an entry of which nothing is sure.
    pub(super) fn insert(&mut self, key: Vec<u8>) {
        self.standing.insert(key, None);
    }

    /// Adds an entry that stands.
    pub(super) fn insert_entry(&mut self, entry: IndexEntry) {
        let value = (!entry.exclusive).then_some(entry.value);
        self.standing.insert(entry.key, value);
    }

    /// Whether it is among the keys.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.standing.contains_key(key)
    }

    /// Whether an entry stands already as it is to be: it need not be written.
    pub(super) fn stands(&self, entry: &IndexEntry) -> bool {
        let standing = self.standing.get(&entry.key);
        !entry.exclusive && standing.is_some_and(|value| value.as_ref() == Some(&entry.value))
    }

    /// The keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.standing.keys()
    }

    /// The keys themselves.
    pub(super) fn into_keys(self) -> impl Iterator<Item = Vec<u8>> {
        self.standing.into_keys()
    }
}
