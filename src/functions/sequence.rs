//! Functions of sequences: `nextval`, `currval`, `lastval`, `setval`, and what the catalogs tell of them. They read the store row by row, in
//! place: a row that asks for no value takes none.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::catalog::{NO_SEQUENCE, SequenceDef};
use crate::error::{Error, StatementFault};
use crate::system::StatementContext;
use crate::system::blocking_wait::wait_in_place;
use crate::system::pg_catalog::CatalogContext;
use crate::system::sequence_values::{next_values, set_value};
use crate::table::SequenceState;

/// Those that tell what others have done to a sequence, or do something to it.
pub const SEQUENCE_CALLS: [&str; 4] = ["nextval", "currval", "lastval", "setval"];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("nextval", &[T::Regclass], T::Int8, next).volatile(),
    FunctionDef::catalog("currval", &[T::Regclass], T::Int8, |b, c| {
        b.map1(|oid| current(c, oid))
    })
    .volatile(),
    FunctionDef::catalog("lastval", &[], T::Int8, |b, c| b.map0(|| last(c))).volatile(),
    FunctionDef::catalog("setval", &[T::Regclass, T::Int8], T::Int8, |b, c| {
        b.map2(|oid, value| set(c, oid, value, true))
    })
    .volatile(),
    FunctionDef::catalog("setval", &[T::Regclass, T::Int8, T::Bool], T::Int8, |b, c| {
        b.map3(|oid, value, is_called| set(c, oid, value, is_called))
    })
    .volatile(),
    FunctionDef::catalog("pg_sequence_last_value", &[T::Regclass], T::Int8, |b, c| {
        b.map1(|oid| {
            let (state, _) = state_of(c, oid)?;
            Ok::<_, Error>(state.is_called.then_some(state.last))
        })
    })
    .volatile(),
    // What a sequence's own row says: `SELECT last_value, log_cnt, is_called FROM s`.
    FunctionDef::catalog("sequence_last_value", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| state_of(c, oid).map(|(state, _)| state.last))
    })
    .volatile(),
    FunctionDef::catalog("sequence_log_count", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| state_of(c, oid).map(|(_, left)| i64::try_from(left).unwrap_or(i64::MAX)))
    })
    .volatile(),
    FunctionDef::catalog("sequence_is_called", &[T::Oid], T::Bool, |b, c| {
        b.map1(|oid| state_of(c, oid).map(|(state, _)| state.is_called))
    })
    .volatile(),
    // pg_sequence_parameters(oid): the columns of its row.
    FunctionDef::catalog("sequence_starts", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.start))
    })
    .array(T::Int8),
    FunctionDef::catalog("sequence_minima", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.min))
    })
    .array(T::Int8),
    FunctionDef::catalog("sequence_maxima", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.max))
    })
    .array(T::Int8),
    FunctionDef::catalog("sequence_increments", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.increment))
    })
    .array(T::Int8),
    FunctionDef::catalog("sequence_cycles", &[T::Oid], T::Bool, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.cycles))
    })
    .array(T::Bool),
    FunctionDef::catalog("sequence_caches", &[T::Oid], T::Int8, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| sequence.cache))
    })
    .array(T::Int8),
    FunctionDef::catalog("sequence_types", &[T::Oid], T::Oid, |b, c| {
        b.map1(|oid| told(c, oid, |sequence| i64::from(sequence.ty.sql_type().oid())))
    })
    .array(T::Oid),
];

/// What a sequence's definition says, as the only item of an array.
fn told<R>(catalog: &CatalogContext, oid: i64, what: impl Fn(&SequenceDef) -> R) -> Result<Vec<R>> {
    sequence(catalog.statement(), oid).map(|sequence| vec![what(sequence)])
}

fn next(batch: &Batch<'_>, catalog: &CatalogContext) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    batch.map1(|oid: i64| {
        let values = of_sequence(ctx, oid, |oid| wait_in_place(ctx, next_values(ctx, oid, 1)))?;
        let value = values.first().copied();
        value.ok_or_else(|| Error::internal("no value of a sequence"))
    })
}

fn current(catalog: &CatalogContext, oid: i64) -> Result<i64> {
    let ctx = catalog.statement();
    let number = u32::try_from(oid).unwrap_or(NO_SEQUENCE);
    if let Some(last) = ctx.session.sequences.last_of(number) {
        return Ok(last);
    }
    let name = &sequence(ctx, oid)?.name;
    Err(Error::NotInState {
        message: format!("currval of sequence \"{name}\" is not yet defined in this session"),
    })
}

fn last(catalog: &CatalogContext) -> Result<i64> {
    let ctx = catalog.statement();
    let last = ctx.session.sequences.last();
    // It may have been dropped.
    let last = last.filter(|(oid, _)| ctx.catalog.sequence(*oid).is_some());
    last.map(|(_, value)| value).ok_or_else(|| Error::NotInState {
        message: "lastval is not yet defined in this session".to_string(),
    })
}

fn set(catalog: &CatalogContext, oid: i64, last: i64, is_called: bool) -> Result<i64> {
    let ctx = catalog.statement();
    let state = SequenceState { last, is_called };
    of_sequence(ctx, oid, |oid| wait_in_place(ctx, set_value(ctx, oid, state)))?;
    Ok(last)
}

/// What a sequence has given, and how many values are reserved beyond.
fn state_of(catalog: &CatalogContext, oid: i64) -> Result<(SequenceState, u64)> {
    let ctx = catalog.statement();
    let def = sequence(ctx, oid)?;
    wait_in_place(ctx, ctx.sequences.state(&ctx.txn, def))
}

/// The sequence that an oid is of. Errors: 42809, 42P01.
fn sequence(ctx: &StatementContext, oid: i64) -> Result<&SequenceDef> {
    let number = u32::try_from(oid).ok();
    if let Some(found) = number.and_then(|oid| ctx.catalog.sequence(oid)) {
        return Ok(found);
    }
    let mut relations = ctx.catalog.relations.iter();
    match relations.find(|relation| Some(relation.oid()) == number) {
        Some(relation) => Err(Error::WrongObjectType {
            name: relation.name().to_string(),
            expected: "sequence",
            hint: None,
        }),
        // XX000 in PostgreSQL.
        None => Err(Error::InvalidStatement {
            state: StatementFault::MissingFrom,
            message: format!("could not open relation with OID {oid}"),
            hint: None,
        }),
    }
}

/// What is done with the sequence of an oid. Where there is none, the catalog says what there is instead.
fn of_sequence<T>(ctx: &StatementContext, oid: i64, what: impl FnOnce(u32) -> Result<T>) -> Result<T> {
    match what(u32::try_from(oid).unwrap_or(NO_SEQUENCE)) {
        Err(error @ Error::UndefinedTable { .. }) => Err(sequence(ctx, oid).err().unwrap_or(error)),
        done => done,
    }
}
