//! Order-preserving key fields: bytes compare as SQL values compare. One tag byte and a payload a field; a DESC field
//! is the bitwise complement of the whole field, tag included; tags 00 and FF never occur (DESIGN table in `codec`).

use arrow::array::ArrayRef;

use crate::Result;
use crate::types::{SqlType, Value};

/// How one column stands in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyField {
    /// The column's type; one that `check_key_type` allows.
    pub ty: SqlType,
    /// DESC.
    pub descending: bool,
    /// Where NULLs stand (index columns only): `true` before all values. PostgreSQL's default: last if ASC, first if DESC.
    pub nulls_first: bool,
}

/// Whether a column of this type may stand in a key. Errors: 0A000 with the reason (interval, json, bare numeric …).
pub fn check_key_type(_ty: &SqlType, _column: &str) -> Result<()> {
    unimplemented!()
}

/// The tag byte of the type's fields (before complement).
pub fn tag(_ty: &SqlType) -> u8 {
    unimplemented!()
}

/// Appends the field of a value that already has the column's type (see `Value::assign`); `Value::Null` appends the
/// NULL field. Normalizes −0 and NaN, drops char(n)'s trailing blanks.
pub fn encode_value(_out: &mut Vec<u8>, _value: &Value, _field: &KeyField) {
    unimplemented!()
}

/// Appends the field of row `row` of an Arrow array of the field's type; same bytes as `encode_value`.
pub fn encode_array(_out: &mut Vec<u8>, _array: &ArrayRef, _row: usize, _field: &KeyField) {
    unimplemented!()
}

/// The length of the field that `bytes` starts with. Errors: `Corrupt`.
pub fn field_length(_bytes: &[u8], _field: &KeyField) -> Result<usize> {
    unimplemented!()
}

/// Decodes the field that `bytes` starts with: the value and the field's length. Errors: `Corrupt`.
pub fn decode_value(_bytes: &[u8], _field: &KeyField) -> Result<(Value, usize)> {
    unimplemented!()
}
