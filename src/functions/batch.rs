//! One call of a function: the arrays of its arguments, and the mapping of a function of Rust values over their rows.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;

use super::argument::Argument;
use super::mismatched_types;
use super::output::Output;
use super::size::{BatchBytes, bytes_of};
use crate::Result;
use crate::system::query_threads::check_left;
use crate::types::value_at;
use crate::types::{FormatSettings, ResultLimits, SqlType, Value};

/// Rows that are computed before it is asked whether anybody still waits for them.
const ROWS_UNASKED: usize = 64;

/// What a function is given.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Its arguments, each of `rows` rows.
    pub arrays: &'a [ArrayRef],
    /// The argument types.
    pub arguments: &'a [SqlType],
    /// The result type.
    pub returns: &'a SqlType,
    /// How many rows.
    pub rows: usize,
    /// Whether it gives NULL for any NULL.
    pub strict: bool,
    /// What reading and printing depends on.
    pub settings: &'a FormatSettings,
}

impl<'a> Batch<'a> {
    /// How long a result may be.
    pub(super) fn limits(&self) -> ResultLimits {
        self.settings.result_limits
    }

    /// The results of a function of no arguments, called for each row.
    pub(super) fn map0<R: Output>(&self, function: impl Fn() -> R) -> Result<ArrayRef> {
        self.gather(None, |_| Ok(function()))
    }

    /// The results of a function of one argument.
    pub(super) fn map1<A, R>(&self, function: impl Fn(A) -> R) -> Result<ArrayRef>
    where
        A: Argument<'a>,
        R: Output,
    {
        let a = self.column::<A>(0)?;
        self.gather(self.nulls(&[A::TAKES_NULL]), |row| {
            Ok(function(A::cell(&a, row)?))
        })
    }

    /// The results of a function of two arguments.
    pub(super) fn map2<A, B, R>(&self, function: impl Fn(A, B) -> R) -> Result<ArrayRef>
    where
        A: Argument<'a>,
        B: Argument<'a>,
        R: Output,
    {
        let (a, b) = (self.column::<A>(0)?, self.column::<B>(1)?);
        self.gather(self.nulls(&[A::TAKES_NULL, B::TAKES_NULL]), |row| {
            Ok(function(A::cell(&a, row)?, B::cell(&b, row)?))
        })
    }

    /// The results of a function of three arguments.
    pub(super) fn map3<A, B, C, R>(&self, function: impl Fn(A, B, C) -> R) -> Result<ArrayRef>
    where
        A: Argument<'a>,
        B: Argument<'a>,
        C: Argument<'a>,
        R: Output,
    {
        let (a, b, c) = (self.column::<A>(0)?, self.column::<B>(1)?, self.column::<C>(2)?);
        let nulls = self.nulls(&[A::TAKES_NULL, B::TAKES_NULL, C::TAKES_NULL]);
        self.gather(nulls, |row| {
            Ok(function(A::cell(&a, row)?, B::cell(&b, row)?, C::cell(&c, row)?))
        })
    }

    /// The results of a function of four arguments.
    pub(super) fn map4<A, B, C, D, R>(&self, function: impl Fn(A, B, C, D) -> R) -> Result<ArrayRef>
    where
        A: Argument<'a>,
        B: Argument<'a>,
        C: Argument<'a>,
        D: Argument<'a>,
        R: Output,
    {
        let (a, b) = (self.column::<A>(0)?, self.column::<B>(1)?);
        let (c, d) = (self.column::<C>(2)?, self.column::<D>(3)?);
        let nulls = self.nulls(&[A::TAKES_NULL, B::TAKES_NULL, C::TAKES_NULL, D::TAKES_NULL]);
        self.gather(nulls, |row| {
            let (a, b) = (A::cell(&a, row)?, B::cell(&b, row)?);
            Ok(function(a, b, C::cell(&c, row)?, D::cell(&d, row)?))
        })
    }

    /// The results of a function of one argument and all that follow it, which are of one type.
    pub(super) fn map_rest<A, B, R>(&self, function: impl Fn(A, Vec<B>) -> R) -> Result<ArrayRef>
    where
        A: Argument<'a>,
        B: Argument<'a>,
        R: Output,
    {
        let a = self.column::<A>(0)?;
        let rest = (1..self.arrays.len()).map(|place| self.column::<B>(place));
        let rest = rest.collect::<Result<Vec<_>>>()?;
        let mut takes_null = vec![B::TAKES_NULL; self.arrays.len()];
        takes_null[0] = A::TAKES_NULL;
        self.gather(self.nulls(&takes_null), |row| {
            let rest = rest.iter().map(|column| B::cell(column, row));
            Ok(function(A::cell(&a, row)?, rest.collect::<Result<_>>()?))
        })
    }

    /// The results of a function of any arguments, of whatever types.
    pub(super) fn map_values<R: Output>(&self, function: impl Fn(&[Value]) -> R) -> Result<ArrayRef> {
        let nulls = self.nulls(&vec![!self.strict; self.arrays.len()]);
        self.gather(nulls, |row| {
            // The arguments are copied here: one long text that is many of them counts as often.
            let mut copied = BatchBytes::new(self.limits());
            let cells = self.arrays.iter().zip(self.arguments).map(|(array, ty)| {
                let value = value_at(array, row, ty)?;
                copied.add_bytes(bytes_of(&value))?;
                Ok(value)
            });
            let values: Vec<Value> = cells.collect::<Result<_>>()?;
            Ok(function(&values))
        })
    }

    fn column<A: Argument<'a>>(&self, position: usize) -> Result<A::Column> {
        match (self.arrays.get(position), self.arguments.get(position)) {
            (Some(array), Some(ty)) => A::column(array, ty),
            _ => Err(mismatched_types()),
        }
    }

    /// The rows in which an argument that takes no NULL is one.
    fn nulls(&self, takes_null: &[bool]) -> Option<NullBuffer> {
        let strict = self.arrays.iter().zip(takes_null).filter(|(_, takes)| !**takes);
        strict.fold(None, |nulls, (array, _)| {
            NullBuffer::union(nulls.as_ref(), array.nulls())
        })
    }

    /// What `compute` gives for each row, NULL for the rows of `nulls`.
    fn gather<R: Output>(
        &self,
        nulls: Option<NullBuffer>,
        compute: impl Fn(usize) -> Result<R>,
    ) -> Result<ArrayRef> {
        let mut column = R::column(self.rows, self.returns, self.limits());
        for row in 0..self.rows {
            if row % ROWS_UNASKED == 0 {
                check_left()?;
            }
            match &nulls {
                Some(nulls) if nulls.is_null(row) => R::append_null(&mut column),
                _ => compute(row)?.append(&mut column)?,
            }
        }
        R::finish(column)
    }
}
