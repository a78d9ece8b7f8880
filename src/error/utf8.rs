//! Whether bytes are text: UTF-8 without zero bytes. Whoever takes bytes from outside asks here, so that one message says what is wrong.

use super::{Error, Result};

/// The text of the bytes. Errors: 22021 for what is none.
pub fn text(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        _ => Err(not_text(bytes)),
    }
}

/// What is said of bytes that are no text: the first that are wrong, as many as their first says that there are.
pub fn not_text(bytes: &[u8]) -> Error {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let wrong = match bytes[..valid].iter().position(|byte| *byte == 0) {
        Some(zero) => &bytes[zero..=zero],
        None => {
            let rest = &bytes[valid..];
            &rest[..character_bytes(rest).min(rest.len())]
        }
    };
    let shown = wrong.iter().map(|byte| format!("0x{byte:02x}"));
    Error::InvalidUtf8 {
        bytes: shown.collect::<Vec<_>>().join(" "),
    }
}

/// How many bytes the first character has, by its first byte.
fn character_bytes(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(bytes: &[u8]) -> String {
        text(bytes)
            .unwrap_err()
            .to_string()
            .split(": ")
            .nth(1)
            .unwrap()
            .to_string()
    }

    /// As PostgreSQL says it of these bytes in a statement.
    #[test]
    fn the_first_wrong_character_is_told_whole() {
        assert_eq!(text("é and 漢".as_bytes()), Ok("é and 漢"));
        assert_eq!(refused(b"a\xe2\x28\xa1"), "0xe2 0x28 0xa1");
        assert_eq!(refused(b"\xf0\x80\x80\x80"), "0xf0 0x80 0x80 0x80");
        assert_eq!(refused(b"\xff\xfe"), "0xff");
        assert_eq!(refused(b"\xe2"), "0xe2");
        assert_eq!(refused(b"a\0\xe2"), "0x00");
    }
}
