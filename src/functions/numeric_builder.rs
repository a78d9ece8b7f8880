//! Numerics gathered into an Arrow array of their type: each brought to the type's scale and held to its digits.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Decimal128Builder};

use crate::Result;
use crate::system::datafusion_error::from_arrow;
use crate::types::{Numeric, NumericSize, SqlType};

/// An array of numerics that is being built.
#[derive(Debug)]
pub(crate) enum NumericBuilder {
    /// In 16 bytes.
    Fixed {
        builder: Decimal128Builder,
        size: NumericSize,
        /// The first magnitude, as an integer, that is too large.
        limit: u128,
    },
    /// Of variable length.
    Variable {
        builder: BinaryBuilder,
        size: Option<NumericSize>,
        scratch: Vec<u8>,
    },
}

impl NumericBuilder {
    /// For `rows` numbers of the type; of a type other than numeric, for bare numerics.
    pub(crate) fn new(rows: usize, ty: &SqlType) -> NumericBuilder {
        if let Some(size) = ty.fixed_size() {
            return NumericBuilder::Fixed {
                builder: Decimal128Builder::with_capacity(rows),
                size,
                limit: 10_u128
                    .checked_pow(u32::from(size.precision))
                    .unwrap_or(u128::MAX),
            };
        }
        NumericBuilder::Variable {
            builder: BinaryBuilder::with_capacity(rows, rows * 8),
            size: match ty {
                SqlType::Numeric(size) => *size,
                _ => None,
            },
            scratch: Vec::new(),
        }
    }

    /// Answers how many bytes a number of variable length took. Errors: 22003 for a number that the type cannot hold.
    pub(crate) fn append(&mut self, number: &Numeric) -> Result<usize> {
        match self {
            NumericBuilder::Fixed { builder, size, limit } => {
                let unscaled = number.unscaled_at(size.shown_scale());
                match unscaled.filter(|unscaled| unscaled.unsigned_abs() < *limit) {
                    Some(unscaled) => builder.append_value(unscaled),
                    // It tells why.
                    None => drop(number.clone().fit(Some(*size))?),
                }
            }
            NumericBuilder::Variable {
                builder,
                size,
                scratch,
            } => {
                scratch.clear();
                match size {
                    None => number.put_bytes(scratch),
                    size => number.clone().fit(*size)?.put_bytes(scratch),
                }
                builder.append_value(&scratch);
                return Ok(scratch.len());
            }
        }
        Ok(0)
    }

    pub(crate) fn append_null(&mut self) {
        match self {
            NumericBuilder::Fixed { builder, .. } => builder.append_null(),
            NumericBuilder::Variable { builder, .. } => builder.append_null(),
        }
    }

    pub(crate) fn finish(self) -> Result<ArrayRef> {
        Ok(match self {
            NumericBuilder::Fixed {
                mut builder, size, ..
            } => {
                let array = builder.finish();
                let array = array.with_precision_and_scale(size.precision as u8, size.scale as i8);
                Arc::new(array.map_err(|error| from_arrow(&error))?)
            }
            NumericBuilder::Variable { mut builder, .. } => Arc::new(builder.finish()),
        })
    }
}
