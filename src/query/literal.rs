//! Constants and casts: literals of every form, typed literals, intervals, `CAST` with the modifiers of its type.

use datafusion::logical_expr::{Expr, Volatility};
use sqlparser::ast;

use super::binder::{Binder, Bound, Place};
use super::coercion::CastContext;
use crate::exec::functions;
use crate::parse::interval_range;
use crate::parse::type_name::{fraction_digits, sql_type};
use crate::types::{IntervalRange, Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// `DATE '2024-02-29'`: a constant whose type is written before it.
    pub(super) fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Bound> {
        let text = typed.value.value.clone().into_string().unwrap_or_default();
        let ty = sql_type(&typed.data_type)?;
        let text = with_units(text, interval_range::of_type(&typed.data_type));
        let bound = self.convert(Bound::unknown(Some(text)), &ty, CastContext::Explicit)?;
        self.apply_type_options(bound, &typed.data_type)
    }

    /// What the type's name keeps of the value: fields of an interval, digits behind the second.
    fn apply_type_options(&mut self, bound: Bound, data_type: &ast::DataType) -> Result<Bound> {
        let bound = self.cut_to_interval_range(bound, interval_range::of_type(data_type))?;
        self.round_fraction_digits(bound, fraction_digits(data_type))
    }

    /// The value rounded to so many digits behind the second.
    fn round_fraction_digits(&mut self, bound: Bound, digits: Option<u64>) -> Result<Bound> {
        let Some(digits) = digits else {
            return Ok(bound);
        };
        let digits = Value::Int(i64::try_from(digits).unwrap_or(6));
        if let Some(value) = bound.literal()? {
            return Bound::constant(&functions::round_fraction(&value, &digits)?, bound.ty);
        }
        self.call_with_number("round_fraction", functions::ROUND_FRACTION, bound, &digits)
    }

    /// An interval without what is smaller than its last field.
    fn cut_to_interval_range(&mut self, bound: Bound, range: Option<IntervalRange>) -> Result<Bound> {
        let Some(range) = range else {
            return Ok(bound);
        };
        if let Some(value) = bound.literal()? {
            return Bound::constant(&functions::cut_interval(&value, range.last)?, bound.ty);
        }
        let field = Value::Int(range.last as i64);
        self.call_with_number("cut_interval", functions::CUT_INTERVAL, bound, &field)
    }

    /// A function of a value and a number that keeps the type.
    fn call_with_number(
        &self,
        name: &str,
        body: functions::Body,
        bound: Bound,
        limit: &Value,
    ) -> Result<Bound> {
        let limit = Bound::constant(limit, SqlType::Int4)?;
        let definition = (name, body, true, Volatility::Immutable);
        let arguments = vec![(bound.expr, bound.ty.clone()), (limit.expr, limit.ty)];
        let call = functions::call(definition, arguments, bound.ty.clone(), &self.settings);
        Ok(Bound::new(call, bound.ty))
    }

    /// A literal of SQL text.
    pub(super) fn literal(&mut self, value: &ast::Value) -> Result<Bound> {
        use ast::Value as V;
        if let Some(text) = string_literal(value) {
            return Ok(Bound::unknown(Some(text.clone())));
        }
        match value {
            V::Number(text, _) => number_literal(text),
            V::Boolean(flag) => Bound::constant(&Value::Bool(*flag), SqlType::Bool),
            V::Null => Ok(Bound::unknown(None)),
            V::Placeholder(id) => self.parameter(id),
            V::HexStringLiteral(text) => {
                let bound = Bound::unknown(Some(format!("\\x{text}")));
                self.convert(bound, &SqlType::Bytea, CastContext::Explicit)
            }
            other => Err(Error::unsupported(format!("the literal {other}"), None)),
        }
    }

    pub(super) fn interval(&mut self, interval: &ast::Interval, place: Place<'_>) -> Result<Bound> {
        let value = self.expression(&interval.value, place)?;
        let Expr::Literal(datafusion::common::ScalarValue::Utf8(Some(text)), _) = &value.expr else {
            return self.convert(value, &SqlType::Interval, CastContext::Explicit);
        };
        let range = interval_range::of_literal(interval)?;
        let text = Bound::unknown(Some(with_units(text.clone(), range)));
        let bound = self.convert(text, &SqlType::Interval, CastContext::Explicit)?;
        let bound = self.cut_to_interval_range(bound, range)?;
        self.round_fraction_digits(bound, interval_range::digits_of_literal(interval))
    }

    pub(super) fn cast(
        &mut self,
        expr: &ast::Expr,
        data_type: &ast::DataType,
        place: Place<'_>,
    ) -> Result<Bound> {
        let target = sql_type(data_type)?;
        if let (ast::Expr::Array(array), SqlType::Array(item)) = (expr, &target)
            && array.elem.is_empty()
        {
            let empty = SqlType::Array(item.clone());
            return Bound::constant(&Value::Array(Vec::new()), empty);
        }
        let bound = self.expression(expr, place)?;
        let target = nested_like(&bound.ty, target);
        if target == SqlType::Numeric(None) && bound.ty.fixed_size().is_some() {
            // Its values show the digits that they have.
            return Ok(Bound {
                origin: None,
                ..bound
            });
        }
        if target == SqlType::Numeric(None)
            && matches!(bound.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
        {
            // A whole number has no digits behind the point.
            return self.as_numeric(bound);
        }
        let bound = match (interval_range::of_type(data_type), &bound.expr) {
            (range @ Some(_), Expr::Literal(datafusion::common::ScalarValue::Utf8(Some(text)), _)) => {
                Bound::unknown(Some(with_units(text.clone(), range)))
            }
            _ => bound,
        };
        let bound = self.convert(bound, &target, CastContext::Explicit)?;
        self.apply_type_options(bound, data_type)
    }
}

/// The text of an interval with the units that its fields say.
fn with_units(text: String, range: Option<IntervalRange>) -> String {
    match range {
        Some(range) => range.with_units(&text),
        None => text,
    }
}

/// The type of an array cast to: `text[]` is also the type of arrays of arrays of text.
fn nested_like(from: &SqlType, to: SqlType) -> SqlType {
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => SqlType::Array(Box::new(match from.as_ref() {
            SqlType::Array(_) if !matches!(*to, SqlType::Array(_)) => nested_like(from, SqlType::Array(to)),
            _ => nested_like(from, *to),
        })),
        (_, to) => to,
    }
}

/// The text of a string literal of any form.
pub(super) fn string_literal(value: &ast::Value) -> Option<&String> {
    use ast::Value as V;
    match value {
        V::SingleQuotedString(text)
        | V::EscapedStringLiteral(text)
        | V::UnicodeStringLiteral(text)
        | V::NationalStringLiteral(text) => Some(text),
        V::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// The digits of a number in SQL text, signed or not: an integer when 64 bits hold it, else a numeric. Errors: 22003.
pub(super) fn number_value(text: &str) -> Result<Value> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let based = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .iter()
        .find_map(|(prefix, base)| digits.strip_prefix(prefix).map(|rest| (rest, *base)));
    let whole = match based {
        Some((rest, base)) => i64::from_str_radix(&format!("{sign}{rest}"), base).ok(),
        None => text.parse::<i64>().ok(),
    };
    match whole {
        Some(whole) => Ok(Value::Int(whole)),
        None => Numeric::parse(&text).map(Value::Numeric),
    }
}

/// integer when it fits, else bigint, else numeric; numeric with a point or exponent.
pub(super) fn number_literal(text: &str) -> Result<Bound> {
    let number = match number_value(text)? {
        Value::Numeric(number) => number,
        value => return Bound::constant(&value, value.natural_type()),
    };
    let size = number.scale().and_then(|scale| {
        let digits = number.unscaled_at(scale)?.unsigned_abs();
        let digits = digits.checked_ilog10().map_or(0, |log| log as u16 + 1);
        // The 0 before the point is no digit of its own.
        let size = NumericSize {
            precision: digits.max(scale).max(1),
            scale: i16::try_from(scale).ok()?,
        };
        size.is_fixed().then_some(size)
    });
    Bound::constant(&Value::Numeric(number), SqlType::Numeric(size))
}
