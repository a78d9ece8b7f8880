//! `encode` and `decode`: bytes as text.

use base64::engine::general_purpose::STANDARD as BASE64;
use base64::{DecodeError, Engine};

use super::mismatched_types;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unknown_encoding(name: &str) -> Error {
    Error::InvalidParameter {
        message: format!("unrecognized encoding: \"{name}\""),
        hint: None,
    }
}

pub(super) fn encode(bytes: &[u8], format: &str) -> Result<String> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => Ok(hex(bytes)),
        "escape" => Ok(bytes.iter().map(|byte| escaped(*byte)).collect()),
        "base64" => Ok(in_lines(&BASE64.encode(bytes))),
        _ => Err(unknown_encoding(format)),
    }
}

/// A byte as bytea's escape format writes it.
fn escaped(byte: u8) -> String {
    match byte {
        b'\\' => "\\\\".to_string(),
        0 | 0x80..=0xFF => format!("\\{byte:03o}"),
        other => char::from(other).to_string(),
    }
}

/// In lines of 76 characters (RFC 2045).
fn in_lines(encoded: &str) -> String {
    let lines = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy);
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn decode(encoded: &str, format: &str) -> Result<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => bytes_of_text(&format!("\\x{encoded}")),
        "escape" => bytes_of_text(encoded),
        "base64" => bytes_of_base64(encoded),
        _ => Err(unknown_encoding(format)),
    }
}

fn bytes_of_text(text: &str) -> Result<Vec<u8>> {
    match Value::parse(text, &SqlType::Bytea, &FormatSettings::default())? {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(mismatched_types()),
    }
}

/// Blanks between the symbols are passed over, and padding may be left out.
fn bytes_of_base64(encoded: &str) -> Result<Vec<u8>> {
    let symbols: String = encoded
        .chars()
        .filter(|symbol| !symbol.is_ascii_whitespace())
        .collect();
    BASE64.decode(&symbols).map_err(|error| match error {
        DecodeError::InvalidByte(at, symbol) => Error::InvalidParameter {
            message: format!(
                "invalid symbol \"{}\" found while decoding base64 sequence",
                symbols
                    .get(at..)
                    .and_then(|rest| rest.chars().next())
                    .unwrap_or(char::from(symbol))
            ),
            hint: None,
        },
        _ => Error::InvalidParameter {
            message: "invalid base64 end sequence".to_string(),
            hint: Some("Input data is missing padding, is truncated, or is otherwise corrupted.".to_string()),
        },
    })
}
