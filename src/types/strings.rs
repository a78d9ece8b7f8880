//! Lengths of varchar(n), char(n), name and "char", counted as PostgreSQL counts them: in characters, and blanks behind
//! the limit do not count. Called where text becomes a value of a column.

use std::borrow::Cow;

use super::SqlType;
use super::letter_case::lowercase;
use crate::error::utf8;
use crate::{Error, Result};

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 63;

/// What comparisons see of a text of the string type: char(n) without the blanks at its end, citext in lower case. Keys hold that.
pub fn comparable_text<'a>(ty: &SqlType, text: &'a str) -> Cow<'a, str> {
    match ty {
        SqlType::Char(_) => Cow::Borrowed(text.trim_end_matches(' ')),
        SqlType::Citext => lowercase(text),
        _ => Cow::Borrowed(text),
    }
}

/// The text, unless it holds a zero byte, which PostgreSQL's text cannot. Errors: 22021.
pub(super) fn checked(text: &str) -> Result<String> {
    utf8::text(text.as_bytes()).map(str::to_string)
}

/// The text as a column of the string type stores it: char(n) padded, a name cut, nothing but blanks dropped behind the
/// length. Errors: 22001.
pub(super) fn fit(text: String, ty: &SqlType) -> Result<String> {
    match ty {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => {
            let rest = after(&text, *length);
            if !rest.bytes().all(|byte| byte == b' ') {
                return Err(Error::StringTooLong { type_name: ty.name() });
            }
            Ok(cut(text, ty))
        }
        _ => Ok(cut(text, ty)),
    }
}

/// Cuts a name that is too long.
pub fn truncate_name(name: &mut String) {
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
}

/// As [`fit`], but drops whatever stands behind the length: an explicit cast.
pub(super) fn cut(mut text: String, ty: &SqlType) -> String {
    match ty {
        SqlType::Varchar(Some(length)) => {
            let kept = text.len() - after(&text, *length).len();
            text.truncate(kept);
        }
        SqlType::Char(Some(length)) => {
            let kept = text.len() - after(&text, *length).len();
            text.truncate(kept);
            let blanks = (*length as usize).saturating_sub(text.chars().count());
            text.extend(std::iter::repeat_n(' ', blanks));
        }
        SqlType::Name => truncate_name(&mut text),
        SqlType::InternalChar => one_byte(&mut text),
        _ => {}
    }
    text
}

/// Keeps the first byte, which may be written as three octal digits; of one that is no ASCII nothing else tells.
fn one_byte(text: &mut String) {
    let octal = match text.as_bytes() {
        [b'\\', digits @ ..] if digits.len() == 3 => digits.iter().try_fold(0_u32, |byte, digit| {
            (b'0'..=b'7')
                .contains(digit)
                .then(|| byte * 8 + u32::from(digit - b'0'))
        }),
        _ => None,
    };
    let Some(byte) = octal.map(|byte| byte as u8).or(text.as_bytes().first().copied()) else {
        return;
    };
    text.clear();
    match byte {
        0 => {}
        byte if byte.is_ascii() => text.push(char::from(byte)),
        byte => text.push_str(&format!("\\{byte:03o}")),
    }
}

/// What stands behind the first `length` characters.
fn after(text: &str, length: u32) -> &str {
    if text.len() <= length as usize {
        return "";
    }
    text.char_indices()
        .nth(length as usize)
        .map_or("", |(at, _)| &text[at..])
}
