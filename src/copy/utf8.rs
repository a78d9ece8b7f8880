//! Whether bytes are text: UTF-8 without zero bytes. Asked of lines, and of what escapes by number give.

use crate::{Error, Result};

/// Errors: 22021 for what is no text.
pub(super) fn check_text(bytes: &[u8]) -> Result<()> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let wrong = match memchr::memchr(0, &bytes[..valid]) {
        Some(zero) => zero..zero + 1,
        None if valid == bytes.len() => return Ok(()),
        None => valid..(valid + character_bytes(bytes[valid])).min(bytes.len()),
    };
    let shown = bytes[wrong].iter().map(|byte| format!("0x{byte:02x}"));
    Err(Error::InvalidUtf8 {
        bytes: shown.collect::<Vec<_>>().join(" "),
    })
}

/// How many bytes a character has by its first, as PostgreSQL shows them of one that is none.
fn character_bytes(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}
