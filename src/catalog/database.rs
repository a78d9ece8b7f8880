//! Databases: records that they are there. What is in one stands under keys, and in records, that name it
//! ([`crate::codec::keyspace::SchemaKey`], [`super::record::Stamp`]); numbers and oids are given once for all of them.

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use crate::Result;
use crate::codec::keyspace::DatabaseId;

/// What stands before a database's JSON.
const KIND: u8 = b'D';

/// A database's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseDef {
    /// Its oid in pg_database.
    pub oid: DatabaseId,
    /// Its name.
    pub name: String,
    /// Whether sessions may begin.
    pub allow_connections: bool,
    /// How many sessions may be at once; -1: as many as the server has.
    pub connection_limit: i32,
    /// IS_TEMPLATE: it cannot be dropped.
    pub is_template: bool,
    /// COMMENT ON DATABASE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A database's record as bytes.
pub(super) fn encode(database: &DatabaseDef, stamp: Stamp) -> Result<Vec<u8>> {
    record::encode(KIND, stamp, 0, database)
}

/// A database. Errors: corrupt.
pub(super) fn decode(bytes: &[u8]) -> Result<DatabaseDef> {
    match record::open(bytes)? {
        Head { kind: KIND, json, .. } => record::parse(json),
        Head { kind, .. } => Err(constant_record::corrupt(format!("kind {kind} is no database"))),
    }
}
