//! `CastKey`: the key of a cast that a user made.

use super::DatabaseId;
use crate::types::{stored_type_oid, type_oid_of_stored};

/// A cast, by the oids of its types, which may be built in and thus the same in every database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CastKey {
    /// The database that it is in.
    pub database: DatabaseId,
    /// What it is from.
    pub source: u32,
    /// What it is to.
    pub target: u32,
}

impl CastKey {
    pub(super) fn encode(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&stored_type_oid(self.source).to_be_bytes());
        bytes[4..8].copy_from_slice(&stored_type_oid(self.target).to_be_bytes());
        bytes[8..].copy_from_slice(&self.database.to_be_bytes());
        bytes
    }

    /// `None`: it is no such key.
    pub(super) fn decode(bytes: &[u8]) -> Option<CastKey> {
        let number = |at: usize| {
            let part = bytes.get(at..at + 4)?;
            <[u8; 4]>::try_from(part).ok().map(u32::from_be_bytes)
        };
        Some(CastKey {
            source: type_oid_of_stored(number(0)?),
            target: type_oid_of_stored(number(4)?),
            database: number(8)?,
        })
    }
}
