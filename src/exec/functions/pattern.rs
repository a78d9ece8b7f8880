//! LIKE with any escape, SIMILAR TO, POSIX regular expressions, and `||` of text.

use std::cell::RefCell;

use regex::{Regex, RegexBuilder};

use super::pattern_prefix::{FixedPrefix, anchored_prefix};
use super::size::LimitedText;
use super::{Body, FunctionDef, T};
use crate::plan::like::LikePattern;
use crate::types::ResultLimits;
use crate::{Error, Result};

/// `a || b` of texts.
pub const CONCATENATE: Body = Body::Batch(|b| b.map2(|left: &str, right: &str| [left, right].concat()));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("like_escape", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(like)
    }),
    FunctionDef::new("ilike_escape", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(like_any_case)
    }),
    FunctionDef::new("like_bytes", &[T::Bytea, T::Bytea, T::Text], T::Bool, |b| {
        b.map3(like_bytes)
    }),
    FunctionDef::new("similar_to", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(similar)
    }),
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
    FunctionDef::new("^@", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text: &str, start: &str| text.starts_with(start))
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
    FunctionDef::new("regexp_replace", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(|text, pattern, new| replaced(text, pattern, new, "", b.limits()))
    }),
    FunctionDef::new(
        "regexp_replace",
        &[T::Text, T::Text, T::Text, T::Text],
        T::Text,
        |b| b.map4(|text, pattern, new, flags| replaced(text, pattern, new, flags, b.limits())),
    ),
    FunctionDef::new("regexp_match", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, pattern| first_match(text, pattern, ""))
    })
    .array(T::Text),
    FunctionDef::new("regexp_match", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(first_match)
    })
    .array(T::Text),
    FunctionDef::new("regexp_split_to_array", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, pattern| split(text, pattern, ""))
    })
    .array(T::Text),
    FunctionDef::new(
        "regexp_split_to_array",
        &[T::Text, T::Text, T::Text],
        T::Text,
        |b| {
            b.map3(|text, pattern, flags| {
                refuse_global(flags, "regexp_split_to_array", None)?;
                split(text, pattern, flags)
            })
        },
    )
    .array(T::Text),
    FunctionDef::rows("regexp_split_to_table", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, pattern| split(text, pattern, ""))
    }),
    FunctionDef::new("regexp_count", &[T::Text, T::Text], T::Int4, |b| b.map2(count)),
    FunctionDef::new("substring", &[T::Text, T::Text], T::Text, |b| b.map2(first_part)),
];

thread_local! {
    /// The pattern compiled last, behind its flags: a constant pattern is compiled once a thread, not once a row.
    static LAST: RefCell<Option<(String, String, Regex)>> = const { RefCell::new(None) };
}

/// The size of a compiled pattern, so that a client cannot take the memory of the server.
const REGEX_BYTES_MAX: usize = 4 << 20;

/// Errors: 2201B for a pattern that is none, 22023 for flags that are none.
fn with_regex<R>(pattern: &str, flags: &str, work: impl FnOnce(&Regex) -> R) -> Result<R> {
    LAST.with_borrow_mut(|last| {
        let known = last.take_if(|(for_flags, text, _)| for_flags == flags && text == pattern);
        let known = match known {
            Some(known) => known,
            None => (flags.to_string(), pattern.to_string(), compile(pattern, flags)?),
        };
        let (_, _, regex) = last.insert(known);
        Ok(work(regex))
    })
}

fn compile(pattern: &str, flags: &str) -> Result<Regex> {
    let mut builder = match flags.contains('q') {
        true => RegexBuilder::new(&regex::escape(pattern)),
        false => RegexBuilder::new(&translated(pattern)),
    };
    // PostgreSQL's dot takes newlines and its anchors only the ends, unless told otherwise.
    builder.dot_matches_new_line(true).size_limit(REGEX_BYTES_MAX);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            'n' | 'm' => builder.dot_matches_new_line(false).multi_line(true),
            'p' => builder.dot_matches_new_line(false).multi_line(false),
            'w' => builder.dot_matches_new_line(true).multi_line(true),
            's' => builder.dot_matches_new_line(true).multi_line(false),
            'x' => builder.ignore_whitespace(true),
            't' => builder.ignore_whitespace(false),
            // What is done with the matches, or how the pattern is written.
            'g' | 'q' | 'e' => &mut builder,
            other => {
                return Err(Error::InvalidParameter {
                    message: format!("invalid regular expression option: \"{other}\""),
                    hint: None,
                });
            }
        };
    }
    builder.build().map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default();
        Error::DataException {
            state: "2201B",
            message: format!(
                "invalid regular expression: {}",
                reason.trim_start_matches("error: ")
            ),
        }
    })
}

/// Errors: 22023 for the flag `g` where only one match counts.
fn refuse_global(flags: &str, function: &str, hint: Option<&str>) -> Result<()> {
    match flags.contains('g') {
        true => Err(Error::InvalidParameter {
            message: format!("{function}() does not support the \"global\" option"),
            hint: hint.map(str::to_string),
        }),
        false => Ok(()),
    }
}

/// PostgreSQL's directors and escapes that Rust's syntax spells otherwise.
fn translated(pattern: &str) -> String {
    if let Some(literal) = pattern.strip_prefix("***=") {
        return regex::escape(literal);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            translated.push(character);
            continue;
        }
        match characters.next() {
            Some('m') => translated.push_str("\\b{start}"),
            Some('M') => translated.push_str("\\b{end}"),
            Some('y') => translated.push_str("\\b"),
            Some('Y') => translated.push_str("\\B"),
            Some('Z') => translated.push_str("\\z"),
            other => {
                translated.push('\\');
                translated.extend(other);
            }
        }
    }
    translated
}

/// What a text begins with for which `function(text, pattern, …)` is true; `None` where that is not known, and for a
/// pattern that is not valid, whose error is for whoever evaluates it to raise.
pub(in crate::exec) fn fixed_prefix(function: &str, arguments: &[&str]) -> Option<FixedPrefix> {
    let pattern = match (function, arguments) {
        ("~" | "regexp_like", [pattern]) => (*pattern).to_string(),
        ("similar_to", [pattern, escape]) => format!("^{}$", similar_regex(pattern, escape.chars().next())),
        _ => return None,
    };
    with_regex(&pattern, "", |_| ()).ok()?;
    anchored_prefix(&pattern)
}

fn matches(text: &str, pattern: &str, flags: &str) -> Result<bool> {
    with_regex(pattern, flags, |regex| regex.is_match(text))
}

fn count(text: &str, pattern: &str) -> Result<i32> {
    let count = with_regex(pattern, "", |regex| regex.find_iter(text).count())?;
    Ok(i32::try_from(count).unwrap_or(i32::MAX))
}

/// What the pattern matched first; with a group in it, what the group matched.
fn first_part<'t>(text: &'t str, pattern: &str) -> Result<Option<&'t str>> {
    with_regex(pattern, "", |regex| {
        let captures = regex.captures(text)?;
        let wanted = usize::from(captures.len() > 1);
        captures.get(wanted).map(|found| found.as_str())
    })
}

fn replaced(text: &str, pattern: &str, new: &str, flags: &str, limits: ResultLimits) -> Result<String> {
    let new = replacement(new);
    let times = if flags.contains('g') { usize::MAX } else { 1 };
    with_regex(pattern, flags, |regex| {
        replace_found(regex, text, &new, times, LimitedText::new(limits))
    })?
}

/// The text with the first `times` matches replaced, put together in `out`. Errors: 54000.
fn replace_found(
    regex: &Regex,
    whole: &str,
    replacement: &str,
    times: usize,
    mut out: LimitedText,
) -> Result<String> {
    let (mut piece, mut from) = (String::new(), 0);
    let groups = replacement.matches("${").count();
    for captures in regex.captures_iter(whole).take(times) {
        let Some(found) = captures.get(0) else { break };
        out.push(&whole[from..found.start()])?;
        // No group is longer than the match.
        out.check_more(
            replacement
                .len()
                .saturating_add(groups.saturating_mul(found.len())),
        )?;
        piece.clear();
        captures.expand(replacement, &mut piece);
        out.push(&piece)?;
        from = found.end();
    }
    out.push(&whole[from..])?;
    Ok(out.finish())
}

/// `\1` and `\&` as `${1}` and `${0}`; a dollar sign stands for itself.
fn replacement(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '$' => out.push_str("$$"),
            '\\' => match characters.next() {
                Some('&') => out.push_str("${0}"),
                Some(digit) if digit.is_ascii_digit() => {
                    out.push_str("${");
                    out.push(digit);
                    out.push('}');
                }
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

/// The groups of the first match, or the match itself where there are none.
fn first_match<'t>(text: &'t str, pattern: &str, flags: &str) -> Result<Option<Vec<Option<&'t str>>>> {
    refuse_global(
        flags,
        "regexp_match",
        Some("Use the regexp_matches function instead."),
    )?;
    with_regex(pattern, flags, |regex| {
        let captures = regex.captures(text)?;
        let groups = match captures.len() {
            1 => 0..1,
            groups => 1..groups,
        };
        let group = |at| captures.get(at).map(|found| found.as_str());
        Some(groups.map(group).collect())
    })
}

fn split<'t>(text: &'t str, pattern: &str, flags: &str) -> Result<Vec<&'t str>> {
    with_regex(pattern, flags, |regex| regex.split(text).collect())
}

fn like(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern.as_bytes(), escape.chars().next())?;
    Ok(pattern.matches(text.as_bytes(), true))
}

fn like_any_case(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern.as_bytes(), escape.chars().next())?;
    Ok(pattern
        .to_lowercase()
        .matches(text.to_lowercase().as_bytes(), true))
}

fn like_bytes(bytes: &[u8], pattern: &[u8], escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern, escape.chars().next())?;
    Ok(pattern.matches(bytes, false))
}

fn similar(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let regex = similar_regex(pattern, escape.chars().next());
    matches(text, &format!("\\A(?:{regex})\\z"), "")
}

/// A pattern of SIMILAR TO as a regular expression, to be matched by the whole text.
fn similar_regex(pattern: &str, escape: Option<char>) -> String {
    let mut regex = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            character if Some(character) == escape => {
                if let Some(literal) = characters.next() {
                    regex.push_str(&regex::escape(&literal.to_string()));
                }
            }
            '[' => {
                in_class = true;
                regex.push('[');
            }
            ']' => {
                in_class = false;
                regex.push(']');
            }
            character if in_class => regex.push(character),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(character),
            other => regex.push_str(&regex::escape(&other.to_string())),
        }
    }
    regex
}
