//! Values of stored rows and keys as `Scalar`s, borrowed from the stored bytes: how a row reaches the wire without
//! becoming a column first. Reached as `codec::row::{…}`; the column-wise sibling is `column_builder`.

use super::key::{self, KeyField};
use super::stored_value::{
    damaged, fixed, fixed_slice, is_former_numeric, narrow, read_former_numeric, read_integer, read_interval,
};
use crate::Result;
use crate::types::{NumericBytes, PackedValue, Scalar, SqlType, Value};

/// Whether values of the type are read here: all but lists, enums, whose labels are not stored, and char(n), whose blanks are
/// not.
pub fn is_scalar(ty: &SqlType) -> bool {
    !matches!(
        ty,
        SqlType::Array(_)
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Record(_)
            | SqlType::Enum(_)
            | SqlType::Int2Vector
            | SqlType::Char(_)
            | SqlType::Void
            | SqlType::Catalog(_)
    )
}

/// The value that a row holds in these bytes, of a type that `is_scalar`. Errors: `Corrupt`.
#[inline]
pub fn stored_scalar<'a>(ty: &SqlType, bytes: &'a [u8]) -> Result<Scalar<'a>> {
    Ok(match ty {
        SqlType::Bool => match bytes {
            [0] => Scalar::Bool(false),
            [1] => Scalar::Bool(true),
            _ => return Err(damaged("a boolean that is neither 0 nor 1")),
        },
        SqlType::Int2 => Scalar::Int2(narrow(read_integer(bytes)?)?),
        SqlType::Int4 => Scalar::Int4(narrow(read_integer(bytes)?)?),
        SqlType::Int8 => Scalar::Int8(read_integer(bytes)?),
        SqlType::Oid | SqlType::Regclass => Scalar::Oid(read_integer(bytes)?),
        SqlType::Money => Scalar::Money(i64::from_le_bytes(fixed(bytes)?)),
        SqlType::Float4 => Scalar::Float4(f32::from_le_bytes(fixed(bytes)?)),
        SqlType::Float8 => Scalar::Float8(f64::from_le_bytes(fixed(bytes)?)),
        SqlType::Numeric(Some(size)) if size.is_fixed() => Scalar::Decimal128 {
            unscaled: match bytes.len() {
                8 => i128::from(i64::from_le_bytes(fixed(bytes)?)),
                _ => i128::from_le_bytes(fixed(bytes)?),
            },
            scale: size.scale as u8,
        },
        SqlType::Numeric(_) => match NumericBytes::read(bytes) {
            Some(number) => Scalar::Numeric(number),
            None if is_former_numeric(bytes) && read_former_numeric(bytes).is_some() => {
                Scalar::FormerNumeric(&bytes[1..], bytes[0])
            }
            None => return Err(damaged("bytes that are no numeric")),
        },
        SqlType::Jsonb => Scalar::Jsonb(text(bytes)?),
        SqlType::Bit(_) | SqlType::VarBit(_) => Scalar::Bits(text(bytes)?),
        SqlType::TsVector => Scalar::TsVector(text(bytes)?),
        SqlType::TsQuery => Scalar::TsQuery(text(bytes)?),
        SqlType::Bytea => Scalar::Bytes(bytes),
        SqlType::Packed(kind) => match PackedValue::from_bytes(bytes, *kind) {
            Some(_) => Scalar::Packed(*kind, bytes),
            None => return Err(damaged("bytes that are no value of their column's type")),
        },
        SqlType::Date => Scalar::Date(i32::from_le_bytes(fixed(bytes)?)),
        SqlType::Time(_) => Scalar::Time(i64::from_le_bytes(fixed(bytes)?)),
        SqlType::Timestamp(_) => Scalar::Timestamp(i64::from_le_bytes(fixed(bytes)?)),
        SqlType::TimestampTz(_) => Scalar::TimestampTz(i64::from_le_bytes(fixed(bytes)?)),
        SqlType::Interval(_) => Scalar::Interval(read_interval(bytes)?),
        SqlType::Uuid => Scalar::Uuid(&fixed_slice::<16>(bytes)?[..]),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Citext
        | SqlType::Json
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Unknown => Scalar::Text(text(bytes)?),
        SqlType::Array(_)
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Record(_)
        | SqlType::Enum(_)
        | SqlType::Int2Vector
        | SqlType::Char(_)
        | SqlType::Void
        | SqlType::Catalog(_) => {
            return Err(damaged(&format!(
                "a value of type {ty} where a scalar was expected"
            )));
        }
    })
}

/// The value of the key field that `bytes` starts with; `None`: NULL. `scratch` takes what does not stand there as it
/// is. Errors: `Corrupt`.
#[inline]
pub fn key_scalar<'a>(
    bytes: &'a [u8],
    field: &KeyField,
    scratch: &'a mut Vec<u8>,
) -> Result<Option<Scalar<'a>>> {
    if key::read_null(bytes, field)? {
        return Ok(None);
    }
    Ok(Some(match &field.ty {
        SqlType::Bool => Scalar::Bool(key::read_bool(bytes, field)?),
        SqlType::Int2 => Scalar::Int2(narrow(key::read_i64(bytes, field)?)?),
        SqlType::Int4 => Scalar::Int4(narrow(key::read_i64(bytes, field)?)?),
        SqlType::Int8 => Scalar::Int8(key::read_i64(bytes, field)?),
        SqlType::Oid | SqlType::Regclass => Scalar::Oid(key::read_i64(bytes, field)?),
        SqlType::Money => Scalar::Money(key::read_i64(bytes, field)?),
        SqlType::Float4 => Scalar::Float4(key::read_f32(bytes, field)?),
        SqlType::Float8 => Scalar::Float8(key::read_f64(bytes, field)?),
        SqlType::Numeric(Some(size)) if size.is_fixed() => Scalar::Decimal128 {
            unscaled: key::read_decimal(bytes, size, field)?.0,
            scale: size.scale as u8,
        },
        SqlType::Numeric(_) => {
            scratch.clear();
            key::read_numeric(bytes, field)?.0.put_bytes(scratch);
            let number = NumericBytes::read(scratch);
            Scalar::Numeric(number.ok_or_else(|| damaged("bytes that are no numeric"))?)
        }
        SqlType::Date => Scalar::Date(key::read_i32(bytes, field)?),
        SqlType::Time(_) => Scalar::Time(key::read_i64(bytes, field)?),
        SqlType::Timestamp(_) => Scalar::Timestamp(key::read_i64(bytes, field)?),
        SqlType::TimestampTz(_) => Scalar::TimestampTz(key::read_i64(bytes, field)?),
        SqlType::Uuid => {
            scratch.clear();
            scratch.extend_from_slice(&key::read_fixed::<16>(bytes, field)?);
            Scalar::Uuid(scratch)
        }
        SqlType::Interval(_) => match key::decode_value(bytes, field)?.0 {
            Value::Interval(interval) => Scalar::Interval(interval),
            _ => return Err(damaged("a key of no interval")),
        },
        SqlType::Bytea => Scalar::Bytes(key::read_text(bytes, field, scratch)?.0),
        SqlType::Packed(kind) => Scalar::Packed(*kind, key::read_text(bytes, field, scratch)?.0),
        ty => {
            let (bytes, _) = key::read_text(bytes, field, scratch)?;
            let text = text(bytes).map_err(|_| key::not_utf8())?;
            if ty.is_bits() {
                Scalar::Bits(text)
            } else {
                Scalar::Text(text)
            }
        }
    }))
}

/// The bytes, once they are known to be UTF-8.
#[inline]
fn text(bytes: &[u8]) -> Result<&[u8]> {
    // Much the faster test for short texts.
    if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
        return Err(damaged("text is not UTF-8"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::arbitrary::{column_types, key_fields, values_of, values_or_null};
    use crate::codec::row::{ColumnBuilder, Stored};
    use crate::codec::stored_value;
    use crate::types::{ColumnEncoder, FormatSettings, Value, WireFormat};

    const FORMATS: [WireFormat; 2] = [WireFormat::Text, WireFormat::Binary];

    fn settings() -> FormatSettings {
        FormatSettings {
            time_zone: crate::types::Zone::Named(chrono_tz::America::New_York),
            ..FormatSettings::default()
        }
    }

    /// What the one value of a column prints in both formats; nothing for NULL.
    fn column_prints(ty: &SqlType, builder: ColumnBuilder) -> Vec<Option<Vec<u8>>> {
        let array = builder.finish();
        let settings = settings();
        let print = |format| {
            let mut out = Vec::new();
            let encoder = ColumnEncoder::new(ty, &array, format, &settings).unwrap();
            encoder.encode(0, &mut out).then_some(out)
        };
        FORMATS.map(print).to_vec()
    }

    fn scalar_prints(scalar: Option<Scalar<'_>>) -> Vec<Option<Vec<u8>>> {
        let print = |format| {
            scalar.map(|scalar| {
                let mut out = Vec::new();
                scalar.put(format, &settings(), &mut out);
                out
            })
        };
        FORMATS.map(print).to_vec()
    }

    /// A scalar type, and bytes that a row may hold of it, or any bytes.
    fn stored() -> impl Strategy<Value = (SqlType, Vec<u8>)> {
        let types: Vec<_> = column_types().into_iter().filter(is_scalar).collect();
        prop::sample::select(types).prop_flat_map(|ty| {
            let of_type = ty.clone();
            let bytes = values_of(&ty).prop_map(move |value| {
                let (mut builder, mut bytes) = (ColumnBuilder::new(&of_type, 1), Vec::new());
                builder.append_value(&value).unwrap();
                stored_value::put(&mut bytes, &of_type, &builder.finish(), 0);
                bytes
            });
            let damaged = prop::collection::vec(any::<u8>(), 0..40);
            (Just(ty), prop_oneof![3 => bytes, 1 => damaged])
        })
    }

    /// Fields of types that are read here.
    fn scalar_fields() -> impl Strategy<Value = KeyField> {
        key_fields().prop_map(|field| match is_scalar(&field.ty) {
            true => field,
            false => KeyField {
                ty: SqlType::Interval(None),
                ..field
            },
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_stored_value_prints_as_its_column_does((ty, bytes) in stored()) {
            let mut builder = ColumnBuilder::new(&ty, 1);
            match builder.append_stored(Stored::Bytes(&bytes)) {
                Ok(()) => {
                    let scalar = stored_scalar(&ty, &bytes).unwrap();
                    prop_assert_eq!(scalar_prints(Some(scalar)), column_prints(&ty, builder));
                }
                Err(error) => prop_assert_eq!(stored_scalar(&ty, &bytes).unwrap_err(), error),
            }
        }

        #[test]
        fn a_key_field_prints_as_its_column_does(
            (field, value) in scalar_fields().prop_flat_map(|field| (Just(field.clone()), values_or_null(&field.ty))),
            cut in any::<prop::sample::Index>(),
            damaged in any::<bool>(),
        ) {
            let (mut bytes, mut scratch) = (Vec::new(), Vec::new());
            key::encode_value(&mut bytes, &value, &field);
            if damaged {
                bytes.truncate(cut.index(bytes.len()));
            }
            let mut builder = ColumnBuilder::new(&field.ty, 1);
            let scalar = key_scalar(&bytes, &field, &mut scratch);
            match builder.append_key_field(&bytes, &field) {
                Ok(_) => prop_assert_eq!(scalar_prints(scalar.unwrap()), column_prints(&field.ty, builder)),
                Err(error) => prop_assert_eq!(scalar.unwrap_err(), error),
            }
            prop_assert!(damaged || value == Value::Null || bytes.len() > 1);
        }
    }
}
