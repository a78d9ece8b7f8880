//! Casts that users make: records, and `Casts`, those of a catalog. Casts that are built in are no matter of this module: no record is for
//! two types that have one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::{self, Head, Stamp};
use super::{UserTypes, constant_record, stored_name};
use crate::Result;
use crate::types::SqlType;

/// What stands before a cast's JSON.
const KIND: u8 = b'K';

/// A cast.
#[derive(Debug, Clone, PartialEq)]
pub struct CastDef {
    /// Its oid in pg_cast.
    pub oid: u32,
    /// The catalog version that last changed this record.
    pub version: u64,
    /// What it is from, without modifiers.
    pub source: SqlType,
    /// What it is to, without modifiers.
    pub target: SqlType,
    /// How it is done.
    pub method: CastMethod,
    /// Where it needs not be written.
    pub applies: CastApplies,
    /// COMMENT ON CAST.
    pub comment: Option<String>,
}

/// How a cast is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CastMethod {
    /// WITH INOUT: the target reads the source's text.
    Text,
    /// WITHOUT FUNCTION: the values are the same.
    Same,
    /// WITH FUNCTION: the oid of the function.
    Function(u32),
}

/// Where a cast needs not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CastApplies {
    /// Nowhere.
    Explicit,
    /// AS ASSIGNMENT: where a column or variable is given a value.
    Assignment,
    /// AS IMPLICIT: for operands and arguments, too.
    Implicit,
}

#[derive(Serialize, Deserialize)]
struct CastRecord {
    oid: u32,
    source: String,
    target: String,
    method: CastMethod,
    applies: CastApplies,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

/// The casts of a catalog. Two are never for the same types.
#[derive(Debug, Clone, Default)]
pub struct Casts(Vec<Arc<CastDef>>);

impl Casts {
    /// All of them, in the order of their oids.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CastDef>> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cast with this oid.
    pub fn by_oid(&self, oid: i64) -> Option<&Arc<CastDef>> {
        self.0.iter().find(|cast| i64::from(cast.oid) == oid)
    }

    /// The cast of one type to another, whatever their modifiers.
    pub fn get(&self, source: &SqlType, target: &SqlType) -> Option<&Arc<CastDef>> {
        if self.0.is_empty() {
            return None;
        }
        let (source, target) = (source.oid(), target.oid());
        self.0
            .iter()
            .find(|cast| cast.source.oid() == source && cast.target.oid() == target)
    }

    /// The cast, where it applies without being written.
    pub fn get_unwritten(
        &self,
        source: &SqlType,
        target: &SqlType,
        needs: CastApplies,
    ) -> Option<&Arc<CastDef>> {
        if matches!(source, SqlType::Unknown | SqlType::Void) {
            return None;
        }
        self.get(source, target).filter(|cast| cast.applies >= needs)
    }
}

impl CastDef {
    /// As messages have it.
    pub fn described(&self) -> String {
        described(&self.source, &self.target)
    }

    /// The oids of the types that it is of.
    pub fn types_used(&self) -> [u32; 2] {
        [&self.source, &self.target].map(|ty| ty.innermost().oid())
    }

    /// Whether it is done by this function.
    pub fn calls(&self, oid: u32) -> bool {
        self.method == CastMethod::Function(oid)
    }
}

/// `cast from type text to type mood`, as messages have it.
pub fn described(source: &SqlType, target: &SqlType) -> String {
    format!(
        "cast from type {} to type {}",
        source.full_base_name(),
        target.full_base_name()
    )
}

/// A cast's record.
pub(super) fn encode(cast: &CastDef, stamp: Stamp) -> Result<Vec<u8>> {
    let json = CastRecord {
        oid: cast.oid,
        source: stored_name(&cast.source),
        target: stored_name(&cast.target),
        method: cast.method,
        applies: cast.applies,
        comment: cast.comment.clone(),
    };
    record::encode(KIND, stamp, 0, &json)
}

/// A cast. Errors: corrupt.
pub(super) fn decode(bytes: &[u8], types: &UserTypes) -> Result<CastDef> {
    let (version, json) = match record::open(bytes)? {
        Head {
            kind: KIND,
            version,
            json,
            ..
        } => (version, record::parse::<CastRecord>(json)?),
        Head { kind, .. } => return Err(constant_record::corrupt(format!("kind {kind} is no cast"))),
    };
    Ok(CastDef {
        oid: json.oid,
        version,
        source: types.of_stored_name(&json.source)?,
        target: types.of_stored_name(&json.target)?,
        method: json.method,
        applies: json.applies,
        comment: json.comment,
    })
}

/// The casts of all records there are.
pub(super) fn decode_all<'a>(records: impl Iterator<Item = &'a [u8]>, types: &UserTypes) -> Result<Casts> {
    let mut casts = Vec::new();
    for bytes in records {
        casts.push(Arc::new(decode(bytes, types)?));
    }
    casts.sort_by_key(|cast| cast.oid);
    Ok(Casts(casts))
}
