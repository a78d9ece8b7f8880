//! `xmin` of rows: a checksum of what they hold. And what the catalogs say in its place.

use std::sync::Arc;

use arrow::array::{Array, Int64Array};

use super::transaction_id::next_number;
use super::{Batch, Body, FunctionDef, T};
use crate::codec::row::put_stored;
use crate::system::pg_catalog::relations::FROZEN_BEFORE;
use crate::types::CatalogType;

/// The checksum of a row, of which the arguments are all columns.
pub const ROW_STAMP: Body = Body::Batch(|batch| Ok(Arc::new(stamps(batch, false))));
/// The same, and NULL where all columns are.
pub const ROW_STAMP_OR_NULL: Body = Body::Batch(|batch| Ok(Arc::new(stamps(batch, true))));

/// PostgreSQL's numbers below it mean no transaction.
const FIRST_NORMAL: u32 = 3;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // Rows of the catalogs may be new in any statement: who asks for those since a transaction gets all.
    FunctionDef::catalog(
        "pg_catalog_xmin",
        &[],
        T::Catalog(CatalogType::Xid),
        |b, catalog| b.map0(|| next_number(catalog)),
    ),
    FunctionDef::catalog("age", &[T::Catalog(CatalogType::Xid)], T::Int4, |b, catalog| {
        let next = next_number(catalog);
        b.map1(|xid: i64| age(next, xid))
    }),
];

/// How many transactions there were since one; the most there can be for what is none.
fn age(next: i64, xid: i64) -> i32 {
    match u32::try_from(xid) {
        Ok(FROZEN_BEFORE) => 0,
        Ok(xid @ FIRST_NORMAL..) => (next as u32).wrapping_sub(xid) as i32,
        _ => i32::MAX,
    }
}

/// A column that is NULL says nothing, so that a row stays as it is when its table gets another column.
fn stamps(batch: &Batch, or_null: bool) -> Int64Array {
    let nulls: Vec<_> = batch.arrays.iter().map(|array| array.logical_nulls()).collect();
    let is_null = |column: usize, row: usize| nulls[column].as_ref().is_some_and(|nulls| nulls.is_null(row));
    let mut bytes = Vec::new();
    let stamp = |row: usize| {
        bytes.clear();
        for (column, (array, ty)) in batch.arrays.iter().zip(batch.arguments).enumerate() {
            if !is_null(column, row) {
                let start = bytes.len();
                bytes.extend_from_slice(&(column as u32).to_le_bytes());
                put_stored(&mut bytes, ty, array, row);
                let length = (bytes.len() - start) as u32;
                bytes.extend_from_slice(&length.to_le_bytes());
            }
        }
        if bytes.is_empty() && or_null {
            return None;
        }
        let checksum = crc32c::crc32c(&bytes);
        Some(i64::from(checksum.max(FIRST_NORMAL)))
    };
    (0..batch.rows).map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_counted_from_the_next_transaction() {
        let next = (5_i64 << 32) + 10;
        assert_eq!(age(next, 7), 3);
        assert_eq!(age(next, i64::from(u32::MAX)), 11);
        assert_eq!(age(next, i64::from(FROZEN_BEFORE)), 0);
        assert_eq!((age(next, 0), age(next, 2)), (i32::MAX, i32::MAX));
    }
}
