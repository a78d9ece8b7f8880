//! What is wrong with a text that is no array, in PostgreSQL's words. Asked by `array` once reading has failed.

use super::spaces::is_space;
use crate::Error;

/// The error for the text. 22P02.
pub(super) fn malformed(text: &str) -> Error {
    Error::MalformedArray {
        detail: detail(text.trim_matches(is_space)),
        text: text.to_string(),
    }
}

/// The error for one whose bounds are others than those of what it holds. 22P02.
pub(super) fn other_contents(text: &str) -> Error {
    Error::MalformedArray {
        detail: "Specified array dimensions do not match array contents.".to_string(),
        text: text.to_string(),
    }
}

fn detail(text: &str) -> String {
    let body = match behind_bounds(text) {
        Ok(None) => text,
        Ok(Some(body)) if body.starts_with('{') => body,
        Ok(Some(_)) => return "Array contents must start with \"{\".".to_string(),
        Err(detail) => return detail.to_string(),
    };
    if !body.starts_with('{') {
        return "Array value must start with \"{\" or dimension information.".to_string();
    }
    unexpected(body).unwrap_or_else(|| {
        "Multidimensional arrays must have sub-arrays with matching dimensions.".to_string()
    })
}

/// The array behind the bounds that a text begins with, if it does with any. Errors: what is wrong with them.
fn behind_bounds(text: &str) -> Result<Option<&str>, &'static str> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '-' || c == '+';
    let mut rest = text;
    while let Some(inside) = rest.strip_prefix('[') {
        let mut after = inside.trim_start_matches(is_of_number);
        if after.len() == inside.len() {
            return Err("\"[\" must introduce explicitly-specified array dimensions.");
        }
        if let Some(upper) = after.strip_prefix(':') {
            after = upper.trim_start_matches(is_of_number);
            if after.len() == upper.len() {
                return Err("Missing array dimension value.");
            }
        }
        rest = match after.strip_prefix(']') {
            Some(next) => next.trim_start_matches(is_space),
            None => return Err("Missing \"]\" after array dimensions."),
        };
    }
    if rest.len() == text.len() {
        return Ok(None);
    }
    match rest.strip_prefix('=') {
        Some(body) => Ok(Some(body.trim_start_matches(is_space))),
        None => Err("Missing \"=\" after array dimensions."),
    }
}

/// What stands before the place in an array.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Opening,
    Comma,
    /// An element that may go on.
    Word,
    /// An element that has ended: in quotes, or an array.
    Whole,
}

/// The first of what cannot stand where it does. `None`: all of it may.
fn unexpected(body: &str) -> Option<String> {
    let character = |c: char| Some(format!("Unexpected \"{c}\" character."));
    let (mut before, mut depth, mut in_quotes) = (Before::Opening, 0_usize, false);
    // Whether the elements of the innermost array are arrays.
    let mut holds_arrays = false;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => break,
            '\\' if in_quotes => {}
            '\\' => before = Before::Word,
            '"' if in_quotes => (in_quotes, before) = (false, Before::Whole),
            _ if in_quotes => {}
            '"' if matches!(before, Before::Opening | Before::Comma) => in_quotes = true,
            '{' if depth > 0 && (before == Before::Word || before == Before::Comma && !holds_arrays) => {
                return character('{');
            }
            '{' if before == Before::Whole => return character('{'),
            '{' => (depth, before, holds_arrays) = (depth + 1, Before::Opening, false),
            '}' if before == Before::Comma || before == Before::Opening && depth > 1 => {
                return character('}');
            }
            '}' => {
                (depth, before, holds_arrays) = (depth - 1, Before::Whole, true);
                let rest = body[at + 1..].trim_matches(is_space);
                match depth {
                    0 if rest.is_empty() => return None,
                    0 => return Some("Junk after closing right brace.".to_string()),
                    _ => {}
                }
            }
            ',' if matches!(before, Before::Opening | Before::Comma) => return character(','),
            ',' => before = Before::Comma,
            c if is_space(c) => {}
            _ if before == Before::Whole || before == Before::Comma && holds_arrays => {
                return Some("Unexpected array element.".to_string());
            }
            '"' => return Some("Unexpected array element.".to_string()),
            _ => before = Before::Word,
        }
    }
    Some("Unexpected end of input.".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_postgresqls() {
        let (mismatch, element) = (
            "Multidimensional arrays must have sub-arrays with matching dimensions.",
            "Unexpected array element.",
        );
        let end = "Unexpected end of input.";
        let junk = "Junk after closing right brace.";
        let start = "Array value must start with \"{\" or dimension information.";
        for (text, expected) in [
            ("{1,,2}", "Unexpected \",\" character."),
            ("{,1}", "Unexpected \",\" character."),
            ("{1,}", "Unexpected \"}\" character."),
            ("{\"a\"b}", element),
            ("{a\"b\"}", element),
            ("{1,2}x", junk),
            ("{1,2", end),
            ("x", start),
            ("", start),
            ("{{1},2}", element),
            ("{1,{2}}", "Unexpected \"{\" character."),
            ("{{1},{2,3}}", mismatch),
            ("{}}", junk),
            ("{a\\", end),
            ("[1:]={1}", "Missing array dimension value."),
            (
                "[a]={1}",
                "\"[\" must introduce explicitly-specified array dimensions.",
            ),
            ("[1]=1", "Array contents must start with \"{\"."),
            ("[1]", "Missing \"=\" after array dimensions."),
            ("{}x", junk),
            ("{\"a", end),
            ("{{},{1}}", "Unexpected \"}\" character."),
            ("{1}{2}", junk),
        ] {
            assert_eq!(detail(text), expected, "{text}");
        }
    }
}
