//! `to_char` of numbers and `to_number`, by templates of 9, 0, point and signs.

use super::{FunctionDef, T};
use crate::types::{Numeric, SqlType};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_char", &[T::Int4, T::Text], T::Text, |b| {
        b.map2(|number: i32, template| to_char(&Numeric::from_i64(number.into()), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Int8, T::Text], T::Text, |b| {
        b.map2(|number, template| to_char(&Numeric::from_i64(number), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Numeric, T::Text], T::Text, |b| {
        b.map2(|number, template| to_char(&number, template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Float8, T::Text], T::Text, |b| {
        b.map2(|number, template| to_char(&Numeric::from_f64(number)?, template))
    })
    .bounded(),
    FunctionDef::new("to_number", &[T::Text, T::Text], T::Numeric, |b| {
        b.map2(to_number)
    })
    .computed(|_, _| SqlType::Numeric(None)),
];

/// The most digits behind the point that a template may ask for, and more.
const PLACES_MAX: i32 = 2_000;

/// What a template asks for.
#[derive(Default)]
struct Template {
    /// What stands before the point.
    whole: Vec<Mark>,
    /// The same behind the point.
    fraction: Vec<Mark>,
    point: bool,
    no_fill: bool,
    sign: Option<Sign>,
    ordinal: Option<&'static str>,
    currency: bool,
}

/// One place of a template.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// `9`, or with `true` `0`: a digit that is shown even when it is a leading zero.
    Digit(bool),
    Comma,
    /// SG: the sign, right here.
    Sign,
    /// As it stands.
    Text(char),
}

impl Mark {
    fn is_digit(&self) -> bool {
        matches!(self, Mark::Digit(_))
    }
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
    /// SG, among the digits.
    Placed,
}

fn parse(text: &str) -> Template {
    let mut template = Template::default();
    let mut rest = text;
    while !rest.is_empty() {
        let upper = rest.get(..2).map(str::to_uppercase).unwrap_or_default();
        let digits_seen = template.whole.iter().any(Mark::is_digit) || template.point;
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
                template.sign = Some(Sign::Placed);
                template.part().push(Mark::Sign);
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
            'G' | 'g' | ',' => template.part().push(Mark::Comma),
            '"' => {
                let (inside, after) = rest.split_once('"').unwrap_or((rest, ""));
                template.part().extend(inside.chars().map(Mark::Text));
                rest = after;
            }
            digit @ ('0' | '9') => template.part().push(Mark::Digit(digit == '0')),
            other => template.part().push(Mark::Text(other)),
        }
    }
    template
}

impl Template {
    fn part(&mut self) -> &mut Vec<Mark> {
        if self.point {
            &mut self.fraction
        } else {
            &mut self.whole
        }
    }
    fn places(&self) -> usize {
        self.fraction.iter().filter(|mark| mark.is_digit()).count()
    }
}

fn to_char(number: &Numeric, text: &str) -> Result<String> {
    let template = parse(text);
    let upper = text.to_uppercase();
    if !text.contains('"') && upper.contains("RN") {
        return roman(number, text);
    }
    let places = template.places();
    let negative = number.sign().is_lt();
    if !number.is_finite() {
        return Ok(match number {
            Numeric::NaN => template.format("NaN", "", negative),
            // More digits than there is room for.
            _ => template.format(&"9".repeat(text.len() + 1), "", negative),
        });
    }
    if !text.contains('"') && upper.contains("EEEE") {
        return scientific(number, places);
    }
    let rounded = number.round(i32::try_from(places).unwrap_or(i32::MAX).min(PLACES_MAX))?;
    let negative = rounded.sign().is_lt();
    let digits = rounded.absolute().to_string();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    Ok(template.format(whole, fraction, negative))
}

impl Template {
    fn format(&self, whole: &str, fraction: &str, negative: bool) -> String {
        let slots = self.whole.iter().filter(|mark| mark.is_digit()).count();
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
            .filter(|mark| mark.is_digit())
            .position(|mark| *mark == Mark::Digit(true))
            .unwrap_or(slots);
        let mut body = String::new();
        let mut slot = 0;
        let mut started = false;
        for mark in &self.whole {
            match mark {
                Mark::Digit(_) => {
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
                Mark::Comma if started => body.push(','),
                Mark::Comma if !self.no_fill => body.push(' '),
                Mark::Comma => {}
                Mark::Sign => body.push(sign_of(negative)),
                Mark::Text(character) => body.push(*character),
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
                .scan(0_usize, |at, mark| {
                    Some(match mark {
                        Mark::Digit(_) => {
                            *at += 1;
                            if overflow {
                                '#'
                            } else {
                                fraction.chars().nth(*at - 1).unwrap_or('0')
                            }
                        }
                        Mark::Comma => ',',
                        Mark::Sign => sign_of(negative),
                        Mark::Text(character) => *character,
                    })
                })
                .collect();
            if self.no_fill && !overflow {
                let kept = self
                    .fraction
                    .iter()
                    .rposition(|mark| *mark != Mark::Digit(false))
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
        // Text before the digits stands before their sign, too.
        let text = self.whole.iter().take_while(|mark| matches!(mark, Mark::Text(_)));
        let prefix: String = text
            .map(|mark| match mark {
                Mark::Text(character) => *character,
                _ => ' ',
            })
            .collect();
        let body = body.split_off(prefix.len());
        prefix + &self.signed(&body, negative)
    }

    /// The digits with their sign, fill and currency.
    fn signed(&self, body: &str, negative: bool) -> String {
        let blanks = body.len() - body.trim_start().len();
        let (fill, digits) = body.split_at(blanks);
        let currency = if self.currency { " " } else { "" };
        match self.sign {
            Some(Sign::Placed) => format!("{fill}{currency}{digits}"),
            Some(Sign::Leading) => format!("{fill}{}{currency}{digits}", sign_of(negative)),
            Some(Sign::Trailing) => format!("{fill}{currency}{digits}{}", sign_of(negative)),
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
            Some(Sign::Plus) => format!("{}{fill}{currency}{digits}", sign_of(negative)),
            None if negative => format!("{fill}-{currency}{digits}"),
            None if self.no_fill => format!("{currency}{digits}"),
            None => format!(" {fill}{currency}{digits}"),
        }
    }
}

fn sign_of(negative: bool) -> char {
    if negative { '-' } else { '+' }
}

/// The widest Roman number, `MMMDCCCLXXXVIII`.
const ROMAN_WIDTH: usize = 15;

const ROMAN_DIGITS: [(i64, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// RN: numbers from 1 to 3999, filled up with blanks unless FM says not to.
fn roman(number: &Numeric, template: &str) -> Result<String> {
    let rounded = number.round(0)?.floor();
    let Some(mut rest) =
        rounded.and_then(|whole| i64::try_from(whole).ok().filter(|it| (1..4000).contains(it)))
    else {
        return Ok("#".repeat(ROMAN_WIDTH));
    };
    let mut text = String::new();
    for (value, digit) in ROMAN_DIGITS {
        while rest >= value {
            text.push_str(digit);
            rest -= value;
        }
    }
    if template.contains("rn") {
        text = text.to_lowercase();
    }
    Ok(if template.to_uppercase().contains("FM") {
        text
    } else {
        format!("{text:>ROMAN_WIDTH$}")
    })
}

/// EEEE: one digit, the places of the template, and an exponent of two digits at least.
fn scientific(number: &Numeric, places: usize) -> Result<String> {
    let Numeric::Finite(decimal) = number else {
        return Ok("#".repeat(places));
    };
    let shown = i64::try_from(places)
        .unwrap_or(i64::from(PLACES_MAX))
        .min(i64::from(PLACES_MAX));
    // Rounding may carry it to the next power of ten.
    let rounded = number.round((shown - decimal.position()) as i32)?;
    let Numeric::Finite(kept) = &rounded else {
        return Ok("#".repeat(places));
    };
    let exponent = kept.position();
    let sign = if rounded.sign().is_lt() { "-" } else { " " };
    let written = kept.unscaled().magnitude().to_string();
    let (first, rest) = written.split_at(1);
    let fraction: String = rest.chars().chain(std::iter::repeat('0')).take(places).collect();
    let point = if places > 0 { "." } else { "" };
    Ok(format!(
        "{sign}{first}{point}{fraction}e{}{:02}",
        sign_of(exponent < 0),
        exponent.abs()
    ))
}

/// The number among the other characters of a text. What the template says is not looked at.
fn to_number(text: &str, _: &str) -> Result<Numeric> {
    let negative = text.contains('-') || (text.contains('<') && text.contains('>'));
    let digits: String = text
        .chars()
        .filter(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    if !digits.chars().any(|character| character.is_ascii_digit()) {
        return Err(Error::InvalidText {
            type_name: "numeric".to_string(),
            value: text.to_string(),
        });
    }
    let number = Numeric::parse(&digits)?;
    Ok(match negative {
        true => number.negated(),
        false => number,
    })
}
