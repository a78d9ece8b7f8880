//! Operator classes of columns. A key sorts text by its bytes, so the pattern classes are what every key is.

use sqlparser::ast::ObjectName;

use crate::error::StatementFault;
use crate::parse::names;
use crate::types::{PackedKind, SqlType};
use crate::{Error, Result};

/// Checks that the class is one for the type. btree_gist's are called as btree's, with `gist_` before it. Errors: 42704, 42804.
pub(super) fn check(class: &ObjectName, ty: &SqlType) -> Result<()> {
    let (_, name) = names::relation_name(class)?;
    let name = name.strip_prefix("gist_").unwrap_or(&name);
    if classes_of(ty).contains(&name) {
        return Ok(());
    }
    if !OTHER_CLASSES.contains(&name) {
        return Err(Error::InvalidStatement {
            state: StatementFault::UndefinedObject,
            message: format!("operator class \"{class}\" does not exist for access method \"btree\""),
            hint: None,
        });
    }
    Err(Error::DatatypeMismatch {
        message: format!(
            "operator class \"{class}\" does not accept data type {}",
            ty.full_base_name()
        ),
        hint: None,
    })
}

/// Classes that there are, of other types than a column's.
const OTHER_CLASSES: [&str; 33] = [
    "array_ops",
    "bit_ops",
    "bool_ops",
    "bpchar_ops",
    "bpchar_pattern_ops",
    "bytea_ops",
    "cidr_ops",
    "date_ops",
    "enum_ops",
    "float4_ops",
    "float8_ops",
    "inet_ops",
    "int2_ops",
    "int4_ops",
    "int8_ops",
    "interval_ops",
    "jsonb_ops",
    "macaddr_ops",
    "money_ops",
    "multirange_ops",
    "numeric_ops",
    "oid_ops",
    "range_ops",
    "record_ops",
    "text_ops",
    "text_pattern_ops",
    "time_ops",
    "timestamp_ops",
    "timestamptz_ops",
    "uuid_ops",
    "varbit_ops",
    "varchar_ops",
    "varchar_pattern_ops",
];

fn classes_of(ty: &SqlType) -> &'static [&'static str] {
    match ty {
        SqlType::Bool => &["bool_ops"],
        SqlType::Int2 => &["int2_ops"],
        SqlType::Int4 => &["int4_ops"],
        SqlType::Int8 => &["int8_ops"],
        SqlType::Float4 => &["float4_ops"],
        SqlType::Float8 => &["float8_ops"],
        SqlType::Numeric(_) => &["numeric_ops"],
        SqlType::Text | SqlType::Varchar(_) => &[
            "text_ops",
            "text_pattern_ops",
            "varchar_ops",
            "varchar_pattern_ops",
        ],
        SqlType::Char(_) => &["bpchar_ops", "bpchar_pattern_ops"],
        SqlType::Citext => &["citext_ops", "citext_pattern_ops"],
        SqlType::Money => &["money_ops", "cash_ops"],
        SqlType::Bytea => &["bytea_ops"],
        SqlType::Bit(_) => &["bit_ops"],
        SqlType::VarBit(_) => &["varbit_ops"],
        SqlType::Date => &["date_ops"],
        SqlType::Time(_) => &["time_ops"],
        SqlType::Timestamp(_) => &["timestamp_ops"],
        SqlType::TimestampTz(_) => &["timestamptz_ops"],
        SqlType::Interval(_) => &["interval_ops"],
        SqlType::Uuid => &["uuid_ops"],
        SqlType::Packed(PackedKind::Inet | PackedKind::Cidr) => &["inet_ops", "cidr_ops"],
        SqlType::Packed(PackedKind::MacAddr) => &["macaddr_ops"],
        SqlType::Packed(PackedKind::MacAddr8) => &["macaddr8_ops"],
        SqlType::Packed(PackedKind::TimeTz(_)) => &["timetz_ops"],
        SqlType::Oid => &["oid_ops"],
        SqlType::Enum(_) => &["enum_ops"],
        SqlType::Jsonb => &["jsonb_ops"],
        SqlType::Array(_) => &["array_ops"],
        SqlType::Range(_) => &["range_ops"],
        SqlType::Multirange(_) => &["multirange_ops"],
        SqlType::Record(_) => &["record_ops"],
        _ => &[],
    }
}
