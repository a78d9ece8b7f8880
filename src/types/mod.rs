//! SQL types: PostgreSQL's names, OIDs and modifiers beside the Arrow type that carries each in memory.
//! One row a type in one table (`sql_type`); text and binary formats, constants and casts stand in files of their own.
//! Knows nothing of keys, tables or SQL statements.
//!
//! - A constant is a [`Value`]: [`Value::parse`] and [`Value::from_binary`] read it, [`Value::to_text`] prints it,
//!   [`Value::assign`] and [`Value::cast`] convert it.
//! - A column of results is an Arrow array: [`ColumnEncoder`] appends its elements in PostgreSQL's text or binary form.
//!
//! What is kept of PostgreSQL's types and what is not: timestamps reach from 4714 BC to 294246 AD (PostgreSQL: 294276),
//! because they count from 1970; interval microseconds to 292 years, because Arrow counts nanoseconds; numeric(p,s) of at
//! most 38 digits takes no NaN.

mod array;
mod array_column;
mod array_dimension;
mod array_fault;
mod array_quotes;
mod arrow_type;
mod binary_input;
pub(crate) mod bits;
pub(crate) mod calendar;
mod catalog_type;
mod cell;
mod column_encoder;
mod convert;
mod datetime;
mod datetime_clock;
mod datetime_decoder;
mod datetime_fault;
mod datetime_input;
mod datetime_output;
mod datetime_tokens;
mod datetime_words;
mod digits;
mod encoding;
mod enum_type;
mod floats;
mod format_settings;
pub(crate) mod internal_char;
mod interval;
mod interval_output;
mod interval_range;
mod ip_address;
mod ip_text;
mod json;
mod json_fault;
pub(crate) mod json_key;
pub(crate) mod json_path;
pub(crate) mod json_piece;
pub(crate) mod letter_case;
pub(crate) mod lsn;
mod mac_address;
pub(crate) mod money;
mod numeric;
mod packed;
mod precision;
mod quoted_word;
mod range;
mod range_bytes;
mod range_kind;
mod range_text;
mod record_input;
mod record_quotes;
mod row_nesting;
mod scalar;
mod spaces;
mod sql_type;
pub(crate) mod strings;
mod taken_rows;
mod text_input;
pub(crate) mod text_search;
pub(crate) mod tid;
mod time_tz;
mod transaction_snapshot;
pub(crate) mod trigram;
mod type_label;
mod type_modifiers;
mod type_names;
mod type_quotes;
mod type_table;
mod value;
mod zone;
mod zone_abbreviations;

pub use array::{check_bounds, check_dimension_count};
pub use array_column::{
    ShapeBuilder, array_column, dimensions_at, item_field, items_of, lists_of, shapes_of,
};
pub use array_dimension::{Dimension, element_count, put_shape, read_shape, shape_length};
pub use arrow_type::TYPE_METADATA_KEY;
pub use catalog_type::CatalogType;
pub(crate) use catalog_type::{name_and_oid, name_with_oid};
pub use cell::{element_type, value_at};
pub use column_encoder::ColumnEncoder;
pub use convert::epoch_milliseconds;
pub(crate) use convert::{
    date_of_timestamp, instant_of, integer_of_float, integer_of_numeric, local_time, narrow_integer,
    real_of_double, real_of_numeric, time_of_timestamp, timestamp_of_date,
};
pub(crate) use datetime_clock::read_offset;
pub(crate) use datetime_fault::Fault as DatetimeFault;
pub(crate) use encoding::{CharacterEncoding, TextDecoder, converted};
pub use enum_type::{EnumLabel, EnumType, EnumValue, POSITION_STEP};
pub use format_settings::{
    ByteaOutput, DateForm, DateOrder, DateStyle, FormatSettings, IntervalStyle, ResultLimits,
    TrigramThresholds,
};
pub use interval::Interval;
pub use interval_range::{IntervalField, IntervalRange};
pub(crate) use ip_address::{IpAddress, abbreviated as abbreviated_network};
pub(crate) use json::{check_escapes, normalize as jsonb_text};
pub(crate) use mac_address::MacAddress;
pub use numeric::{DISPLAY_SCALE_MAX, Decimal, Numeric, NumericBytes, numeric_key};
pub(crate) use numeric::{overflow as numeric_overflow, power_of_ten, result_scale};
pub use packed::{PackedKind, PackedValue};
pub(crate) use precision::keeps_all as keeps_all_times;
pub use range_kind::RangeKind;
pub use row_nesting::check_row_nesting;
pub use scalar::{Scalar, WireFormat};
pub(crate) use sql_type::SECOND_DIGITS_MAX;
pub use sql_type::{
    FIXED_PRECISION_MAX, IntervalSize, NumericSize, RecordField, RecordType, SqlType, array_oid_of_rows,
    relation_of_row_array,
};
pub use strings::comparable_text;
pub use taken_rows::{interleave_rows, take_rows};
pub(crate) use text_input::number_value;
pub(crate) use time_tz::TimeTz;
pub use transaction_snapshot::TransactionSnapshot;
pub use type_names::VOID_OID;
pub use type_table::{TYPES, stored_type_oid, type_oid_of_stored};
pub use value::{ArrayValue, MultirangeValue, RangeBound, RangeValue, Value};
pub use zone::Zone;
pub(crate) use zone::name_of_offset;
pub(crate) use zone_abbreviations::{abbreviated_zone, abbreviations};

#[cfg(test)]
mod tests;
