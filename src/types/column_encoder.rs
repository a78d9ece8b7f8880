//! STUB
use arrow::array::ArrayRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use super::{SqlType, FormatSettings};
pub struct ColumnEncoder<'a> { array: &'a ArrayRef, f: ArrayFormatter<'a> }
static O: FormatOptions<'static> = FormatOptions::new();
impl<'a> ColumnEncoder<'a> {
    pub fn new(_: &SqlType, array: &'a ArrayRef, _binary: bool, _: &FormatSettings) -> Self { ColumnEncoder { array, f: ArrayFormatter::try_new(array, &O).unwrap() } }
    pub fn encode(&self, row: usize, buffer: &mut Vec<u8>) -> bool {
        if self.array.is_null(row) { return false; }
        use std::io::Write; write!(buffer, "{}", self.f.value(row)).unwrap(); true
    }
}
