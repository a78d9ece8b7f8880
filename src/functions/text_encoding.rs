//! `format`, `encode` and `decode`: texts for other programs, and bytes as text.

use base64::engine::general_purpose::STANDARD as BASE64;
use base64::{DecodeError, Engine};

use super::cast::output_text;
use super::size::LimitedText;
use super::{Batch, mismatched_types};
use crate::parse::quoting::{quote_ident, quote_literal};
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// `format('%s %I %L', …)`.
pub(super) fn format_text(arguments: &[Value], call: &Batch) -> Result<Option<String>> {
    let Value::Text(pattern) = &arguments[0] else {
        return Ok(None);
    };
    let mut out = LimitedText::new(call.limits());
    let mut next = 1;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character.encode_utf8(&mut [0; 4]))?;
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = characters.peek().filter(|digit| digit.is_ascii_digit()) {
            digits.push(*digit);
            characters.next();
        }
        let mut width = 0;
        if characters.peek() == Some(&'$') {
            characters.next();
            next = digits.parse().unwrap_or(1);
        } else {
            width = digits.parse().unwrap_or(0);
        }
        let specifier = characters.next().ok_or_else(|| Error::InvalidParameter {
            message: "unterminated format() type specifier".to_string(),
            hint: None,
        })?;
        if specifier == '%' {
            out.push("%")?;
            continue;
        }
        let (Some(value), Some(ty)) = (arguments.get(next), call.arguments.get(next)) else {
            return Err(Error::InvalidParameter {
                message: "too few arguments for format()".to_string(),
                hint: None,
            });
        };
        next += 1;
        let piece = match (specifier, value) {
            ('s', Value::Null) => String::new(),
            ('s', value) => output_text(value, ty, call.settings),
            ('L', Value::Null) => "NULL".to_string(),
            ('L', value) => quote_literal(&output_text(value, ty, call.settings)),
            ('I', Value::Null) => {
                return Err(Error::DataException {
                    state: "22004",
                    message: "null values cannot be formatted as an SQL identifier".to_string(),
                });
            }
            ('I', value) => quote_ident(&output_text(value, ty, call.settings)),
            (other, _) => {
                return Err(Error::InvalidParameter {
                    message: format!("unrecognized format() type specifier \"{other}\""),
                    hint: None,
                });
            }
        };
        let missing = usize::saturating_sub(width, piece.chars().count());
        out.push_blanks(missing)?;
        out.push(&piece)?;
    }
    Ok(Some(out.finish()))
}

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
    match format {
        "hex" => Ok(hex(bytes)),
        "escape" => Ok(bytes.iter().map(|byte| escaped(*byte)).collect()),
        "base64" => Ok(in_lines(&BASE64.encode(bytes))),
        other => Err(unknown_encoding(other)),
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
    match format {
        "hex" => bytes_of_text(&format!("\\x{encoded}")),
        "escape" => bytes_of_text(encoded),
        "base64" => bytes_of_base64(encoded),
        other => Err(unknown_encoding(other)),
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
    let symbols: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    BASE64.decode(&symbols).map_err(|error| match error {
        DecodeError::InvalidByte(_, symbol) => Error::InvalidParameter {
            message: format!(
                "invalid symbol \"{}\" found while decoding base64 sequence",
                char::from(symbol)
            ),
            hint: None,
        },
        _ => Error::InvalidParameter {
            message: "invalid base64 end sequence".to_string(),
            hint: Some("Input data is missing padding, is truncated, or is otherwise corrupted.".to_string()),
        },
    })
}
