//! `LookupKeys`: the bytes of the keys that outer rows give, made of their columns as they are: no condition, no access planned. `RowKeys`:
//! the commonest lookup, by the whole primary key, which fetches rows by them. Called by `table_lookup`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;

use crate::Result;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::{KeyField, encode_array, tells_value};
use crate::codec::keyspace::entry_prefix;
use crate::scan::scan_metrics::ScanMetrics;
use crate::table::{RowDecoder, RowLayout};
use crate::txn::Transaction;
use crate::types::SqlType;

/// How keys, or their beginnings, are made of the values that an outer row gives.
#[derive(Debug)]
pub(super) struct LookupKeys {
    prefix: Vec<u8>,
    /// The first columns of the key, in its order: which of the values, and how it stands there.
    parts: Vec<KeyPart>,
}

#[derive(Debug)]
struct KeyPart {
    given: usize,
    field: KeyField,
    carrier: DataType,
}

impl LookupKeys {
    /// Of values of these columns (positions in `TableDef::columns`). `None`: they are not the first of the key, or not every value of a
    /// type is a key as it is.
    pub(super) fn new(table: &TableDef, key: &IndexDef, columns: &[usize]) -> Option<LookupKeys> {
        let part = |(column, field): (&KeyColumn, KeyField)| {
            let position = table.column_index_by_id(column.column)?;
            let given = columns.iter().position(|column| *column == position)?;
            let carrier = table.columns[position].ty.arrow_type();
            is_key_as_it_is(&field.ty).then_some(KeyPart {
                given,
                field,
                carrier,
            })
        };
        let parts = key.columns.iter().zip(table.key_fields(key)).take(columns.len());
        let parts: Vec<KeyPart> = parts.map(part).collect::<Option<_>>()?;
        (parts.len() == columns.len()).then(|| LookupKeys {
            prefix: entry_prefix(table.id, key.id).to_vec(),
            parts,
        })
    }

    /// Whether keys can be made of values in these arrays.
    pub(super) fn takes(&self, given: &[ArrayRef]) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| *given[part.given].data_type() == part.carrier)
    }

    /// Those of so many outer rows, each once, as they are sorted, and which of them is that of each row. A NULL is in none.
    pub(super) fn made(&self, given: &[ArrayRef], rows: usize) -> (Vec<Vec<u8>>, Vec<Option<u32>>) {
        let mut made: Vec<(Vec<u8>, usize)> = Vec::with_capacity(rows);
        for row in 0..rows {
            if self.parts.iter().all(|part| given[part.given].is_valid(row)) {
                let mut key = self.prefix.clone();
                for part in &self.parts {
                    encode_array(&mut key, &given[part.given], row, &part.field);
                }
                made.push((key, row));
            }
        }
        made.sort_unstable();
        let (mut keys, mut asked) = (Vec::with_capacity(made.len()), vec![None; rows]);
        for (key, row) in made {
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            asked[row] = Some(keys.len() as u32 - 1);
        }
        (keys, asked)
    }
}

/// Rows by their keys.
#[derive(Debug)]
pub(super) struct RowKeys {
    pub(super) keys: LookupKeys,
    layout: Arc<RowLayout>,
}

/// Inner rows, and for each outer row its own, if it has one.
pub(super) struct FoundRows {
    /// Keys that were looked up.
    pub(super) keys: usize,
    pub(super) rows: RecordBatch,
    pub(super) places: Vec<Option<u32>>,
}

impl RowKeys {
    /// By values of these columns (positions in `TableDef::columns`), to read those at `positions`. `None`: as [`LookupKeys::new`], or they
    /// are not all of the primary key.
    pub(super) fn new(table: &TableDef, columns: &[usize], positions: &[usize]) -> Option<RowKeys> {
        let key = &table.primary_key;
        let keys = LookupKeys::new(table, key, columns).filter(|_| key.columns.len() == columns.len())?;
        let layout = Arc::new(RowLayout::new(table, positions));
        Some(RowKeys { keys, layout })
    }

    /// The rows whose keys so many outer rows give.
    pub(super) async fn fetch(
        &self,
        txn: &Transaction,
        given: &[ArrayRef],
        rows: usize,
        metrics: &ScanMetrics,
    ) -> Result<FoundRows> {
        let (keys, asked) = self.keys.made(given, rows);
        let values = txn.get_many(&keys).await?;
        let mut decoder = RowDecoder::with_layout(Arc::clone(&self.layout));
        decoder.reserve(keys.len());
        let (mut found, mut bytes) = (0, 0);
        let mut place_of = Vec::with_capacity(keys.len());
        for (at, key) in keys.iter().enumerate() {
            let value = values.get(at);
            place_of.push(value.map(|_| found));
            if let Some(value) = value {
                decoder.push(key, value)?;
                bytes += (key.len() + value.len()) as u64;
                found += 1;
            }
        }
        metrics.gets.fetch_add(keys.len() as u64, Ordering::Relaxed);
        metrics.bytes.fetch_add(bytes, Ordering::Relaxed);
        metrics.count_rows(found as usize, found as usize);
        let places = asked.into_iter();
        Ok(FoundRows {
            keys: keys.len(),
            rows: decoder.finish()?,
            places: places.map(|key| place_of[key? as usize]).collect(),
        })
    }
}

/// Whether values that are equal have the same bytes in the arrays that carry them, and every value can stand in a key.
fn is_key_as_it_is(ty: &SqlType) -> bool {
    let is_plain = matches!(
        ty,
        SqlType::Bool
            | SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Text
            | SqlType::Citext
            | SqlType::Varchar(_)
            | SqlType::Bytea
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::TimestampTz(_)
            | SqlType::Uuid
            | SqlType::Packed(_)
            | SqlType::Enum(_)
    );
    is_plain || !tells_value(ty)
}
