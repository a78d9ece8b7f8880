//! The functions and operators of POSIX regular expressions: `~`, regexp_replace and its kin, `substring(text from pattern)`.
//! What a pattern matches, `regular_expression` knows.

use arrow::array::ArrayRef;

use super::kept_regexes::with_regex;
use super::regular_expression::RegularExpression;
use super::regular_groups::{Groups, Span};
use super::size::LimitedText;
use super::{Batch, FunctionDef, T, mismatched_types};
use crate::types::{ResultLimits, Value};
use crate::{Error, Result};

/// As the definitions below need it.
const fn text(
    name: &'static str,
    arguments: &'static [T],
    body: fn(&Batch) -> Result<ArrayRef>,
) -> FunctionDef {
    FunctionDef::new(name, arguments, T::Text, body)
}

const fn number(
    name: &'static str,
    arguments: &'static [T],
    body: fn(&Batch) -> Result<ArrayRef>,
) -> FunctionDef {
    FunctionDef::new(name, arguments, T::Int4, body)
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text, pattern| matches(text, pattern, ""))
    }),
    FunctionDef::new("~*", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text, pattern| matches(text, pattern, "i"))
    }),
    FunctionDef::new("!~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text, pattern| matches(text, pattern, "").map(|matches| !matches))
    }),
    FunctionDef::new("!~*", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text, pattern| matches(text, pattern, "i").map(|matches| !matches))
    }),
    FunctionDef::new("regexp_like", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text, pattern| matches(text, pattern, ""))
    }),
    FunctionDef::new("regexp_like", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(|text, pattern, flags| {
            refuse_global(flags, "regexp_like", None)?;
            matches(text, pattern, flags)
        })
    }),
    text("regexp_replace", &[T::Text, T::Text, T::Text], |b| {
        b.map3(|text, pattern, new| replaced((text, pattern, ""), new, (1, Some(1)), b.limits()))
    }),
    text("regexp_replace", &[T::Text, T::Text, T::Text, T::Text], |b| {
        b.map4(|text, pattern, new, flags| replaced_by_flags((text, pattern, flags), new, b.limits()))
    }),
    text(
        "regexp_replace",
        &[T::Text, T::Text, T::Text, T::Int4],
        replaced_from,
    ),
    text(
        "regexp_replace",
        &[T::Text, T::Text, T::Text, T::Int4, T::Int4],
        replaced_from,
    ),
    text(
        "regexp_replace",
        &[T::Text, T::Text, T::Text, T::Int4, T::Int4, T::Text],
        replaced_from,
    ),
    text("regexp_match", &[T::Text, T::Text], |b| {
        b.map2(|text, pattern| first_match(text, pattern, ""))
    })
    .array(T::Text),
    text("regexp_match", &[T::Text, T::Text, T::Text], |b| {
        b.map3(first_match)
    })
    .array(T::Text),
    FunctionDef::rows("regexp_matches", &[T::Text, T::Text], T::TextArray, |b| {
        b.map2(|text, pattern| every_match(text, pattern, ""))
    }),
    FunctionDef::rows(
        "regexp_matches",
        &[T::Text, T::Text, T::Text],
        T::TextArray,
        |b| b.map3(every_match),
    ),
    text("regexp_split_to_array", &[T::Text, T::Text], |b| {
        b.map2(|text, pattern| split(text, pattern, ""))
    })
    .array(T::Text),
    text("regexp_split_to_array", &[T::Text, T::Text, T::Text], |b| {
        b.map3(|text, pattern, flags| {
            refuse_global(flags, "regexp_split_to_array", None)?;
            split(text, pattern, flags)
        })
    })
    .array(T::Text),
    FunctionDef::rows("regexp_split_to_table", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, pattern| split(text, pattern, ""))
    }),
    FunctionDef::rows(
        "regexp_split_to_table",
        &[T::Text, T::Text, T::Text],
        T::Text,
        |b| {
            b.map3(|text, pattern, flags| {
                refuse_global(flags, "regexp_split_to_table", None)?;
                split(text, pattern, flags)
            })
        },
    ),
    number("regexp_count", &[T::Text, T::Text], |b| b.map_values(count)),
    number("regexp_count", &[T::Text, T::Text, T::Int4], |b| {
        b.map_values(count)
    }),
    number("regexp_count", &[T::Text, T::Text, T::Int4, T::Text], |b| {
        b.map_values(count)
    }),
    number("regexp_instr", &[T::Text, T::Text], |b| b.map_values(place)),
    number("regexp_instr", &[T::Text, T::Text, T::Int4], |b| {
        b.map_values(place)
    }),
    number("regexp_instr", &[T::Text, T::Text, T::Int4, T::Int4], |b| {
        b.map_values(place)
    }),
    number(
        "regexp_instr",
        &[T::Text, T::Text, T::Int4, T::Int4, T::Int4],
        |b| b.map_values(place),
    ),
    number(
        "regexp_instr",
        &[T::Text, T::Text, T::Int4, T::Int4, T::Int4, T::Text],
        |b| b.map_values(place),
    ),
    number(
        "regexp_instr",
        &[T::Text, T::Text, T::Int4, T::Int4, T::Int4, T::Text, T::Int4],
        |b| b.map_values(place),
    ),
    text("regexp_substr", &[T::Text, T::Text], |b| b.map_values(piece)),
    text("regexp_substr", &[T::Text, T::Text, T::Int4], |b| {
        b.map_values(piece)
    }),
    text("regexp_substr", &[T::Text, T::Text, T::Int4, T::Int4], |b| {
        b.map_values(piece)
    }),
    text(
        "regexp_substr",
        &[T::Text, T::Text, T::Int4, T::Int4, T::Text],
        |b| b.map_values(piece),
    ),
    text(
        "regexp_substr",
        &[T::Text, T::Text, T::Int4, T::Int4, T::Text, T::Int4],
        |b| b.map_values(piece),
    ),
    text("substring", &[T::Text, T::Text], |b| b.map2(first_part)),
];

/// Whether a pattern matches somewhere. Errors: as of all functions here: 2201B and 22023 for a pattern or flags that are
/// none, 54000 for a search that takes too long.
pub(super) fn matches(text: &str, pattern: &str, flags: &str) -> Result<bool> {
    with_regex(pattern, flags, |regex| regex.is_match(text))?
}

/// Errors: 22023 for the flag `g` where only one match counts.
pub(super) fn refuse_global(flags: &str, function: &str, hint: Option<&str>) -> Result<()> {
    match flags.contains('g') {
        true => Err(Error::InvalidParameter {
            message: format!("{function}() does not support the \"global\" option"),
            hint: hint.map(str::to_string),
        }),
        false => Ok(()),
    }
}

/// What the pattern matched first; with a group in it, what the first group matched.
fn first_part<'t>(text: &'t str, pattern: &str) -> Result<Option<&'t str>> {
    with_regex(pattern, "", |regex| {
        let span = match regex.group_count() {
            0 => regex.find_at(text, 0)?,
            _ => regex.groups_at(text, 0)?.and_then(|groups| groups[1]),
        };
        Ok(span.map(|(start, end)| &text[start..end]))
    })?
}

/// The groups of a match, or the match itself where there are none.
fn group_texts<'t>(text: &'t str, groups: &Groups) -> Vec<Option<&'t str>> {
    let shown = match groups.len() {
        1 => &groups[..],
        _ => &groups[1..],
    };
    let text_of = |span: &Option<Span>| span.map(|(start, end)| &text[start..end]);
    shown.iter().map(text_of).collect()
}

pub(super) fn first_match<'t>(
    text: &'t str,
    pattern: &str,
    flags: &str,
) -> Result<Option<Vec<Option<&'t str>>>> {
    refuse_global(
        flags,
        "regexp_match",
        Some("Use the regexp_matches function instead."),
    )?;
    with_regex(pattern, flags, |regex| {
        let groups = regex.groups_at(text, 0)?;
        Ok(groups.map(|groups| group_texts(text, &groups)))
    })?
}

/// The first match, or every one with the flag `g`.
pub(super) fn every_match<'t>(
    text: &'t str,
    pattern: &str,
    flags: &str,
) -> Result<Vec<Vec<Option<&'t str>>>> {
    let wanted = if flags.contains('g') { usize::MAX } else { 1 };
    with_regex(pattern, flags, |regex| {
        let found = regex.groups_of_all(text, 0).take(wanted);
        found.map(|groups| Ok(group_texts(text, &groups?))).collect()
    })?
}

/// The pieces between the matches. An empty match at either end, or right behind another match, is none.
pub(super) fn split<'t>(text: &'t str, pattern: &str, flags: &str) -> Result<Vec<&'t str>> {
    with_regex(pattern, flags, |regex| {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for span in regex.find_all(text, 0) {
            let (start, end) = span?;
            if start < text.len() && end > from {
                pieces.push(&text[from..start]);
                from = end;
            }
        }
        pieces.push(&text[from..]);
        Ok(pieces)
    })?
}

/// The fourth argument is flags. Errors: 22023 with a hint when it looks like a number.
pub(super) fn replaced_by_flags(
    (text, pattern, flags): (&str, &str, &str),
    new: &str,
    limits: ResultLimits,
) -> Result<String> {
    if let Some(digit) = flags.chars().next().filter(char::is_ascii_digit) {
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
        return Err(Error::InvalidParameter {
            message: format!("invalid regular expression option: \"{digit}\""),
            hint: Some(hint.to_string()),
        });
    }
    let which = if flags.contains('g') { None } else { Some(1) };
    replaced((text, pattern, flags), new, (1, which), limits)
}

/// With a start, which match (0: every one), and flags.
fn replaced_from(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| {
        let call = Call::read(arguments, &[3, 4, 5])?;
        let Some(Value::Text(new)) = arguments.get(2) else {
            return Err(mismatched_types());
        };
        let start = positive("start", call.numbers[0].unwrap_or(1))?;
        let which = match call.numbers[1] {
            Some(which) if which < 0 => return Err(invalid_value("n", which)),
            // Without a number the flags say.
            None if call.flags.contains('g') => None,
            Some(0) => None,
            which => Some(which.map_or(1, |which| which as usize)),
        };
        replaced(
            (call.text, call.pattern, call.flags),
            new,
            (start, which),
            batch.limits(),
        )
    })
}

/// The text with a match, or every one (`None`), replaced. `start`: the character that the search begins at.
fn replaced(
    (text, pattern, flags): (&str, &str, &str),
    new: &str,
    (start, which): (usize, Option<usize>),
    limits: ResultLimits,
) -> Result<String> {
    let replacement = Replacement::read(new);
    with_regex(pattern, flags, |regex| {
        let (mut out, mut from) = (LimitedText::new(limits), 0);
        let Some(first) = byte_of(text, start) else {
            return Ok(text.to_string());
        };
        let (skipped, taken) = match which {
            Some(which) => (which.saturating_sub(1), 1),
            None => (0, usize::MAX),
        };
        let put = |groups: Groups, out: &mut LimitedText, from: &mut usize| -> Result<()> {
            let Some((start, end)) = groups[0] else {
                return Ok(());
            };
            out.push(&text[*from..start])?;
            replacement.put(text, &groups, out)?;
            *from = end;
            Ok(())
        };
        if replacement.names_groups {
            for groups in regex.groups_of_all(text, first).skip(skipped).take(taken) {
                put(groups?, &mut out, &mut from)?;
            }
        } else {
            for span in regex.find_all(text, first).skip(skipped).take(taken) {
                put(vec![Some(span?)], &mut out, &mut from)?;
            }
        }
        out.push(&text[from..])?;
        Ok(out.finish())
    })?
}

/// What matches are replaced by.
struct Replacement<'t> {
    pieces: Vec<Piece<'t>>,
    names_groups: bool,
}

enum Piece<'t> {
    Text(&'t str),
    Group(usize),
}

impl<'t> Replacement<'t> {
    /// `\1` to `\9` are groups, `\&` is the match, `\\` a backslash; any other stands for itself.
    fn read(text: &'t str) -> Replacement<'t> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            pieces.push(Piece::Text(before));
            let (piece, length) = match escape.as_bytes().get(1) {
                Some(b'&') => (Piece::Group(0), 2),
                Some(digit @ b'1'..=b'9') => (Piece::Group(usize::from(digit - b'0')), 2),
                Some(b'\\') => (Piece::Text("\\"), 2),
                _ => (Piece::Text("\\"), 1),
            };
            pieces.push(piece);
            rest = &escape[length..];
        }
        pieces.push(Piece::Text(rest));
        let names_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
        Replacement { pieces, names_groups }
    }

    /// Errors: 54000.
    fn put(&self, text: &str, groups: &Groups, out: &mut LimitedText) -> Result<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => out.push(piece)?,
                Piece::Group(number) => {
                    if let Some((start, end)) = groups.get(*number).copied().flatten() {
                        out.push(&text[start..end])?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A call whose arguments may be left out from the end: text and pattern, then numbers and flags where they stand.
struct Call<'a> {
    text: &'a str,
    pattern: &'a str,
    flags: &'a str,
    /// The numbers in their order; `None` where they are left out.
    numbers: [Option<i32>; 4],
}

impl<'a> Call<'a> {
    /// `places`: of the arguments behind text and pattern.
    fn read(arguments: &'a [Value], places: &[usize]) -> Result<Call<'a>> {
        let text_at = |at: usize| match arguments.get(at) {
            Some(Value::Text(text)) => Ok(text.as_str()),
            _ => Err(mismatched_types()),
        };
        let mut call = Call {
            text: text_at(0)?,
            pattern: text_at(1)?,
            flags: "",
            numbers: [None; 4],
        };
        let mut numbers = call.numbers.iter_mut();
        for at in places {
            match arguments.get(*at) {
                Some(Value::Int(number)) => {
                    if let Some(place) = numbers.next() {
                        *place = Some(*number as i32); // an argument of type integer
                    }
                }
                Some(Value::Text(flags)) => call.flags = flags,
                _ => {}
            }
        }
        Ok(call)
    }
}

fn invalid_value(name: &str, value: i32) -> Error {
    Error::InvalidParameter {
        message: format!("invalid value for parameter \"{name}\": {value}"),
        hint: None,
    }
}

fn positive(name: &str, value: i32) -> Result<usize> {
    match usize::try_from(value) {
        Ok(value @ 1..) => Ok(value),
        _ => Err(invalid_value(name, value)),
    }
}

/// Where a character begins, counted from 1; `None` behind the end.
fn byte_of(text: &str, character: usize) -> Option<usize> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.into_iter().nth(character - 1)
}

/// `regexp_count(text, pattern, start, flags)`.
fn count(arguments: &[Value]) -> Result<i32> {
    let call = Call::read(arguments, &[2, 3])?;
    let start = positive("start", call.numbers[0].unwrap_or(1))?;
    refuse_global(call.flags, "regexp_count", None)?;
    with_regex(call.pattern, call.flags, |regex| {
        let Some(from) = byte_of(call.text, start) else {
            return Ok(0);
        };
        let counted = regex
            .find_all(call.text, from)
            .try_fold(0, |count, span| span.map(|_| count + 1));
        counted.map(|count: i64| i32::try_from(count).unwrap_or(i32::MAX))
    })?
}

/// The n-th match from a character on, or one of its groups; `None`: there is none. In a pattern without groups the match is the
/// first of them.
fn nth(
    regex: &RegularExpression,
    call: &Call<'_>,
    start: usize,
    n: usize,
    group: usize,
) -> Result<Option<Span>> {
    let Some(from) = byte_of(call.text, start) else {
        return Ok(None);
    };
    if group == 0 || (group == 1 && regex.group_count() == 0) {
        return regex.find_all(call.text, from).nth(n - 1).transpose();
    }
    let found = regex.groups_of_all(call.text, from).nth(n - 1).transpose()?;
    Ok(found.and_then(|groups| groups.get(group).copied().flatten()))
}

/// `regexp_instr(text, pattern, start, n, endoption, flags, subexpr)`.
fn place(arguments: &[Value]) -> Result<i32> {
    let call = Call::read(arguments, &[2, 3, 4, 5, 6])?;
    let [start, n, end_option, group] = call.numbers;
    let (start, n) = (
        positive("start", start.unwrap_or(1))?,
        positive("n", n.unwrap_or(1))?,
    );
    let wants_end = match end_option.unwrap_or(0) {
        0 => false,
        1 => true,
        other => return Err(invalid_value("endoption", other)),
    };
    let group = group.unwrap_or(0);
    let group = usize::try_from(group).map_err(|_| invalid_value("subexpr", group))?;
    refuse_global(call.flags, "regexp_instr", None)?;
    with_regex(call.pattern, call.flags, |regex| {
        let Some((from, end)) = nth(regex, &call, start, n, group)? else {
            return Ok(0);
        };
        let before = &call.text[..if wants_end { end } else { from }];
        Ok(i32::try_from(before.chars().count()).map_or(i32::MAX, |count| count + 1))
    })?
}

/// `regexp_substr(text, pattern, start, n, flags, subexpr)`.
fn piece(arguments: &[Value]) -> Result<Option<String>> {
    let call = Call::read(arguments, &[2, 3, 4, 5])?;
    let [start, n, group, _] = call.numbers;
    let (start, n) = (
        positive("start", start.unwrap_or(1))?,
        positive("n", n.unwrap_or(1))?,
    );
    let group = group.unwrap_or(0);
    let group = usize::try_from(group).map_err(|_| invalid_value("subexpr", group))?;
    refuse_global(call.flags, "regexp_substr", None)?;
    with_regex(call.pattern, call.flags, |regex| {
        let found = nth(regex, &call, start, n, group)?;
        Ok(found.map(|(from, end)| call.text[from..end].to_string()))
    })?
}
