//! The text form of ranges and multiranges, read: `[1,5)`, `empty`, `{[1,3),[5,)}`. Called by `text_input`.

use super::quoted_word::cut_word;
use super::spaces::is_space;
use super::{FormatSettings, MultirangeValue, RangeBound, RangeKind, RangeValue, Value, record_input};
use crate::{Error, Result};

/// Reads a range. Errors: 22P02, those of the bounds, 22000.
pub(super) fn parse_range(text: &str, kind: RangeKind, settings: &FormatSettings) -> Result<RangeValue> {
    let (range, rest) = cut_range(text, text, kind, settings)?;
    match rest.trim_start_matches(is_space).is_empty() {
        true => Ok(range),
        false
            if range.is_empty()
                && text
                    .trim_start_matches(is_space)
                    .to_lowercase()
                    .starts_with(EMPTY) =>
        {
            Err(malformed(text, "Junk after \"empty\" key word."))
        }
        false => Err(malformed(text, "Junk after right parenthesis or bracket.")),
    }
}

/// Reads a multirange. Errors: as [`parse_range`].
pub(super) fn parse_multirange(
    text: &str,
    kind: RangeKind,
    settings: &FormatSettings,
) -> Result<MultirangeValue> {
    let wrong = |detail| record_input::malformed("multirange", text, detail);
    let body = text.trim_start_matches(is_space).strip_prefix('{');
    let mut rest = body
        .ok_or_else(|| wrong("Missing left brace."))?
        .trim_start_matches(is_space);
    let mut ranges = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return match after.trim_start_matches(is_space).is_empty() {
                true => Ok(MultirangeValue::new(kind, ranges)),
                false => Err(wrong("Junk after closing right brace.")),
            };
        }
        if !ranges.is_empty() {
            let after = rest.strip_prefix(',').ok_or_else(|| match rest.is_empty() {
                true => wrong("Unexpected end of input."),
                false => wrong("Expected comma or end of multirange."),
            })?;
            rest = after.trim_start_matches(is_space);
        }
        if rest.is_empty() {
            return Err(wrong("Unexpected end of input."));
        }
        let begins = rest.starts_with(['[', '(']) || rest.to_lowercase().starts_with(EMPTY);
        if !begins {
            return Err(wrong("Expected range start."));
        }
        let (range, after) = cut_range(rest, end_of_range(rest), kind, settings)?;
        ranges.push(range);
        rest = after.trim_start_matches(is_space);
    }
}

const EMPTY: &str = "empty";

/// The text of the range that a text begins with, for messages.
fn end_of_range(text: &str) -> &str {
    match text.find([']', ')']) {
        Some(at) => &text[..=at],
        None => text,
    }
}

fn malformed(text: &str, detail: &str) -> Error {
    record_input::malformed("range", text, detail)
}

/// The range that a text begins with, and what follows. `whole`: the text that messages show.
fn cut_range<'a>(
    text: &'a str,
    whole: &str,
    kind: RangeKind,
    settings: &FormatSettings,
) -> Result<(RangeValue, &'a str)> {
    let wrong = |detail| malformed(whole, detail);
    let text = text.trim_start_matches(is_space);
    if text
        .get(..EMPTY.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(EMPTY))
    {
        return Ok((RangeValue::empty(kind), &text[EMPTY.len()..]));
    }
    let opens = text.chars().next().filter(|first| matches!(first, '[' | '('));
    let opens = opens.ok_or_else(|| wrong("Missing left parenthesis or bracket."))?;
    let (low, rest) = cut_bound(&text[1..]).ok_or_else(|| wrong("Unexpected end of input."))?;
    let rest = rest
        .strip_prefix(',')
        .ok_or_else(|| wrong("Missing comma after lower bound."))?;
    let (high, rest) = cut_bound(rest).ok_or_else(|| wrong("Unexpected end of input."))?;
    let closes = rest.chars().next().filter(|last| matches!(last, ']' | ')'));
    let closes = closes.ok_or_else(|| wrong("Too many commas."))?;
    let read = |bound: Option<String>| {
        let value = bound.map(|text| Value::parse(&text, &kind.bound_type(), settings));
        value.transpose()
    };
    let lower = RangeBound {
        value: read(low)?,
        inclusive: opens == '[',
    };
    let upper = RangeBound {
        value: read(high)?,
        inclusive: closes == ']',
    };
    Ok((RangeValue::new(kind, lower, upper)?, &rest[1..]))
}

/// The bound that a text begins with, without quotes and escapes, and what follows, which begins with a comma or what closes. The
/// bound is `None` where nothing stands. `None`: the text ends before.
fn cut_bound(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let (word, rest) = cut_word(text, &[',', ')', ']'])?;
    Some((Some(word), rest))
}
