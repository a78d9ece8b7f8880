//! Bytes of catalog records (the format page is in `catalog`): written by `change`, read by `Catalog::load`.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::constant_record::{constant_text, constant_value, corrupt};
use super::partition_record::PartitionRecord;
use super::type_def::stored_name;
use super::{
    CheckConstraint, ColumnDef, ColumnDefault, ExpressionText, ForeignKey, Generation, IndexDef, NO_SEQUENCE,
    Partitioning, Rekeying, Relation, SchemaDef, SequenceDef, SettingOverrides, StoredQuery, TableCache,
    TableDef, TableOptions, TriggerDef, Unverified, UserTypes, ViewDef,
};
use crate::codec::keyspace::{DatabaseId, FIRST_DATABASE, IndexId, TableId};
use crate::codec::row::ColumnId;
use crate::types::SqlType;
use crate::{Error, Result};

/// The formats this release writes; it reads no other: of the first database, and of others.
const FORMAT: u8 = 1;
const FORMAT_OF_DATABASE: u8 = 2;
/// Format, kind, version and id.
const HEAD_BYTES: usize = 14;
/// The checksum at the end.
const CHECKSUM_BYTES: usize = 4;

/// A table as JSON.
#[derive(Serialize, Deserialize)]
struct TableRecord {
    id: TableId,
    oid: u32,
    schema: String,
    name: String,
    columns: Vec<ColumnRecord>,
    next_column_id: ColumnId,
    primary_key: IndexDef,
    indexes: Vec<IndexDef>,
    next_index_id: IndexId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checks: Vec<CheckConstraint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    foreign_keys: Vec<ForeignKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    triggers: Vec<TriggerDef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partitioning: Option<Partitioning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<PartitionRecord>,
    options: TableOptions,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wildcards: Vec<ColumnRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stored_query: Option<Box<StoredQuery>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rekeying: Option<Rekeying>,
    comment: Option<String>,
}

/// A column as JSON.
#[derive(Serialize, Deserialize)]
struct ColumnRecord {
    id: ColumnId,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<u32>,
    not_null: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unverified: Option<Unverified>,
    default: Option<DefaultRecord>,
    missing: Option<String>,
    hidden: bool,
    dynamic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collation: Option<String>,
    comment: Option<String>,
}

/// A default as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DefaultRecord {
    Constant {
        value: Option<String>,
        sql: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<ExpressionText>,
    },
    Expression {
        sql: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sequences: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<ExpressionText>,
    },
    /// Of an older release: counted by column.
    Sequence,
    NextValue {
        sequence: u32,
    },
    Identity {
        always: bool,
        #[serde(default)]
        sequence: u32,
    },
    RowId,
    Generated(Generation),
}

/// A table's record.
pub(super) fn encode_table(table: &TableDef, database: DatabaseId) -> Result<Vec<u8>> {
    let stamp = Stamp {
        version: table.version,
        database,
    };
    encode(b'T', stamp, table.id, &TableRecord::from_def(table))
}

/// The record of a column that stands beside its table's.
pub(super) fn encode_column(stamp: Stamp, table: TableId, column: &ColumnDef) -> Result<Vec<u8>> {
    encode(b'C', stamp, table, &ColumnRecord::from_def(column))
}

/// The number of the table, the version and the column.
pub(super) fn decode_column(bytes: &[u8], types: &UserTypes) -> Result<(TableId, u64, ColumnDef)> {
    match open(bytes)? {
        Head {
            kind: b'C',
            version,
            id,
            json,
            ..
        } => Ok((id, version, parse::<ColumnRecord>(json)?.into_def(types)?)),
        Head { kind, .. } => Err(corrupt(format!("kind {kind} is no column"))),
    }
}

/// The JSON of a table's record.
pub(super) fn table_json(table: &TableDef) -> Result<serde_json::Value> {
    serde_json::to_value(TableRecord::from_def(table)).map_err(unserializable)
}

/// Reads [`table_json`] back.
pub(super) fn table_of_json(json: serde_json::Value, types: &UserTypes) -> Result<TableDef> {
    let record: TableRecord = serde_json::from_value(json).map_err(|error| corrupt(error.to_string()))?;
    record.into_def(0, types)
}

/// A view's record.
pub(super) fn encode_view(view: &ViewDef, stamp: Stamp) -> Result<Vec<u8>> {
    encode(b'V', stamp, view.id, view)
}

/// A sequence's record.
pub(super) fn encode_sequence(sequence: &SequenceDef, stamp: Stamp) -> Result<Vec<u8>> {
    encode(b'Q', stamp, sequence.id, sequence)
}

/// A schema's record.
pub(super) fn encode_schema(schema: &SchemaDef, stamp: Stamp) -> Result<Vec<u8>> {
    encode(b'S', stamp, 0, schema)
}

/// A record of settings.
pub(super) fn encode_settings(settings: &SettingOverrides, stamp: Stamp) -> Result<Vec<u8>> {
    encode(b'P', stamp, 0, settings)
}

/// Settings.
pub(super) fn decode_settings(bytes: &[u8]) -> Result<SettingOverrides> {
    match open(bytes)? {
        Head { kind: b'P', json, .. } => parse(json),
        Head { kind, .. } => Err(corrupt(format!("kind {kind} is no settings"))),
    }
}

/// A table, view or sequence; one of `known` with the same version is answered without reading the JSON.
pub(super) fn decode_relation(
    bytes: &[u8],
    known: &HashMap<TableId, &Relation>,
    types: &UserTypes,
) -> Result<Relation> {
    let Head {
        kind,
        version,
        id,
        json,
        ..
    } = open(bytes)?;
    if let Some(relation) = known.get(&id).filter(|relation| relation.version() == version) {
        return Ok(Relation::clone(relation));
    }
    match kind {
        b'T' => {
            let table = parse::<TableRecord>(json)?.into_def(version, types)?;
            Ok(Relation::Table(Arc::new(table)))
        }
        b'V' => {
            let view: ViewDef = parse(json)?;
            Ok(Relation::View(Arc::new(ViewDef { version, ..view })))
        }
        b'Q' => {
            let sequence: SequenceDef = parse(json)?;
            Ok(Relation::Sequence(Arc::new(SequenceDef { version, ..sequence })))
        }
        kind => Err(corrupt(format!(
            "kind {kind} is neither table, view nor sequence"
        ))),
    }
}

/// The sequence of a relation's record; `None`: it is that of something else. `known` is answered when it is that version.
pub fn sequence_of_record(
    bytes: &[u8],
    known: Option<&Arc<SequenceDef>>,
) -> Result<Option<Arc<SequenceDef>>> {
    let head = open(bytes)?;
    match (head.kind, known) {
        (b'Q', Some(known)) if known.version == head.version && known.id == head.id => {
            Ok(Some(Arc::clone(known)))
        }
        (b'Q', _) => {
            let relation = decode_relation(bytes, &HashMap::new(), &UserTypes::default())?;
            Ok(relation.get_sequence().cloned())
        }
        _ => Ok(None),
    }
}

/// A schema.
pub(super) fn decode_schema(bytes: &[u8]) -> Result<SchemaDef> {
    match open(bytes)? {
        Head { kind: b'S', json, .. } => parse(json),
        Head { kind, .. } => Err(corrupt(format!("kind {kind} is not a schema"))),
    }
}

/// The version that stands before any record's JSON.
pub(super) fn version_of(bytes: &[u8]) -> Result<u64> {
    Ok(open(bytes)?.version)
}

/// The database that a record is in.
pub(super) fn database_of(bytes: &[u8]) -> Result<DatabaseId> {
    Ok(open(bytes)?.database)
}

/// The id that stands before any record's JSON.
pub(super) fn id_of(bytes: &[u8]) -> Result<TableId> {
    Ok(open(bytes)?.id)
}

impl ColumnRecord {
    fn from_def(column: &ColumnDef) -> ColumnRecord {
        ColumnRecord {
            id: column.id,
            name: column.name.clone(),
            ty: stored_name(&column.ty),
            domain: column.domain.as_ref().map(|domain| domain.oid),
            not_null: column.not_null,
            unverified: column.unverified,
            default: column.default.as_ref().map(DefaultRecord::from_def),
            missing: constant_text(&column.missing),
            hidden: column.hidden,
            dynamic: column.dynamic,
            collation: column.collation.clone(),
            comment: column.comment.clone(),
        }
    }

    fn into_def(self, types: &UserTypes) -> Result<ColumnDef> {
        let ty = types.of_stored_name(&self.ty)?;
        let domain = self.domain.map(|oid| {
            let domain = types.by_oid(oid).cloned();
            domain.ok_or_else(|| corrupt(format!("domain {oid} is not known")))
        });
        Ok(ColumnDef {
            collation: self.collation,
            id: self.id,
            name: self.name,
            not_null: self.not_null,
            unverified: self.unverified,
            default: self.default.map(|default| default.into_def(&ty)).transpose()?,
            missing: constant_value(self.missing, &ty)?,
            ty,
            domain: domain.transpose()?,
            hidden: self.hidden,
            dynamic: self.dynamic,
            comment: self.comment,
        })
    }
}

impl DefaultRecord {
    fn from_def(default: &ColumnDefault) -> DefaultRecord {
        match default {
            ColumnDefault::Constant { value, sql, text } => DefaultRecord::Constant {
                value: constant_text(value),
                sql: sql.clone(),
                text: text.clone(),
            },
            ColumnDefault::Expression { sql, sequences, text } => DefaultRecord::Expression {
                sql: sql.clone(),
                sequences: sequences.clone(),
                text: text.clone(),
            },
            ColumnDefault::Sequence { oid: NO_SEQUENCE } => DefaultRecord::Sequence,
            ColumnDefault::Sequence { oid } => DefaultRecord::NextValue { sequence: *oid },
            ColumnDefault::Identity { always, oid } => DefaultRecord::Identity {
                always: *always,
                sequence: *oid,
            },
            ColumnDefault::RowId => DefaultRecord::RowId,
            ColumnDefault::Generated(generation) => DefaultRecord::Generated(generation.clone()),
        }
    }

    fn into_def(self, ty: &SqlType) -> Result<ColumnDefault> {
        Ok(match self {
            DefaultRecord::Constant { value, sql, text } => ColumnDefault::Constant {
                value: constant_value(value, ty)?,
                sql,
                text,
            },
            DefaultRecord::Expression { sql, sequences, text } => {
                ColumnDefault::Expression { sql, sequences, text }
            }
            DefaultRecord::Sequence => ColumnDefault::Sequence { oid: NO_SEQUENCE },
            DefaultRecord::NextValue { sequence } => ColumnDefault::Sequence { oid: sequence },
            DefaultRecord::Identity { always, sequence } => ColumnDefault::Identity {
                always,
                oid: sequence,
            },
            DefaultRecord::RowId => ColumnDefault::RowId,
            DefaultRecord::Generated(generation) => ColumnDefault::Generated(generation),
        })
    }
}

impl TableRecord {
    fn from_def(table: &TableDef) -> TableRecord {
        TableRecord {
            id: table.id,
            oid: table.oid,
            schema: table.schema.clone(),
            name: table.name.clone(),
            columns: table.columns.iter().map(ColumnRecord::from_def).collect(),
            next_column_id: table.next_column_id,
            primary_key: table.primary_key.clone(),
            indexes: table.indexes.clone(),
            next_index_id: table.next_index_id,
            checks: table.checks.clone(),
            foreign_keys: table.foreign_keys.clone(),
            triggers: table.triggers.clone(),
            partitioning: table.partitioning.clone(),
            partition: table.partition.as_ref().map(PartitionRecord::from_def),
            options: table.options.clone(),
            wildcards: table.wildcards.iter().map(ColumnRecord::from_def).collect(),
            stored_query: table.stored_query.clone(),
            rekeying: table.rekeying,
            comment: table.comment.clone(),
        }
    }

    fn into_def(self, version: u64, types: &UserTypes) -> Result<TableDef> {
        let columns = |columns: Vec<ColumnRecord>| -> Result<Vec<ColumnDef>> {
            let columns = columns.into_iter();
            columns.map(|column| column.into_def(types)).collect()
        };
        let table_columns = columns(self.columns)?;
        let partition = self.partition.map(|of| of.into_def(&table_columns));
        Ok(TableDef {
            id: self.id,
            oid: self.oid,
            version,
            schema: self.schema,
            name: self.name,
            partitioning: self.partitioning,
            partition: partition.transpose()?,
            columns: table_columns,
            wildcards: columns(self.wildcards)?,
            next_column_id: self.next_column_id,
            primary_key: self.primary_key,
            indexes: self.indexes,
            next_index_id: self.next_index_id,
            checks: self.checks,
            foreign_keys: self.foreign_keys,
            triggers: self.triggers,
            stored_query: self.stored_query,
            rekeying: self.rekeying,
            beside_from: None,
            options: self.options,
            comment: self.comment,
            cache: TableCache::default(),
            left_out: std::sync::Arc::default(),
            version_read: None,
            read_after: None,
            told: std::sync::Arc::default(),
        })
    }
}

/// What stands before a record's JSON beside its kind and id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    /// The catalog version that last changed it.
    pub(super) version: u64,
    /// The database that it is in.
    pub(super) database: DatabaseId,
}

/// A record taken apart.
pub(super) struct Head<'a> {
    pub(super) kind: u8,
    pub(super) version: u64,
    pub(super) database: DatabaseId,
    id: TableId,
    pub(super) json: &'a [u8],
}

fn unserializable(error: serde_json::Error) -> Error {
    Error::internal(format!("catalog record does not serialize: {error}"))
}

pub(super) fn encode(kind: u8, stamp: Stamp, id: TableId, record: &impl Serialize) -> Result<Vec<u8>> {
    let is_first = stamp.database == FIRST_DATABASE;
    let mut bytes = vec![if is_first { FORMAT } else { FORMAT_OF_DATABASE }, kind];
    bytes.extend_from_slice(&stamp.version.to_be_bytes());
    bytes.extend_from_slice(&id.to_be_bytes());
    if !is_first {
        bytes.extend_from_slice(&stamp.database.to_be_bytes());
    }
    serde_json::to_writer(&mut bytes, record).map_err(unserializable)?;
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// A record's JSON. Errors: corrupt.
pub(super) fn json_of(bytes: &[u8]) -> Result<serde_json::Value> {
    parse(open(bytes)?.json)
}

/// A record of other JSON.
pub(super) fn with_json(bytes: &[u8], json: &serde_json::Value) -> Result<Vec<u8>> {
    let Head {
        kind,
        version,
        database,
        id,
        ..
    } = open(bytes)?;
    encode(kind, Stamp { version, database }, id, json)
}

/// Checks format and checksum.
pub(super) fn open(bytes: &[u8]) -> Result<Head<'_>> {
    let short = || corrupt(format!("{} bytes are too few", bytes.len()));
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(short)?;
    let (head, json) = content.split_first_chunk::<HEAD_BYTES>().ok_or_else(short)?;
    let [format, kind, a, b, c, d, e, f, g, h, id @ ..] = *head;
    let (database, json) = match format {
        FORMAT => (FIRST_DATABASE, json),
        FORMAT_OF_DATABASE => {
            let (database, json) = json.split_first_chunk().ok_or_else(short)?;
            (DatabaseId::from_be_bytes(*database), json)
        }
        format => {
            let known = format!("{FORMAT} and {FORMAT_OF_DATABASE}");
            return Err(corrupt(format!("format {format}, this release reads {known}")));
        }
    };
    if crc32c::crc32c(content) != u32::from_le_bytes(*checksum) {
        return Err(corrupt("checksum does not match".to_string()));
    }
    let version = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    Ok(Head {
        kind,
        version,
        database,
        id: u32::from_be_bytes(id),
        json,
    })
}

pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| corrupt(error.to_string()))
}
