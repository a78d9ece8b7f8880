//! What the modifiers of types may be: lengths, precision and scale, as SQL text gives them. Called by `type_names`.

use super::bits::BITS_MAX;
use super::sql_type::{CHARACTERS_MAX, NUMERIC_PRECISION_MAX};
use super::{NumericSize, SqlType};
use crate::{Error, Result};

/// The characters of varchar(n) and char(n). Errors: 22023.
pub(super) fn character_length(length: i64, type_name: &str) -> Result<u32> {
    if length < 1 {
        return Err(invalid_modifier(format!(
            "length for type {type_name} must be at least 1"
        )));
    }
    u32::try_from(length)
        .ok()
        .filter(|length| *length <= CHARACTERS_MAX)
        .ok_or_else(|| {
            invalid_modifier(format!(
                "length for type {type_name} cannot exceed {CHARACTERS_MAX}"
            ))
        })
}

/// The bits of bit(n) and bit varying(n). Errors: 22023.
pub(super) fn bit_length(length: i64, name: &str) -> Result<u32> {
    if length > BITS_MAX {
        return Err(invalid_modifier(format!(
            "length for type {name} cannot exceed {BITS_MAX}"
        )));
    }
    match u32::try_from(length) {
        Ok(bits @ 1..) => Ok(bits),
        _ => Err(invalid_modifier(format!(
            "length for type {name} must be at least 1"
        ))),
    }
}

/// Precision and scale of a numeric. Errors: 22023.
pub(super) fn numeric_size(precision: i64, scale: i64) -> Result<NumericSize> {
    if !(1..=NUMERIC_PRECISION_MAX).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and {NUMERIC_PRECISION_MAX}");
        return Err(invalid_modifier(message));
    }
    if scale.abs() > NUMERIC_PRECISION_MAX {
        return Err(invalid_modifier(format!(
            "NUMERIC scale {scale} must be between -{NUMERIC_PRECISION_MAX} and {NUMERIC_PRECISION_MAX}"
        )));
    }
    Ok(NumericSize {
        precision: precision as u16,
        scale: scale as i16,
    })
}

/// `float(n)`: n counts binary digits. Errors: 22023.
pub(super) fn float_of_bits(modifiers: &[i64]) -> Result<SqlType> {
    match modifiers {
        [1..=24] => Ok(SqlType::Float4),
        [25..=53] => Ok(SqlType::Float8),
        [bits] if *bits < 1 => Err(invalid_modifier(
            "precision for type float must be at least 1 bit".to_string(),
        )),
        _ => Err(invalid_modifier(
            "precision for type float must be less than 54 bits".to_string(),
        )),
    }
}

/// The error of a modifier that is out of range: 22023.
pub(super) fn invalid_modifier(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}
