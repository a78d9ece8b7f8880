//! oid and the types that are one within a query: which they are, and the integers that they stand for.

use arrow::datatypes::DataType;

use crate::Result;
use crate::types::{CatalogType, SqlType, narrow_integer};

/// oid and the types that are one within a query (regclass, regproc …).
pub fn oid_like(ty: &SqlType) -> bool {
    match ty {
        SqlType::Oid | SqlType::Regclass => true,
        SqlType::Catalog(kind) if is_no_object(*kind) => false,
        SqlType::Catalog(_) => ty.arrow_type() == DataType::Int64,
        _ => false,
    }
}

/// Whether values of the type are numbers of transactions or places, which no integer becomes.
pub(super) fn is_no_object(kind: CatalogType) -> bool {
    matches!(
        kind,
        CatalogType::Xid | CatalogType::Xid8 | CatalogType::Cid | CatalogType::Tid | CatalogType::PgLsn
    )
}

/// An integer of type `from` as an oid: a negative one of up to four bytes stands for the unsigned number of the same bits.
/// Errors: 22003 for a bigint that is none.
pub(super) fn oid_of_integer(number: i64, from: &SqlType) -> Result<i64> {
    match from {
        SqlType::Int8 => narrow_integer::<u32>(number, "OID").map(i64::from),
        _ => Ok(number & i64::from(u32::MAX)),
    }
}

/// An oid as the integer of the same bits.
pub(super) fn integer_of_oid(oid: i64) -> i32 {
    oid as u32 as i32 // an oid has 32 bits
}
