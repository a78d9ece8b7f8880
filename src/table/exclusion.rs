//! The rows that are in the way of one another by an exclusion constraint, found by its index: see [`Exclusion`] for why two neighbours are
//! enough to ask. Rows that are over are in nobody's way: they are removed where they are met. Called by `sql::dml` and `sql::ddl`.

use super::EntryReader;
use super::over::remove_those_over;
use crate::catalog::{Exclusion, ExclusionOperator, IndexDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::codec::{KeyRange, prefix_end};
use crate::store::{Page, ScanRequest};
use crate::txn::Transaction;
use crate::types::Value;
use crate::{Error, Result};

/// Entries that one page holds of all.
const PAGE_ROWS: usize = 1024;

/// The entries of an exclusion constraint, in a transaction. Keys are those of `EntryEncoder::indexed_key`: what of an entry's key is of the
/// indexed columns, none of which is NULL.
pub struct ExclusionReader<'a> {
    txn: &'a Transaction,
    table: &'a TableDef,
    index: &'a IndexDef,
    operator: ExclusionOperator,
    start: Vec<u8>,
    fields: Vec<KeyField>,
}

impl<'a> ExclusionReader<'a> {
    /// Of an index of a table that stands for such a constraint.
    pub fn new(
        txn: &'a Transaction,
        table: &'a TableDef,
        (index, exclusion): (&'a IndexDef, &Exclusion),
    ) -> ExclusionReader<'a> {
        ExclusionReader {
            txn,
            table,
            index,
            operator: exclusion
                .operators
                .last()
                .copied()
                .unwrap_or(ExclusionOperator::Equal),
            start: entry_prefix(table.id, index.id).to_vec(),
            fields: table.key_fields(index),
        }
    }

    /// How the keys begin of all rows that can be in the way of those of a key: who writes one locks it. Errors: `Corrupt`.
    pub fn neighbourhood<'k>(&self, key: &'k [u8]) -> Result<&'k [u8]> {
        let end = self.last_field_at(key)?;
        Ok(&key[..end.unwrap_or(key.len())])
    }

    /// The key of a row in the way of the one that has this key and stands there; the same key: several have it. Errors: the store's.
    pub async fn conflict(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.keys(key.to_vec(), end_of(key)?, false, 2).await?.len() {
            // It has gone since.
            0 => Ok(None),
            2.. if self.are_in_the_way(key, key)? => Ok(Some(key.to_vec())),
            _ => self.conflicting_neighbour(key).await,
        }
    }

    /// The key of a row in the way of one that has this key and is not there yet. Errors: the store's.
    pub async fn conflict_of_new(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let is_there = !self.keys(key.to_vec(), end_of(key)?, false, 1).await?.is_empty();
        match is_there && self.are_in_the_way(key, key)? {
            true => Ok(Some(key.to_vec())),
            false => self.conflicting_neighbour(key).await,
        }
    }

    /// The key of a neighbour in the way, of another key.
    async fn conflicting_neighbour(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let neighbourhood = self.neighbourhood(key)?.to_vec();
        let before = self.keys(neighbourhood.clone(), key.to_vec(), true, 1).await?;
        let after = self.keys(end_of(key)?, end_of(&neighbourhood)?, false, 1).await?;
        for other in before.into_iter().chain(after) {
            if self.are_in_the_way(key, &other)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// The keys of two rows of all that are in the way of one another. Errors: the store's.
    pub async fn any_conflict(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut scan =
            self.txn
                .scan(self.request(self.start.clone(), end_of(&self.start)?, false, PAGE_ROWS));
        let (mut page, mut before) = (Page::new(), Vec::new());
        loop {
            scan.next_page(&mut page).await?;
            if page.is_empty() {
                return Ok(None);
            }
            for key in self.keys_of(&page).await? {
                let is_neighbour = before.starts_with(self.neighbourhood(&key)?);
                if is_neighbour && self.are_in_the_way(&before, &key)? {
                    return Ok(Some((before, key)));
                }
                before = key;
            }
        }
    }

    /// What of an entry's key is of the indexed columns; `None`: one is NULL.
    fn key_of<'k>(&self, entry: &'k [u8]) -> Result<Option<&'k [u8]>> {
        let mut at = ENTRY_PREFIX_BYTES;
        for field in &self.fields {
            let rest = entry.get(at..).unwrap_or_default();
            if key::read_null(rest, field)? {
                return Ok(None);
            }
            at += key::field_length(rest, field)?;
        }
        Ok(entry.get(..at))
    }

    /// Where the last field of a key begins; `None`: it counts as the others do, since all of them are compared by `=`.
    fn last_field_at(&self, key: &[u8]) -> Result<Option<usize>> {
        if self.operator == ExclusionOperator::Equal {
            return Ok(None);
        }
        let mut at = ENTRY_PREFIX_BYTES;
        for field in &self.fields[..self.fields.len() - 1] {
            at += key::field_length(key.get(at..).unwrap_or_default(), field)?;
        }
        Ok(Some(at))
    }

    /// Whether two rows of one neighbourhood are in the way of one another.
    fn are_in_the_way(&self, one: &[u8], other: &[u8]) -> Result<bool> {
        match self.operator {
            ExclusionOperator::Equal => Ok(one == other),
            ExclusionOperator::NotEqual => Ok(one != other),
            ExclusionOperator::Overlaps => match (self.last_value(one)?, self.last_value(other)?) {
                (Value::Range(one), Value::Range(other)) => Ok(one.overlaps(&other)),
                _ => Ok(false),
            },
        }
    }

    fn last_value(&self, key: &[u8]) -> Result<Value> {
        let (Some(at), Some(field)) = (self.last_field_at(key)?, self.fields.last()) else {
            return Ok(Value::Null);
        };
        Ok(key::decode_value(&key[at..], field)?.0)
    }

    /// So many keys of a range, less what stands in entries behind the indexed columns.
    async fn keys(&self, start: Vec<u8>, end: Vec<u8>, reverse: bool, count: usize) -> Result<Vec<Vec<u8>>> {
        if start >= end {
            return Ok(Vec::new());
        }
        let mut scan = self.txn.scan(self.request(start, end, reverse, count));
        let (mut page, mut keys) = (Page::new(), Vec::new());
        while keys.len() < count {
            scan.next_page(&mut page).await?;
            if page.is_empty() {
                break;
            }
            keys.extend(self.keys_of(&page).await?);
        }
        keys.truncate(count);
        Ok(keys)
    }

    /// The keys of a page of entries, but for those of rows that are over, which are removed.
    async fn keys_of(&self, page: &Page) -> Result<Vec<Vec<u8>>> {
        let (mut keys, mut rows) = (Vec::with_capacity(page.len()), Vec::new());
        let may_be_over = self.table.options.expiry.may_be_over();
        let mut reader = EntryReader::new(self.table, self.index);
        for (entry, value) in page.iter() {
            let Some(key) = self.key_of(entry)? else {
                continue;
            };
            keys.push(key.to_vec());
            if may_be_over {
                rows.push(reader.row_key(entry, value)?);
            }
        }
        if may_be_over {
            let gone = remove_those_over(self.txn, self.table, &rows).await?;
            for at in gone.into_iter().rev() {
                keys.remove(at);
            }
        }
        Ok(keys)
    }

    fn request(&self, start: Vec<u8>, end: Vec<u8>, reverse: bool, page_rows_max: usize) -> ScanRequest {
        ScanRequest {
            reverse,
            ..super::rows_request::request_of(
                KeyRange {
                    start,
                    end: Some(end),
                },
                !self.table.options.expiry.may_be_over(),
                page_rows_max,
            )
        }
    }
}

/// Behind all that begins with these bytes.
fn end_of(bytes: &[u8]) -> Result<Vec<u8>> {
    prefix_end(bytes).ok_or_else(|| Error::internal("a key that nothing can stand behind"))
}
