//! The type of an interval literal by what stands behind its text: `interval '1' year to month`, `… second(2)`.

use sqlparser::ast::{DateTimeField, Interval};

use crate::types::SqlType;
use crate::{Error, Result};

/// The interval type of the fields behind the literal. Errors: 0A000 for a field that intervals are not made of, 42601 for
/// digits of fields without seconds.
pub(crate) fn sql_type(interval: &Interval) -> Result<SqlType> {
    let Some(first) = &interval.leading_field else {
        return Ok(SqlType::Interval(None));
    };
    let mut name = format!("interval {}", field(first)?);
    if let Some(last) = &interval.last_field {
        name.push_str(" to ");
        name.push_str(field(last)?);
    }
    let digits = interval
        .fractional_seconds_precision
        .or(interval.leading_precision);
    let modifiers: Vec<i64> = digits
        .into_iter()
        .map(|digits| i64::try_from(digits).unwrap_or(i64::MAX))
        .collect();
    SqlType::from_name(&name, &modifiers)?.ok_or_else(|| Error::unsupported(format!("an {name}"), None))
}

fn field(field: &DateTimeField) -> Result<&'static str> {
    match field {
        DateTimeField::Year => Ok("year"),
        DateTimeField::Month => Ok("month"),
        DateTimeField::Day => Ok("day"),
        DateTimeField::Hour => Ok("hour"),
        DateTimeField::Minute => Ok("minute"),
        DateTimeField::Second => Ok("second"),
        other => Err(Error::unsupported(format!("an interval of {other}"), None)),
    }
}
