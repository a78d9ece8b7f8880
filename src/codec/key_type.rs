//! Which types may stand in a key, and why others may not. Reached as `codec::key::check_key_type`.

use crate::types::{CatalogType, SqlType};
use crate::{Error, Result};

/// Whether a column of this type may stand in a key. Errors: 0A000 with the reason (interval, json, arrays …).
pub fn check_key_type(ty: &SqlType, column: &str) -> Result<()> {
    let reason = match ty {
        SqlType::Bool
        | SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Catalog(CatalogType::Xid8)
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Money
        | SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Bytea
        | SqlType::Bit(_)
        | SqlType::VarBit(_)
        | SqlType::Date
        | SqlType::Time(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_)
        | SqlType::Uuid
        | SqlType::Packed(_)
        | SqlType::Oid
        | SqlType::Numeric(_)
        | SqlType::Enum(_) => return Ok(()),
        SqlType::Interval(_) => "equal intervals can be written in different units; use bigint microseconds",
        SqlType::Json | SqlType::Jsonb => "documents have no order that a key range could follow; use text",
        SqlType::TsVector | SqlType::TsQuery => {
            "which documents have a word no key range tells; keep the words that are searched for in rows of a table of their own"
        }
        SqlType::Range(_) | SqlType::Multirange(_) => {
            "ranges have no place in a key; use one column for each bound"
        }
        SqlType::Record(_) => "rows have no place in a key; use one column for each of theirs",
        SqlType::Array(_) | SqlType::Int2Vector => {
            "arrays have no place in a key; use one column for each element, or find them by their items: CREATE INDEX ... USING gin"
        }
        SqlType::Name | SqlType::InternalChar | SqlType::Regclass | SqlType::Catalog(_) => {
            "it is a type of the system catalogs; use text or bigint"
        }
        SqlType::Unknown | SqlType::Void => "it is a pseudo-type; use text",
    };
    Err(Error::FeatureNotSupported {
        feature: format!("column \"{column}\" of type {ty} in a key"),
        hint: Some(format!(
            "A key column cannot be of type {}: {reason}.",
            ty.full_base_name()
        )),
    })
}

/// Whether a field tells which value it is of: all do but those of citext, which say it in lower case, and of numerics without a fixed
/// size, where 1.5 and 1.50 are one. The value itself then stands in what is under the key.
pub fn tells_value(ty: &SqlType) -> bool {
    *ty != SqlType::Citext && !ty.is_variable_numeric()
}
