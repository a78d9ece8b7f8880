//! LIKE, ILIKE, `^@` and regular expressions in WHERE clauses: the part of `predicate` that reads patterns.

use sqlparser::ast::{Expr, ValueWithSpan};

use super::predicate::Converter;
use crate::plan::Predicate;
use crate::types::Value;
use crate::{Error, Result};

impl Converter<'_> {
    pub(super) fn like(
        &self,
        whole: &Expr,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
        case_insensitive: bool,
        negated: bool,
    ) -> Result<Predicate> {
        let Some(operand) = self.operand(value)? else {
            return self.opaque_with(whole, value);
        };
        let Some(pattern) = self.constants.fold(pattern)? else {
            return self.opaque_with(whole, pattern);
        };
        let escape = match escape.map(|escape| escape.value.clone().into_string()) {
            None => Some('\\'),
            Some(None) => return self.opaque(whole),
            Some(Some(text)) => escape_character(&text)?,
        };
        match operand.like(pattern, escape, case_insensitive, &self.constants)? {
            Some(like) => Ok(if negated { like.negate() } else { like }),
            None => self.opaque(whole),
        }
    }

    /// `value ^@ prefix`: a LIKE whose pattern is the prefix, taken literally.
    pub(super) fn starts_with(&self, whole: &Expr, value: &Expr, prefix: &Expr) -> Result<Predicate> {
        match (self.operand(value)?, self.constants.fold(prefix)?) {
            (Some(operand), Some(Value::Unknown(prefix) | Value::Text(prefix))) => {
                let pattern = Value::Unknown(format!("{}%", escaped(&prefix)));
                match operand.like(pattern, Some('\\'), false, &self.constants)? {
                    Some(like) => Ok(like),
                    None => self.opaque(whole),
                }
            }
            _ => self.opaque(whole),
        }
    }

    /// `value ~ '^prefix…'`: bounded by the prefix, and evaluated by whoever planned it.
    pub(super) fn regex(&self, whole: &Expr, value: &Expr, pattern: &Expr) -> Result<Predicate> {
        let opaque = self.opaque(whole)?;
        let (Some(operand), Some(Value::Unknown(pattern) | Value::Text(pattern))) =
            (self.operand(value)?, self.constants.fold(pattern)?)
        else {
            return Ok(opaque);
        };
        let Some(prefix) = regex_prefix(&pattern) else {
            return Ok(opaque);
        };
        let like = Value::Unknown(format!("{}%", escaped(&prefix)));
        Ok(match operand.like(like, Some('\\'), false, &self.constants)? {
            Some(like) => Predicate::all(vec![like, opaque]),
            None => opaque,
        })
    }
}

/// What ESCAPE names; `None` when it names none. Errors: 22025.
pub(super) fn escape_character(text: &str) -> Result<Option<char>> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::DataException {
            state: "22025",
            message: "invalid escape string".to_string(),
        }),
    }
}

/// Text as a LIKE pattern that matches itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The literal text that every match of a regular expression starts with; `None` when there is none for certain.
fn regex_prefix(pattern: &str) -> Option<String> {
    let rest = pattern.strip_prefix('^')?;
    if rest.contains('|') {
        return None;
    }
    let is_literal = |character: &char| {
        character.is_ascii_alphanumeric() || matches!(character, ' ' | '_' | '-' | ':' | '/')
    };
    let mut prefix: String = rest.chars().take_while(is_literal).collect();
    // What a quantifier follows may be missing.
    if matches!(rest[prefix.len()..].chars().next(), Some('*' | '?' | '{')) {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some(prefix)
}
