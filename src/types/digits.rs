//! Numbers as decimal digits, appended to a buffer without allocating: what every text form in `types` prints with.
//! Knows nothing of SQL types.

/// "00", "01" … "99": two digits at a time.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
                            2021222324252627282930313233343536373839\
                            4041424344454647484950515253545556575859\
                            6061626364656667686970717273747576777879\
                            8081828384858687888990919293949596979899";

/// The largest power of ten in a u64, and its digits.
const CHUNK: u128 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// The digits of the widest number, 39 of i128, and as many zeros behind a point.
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

/// Hands the digits of a number, without sign or leading zeros, to `take`.
pub(super) fn with_digits<R>(unscaled: i128, take: impl FnOnce(&[u8]) -> R) -> R {
    let mut digits = Digits::new();
    digits.prepend_u128(unscaled.unsigned_abs());
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
        }
    }
}
