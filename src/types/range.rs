//! `RangeValue` and multiranges: all values between two bounds. A range of whole numbers or days has one form: from a lower bound that
//! is in it to an upper one that is not. Knows nothing of texts (`range_text`) and of bytes (`range_bytes`).

use std::cmp::Ordering;

use super::calendar::out_of_range;
use super::{MultirangeValue, RangeBound, RangeKind, RangeValue, Value};
use crate::{Error, Result};

/// How two values compare that are bounds of ranges of one kind.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Numeric(a), Value::Numeric(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// Two lower bounds: none is below all, and one that is in its range below one that is not.
fn compare_lower(a: &RangeBound, b: &RangeBound) -> Ordering {
    match (&a.value, &b.value) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(x), Some(y)) => compare_values(x, y).then(b.inclusive.cmp(&a.inclusive)),
    }
}

/// Two upper bounds: none is above all, and one that is in its range above one that is not.
fn compare_upper(a: &RangeBound, b: &RangeBound) -> Ordering {
    match (&a.value, &b.value) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(x), Some(y)) => compare_values(x, y).then(a.inclusive.cmp(&b.inclusive)),
    }
}

/// An upper bound beside a lower one: `Less` where nothing is in both, `Equal` where they share the bound alone.
fn compare_upper_to_lower(upper: &RangeBound, lower: &RangeBound) -> Ordering {
    match (&upper.value, &lower.value) {
        (Some(x), Some(y)) => match compare_values(x, y) {
            Ordering::Equal if upper.inclusive && lower.inclusive => Ordering::Equal,
            Ordering::Equal => Ordering::Less,
            order => order,
        },
        _ => Ordering::Greater,
    }
}

impl RangeValue {
    /// The range of no values.
    pub fn empty(kind: RangeKind) -> RangeValue {
        RangeValue { kind, bounds: None }
    }

    /// The range between two bounds. Errors: 22000 for a lower one above the upper, 22003 and 22008 beyond the type.
    pub fn new(kind: RangeKind, lower: RangeBound, upper: RangeBound) -> Result<RangeValue> {
        let is_infinite = |bound: RangeBound| match bound.value {
            None => RangeBound::none(),
            Some(_) => bound,
        };
        let (lower, upper) = (is_infinite(lower), is_infinite(upper));
        if let (Some(low), Some(high)) = (&lower.value, &upper.value) {
            match compare_values(low, high) {
                Ordering::Greater => {
                    return Err(Error::DataException {
                        state: "22000",
                        message: "range lower bound must be less than or equal to range upper bound"
                            .to_string(),
                    });
                }
                Ordering::Equal if !(lower.inclusive && upper.inclusive) => {
                    return Ok(RangeValue::empty(kind));
                }
                _ => {}
            }
        }
        let (lower, upper) = match kind {
            RangeKind::Int4 | RangeKind::Int8 | RangeKind::Date => {
                (canonical(kind, lower, true)?, canonical(kind, upper, false)?)
            }
            RangeKind::Numeric | RangeKind::Timestamp | RangeKind::TimestampTz => (lower, upper),
        };
        if let (Some(low), Some(high)) = (&lower.value, &upper.value)
            && !compare_values(low, high).is_lt()
            && !(lower.inclusive && upper.inclusive)
        {
            return Ok(RangeValue::empty(kind));
        }
        Ok(RangeValue {
            kind,
            bounds: Some(Box::new((lower, upper))),
        })
    }

    /// Whether no value is in it.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_none()
    }

    /// Whether a value is in it.
    pub fn contains_value(&self, value: &Value) -> bool {
        let Some((lower, upper)) = self.bounds.as_deref() else {
            return false;
        };
        let is_above = lower
            .value
            .as_ref()
            .is_none_or(|low| match compare_values(low, value) {
                Ordering::Equal => lower.inclusive,
                order => order.is_lt(),
            });
        let is_below = upper
            .value
            .as_ref()
            .is_none_or(|high| match compare_values(value, high) {
                Ordering::Equal => upper.inclusive,
                order => order.is_lt(),
            });
        is_above && is_below
    }

    /// Whether all of the other is in it.
    pub fn contains(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((lower, upper)), Some((other_lower, other_upper))) => {
                compare_lower(lower, other_lower).is_le() && compare_upper(upper, other_upper).is_ge()
            }
        }
    }

    /// Whether a value is in both.
    pub fn overlaps(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (Some((a, b)), Some((c, d))) => {
                !compare_upper_to_lower(b, c).is_lt() && !compare_upper_to_lower(d, a).is_lt()
            }
            _ => false,
        }
    }

    /// `<<`: all of it is below all of the other.
    pub fn is_before(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (Some((_, upper)), Some((lower, _))) => compare_upper_to_lower(upper, lower).is_lt(),
            _ => false,
        }
    }

    /// `&<`: none of it is above the other.
    pub fn ends_within(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (Some((_, a)), Some((_, b))) => compare_upper(a, b).is_le(),
            _ => false,
        }
    }

    /// `&>`: none of it is below the other.
    pub fn starts_within(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (Some((a, _)), Some((b, _))) => compare_lower(a, b).is_ge(),
            _ => false,
        }
    }

    /// `-|-`: nothing is between them, nor in both.
    pub fn is_adjacent(&self, other: &RangeValue) -> bool {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (Some((a, b)), Some((c, d))) => touch(b, c) || touch(d, a),
            _ => false,
        }
    }

    /// What is in both.
    pub fn intersection(&self, other: &RangeValue) -> RangeValue {
        let (Some((a, b)), Some((c, d))) = (self.bounds.as_deref(), other.bounds.as_deref()) else {
            return RangeValue::empty(self.kind);
        };
        if !self.overlaps(other) {
            return RangeValue::empty(self.kind);
        }
        let lower = if compare_lower(a, c).is_ge() { a } else { c };
        let upper = if compare_upper(b, d).is_le() { b } else { d };
        RangeValue {
            kind: self.kind,
            bounds: Some(Box::new((lower.clone(), upper.clone()))),
        }
    }

    /// The least range that holds both.
    pub fn merge(&self, other: &RangeValue) -> RangeValue {
        let (Some((a, b)), Some((c, d))) = (self.bounds.as_deref(), other.bounds.as_deref()) else {
            return if self.is_empty() {
                other.clone()
            } else {
                self.clone()
            };
        };
        let lower = if compare_lower(a, c).is_le() { a } else { c };
        let upper = if compare_upper(b, d).is_ge() { b } else { d };
        RangeValue {
            kind: self.kind,
            bounds: Some(Box::new((lower.clone(), upper.clone()))),
        }
    }

    /// `+`. Errors: 22000 where something is between them.
    pub fn union(&self, other: &RangeValue) -> Result<RangeValue> {
        let is_one = self.is_empty() || other.is_empty() || self.overlaps(other) || self.is_adjacent(other);
        match is_one {
            true => Ok(self.merge(other)),
            false => Err(not_contiguous("union")),
        }
    }

    /// `-`. Errors: 22000 where two ranges are left.
    pub fn difference(&self, other: &RangeValue) -> Result<RangeValue> {
        let left = self.pieces_without(other);
        match left.len() {
            0 => Ok(RangeValue::empty(self.kind)),
            1 => Ok(left.into_iter().next().unwrap_or(RangeValue::empty(self.kind))),
            _ => Err(not_contiguous("difference")),
        }
    }

    /// What is left of it without the other: none, one or two ranges.
    fn pieces_without(&self, other: &RangeValue) -> Vec<RangeValue> {
        let (Some((a, b)), Some((c, d))) = (self.bounds.as_deref(), other.bounds.as_deref()) else {
            return if self.is_empty() {
                Vec::new()
            } else {
                vec![self.clone()]
            };
        };
        if !self.overlaps(other) {
            return vec![self.clone()];
        }
        let mut pieces = Vec::new();
        let turned = |bound: &RangeBound| RangeBound {
            value: bound.value.clone(),
            inclusive: !bound.inclusive,
        };
        let mut keep = |lower: RangeBound, upper: RangeBound| {
            pieces.push(RangeValue {
                kind: self.kind,
                bounds: Some(Box::new((lower, upper))),
            });
        };
        if compare_lower(a, c).is_lt() {
            keep(a.clone(), turned(c));
        }
        if compare_upper(b, d).is_gt() {
            keep(turned(d), b.clone());
        }
        pieces
    }

    /// As PostgreSQL orders ranges: the empty one first, then by lower, then by upper bound.
    pub fn compare(&self, other: &RangeValue) -> Ordering {
        match (self.bounds.as_deref(), other.bounds.as_deref()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some((a, b)), Some((c, d))) => compare_lower(a, c).then_with(|| compare_upper(b, d)),
        }
    }
}

fn not_contiguous(what: &str) -> Error {
    Error::DataException {
        state: "22000",
        message: format!("result of range {what} would not be contiguous"),
    }
}

/// Whether a lower bound begins where an upper one ends.
fn touch(upper: &RangeBound, lower: &RangeBound) -> bool {
    match (&upper.value, &lower.value) {
        (Some(high), Some(low)) => compare_values(high, low).is_eq() && upper.inclusive != lower.inclusive,
        _ => false,
    }
}

/// A bound of whole numbers or days in its one form: a lower one is in its range, an upper one is not. Infinite days stay as they are.
fn canonical(kind: RangeKind, bound: RangeBound, is_lower: bool) -> Result<RangeBound> {
    match &bound.value {
        None | Some(Value::Date(i32::MIN | i32::MAX)) => Ok(bound),
        Some(_) => Ok(RangeBound {
            value: stepped(kind, bound.value, bound.inclusive != is_lower)?,
            inclusive: is_lower,
        }),
    }
}

/// The value, or the one behind it. Errors: 22003, 22008.
fn stepped(kind: RangeKind, value: Option<Value>, is_behind: bool) -> Result<Option<Value>> {
    let too_large = |name: &str| Error::NumericOutOfRange {
        message: format!("{name} out of range"),
        detail: None,
    };
    Ok(match value {
        Some(Value::Int(number)) if is_behind => {
            let behind = number.checked_add(1).ok_or_else(|| too_large("bigint"))?;
            if kind == RangeKind::Int4 && i32::try_from(behind).is_err() {
                return Err(too_large("integer"));
            }
            Some(Value::Int(behind))
        }
        Some(Value::Date(days)) if is_behind => {
            let behind = days.checked_add(1).filter(|days| *days != i32::MAX);
            Some(Value::Date(behind.ok_or_else(|| out_of_range("date"))?))
        }
        value => value,
    })
}

impl MultirangeValue {
    /// Of these ranges, whatever they are.
    pub fn new(kind: RangeKind, ranges: impl IntoIterator<Item = RangeValue>) -> MultirangeValue {
        let mut sorted: Vec<RangeValue> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by(RangeValue::compare);
        let mut ranges: Vec<RangeValue> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if last.overlaps(&range) || last.is_adjacent(&range) => *last = last.merge(&range),
                _ => ranges.push(range),
            }
        }
        MultirangeValue { kind, ranges }
    }

    /// The least range that holds all of it.
    pub fn span(&self) -> RangeValue {
        match (self.ranges.first(), self.ranges.last()) {
            (Some(first), Some(last)) => first.merge(last),
            _ => RangeValue::empty(self.kind),
        }
    }

    /// Whether a value is in it.
    pub fn contains_value(&self, value: &Value) -> bool {
        self.ranges.iter().any(|range| range.contains_value(value))
    }

    /// Whether all of the other is in it.
    pub fn contains(&self, other: &MultirangeValue) -> bool {
        let is_within = |range: &RangeValue| self.ranges.iter().any(|own| own.contains(range));
        other.ranges.iter().all(is_within)
    }

    /// Whether a value is in both.
    pub fn overlaps(&self, other: &MultirangeValue) -> bool {
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.overlaps(y) {
                return true;
            }
            match x.is_before(y) {
                true => drop(a.next()),
                false => drop(b.next()),
            }
        }
        false
    }

    /// What is in either.
    pub fn union(&self, other: &MultirangeValue) -> MultirangeValue {
        let all = self.ranges.iter().chain(&other.ranges).cloned();
        MultirangeValue::new(self.kind, all)
    }

    /// What is in both.
    pub fn intersection(&self, other: &MultirangeValue) -> MultirangeValue {
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut both = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            both.push(x.intersection(y));
            match x.ends_within(y) {
                true => drop(a.next()),
                false => drop(b.next()),
            }
        }
        MultirangeValue::new(self.kind, both)
    }

    /// What is in it and not in the other.
    pub fn difference(&self, other: &MultirangeValue) -> MultirangeValue {
        let mut left = Vec::new();
        for range in &self.ranges {
            let mut pieces = vec![range.clone()];
            for taken in &other.ranges {
                // Ranges are in order: the last piece alone can meet the next.
                if let Some(last) = pieces.pop() {
                    pieces.extend(last.pieces_without(taken));
                }
            }
            left.extend(pieces);
        }
        MultirangeValue::new(self.kind, left)
    }

    /// Range by range; of two that begin alike the longer is greater.
    pub fn compare(&self, other: &MultirangeValue) -> Ordering {
        let pairs = self.ranges.iter().zip(&other.ranges);
        let differs = pairs.map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
        differs.unwrap_or_else(|| self.ranges.len().cmp(&other.ranges.len()))
    }
}
