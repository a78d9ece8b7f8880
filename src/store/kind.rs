//! `StoreKind`: the engines there are, by the names they have on the command line and in the FORMAT file. Knows nothing of
//! how one is opened.

use crate::{Error, Result};

/// Which engine a store keeps its data in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// On disk, in a data directory: sled, a tree in a log.
    Sled,
    /// On disk, in a data directory: fjall, a log-structured merge tree.
    Fjall,
    /// In memory, gone with the process.
    Memory,
}

impl StoreKind {
    /// Every kind, in the order of the help text.
    pub const ALL: [StoreKind; 3] = [StoreKind::Sled, StoreKind::Fjall, StoreKind::Memory];

    /// The name on the command line and in the FORMAT file.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::Sled => "sled",
            StoreKind::Fjall => "fjall",
            StoreKind::Memory => "memory",
        }
    }
}

impl std::fmt::Display for StoreKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for StoreKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<StoreKind> {
        let names = StoreKind::ALL.map(StoreKind::name).join(", ");
        StoreKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::InvalidParameter {
                message: format!("unknown store \"{name}\""),
                hint: Some(format!("Available stores: {names}.")),
            })
    }
}
