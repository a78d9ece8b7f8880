//! Columns of values of which equal ones may differ, as what tells whether they are equal.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};

use super::{KeyField, encode_array, tells_value};
use crate::types::{SqlType, comparable_text, numeric_key};

/// The values as those that are equal are alike, and no others.
pub fn alike(values: &ArrayRef, ty: &SqlType) -> ArrayRef {
    if *ty == SqlType::Citext {
        let texts = values.as_string::<i32>().iter();
        let lower = texts.map(|text| text.map(|text| comparable_text(ty, text)));
        return Arc::new(lower.collect::<StringArray>());
    }
    if ty.is_variable_numeric() {
        let numbers = values.as_binary::<i32>().iter();
        let keys = numbers.map(|number| number.map(numeric_key));
        return Arc::new(keys.collect::<BinaryArray>());
    }
    if tells_value(ty) {
        return Arc::clone(values);
    }
    let field = KeyField::ascending(ty.clone());
    let keys = (0..values.len()).map(|row| {
        let mut key = Vec::new();
        encode_array(&mut key, values, row, &field);
        values.is_valid(row).then_some(key)
    });
    Arc::new(keys.collect::<BinaryArray>())
}
