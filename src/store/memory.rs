//! The memory engine: a `BTreeMap` behind a lock, gone with the process. For tests, `--store memory`, and as the model
//! other engines are compared with. Opened by `open_store`; knows nothing of snapshots.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, PoisonError, RwLock};

use super::engine::{Engine, EngineBatch, ScannedInMemory, Visit};
use super::page::KnownOfAll;
use crate::Result;
use crate::codec::expiry::ExpiryRule;

/// An ordered map in memory.
#[derive(Default)]
pub struct MemoryEngine {
    map: RwLock<Map>,
}

#[derive(Default)]
struct Map {
    entries: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// Bytes of all keys and values.
    bytes: u64,
}

impl MemoryEngine {
    /// An empty map.
    pub fn new() -> MemoryEngine {
        MemoryEngine::default()
    }
}

impl std::fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryEngine")
    }
}

impl Engine for MemoryEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = map.entries.get(key) {
            visit(value);
        }
        Ok(())
    }

    fn get_in_memory(&self, keys: &[&[u8]], visit: &mut dyn FnMut(Option<&[u8]>)) -> usize {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter()
            .for_each(|key| visit(map.entries.get(*key).map(|value| &**value)));
        keys.len()
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = map.entries.range::<[u8], _>((Bound::Included(start), upper));
        while let Some((key, value)) = if reverse {
            entries.next_back()
        } else {
            entries.next()
        } {
            if visit(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn scan_in_memory(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        reverse: bool,
        _rule: Option<&Arc<ExpiryRule>>,
        visit: Visit<'_>,
    ) -> ScannedInMemory {
        ScannedInMemory {
            is_done: self.scan(start, end, reverse, visit).is_ok(),
            known: KnownOfAll::default(),
        }
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.iter() {
            let before = match value {
                Some(value) => {
                    map.bytes += (key.len() + value.len()) as u64;
                    map.entries.insert(key.into(), value.into())
                }
                None => map.entries.remove(key),
            };
            if let Some(before) = before {
                map.bytes -= (key.len() + before.len()) as u64;
            }
        }
        Ok(())
    }

    fn make_durable(&self) -> Result<()> {
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(self.map.read().unwrap_or_else(PoisonError::into_inner).bytes)
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}
