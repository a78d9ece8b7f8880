//! Values that cut a range of values into parts of the same width: what NUMREGIONS means for each type.

use crate::types::{SqlType, Value};

/// The letters of texts that are cut: those that ASCII prints.
const FIRST_LETTER: u8 = b' ';
const LETTERS: u128 = 95;
/// Letters of a bound at most, behind those that both ends have.
const LETTERS_MAX: usize = 8;
/// Bytes of a bound of bytes.
const BYTES_MAX: usize = 8;

/// All values of a type; `None`: nobody can say.
pub(super) fn whole_range(ty: &SqlType) -> Option<(Value, Value)> {
    let integers = |least: i64, greatest: i64| (Value::Int(least), Value::Int(greatest));
    Some(match ty {
        SqlType::Int2 => integers(i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => integers(i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::Int8 => integers(i64::MIN, i64::MAX),
        SqlType::Uuid => (Value::Uuid([0; 16]), Value::Uuid([0xFF; 16])),
        SqlType::Bytea => (Value::Bytes(Vec::new()), Value::Bytes(vec![0xFF; BYTES_MAX])),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
            (Value::Text(" ".to_string()), Value::Text("~".repeat(LETTERS_MAX)))
        }
        SqlType::Time(_) => (Value::Time(0), Value::Time(86_400_000_000)),
        _ => return None,
    })
}

/// So many values, all different, that cut the range between two into parts of the same width. `with_ends`: the two are the first and the
/// last of them, where there are two or more. `None`: there are not so many, or they are of a type that is not cut.
pub(super) fn even_bounds(start: &Value, end: &Value, bounds: usize, with_ends: bool) -> Option<Vec<Value>> {
    let (parts, from) = match with_ends && bounds > 1 {
        true => (bounds as u128 - 1, 0),
        false => (bounds as u128 + 1, 1),
    };
    let cut = |at: usize| between(start, end, (at as u128 + from, parts));
    let values: Vec<Value> = (0..bounds).map(cut).collect::<Option<_>>()?;
    let are_different = values.windows(2).all(|pair| pair[0] != pair[1]);
    are_different.then_some(values)
}

/// The value at this part of the way.
fn between(start: &Value, end: &Value, (at, parts): (u128, u128)) -> Option<Value> {
    if at == 0 {
        return Some(start.clone());
    }
    if at == parts {
        return Some(end.clone());
    }
    let whole = |start: i64, end: i64| {
        let way = i128::from(end) - i128::from(start);
        i64::try_from(i128::from(start) + way * at as i128 / parts as i128).ok()
    };
    let real = |start: f64, end: f64| {
        let value = start + (end - start) * (at as f64 / parts as f64);
        value.is_finite().then_some(value)
    };
    Some(match (start, end) {
        (Value::Int(start), Value::Int(end)) => Value::Int(whole(*start, *end)?),
        (Value::Date(start), Value::Date(end)) => {
            Value::Date(i32::try_from(whole(i64::from(*start), i64::from(*end))?).ok()?)
        }
        (Value::Time(start), Value::Time(end)) => Value::Time(whole(*start, *end)?),
        (Value::Timestamp(start), Value::Timestamp(end)) => Value::Timestamp(whole(*start, *end)?),
        (Value::TimestampTz(start), Value::TimestampTz(end)) => Value::TimestampTz(whole(*start, *end)?),
        (Value::Float8(start), Value::Float8(end)) => Value::Float8(real(*start, *end)?),
        (Value::Float4(start), Value::Float4(end)) => {
            Value::Float4(real(f64::from(*start), f64::from(*end))? as f32)
        }
        (Value::Uuid(start), Value::Uuid(end)) => {
            let (start, end) = (u128::from_be_bytes(*start), u128::from_be_bytes(*end));
            Value::Uuid(number_between(start, end, (at, parts)).to_be_bytes())
        }
        (Value::Bytes(start), Value::Bytes(end)) => {
            let digits = digits_between(start, end, 256, BYTES_MAX, (at, parts));
            Value::Bytes(without_end(digits, 0))
        }
        (Value::Text(start), Value::Text(end)) => {
            let digits = |text: &str| {
                let letters = text.bytes().map(|byte| {
                    let letter = byte.checked_sub(FIRST_LETTER)?;
                    (u128::from(letter) < LETTERS).then_some(letter)
                });
                letters.collect::<Option<Vec<u8>>>()
            };
            let (start, end) = (digits(start)?, digits(end)?);
            let digits = digits_between(&start, &end, LETTERS, LETTERS_MAX, (at, parts));
            let letters = without_end(digits, 0)
                .into_iter()
                .map(|digit| FIRST_LETTER + digit);
            Value::Text(letters.map(char::from).collect())
        }
        _ => return None,
    })
}

fn number_between(start: u128, end: u128, (at, parts): (u128, u128)) -> u128 {
    let (low, high) = (start.min(end), start.max(end));
    let at = if start <= end { at } else { parts - at };
    let width = high - low;
    // Of two terms, neither of which is too large.
    low + width / parts * at + width % parts * at / parts
}

/// The same for numbers of digits behind a point: what both begin with, and so many digits more.
fn digits_between(start: &[u8], end: &[u8], base: u128, digits_max: usize, part: (u128, u128)) -> Vec<u8> {
    let common = start.iter().zip(end).take_while(|(a, b)| a == b).count();
    let number = |digits: &[u8]| {
        let digit = |at: usize| u128::from(digits.get(common + at).copied().unwrap_or(0));
        (0..digits_max).fold(0, |number, at| number * base + digit(at))
    };
    let mut left = number_between(number(start), number(end), part);
    let mut digits = vec![0; digits_max];
    for digit in digits.iter_mut().rev() {
        *digit = (left % base) as u8;
        left /= base;
    }
    [&start[..common], &digits].concat()
}

/// Digits without those at their end that say nothing.
fn without_end(mut digits: Vec<u8>, nothing: u8) -> Vec<u8> {
    while digits.len() > 1 && digits.last() == Some(&nothing) {
        digits.pop();
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_into_parts_of_the_same_width() {
        let ints = |start, end, bounds, with_ends| {
            let values = even_bounds(&Value::Int(start), &Value::Int(end), bounds, with_ends)?;
            let number = |value: &Value| match value {
                Value::Int(number) => *number,
                other => panic!("{other:?}"),
            };
            Some(values.iter().map(number).collect::<Vec<_>>())
        };
        assert_eq!(ints(0, 100, 5, true), Some(vec![0, 25, 50, 75, 100]));
        assert_eq!(ints(0, 100, 3, false), Some(vec![25, 50, 75]));
        assert_eq!(ints(100, 0, 3, true), Some(vec![100, 50, 0]));
        assert_eq!(ints(0, 100, 1, true), Some(vec![50]));
        assert_eq!(ints(0, 100, 0, true), Some(vec![]));
        assert_eq!(ints(0, 1, 5, true), None, "there are two");
        assert_eq!(ints(i64::MIN, i64::MAX, 1, false), Some(vec![-1]));
        let texts = |start: &str, end: &str, bounds| {
            let value = |text: &str| Value::Text(text.to_string());
            even_bounds(&value(start), &value(end), bounds, true)
        };
        let middle = texts("user1", "user9", 3).unwrap();
        assert_eq!(middle[1], Value::Text("user5".to_string()));
        assert_eq!(texts("a", "ü", 3), None);
        let (start, end) = whole_range(&SqlType::Uuid).unwrap();
        let uuids = even_bounds(&start, &end, 3, false).unwrap();
        assert_eq!(uuids[1], Value::Uuid((u128::MAX / 2).to_be_bytes()));
        assert_eq!(whole_range(&SqlType::Bool), None);
    }
}
