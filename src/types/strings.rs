//! Lengths of varchar(n), char(n), name and "char", counted as PostgreSQL counts them: in characters, and blanks behind
//! the limit do not count. Called where text becomes a value of a column.

use std::borrow::Cow;

use super::letter_case::lowercase;
use super::{SqlType, internal_char};
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
        SqlType::InternalChar => text = internal_char::text_of(internal_char::byte_of(text.as_bytes())),
        _ => {}
    }
    text
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
