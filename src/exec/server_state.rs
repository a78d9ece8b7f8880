//! `ServerState`: what the statements of all sessions of one server share, in memory and beside the store.

use super::SmallScans;

/// What statements of all sessions share.
#[derive(Debug, Default)]
pub struct ServerState {
    /// The statements that ran because a table is small.
    pub small_scans: SmallScans,
}
