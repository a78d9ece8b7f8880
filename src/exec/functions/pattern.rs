//! LIKE with any escape, SIMILAR TO, POSIX regular expressions, and `||` of text.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use regex::{Regex, RegexBuilder};

use super::pattern_prefix::{FixedPrefix, anchored_prefix};
use super::size::{BatchBytes, LimitedText, check_length};
use super::text_argument::{bytes, text};
use super::{Batch, Body, Call, FunctionDef, T};
use crate::plan::like::LikePattern;
use crate::types::Value;
use crate::{Error, Result};

/// `a || b` of texts.
pub const CONCATENATE: Body = Body::Batch(concatenate);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row(
        "like_escape",
        &[T::Text, T::Text, T::Text],
        T::Bool,
        |arguments, _| like(arguments, false),
    ),
    FunctionDef::row(
        "ilike_escape",
        &[T::Text, T::Text, T::Text],
        T::Bool,
        |arguments, _| like(arguments, true),
    ),
    FunctionDef::row(
        "like_bytes",
        &[T::Bytea, T::Bytea, T::Text],
        T::Bool,
        |arguments, _| like_bytes(arguments),
    ),
    FunctionDef::row("similar_to", &[T::Text, T::Text, T::Text], T::Bool, similar),
    FunctionDef::row("~", &[T::Text, T::Text], T::Bool, |arguments, _| {
        matches(arguments, false)
    }),
    FunctionDef::row("~*", &[T::Text, T::Text], T::Bool, |arguments, _| {
        matches(arguments, true)
    }),
    FunctionDef::row("!~", &[T::Text, T::Text], T::Bool, |arguments, _| {
        not(matches(arguments, false)?)
    }),
    FunctionDef::row("!~*", &[T::Text, T::Text], T::Bool, |arguments, _| {
        not(matches(arguments, true)?)
    }),
    FunctionDef::row("^@", &[T::Text, T::Text], T::Bool, |arguments, _| {
        Ok(Value::Bool(
            text(&arguments[0])?.starts_with(text(&arguments[1])?),
        ))
    }),
    FunctionDef::row("regexp_like", &[T::Text, T::Text], T::Bool, |arguments, _| {
        matches(arguments, false)
    }),
    FunctionDef::row(
        "regexp_like",
        &[T::Text, T::Text, T::Text],
        T::Bool,
        |arguments, _| {
            let found = with_regex(text(&arguments[1])?, text(&arguments[2])?, |regex| {
                regex.is_match(subject(arguments))
            })?;
            Ok(Value::Bool(found))
        },
    ),
    FunctionDef::row("regexp_replace", &[T::Text, T::Text, T::Text], T::Text, replace),
    FunctionDef::row(
        "regexp_replace",
        &[T::Text, T::Text, T::Text, T::Text],
        T::Text,
        replace,
    ),
    FunctionDef::row("regexp_match", &[T::Text, T::Text], T::Text, first_match).array(T::Text),
    FunctionDef::row("regexp_match", &[T::Text, T::Text, T::Text], T::Text, first_match).array(T::Text),
    FunctionDef::row("regexp_split_to_array", &[T::Text, T::Text], T::Text, split).array(T::Text),
    FunctionDef::rows("regexp_split_to_table", &[T::Text, T::Text], T::Text, split),
    FunctionDef::row("regexp_count", &[T::Text, T::Text], T::Int4, |arguments, _| {
        let count = with_regex(text(&arguments[1])?, "", |regex| {
            regex.find_iter(subject(arguments)).count()
        })?;
        Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
    }),
    FunctionDef::row("substring", &[T::Text, T::Text], T::Text, |arguments, _| {
        let found = with_regex(text(&arguments[1])?, "", |regex| {
            let captures = regex.captures(subject(arguments))?;
            // With a group in the pattern the result is what the group matched, if it did.
            let wanted = usize::from(captures.len() > 1);
            captures.get(wanted).map(|found| found.as_str().to_string())
        })?;
        Ok(found.map_or(Value::Null, Value::Text))
    }),
];

fn subject(arguments: &[Value]) -> &str {
    match &arguments[0] {
        Value::Text(text) => text,
        _ => "",
    }
}

fn not(value: Value) -> Result<Value> {
    match value {
        Value::Bool(flag) => Ok(Value::Bool(!flag)),
        other => Ok(other),
    }
}

fn concatenate(batch: &Batch) -> Result<ArrayRef> {
    let (left, right) = (
        batch.arrays[0].as_string::<i32>(),
        batch.arrays[1].as_string::<i32>(),
    );
    let limits = batch.settings.result_limits;
    let mut bytes = BatchBytes::new(limits);
    for pair in left.iter().zip(right) {
        if let (Some(a), Some(b)) = pair {
            check_length(a.len() + b.len(), limits)?;
            bytes.add_bytes(a.len() + b.len())?;
        }
    }
    let joined = left.iter().zip(right).map(|pair| match pair {
        (Some(a), Some(b)) => Some([a, b].concat()),
        _ => None,
    });
    Ok(Arc::new(joined.collect::<StringArray>()))
}

thread_local! {
    /// The pattern compiled last: a constant pattern is compiled once a thread, not once a row.
    static LAST: RefCell<Option<(String, Regex)>> = const { RefCell::new(None) };
}

/// The size of a compiled pattern, so that a client cannot take the memory of the server.
const REGEX_BYTES_MAX: usize = 4 << 20;

fn with_regex<R>(pattern: &str, flags: &str, work: impl FnOnce(&Regex) -> R) -> Result<R> {
    let key = format!("{flags}/{pattern}");
    LAST.with_borrow_mut(|last| {
        let known = matches!(last, Some((name, _)) if *name == key);
        if !known {
            *last = Some((key, compile(pattern, flags)?));
        }
        match last {
            Some((_, regex)) => Ok(work(regex)),
            None => Err(Error::internal("a pattern that was not kept")),
        }
    })
}

fn compile(pattern: &str, flags: &str) -> Result<Regex> {
    RegexBuilder::new(&translated(pattern))
        .case_insensitive(flags.contains('i'))
        // PostgreSQL's dot takes newlines and its anchors only the ends, unless told otherwise.
        .dot_matches_new_line(!flags.contains('n') && !flags.contains('m'))
        .multi_line(flags.contains('n') || flags.contains('m') || flags.contains('w'))
        .ignore_whitespace(flags.contains('x'))
        .size_limit(REGEX_BYTES_MAX)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_string();
            Error::DataException {
                state: "2201B",
                message: format!("invalid regular expression: {reason}"),
            }
        })
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

fn matches(arguments: &[Value], insensitive: bool) -> Result<Value> {
    let flags = if insensitive { "i" } else { "" };
    with_regex(text(&arguments[1])?, flags, |regex| {
        regex.is_match(subject(arguments))
    })
    .map(Value::Bool)
}

fn replace(arguments: &[Value], call: &Call) -> Result<Value> {
    let flags = match arguments.get(3) {
        Some(flags) => text(flags)?,
        None => "",
    };
    let replacement = replacement(text(&arguments[2])?);
    let times = if flags.contains('g') { usize::MAX } else { 1 };
    with_regex(text(&arguments[1])?, flags, |regex| {
        let out = LimitedText::new(call.result_limits());
        replace_found(regex, subject(arguments), &replacement, times, out)
    })?
    .map(Value::Text)
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

fn first_match(arguments: &[Value], _: &Call) -> Result<Value> {
    let flags = match arguments.get(2) {
        Some(flags) => text(flags)?,
        None => "",
    };
    let found = with_regex(text(&arguments[1])?, flags, |regex| {
        let captures = regex.captures(subject(arguments))?;
        let group = |index: usize| {
            captures
                .get(index)
                .map_or(Value::Null, |found| Value::Text(found.as_str().to_string()))
        };
        Some(if captures.len() > 1 {
            (1..captures.len()).map(group).collect()
        } else {
            vec![group(0)]
        })
    })?;
    Ok(found.map_or(Value::Null, Value::Array))
}

fn split(arguments: &[Value], _: &Call) -> Result<Value> {
    let parts = with_regex(text(&arguments[1])?, "", |regex| {
        regex
            .split(subject(arguments))
            .map(|part| Value::Text(part.to_string()))
            .collect()
    })?;
    Ok(Value::Array(parts))
}

fn like(arguments: &[Value], insensitive: bool) -> Result<Value> {
    let (subject, pattern) = (text(&arguments[0])?, text(&arguments[1])?);
    let escape = text(&arguments[2])?.chars().next();
    let pattern = LikePattern::parse(pattern.as_bytes(), escape)?;
    Ok(Value::Bool(match insensitive {
        true => {
            let (pattern, subject) = (pattern.to_lowercase(), subject.to_lowercase());
            pattern.matches(subject.as_bytes(), true)
        }
        false => pattern.matches(subject.as_bytes(), true),
    }))
}

fn like_bytes(arguments: &[Value]) -> Result<Value> {
    let escape = text(&arguments[2])?.chars().next();
    let pattern = LikePattern::parse(bytes(&arguments[1])?, escape)?;
    Ok(Value::Bool(pattern.matches(bytes(&arguments[0])?, false)))
}

fn similar(arguments: &[Value], _: &Call) -> Result<Value> {
    let escape = text(&arguments[2])?.chars().next();
    let regex = similar_regex(text(&arguments[1])?, escape);
    let whole = format!("\\A(?:{regex})\\z");
    with_regex(&whole, "", |regex| regex.is_match(subject(arguments))).map(Value::Bool)
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
