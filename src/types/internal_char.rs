//! PostgreSQL's one-byte `"char"`, which is carried as the text that it prints as: a letter of ASCII as it is, any other byte as a
//! backslash and three octal digits, zero as nothing. Asked where text, bytes and integers become one, and where one becomes these.

use crate::{Error, Result};

/// The byte that a text is: its first, or the one that is written in octal.
pub(crate) fn byte_of(text: &[u8]) -> u8 {
    let octal = match text {
        [b'\\', digits @ ..] if digits.len() == 3 => digits.iter().try_fold(0_u32, |byte, digit| {
            (b'0'..=b'7')
                .contains(digit)
                .then(|| byte * 8 + u32::from(digit - b'0'))
        }),
        _ => None,
    };
    // Of three octal digits the first counts modulo four.
    let octal = octal.map(|byte| byte as u8);
    octal.or(text.first().copied()).unwrap_or(0)
}

/// The text that a byte prints as.
pub(crate) fn text_of(byte: u8) -> String {
    match byte {
        0 => String::new(),
        byte if byte.is_ascii() => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    }
}

/// The integer of the byte of a text, with a sign.
pub(crate) fn to_integer(text: &str) -> i64 {
    i64::from(byte_of(text.as_bytes()).cast_signed())
}

/// The text of an integer's byte. Errors: 22003 for one that no byte is.
pub(crate) fn of_integer(number: i64) -> Result<String> {
    match i8::try_from(number) {
        Ok(byte) => Ok(text_of(byte.cast_unsigned())),
        Err(_) => Err(Error::NumericOutOfRange {
            message: "\"char\" out of range".to_string(),
            detail: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_the_one_of_its_text() {
        for byte in 0..=u8::MAX {
            assert_eq!(byte_of(text_of(byte).as_bytes()), byte);
            let number = i64::from(byte.cast_signed());
            assert_eq!(to_integer(&of_integer(number).unwrap()), number);
        }
        assert_eq!(byte_of("é".as_bytes()), 0xC3);
        assert_eq!(text_of(0xC3), "\\303");
        assert_eq!(byte_of(b"\\1"), b'\\');
        assert_eq!(of_integer(128).unwrap_err().sqlstate(), "22003");
    }
}
