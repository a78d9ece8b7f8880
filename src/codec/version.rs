//! Keys and values of the older versions of rows: where they stand, and the time that each has. `table` keeps and reads them, `txn` gives
//! those their time that get it when they are committed.
//!
//! ```text
//! 00 00 00 07 | 00 00 | fields of the key                   the newest version: the row
//! 00 00 00 07 | 00 05 | fields of the key | time, DESC      an older one; 5: the table's range for them
//! ```
//!
//! Invariants:
//!
//! 1. A version's time is that in its key. Of one row no two have the same.
//! 2. Behind a commit no time is [`UNSETTLED`], and no value is unsettled ([`super::row::RowReader::is_unsettled`]).

use super::key::{self, KeyField};
use super::keyspace::{ENTRY_PREFIX_BYTES, IndexId};
use super::row::RowWriter;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// The time of what gets its own when it is committed: later than any.
pub const UNSETTLED: i64 = i64::MAX;

/// A time at the end of a key.
const TIME_BYTES: usize = 9;

/// How times stand in keys: the newest first.
pub fn time_field() -> KeyField {
    KeyField {
        ty: SqlType::Int8,
        descending: true,
        nulls_first: false,
    }
}

/// The bytes that the keys of all older versions of the row under a key begin with.
pub fn versions_prefix(row_key: &[u8], store: IndexId) -> Vec<u8> {
    let mut key = Vec::with_capacity(row_key.len() + TIME_BYTES);
    key.extend_from_slice(row_key);
    if let Some(index) = key.get_mut(ENTRY_PREFIX_BYTES - 2..ENTRY_PREFIX_BYTES) {
        index.copy_from_slice(&store.to_be_bytes());
    }
    key
}

/// Where the version of the row under a key stands that is of a time, in microseconds since 1970.
pub fn version_key(row_key: &[u8], store: IndexId, time: i64) -> Vec<u8> {
    let mut key = versions_prefix(row_key, store);
    put_time(&mut key, time);
    key
}

/// Appends a time as it stands in keys.
pub fn put_time(key: &mut Vec<u8>, time: i64) {
    key::encode_value(key, &Value::Int(time), &time_field());
}

/// The key of a version without its time, and that. Errors: `Corrupt`.
pub fn split_version_key(key: &[u8]) -> Result<(&[u8], i64)> {
    let at = key.len().checked_sub(TIME_BYTES);
    let at = at.filter(|at| *at >= ENTRY_PREFIX_BYTES).ok_or_else(damaged)?;
    let (row, time) = key.split_at(at);
    let bytes: [u8; 8] = key::read_fixed(time, &time_field())?;
    Ok((row, i64::from_be_bytes(bytes) ^ i64::MIN))
}

/// The key of the row that a version is of. Errors: `Corrupt`.
pub fn row_key_of(version_key: &[u8]) -> Result<Vec<u8>> {
    let (row, _) = split_version_key(version_key)?;
    Ok(versions_prefix(row, 0))
}

/// The unsettled version of a row that says it was removed. `time`: what it is until the commit.
pub fn removal(time: i64) -> Vec<u8> {
    let mut writer = RowWriter::default();
    writer.set_times(Some(time), None);
    writer.set_removal(true);
    writer.set_unsettled(true);
    writer.finish()
}

/// The key of an unsettled version with the time that it has now; `None`: it has one.
pub fn settled_key(key: &[u8], time: i64) -> Option<Vec<u8>> {
    match split_version_key(key) {
        Ok((row, UNSETTLED)) => {
            let mut settled = row.to_vec();
            put_time(&mut settled, time);
            Some(settled)
        }
        _ => None,
    }
}

fn damaged() -> Error {
    Error::Corrupt {
        what: "key of a version".to_string(),
        reason: "it has no time".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::keyspace::entry_prefix;
    use crate::codec::row::{RowReader, settle};

    #[test]
    fn a_version_stands_behind_those_that_are_newer() {
        let row = [&entry_prefix(7, 0)[..], b"\x20\x80\0\0\0\0\0\0\x05"].concat();
        let keys: Vec<_> = [UNSETTLED, 2000, 1000, 0, -5, i64::MIN]
            .iter()
            .map(|time| version_key(&row, 3, *time))
            .collect();
        assert!(keys.is_sorted());
        for (key, time) in keys.iter().zip([UNSETTLED, 2000, 1000, 0, -5, i64::MIN]) {
            assert!(key.starts_with(&versions_prefix(&row, 3)));
            let (of_row, found) = split_version_key(key).unwrap();
            assert_eq!((of_row, found), (versions_prefix(&row, 3).as_slice(), time));
            assert_eq!(row_key_of(key).unwrap(), row);
        }
        assert_eq!(settled_key(&keys[0], 9), Some(version_key(&row, 3, 9)));
        assert_eq!(settled_key(&keys[1], 9), None);
        assert!(split_version_key(b"\0\0\0\x07\0\x03short").is_err());
    }

    #[test]
    fn what_is_unsettled_gets_its_time_and_stays_whole() {
        let mut writer = RowWriter::default();
        writer.set_times(Some(5), Some(77));
        writer.set_unsettled(true);
        let mut value = writer.finish();
        assert!(RowReader::new(&value).unwrap().is_unsettled());
        assert!(settle(&mut value, 900));
        let reader = RowReader::new(&value).unwrap();
        assert_eq!((reader.write_time(), reader.expiry()), (Some(900), Some(77)));
        assert!(!reader.is_unsettled() && !reader.is_removal());
        assert!(!settle(&mut value, 901), "it has its time");
        assert!(!settle(&mut b"x".to_vec(), 901));
        assert!(RowReader::new(&removal(4)).unwrap().is_removal());
    }
}
