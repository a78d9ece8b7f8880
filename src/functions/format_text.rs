//! `format`: a text with the values of arguments in it, `%s` as they print, `%I` as names, `%L` as literals.

use super::cast::output_text;
use super::json::refuse;
use super::size::LimitedText;
use super::{Batch, FunctionDef, T};
use crate::parse::quoting::{quote_ident, quote_literal};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("format", &[T::Text], T::Text, |b| {
        b.map_values(|values| format_text(values, b))
    })
    .on_null(),
    FunctionDef::new("format", &[T::Text, T::Any], T::Text, |b| {
        b.map_values(|values| format_text(values, b))
    })
    .variadic()
    .on_null(),
];

/// A specifier, such as `%2$-10s`.
#[derive(Debug, Default)]
struct Specifier {
    /// Which argument; `None`: the next one.
    argument: Option<usize>,
    /// Which argument says the width; 0: the next one.
    width_argument: Option<usize>,
    width: i32,
    is_left: bool,
    letter: char,
}

fn unterminated() -> Error {
    advised("unterminated format() type specifier".to_string())
}

fn advised(message: String) -> Error {
    Error::InvalidParameter {
        message,
        hint: Some("For a single \"%\" use \"%%\".".to_string()),
    }
}

fn out_of_range() -> Error {
    Error::NumericOutOfRange {
        message: "number is out of range".to_string(),
        detail: None,
    }
}

/// `format('%s %I %L', …)`. NULL for no template. Errors: 22023, 22003, 22004, 54000.
fn format_text(arguments: &[Value], call: &Batch) -> Result<Option<String>> {
    let Value::Text(template) = &arguments[0] else {
        return Ok(None);
    };
    let mut out = LimitedText::new(call.limits());
    let mut next = 1;
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push(before)?;
        if let Some(after) = after.strip_prefix('%') {
            out.push("%")?;
            rest = after;
            continue;
        }
        let (specifier, after) = Specifier::read(after)?;
        rest = after;
        let mut take = |place: Option<usize>| {
            let at = place.unwrap_or(next);
            next = at.saturating_add(1);
            match (arguments.get(at), call.arguments.get(at)) {
                (Some(value), Some(ty)) => Ok((value, ty)),
                _ => Err(refuse("too few arguments for format()")),
            }
        };
        let mut width = specifier.width;
        if let Some(place) = specifier.width_argument {
            let (value, ty) = take(Some(place).filter(|place| *place > 0))?;
            width = width_of(value, ty, call)?;
        }
        let (value, ty) = take(specifier.argument)?;
        let piece = piece(specifier.letter, value, ty, call)?;
        let is_left = specifier.is_left || width < 0;
        let width = usize::try_from(width.checked_abs().ok_or_else(out_of_range)?).unwrap_or(0);
        let missing = width.saturating_sub(piece.chars().count());
        if !is_left {
            out.push_blanks(missing)?;
        }
        out.push(&piece)?;
        if is_left {
            out.push_blanks(missing)?;
        }
    }
    out.push(rest)?;
    Ok(Some(out.finish()))
}

impl Specifier {
    /// What stands behind `%`, and the text behind it.
    fn read(text: &str) -> Result<(Specifier, &str)> {
        let mut specifier = Specifier::default();
        let mut rest = text;
        let (number, after) = number(rest)?;
        rest = after;
        match (number, rest.strip_prefix('$')) {
            (Some(number), Some(after)) => {
                specifier.argument = Some(argument(number)?);
                rest = after;
            }
            (Some(width), None) => {
                specifier.width = width;
                return specifier.with_letter(rest);
            }
            (None, _) => {}
        }
        while let Some(after) = rest.strip_prefix('-') {
            specifier.is_left = true;
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('*') {
            let (number, after) = self::number(after)?;
            rest = after;
            specifier.width_argument = Some(0);
            if let Some(number) = number {
                if rest.is_empty() {
                    return Err(unterminated());
                }
                rest = rest
                    .strip_prefix('$')
                    .ok_or_else(|| refuse("width argument position must be ended by \"$\""))?;
                specifier.width_argument = Some(argument(number)?);
            }
        } else {
            let (width, after) = self::number(rest)?;
            specifier.width = width.unwrap_or(0);
            rest = after;
        }
        specifier.with_letter(rest)
    }

    fn with_letter(mut self, text: &str) -> Result<(Specifier, &str)> {
        let mut characters = text.chars();
        self.letter = characters.next().ok_or_else(unterminated)?;
        match self.letter {
            's' | 'I' | 'L' => Ok((self, characters.as_str())),
            other => Err(advised(format!(
                "unrecognized format() type specifier \"{other}\""
            ))),
        }
    }
}

/// The digits that a text begins with.
fn number(text: &str) -> Result<(Option<i32>, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    match digits {
        "" => Ok((None, rest)),
        digits => {
            let number = digits.parse().map_err(|_| out_of_range())?;
            match rest.is_empty() {
                true => Err(unterminated()),
                false => Ok((Some(number), rest)),
            }
        }
    }
}

fn argument(number: i32) -> Result<usize> {
    match usize::try_from(number) {
        Ok(0) | Err(_) => Err(refuse(
            "format specifies argument 0, but arguments are numbered from 1",
        )),
        Ok(place) => Ok(place),
    }
}

fn width_of(value: &Value, ty: &SqlType, call: &Batch) -> Result<i32> {
    match value {
        Value::Null => Ok(0),
        Value::Int(number) => i32::try_from(*number).map_err(|_| Error::NumericOutOfRange {
            message: format!("value \"{number}\" is out of range for type integer"),
            detail: None,
        }),
        value => match Value::parse(
            &output_text(value, ty, call.settings),
            &SqlType::Int4,
            call.settings,
        )? {
            Value::Int(number) => i32::try_from(number).map_err(|_| out_of_range()),
            _ => Ok(0),
        },
    }
}

fn piece(letter: char, value: &Value, ty: &SqlType, call: &Batch) -> Result<String> {
    match (letter, value) {
        ('L', Value::Null) => Ok("NULL".to_string()),
        ('I', Value::Null) => Err(Error::DataException {
            state: "22004",
            message: "null values cannot be formatted as an SQL identifier".to_string(),
        }),
        (_, Value::Null) => Ok(String::new()),
        ('L', value) => Ok(quote_literal(&output_text(value, ty, call.settings))),
        ('I', value) => Ok(quote_ident(&output_text(value, ty, call.settings))),
        (_, value) => Ok(output_text(value, ty, call.settings)),
    }
}
