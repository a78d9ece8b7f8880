//! `E'\uD83D\uDE00'`: a character beyond U+FFFF as the two codes that UTF-16 has for it. The tokenizer takes each code for a character, and
//! there is none of either: so the character is put in their place, with as many signs behind it as keep what follows in its place. They
//! leave the string again when it has been cut. Called by `statement`.

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::text_tokens::escaped_strings;

/// What fills the place: no character, and so in nobody's text by itself.
const FILL: &str = "\u{FDD0}\u{FDD1}\u{FDD0}\u{FDD1}\u{FDD0}\u{FDD1}\u{FDD0}\u{FDD1}\u{FDD0}\u{FDD1}\u{FDD0}";
/// How many characters the escapes of a pair have: one more than the filling.
const PAIR: usize = 12;

/// The text with the characters of pairs in its strings.
pub(super) fn join(text: &str) -> Cow<'_, str> {
    let has_escapes = text.contains("\\u") || text.contains("\\U");
    if !has_escapes {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    let mut end = 0;
    for string in escaped_strings(text) {
        let mut at = string.start;
        while let Some(escape) = text[at..string.end].find('\\').map(|found| at + found) {
            match pair(&text[escape..string.end]) {
                Some(character) => {
                    joined.push_str(&text[end..escape]);
                    joined.push(character);
                    joined.push_str(FILL);
                    (at, end) = (escape + PAIR, escape + PAIR);
                }
                None => at = escape + 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8),
            }
        }
    }
    match end {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(joined + &text[end..]),
    }
}

/// The character that the escapes of a pair begin with.
fn pair(escapes: &str) -> Option<char> {
    let code = |escape: &str| u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok();
    let (high, low) = (code(escapes.get(..6)?)?, code(escapes.get(6..PAIR)?)?);
    if !(0xD800..0xDC00).contains(&high) {
        return None;
    }
    char::decode_utf16([high, low]).next()?.ok()
}

/// Takes the filling out of the strings.
pub(super) fn settle(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        if let Token::EscapedStringLiteral(text) = &mut token.token
            && text.contains(FILL)
        {
            *text = text.replace(FILL, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_their_characters_and_keep_their_room() {
        let joined = |text: &str| {
            let joined = join(text).into_owned();
            assert_eq!(joined.chars().count(), text.chars().count(), "{text}");
            joined.replace(FILL, "")
        };
        assert_eq!(
            joined(r"SELECT E'a\uD83D\uDE00b', 'x'"),
            "SELECT E'a\u{1F600}b', 'x'"
        );
        assert_eq!(
            joined(r"SELECT E'\uD83D\uDE00\uD83D\uDE01'"),
            "SELECT E'\u{1F600}\u{1F601}'"
        );
        for same in [
            r"SELECT E'\\uD83D\\uDE00'",
            r"SELECT '\uD83D\uDE00'",
            r"SELECT E'\uD83D'",
            r"SELECT E'\uDE00\uD83D'",
            r#"SELECT "\uD83D\uDE00""#,
        ] {
            assert_eq!(joined(same), same);
        }
    }
}
