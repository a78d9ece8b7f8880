//! `RowKeys`: the commonest lookup: what an outer row gives is the whole primary key of the inner table. Its bytes are made of the outer
//! columns as they are, and rows are fetched by them, with no access planned. Called by `lookup`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;

use crate::Result;
use crate::catalog::TableDef;
use crate::codec::key::{KeyField, encode_array};
use crate::codec::keyspace::entry_prefix;
use crate::scan::scan_metrics::ScanMetrics;
use crate::table::{RowDecoder, RowLayout};
use crate::txn::Transaction;
use crate::types::SqlType;

/// How keys are made, and what is read of their rows.
#[derive(Debug)]
pub(super) struct RowKeys {
    prefix: Vec<u8>,
    /// The columns of the key, in its order: which of the values that an outer row gives, and how it stands there.
    parts: Vec<KeyPart>,
    layout: Arc<RowLayout>,
}

#[derive(Debug)]
struct KeyPart {
    given: usize,
    field: KeyField,
    carrier: DataType,
}

/// Inner rows, and for each outer row its own, if it has one.
pub(super) struct FoundRows {
    /// Keys that were looked up.
    pub(super) keys: u64,
    pub(super) rows: RecordBatch,
    pub(super) places: Vec<Option<u32>>,
}

impl RowKeys {
    /// For values of these columns (positions in `TableDef::columns`), to read those at `positions`. `None`: they are not the primary
    /// key, or not every value of a type is a key as it is.
    pub(super) fn new(table: &TableDef, columns: &[usize], positions: &[usize]) -> Option<RowKeys> {
        let key = &table.primary_key;
        if key.columns.len() != columns.len() {
            return None;
        }
        let part = |(column, field): (_, KeyField)| {
            let position = table.column_index_by_id(column)?;
            let given = columns.iter().position(|column| *column == position)?;
            let carrier = table.columns[position].ty.arrow_type();
            is_key_as_it_is(&field.ty).then_some(KeyPart {
                given,
                field,
                carrier,
            })
        };
        let columns = key.columns.iter().map(|column| column.column);
        Some(RowKeys {
            prefix: entry_prefix(table.id, key.id).to_vec(),
            parts: columns
                .zip(table.key_fields(key))
                .map(part)
                .collect::<Option<_>>()?,
            layout: Arc::new(RowLayout::new(table, positions)),
        })
    }

    /// Whether keys can be made of values in these arrays.
    pub(super) fn takes(&self, given: &[ArrayRef]) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| *given[part.given].data_type() == part.carrier)
    }

    /// The rows whose keys so many outer rows give.
    pub(super) async fn fetch(
        &self,
        txn: &Transaction,
        given: &[ArrayRef],
        rows: usize,
        metrics: &ScanMetrics,
    ) -> Result<FoundRows> {
        let (keys, asked) = self.keys(given, rows);
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
            keys: keys.len() as u64,
            rows: decoder.finish()?,
            places: places.map(|key| place_of[key? as usize]).collect(),
        })
    }

    /// The keys, each once, as they are sorted, and which of them is that of each outer row. A NULL is in no key.
    fn keys(&self, given: &[ArrayRef], rows: usize) -> (Vec<Vec<u8>>, Vec<Option<u32>>) {
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

/// Whether values that are equal have the same bytes in the arrays that carry them, and every value can stand in a key.
fn is_key_as_it_is(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bool
            | SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Bytea
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::TimestampTz(_)
            | SqlType::Uuid
    )
}
