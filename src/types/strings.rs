//! Lengths of varchar(n), char(n), name and "char", counted as PostgreSQL counts them: in characters, and blanks behind
//! the limit do not count. Called where text becomes a value of a column.

use super::SqlType;
use crate::error::utf8;
use crate::{Error, Result};

/// The most bytes of a name.
const NAME_BYTES_MAX: usize = 63;

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
        SqlType::Name => text.truncate(text.floor_char_boundary(NAME_BYTES_MAX)),
        SqlType::InternalChar => text.truncate(text.chars().next().map_or(0, char::len_utf8)),
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
