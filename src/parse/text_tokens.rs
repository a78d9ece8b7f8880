//! A text cut into tokens that need not make sense: for what is done before the tokenizer, and for texts that it refuses.

use std::ops::Range;

/// The length in bytes of the token that `rest` starts with: a quoted string, a comment, a word or number, or one character.
pub(super) fn token_length(rest: &str, first: char) -> usize {
    match first {
        '\'' | '"' | '`' => quoted_length(rest, first),
        '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
        '$' => dollar_quoted_length(rest),
        _ if first.is_alphanumeric() || first == '_' => rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len()),
        _ => first.len_utf8(),
    }
}

/// A doubled quote inside is two strings back to back, which comes to the same.
fn quoted_length(rest: &str, quote: char) -> usize {
    rest[1..].find(quote).map_or(rest.len(), |at| at + 2)
}

fn dollar_quoted_length(rest: &str) -> usize {
    let Some(tag_end) = rest[1..].find('$').map(|at| at + 2) else {
        return 1;
    };
    let tag = &rest[..tag_end];
    if !tag[1..tag_end - 1]
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_')
    {
        return 1;
    }
    rest[tag_end..]
        .find(tag)
        .map_or(rest.len(), |at| tag_end + at + tag_end)
}

/// A text with blanks in the place of strings and comments.
pub(crate) fn without_strings(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' if ends_with_escape(&shown) => escaped_length(rest),
            first => token_length(rest, first),
        };
        let (token, after) = rest.split_at(length);
        let is_string = first == '\'' || first == '$' && length > 1;
        match is_string || token.starts_with("--") || token.starts_with("/*") {
            true => shown.push(' '),
            false => shown.push_str(token),
        }
        rest = after;
    }
    shown
}

/// Where the strings with escapes stand, quotes included: in bytes.
pub(super) fn escaped_strings(text: &str) -> Vec<Range<usize>> {
    let (mut strings, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let is_escaped = first == '\'' && ends_with_escape(&text[..at]);
        let length = match is_escaped {
            true => escaped_length(&text[at..]),
            false => token_length(&text[at..], first),
        };
        if is_escaped {
            strings.push(at..at + length);
        }
        at += length;
    }
    strings
}

/// Whether what is before a string is the E of one with escapes.
fn ends_with_escape(before: &str) -> bool {
    let mut before = before.chars().rev();
    matches!(before.next(), Some('e' | 'E'))
        && before.next().is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
}

/// The length of a string with escapes.
fn escaped_length(rest: &str) -> usize {
    let mut places = rest.char_indices().skip(1);
    while let Some((at, c)) = places.next() {
        match c {
            '\\' => {
                places.next();
            }
            '\'' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextToken<'t> {
    pub(super) text: &'t str,
    /// The place of its first character, from 1.
    pub(super) position: usize,
}

impl TextToken<'_> {
    /// Whether it is this word, or sign, in whatever case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is a word, quoted or not.
    pub(super) fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '`'))
    }

    /// Whether it is a string.
    pub(super) fn is_string(&self) -> bool {
        self.text.starts_with('\'')
    }

    /// Whether it is a number, or begins one.
    pub(super) fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    fn is_blank_or_comment(&self) -> bool {
        self.text.starts_with(char::is_whitespace)
            || self.text.starts_with("--")
            || self.text.starts_with("/*")
    }
}

/// Whether a text names something so, quoted or not.
pub(crate) fn mentions_word(text: &str, name: &str) -> bool {
    let quoted = super::quoting::quote_ident(name);
    let is_it = |token: &TextToken<'_>| match token.text.starts_with('"') {
        true => token.text == quoted || token.text.trim_matches('"') == name,
        false => token.text.to_ascii_lowercase() == name,
    };
    tokens(text).iter().any(is_it)
}

/// The tokens of a text, blanks and comments left out.
pub(super) fn tokens(text: &str) -> Vec<TextToken<'_>> {
    let (mut rest, mut position) = (text, 1);
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at(token_length(rest, first));
        let token = TextToken {
            text: token,
            position,
        };
        if !token.is_blank_or_comment() {
            tokens.push(token);
        }
        position += token.text.chars().count();
        rest = after;
    }
    tokens
}
