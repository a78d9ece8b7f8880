//! Functions of large objects: `lo_create`, `lo_open`, `loread`, `lo_get` and their kin. What is open stands in the session
//! (`system::large_object_descriptors`), the bytes in the store (`table::large_object`). As the functions of sequences do, they read
//! and write row by row, in place.

use std::sync::Arc;

use super::size::check_length;
use super::{Batch, FunctionDef, T};
use crate::codec::large_object::{LARGE_OBJECT_BYTES_MAX, LargeObjectRecord};
use crate::system::StatementContext;
use crate::system::blocking_wait::wait_in_place;
use crate::system::large_object_descriptors::LargeObjectDescriptor;
use crate::system::pg_catalog::CatalogContext;
use crate::table::{
    create_large_object, large_object, missing_large_object, read_large_object, remove_large_object,
    truncate_large_object, write_large_object,
};
use crate::txn::Transaction;
use crate::types::ResultLimits;
use crate::{Error, Result};

/// What `lo_open` is asked for: PostgreSQL's INV_WRITE and INV_READ.
const FOR_WRITING: i32 = 0x2_0000;
const FOR_READING: i32 = 0x4_0000;

/// Tries to find a number that no object has.
const TRIES_MAX: usize = 100;

/// One that changes with each call.
const fn volatile(
    name: &'static str,
    arguments: &'static [T],
    result: T,
    body: fn(&Batch, &CatalogContext) -> Result<arrow::array::ArrayRef>,
) -> FunctionDef {
    FunctionDef::catalog(name, arguments, result, body).volatile()
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    volatile("lo_creat", &[T::Int4], T::Oid, |b, c| {
        b.map1(|_: i32| create(c.statement(), "lo_creat()", 0))
    }),
    volatile("lo_create", &[T::Oid], T::Oid, |b, c| {
        b.map1(|oid| create(c.statement(), "lo_create()", oid))
    }),
    volatile("lo_from_bytea", &[T::Oid, T::Bytea], T::Oid, |b, c| {
        b.map2(|oid, bytes: &[u8]| {
            let oid = create(c.statement(), "lo_from_bytea()", oid)?;
            write(c.statement(), "lo_from_bytea()", oid, (0, bytes))?;
            Ok::<i64, Error>(oid)
        })
    }),
    volatile("lo_unlink", &[T::Oid], T::Int4, |b, c| {
        b.map1(|oid| unlink(c.statement(), oid))
    }),
    volatile("lo_get", &[T::Oid], T::Bytea, |b, c| {
        b.map1(|oid| part(by_snapshot(c), oid, (0, i64::MAX), b.limits()))
    }),
    volatile("lo_get", &[T::Oid, T::Int8, T::Int4], T::Bytea, |b, c| {
        b.map3(|oid, offset, length: i32| match length < 0 {
            true => Err(parameter("requested length cannot be negative".to_string())),
            false => part(by_snapshot(c), oid, (offset, i64::from(length)), b.limits()),
        })
    }),
    volatile("lo_put", &[T::Oid, T::Int8, T::Bytea], T::VOID, |b, c| {
        b.map3(|oid, offset, bytes: &[u8]| {
            write(c.statement(), "lo_put()", oid, (offset, bytes)).map(|()| "")
        })
    }),
    volatile("lo_open", &[T::Oid, T::Int4], T::Int4, |b, c| {
        b.map2(|oid, mode| open(c.statement(), oid, mode))
    }),
    volatile("lo_close", &[T::Int4], T::Int4, |b, c| {
        b.map1(|number| c.statement().session.large_objects.close(number).map(|()| 0))
    }),
    volatile("loread", &[T::Int4, T::Int4], T::Bytea, |b, c| {
        b.map2(|number, length| read(c.statement(), number, length, b.limits()))
    }),
    volatile("lowrite", &[T::Int4, T::Bytea], T::Int4, |b, c| {
        b.map2(|number, bytes: &[u8]| write_on(c.statement(), number, bytes))
    }),
    volatile("lo_lseek", &[T::Int4, T::Int4, T::Int4], T::Int4, |b, c| {
        b.map3(|number, offset: i32, whence| {
            let place = seek(c.statement(), number, i64::from(offset), whence)?;
            narrow(place, "lo_lseek", number)
        })
    }),
    volatile("lo_lseek64", &[T::Int4, T::Int8, T::Int4], T::Int8, |b, c| {
        b.map3(|number, offset, whence| seek(c.statement(), number, offset, whence))
    }),
    volatile("lo_tell", &[T::Int4], T::Int4, |b, c| {
        b.map1(|number| narrow(tell(c.statement(), number)?, "lo_tell", number))
    }),
    volatile("lo_tell64", &[T::Int4], T::Int8, |b, c| {
        b.map1(|number| tell(c.statement(), number))
    }),
    volatile("lo_truncate", &[T::Int4, T::Int4], T::Int4, |b, c| {
        b.map2(|number, length: i32| truncate(c.statement(), number, i64::from(length)))
    }),
    volatile("lo_truncate64", &[T::Int4, T::Int8], T::Int4, |b, c| {
        b.map2(|number, length| truncate(c.statement(), number, length))
    }),
];

/// A statement, and its transaction as the bytes are read by.
type Reading<'a> = (&'a StatementContext, &'a Transaction);

/// Reads what the statement's snapshot has.
fn by_snapshot(catalog: &CatalogContext) -> Reading<'_> {
    let ctx = catalog.statement();
    (ctx, &ctx.txn)
}

/// The transaction as an open object is read by: who writes sees what the same statement has written before.
fn view_of(ctx: &StatementContext, open: LargeObjectDescriptor) -> Arc<Transaction> {
    match open.is_writable {
        true => Arc::new(ctx.txn.with_own_writes()),
        false => Arc::clone(&ctx.txn),
    }
}

/// Makes an object of this oid, or of one that is free for 0. Errors: 23505, 25006.
fn create(ctx: &StatementContext, what: &str, oid: i64) -> Result<i64> {
    ctx.settings.require_writable(ctx.in_block, what)?;
    let is_new = |oid: u32| wait_in_place(ctx, create_large_object(&ctx.txn, oid));
    if oid != 0 {
        return match is_new(number_of(oid)?)? {
            true => Ok(oid),
            false => Err(Error::UniqueViolation {
                constraint: "pg_largeobject_metadata_oid_index".to_string(),
                key: format!("(oid)=({oid})"),
                schema: "pg_catalog".to_string(),
                table: "pg_largeobject_metadata".to_string(),
            }),
        };
    }
    for _ in 0..TRIES_MAX {
        // Clients keep them in an int4, some of them.
        let oid = rand::random_range(crate::codec::keyspace::FIRST_OID..=i32::MAX as u32);
        if is_new(oid)? {
            return Ok(i64::from(oid));
        }
    }
    Err(Error::internal("no number for a large object is free"))
}

fn unlink(ctx: &StatementContext, oid: i64) -> Result<i32> {
    ctx.settings.require_writable(ctx.in_block, "lo_unlink()")?;
    let number = number_of(oid)?;
    wait_in_place(ctx, remove_large_object(&ctx.txn, number))?;
    ctx.session.large_objects.close_all_of(number);
    Ok(1)
}

/// Errors: 22023, 42704.
fn open(ctx: &StatementContext, oid: i64, mode: i32) -> Result<i32> {
    if mode & (FOR_READING | FOR_WRITING) == 0 {
        return Err(parameter(format!(
            "invalid flags for opening a large object: {mode}"
        )));
    }
    let is_writable = mode & FOR_WRITING != 0;
    if is_writable {
        ctx.settings
            .require_writable(ctx.in_block, "lo_open(INV_WRITE)")?;
    }
    record((ctx, &ctx.txn), oid)?;
    ctx.session.touch();
    ctx.session.large_objects.open(LargeObjectDescriptor {
        oid: number_of(oid)?,
        position: 0,
        is_writable,
    })
}

/// Bytes of an object from an offset on, at most so many. Errors: 42704, 22023, 54000 for more than a value may have.
fn part(
    (ctx, txn): Reading<'_>,
    oid: i64,
    (offset, length): (i64, i64),
    limits: ResultLimits,
) -> Result<Vec<u8>> {
    let record = record((ctx, txn), oid)?;
    let (offset, length) = (place(offset)?, u64::try_from(length).unwrap_or(0));
    let taken = record.length.saturating_sub(offset).min(length);
    check_length(usize::try_from(taken).unwrap_or(usize::MAX), limits)?;
    let object = (number_of(oid)?, &record);
    wait_in_place(ctx, read_large_object(txn, object, offset, taken))
}

fn write(ctx: &StatementContext, what: &str, oid: i64, (offset, bytes): (i64, &[u8])) -> Result<()> {
    ctx.settings.require_writable(ctx.in_block, what)?;
    let number = number_of(oid)?;
    let target = place(offset);
    if target.is_err() {
        // Where there is no such object, that is what is said.
        record((ctx, &ctx.txn.with_own_writes()), oid)?;
    }
    wait_in_place(ctx, write_large_object(&ctx.txn, number, target?, bytes))
}

fn read(ctx: &StatementContext, number: i32, length: i32, limits: ResultLimits) -> Result<Vec<u8>> {
    let open = ctx.session.large_objects.get(number)?;
    let offset = i64::try_from(open.position).unwrap_or(i64::MAX);
    let txn = view_of(ctx, open);
    let bytes = part(
        (ctx, &txn),
        i64::from(open.oid),
        (offset, i64::from(length.max(0))),
        limits,
    )?;
    ctx.session
        .large_objects
        .seek(number, open.position + bytes.len() as u64)?;
    Ok(bytes)
}

fn write_on(ctx: &StatementContext, number: i32, bytes: &[u8]) -> Result<i32> {
    let open = writable(ctx, number)?;
    let end = open.position + bytes.len() as u64;
    if end > LARGE_OBJECT_BYTES_MAX {
        let size = bytes.len();
        return Err(parameter(format!(
            "invalid large object write request size: {size}"
        )));
    }
    let offset = i64::try_from(open.position).unwrap_or(i64::MAX);
    write(ctx, "lowrite()", i64::from(open.oid), (offset, bytes))?;
    ctx.session.large_objects.seek(number, end)?;
    Ok(i32::try_from(bytes.len()).unwrap_or(i32::MAX))
}

/// Errors: 42704, 22023.
fn seek(ctx: &StatementContext, number: i32, offset: i64, whence: i32) -> Result<i64> {
    let open = ctx.session.large_objects.get(number)?;
    let from = match whence {
        0 => 0,
        1 => open.position,
        2 => record((ctx, &view_of(ctx, open)), i64::from(open.oid))?.length,
        _ => return Err(parameter(format!("invalid whence setting: {whence}"))),
    };
    let target = i64::try_from(from).unwrap_or(i64::MAX).saturating_add(offset);
    ctx.session.large_objects.seek(number, place(target)?)?;
    Ok(target)
}

fn tell(ctx: &StatementContext, number: i32) -> Result<i64> {
    let open = ctx.session.large_objects.get(number)?;
    Ok(i64::try_from(open.position).unwrap_or(i64::MAX))
}

/// Errors: 42704, 55000, 22023.
fn truncate(ctx: &StatementContext, number: i32, length: i64) -> Result<i32> {
    let open = writable(ctx, number)?;
    ctx.settings.require_writable(ctx.in_block, "lo_truncate()")?;
    let wanted = u64::try_from(length)
        .ok()
        .filter(|length| *length <= LARGE_OBJECT_BYTES_MAX);
    let wanted =
        wanted.ok_or_else(|| parameter(format!("invalid large object truncation target: {length}")))?;
    wait_in_place(ctx, truncate_large_object(&ctx.txn, open.oid, wanted)).map(|()| 0)
}

/// Errors: 42704, 55000.
fn writable(ctx: &StatementContext, number: i32) -> Result<LargeObjectDescriptor> {
    let open = ctx.session.large_objects.get(number)?;
    match open.is_writable {
        true => Ok(open),
        false => Err(Error::NotInState {
            message: format!("large object descriptor {number} was not opened for writing"),
        }),
    }
}

/// The comment of an object, if there is one.
pub(super) fn comment(ctx: &StatementContext, oid: i64) -> Result<Option<String>> {
    let found = wait_in_place(ctx, large_object(&ctx.txn, number_of(oid)?))?;
    Ok(found.and_then(|record| record.comment))
}

/// What is known of an object. Errors: 42704.
fn record((ctx, txn): Reading<'_>, oid: i64) -> Result<LargeObjectRecord> {
    let found = wait_in_place(ctx, large_object(txn, number_of(oid)?))?;
    found.ok_or_else(|| missing_large_object(oid))
}

fn parameter(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}

/// A place in an object. Errors: 22023.
fn place(target: i64) -> Result<u64> {
    let found = u64::try_from(target)
        .ok()
        .filter(|place| *place <= LARGE_OBJECT_BYTES_MAX);
    found.ok_or_else(|| parameter(format!("invalid large object seek target: {target}")))
}

/// Errors: 22003.
fn narrow(place: i64, function: &str, number: i32) -> Result<i32> {
    i32::try_from(place).map_err(|_| Error::DataException {
        state: "22003",
        message: format!("{function} result out of range for large-object descriptor {number}"),
    })
}

fn number_of(oid: i64) -> Result<u32> {
    u32::try_from(oid).map_err(|_| missing_large_object(oid))
}
