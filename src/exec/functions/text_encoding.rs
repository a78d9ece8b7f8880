//! `format`, `encode` and `decode`: texts for other programs, and bytes as text.

use super::Call;
use super::size::LimitedText;
use super::text_argument::{bytes, shown, text};
use crate::exec::pg_catalog::quoting::{quote_ident, quote_literal};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `format('%s %I %L', …)`.
pub(super) fn format_text(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Text(pattern) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let mut out = LimitedText::new(call.result_limits());
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
            ('s', value) => shown(value, ty, call),
            ('L', Value::Null) => "NULL".to_string(),
            ('L', value) => quote_literal(&shown(value, ty, call)),
            ('I', Value::Null) => {
                return Err(Error::DataException {
                    state: "22004",
                    message: "null values cannot be formatted as an SQL identifier".to_string(),
                });
            }
            ('I', value) => quote_ident(&shown(value, ty, call)),
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
    Ok(Value::Text(out.finish()))
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

pub(super) fn encode(arguments: &[Value], _: &Call) -> Result<Value> {
    let (bytes, format) = (bytes(&arguments[0])?, text(&arguments[1])?);
    match format {
        "hex" => Ok(Value::Text(hex(bytes))),
        "escape" => Ok(Value::Text(
            bytes
                .iter()
                .map(|byte| match byte {
                    b'\\' => "\\\\".to_string(),
                    0 | 0x80..=0xFF => format!("\\{byte:03o}"),
                    other => char::from(*other).to_string(),
                })
                .collect(),
        )),
        "base64" => {
            let mut out = String::new();
            for (index, chunk) in bytes.chunks(3).enumerate() {
                if index > 0 && index % 19 == 0 {
                    out.push('\n');
                }
                let word = (u32::from(chunk[0]) << 16)
                    | (u32::from(chunk.get(1).copied().unwrap_or(0)) << 8)
                    | u32::from(chunk.get(2).copied().unwrap_or(0));
                for at in 0..4_usize {
                    if at <= chunk.len() {
                        let shift = 18 - 6 * at;
                        let index = usize::try_from((word >> shift) & 63).unwrap_or(0);
                        out.push(char::from(BASE64[index]));
                    } else {
                        out.push('=');
                    }
                }
            }
            Ok(Value::Text(out))
        }
        other => Err(unknown_encoding(other)),
    }
}

pub(super) fn decode(arguments: &[Value], call: &Call) -> Result<Value> {
    let (encoded, format) = (text(&arguments[0])?, text(&arguments[1])?);
    match format {
        "hex" => Value::parse(&format!("\\x{encoded}"), &SqlType::Bytea, call.settings),
        "escape" => Value::parse(encoded, &SqlType::Bytea, call.settings),
        "base64" => {
            let mut out = Vec::new();
            let (mut word, mut bits) = (0_u32, 0);
            for byte in encoded
                .bytes()
                .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
            {
                let digit = BASE64.iter().position(|other| *other == byte).ok_or_else(|| {
                    Error::InvalidParameter {
                        message: format!(
                            "invalid symbol \"{}\" found while decoding base64 sequence",
                            char::from(byte)
                        ),
                        hint: None,
                    }
                })?;
                word = (word << 6) | u32::try_from(digit).unwrap_or(0);
                bits += 6;
                if bits >= 8 {
                    bits -= 8;
                    out.push(u8::try_from((word >> bits) & 0xFF).unwrap_or(0));
                }
            }
            Ok(Value::Bytes(out))
        }
        other => Err(unknown_encoding(other)),
    }
}
