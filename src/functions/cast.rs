//! Casts between SQL types, as `CAST` and `::` do: which exist, and what they compute. One definition serves constants
//! (at planning) and columns.

use arrow::array::ArrayRef;

use super::column_cast::{arrow_cast, column_cast};
pub use super::object_id::oid_like;
use super::object_id::{integer_of_oid, is_no_object, oid_of_integer};
use super::{Batch, Body};
use crate::types::{
    ArrayValue, CatalogType, Dimension, FormatSettings, Numeric, PackedKind, RecordType, SqlType, Value,
    bits, element_type, keeps_all_times,
};
use crate::types::{internal_char, lsn, tid};
use crate::{Error, Result};

/// The name of [`CAST`]: whoever reads filters may look through it.
pub const CAST_NAME: &str = "cast";

/// Casts the only argument from its type to the result type.
pub const CAST: Body = Body::Batch(cast_batch);

/// Whether an explicit cast exists.
pub fn cast_exists(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    if from == to || matches!(from, S::Unknown | S::Void) || to.is_string() || from.is_string() {
        return true;
    }
    let date_like = |ty: &S| matches!(ty, S::Date | S::Timestamp(_) | S::TimestampTz(_));
    match (from, to) {
        (a, b) if number(a) && number(b) => true,
        (S::Bool | S::InternalChar, S::Int4) | (S::Int4, S::Bool | S::InternalChar) => true,
        (S::Int4 | S::Int8 | S::Numeric(_), S::Money) | (S::Money, S::Numeric(_)) => true,
        (S::Int4 | S::Int8, S::Bit(_)) | (S::Bit(_), S::Int4 | S::Int8) => true,
        (a, b) if a.is_bits() && b.is_bits() => true,
        (a, b) if oid_like(a) && (oid_like(b) || matches!(b, S::Int4 | S::Int8)) => true,
        (S::Int2 | S::Int4 | S::Int8, b) if oid_like(b) => true,
        (S::Catalog(CatalogType::Xid8), S::Catalog(CatalogType::Xid)) => true,
        (S::Catalog(a), S::Catalog(b)) if is_no_object(*a) || is_no_object(*b) => a == b,
        (S::Catalog(_), S::Array(_)) if from.arrow_type() == to.arrow_type() => true,
        (a, b) if date_like(a) && date_like(b) => true,
        (S::Timestamp(_) | S::TimestampTz(_) | S::Interval(_), S::Time(_)) | (S::Time(_), S::Interval(_)) => {
            true
        }
        (S::Json | S::Jsonb, S::Json | S::Jsonb) => true,
        (S::Jsonb, S::Bool) => true,
        (S::Jsonb, b) if number(b) => true,
        (S::Array(a), S::Array(b)) => cast_exists(a, b),
        (S::Int2Vector | S::Catalog(CatalogType::OidVector), S::Array(_)) => true,
        (S::Array(a), S::Catalog(CatalogType::OidVector)) => oid_like(a),
        (S::Enum(a), S::Enum(b)) => a == b,
        (S::Range(a), S::Range(b) | S::Multirange(b)) | (S::Multirange(a), S::Multirange(b)) => a == b,
        (S::Packed(a), S::Packed(b)) => a.is_like(*b),
        (S::Time(_) | S::TimestampTz(_), S::Packed(PackedKind::TimeTz(_)))
        | (S::Packed(PackedKind::TimeTz(_)), S::Time(_)) => true,
        (S::Record(a), S::Record(b)) => are_pairs(a, b, cast_exists),
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Whether the columns of two row types are as many, and each pair is `alike`.
pub(crate) fn are_pairs(a: &RecordType, b: &RecordType, alike: impl Fn(&SqlType, &SqlType) -> bool) -> bool {
    let mut pairs = a.fields.iter().zip(&b.fields);
    a.fields.len() == b.fields.len() && pairs.all(|(a, b)| alike(&a.ty, &b.ty))
}

fn number(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Float4
            | SqlType::Float8
            | SqlType::Numeric(_)
    )
}

/// Whether Arrow's own cast computes it, without loss and without errors.
pub fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    match (from, to) {
        (S::Int2, S::Int4 | S::Int8 | S::Float4 | S::Float8) => true,
        (S::Int4, S::Int8 | S::Float8) | (S::Float4, S::Float8) | (S::Int8, S::Float8) => true,
        (S::Int2 | S::Int4 | S::Int8, S::Numeric(_)) => to.fixed_size().is_some_and(|size| {
            let digits = match from {
                S::Int2 => 5,
                S::Int4 => 10,
                _ => 19,
            };
            size.precision >= size.shown_scale() + digits
        }),
        (S::Numeric(_), S::Numeric(_)) => match (from.fixed_size(), to.fixed_size()) {
            (Some(a), Some(b)) => {
                a.scale <= b.scale && a.precision - a.shown_scale() <= b.precision - b.shown_scale()
            }
            // All bytes are numbers; a size rounds.
            (None, None) => from == to || *to == S::Numeric(None),
            _ => false,
        },
        (a, b) => a.arrow_type() == b.arrow_type() && same_values(a, b),
    }
}

/// Whether values that need no change are yet other ones by `=` and in order: jsonb, tsvector or citext that is text, text that is
/// citext, in arrays too. A call says that they are.
pub(crate) fn compares_otherwise(from: &SqlType, to: &SqlType) -> bool {
    let is_citext = |ty: &SqlType| *ty.innermost() == SqlType::Citext;
    let item = |ty: &SqlType| {
        matches!(
            ty.innermost(),
            SqlType::Jsonb | SqlType::TsVector | SqlType::TsQuery
        )
    };
    item(from) && !item(to) || is_citext(from) != is_citext(to)
}

/// Types of one carrier whose values need no change from one to the other.
fn same_values(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    match (from, to) {
        (S::Varchar(a), S::Varchar(Some(b))) => a.is_some_and(|a| a <= *b),
        (
            S::Text | S::Varchar(_) | S::Citext | S::Name | S::Unknown,
            S::Text | S::Varchar(None) | S::Citext,
        ) => true,
        (S::Text | S::Varchar(_) | S::Char(_) | S::Unknown, S::Char(None)) => true,
        (S::Bit(_) | S::VarBit(_), S::Text | S::Varchar(None) | S::Bit(None) | S::VarBit(None)) => true,
        (S::Bit(a) | S::VarBit(a), S::VarBit(Some(b))) => a.is_some_and(|a| a <= *b),
        (S::Json | S::Jsonb | S::InternalChar, S::Text | S::Varchar(None)) | (S::Jsonb, S::Json) => true,
        (S::TsVector | S::TsQuery, S::Text | S::Varchar(None)) => true,
        (S::Packed(PackedKind::Cidr), S::Packed(PackedKind::Inet)) => true,
        (a, S::Int8) if oid_like(a) => true,
        (a, b) if oid_like(a) && oid_like(b) => true,
        (S::Catalog(_), S::Array(_)) => true,
        (S::Array(a), S::Catalog(CatalogType::OidVector)) => oid_like(a),
        (S::Array(a), S::Array(b)) => same_values(a, b),
        (S::Record(a), S::Record(b)) => are_pairs(a, b, same_values),
        (a, b) => a == b || keeps_all_times(a, b),
    }
}

fn cast_batch(batch: &Batch) -> Result<ArrayRef> {
    let (from, to) = (&batch.arguments[0], batch.returns);
    if is_widening(from, to) {
        return arrow_cast(&batch.arrays[0], &to.arrow_type());
    }
    match column_cast(batch) {
        Some(result) => result,
        None => batch.map1(|value: Value| cast_value(value, from, to, batch.settings)),
    }
}

/// Casts one value. Errors: 22003, 22P02, 22007, 22008; 42846 when there is no such cast.
pub fn cast_value(value: Value, from: &SqlType, to: &SqlType, settings: &FormatSettings) -> Result<Value> {
    use SqlType as S;
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Bool(flag), S::Name) => Ok(Value::Text(if flag { "t" } else { "f" }.to_string())),
        (value @ Value::Text(_), S::Char(None)) => Ok(value),
        (Value::Int(number), S::InternalChar) if *from == S::Int4 => {
            internal_char::of_integer(number).map(Value::Text)
        }
        (value @ Value::Packed(_), S::Name | S::InternalChar | S::Unknown) => {
            Value::Text(value.to_text(settings)).cast(to, settings)
        }
        (
            value,
            S::Text | S::Varchar(_) | S::Char(_) | S::Citext | S::Name | S::InternalChar | S::Unknown,
        ) => Value::Text(text_of(&value, from, settings)).cast(to, settings),
        (Value::Text(text), S::Json | S::Jsonb) => Value::parse(&text, to, settings),
        (Value::Text(text), _) if *from == S::Jsonb => from_jsonb(&text, to, settings),
        (Value::Text(text), S::Int4) if *from == S::InternalChar => {
            Ok(Value::Int(internal_char::to_integer(&text)))
        }
        (Value::Text(text), S::Int4 | S::Int8) if from.is_bits() => {
            bits::to_integer(&text, width_of(to)).map(Value::Int)
        }
        (Value::Int(number), S::Bit(length)) if from.is_integer() => {
            Ok(Value::Text(bits::of_integer(number, width_of(from), *length)))
        }
        (Value::Int(number), to) if oid_like(to) && from.is_integer() => {
            oid_of_integer(number, from).map(Value::Int)
        }
        (Value::Int(oid), S::Int4) if oid_like(from) => Ok(Value::Int(i64::from(integer_of_oid(oid)))),
        (Value::Array(items), S::Array(_) | S::Int2Vector) => {
            let (from_item, to_item) = (element_type(from), element_type(to));
            let cast = items.try_map(|item| cast_value(item, from_item, to_item, settings))?;
            Ok(Value::Array(match from.is_vector() && !to.is_vector() {
                true => counted_from_zero(cast),
                false => cast,
            }))
        }
        (Value::Record(values), S::Record(to)) => {
            let from = from.record_type().map_or(&[][..], |from| &from.fields);
            let columns = values.into_iter().zip(from).zip(&to.fields);
            let columns = columns.map(|((value, from), to)| cast_value(value, &from.ty, &to.ty, settings));
            Ok(Value::Record(columns.collect::<Result<_>>()?))
        }
        (value, to) => value.cast(to, settings),
    }
}

/// What a vector of the catalogs is as an array.
fn counted_from_zero(vector: ArrayValue) -> ArrayValue {
    let dimension = Dimension {
        lower: 0,
        ..Dimension::of(vector.len())
    };
    ArrayValue::shaped(vector.into_items(), &[dimension])
}

/// The bits of an integer type.
fn width_of(ty: &SqlType) -> u32 {
    if *ty == SqlType::Int4 { 32 } else { 64 }
}

/// The text of a value of this type that PostgreSQL's output function gives: booleans as t and f, char(n) with its padding.
pub(super) fn output_text(value: &Value, ty: &SqlType, settings: &FormatSettings) -> String {
    match value {
        Value::Bool(_) => value.to_text(settings),
        Value::Text(text) => text.clone(),
        Value::Packed(_) => value.to_text(settings),
        other => text_of(other, ty, settings),
    }
}

/// The text of a value as a cast gives it (booleans in full, char(n) without its padding).
pub fn text_of(value: &Value, from: &SqlType, settings: &FormatSettings) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) if *from == SqlType::Catalog(CatalogType::Tid) => tid::text(*number),
        Value::Int(place) if *from == SqlType::Catalog(CatalogType::PgLsn) => lsn::text(*place),
        Value::Text(text) if matches!(from, SqlType::Char(_)) => text.trim_end_matches(' ').to_string(),
        Value::Text(text) | Value::Unknown(text) => text.clone(),
        Value::Packed(address) => address.cast_text(),
        Value::Array(items) if from.is_vector() => {
            let texts = items.iter().map(|item| item.to_text(settings));
            texts.collect::<Vec<_>>().join(" ")
        }
        Value::Array(items) if is_number_within(element_type(from)) => {
            let text = |item: Value| match item {
                Value::Null => Value::Null,
                item => Value::Text(text_of(&item, element_type(from), settings)),
            };
            Value::Array(items.clone().map(text)).to_text(settings)
        }
        other => other.to_text(settings),
    }
}

/// Whether values of the type are numbers whose text is another.
fn is_number_within(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Catalog(CatalogType::Tid | CatalogType::PgLsn))
}

fn from_jsonb(text: &str, to: &SqlType, settings: &FormatSettings) -> Result<Value> {
    let of_kind = |found: &str| Error::InvalidParameter {
        message: format!("cannot cast jsonb {found} to type {}", to.base_name()),
        hint: None,
    };
    let json: serde_json::Value = serde_json::from_str(text).map_err(|_| Error::InvalidText {
        type_name: "json".to_string(),
        value: text.to_string(),
    })?;
    match (json, to) {
        (serde_json::Value::Bool(flag), SqlType::Bool) => Ok(Value::Bool(flag)),
        (serde_json::Value::Number(number), to) if *to != SqlType::Bool => cast_value(
            Value::Numeric(Numeric::parse(&number.to_string())?),
            &SqlType::Numeric(None),
            to,
            settings,
        ),
        (serde_json::Value::Null, _) => Err(of_kind("null")),
        (serde_json::Value::String(_), _) => Err(of_kind("string")),
        (serde_json::Value::Array(_), _) => Err(of_kind("array")),
        (serde_json::Value::Object(_), _) => Err(of_kind("object")),
        (serde_json::Value::Bool(_), _) => Err(of_kind("boolean")),
        (serde_json::Value::Number(_), _) => Err(of_kind("numeric")),
    }
}
