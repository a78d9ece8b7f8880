//! Functions of information_schema that its views are made with, and that tools call to say the same of types: what a column's type is beneath a
//! domain, its length, precision and scale.

use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::types::{PackedKind, SqlType, Value};

const TYPE: T = T::Oid;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // Of a row of pg_attribute, or one that has its columns, and of its row of pg_type.
    FunctionDef::new("_pg_truetypid", &[T::AnyRecord, T::AnyRecord], T::Oid, |b| {
        beneath_domain(b, "atttypid", "typbasetype")
    }),
    FunctionDef::new("_pg_truetypmod", &[T::AnyRecord, T::AnyRecord], T::Int4, |b| {
        beneath_domain(b, "atttypmod", "typtypmod")
    }),
    FunctionDef::new("_pg_char_max_length", &[TYPE, T::Int4], T::Int4, |b| {
        b.map2(characters)
    }),
    FunctionDef::new("_pg_char_octet_length", &[TYPE, T::Int4], T::Int4, |b| {
        b.map2(octets)
    }),
    FunctionDef::new("_pg_numeric_precision", &[TYPE, T::Int4], T::Int4, |b| {
        b.map2(precision)
    }),
    FunctionDef::new("_pg_numeric_precision_radix", &[TYPE, T::Int4], T::Int4, |b| {
        b.map2(|oid: i64, _: i32| match of(oid) {
            Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Float4 | SqlType::Float8) => {
                Some(2)
            }
            Some(SqlType::Numeric(_)) => Some(10),
            _ => None,
        })
    }),
    FunctionDef::new("_pg_numeric_scale", &[TYPE, T::Int4], T::Int4, |b| b.map2(scale)),
    FunctionDef::new("_pg_datetime_precision", &[TYPE, T::Int4], T::Int4, |b| {
        b.map2(second_digits)
    }),
];

/// The column of the first row, or, where the second says that the type is a domain, of that.
fn beneath_domain(batch: &Batch, own: &str, base: &str) -> Result<arrow::array::ArrayRef> {
    let place = |row: usize, name: &str| {
        let ty = batch.arguments[row].record_type();
        ty.and_then(|ty| ty.place_of(name))
    };
    let places = (place(0, own), place(1, base), place(1, "typtype"));
    batch.map_values(|rows| {
        let ([Value::Record(column), Value::Record(ty)], (Some(own), Some(base), Some(kind))) =
            (rows, places)
        else {
            return Value::Null;
        };
        match &ty[kind] {
            Value::Text(kind) if kind == "d" => ty[base].clone(),
            _ => column[own].clone(),
        }
    })
}

fn of(oid: i64) -> Option<SqlType> {
    SqlType::from_oid(u32::try_from(oid).ok()?, -1)
}

fn characters(oid: i64, modifier: i32) -> Option<i32> {
    match of(oid)? {
        _ if modifier == -1 => None,
        SqlType::Char(_) | SqlType::Varchar(_) => Some(modifier - 4),
        SqlType::Bit(_) | SqlType::VarBit(_) => Some(modifier),
        _ => None,
    }
}

fn octets(oid: i64, modifier: i32) -> Option<i32> {
    match of(oid)? {
        SqlType::Text | SqlType::Char(_) | SqlType::Varchar(_) => {
            // UTF-8 takes four bytes at most.
            Some(characters(oid, modifier).map_or(1 << 30, |count| count.saturating_mul(4)))
        }
        _ => None,
    }
}

fn precision(oid: i64, modifier: i32) -> Option<i32> {
    Some(match of(oid)? {
        SqlType::Int2 => 16,
        SqlType::Int4 => 32,
        SqlType::Int8 => 64,
        SqlType::Numeric(_) if modifier == -1 => return None,
        SqlType::Numeric(_) => ((modifier - 4) >> 16) & 0xFFFF,
        SqlType::Float4 => 24,
        SqlType::Float8 => 53,
        _ => return None,
    })
}

fn scale(oid: i64, modifier: i32) -> Option<i32> {
    match of(oid)? {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Some(0),
        SqlType::Numeric(_) if modifier != -1 => Some((modifier - 4) & 0xFFFF),
        _ => None,
    }
}

fn second_digits(oid: i64, modifier: i32) -> Option<i32> {
    Some(match of(oid)? {
        SqlType::Date => 0,
        SqlType::Time(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_)
        | SqlType::Packed(PackedKind::TimeTz(_)) => match modifier {
            ..0 => 6,
            digits => digits,
        },
        SqlType::Interval(_) if modifier < 0 || modifier & 0xFFFF == 0xFFFF => 6,
        SqlType::Interval(_) => modifier & 0xFFFF,
        _ => return None,
    })
}
