//! A column of text or bytes that LIKE is asked of.

use arrow::array::{Array, AsArray, BinaryArray, BooleanArray, StringArray};
use arrow::datatypes::DataType;

use crate::{Error, Result};

/// The values of an array, or as many NULLs.
pub(crate) enum LikeValues<'a> {
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Nulls(usize),
}

impl<'a> LikeValues<'a> {
    /// Errors: XX000 for an array of anything else.
    pub(crate) fn of(array: &'a dyn Array) -> Result<LikeValues<'a>> {
        match array.data_type() {
            DataType::Utf8 => Ok(LikeValues::Text(array.as_string())),
            DataType::Binary => Ok(LikeValues::Bytes(array.as_binary())),
            DataType::Null => Ok(LikeValues::Nulls(array.len())),
            other => Err(Error::internal(format!("LIKE over {other}"))),
        }
    }

    /// Whether `_` takes one character of these rather than one byte.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, LikeValues::Text(_))
    }

    /// The bytes of a row's value; `None`: NULL.
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            LikeValues::Text(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            LikeValues::Bytes(array) => array.is_valid(row).then(|| array.value(row)),
            LikeValues::Nulls(_) => None,
        }
    }

    /// What a test says of each row's value; NULL stays NULL.
    pub(crate) fn matched(
        &self,
        mut test: impl FnMut(usize, &'a [u8]) -> Result<Option<bool>>,
    ) -> Result<BooleanArray> {
        let rows = match self {
            LikeValues::Text(array) => array.len(),
            LikeValues::Bytes(array) => array.len(),
            LikeValues::Nulls(rows) => *rows,
        };
        (0..rows)
            .map(|row| self.get(row).map_or(Ok(None), |value| test(row, value)))
            .collect()
    }
}
