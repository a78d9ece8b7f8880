//! Text of a date, time or interval, cut into tokens by shape alone, as PostgreSQL's `ParseDateTime` cuts it. What the
//! tokens mean is decided in `datetime_input` and `interval`.

use super::datetime_fault::Fault;
use super::datetime_words::keyword;
use super::spaces::is_space;

/// The most tokens a date may have, and the longest text.
const TOKENS_MAX: usize = 25;
const TEXT_BYTES_MAX: usize = 256;

/// Units that a number may follow at once. Longer names of units are the beginning of a word with digits.
const UNIT_LETTERS: [&str; 6] = ["d", "h", "m", "mm", "s", "y"];

/// A token by its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// Digits, perhaps with a fraction.
    Number,
    /// Digits and colons.
    Time,
    /// Digits and words joined by one of `-/.`; also zone names.
    Date,
    /// A sign and digits.
    Offset,
    /// Letters.
    Word,
    /// A sign and letters.
    SignedWord,
}

/// Cuts lower-case text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<(Shape, &str)>, Fault> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Fault::Format);
    }
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if is_space(char::from(bytes[at])) {
            at += 1;
            continue;
        }
        let start = at;
        let shape = match bytes[at] {
            b'0'..=b'9' => cut_digits(bytes, &mut at),
            b'.' => {
                at += 1;
                skip(bytes, &mut at, |byte| byte.is_ascii_digit());
                Shape::Number
            }
            b'a'..=b'z' => cut_word(text, &mut at),
            b'+' | b'-' => {
                at += 1;
                skip(bytes, &mut at, |byte| is_space(char::from(byte)));
                match bytes.get(at) {
                    Some(b'0'..=b'9') => {
                        skip(bytes, &mut at, |byte| {
                            byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-')
                        });
                        Shape::Offset
                    }
                    Some(b'a'..=b'z') => {
                        skip(bytes, &mut at, |byte| byte.is_ascii_alphabetic());
                        Shape::SignedWord
                    }
                    _ => return Err(Fault::Format),
                }
            }
            byte if byte.is_ascii_punctuation() => {
                at += 1;
                continue;
            }
            _ => return Err(Fault::Format),
        };
        if tokens.len() == TOKENS_MAX {
            return Err(Fault::Format);
        }
        tokens.push((shape, &text[start..at]));
    }
    Ok(tokens)
}

fn skip(bytes: &[u8], at: &mut usize, wanted: impl Fn(u8) -> bool) {
    while bytes.get(*at).is_some_and(|byte| wanted(*byte)) {
        *at += 1;
    }
}

fn cut_digits(bytes: &[u8], at: &mut usize) -> Shape {
    skip(bytes, at, |byte| byte.is_ascii_digit());
    match bytes.get(*at) {
        Some(b':') => {
            skip(bytes, at, |byte| {
                byte.is_ascii_digit() || matches!(byte, b':' | b'.')
            });
            Shape::Time
        }
        Some(delimiter @ (b'-' | b'/' | b'.')) => {
            *at += 1;
            if !bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                skip(bytes, at, |byte| {
                    byte.is_ascii_alphanumeric() || byte == *delimiter
                });
                // `12.` is a number; `8-jan-1999` is a date.
                return if *delimiter == b'.' && bytes[*at - 1] == b'.' {
                    Shape::Number
                } else {
                    Shape::Date
                };
            }
            skip(bytes, at, |byte| byte.is_ascii_digit());
            if bytes.get(*at) == Some(delimiter) {
                skip(bytes, at, |byte| byte.is_ascii_digit() || byte == *delimiter);
                return Shape::Date;
            }
            if *delimiter == b'.' {
                Shape::Number
            } else {
                Shape::Date
            }
        }
        _ => Shape::Number,
    }
}

fn cut_word(text: &str, at: &mut usize) -> Shape {
    let bytes = text.as_bytes();
    let start = *at;
    skip(bytes, at, |byte| byte.is_ascii_alphabetic());
    let joined = match bytes.get(*at) {
        Some(b'-' | b'/' | b'.') => true,
        // A zone such as est5edt, unless the word means something by itself, as the T of ISO 8601 and the h of 1h30m do.
        Some(b'+' | b'_' | b'0'..=b'9') => {
            let word = &text[start..*at];
            keyword(word).is_none() && !UNIT_LETTERS.contains(&word)
        }
        _ => false,
    };
    if !joined {
        return Shape::Word;
    }
    skip(bytes, at, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
    });
    Shape::Date
}
