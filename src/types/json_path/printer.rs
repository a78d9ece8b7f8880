//! A path as PostgreSQL prints it: keys and variables in quotes, blanks around operators, brackets where operators nest.

use std::fmt::{self, Display, Formatter};

use super::{Arithmetic, Expression, Head, JsonPath, LEVEL_LAST, Pattern, Step};
use crate::types::json::quoted;

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_strict {
            f.write_str("strict ")?;
        }
        put(f, &self.expression, true)
    }
}

/// How strongly an operator binds; what binds as weakly as the operator around it stands in brackets.
fn priority(expression: &Expression) -> u8 {
    match &expression.head {
        Head::Or(..) => 0,
        Head::And(..) => 1,
        Head::Comparison(..) | Head::StartsWith(..) => 2,
        Head::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, ..) => 3,
        Head::Arithmetic(..) => 4,
        Head::Plus(_) | Head::Minus(_) => 5,
        _ => 6,
    }
}

/// An expression, in brackets where it is an operator and these are wanted.
fn put(f: &mut Formatter<'_>, expression: &Expression, brackets: bool) -> fmt::Result {
    let inner =
        |f: &mut Formatter<'_>, inner: &Expression| put(f, inner, priority(inner) <= priority(expression));
    let (open, close) = if brackets { ("(", ")") } else { ("", "") };
    let binary = |f: &mut Formatter<'_>, left: &Expression, symbol: &str, right: &Expression| {
        f.write_str(open)?;
        inner(f, left)?;
        write!(f, " {symbol} ")?;
        inner(f, right)?;
        f.write_str(close)
    };
    let sign = |f: &mut Formatter<'_>, sign: &str, operand: &Expression| {
        write!(f, "{open}{sign}")?;
        inner(f, operand)?;
        f.write_str(close)
    };
    match &expression.head {
        Head::Null => f.write_str("null")?,
        Head::Boolean(flag) => write!(f, "{flag}")?,
        Head::Number(number) => {
            let mut digits = Vec::new();
            number.put_text(&mut digits);
            let digits = String::from_utf8_lossy(&digits);
            match expression.steps.is_empty() {
                true => f.write_str(&digits)?,
                false => write!(f, "({digits})")?,
            }
        }
        Head::String(text) => f.write_str(&quoted(text))?,
        Head::Variable(name) => write!(f, "${}", quoted(name))?,
        Head::Root => f.write_str("$")?,
        Head::Current => f.write_str("@")?,
        Head::Last => f.write_str("last")?,
        Head::Arithmetic(operator, left, right) => binary(f, left, operator.symbol(), right)?,
        Head::Plus(operand) => sign(f, "+", operand)?,
        Head::Minus(operand) => sign(f, "-", operand)?,
        Head::And(left, right) => binary(f, left, "&&", right)?,
        Head::Or(left, right) => binary(f, left, "||", right)?,
        Head::Comparison(operator, left, right) => binary(f, left, operator.symbol(), right)?,
        Head::StartsWith(whole, start) => binary(f, whole, "starts with", start)?,
        Head::LikeRegex(operand, pattern) => {
            f.write_str(open)?;
            inner(f, operand)?;
            put_pattern(f, pattern)?;
            f.write_str(close)?;
        }
        Head::Not(condition) => enclosed(f, "!(", condition, ")")?,
        Head::IsUnknown(condition) => enclosed(f, "(", condition, ") is unknown")?,
        Head::Exists(value) => enclosed(f, "exists (", value, ")")?,
    }
    expression.steps.iter().try_for_each(|step| put_step(f, step))
}

fn enclosed(f: &mut Formatter<'_>, open: &str, inner: &Expression, close: &str) -> fmt::Result {
    f.write_str(open)?;
    put(f, inner, false)?;
    f.write_str(close)
}

fn put_pattern(f: &mut Formatter<'_>, pattern: &Pattern) -> fmt::Result {
    write!(f, " like_regex {}", quoted(&pattern.text))?;
    let flags = [
        (pattern.ignores_case, 'i'),
        (pattern.dot_matches_newline, 's'),
        (pattern.anchors_match_lines, 'm'),
        (pattern.is_expanded, 'x'),
        (pattern.is_literal, 'q'),
    ];
    let flags: String = flags
        .iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, flag)| flag)
        .collect();
    match flags.is_empty() {
        true => Ok(()),
        false => write!(f, " flag \"{flags}\""),
    }
}

fn put_step(f: &mut Formatter<'_>, step: &Step) -> fmt::Result {
    match step {
        Step::Key(key) => write!(f, ".{}", quoted(key)),
        Step::EveryKey => f.write_str(".*"),
        Step::EveryElement => f.write_str("[*]"),
        Step::Elements(elements) => {
            f.write_str("[")?;
            for (place, (first, last)) in elements.iter().enumerate() {
                if place > 0 {
                    f.write_str(",")?;
                }
                put(f, first, false)?;
                if let Some(last) = last {
                    f.write_str(" to ")?;
                    put(f, last, false)?;
                }
            }
            f.write_str("]")
        }
        Step::Levels(0, LEVEL_LAST) => f.write_str(".**"),
        Step::Levels(first, last) if first == last => write!(f, ".**{{{}}}", level(*first)),
        Step::Levels(first, last) => write!(f, ".**{{{} to {}}}", level(*first), level(*last)),
        Step::Filter(condition) => enclosed(f, "?(", condition, ")"),
        Step::Method(method) => write!(f, ".{}()", method.name()),
        Step::Datetime(None) => f.write_str(".datetime()"),
        Step::Datetime(Some(template)) => write!(f, ".datetime({})", quoted(template)),
    }
}

fn level(level: u32) -> String {
    match level {
        LEVEL_LAST => "last".to_string(),
        level => level.to_string(),
    }
}
