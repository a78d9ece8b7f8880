//! Bytes of the records of types that users make: written by `change`, read all together by `load`, because domains rest on
//! other types. The format of a record is `record`'s.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::{self, Head};
use super::type_def::stored_name;
use super::{DomainCheck, DomainDef, TypeDef, TypeKind, UserTypes};
use crate::Result;
use crate::types::{EnumLabel, EnumType};

/// What stands before a type's JSON.
const KIND: u8 = b'Y';

/// A type as JSON.
#[derive(Serialize, Deserialize)]
struct TypeRecord {
    oid: u32,
    array_oid: u32,
    schema: String,
    name: String,
    comment: Option<String>,
    #[serde(flatten)]
    kind: KindRecord,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindRecord {
    Enum(Vec<EnumLabel>),
    Domain(DomainRecord),
}

#[derive(Serialize, Deserialize)]
struct DomainRecord {
    /// As columns name theirs.
    #[serde(rename = "type")]
    ty: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    not_null: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checks: Vec<DomainCheck>,
}

/// A type's record.
pub(super) fn encode(ty: &TypeDef, version: u64) -> Result<Vec<u8>> {
    let kind = match &ty.kind {
        TypeKind::Enum(labels) => KindRecord::Enum(labels.labels.clone()),
        TypeKind::Domain(domain) => KindRecord::Domain(DomainRecord {
            ty: stored_name(&domain.ty),
            over: domain.over.as_ref().map(|over| over.oid),
            default: domain.default.clone(),
            not_null: domain.not_null,
            checks: domain.checks.clone(),
        }),
    };
    let json = TypeRecord {
        oid: ty.oid,
        array_oid: ty.array_oid,
        schema: ty.schema.clone(),
        name: ty.name.clone(),
        comment: ty.comment.clone(),
        kind,
    };
    record::encode(KIND, version, 0, &json)
}

/// The types of all records there are. Those of `known` that have not changed are the same.
pub(super) fn decode_all<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    known: &UserTypes,
) -> Result<UserTypes> {
    let mut waiting: Vec<(u64, TypeRecord)> = Vec::new();
    for bytes in records {
        match record::open(bytes)? {
            Head {
                kind: KIND,
                version,
                json,
                ..
            } => waiting.push((version, record::parse(json)?)),
            Head { kind, .. } => return Err(record::corrupt(format!("kind {kind} is no type"))),
        }
    }
    let mut types = UserTypes::default();
    while !waiting.is_empty() {
        let before = waiting.len();
        let (ready, later): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|(_, record)| record.is_ready(&types));
        let mut made: Vec<Arc<TypeDef>> = types.iter().cloned().collect();
        for (version, record) in ready {
            made.push(record.into_def(version, &types, known)?);
        }
        types = UserTypes::new(made.into_iter());
        waiting = later;
        if waiting.len() == before {
            return Err(record::corrupt(
                "a type rests on one that is not there".to_string(),
            ));
        }
    }
    Ok(types)
}

impl TypeRecord {
    /// Whether the types are there that it rests on.
    fn is_ready(&self, types: &UserTypes) -> bool {
        match &self.kind {
            KindRecord::Enum(_) => true,
            KindRecord::Domain(domain) => {
                domain.over.is_none_or(|over| types.by_oid(over).is_some())
                    && types.of_stored_name(&domain.ty).is_ok()
            }
        }
    }

    fn into_def(self, version: u64, types: &UserTypes, known: &UserTypes) -> Result<Arc<TypeDef>> {
        let kind = match self.kind {
            KindRecord::Enum(mut labels) => {
                labels.sort_by_key(|label| label.position);
                TypeKind::Enum(Arc::new(EnumType {
                    oid: self.oid,
                    array_oid: self.array_oid,
                    version,
                    name: self.name.clone(),
                    labels,
                }))
            }
            KindRecord::Domain(domain) => TypeKind::Domain(DomainDef {
                ty: types.of_stored_name(&domain.ty)?,
                over: domain.over.and_then(|over| types.by_oid(over).cloned()),
                default: domain.default,
                not_null: domain.not_null,
                checks: domain.checks,
            }),
        };
        if let Some(same) = known.by_oid(self.oid).filter(|known| known.version == version)
            && same.kind_is(&kind)
        {
            return Ok(Arc::clone(same));
        }
        Ok(Arc::new(TypeDef {
            oid: self.oid,
            array_oid: self.array_oid,
            version,
            schema: self.schema,
            name: self.name,
            comment: self.comment,
            kind,
        }))
    }
}

impl TypeDef {
    /// Whether it is this, and rests on the same definitions.
    fn kind_is(&self, kind: &TypeKind) -> bool {
        match (&self.kind, kind) {
            (TypeKind::Enum(_), TypeKind::Enum(_)) => true,
            (TypeKind::Domain(a), TypeKind::Domain(b)) => {
                let same_over = match (&a.over, &b.over) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    (None, None) => true,
                    _ => false,
                };
                let same_labels = match (a.ty.enum_type(), b.ty.enum_type()) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    (None, None) => true,
                    _ => false,
                };
                same_over && same_labels
            }
            _ => false,
        }
    }
}

/// The oid that a record's JSON holds, for checks. Errors: corrupt.
pub(super) fn oid_of(bytes: &[u8]) -> Result<u32> {
    let Head { json, .. } = record::open(bytes)?;
    Ok(record::parse::<TypeRecord>(json)?.oid)
}
