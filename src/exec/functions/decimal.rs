//! Exact decimal arithmetic on `Numeric`: what `+ - * / %`, round and trunc of numerics compute with. Results beyond
//! 76 digits are 22003.

use arrow::datatypes::i256;

use crate::types::Numeric;
use crate::{Error, Result};

fn overflow() -> Error {
    Error::NumericOutOfRange {
        message: "value overflows numeric format".to_string(),
        detail: None,
    }
}

fn power_of_ten(exponent: u8) -> Result<i256> {
    i256::from_i128(10)
        .checked_pow(u32::from(exponent))
        .ok_or_else(overflow)
}

/// Both numbers at the larger of their scales.
fn align(a: (i256, u8), b: (i256, u8)) -> Result<(i256, i256, u8)> {
    let scale = a.1.max(b.1);
    let raise = |(unscaled, from): (i256, u8)| -> Result<i256> {
        unscaled
            .checked_mul(power_of_ten(scale - from)?)
            .ok_or_else(overflow)
    };
    Ok((raise(a)?, raise(b)?, scale))
}

/// Fewest digits behind the point that keep the value, so that bare numerics (38 digits each) multiply in 256 bits.
fn strip(unscaled: i256, scale: u8) -> (i256, u8) {
    let ten = i256::from_i128(10);
    let (mut unscaled, mut scale) = (unscaled, scale);
    while scale > 0 {
        let Some(rest) = unscaled.checked_rem(ten) else {
            break;
        };
        if rest != i256::ZERO {
            break;
        }
        unscaled = unscaled.wrapping_div(ten);
        scale -= 1;
    }
    (unscaled, scale)
}

/// `a + b`.
pub(crate) fn add(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match aligned(a, b)? {
        Some((x, y, scale)) => Ok(Numeric::Finite {
            unscaled: x.checked_add(y).ok_or_else(overflow)?,
            scale,
        }),
        None => Ok(special_sum(a, b)),
    }
}

fn special_sum(a: &Numeric, b: &Numeric) -> Numeric {
    match (a, b) {
        (Numeric::NaN, _) | (_, Numeric::NaN) => Numeric::NaN,
        (Numeric::Infinity, Numeric::NegativeInfinity) | (Numeric::NegativeInfinity, Numeric::Infinity) => {
            Numeric::NaN
        }
        (Numeric::Finite { .. }, other) | (other, _) => *other,
    }
}

/// `-a`.
pub(crate) fn negate(a: &Numeric) -> Numeric {
    match a {
        Numeric::Finite { unscaled, scale } => Numeric::Finite {
            unscaled: unscaled.wrapping_neg(),
            scale: *scale,
        },
        Numeric::Infinity => Numeric::NegativeInfinity,
        Numeric::NegativeInfinity => Numeric::Infinity,
        Numeric::NaN => Numeric::NaN,
    }
}

/// `a * b`.
pub(crate) fn multiply(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    let (
        Numeric::Finite {
            unscaled: x,
            scale: p,
        },
        Numeric::Finite {
            unscaled: y,
            scale: q,
        },
    ) = (a, b)
    else {
        return Ok(Numeric::NaN);
    };
    if let Some(product) = x.checked_mul(*y)
        && p + q <= 76
    {
        return Ok(Numeric::Finite {
            unscaled: product,
            scale: p + q,
        });
    }
    let ((x, p), (y, q)) = (strip(*x, *p), strip(*y, *q));
    let product = x.checked_mul(y).ok_or_else(overflow)?;
    Ok(Numeric::Finite {
        unscaled: product,
        scale: p + q,
    })
}

/// `a / b` with `scale` digits behind the point, rounded half away from zero.
pub(crate) fn divide(a: &Numeric, b: &Numeric, scale: u8) -> Result<Numeric> {
    let (
        Numeric::Finite {
            unscaled: x,
            scale: p,
        },
        Numeric::Finite {
            unscaled: y,
            scale: q,
        },
    ) = (a, b)
    else {
        return Ok(Numeric::NaN);
    };
    let ((x, p), (y, q)) = (strip(*x, *p), strip(*y, *q));
    if y == i256::ZERO {
        return Err(Error::DivisionByZero);
    }
    // x·10^-p / (y·10^-q) at `scale` digits is x·10^(scale+q-p) / y.
    let shift = i16::from(scale) + i16::from(q) - i16::from(p);
    let (dividend, divisor) = match u8::try_from(shift) {
        Ok(up) => (x.checked_mul(power_of_ten(up)?).ok_or_else(overflow)?, y),
        Err(_) => {
            let down = u8::try_from(-shift).map_err(|_| overflow())?;
            (x, y.checked_mul(power_of_ten(down)?).ok_or_else(overflow)?)
        }
    };
    Ok(Numeric::Finite {
        unscaled: divide_rounding(dividend, divisor)?,
        scale,
    })
}

/// The largest number that divides both into whole numbers; at the larger of their scales.
pub(crate) fn common_divisor(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    let Some((mut x, mut y, scale)) = aligned(a, b)? else {
        return Ok(Numeric::NaN);
    };
    while y != i256::ZERO {
        (x, y) = (y, x.checked_rem(y).ok_or_else(overflow)?);
    }
    let unscaled = absolute(x);
    Ok(Numeric::Finite { unscaled, scale })
}

/// The smallest number that both divide into whole numbers; 0 when one of them is.
pub(crate) fn common_multiple(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    let (
        Some((x, y, scale)),
        Numeric::Finite {
            unscaled: divisor, ..
        },
    ) = (aligned(a, b)?, common_divisor(a, b)?)
    else {
        return Ok(Numeric::NaN);
    };
    let unscaled = match x.checked_div(divisor) {
        Some(times) => absolute(times.checked_mul(y).ok_or_else(overflow)?),
        // Both are 0.
        None => i256::ZERO,
    };
    Ok(Numeric::Finite { unscaled, scale })
}

/// Two finite numbers at the larger of their scales.
fn aligned(a: &Numeric, b: &Numeric) -> Result<Option<(i256, i256, u8)>> {
    match (a, b) {
        (
            Numeric::Finite {
                unscaled: x,
                scale: p,
            },
            Numeric::Finite {
                unscaled: y,
                scale: q,
            },
        ) => align((*x, *p), (*y, *q)).map(Some),
        _ => Ok(None),
    }
}

/// The quotient rounded half away from zero.
fn divide_rounding(dividend: i256, divisor: i256) -> Result<i256> {
    let quotient = dividend.checked_div(divisor).ok_or_else(overflow)?;
    let rest = dividend.checked_rem(divisor).ok_or_else(overflow)?;
    let doubled = absolute(rest).checked_mul(i256::from_i128(2));
    if doubled.is_none_or(|doubled| doubled >= absolute(divisor)) && rest != i256::ZERO {
        let negative = (dividend < i256::ZERO) != (divisor < i256::ZERO);
        let step = if negative { i256::MINUS_ONE } else { i256::ONE };
        return quotient.checked_add(step).ok_or_else(overflow);
    }
    Ok(quotient)
}

fn absolute(value: i256) -> i256 {
    if value < i256::ZERO {
        value.wrapping_neg()
    } else {
        value
    }
}

/// How often `b` goes into `a`, as a whole number cut towards zero.
pub(super) fn whole_quotient(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match aligned(a, b)? {
        Some((_, i256::ZERO, _)) => Err(Error::DivisionByZero),
        Some((x, y, _)) => Ok(Numeric::Finite {
            unscaled: x.checked_div(y).ok_or_else(overflow)?,
            scale: 0,
        }),
        None => Ok(Numeric::NaN),
    }
}

/// `a % b`, with the sign of `a`.
pub(crate) fn modulo(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match aligned(a, b)? {
        Some((_, i256::ZERO, _)) => Err(Error::DivisionByZero),
        Some((x, y, scale)) => Ok(Numeric::Finite {
            unscaled: x.checked_rem(y).ok_or_else(overflow)?,
            scale,
        }),
        None => Ok(Numeric::NaN),
    }
}

/// `a` cut to `scale` digits behind the point, towards zero; negative scales cut before the point.
pub(crate) fn truncate(a: &Numeric, scale: i32) -> Result<Numeric> {
    round_with(a, scale, |dividend, divisor| {
        dividend.checked_div(divisor).ok_or_else(overflow)
    })
}

/// `a` rounded half away from zero to `scale` digits behind the point; negative scales round before the point.
pub(crate) fn round(a: &Numeric, scale: i32) -> Result<Numeric> {
    round_with(a, scale, divide_rounding)
}

/// The largest whole number not above `a`.
pub(crate) fn floor(a: &Numeric) -> Result<Numeric> {
    round_with(a, 0, |dividend, divisor| {
        let quotient = dividend.checked_div(divisor).ok_or_else(overflow)?;
        let rest = dividend.checked_rem(divisor).ok_or_else(overflow)?;
        if rest < i256::ZERO {
            quotient.checked_sub(i256::ONE).ok_or_else(overflow)
        } else {
            Ok(quotient)
        }
    })
}

fn round_with(a: &Numeric, scale: i32, divide: impl Fn(i256, i256) -> Result<i256>) -> Result<Numeric> {
    let Numeric::Finite {
        unscaled,
        scale: from,
    } = a
    else {
        return Ok(*a);
    };
    let drop = i32::from(*from) - scale;
    if drop <= 0 {
        return Ok(*a);
    }
    let Ok(drop) = u8::try_from(drop) else {
        return Ok(Numeric::from_i64(0));
    };
    if drop > 76 {
        return Ok(Numeric::from_i64(0));
    }
    let quotient = divide(*unscaled, power_of_ten(drop)?)?;
    match u8::try_from(scale) {
        Ok(scale) => Ok(Numeric::Finite {
            unscaled: quotient,
            scale,
        }),
        Err(_) => {
            let back = u8::try_from(-scale).map_err(|_| overflow())?;
            let unscaled = quotient.checked_mul(power_of_ten(back)?).ok_or_else(overflow)?;
            Ok(Numeric::Finite { unscaled, scale: 0 })
        }
    }
}

/// The digits behind the point that PostgreSQL gives `a / b` (`select_div_scale`): at least 16 significant ones.
pub fn quotient_scale(a: &Numeric, b: &Numeric) -> u8 {
    let (weight_a, first_a) = leading(a);
    let (weight_b, first_b) = leading(b);
    let mut weight = weight_a - weight_b;
    if first_a <= first_b {
        weight -= 1;
    }
    let scale_of = |number: &Numeric| match number {
        Numeric::Finite { scale, .. } => i32::from(*scale),
        _ => 0,
    };
    let scale = (16 - weight * 4).max(scale_of(a)).max(scale_of(b)).clamp(0, 38);
    u8::try_from(scale).unwrap_or(16)
}

/// Weight and value of the first base-10,000 digit.
pub(super) fn leading(number: &Numeric) -> (i32, i32) {
    let Numeric::Finite { unscaled, scale } = number else {
        return (0, 0);
    };
    let digits = absolute(*unscaled).to_string();
    if digits == "0" {
        return (0, 0);
    }
    // Position of the first digit before the point: 0 for ones, 3 for thousands, -1 for tenths.
    let position = i32::try_from(digits.len()).unwrap_or(0) - 1 - i32::from(*scale);
    let weight = position.div_euclid(4);
    let taken = usize::try_from(position.rem_euclid(4) + 1).unwrap_or(1);
    let mut head: String = digits.chars().take(taken).collect();
    while head.len() < taken {
        head.push('0');
    }
    (weight, head.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(unscaled: i128, scale: u8) -> Numeric {
        Numeric::Finite {
            unscaled: i256::from_i128(unscaled),
            scale,
        }
    }

    #[test]
    fn quotients_have_postgresql_scales() {
        assert_eq!(quotient_scale(&number(214, 0), &number(2, 0)), 16);
        assert_eq!(quotient_scale(&number(1, 0), &number(1, 0)), 20);
        assert_eq!(quotient_scale(&number(1, 0), &number(3, 0)), 20);
        assert_eq!(quotient_scale(&number(99_999, 0), &number(5, 0)), 12);
    }

    #[test]
    fn division_rounds_half_away_from_zero() {
        assert_eq!(
            divide(&number(-5, 0), &number(2, 0), 0).expect("it divides"),
            number(-3, 0)
        );
        assert_eq!(
            divide(&number(1, 0), &number(3, 0), 4).expect("it divides"),
            number(3333, 4)
        );
        assert_eq!(
            divide(&number(1, 0), &number(0, 0), 4),
            Err(Error::DivisionByZero)
        );
    }

    #[test]
    fn rounding_reaches_before_the_point() {
        assert_eq!(round(&number(12_550, 1), -2).expect("it rounds"), number(1300, 0));
        assert_eq!(truncate(&number(-199, 2), 1).expect("it cuts"), number(-19, 1));
        assert_eq!(floor(&number(-11, 1)).expect("it cuts"), number(-2, 0));
    }
}
