//! Ranges as bytes: how rows and columns hold them. Knows nothing of texts.
//!
//! ```text
//! range       flags, then each bound that there is: its length (u32 LE), its bytes
//! multirange  how many (u32 LE), then each range: its length (u32 LE), its bytes
//! bound       a whole number, days or microseconds as i64 LE; a numeric in its own form
//! flags       PostgreSQL's: 01 empty, 02 lower bound in it, 04 upper bound in it, 08 no lower bound, 10 no upper bound
//! ```

use super::{MultirangeValue, Numeric, RangeBound, RangeKind, RangeValue, Value};

const EMPTY: u8 = 0x01;
const LOWER_IN: u8 = 0x02;
const UPPER_IN: u8 = 0x04;
const NO_LOWER: u8 = 0x08;
const NO_UPPER: u8 = 0x10;

/// PostgreSQL's flags of a range, which its binary form begins with.
pub(super) fn flags(range: &RangeValue) -> u8 {
    let Some((lower, upper)) = range.bounds.as_deref() else {
        return EMPTY;
    };
    let set = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    set(lower.inclusive, LOWER_IN)
        | set(upper.inclusive, UPPER_IN)
        | set(lower.value.is_none(), NO_LOWER)
        | set(upper.value.is_none(), NO_UPPER)
}

/// The bounds that flags tell of, with what `read` gives for each that there is. `None`: the range is empty.
pub(super) fn bounds_of<E>(
    flags: u8,
    mut read: impl FnMut() -> Result<Value, E>,
) -> Result<Option<(RangeBound, RangeBound)>, E> {
    if flags & EMPTY != 0 {
        return Ok(None);
    }
    let mut bound = |none: u8, inside: u8| -> Result<RangeBound, E> {
        let value = match flags & none {
            0 => Some(read()?),
            _ => None,
        };
        Ok(RangeBound {
            inclusive: flags & inside != 0 && value.is_some(),
            value,
        })
    };
    Ok(Some((bound(NO_LOWER, LOWER_IN)?, bound(NO_UPPER, UPPER_IN)?)))
}

impl RangeValue {
    /// Appends its bytes.
    pub fn put_bytes(&self, out: &mut Vec<u8>) {
        out.push(flags(self));
        let Some((lower, upper)) = self.bounds.as_deref() else {
            return;
        };
        for value in [lower, upper]
            .into_iter()
            .filter_map(|bound| bound.value.as_ref())
        {
            put_counted(out, |out| match value {
                Value::Int(number) | Value::Timestamp(number) | Value::TimestampTz(number) => {
                    out.extend_from_slice(&number.to_le_bytes());
                }
                Value::Date(days) => out.extend_from_slice(&i64::from(*days).to_le_bytes()),
                Value::Numeric(number) => number.put_bytes(out),
                _ => {}
            });
        }
    }

    /// Reads them. `None`: they are of no range of the kind.
    pub fn from_bytes(bytes: &[u8], kind: RangeKind) -> Option<RangeValue> {
        let (flags, mut rest) = bytes.split_first()?;
        let bounds = bounds_of(*flags, || {
            bound_value(cut_counted(&mut rest).ok_or(())?, kind).ok_or(())
        });
        let bounds = bounds.ok()?.map(Box::new);
        rest.is_empty().then_some(RangeValue { kind, bounds })
    }
}

impl MultirangeValue {
    /// Appends its bytes.
    pub fn put_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.ranges.len() as u32).to_le_bytes());
        for range in &self.ranges {
            put_counted(out, |out| range.put_bytes(out));
        }
    }

    /// Reads them. `None`: they are of no multirange of the kind.
    pub fn from_bytes(bytes: &[u8], kind: RangeKind) -> Option<MultirangeValue> {
        let (count, mut rest) = bytes.split_first_chunk::<4>()?;
        let mut ranges = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            ranges.push(RangeValue::from_bytes(cut_counted(&mut rest)?, kind)?);
        }
        rest.is_empty().then_some(MultirangeValue { kind, ranges })
    }
}

fn put_counted(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn cut_counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (bytes, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(bytes)
}

fn bound_value(bytes: &[u8], kind: RangeKind) -> Option<Value> {
    if kind == RangeKind::Numeric {
        return Numeric::from_bytes(bytes).map(Value::Numeric);
    }
    let number = i64::from_le_bytes(bytes.try_into().ok()?);
    Some(match kind {
        RangeKind::Date => Value::Date(i32::try_from(number).ok()?),
        RangeKind::Timestamp => Value::Timestamp(number),
        RangeKind::TimestampTz => Value::TimestampTz(number),
        RangeKind::Int4 | RangeKind::Int8 | RangeKind::Numeric => Value::Int(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{FormatSettings, SqlType};

    fn range(text: &str, kind: RangeKind) -> RangeValue {
        match Value::parse(text, &SqlType::Range(kind), &FormatSettings::default()) {
            Ok(Value::Range(range)) => range,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn bytes(range: &RangeValue) -> Vec<u8> {
        let mut out = Vec::new();
        range.put_bytes(&mut out);
        out
    }

    #[test]
    fn bytes_are_read_back() {
        let texts = [
            "empty",
            "(,)",
            "(,1)",
            "(,1]",
            "(,1.0]",
            "[-3,2)",
            "(-3,2)",
            "[0.5,9)",
            "[1,2)",
            "[1,2]",
            "[1,)",
            "(1,2)",
            "[1.00,1.5]",
            "[10,20)",
            "[100000000000000000000,)",
            "[5,5]",
            "[-1e30,-1e29]",
        ];
        let ranges = texts.map(|text| range(text, RangeKind::Numeric));
        for a in &ranges {
            assert_eq!(
                RangeValue::from_bytes(&bytes(a), RangeKind::Numeric).as_ref(),
                Some(a)
            );
        }
    }

    #[test]
    fn bytes_of_no_range_are_refused() {
        let whole = bytes(&range("[1,5)", RangeKind::Int4));
        for end in 0..whole.len() {
            assert_eq!(RangeValue::from_bytes(&whole[..end], RangeKind::Int4), None);
        }
        assert_eq!(
            RangeValue::from_bytes(&[&whole[..], &[0]].concat(), RangeKind::Int4),
            None
        );
        assert_eq!(MultirangeValue::from_bytes(&[1, 0, 0, 0], RangeKind::Int4), None);
    }
}
