//! Numbers as decimal digits, appended to a buffer without allocating: what every text form in `types` prints with.
//! Knows nothing of SQL types.

use arrow::datatypes::i256;

/// "00", "01" … "99": two digits at a time.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
                            2021222324252627282930313233343536373839\
                            4041424344454647484950515253545556575859\
                            6061626364656667686970717273747576777879\
                            8081828384858687888990919293949596979899";

/// The largest power of ten in a u64, and its digits.
const CHUNK: u128 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// Ten to the 38th: the most digits that i128 holds all values of.
const HALF: i128 = 100_000_000_000_000_000_000_000_000_000_000_000_000;
const HALF_DIGITS: usize = 38;

/// The digits of the widest number, 78 of i256, and room for a sign.
const DIGITS_MAX: usize = 80;

/// Decimal digits of one number, filled from the right.
struct Digits {
    bytes: [u8; DIGITS_MAX],
    start: usize,
}

impl Digits {
    #[inline]
    fn new() -> Digits {
        Digits {
            bytes: [b'0'; DIGITS_MAX],
            start: DIGITS_MAX,
        }
    }

    /// Prepends the digits of `value`: none for zero.
    #[inline]
    fn prepend(&mut self, mut value: u64) {
        while value >= 100 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            self.start -= 2;
            self.bytes[self.start..self.start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        while value > 0 {
            self.start -= 1;
            self.bytes[self.start] = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }

    /// Fills with zeros until there are `count` digits.
    #[inline]
    fn fill_to(&mut self, count: usize) {
        self.start = self.start.min(DIGITS_MAX.saturating_sub(count));
    }

    fn prepend_u128(&mut self, mut value: u128) {
        let digits_before = DIGITS_MAX - self.start;
        let mut chunks = 0;
        while value >= CHUNK {
            self.prepend((value % CHUNK) as u64);
            value /= CHUNK;
            chunks += 1;
            self.fill_to(digits_before + chunks * CHUNK_DIGITS);
        }
        self.prepend(value as u64);
    }

    fn of_i256(value: i256) -> Digits {
        let mut digits = Digits::new();
        let half = i256::from_i128(HALF);
        let mut rest = value;
        let mut halves = 0;
        loop {
            let low = rest.wrapping_rem(half).to_i128().map_or(0, i128::unsigned_abs);
            rest = rest.wrapping_div(half);
            digits.prepend_u128(low);
            if rest == i256::ZERO {
                return digits;
            }
            halves += 1;
            digits.fill_to(halves * HALF_DIGITS);
        }
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Appends an unsigned integer.
#[inline]
pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        return out.push(b'0' + value as u8);
    }
    let mut digits = Digits::new();
    digits.prepend(value);
    out.extend_from_slice(digits.as_slice());
}

/// Appends an integer.
#[inline]
pub(super) fn put_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    put_u64(out, value.unsigned_abs());
}

/// Appends an integer with zeros in front, `width` (at most 19) digits at least.
#[inline]
pub(super) fn put_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    if width == 2 && value < 100 {
        let pair = value as usize * 2;
        return out.extend_from_slice(&PAIRS[pair..pair + 2]);
    }
    let mut digits = Digits::new();
    digits.prepend(value);
    digits.fill_to(width);
    out.extend_from_slice(digits.as_slice());
}

/// Appends `unscaled × 10^-scale` with `scale` digits behind the point.
#[inline]
pub(super) fn put_decimal128(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    let mut digits = Digits::new();
    match u64::try_from(unscaled.unsigned_abs()) {
        Ok(small) => digits.prepend(small),
        Err(_) => digits.prepend_u128(unscaled.unsigned_abs()),
    }
    put_point(out, unscaled < 0, digits, scale);
}

/// Appends `unscaled × 10^-scale` with `scale` digits behind the point.
pub(super) fn put_decimal256(out: &mut Vec<u8>, unscaled: i256, scale: u8) {
    match unscaled.to_i128() {
        Some(unscaled) => put_decimal128(out, unscaled, scale),
        None => put_point(out, unscaled.is_negative(), Digits::of_i256(unscaled), scale),
    }
}

/// Hands the digits of a number, without sign or leading zeros, to `take`.
pub(super) fn with_digits<R>(unscaled: i256, take: impl FnOnce(&[u8]) -> R) -> R {
    let digits = match unscaled.to_i128() {
        Some(unscaled) => {
            let mut digits = Digits::new();
            digits.prepend_u128(unscaled.unsigned_abs());
            digits
        }
        None => Digits::of_i256(unscaled),
    };
    take(digits.as_slice())
}

fn put_point(out: &mut Vec<u8>, negative: bool, mut digits: Digits, scale: u8) {
    let scale = usize::from(scale).min(DIGITS_MAX - 1);
    digits.fill_to(scale + 1);
    if negative {
        out.push(b'-');
    }
    let digits = digits.as_slice();
    let (integer, fraction) = digits.split_at(digits.len() - scale);
    out.extend_from_slice(integer);
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

/// Drops the zeros, and then the point, that end the number which begins at `start`; it must hold a point if it ends in
/// zeros that are not to go.
pub(super) fn trim_fraction(out: &mut Vec<u8>, start: usize) {
    if !out[start..].contains(&b'.') {
        return;
    }
    while out.last() == Some(&b'0') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers() {
        for value in [
            0,
            1,
            9,
            10,
            99,
            100,
            101,
            12345,
            i64::MAX,
            i64::MIN,
            -1,
            -10,
            -100,
        ] {
            assert_eq!(text(|out| put_i64(out, value)), value.to_string());
        }
        assert_eq!(text(|out| put_u64(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(text(|out| put_padded(out, 7, 2)), "07");
        assert_eq!(text(|out| put_padded(out, 0, 4)), "0000");
        assert_eq!(text(|out| put_padded(out, 12345, 4)), "12345");
    }

    #[test]
    fn decimals() {
        let cases: &[(i128, u8, &str)] = &[
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (12345, 2, "123.45"),
            (10_i128.pow(37), 0, "10000000000000000000000000000000000000"),
            (10_i128.pow(19), 19, "1.0000000000000000000"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ];
        for (unscaled, scale, expected) in cases {
            assert_eq!(text(|out| put_decimal128(out, *unscaled, *scale)), *expected);
            assert_eq!(
                text(|out| put_decimal256(out, i256::from_i128(*unscaled), *scale)),
                *expected
            );
        }
        for wide in [
            i256::MAX,
            i256::MIN,
            i256::from_i128(HALF).wrapping_mul(i256::from_i128(HALF / 7)),
        ] {
            assert_eq!(text(|out| put_decimal256(out, wide, 0)), wide.to_string());
        }
    }
}
