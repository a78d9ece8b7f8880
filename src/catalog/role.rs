//! Roles: records that they are there, which all databases share. What they may do is not asked of them: nobody is refused anything.

use serde::{Deserialize, Serialize};

use super::Catalog;
use super::constant_record;
use super::record::{self, Head, Stamp};
use crate::Result;

/// What stands before a role's JSON.
const KIND: u8 = b'O';

/// A role's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleDef {
    /// Its oid in pg_authid.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// SUPERUSER.
    pub superuser: bool,
    /// INHERIT.
    pub inherit: bool,
    /// CREATEROLE.
    pub create_role: bool,
    /// CREATEDB.
    pub create_db: bool,
    /// LOGIN.
    pub login: bool,
    /// REPLICATION.
    pub replication: bool,
    /// BYPASSRLS.
    pub bypass_rls: bool,
    /// How many sessions it may have at once; -1: as many as the server has.
    pub connection_limit: i32,
    /// VALID UNTIL, in microseconds since 1970 UTC; the extremes are infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<i64>,
    /// What a password is checked by: `SCRAM-SHA-256$…`, or `md5…` as a dump has it. Never the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The roles that it is a member of, by oid; whether it may let others in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_of: Vec<(u32, bool)>,
    /// COMMENT ON ROLE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Catalog {
    /// Whether a role is a member of another, by way of others or not; both by oid.
    pub fn is_member_of(&self, member: u32, of: u32) -> bool {
        let role = self.roles.values().find(|role| role.oid == member);
        role.is_some_and(|role| {
            let mut through = role.member_of.iter();
            through.any(|(known, _)| *known == of || self.is_member_of(*known, of))
        })
    }
}

/// A role's record as bytes.
pub(super) fn encode(role: &RoleDef, stamp: Stamp) -> Result<Vec<u8>> {
    record::encode(KIND, stamp, 0, role)
}

/// A role. Errors: corrupt.
pub(super) fn decode(bytes: &[u8]) -> Result<RoleDef> {
    match record::open(bytes)? {
        Head { kind: KIND, json, .. } => record::parse(json),
        Head { kind, .. } => Err(constant_record::corrupt(format!("kind {kind} is no role"))),
    }
}
