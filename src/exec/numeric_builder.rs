//! Numerics gathered into an Arrow array of their type: each brought to the type's scale and held to its digits.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Builder, Decimal256Builder};
use arrow::datatypes::DataType;

use super::datafusion_error::from_arrow;
use crate::types::{Numeric, SqlType};
use crate::{Error, Result};

/// An array of numerics that is being built.
#[derive(Debug)]
pub(super) enum NumericBuilder {
    /// In 16 bytes.
    Narrow {
        builder: Decimal128Builder,
        precision: u8,
        scale: i8,
    },
    /// In 32 bytes.
    Wide {
        builder: Decimal256Builder,
        precision: u8,
        scale: i8,
    },
}

impl NumericBuilder {
    /// For `rows` numbers of the type; of a type other than numeric, for bare numerics.
    pub(super) fn new(rows: usize, ty: &SqlType) -> NumericBuilder {
        match ty.arrow_type() {
            DataType::Decimal128(precision, scale) => NumericBuilder::Narrow {
                builder: Decimal128Builder::with_capacity(rows),
                precision,
                scale,
            },
            DataType::Decimal256(precision, scale) => NumericBuilder::Wide {
                builder: Decimal256Builder::with_capacity(rows),
                precision,
                scale,
            },
            _ => NumericBuilder::new(rows, &SqlType::Numeric(None)),
        }
    }

    /// Errors: 22003 for a number that the type cannot hold.
    pub(super) fn append(&mut self, number: &Numeric) -> Result<()> {
        let (NumericBuilder::Narrow { scale, .. } | NumericBuilder::Wide { scale, .. }) = *self;
        let Numeric::Finite { unscaled, .. } = number.rescale(u8::try_from(scale).unwrap_or(0))? else {
            return Err(Error::NumericOutOfRange {
                message: "numeric field overflow".to_string(),
                detail: Some("NaN and infinity are not stored in numeric values here.".to_string()),
            });
        };
        match self {
            NumericBuilder::Narrow {
                builder,
                precision,
                scale,
            } => {
                let limit = 10_u128.checked_pow(u32::from(*precision)).unwrap_or(u128::MAX);
                let narrow = unscaled.to_i128().filter(|number| number.unsigned_abs() < limit);
                builder.append_value(narrow.ok_or_else(|| numeric_overflow(*precision, *scale))?);
            }
            NumericBuilder::Wide { builder, .. } => builder.append_value(unscaled),
        }
        Ok(())
    }

    pub(super) fn append_null(&mut self) {
        match self {
            NumericBuilder::Narrow { builder, .. } => builder.append_null(),
            NumericBuilder::Wide { builder, .. } => builder.append_null(),
        }
    }

    pub(super) fn finish(self) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            NumericBuilder::Narrow {
                mut builder,
                precision,
                scale,
            } => {
                let array = builder.finish().with_precision_and_scale(precision, scale);
                Arc::new(array.map_err(|error| from_arrow(&error))?)
            }
            NumericBuilder::Wide {
                mut builder,
                precision,
                scale,
            } => {
                let array = builder.finish().with_precision_and_scale(precision, scale);
                Arc::new(array.map_err(|error| from_arrow(&error))?)
            }
        };
        Ok(array)
    }
}

/// 22003 for a numeric that its type cannot hold, in PostgreSQL's words.
fn numeric_overflow(precision: u8, scale: i8) -> Error {
    Error::NumericOutOfRange {
        message: "numeric field overflow".to_string(),
        detail: Some(format!(
            "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
            i16::from(precision) - i16::from(scale)
        )),
    }
}
