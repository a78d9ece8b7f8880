//! `StoreOptions`: the sizes of a store, whatever engine it has. `main` fills them from the command line.

use std::time::Duration;

use super::machine::{default_cache_bytes, default_large_commits_bytes};

/// Sizes of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Memory that the engine takes, by which the process grows: each engine makes of it what it counts by itself.
    pub cache_bytes: u64,
    /// Memory for values that open snapshots still need; above it the oldest end with `SnapshotTooOld`.
    pub undo_bytes_max: usize,
    /// Keys of recent commits that are remembered while serializable transactions are open.
    pub recent_keys_bytes_max: usize,
    /// Memory for commits that are in the log but not in the engine yet; above it commits wait for the engine.
    pub memtable_bytes_max: usize,
    /// The same for large commits; one of any size may be there.
    pub large_commits_bytes_max: usize,
    /// A checkpoint begins when the log has grown by so much since the last …
    pub checkpoint_bytes: u64,
    /// … or after this time, if it has grown at all.
    pub checkpoint_interval: Duration,
    /// Free space on the disk below which only what frees space is written.
    pub disk_reserve_bytes: u64,
    /// Length of a segment of the log.
    pub segment_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            cache_bytes: default_cache_bytes(),
            undo_bytes_max: 256 << 20,
            recent_keys_bytes_max: 16 << 20,
            memtable_bytes_max: 64 << 20,
            large_commits_bytes_max: usize::try_from(default_large_commits_bytes()).unwrap_or(usize::MAX),
            checkpoint_bytes: 256 << 20,
            checkpoint_interval: Duration::from_secs(300),
            disk_reserve_bytes: 256 << 20,
            // Unit tests make many stores, and go through many segments.
            segment_bytes: if cfg!(test) { 64 << 10 } else { 16 << 20 },
        }
    }
}
