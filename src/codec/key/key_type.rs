//! Which types may stand in a key, and why others may not. Reached as `codec::key::check_key_type`.

use crate::types::{CatalogType, SqlType};
use crate::{Error, Result};

/// Whether a column of this type may stand in a key. Errors: 0A000 with the reason (json, tsvector …); of an
/// array or a row that of what is in it.
pub fn check_key_type(ty: &SqlType, column: &str) -> Result<()> {
    let reason = match ty {
        SqlType::Bool
        | SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Regclass
        | SqlType::Name
        | SqlType::InternalChar
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
        | SqlType::Enum(_)
        | SqlType::Interval(_)
        | SqlType::Jsonb
        | SqlType::Range(_)
        | SqlType::Multirange(_) => return Ok(()),
        ty @ SqlType::Catalog(catalog) if ty.object_kind().is_some() || is_ordered(*catalog) => return Ok(()),
        SqlType::Array(item) => return check_key_type(item, column),
        SqlType::Record(row) => {
            return row
                .fields
                .iter()
                .try_for_each(|field| check_key_type(&field.ty, column));
        }
        SqlType::Json => "documents have no order; use jsonb, or text",
        SqlType::TsVector | SqlType::TsQuery => {
            "which documents have a word no key range tells; keep the words that are searched for in rows of a table of their own"
        }
        SqlType::Int2Vector => "it is a type of the system catalogs; use smallint[]",
        SqlType::Catalog(_) => "it is a type of the system catalogs; use text or bigint",
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

/// Whether a number of the catalogs has an order as a value; those of transactions begin anew.
fn is_ordered(ty: CatalogType) -> bool {
    matches!(ty, CatalogType::Xid8 | CatalogType::Tid | CatalogType::PgLsn)
}

/// Whether a field tells which value it is of: those do not of types where equal values may differ, as numerics without a fixed size, of
/// which 1.5 and 1.50 are one, citext, intervals and documents, nor any that are made of others. The value itself then stands in what is
/// under the key.
pub fn tells_value(ty: &SqlType) -> bool {
    match ty {
        SqlType::Citext
        | SqlType::Interval(_)
        | SqlType::Jsonb
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Array(_)
        | SqlType::Record(_) => false,
        ty => !ty.is_variable_numeric(),
    }
}
