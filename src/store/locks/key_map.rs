//! `KeyMap`: what is known of keys. Whoever asks brings a key's hash along, so that a key is hashed once however many maps know of it, and
//! not again when a map grows.

use std::sync::Arc;

use hashbrown::HashTable;

/// A key with its hash.
#[derive(Debug, Clone, Copy)]
pub struct HashedKey<'a> {
    /// By the lock table's hasher.
    pub(super) hash: u64,
    /// The key.
    pub(super) bytes: &'a [u8],
}

/// A key with its hash, as maps and lists keep it.
#[derive(Debug, Clone)]
pub struct KeptKey {
    hash: u64,
    bytes: Arc<[u8]>,
}

impl KeptKey {
    /// A copy of a key.
    pub(super) fn of(key: HashedKey<'_>) -> KeptKey {
        KeptKey {
            hash: key.hash,
            bytes: Arc::from(key.bytes),
        }
    }

    /// The same as whoever asks has it.
    pub(super) fn hashed(&self) -> HashedKey<'_> {
        HashedKey {
            hash: self.hash,
            bytes: &self.bytes,
        }
    }

    /// The key.
    pub(super) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
}

/// The map.
#[derive(Debug)]
pub(super) struct KeyMap<V>(HashTable<(KeptKey, V)>);

impl<V> Default for KeyMap<V> {
    fn default() -> KeyMap<V> {
        KeyMap(HashTable::new())
    }
}

impl<V> KeyMap<V> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, key: HashedKey<'_>) -> Option<&V> {
        let found = self.0.find(key.hash, |(known, _)| *known.bytes == *key.bytes);
        found.map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: HashedKey<'_>) -> Option<&mut V> {
        let found = self.0.find_mut(key.hash, |(known, _)| *known.bytes == *key.bytes);
        found.map(|(_, value)| value)
    }

    /// The key as the map has it, and what is known of it.
    pub(super) fn entry_mut(&mut self, key: HashedKey<'_>) -> Option<&mut (KeptKey, V)> {
        self.0.find_mut(key.hash, |(known, _)| *known.bytes == *key.bytes)
    }

    /// Adds a key of which nothing is known.
    pub(super) fn insert_new(&mut self, key: KeptKey, value: V) -> &mut V {
        let hash = key.hash;
        let entry = self.0.insert_unique(hash, (key, value), |(known, _)| known.hash);
        &mut entry.into_mut().1
    }

    pub(super) fn remove(&mut self, key: HashedKey<'_>) {
        if let Ok(entry) = self
            .0
            .find_entry(key.hash, |(known, _)| *known.bytes == *key.bytes)
        {
            entry.remove();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<[u8]>, &V)> {
        self.0.iter().map(|(key, value)| (&key.bytes, value))
    }
}
