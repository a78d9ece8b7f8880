//! Large objects: bytes that are read and written in the middle. Their pages stand in the store beside the tables; whoever
//! changes an object locks it first, and then changes what is newest. `codec::large_object` knows how they are stored.

use std::collections::BTreeMap;

use super::rows_request::{PAGE_ROWS_MAX, pages_of_range, remove_range};
use crate::codec::keyspace::{DatabaseId, Keyspace, large_object_pages_range, large_objects_range};
use crate::codec::large_object::{LARGE_OBJECT_BYTES_MAX, LargeObjectRecord, PAGE_BYTES};
use crate::store::{LockMode, Page, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Pages that are read or written at once.
const PAGES_AT_ONCE: u64 = 64;

/// Makes an object; whether there was none of this oid. Errors: the store's, and those of waiting for a lock.
pub(crate) async fn create_large_object(txn: &Transaction, oid: u32) -> Result<bool> {
    if lock(txn, oid).await?.is_some() {
        return Ok(false);
    }
    put_record(txn, oid, &LargeObjectRecord::default())?;
    Ok(true)
}

/// Removes an object. Errors: 42704, and as [`create_large_object`].
pub(crate) async fn remove_large_object(txn: &Transaction, oid: u32) -> Result<()> {
    let Locked { view, .. } = locked(txn, oid).await?;
    remove_pages(&view, oid, 0).await?;
    let key = object_key(txn, oid);
    txn.write(Write::Delete { key }, None)
}

/// What is stored of an object beside its bytes, if there is one.
pub(crate) async fn large_object(txn: &Transaction, oid: u32) -> Result<Option<LargeObjectRecord>> {
    let stored = txn.get_many(&[object_key(txn, oid)]).await?;
    stored.get(0).map(LargeObjectRecord::decode).transpose()
}

/// Sets or removes the comment of an object. Errors: 42704, and as [`create_large_object`].
pub(crate) async fn comment_large_object(txn: &Transaction, oid: u32, comment: Option<String>) -> Result<()> {
    let Locked { record, .. } = locked(txn, oid).await?;
    put_record(txn, oid, &LargeObjectRecord { comment, ..record })
}

/// The bytes from an offset on, at most so many: fewer at the end. Errors: the store's.
pub(crate) async fn read_large_object(
    txn: &Transaction,
    (oid, record): (u32, &LargeObjectRecord),
    offset: u64,
    length: u64,
) -> Result<Vec<u8>> {
    let end = offset.saturating_add(length).min(record.length);
    let mut bytes = Vec::with_capacity(usize::try_from(end.saturating_sub(offset)).unwrap_or(0));
    let mut at = offset;
    while at < end {
        let pages = PageRun::of(at, end);
        let stored = txn.get_many(&pages.keys(txn.database(), oid)).await?;
        for (page, (from, to)) in pages.parts() {
            let found = stored.get(pages.place(page)).unwrap_or(&[]);
            let part = found.get(from..to.min(found.len()).max(from)).unwrap_or(&[]);
            bytes.extend_from_slice(part);
            bytes.resize(bytes.len() + (to - from - part.len()), 0);
        }
        at = pages.end;
    }
    Ok(bytes)
}

/// Writes bytes from an offset on, behind the end as well. Errors: 42704; 22023 beyond the longest object; as
/// [`create_large_object`].
pub(crate) async fn write_large_object(txn: &Transaction, oid: u32, offset: u64, bytes: &[u8]) -> Result<()> {
    let Locked { record, view } = locked(txn, oid).await?;
    let end = offset.saturating_add(bytes.len() as u64);
    require_possible(end)?;
    let mut at = offset;
    while at < end {
        let pages = PageRun::of(at, end);
        let keys = pages.keys(txn.database(), oid);
        let stored = view.get_many(&keys).await?;
        for (page, (from, to)) in pages.parts() {
            let place = pages.place(page);
            let mut value = stored.get(place).map(<[u8]>::to_vec).unwrap_or_default();
            value.resize(value.len().max(to), 0);
            let begins = usize::try_from(page * PAGE_BYTES + from as u64 - offset).unwrap_or(usize::MAX);
            value[from..to].copy_from_slice(&bytes[begins..begins + (to - from)]);
            let key = keys[place].clone();
            txn.write(Write::Put { key, value }, None)?;
        }
        at = pages.end;
    }
    if end > record.length {
        put_record(
            txn,
            oid,
            &LargeObjectRecord {
                length: end,
                ..record
            },
        )?;
    }
    Ok(())
}

/// Cuts an object off, or makes it longer by zeros. Errors: as [`write_large_object`].
pub(crate) async fn truncate_large_object(txn: &Transaction, oid: u32, length: u64) -> Result<()> {
    let Locked { record, view } = locked(txn, oid).await?;
    require_possible(length)?;
    if length < record.length {
        let (last, kept) = (page_of(length), length % PAGE_BYTES);
        remove_pages(&view, oid, last + u32::from(kept > 0)).await?;
        let database = txn.database();
        let key = Keyspace::LargeObjectPage {
            database,
            oid,
            page: last,
        }
        .encode();
        let stored = view.get_many(std::slice::from_ref(&key)).await?;
        if let Some(value) = stored.get(0).filter(|_| kept > 0) {
            let kept = usize::try_from(kept).unwrap_or(0).min(value.len());
            let value = value[..kept].to_vec();
            txn.write(Write::Put { key, value }, None)?;
        }
    }
    put_record(txn, oid, &LargeObjectRecord { length, ..record })
}

/// Every object with its record, by rising oid. Errors: the store's.
pub(crate) async fn large_objects(txn: &Transaction) -> Result<BTreeMap<u32, LargeObjectRecord>> {
    let mut objects = BTreeMap::new();
    let mut scan = txn.scan(pages_of_range(large_objects_range(txn.database())));
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(objects);
        }
        for (key, value) in page.iter() {
            if let Keyspace::LargeObject { oid, .. } = Keyspace::decode(key)? {
                objects.insert(oid, LargeObjectRecord::decode(value)?);
            }
        }
    }
}

/// An object that is locked.
struct Locked {
    record: LargeObjectRecord,
    /// The transaction as it sees the object now.
    view: Transaction,
}

/// The object as it is now, locked, if there is one. Errors: `Conflict` where the transaction keeps its snapshot and another has changed
/// the object since; those of waiting for a lock.
async fn lock(txn: &Transaction, oid: u32) -> Result<Option<Locked>> {
    let key = [object_key(txn, oid)];
    if txn.keeps_snapshot() {
        txn.lock(&key, LockMode::Change).await?;
    } else {
        txn.lock_newest(&key, LockMode::Change).await?;
    }
    let view = txn.next_statement().await?;
    let record = large_object(&view, oid).await?;
    Ok(record.map(|record| Locked { record, view }))
}

/// The same. Errors: 42704 where there is none, and as [`lock`].
async fn locked(txn: &Transaction, oid: u32) -> Result<Locked> {
    lock(txn, oid).await?.ok_or_else(|| missing_large_object(oid))
}

/// 42704.
pub(crate) fn missing_large_object(oid: impl std::fmt::Display) -> Error {
    Error::DataException {
        state: "42704",
        message: format!("large object {oid} does not exist"),
    }
}

/// The key of an object's record.
fn object_key(txn: &Transaction, oid: u32) -> Vec<u8> {
    let database = txn.database();
    Keyspace::LargeObject { database, oid }.encode()
}

fn put_record(txn: &Transaction, oid: u32, record: &LargeObjectRecord) -> Result<()> {
    let key = object_key(txn, oid);
    let value = record.encode();
    txn.write(Write::Put { key, value }, None)
}

/// Removes the pages from one on.
async fn remove_pages(txn: &Transaction, oid: u32, from: u32) -> Result<()> {
    let range = large_object_pages_range(txn.database(), Some((oid, from)));
    remove_range(txn, range, PAGE_ROWS_MAX).await
}

/// Errors: 22023 for a length that no object has.
fn require_possible(length: u64) -> Result<()> {
    match length <= LARGE_OBJECT_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::InvalidParameter {
            message: format!("invalid large object length: {length}"),
            hint: Some(format!(
                "A large object has at most {LARGE_OBJECT_BYTES_MAX} bytes."
            )),
        }),
    }
}

/// The page that a byte stands in.
fn page_of(at: u64) -> u32 {
    u32::try_from(at / PAGE_BYTES).unwrap_or(u32::MAX)
}

/// Bytes of pages that stand one behind the other.
#[derive(Debug, Clone, Copy)]
struct PageRun {
    start: u64,
    end: u64,
}

impl PageRun {
    /// The first of the bytes up to `end`.
    fn of(start: u64, end: u64) -> PageRun {
        let most = (start / PAGE_BYTES + PAGES_AT_ONCE) * PAGE_BYTES;
        PageRun {
            start,
            end: end.min(most),
        }
    }

    fn pages(self) -> std::ops::Range<u64> {
        self.start / PAGE_BYTES..self.end.div_ceil(PAGE_BYTES)
    }

    fn keys(self, database: DatabaseId, oid: u32) -> Vec<Vec<u8>> {
        let key = |page: u64| {
            let page = page_of(page * PAGE_BYTES);
            Keyspace::LargeObjectPage { database, oid, page }.encode()
        };
        self.pages().map(key).collect()
    }

    /// Where the key of a page is among the keys.
    fn place(self, page: u64) -> usize {
        usize::try_from(page - self.pages().start).unwrap_or(usize::MAX)
    }

    /// Each page with its bytes that belong to the run.
    fn parts(self) -> impl Iterator<Item = (u64, (usize, usize))> {
        self.pages().map(move |page| {
            let begins = page * PAGE_BYTES;
            let from = self.start.saturating_sub(begins);
            let to = (self.end - begins).min(PAGE_BYTES);
            // Both are at most a page.
            (page, (from as usize, to as usize))
        })
    }
}
