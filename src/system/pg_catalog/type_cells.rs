//! What information_schema says of the type of a column or domain.

use super::relation_rows::{Source, text};
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::objects::type_facts;
use crate::types::{NumericSize, PackedKind, SECOND_DIGITS_MAX, SqlType};

/// What columns and domains say of their types.
pub(super) fn type_cells(source: &Source<'_>, ty: &SqlType) -> Vec<(&'static str, Cell)> {
    let characters = match ty {
        SqlType::Varchar(Some(length))
        | SqlType::Char(Some(length))
        | SqlType::Bit(Some(length))
        | SqlType::VarBit(Some(length)) => Some(*length),
        _ => None,
    };
    // What the longest string of so many characters takes in UTF-8; PostgreSQL says 1 GB of those without a limit.
    let octets = match (characters, is_character(ty)) {
        (Some(_), false) => None,
        (Some(length), true) => Some(u64::from(length) * 4),
        (None, true) => Some(1_073_741_824),
        (None, false) => None,
    };
    let (precision, radix, scale) = numeric_facts(ty);
    let user = source.objects.user_type(i64::from(ty.oid()));
    let data_type = match ty {
        SqlType::Array(_) => "ARRAY",
        SqlType::Enum(_) | SqlType::Record(_) | SqlType::Citext => "USER-DEFINED",
        ty => ty.base_name(),
    };
    vec![
        (
            "udt_schema",
            text(user.map_or("pg_catalog", |user| user.ty.schema.as_str())),
        ),
        ("udt_name", text(ty.catalog_name())),
        ("data_type", text(data_type)),
        (
            "character_maximum_length",
            characters.map(|length| length.to_string()),
        ),
        ("character_octet_length", octets.map(|length| length.to_string())),
        (
            "numeric_precision",
            precision.map(|precision| precision.to_string()),
        ),
        ("numeric_precision_radix", radix.map(|radix| radix.to_string())),
        ("numeric_scale", scale.map(|scale| scale.to_string())),
        (
            "datetime_precision",
            datetime_precision(ty).map(|precision| precision.to_string()),
        ),
        ("interval_type", interval_type(ty)),
    ]
}

fn is_character(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_))
}

/// Precision, radix and scale of a number.
fn numeric_facts(ty: &SqlType) -> (Option<u32>, Option<u32>, Option<u32>) {
    match ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => (
            Some(u32::from(type_facts(ty).length.unsigned_abs()) * 8),
            Some(2),
            Some(0),
        ),
        SqlType::Float4 => (Some(24), Some(2), None),
        SqlType::Float8 => (Some(53), Some(2), None),
        SqlType::Numeric(Some(NumericSize { precision, scale })) => {
            (Some(u32::from(*precision)), Some(10), u32::try_from(*scale).ok())
        }
        SqlType::Numeric(None) => (None, Some(10), None),
        _ => (None, None, None),
    }
}

/// The fields that an interval keeps, as SQL writes them with its digits.
fn interval_type(ty: &SqlType) -> Option<String> {
    let SqlType::Interval(Some(size)) = ty else {
        return None;
    };
    let fields = size.fields?.name().to_uppercase();
    let digits = size
        .digits
        .map_or_else(String::new, |digits| format!("({digits})"));
    Some(format!("{fields}{digits}"))
}

fn datetime_precision(ty: &SqlType) -> Option<u32> {
    match ty {
        SqlType::Date => Some(0),
        SqlType::Time(digits)
        | SqlType::Timestamp(digits)
        | SqlType::TimestampTz(digits)
        | SqlType::Packed(PackedKind::TimeTz(digits)) => Some(u32::from(digits.unwrap_or(SECOND_DIGITS_MAX))),
        SqlType::Interval(size) => {
            let digits = size.and_then(|size| size.digits);
            Some(u32::from(digits.unwrap_or(SECOND_DIGITS_MAX)))
        }
        _ => None,
    }
}
