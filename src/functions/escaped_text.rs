//! `unistr`, whose argument has Unicode's numbers for characters, and `parse_ident`, which reads a qualified name as SQL does.

use super::json::refuse;
use super::{FunctionDef, T};
use crate::error::Raised;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("unistr", &[T::Text], T::Text, |b| b.map1(unescaped)).bounded(),
    FunctionDef::new("parse_ident", &[T::Text], T::TextArray, |b| {
        b.map1(|text: &str| identifiers(text, true))
    }),
    FunctionDef::new("parse_ident", &[T::Text, T::Bool], T::TextArray, |b| {
        b.map2(|text: &str, is_strict| identifiers(text, is_strict))
    })
    .parameters(&[("str", None), ("strict", Some("true"))]),
];

fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: crate::error::StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

/// A text whose escapes are the characters that they stand for. Errors: 42601, 22023.
fn unescaped(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    while let Some(first) = rest.chars().next() {
        if first != '\\' {
            if high.is_some() {
                return Err(syntax("invalid Unicode surrogate pair"));
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if rest[1..].starts_with('\\') {
            if high.is_some() {
                return Err(syntax("invalid Unicode surrogate pair"));
            }
            out.push('\\');
            rest = &rest[2..];
            continue;
        }
        let (code, length) = escape(rest).ok_or_else(|| Error::Advised {
            error: Box::new(syntax("invalid Unicode escape")),
            hint: "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.".to_string(),
        })?;
        rest = &rest[length..];
        let character = match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => {
                return Err(syntax("invalid Unicode surrogate pair"));
            }
            (None, code) => code,
        };
        match char::from_u32(character) {
            Some('\0') | None => return Err(refuse(format!("invalid Unicode code point: {code:04X}"))),
            Some(character) => out.push(character),
        }
    }
    match high {
        Some(_) => Err(syntax("invalid Unicode surrogate pair")),
        None => Ok(out),
    }
}

/// The number of the escape that a text begins with, and how long it is.
fn escape(text: &str) -> Option<(u32, usize)> {
    let digits = |from: usize, count: usize| {
        let digits = text.get(from..from + count)?;
        let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok()?;
        all.then_some((code, from + count))
    };
    match text.as_bytes().get(1)? {
        b'+' => digits(2, 6),
        b'u' => digits(2, 4),
        b'U' => digits(2, 8),
        _ => digits(1, 4),
    }
}

/// The names of a qualified name, in lower case unless they stand in quotes. Errors: 22023.
fn identifiers(text: &str, is_strict: bool) -> Result<Vec<String>> {
    let fault = || refuse(format!("string is not a valid identifier: \"{text}\""));
    let detailed = |detail: &str| -> Error {
        Raised {
            detail: Some(detail.to_string()),
            ..Raised::new("22023", format!("string is not a valid identifier: \"{text}\""))
        }
        .into()
    };
    let mut is_behind_dot = false;
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    let mut names = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let unclosed = || detailed("String has unclosed double quotes.");
            let (name, after) = quoted_name(quoted).ok_or_else(unclosed)?;
            if name.is_empty() {
                return Err(detailed("Quoted identifier must not be empty."));
            }
            names.push(name);
            rest = after;
        } else {
            let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
            let goes_on = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
            if !rest.starts_with(starts) {
                return Err(match (rest.starts_with('.'), is_behind_dot) {
                    (true, _) => detailed("No valid identifier before \".\"."),
                    (false, true) => detailed("No valid identifier after \".\"."),
                    (false, false) => fault(),
                });
            }
            let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            names.push(rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(after) => {
                rest = after.trim_start_matches(is_space);
                is_behind_dot = true;
            }
            None if rest.is_empty() || !is_strict => return Ok(names),
            None => return Err(fault()),
        }
    }
}

/// A name up to the quote that ends it, and what stands behind that; `None`: no quote does.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, after)),
        }
    }
}
