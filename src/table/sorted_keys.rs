//! Keys in the order in which they are locked, so that two statements do not wait for each other.

/// Keys in their order, each once.
pub(super) fn sorted(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    keys
}
