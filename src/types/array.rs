//! The text form of arrays, read: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`. Called by `text_input`; what an element is, it does
//! not know.

use super::spaces::is_space;
use super::{Value, array_fault};
use crate::{Error, Result};

/// Reads an array; `read_element` reads the text of an element that is not NULL, without its quotes. Errors: 22P02, 0A000
/// for more dimensions than the type has, those of the element. `is_nested`: the elements are arrays.
pub(super) fn parse(
    text: &str,
    is_nested: bool,
    read_element: impl Fn(&str) -> Result<Value>,
) -> Result<Vec<Value>> {
    let malformed = || array_fault::malformed(text);
    let trimmed = without_bounds(text.trim_matches(is_space), text)?;
    let body = trimmed
        .strip_prefix('{')
        .and_then(|body| body.strip_suffix('}'))
        .ok_or_else(malformed)?;
    let mut elements = Vec::new();
    if body.trim_matches(is_space).is_empty() {
        return Ok(elements);
    }
    let mut rest = body;
    loop {
        let (word, quoted, after) = cut_element(rest).ok_or_else(malformed)?;
        if is_nested && (quoted || !word.starts_with('{')) {
            return Err(match elements.is_empty() {
                true => fewer_dimensions(),
                false => malformed(),
            });
        }
        if !is_nested && !quoted && word.starts_with('{') {
            return Err(match elements.is_empty() {
                true => more_dimensions(),
                false => malformed(),
            });
        }
        elements.push(match (quoted, word.as_str()) {
            (false, "") => return Err(malformed()),
            (false, null) if null.eq_ignore_ascii_case("null") => Value::Null,
            (_, word) if is_nested => {
                let inner = read_element(word).map_err(|error| array_fault::of_whole(error, text))?;
                if matches!(&inner, Value::Array(items) if items.is_empty()) {
                    return Err(malformed());
                }
                inner
            }
            (_, word) => read_element(word)?,
        });
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() && (!is_nested || are_alike(&elements)) => return Ok(elements),
            None => return Err(malformed()),
        }
    }
}

/// The refusal of a value that has more dimensions than its type.
pub(super) fn more_dimensions() -> Error {
    Error::unsupported(
        "an array of more than one dimension where one of one dimension is held",
        Some("Declare the column with a pair of brackets for each dimension, as in integer[][]."),
    )
}

/// The refusal of one that has fewer.
pub(super) fn fewer_dimensions() -> Error {
    Error::unsupported(
        "an array of fewer dimensions than its type is declared with",
        Some("Declare the column with a pair of brackets for each dimension of its values, as in integer[]."),
    )
}

/// The refusal of an array that counts from another number.
pub(super) fn other_bounds(first: i32) -> Error {
    Error::unsupported(
        format!("an array whose first subscript is {first}"),
        Some("Arrays count from 1 here: leave the bounds out."),
    )
}

/// The array behind the bounds that a text may begin with (`[1:2]={a,b}`). Errors: 22P02; 0A000 for an array that does not count
/// from 1.
fn without_bounds<'a>(trimmed: &'a str, text: &str) -> Result<&'a str> {
    if !trimmed.starts_with('[') {
        return Ok(trimmed);
    }
    let malformed = || array_fault::malformed(text);
    let (bounds, body) = trimmed.split_once('=').ok_or_else(malformed)?;
    let body = body.trim_start_matches(is_space);
    let mut lengths = Vec::new();
    for bound in bounds.trim_matches(is_space).split_inclusive(']') {
        let inside = bound.trim_matches(is_space).strip_prefix('[');
        let inside = inside
            .and_then(|bound| bound.strip_suffix(']'))
            .ok_or_else(malformed)?;
        let (low, high) = inside.split_once(':').unwrap_or(("1", inside));
        let low: i32 = low.trim().parse().map_err(|_| malformed())?;
        let high: i32 = high.trim().parse().map_err(|_| malformed())?;
        if low != 1 {
            return Err(other_bounds(low));
        }
        lengths.push(usize::try_from(high).map_err(|_| malformed())?);
    }
    match lengths == shape(body) {
        true => Ok(body),
        false => Err(malformed()),
    }
}

/// How many items the text of an array has in each dimension, judged by the first of each.
fn shape(body: &str) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut rest = body.trim_matches(is_space);
    while let Some(inside) = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let (mut count, mut after) = (0, inside);
        while let Some((_, _, next)) = cut_element(after) {
            count += 1;
            match next.strip_prefix(',') {
                Some(next) => after = next,
                None => break,
            }
        }
        lengths.push(count);
        rest = match cut_element(inside) {
            Some((_, false, _)) if inside.trim_start_matches(is_space).starts_with('{') => {
                let inside = inside.trim_start_matches(is_space);
                &inside[..length_of_nested(inside).unwrap_or(inside.len())]
            }
            _ => break,
        };
    }
    lengths
}

/// Whether the elements are arrays of one length.
fn are_alike(elements: &[Value]) -> bool {
    let length = |element: &Value| match element {
        Value::Array(items) => Some(items.len()),
        _ => None,
    };
    elements
        .windows(2)
        .all(|pair| length(&pair[0]) == length(&pair[1]))
}

/// Cuts the first element off: its text without quotes and escapes, whether it was quoted, and what follows.
fn cut_element(text: &str) -> Option<(String, bool, &str)> {
    let text = text.trim_start_matches(is_space);
    if text.starts_with('{') {
        let (inner, rest) = text.split_at(length_of_nested(text)?);
        return Some((inner.to_string(), false, rest.trim_start_matches(is_space)));
    }
    let mut word = String::new();
    let mut chars = text.char_indices();
    if text.starts_with('"') {
        chars.next();
        loop {
            match chars.next()? {
                (_, '\\') => word.push(chars.next()?.1),
                (at, '"') => return Some((word, true, text[at + 1..].trim_start_matches(is_space))),
                (_, other) => word.push(other),
            }
        }
    }
    // Blanks that end an element do not count, unless escaped.
    let mut kept = 0;
    for (at, c) in chars.by_ref() {
        match c {
            ',' => {
                word.truncate(kept);
                return Some((word, false, &text[at..]));
            }
            '\\' => {
                let escaped = text[at + 1..].chars().next()?;
                // The escaped character itself comes next from the iterator; keep it whatever it is.
                word.push(escaped);
                return cut_escaped(word, &text[at + 1 + escaped.len_utf8()..]);
            }
            '"' | '}' => return None,
            '{' if !word.is_empty() => return None,
            c => {
                word.push(c);
                if !is_space(c) {
                    kept = word.len();
                }
            }
        }
    }
    word.truncate(kept);
    Some((word, false, ""))
}

/// How long the array is that a text begins with, its braces included.
fn length_of_nested(text: &str) -> Option<usize> {
    let (mut depth, mut in_quotes) = (0, false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()?),
            '"' => in_quotes = !in_quotes,
            '{' if !in_quotes => depth += 1,
            '}' if !in_quotes => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// How many dimensions a text shows: the braces that it begins with.
pub fn dimensions(text: &str) -> usize {
    let opening = text.trim_start_matches(is_space);
    let braces = opening.chars().filter(|c| !is_space(*c));
    braces.take_while(|c| *c == '{').count()
}

/// The rest of an unquoted element after an escape; it counts as quoted, so that `\NULL` is a string.
fn cut_escaped(mut word: String, rest: &str) -> Option<(String, bool, &str)> {
    let end = rest.find(',').unwrap_or(rest.len());
    let mut chars = rest[..end].chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.push(chars.next()?),
            '"' | '{' | '}' => return None,
            c => word.push(c),
        }
    }
    Some((word, true, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{FormatSettings, SqlType};

    fn read(text: &str, ty: &str) -> String {
        let settings = FormatSettings::default();
        let ty = SqlType::from_formatted(ty).unwrap().unwrap();
        match Value::parse(text, &ty, &settings) {
            Ok(value) => value.to_text(&settings),
            Err(error) => error.sqlstate().to_string(),
        }
    }

    #[test]
    fn bounds_and_dimensions_are_those_of_the_type() {
        let cases = [
            ("[1:2]={1,2}", "integer[]", "{1,2}"),
            (" [2] = {1,2}", "integer[]", "{1,2}"),
            ("[1:2][1:2]={{1,2},{3,4}}", "integer[][]", "{{1,2},{3,4}}"),
            ("[1:1]={\"a,b\"}", "text[]", "{\"a,b\"}"),
            ("[0:1]={1,2}", "integer[]", "0A000"),
            ("[1:3]={1,2}", "integer[]", "22P02"),
            ("[1:2]{1,2}", "integer[]", "22P02"),
            ("[1:2][1:1]={1,2}", "integer[]", "22P02"),
            ("{{1,2}}", "integer[]", "0A000"),
            ("{1,2}", "integer[][]", "0A000"),
            ("{}", "integer[][]", "{}"),
            ("{{1},{2,3}}", "integer[][]", "22P02"),
            ("{{}}", "integer[][]", "22P02"),
            ("{{}, {}}", "text[][]", "22P02"),
        ];
        for (text, ty, expected) in cases {
            assert_eq!(read(text, ty), expected, "{text}");
        }
    }
}
