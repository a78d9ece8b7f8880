//! Every setting there is.

use std::sync::LazyLock;

use super::definition::SettingDef;
use super::{compatibility, own, postgresql, server_facts};

static DEFINITIONS: LazyLock<Vec<SettingDef>> = LazyLock::new(|| {
    postgresql::SETTINGS
        .iter()
        .chain(compatibility::SETTINGS)
        .chain(server_facts::SETTINGS)
        .chain(own::SETTINGS)
        .cloned()
        .collect()
});

/// What the command line alone says: the server must know it before it has opened the store, or no statement may decide it.
pub(super) const KNOWN_AT_START: [&str; 12] = [
    "data_directory",
    "keyspan.cache_bytes",
    "keyspan.checkpoint_bytes",
    "keyspan.disk_reserve_bytes",
    "keyspan.large_commits_bytes_max",
    "keyspan.load_dir",
    "keyspan.log_segment_bytes",
    "keyspan.memtable_bytes_max",
    "keyspan.undo_bytes_max",
    "listen_addresses",
    "max_connections",
    "port",
];

/// Every setting. The order is that of `Settings::values`.
pub fn definitions() -> &'static [SettingDef] {
    &DEFINITIONS
}
