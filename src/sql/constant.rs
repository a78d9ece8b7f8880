//! Constant expressions of a WHERE clause, folded as PostgreSQL folds them before it plans: literals, parameters, casts,
//! `now()`, simple arithmetic. What it does not fold is left to the general path, errors included: that path raises them
//! in PostgreSQL's words.

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveDateTime};
use chrono_tz::Tz;
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArguments, Interval as IntervalExpr, UnaryOperator,
    Value as Literal,
};

use super::{interval_range, names, type_name};
use crate::Result;
use crate::types::{FormatSettings, Interval, Numeric, SqlType, Value, local_to_utc, utc_to_local};

const DAY_US: i64 = 86_400_000_000;

/// What constants depend on beside the statement's text.
pub(crate) struct ConstantContext<'a> {
    /// `$1` first.
    pub(crate) parameters: &'a [Value],
    /// The session's zone.
    pub(crate) time_zone: Tz,
    /// `now()`: microseconds since 1970 UTC.
    pub(crate) now_us: i64,
}

impl ConstantContext<'_> {
    /// The value of a constant expression (`Value::Unknown` for a string literal nothing has given a type); `None` when
    /// it is not constant, or not one that is folded here. Errors: those of reading literals (22P02, 22007, 22003).
    pub(crate) fn fold(&self, expr: &Expr) -> Result<Option<Value>> {
        Ok(match expr {
            Expr::Value(literal) => self.literal(&literal.value)?,
            Expr::Nested(inner) => self.fold(inner)?,
            Expr::UnaryOp {
                op: UnaryOperator::Plus,
                expr,
            } => self.fold(expr)?.filter(is_number),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => self.fold(expr)?.and_then(negate),
            Expr::Cast {
                expr,
                data_type,
                array: false,
                format: None,
                ..
            } if !is_cut(data_type) => match (self.fold(expr)?, type_name::get_sql_type(data_type)?) {
                (Some(value), Some(ty)) => self.cast(value, &ty)?,
                _ => None,
            },
            Expr::TypedString(typed) if !is_cut(&typed.data_type) => match (
                typed.value.clone().into_string(),
                type_name::get_sql_type(&typed.data_type)?,
            ) {
                (Some(text), Some(ty)) => Some(Value::parse(&text, &ty, &self.format_settings())?),
                _ => None,
            },
            Expr::Interval(interval) => self.interval(interval)?,
            Expr::Function(function) => self.clock(function),
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                match (self.fold(left)?, self.fold(right)?) {
                    (Some(left), Some(right)) => self.arithmetic(left, op, right),
                    _ => None,
                }
            }
            Expr::Array(array) => {
                let elements: Option<Vec<_>> = array
                    .elem
                    .iter()
                    .map(|element| self.fold(element))
                    .collect::<Result<_>>()?;
                elements.map(Value::Array)
            }
            _ => None,
        })
    }

    /// A timestamp of the session's zone as UTC.
    pub(crate) fn local_to_utc(&self, local_us: i64) -> Option<i64> {
        local_to_utc(self.time_zone, local_us)
    }

    /// A UTC timestamp in the session's zone.
    pub(crate) fn utc_to_local(&self, utc_us: i64) -> Option<i64> {
        utc_to_local(self.time_zone, utc_us)
    }

    /// What reading and printing values depends on.
    pub(crate) fn format_settings(&self) -> FormatSettings {
        FormatSettings {
            time_zone: self.time_zone,
            ..FormatSettings::default()
        }
    }

    fn literal(&self, literal: &Literal) -> Result<Option<Value>> {
        Ok(match literal {
            Literal::Number(text, _) => Some(match text.parse() {
                Ok(integer) => Value::Int(integer),
                Err(_) => number(text)?,
            }),
            Literal::SingleQuotedString(text)
            | Literal::EscapedStringLiteral(text)
            | Literal::UnicodeStringLiteral(text)
            | Literal::NationalStringLiteral(text) => Some(Value::Unknown(text.clone())),
            Literal::DollarQuotedString(quoted) => Some(Value::Unknown(quoted.value.clone())),
            Literal::Boolean(truth) => Some(Value::Bool(*truth)),
            Literal::Null => Some(Value::Null),
            Literal::Placeholder(name) => {
                let number = name
                    .strip_prefix('$')
                    .and_then(|digits| digits.parse::<usize>().ok());
                number
                    .and_then(|number| self.parameters.get(number.checked_sub(1)?))
                    .cloned()
            }
            _ => None,
        })
    }

    /// The casts of constants that are folded; others (and those that fail) are left to the general path.
    fn cast(&self, value: Value, ty: &SqlType) -> Result<Option<Value>> {
        Ok(match (value, ty) {
            (Value::Null, _) => Some(Value::Null),
            (Value::Unknown(text), ty) => Some(Value::parse(&text, ty, &self.format_settings())?),
            (Value::Text(text), SqlType::Text | SqlType::Varchar(None)) => Some(Value::Text(text)),
            (Value::Bool(truth), SqlType::Bool) => Some(Value::Bool(truth)),
            (Value::Int(value), SqlType::Int8) => Some(Value::Int(value)),
            (Value::Int(value), SqlType::Int4) => i32::try_from(value).is_ok().then_some(Value::Int(value)),
            (Value::Int(value), SqlType::Int2) => i16::try_from(value).is_ok().then_some(Value::Int(value)),
            (Value::Int(value), SqlType::Numeric(None)) => Some(Value::Numeric(Numeric::from_i64(value))),
            (Value::Numeric(value), SqlType::Numeric(None)) => Some(Value::Numeric(value)),
            (Value::Numeric(value), SqlType::Numeric(Some(size))) => {
                value.rescale(size.scale).ok().map(Value::Numeric)
            }
            (
                value @ (Value::Int(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_)),
                SqlType::Float8,
            ) => as_float(&value).map(Value::Float8),
            (
                value @ (Value::Int(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_)),
                SqlType::Float4,
            ) => as_float(&value)
                .map(|value| Value::Float4(value as f32))
                .filter(|value| *value != Value::Float4(f32::INFINITY)),
            (Value::Date(days), SqlType::Date) => Some(Value::Date(days)),
            (Value::Date(days), SqlType::Timestamp) => date_to_timestamp(days).map(Value::Timestamp),
            (Value::Date(days), SqlType::TimestampTz) => date_to_timestamp(days)
                .and_then(|us| self.local_to_utc(us))
                .map(Value::TimestampTz),
            (Value::Timestamp(us), SqlType::Timestamp) => Some(Value::Timestamp(us)),
            (Value::Timestamp(us), SqlType::TimestampTz) => self.local_to_utc(us).map(Value::TimestampTz),
            (Value::Timestamp(us), SqlType::Date) => Some(Value::Date(timestamp_to_date(us))),
            (Value::TimestampTz(us), SqlType::TimestampTz) => Some(Value::TimestampTz(us)),
            (Value::TimestampTz(us), SqlType::Timestamp) => self.utc_to_local(us).map(Value::Timestamp),
            (Value::TimestampTz(us), SqlType::Date) => {
                self.utc_to_local(us).map(|us| Value::Date(timestamp_to_date(us)))
            }
            (Value::Uuid(bytes), SqlType::Uuid) => Some(Value::Uuid(bytes)),
            (Value::Bytes(bytes), SqlType::Bytea) => Some(Value::Bytes(bytes)),
            (Value::Time(us), SqlType::Time) => Some(Value::Time(us)),
            (Value::Interval(interval), SqlType::Interval) => Some(Value::Interval(interval)),
            (Value::Array(values), SqlType::Array(element)) => {
                let values: Option<Vec<_>> = values
                    .into_iter()
                    .map(|value| self.cast(value, element))
                    .collect::<Result<_>>()?;
                values.map(Value::Array)
            }
            _ => None,
        })
    }

    fn interval(&self, interval: &IntervalExpr) -> Result<Option<Value>> {
        if interval.leading_precision.is_some()
            || interval.last_field.is_some()
            || interval.fractional_seconds_precision.is_some()
        {
            return Ok(None);
        }
        let Some(Value::Unknown(mut text)) = self.fold(&interval.value)? else {
            return Ok(None);
        };
        if let Some(field) = &interval.leading_field {
            // `INTERVAL '1' DAY`; with a unit in the text as well it means something else.
            if text.trim().parse::<i64>().is_err() {
                return Ok(None);
            }
            text = format!("{text} {field}");
        }
        Value::parse(&text, &SqlType::Interval, &self.format_settings()).map(Some)
    }

    /// `now()` and its like, all of them the start of the transaction.
    fn clock(&self, function: &Function) -> Option<Value> {
        let [part] = function.name.0.as_slice() else {
            return None;
        };
        let no_arguments = match &function.args {
            FunctionArguments::None => true,
            FunctionArguments::List(list) => list.args.is_empty() && list.clauses.is_empty(),
            FunctionArguments::Subquery(_) => false,
        };
        if !no_arguments || function.over.is_some() || function.filter.is_some() {
            return None;
        }
        match names::fold(part.as_ident()?).as_str() {
            "now" | "current_timestamp" | "transaction_timestamp" => Some(Value::TimestampTz(self.now_us)),
            "localtimestamp" => self.utc_to_local(self.now_us).map(Value::Timestamp),
            "current_date" => self
                .utc_to_local(self.now_us)
                .map(|us| Value::Date(timestamp_to_date(us))),
            _ => None,
        }
    }

    fn arithmetic(&self, left: Value, op: &BinaryOperator, right: Value) -> Option<Value> {
        use BinaryOperator::{Minus, Plus};
        match (left, op, right) {
            (Value::Null, _, right) if is_number(&right) => Some(Value::Null),
            (left, _, Value::Null) if is_number(&left) => Some(Value::Null),
            (Value::Int(left), op, Value::Int(right)) => int_arithmetic(left, op, right),
            (Value::Date(days), Plus, Value::Int(right)) | (Value::Int(right), Plus, Value::Date(days)) => {
                add_days(days, right)
            }
            (Value::Date(days), Minus, Value::Int(right)) => add_days(days, right.checked_neg()?),
            (Value::Timestamp(us), Plus, Value::Interval(interval))
            | (Value::Interval(interval), Plus, Value::Timestamp(us)) => {
                add_interval(us, &interval).map(Value::Timestamp)
            }
            (Value::Timestamp(us), Minus, Value::Interval(interval)) => {
                add_interval(us, &negate_interval(&interval)?).map(Value::Timestamp)
            }
            (Value::Date(days), op @ (Plus | Minus), interval @ Value::Interval(_)) => {
                self.arithmetic(Value::Timestamp(date_to_timestamp(days)?), op, interval)
            }
            (Value::TimestampTz(us), Plus, Value::Interval(interval))
            | (Value::Interval(interval), Plus, Value::TimestampTz(us)) => {
                self.add_interval_in_zone(us, &interval).map(Value::TimestampTz)
            }
            (Value::TimestampTz(us), Minus, Value::Interval(interval)) => self
                .add_interval_in_zone(us, &negate_interval(&interval)?)
                .map(Value::TimestampTz),
            (left @ (Value::Int(_) | Value::Numeric(_)), op, right @ (Value::Int(_) | Value::Numeric(_))) => {
                numeric_arithmetic(&left, op, &right)
            }
            // Arithmetic of two reals rounds to a real.
            (Value::Float4(_), _, Value::Float4(_)) => None,
            (left, op, right) => {
                let (left, right) = (as_float(&left)?, as_float(&right)?);
                float_arithmetic(left, op, right)
            }
        }
    }

    /// Months and days are counted in the session's zone, the rest in UTC.
    fn add_interval_in_zone(&self, utc_us: i64, interval: &Interval) -> Option<i64> {
        let calendar = Interval {
            microseconds: 0,
            ..*interval
        };
        let moved = if calendar.months == 0 && calendar.days == 0 {
            utc_us
        } else {
            self.local_to_utc(add_interval(self.utc_to_local(utc_us)?, &calendar)?)?
        };
        add_interval(
            moved,
            &Interval {
                months: 0,
                days: 0,
                microseconds: interval.microseconds,
            },
        )
    }
}

/// Midnight of a date; infinities stay infinite. `None` beyond what a timestamp can hold.
pub(crate) fn date_to_timestamp(days: i32) -> Option<i64> {
    match days {
        i32::MIN => Some(i64::MIN),
        i32::MAX => Some(i64::MAX),
        days => i64::from(days).checked_mul(DAY_US),
    }
}

fn timestamp_to_date(us: i64) -> i32 {
    match us {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        us => us.div_euclid(DAY_US) as i32,
    }
}

fn is_number(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_)
    )
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
    )
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Numeric(value) => Some(value.to_f64()),
        Value::Float4(value) => Some(f64::from(*value)),
        Value::Float8(value) => Some(*value),
        _ => None,
    }
}

fn negate(value: Value) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        Value::Int(value) => value.checked_neg().map(Value::Int),
        Value::Float4(value) => Some(Value::Float4(-value)),
        Value::Float8(value) => Some(Value::Float8(-value)),
        Value::Numeric(Numeric::Finite { unscaled, scale }) => Some(Value::Numeric(Numeric::Finite {
            unscaled: unscaled.checked_neg()?,
            scale,
        })),
        Value::Numeric(Numeric::Infinity) => Some(Value::Numeric(Numeric::NegativeInfinity)),
        Value::Numeric(Numeric::NegativeInfinity) => Some(Value::Numeric(Numeric::Infinity)),
        Value::Numeric(Numeric::NaN) => Some(Value::Numeric(Numeric::NaN)),
        Value::Interval(interval) => negate_interval(&interval).map(Value::Interval),
        _ => None,
    }
}

/// Integer arithmetic in PostgreSQL's width: two integers give an integer, and overflow is the general path's to report.
fn int_arithmetic(left: i64, op: &BinaryOperator, right: i64) -> Option<Value> {
    let result = match op {
        BinaryOperator::Plus => left.checked_add(right),
        BinaryOperator::Minus => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        _ => None,
    }?;
    let narrow = i32::try_from(left).is_ok() && i32::try_from(right).is_ok();
    (!narrow || i32::try_from(result).is_ok()).then_some(Value::Int(result))
}

fn numeric_arithmetic(left: &Value, op: &BinaryOperator, right: &Value) -> Option<Value> {
    let (left, left_scale) = unscaled(left)?;
    let (right, right_scale) = unscaled(right)?;
    if *op == BinaryOperator::Multiply {
        let scale = left_scale.checked_add(right_scale)?;
        return Some(Value::Numeric(Numeric::Finite {
            unscaled: left.checked_mul(right)?,
            scale,
        }));
    }
    let scale = left_scale.max(right_scale);
    let widen = |number: arrow::datatypes::i256, from: u8| {
        let ten = arrow::datatypes::i256::from_i128(10);
        (from..scale).try_fold(number, |number, _| number.checked_mul(ten))
    };
    let (left, right) = (widen(left, left_scale)?, widen(right, right_scale)?);
    let unscaled = if *op == BinaryOperator::Plus {
        left.checked_add(right)
    } else {
        left.checked_sub(right)
    }?;
    Some(Value::Numeric(Numeric::Finite { unscaled, scale }))
}

fn unscaled(value: &Value) -> Option<(arrow::datatypes::i256, u8)> {
    match value {
        Value::Int(value) => Some(((*value).into(), 0)),
        Value::Numeric(Numeric::Finite { unscaled, scale }) => Some((*unscaled, *scale)),
        _ => None,
    }
}

fn float_arithmetic(left: f64, op: &BinaryOperator, right: f64) -> Option<Value> {
    let result = match op {
        BinaryOperator::Plus => left + right,
        BinaryOperator::Minus => left - right,
        BinaryOperator::Multiply => left * right,
        _ => return None,
    };
    // Overflow is an error in PostgreSQL.
    (result.is_finite() || !left.is_finite() || !right.is_finite()).then_some(Value::Float8(result))
}

fn add_days(days: i32, more: i64) -> Option<Value> {
    if matches!(days, i32::MIN | i32::MAX) {
        return Some(Value::Date(days));
    }
    let sum = i32::try_from(i64::from(days).checked_add(more)?).ok()?;
    (!matches!(sum, i32::MIN | i32::MAX)).then_some(Value::Date(sum))
}

/// Whether a type's name says how much of a value is kept: the general path cuts it.
fn is_cut(data_type: &DataType) -> bool {
    type_name::fraction_digits(data_type).is_some() || interval_range::of_type(data_type).is_some()
}

fn negate_interval(interval: &Interval) -> Option<Interval> {
    Some(Interval {
        months: interval.months.checked_neg()?,
        days: interval.days.checked_neg()?,
        microseconds: interval.microseconds.checked_neg()?,
    })
}

/// Months first (to the last day of a shorter month), then days, then time.
fn add_interval(us: i64, interval: &Interval) -> Option<i64> {
    if matches!(us, i64::MIN | i64::MAX) {
        return Some(us);
    }
    let mut moved = us;
    if interval.months != 0 {
        let at: NaiveDateTime = DateTime::from_timestamp_micros(us)?.naive_utc();
        let months = Months::new(interval.months.unsigned_abs());
        let date: NaiveDate = at.date();
        let date = if interval.months > 0 {
            date.checked_add_months(months)
        } else {
            date.checked_sub_months(months)
        }?;
        let days = i64::from(date.num_days_from_ce()) - i64::from(at.date().num_days_from_ce());
        moved = moved.checked_add(days.checked_mul(DAY_US)?)?;
    }
    moved
        .checked_add(i64::from(interval.days).checked_mul(DAY_US)?)?
        .checked_add(interval.microseconds)
}
/// A number that is no integer of 64 bits. Where a numeric cannot hold it (`1e100`), double precision does.
fn number(text: &str) -> Result<Value> {
    Numeric::parse(text)
        .map(Value::Numeric)
        .or_else(|error| match text.parse::<f64>() {
            Ok(double) if double.is_finite() => Ok(Value::Float8(double)),
            _ => Err(error),
        })
}
