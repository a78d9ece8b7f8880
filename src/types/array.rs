//! The text form of arrays, read: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`. Called by `text_input`; what an element is, it does
//! not know.

use super::array_dimension::{DIMENSIONS_MAX, Dimension, ELEMENTS_MAX, element_count};
use super::spaces::is_space;
use super::{ArrayValue, Value, array_fault};
use crate::{Error, Result};

/// Reads an array; `read_element` reads the text of an element that is not NULL, without its quotes. Errors: 22P02, 2202E for
/// bounds that hold nothing, 54000 for more dimensions or elements than an array has, those of the element.
pub(super) fn parse(text: &str, read_element: impl Fn(&str) -> Result<Value>) -> Result<ArrayValue> {
    let malformed = || array_fault::malformed(text);
    let trimmed = text.trim_matches(is_space);
    let (bounds, body) = cut_bounds(trimmed, text)?;
    let mut braces = Braces::default();
    let rest = body.strip_prefix('{').and_then(|inside| braces.read(inside, 0));
    if !rest.ok_or_else(malformed)?.is_empty() {
        return Err(malformed());
    }
    check_dimension_count(braces.lengths.len())?;
    let dimensions = match bounds {
        None => braces
            .lengths
            .iter()
            .map(|length| Dimension::of(*length))
            .collect(),
        Some(bounds) if has_lengths(&bounds, &braces.lengths) => bounds,
        Some(_) => return Err(array_fault::other_contents(text)),
    };
    check_bounds(&dimensions)?;
    let items = braces.words.iter().map(|word| match word {
        Some(word) => read_element(word),
        None => Ok(Value::Null),
    });
    Ok(ArrayValue::shaped(items.collect::<Result<_>>()?, &dimensions))
}

/// Errors: 54000 for more dimensions than an array has.
pub fn check_dimension_count(count: usize) -> Result<()> {
    match count <= DIMENSIONS_MAX {
        true => Ok(()),
        false => Err(beyond(format!(
            "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        ))),
    }
}

/// Errors: 54000 for more elements than an array has, and for subscripts beyond the largest integer.
pub fn check_bounds(dimensions: &[Dimension]) -> Result<()> {
    if element_count(dimensions).is_none() {
        return Err(beyond(format!(
            "array size exceeds the maximum allowed ({})",
            ELEMENTS_MAX
        )));
    }
    let is_beyond = |dimension: &&Dimension| dimension.lower.checked_add(dimension.length).is_none();
    match dimensions.iter().find(is_beyond) {
        None => Ok(()),
        Some(dimension) => Err(beyond(format!(
            "array lower bound is too large: {}",
            dimension.lower
        ))),
    }
}

fn beyond(message: String) -> Error {
    Error::LimitExceeded {
        state: crate::error::Limit::Program,
        message,
        hint: "Keep what is more in rows of a table.".to_string(),
    }
}

fn has_lengths(bounds: &[Dimension], lengths: &[usize]) -> bool {
    let own = bounds
        .iter()
        .map(|dimension| usize::try_from(dimension.length).ok());
    own.eq(lengths.iter().map(|length| Some(*length)))
}

/// The bounds that a text may begin with (`[1:2]={a,b}`), and the array behind them. Errors: 22P02, 2202E, 54000.
fn cut_bounds<'a>(trimmed: &'a str, text: &str) -> Result<(Option<Vec<Dimension>>, &'a str)> {
    if !trimmed.starts_with('[') {
        return Ok((None, trimmed));
    }
    let malformed = || array_fault::malformed(text);
    let (mut bounds, mut rest) = (Vec::new(), trimmed);
    while let Some(inside) = rest.strip_prefix('[') {
        let (inside, after) = inside.split_once(']').ok_or_else(malformed)?;
        let (lower, upper) = inside.split_once(':').unwrap_or(("1", inside));
        let lower: i32 = lower.parse().map_err(|_| malformed())?;
        let upper: i32 = upper.parse().map_err(|_| malformed())?;
        if upper < lower {
            return Err(Error::DataException {
                state: "2202E",
                message: "upper bound cannot be less than lower bound".to_string(),
            });
        }
        check_dimension_count(bounds.len() + 1)?;
        let length = i64::from(upper) - i64::from(lower) + 1;
        bounds.push(Dimension {
            length: i32::try_from(length).unwrap_or(i32::MAX),
            lower,
        });
        rest = after.trim_start_matches(is_space);
    }
    let body = rest.strip_prefix('=').ok_or_else(malformed)?;
    Ok((Some(bounds), body.trim_start_matches(is_space)))
}

/// What stands within braces.
#[derive(Default)]
struct Braces {
    /// The elements, `None`: NULL.
    words: Vec<Option<String>>,
    /// How many there are in each dimension.
    lengths: Vec<usize>,
    /// In how many braces the elements stand, once there is one.
    leaf: Option<usize>,
}

impl Braces {
    /// Reads what stands behind an opening brace, in so many others: what follows the closing one. `None`: malformed.
    fn read<'t>(&mut self, inside: &'t str, depth: usize) -> Option<&'t str> {
        // Braces without end are no array.
        if depth > u8::MAX.into() {
            return None;
        }
        let mut rest = inside.trim_start_matches(is_space);
        if let Some(after) = rest.strip_prefix('}').filter(|_| depth == 0) {
            return Some(after);
        }
        let mut count = 0;
        loop {
            rest = match rest.strip_prefix('{') {
                Some(inner) if self.leaf != Some(depth) => self.read(inner, depth + 1)?,
                Some(_) => return None,
                None if *self.leaf.get_or_insert(depth) == depth => self.element(rest)?,
                None => return None,
            };
            count += 1;
            rest = rest.trim_start_matches(is_space);
            match rest.strip_prefix(',') {
                Some(next) => rest = next.trim_start_matches(is_space),
                None => break,
            }
        }
        let after = rest.strip_prefix('}')?;
        if self.lengths.len() <= depth {
            self.lengths.resize(depth + 1, 0);
        }
        match self.lengths[depth] {
            0 => self.lengths[depth] = count,
            length if length == count => {}
            _ => return None,
        }
        Some(after)
    }

    /// Reads an element, which ends before a comma or a brace: what follows it.
    fn element<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(quoted) = text.strip_prefix('"') {
            let (word, rest) = quoted_word(quoted)?;
            self.words.push(Some(word));
            return Some(rest);
        }
        let (mut word, mut kept, mut is_escaped) = (String::new(), 0, false);
        let mut chars = text.char_indices();
        let rest = loop {
            let (at, c) = chars.next()?;
            match c {
                ',' | '}' => break &text[at..],
                '"' | '{' => return None,
                '\\' => {
                    word.push(chars.next()?.1);
                    (kept, is_escaped) = (word.len(), true);
                }
                c => {
                    word.push(c);
                    // Blanks that end an element do not count, unless escaped.
                    if !is_space(c) {
                        kept = word.len();
                    }
                }
            }
        };
        word.truncate(kept);
        if word.is_empty() {
            return None;
        }
        let is_null = !is_escaped && word.eq_ignore_ascii_case("null");
        self.words.push((!is_null).then_some(word));
        Some(rest)
    }
}

/// What stands in quotes, of which the first has been read, and what follows them.
fn quoted_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next()? {
            (_, '\\') => word.push(chars.next()?.1),
            (at, '"') => return Some((word, &text[at + 1..])),
            (_, other) => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::types::{FormatSettings, SqlType, Value};

    fn read(text: &str, ty: &str) -> String {
        let settings = FormatSettings::default();
        let ty = SqlType::from_formatted(ty).unwrap().unwrap();
        match Value::parse(text, &ty, &settings) {
            Ok(value) => value.to_text(&settings),
            Err(error) => error.sqlstate().to_string(),
        }
    }

    #[test]
    fn bounds_and_dimensions_are_those_of_the_value() {
        let cases = [
            ("[1:2]={1,2}", "integer[]", "{1,2}"),
            ("[2] = {1,2}", "integer[]", "{1,2}"),
            ("[1:2][1:2]={{1,2},{3,4}}", "integer[][]", "{{1,2},{3,4}}"),
            ("[1:1]={\"a,b\"}", "text[]", "{\"a,b\"}"),
            ("[0:1]={1,2}", "integer[]", "[0:1]={1,2}"),
            ("[-1:-1][2:3]={{1,2}}", "integer[]", "[-1:-1][2:3]={{1,2}}"),
            ("[1:3]={1,2}", "integer[]", "22P02"),
            ("[2:1]={}", "integer[]", "2202E"),
            ("[1:2]{1,2}", "integer[]", "22P02"),
            ("[1:2][1:1]={1,2}", "integer[]", "22P02"),
            ("[2147483647:2147483647]={1}", "integer[]", "54000"),
            ("{{1,2}}", "integer[]", "{{1,2}}"),
            ("{1,2}", "integer[][]", "{1,2}"),
            ("{}", "integer[][]", "{}"),
            ("{{1},{2,3}}", "integer[][]", "22P02"),
            ("{{1},2}", "integer[]", "22P02"),
            ("{1,{2}}", "integer[]", "22P02"),
            ("{{}}", "integer[][]", "22P02"),
            ("{{}, {}}", "text[][]", "22P02"),
            ("{{{{{{{1}}}}}}}", "integer[]", "54000"),
            (
                "{a\\ , NULL, \\NULL, b c }",
                "text[]",
                "{\"a \",NULL,\"NULL\",\"b c\"}",
            ),
            ("{x,}", "integer[]", "22P02"),
        ];
        for (text, ty, expected) in cases {
            assert_eq!(read(text, ty), expected, "{text}");
        }
    }
}
