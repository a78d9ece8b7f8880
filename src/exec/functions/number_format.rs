//! `to_char` of numbers and `to_number`, by templates of 9, 0, point and signs.

use super::{Call, FunctionDef, T, decimal};
use crate::types::{Numeric, SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("to_char", &[T::Int4, T::Text], T::Text, to_char),
    FunctionDef::row("to_char", &[T::Int8, T::Text], T::Text, to_char),
    FunctionDef::row("to_char", &[T::Numeric, T::Text], T::Text, to_char),
    FunctionDef::row("to_char", &[T::Float8, T::Text], T::Text, to_char),
    FunctionDef::row("to_number", &[T::Text, T::Text], T::Numeric, to_number)
        .computed(|_, _| SqlType::Numeric(None)),
];

/// What a template asks for.
#[derive(Default)]
struct Template {
    /// The characters before the point: `9`, `0`, `,`, or text as it stands.
    whole: Vec<char>,
    /// The same behind the point.
    fraction: Vec<char>,
    point: bool,
    no_fill: bool,
    sign: Option<Sign>,
    ordinal: Option<&'static str>,
    currency: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    /// S or MI before or after.
    Leading,
    Trailing,
    TrailingMinus,
    LeadingMinus,
    Plus,
    /// PR.
    Brackets,
}

fn parse(text: &str) -> Template {
    let mut template = Template::default();
    let mut rest = text;
    while !rest.is_empty() {
        let upper = rest.get(..2).map(str::to_uppercase).unwrap_or_default();
        let digits_seen = !template.whole.is_empty() || template.point;
        let step = match upper.as_str() {
            "FM" => {
                template.no_fill = true;
                2
            }
            "MI" => {
                template.sign = Some(if digits_seen {
                    Sign::TrailingMinus
                } else {
                    Sign::LeadingMinus
                });
                2
            }
            "PL" => {
                template.sign = Some(Sign::Plus);
                2
            }
            "PR" => {
                template.sign = Some(Sign::Brackets);
                2
            }
            "SG" => {
                template.sign = Some(if digits_seen {
                    Sign::Trailing
                } else {
                    Sign::Leading
                });
                2
            }
            "TH" => {
                template.ordinal = Some(if rest.starts_with("th") { "th" } else { "TH" });
                2
            }
            _ => 0,
        };
        if step > 0 {
            rest = &rest[step..];
            continue;
        }
        let mut characters = rest.chars();
        let Some(character) = characters.next() else { break };
        rest = characters.as_str();
        match character {
            '.' | 'D' | 'd' if !template.point => template.point = true,
            'S' | 's' => {
                template.sign = Some(if digits_seen {
                    Sign::Trailing
                } else {
                    Sign::Leading
                })
            }
            'L' | 'l' => template.currency = true,
            'G' | 'g' | ',' => template.part().push(','),
            '"' => {
                let (inside, after) = rest.split_once('"').unwrap_or((rest, ""));
                let inside: Vec<char> = inside.chars().collect();
                template.part().extend(inside);
                rest = after;
            }
            other => template.part().push(other),
        }
    }
    template
}

impl Template {
    fn part(&mut self) -> &mut Vec<char> {
        if self.point {
            &mut self.fraction
        } else {
            &mut self.whole
        }
    }
    fn places(&self) -> usize {
        self.fraction
            .iter()
            .filter(|character| matches!(character, '0' | '9'))
            .count()
    }
}

fn to_char(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Text(text) = &arguments[1] else {
        return Err(wrong());
    };
    let template = parse(text);
    let number = match &arguments[0] {
        Value::Int(number) => Numeric::from_i64(*number),
        Value::Numeric(number) => *number,
        Value::Float8(number) if number.is_finite() => Numeric::parse(&format!("{number:.15}"))?,
        _ => return Ok(Value::Null),
    };
    let places = template.places();
    let scale = u8::try_from(places).unwrap_or(30).min(30);
    let rounded = decimal::round(&number, i32::from(scale))?.rescale(scale)?;
    let Numeric::Finite { unscaled, .. } = rounded else {
        return Ok(Value::Null);
    };
    let digits = unscaled.to_string();
    let negative = digits.starts_with('-');
    let digits = format!("{:0>width$}", digits.trim_start_matches('-'), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    Ok(Value::Text(template.format(whole, fraction, negative)))
}

impl Template {
    fn format(&self, whole: &str, fraction: &str, negative: bool) -> String {
        let slots = self
            .whole
            .iter()
            .filter(|character| matches!(character, '0' | '9'))
            .count();
        let zero_whole = whole.chars().all(|digit| digit == '0');
        let significant = if zero_whole {
            ""
        } else {
            whole.trim_start_matches('0')
        };
        let overflow = significant.len() > slots;
        let forced_from = self
            .whole
            .iter()
            .filter(|c| matches!(c, '0' | '9'))
            .position(|c| *c == '0')
            .unwrap_or(slots);
        let mut body = String::new();
        let mut slot = 0;
        let mut started = false;
        for character in &self.whole {
            match character {
                '0' | '9' => {
                    let from_end = slots - slot;
                    let digit = if overflow {
                        Some('#')
                    } else if from_end <= significant.len() {
                        significant.chars().nth(significant.len() - from_end)
                    } else if slot >= forced_from {
                        Some('0')
                    } else if slot + 1 == slots && zero_whole && !(self.point && self.places() > 0) {
                        // A lone zero is shown in the last place.
                        Some('0')
                    } else {
                        None
                    };
                    match digit {
                        Some(digit) => {
                            started = true;
                            body.push(digit);
                        }
                        None if !self.no_fill => body.push(' '),
                        None => {}
                    }
                    slot += 1;
                }
                ',' if started => body.push(','),
                ',' if !self.no_fill => body.push(' '),
                ',' => {}
                other => body.push(*other),
            }
        }
        self.finish(body, fraction, negative, overflow)
    }

    fn finish(&self, mut body: String, fraction: &str, negative: bool, overflow: bool) -> String {
        if self.point {
            body.push('.');
            let mut shown: String = self
                .fraction
                .iter()
                .scan(0_usize, |at, character| {
                    Some(match character {
                        '0' | '9' => {
                            *at += 1;
                            if overflow {
                                '#'
                            } else {
                                fraction.chars().nth(*at - 1).unwrap_or('0')
                            }
                        }
                        other => *other,
                    })
                })
                .collect();
            if self.no_fill && !overflow {
                let kept = self
                    .fraction
                    .iter()
                    .rposition(|character| *character == '0')
                    .map_or(0, |at| at + 1);
                while shown.len() > kept && shown.ends_with('0') {
                    shown.pop();
                }
            }
            body.push_str(&shown);
        }
        if let Some(suffix) = self.ordinal
            && !negative
        {
            let number: i64 = body
                .chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .unwrap_or(0);
            let ending = match (number % 100, number % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            body.push_str(&if suffix == "TH" {
                ending.to_uppercase()
            } else {
                ending.to_string()
            });
        }
        let blanks = body.len() - body.trim_start().len();
        let (fill, digits) = body.split_at(blanks);
        let currency = if self.currency { " " } else { "" };
        match self.sign {
            Some(Sign::Leading) => format!("{fill}{}{currency}{digits}", if negative { '-' } else { '+' }),
            Some(Sign::Trailing) => format!("{fill}{currency}{digits}{}", if negative { '-' } else { '+' }),
            Some(Sign::TrailingMinus) if negative => format!("{fill}{currency}{digits}-"),
            Some(Sign::TrailingMinus) => {
                format!("{fill}{currency}{digits}{}", if self.no_fill { "" } else { " " })
            }
            Some(Sign::LeadingMinus) if negative => format!("-{fill}{currency}{digits}"),
            Some(Sign::LeadingMinus) => {
                format!("{}{fill}{currency}{digits}", if self.no_fill { "" } else { " " })
            }
            Some(Sign::Brackets) if negative => format!("{fill}<{currency}{digits}>"),
            Some(Sign::Brackets) if self.no_fill => format!("{currency}{digits}"),
            Some(Sign::Brackets) => format!(" {fill}{currency}{digits} "),
            Some(Sign::Plus) => format!("{}{fill}{currency}{digits}", if negative { '-' } else { '+' }),
            None if negative => format!("{fill}-{currency}{digits}"),
            None if self.no_fill => format!("{currency}{digits}"),
            None => format!(" {fill}{currency}{digits}"),
        }
    }
}

fn wrong() -> Error {
    Error::internal("a number template of other types")
}

fn to_number(arguments: &[Value], _: &Call) -> Result<Value> {
    let (Value::Text(text), Value::Text(_)) = (&arguments[0], &arguments[1]) else {
        return Err(wrong());
    };
    let negative = text.contains('-') || (text.contains('<') && text.contains('>'));
    let digits: String = text
        .chars()
        .filter(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    if !digits.chars().any(|character| character.is_ascii_digit()) {
        return Err(Error::InvalidText {
            type_name: "numeric".to_string(),
            value: text.clone(),
        });
    }
    let number = Numeric::parse(&digits)?;
    Ok(Value::Numeric(if negative {
        decimal::negate(&number)
    } else {
        number
    }))
}
