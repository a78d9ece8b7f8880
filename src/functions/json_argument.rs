//! Pieces of JSON as what functions take and give.

use arrow::array::{ArrayRef, StringArray};

use super::argument::Argument;
use super::output::Output;
use crate::Result;
use crate::types::json_piece::Piece;
use crate::types::{ResultLimits, SqlType, check_escapes};

impl<'a> Argument<'a> for Piece<'a> {
    type Column = &'a StringArray;
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<&'a StringArray> {
        <&str as Argument>::column(array, ty)
    }
    fn cell(column: &&'a StringArray, row: usize) -> Result<Piece<'a>> {
        let text = <&str as Argument>::cell(column, row)?;
        check_escapes(text)?;
        Ok(Piece::new(text))
    }
}

impl<'a> Output for Piece<'a> {
    type Column = <&'a str as Output>::Column;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Self::Column {
        <&str as Output>::column(rows, ty, limits)
    }
    fn append(self, column: &mut Self::Column) -> Result<()> {
        self.text().append(column)
    }
    fn append_null(column: &mut Self::Column) {
        <&str as Output>::append_null(column);
    }
    fn finish(column: Self::Column) -> Result<ArrayRef> {
        <&str as Output>::finish(column)
    }
}
