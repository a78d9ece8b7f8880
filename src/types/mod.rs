//! SQL types: PostgreSQL's names, OIDs and modifiers beside the Arrow type that carries each in memory.
//! One row a type in one table (`sql_type`); text and binary formats, constants and casts stand in files of their own.
//! Knows nothing of keys, tables or SQL statements.

mod digits;
mod numeric;
mod sql_type;
mod value;

pub use numeric::Numeric;
pub use sql_type::{NUMERIC_PRECISION_MAX, NumericSize, SqlType, TYPE_METADATA_KEY, TYPES, TypeRow};
pub use value::{FormatSettings, Interval, Value};

mod column_encoder;
pub use column_encoder::ColumnEncoder;
