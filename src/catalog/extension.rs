//! Extensions that users asked for: records that say that they did. What an extension brings is there in any case; knows none of it.

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use crate::Result;

/// What stands before an extension's JSON.
const KIND: u8 = b'X';

/// An extension's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtensionDef {
    /// Its oid in pg_extension.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// The schema that it was made in.
    pub schema: String,
    /// Its version.
    pub version: String,
    /// COMMENT ON EXTENSION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// An extension's record as bytes.
pub(super) fn encode(extension: &ExtensionDef, stamp: Stamp) -> Result<Vec<u8>> {
    record::encode(KIND, stamp, 0, extension)
}

/// An extension. Errors: corrupt.
pub(super) fn decode(bytes: &[u8]) -> Result<ExtensionDef> {
    match record::open(bytes)? {
        Head { kind: KIND, json, .. } => record::parse(json),
        Head { kind, .. } => Err(constant_record::corrupt(format!("kind {kind} is no extension"))),
    }
}
