//! Bytes of the records of types that users make: written by `change`, read all together by `load`, because domains rest on
//! other types. The format of a record is `record`'s.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use super::type_def::stored_name;
use super::{CompositeDef, DomainCheck, DomainDef, TypeDef, TypeKind, UserTypes};
use crate::Result;
use crate::types::{EnumLabel, EnumType, RecordField, RecordType, stored_type_oid, type_oid_of_stored};

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
    Composite(CompositeRecord),
    /// The type's name, which is every database's.
    Base(String),
}

#[derive(Serialize, Deserialize)]
struct CompositeRecord {
    attributes: Vec<AttributeRecord>,
    last_number: u16,
}

#[derive(Serialize, Deserialize)]
struct AttributeRecord {
    number: u16,
    name: String,
    /// As columns name theirs.
    #[serde(rename = "type")]
    ty: String,
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

impl TypeRecord {
    fn read(json: &[u8]) -> Result<TypeRecord> {
        let stored: TypeRecord = record::parse(json)?;
        Ok(TypeRecord {
            oid: type_oid_of_stored(stored.oid),
            array_oid: type_oid_of_stored(stored.array_oid),
            ..stored
        })
    }
}

/// A type's record.
pub(super) fn encode(ty: &TypeDef, stamp: Stamp) -> Result<Vec<u8>> {
    let kind = match &ty.kind {
        TypeKind::Enum(labels) => KindRecord::Enum(labels.labels.clone()),
        TypeKind::Base(ty) => KindRecord::Base(stored_name(ty)),
        TypeKind::Domain(domain) => KindRecord::Domain(DomainRecord {
            ty: stored_name(&domain.ty),
            over: domain.over.as_ref().map(|over| over.oid),
            default: domain.default.clone(),
            not_null: domain.not_null,
            checks: domain.checks.clone(),
        }),
        TypeKind::Composite(composite) => {
            let fields = composite.row.fields.iter();
            let attributes = fields.map(|field| AttributeRecord {
                number: field.number,
                name: field.name.clone(),
                ty: stored_name(&field.ty),
            });
            KindRecord::Composite(CompositeRecord {
                attributes: attributes.collect(),
                last_number: composite.last_number,
            })
        }
    };
    let json = TypeRecord {
        oid: stored_type_oid(ty.oid),
        array_oid: stored_type_oid(ty.array_oid),
        schema: ty.schema.clone(),
        name: ty.name.clone(),
        comment: ty.comment.clone(),
        kind,
    };
    record::encode(KIND, stamp, 0, &json)
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
            } => waiting.push((version, TypeRecord::read(json)?)),
            Head { kind, .. } => return Err(constant_record::corrupt(format!("kind {kind} is no type"))),
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
            return Err(constant_record::corrupt(
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
            KindRecord::Enum(_) | KindRecord::Base(_) => true,
            KindRecord::Domain(domain) => {
                domain.over.is_none_or(|over| types.by_oid(over).is_some())
                    && types.of_stored_name(&domain.ty).is_ok()
            }
            KindRecord::Composite(composite) => {
                let mut attributes = composite.attributes.iter();
                attributes.all(|attribute| types.of_stored_name(&attribute.ty).is_ok())
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
            KindRecord::Base(name) => TypeKind::Base(types.of_stored_name(&name)?),
            KindRecord::Domain(domain) => TypeKind::Domain(DomainDef {
                ty: types.of_stored_name(&domain.ty)?,
                over: domain.over.and_then(|over| types.by_oid(over).cloned()),
                default: domain.default,
                not_null: domain.not_null,
                checks: domain.checks,
            }),
            KindRecord::Composite(composite) => {
                let attributes = composite.attributes.into_iter().map(|attribute| {
                    Ok(RecordField {
                        number: attribute.number,
                        ty: types.of_stored_name(&attribute.ty)?,
                        name: attribute.name,
                    })
                });
                let fields = attributes.collect::<Result<Vec<_>>>()?;
                let rests_on = fields.iter().flat_map(|field| field.ty.user_types());
                let versions = rests_on.map(|(_, version)| version);
                TypeKind::Composite(CompositeDef {
                    row: Arc::new(RecordType {
                        oid: self.oid,
                        array_oid: self.array_oid,
                        version: versions.fold(version, u64::wrapping_add),
                        name: self.name.clone(),
                        fields,
                    }),
                    last_number: composite.last_number,
                })
            }
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
            (TypeKind::Enum(_), TypeKind::Enum(_)) | (TypeKind::Base(_), TypeKind::Base(_)) => true,
            (TypeKind::Domain(a), TypeKind::Domain(b)) => {
                let same_over = match (&a.over, &b.over) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    (None, None) => true,
                    _ => false,
                };
                same_over && a.ty.has_definitions_of(&b.ty)
            }
            (TypeKind::Composite(a), TypeKind::Composite(b)) => {
                let mut pairs = a.row.fields.iter().zip(&b.row.fields);
                a.row == b.row && pairs.all(|(a, b)| a.ty.has_definitions_of(&b.ty))
            }
            _ => false,
        }
    }
}

/// The oid that a record's JSON holds, for checks. Errors: corrupt.
pub(super) fn oid_of(bytes: &[u8]) -> Result<u32> {
    let Head { json, .. } = record::open(bytes)?;
    record::parse::<TypeRecord>(json).map(|record| type_oid_of_stored(record.oid))
}
