//! The fields that SQL text gives to an interval: `interval '1' year to month`, `x::interval day`.

use sqlparser::ast::{DataType, DateTimeField, Interval, IntervalFields};

use crate::types::{IntervalField, IntervalRange};
use crate::{Error, Result};

/// The fields behind an interval literal, if there are any. Errors: 0A000 for a field that intervals are not made of.
pub(crate) fn of_literal(interval: &Interval) -> Result<Option<IntervalRange>> {
    let Some(first) = &interval.leading_field else {
        return Ok(None);
    };
    let last = interval.last_field.as_ref().unwrap_or(first);
    Ok(Some(IntervalRange {
        first: field(first)?,
        last: field(last)?,
    }))
}

/// The digits behind the second of an interval literal: `second(2)`, `day to second(2)`.
pub(crate) fn digits_of_literal(interval: &Interval) -> Option<u64> {
    let digits = interval.fractional_seconds_precision;
    digits.or(interval.leading_precision).filter(|digits| *digits < 6)
}

/// The fields of a type's name.
pub(crate) fn of_type(data_type: &DataType) -> Option<IntervalRange> {
    use IntervalField as F;
    let DataType::Interval {
        fields: Some(fields), ..
    } = data_type
    else {
        return None;
    };
    let (first, last) = match fields {
        IntervalFields::Year => (F::Year, F::Year),
        IntervalFields::Month => (F::Month, F::Month),
        IntervalFields::Day => (F::Day, F::Day),
        IntervalFields::Hour => (F::Hour, F::Hour),
        IntervalFields::Minute => (F::Minute, F::Minute),
        IntervalFields::Second => (F::Second, F::Second),
        IntervalFields::YearToMonth => (F::Year, F::Month),
        IntervalFields::DayToHour => (F::Day, F::Hour),
        IntervalFields::DayToMinute => (F::Day, F::Minute),
        IntervalFields::DayToSecond => (F::Day, F::Second),
        IntervalFields::HourToMinute => (F::Hour, F::Minute),
        IntervalFields::HourToSecond => (F::Hour, F::Second),
        IntervalFields::MinuteToSecond => (F::Minute, F::Second),
    };
    Some(IntervalRange { first, last })
}

fn field(field: &DateTimeField) -> Result<IntervalField> {
    match field {
        DateTimeField::Year => Ok(IntervalField::Year),
        DateTimeField::Month => Ok(IntervalField::Month),
        DateTimeField::Day => Ok(IntervalField::Day),
        DateTimeField::Hour => Ok(IntervalField::Hour),
        DateTimeField::Minute => Ok(IntervalField::Minute),
        DateTimeField::Second => Ok(IntervalField::Second),
        other => Err(Error::unsupported(format!("an interval of {other}"), None)),
    }
}
