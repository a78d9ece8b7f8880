//! `Capabilities`: what a store can do. Who stands above asks for it, and takes no engine's bounds for those of all.

/// What a store takes, in bytes; `usize::MAX`: whatever fits into memory and on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The longest key.
    pub key_bytes_max: usize,
    /// The longest value.
    pub value_bytes_max: usize,
    /// Keys and values of one batch.
    pub batch_bytes_max: usize,
}

impl Capabilities {
    /// A store without bounds of its own.
    pub const UNBOUNDED: Capabilities = Capabilities {
        key_bytes_max: usize::MAX,
        value_bytes_max: usize::MAX,
        batch_bytes_max: usize::MAX,
    };
}
