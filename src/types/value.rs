//! `Value`: one SQL constant (a literal, a bound parameter, a default). Used where there is one value, never a row of
//! many: rows travel as Arrow arrays.

use super::{Numeric, SqlType};
use crate::Result;

/// A SQL interval: months, days and microseconds do not convert into one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}

/// One SQL constant with its kind of type. Units as in [`SqlType`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// boolean.
    Bool(bool),
    /// smallint, integer, bigint (the width is the column's business).
    Int(i64),
    /// real.
    Float4(f32),
    /// double precision.
    Float8(f64),
    /// numeric.
    Numeric(Numeric),
    /// text, varchar, char(n) (with its blanks), name, and json / jsonb as text.
    Text(String),
    /// A string literal or text-format parameter whose type the context decides (PostgreSQL's `unknown`).
    Unknown(String),
    /// bytea.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970-01-01, no zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC.
    TimestampTz(i64),
    /// interval.
    Interval(Interval),
    /// uuid.
    Uuid([u8; 16]),
    /// A one-dimensional array (of a parameter or constant, for `= ANY`).
    Array(Vec<Value>),
}

/// Session settings that reading and printing values depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatSettings {
    /// Session TimeZone.
    pub time_zone: chrono_tz::Tz,
}

impl Value {
    /// Reads the text form of `ty`, as PostgreSQL's input functions do. Errors: 22P02, 22007, 22008, 22003, 22001.
    pub fn parse(_text: &str, _ty: &SqlType, _settings: &FormatSettings) -> Result<Value> {
        unimplemented!()
    }
    /// Reads the binary form of `ty` (a bound parameter, `parameter` counts from 1). Errors: 22P03, 22021.
    pub fn from_binary(_bytes: &[u8], _ty: &SqlType, _parameter: usize) -> Result<Value> {
        unimplemented!()
    }
    /// The text form, as PostgreSQL's output functions print it.
    pub fn to_text(&self, _settings: &FormatSettings) -> String {
        unimplemented!()
    }
    /// Converts to a value that a column of type `ty` can hold, as an assignment does (rounds numerics, checks ranges
    /// and lengths, pads char(n), parses `Unknown`; an integer becomes a timestamp as epoch milliseconds).
    /// `column` is named in errors. Errors: 42804, 22003, 22001, 22P02 …
    pub fn assign(self, _ty: &SqlType, _column: &str, _settings: &FormatSettings) -> Result<Value> {
        unimplemented!()
    }
    /// The type a bare constant has on its own: Int is integer or bigint by size, Unknown is text, …
    pub fn natural_type(&self) -> SqlType {
        unimplemented!()
    }
}
