//! Numbers printed by a template.

use super::datetime_template::Case;
use super::datetime_to_char::ordinal;
use super::number_template::{CURRENCY, GROUP, Piece, SignPlace, Template};
use crate::Result;
use crate::types::{Numeric, integer_of_numeric, narrow_integer};

/// What is printed by a template.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number<'n> {
    Integer(i32),
    Numeric(&'n Numeric),
    /// And how many digits of it count.
    Double(f64, usize),
}

/// Digits that a Roman numeral may have, and what stands for a number that has none.
const ROMAN_LENGTH: usize = 15;

/// Errors: 42601 for a template that is none, 22003 for a Roman numeral beyond integers, 0A000 for one of no number.
pub(super) fn to_char(number: Number, template: &str) -> Result<String> {
    let mut template = Template::read(template)?;
    if template.is_scientific {
        return Ok(scientific(number, &template));
    }
    if template.is_roman {
        let numeral = roman(number)?;
        return Ok(print_roman(&numeral, &template));
    }
    if template.is_multiplied {
        template.before += template.multiplied;
    }
    let (is_negative, digits) = digits(number, &mut template)?;
    let whole = digits.find('.').unwrap_or(digits.len());
    let (digits, blanks) = match whole <= template.before {
        true => (digits, template.before - whole),
        false => (overflowed(&template), 0),
    };
    Ok(Printer::new(&template, &digits, blanks, is_negative).print())
}

/// What stands for a number that has too many digits.
fn overflowed(template: &Template) -> String {
    format!("{}.{}", "#".repeat(template.before), "#".repeat(template.behind))
}

/// The number's sign and digits, rounded as the template asks.
fn digits(number: Number, template: &mut Template) -> Result<(bool, String)> {
    let text = match number {
        Number::Integer(number) => {
            return digits(Number::Numeric(&Numeric::from_i64(number.into())), template);
        }
        Number::Numeric(number) => {
            let shifted = match template.multiplied {
                0 => number.clone(),
                places => {
                    let digits = u32::try_from(places).unwrap_or(u32::MAX);
                    let unit = Numeric::parse(&format!("1{}", "0".repeat(digits.min(1_000) as usize)))?;
                    number.times(&unit)?
                }
            };
            let places = i32::try_from(template.behind).unwrap_or(i32::MAX);
            let mut text = Vec::new();
            shifted.round(places)?.put_text(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        Number::Double(number, significant) => {
            let shifted = number * 10_f64.powi(i32::try_from(template.multiplied).unwrap_or(i32::MAX));
            let whole = printed(shifted.abs(), 0).len();
            // A double has no more digits than these.
            template.behind = match whole {
                whole if whole >= significant => 0,
                whole => template.behind.min(significant - whole),
            };
            printed(shifted, template.behind)
        }
    };
    Ok(match text.strip_prefix('-') {
        Some(digits) => (true, digits.to_string()),
        None => (false, text),
    })
}

/// A double as C prints it with so many places.
fn printed(number: f64, places: usize) -> String {
    match number {
        number if number.is_nan() => "NaN".to_string(),
        f64::INFINITY => "Infinity".to_string(),
        f64::NEG_INFINITY => "-Infinity".to_string(),
        number => format!("{number:.places$}"),
    }
}

fn scientific(number: Number, template: &Template) -> String {
    let places = template.behind;
    let text = match number {
        // PostgreSQL makes a double of it, of which an exponent is that of the rounded number.
        Number::Integer(number) => return scientific(Number::Double(number.into(), 0), template),
        Number::Numeric(number) if number.is_finite() => scientific_numeric(number, places),
        Number::Double(number, _) if number.is_finite() => {
            let text = format!("{number:.places$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            with_exponent(mantissa, exponent.parse().unwrap_or(0))
        }
        _ => {
            let mut out = " ".to_string();
            out.push_str(&"#".repeat(template.before));
            out.push('.');
            out.push_str(&"#".repeat(places + 4));
            return out;
        }
    };
    match text.starts_with('-') {
        true => text,
        false => format!(" {text}"),
    }
}

fn with_exponent(mantissa: &str, exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn scientific_numeric(number: &Numeric, places: usize) -> String {
    let mut text = Vec::new();
    number.put_text(&mut text);
    let text = String::from_utf8_lossy(&text);
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.as_ref()),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|digit| **digit == b'0').count();
    let exponent = match zeros == all.len() {
        true => 0,
        false => i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(zeros).unwrap_or(0) - 1,
    };
    let mut kept: Vec<u8> = all[zeros..].iter().copied().take(places + 1).collect();
    kept.resize(places + 1, b'0');
    if all[zeros..].get(places + 1).is_some_and(|next| *next >= b'5') && carried(&mut kept) {
        // The exponent is that of the number before it is rounded.
        kept.insert(0, b'1');
    }
    let digits = String::from_utf8_lossy(&kept);
    let mantissa = match places {
        0 => digits.to_string(),
        _ => {
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{whole}.{fraction}")
        }
    };
    with_exponent(&format!("{sign}{mantissa}"), exponent)
}

/// Adds one to the last digit; whether a digit more is needed.
fn carried(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return false;
        }
        *digit = b'0';
    }
    true
}

/// Errors: 22003 for a number beyond integers, 0A000 for NaN and infinity.
fn roman(number: Number) -> Result<String> {
    let whole = match number {
        Number::Integer(number) => number,
        Number::Numeric(number) => {
            let rounded = integer_of_numeric(number, "integer")?;
            narrow_integer(rounded, "integer")?
        }
        // What no integer holds has no numeral.
        Number::Double(number, _) => match number.round_ties_even() {
            rounded if (1.0..4000.0).contains(&rounded) => rounded as i32,
            _ => 0,
        },
    };
    if !(1..=3999).contains(&whole) {
        return Ok("#".repeat(ROMAN_LENGTH));
    }
    const STEPS: [(i32, &str); 13] = [
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
    let (mut rest, mut numeral) = (whole, String::new());
    for (value, letters) in STEPS {
        while rest >= value {
            numeral.push_str(letters);
            rest -= value;
        }
    }
    Ok(numeral)
}

fn print_roman(numeral: &str, template: &Template) -> String {
    let mut out = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Roman { is_lower } => {
                let numeral = match is_lower {
                    true => numeral.to_lowercase(),
                    false => numeral.to_string(),
                };
                match template.is_fill_mode {
                    true => out.push_str(&numeral),
                    false => out.push_str(&format!("{numeral:>ROMAN_LENGTH$}")),
                }
            }
            Piece::Character(character) => out.push(*character),
            Piece::Comma | Piece::Group if !template.is_fill_mode => out.push(' '),
            Piece::Currency => out.push(CURRENCY),
            Piece::Minus | Piece::Plus if !template.is_fill_mode => out.push(' '),
            _ => {}
        }
    }
    out
}

/// Prints digits by a template, piece by piece, as PostgreSQL's NUM_processor does.
struct Printer<'a> {
    template: &'a Template,
    digits: &'a [u8],
    is_negative: bool,
    has_brackets: bool,
    sign_place: Option<SignPlace>,
    is_sign_written: bool,
    /// Places before the first digit.
    blanks: usize,
    /// The place of the last digit that FM keeps.
    last_relevant: Option<usize>,
    /// One less than the template has digits, and one more where a sign is written among them.
    count: isize,
    /// The place of the next piece among those of digits, and of the next digit.
    place: usize,
    digit: usize,
    is_in_number: bool,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(template: &'a Template, digits: &'a str, blanks: usize, is_negative: bool) -> Printer<'a> {
        let mut printer = Printer {
            template,
            digits: digits.as_bytes(),
            is_negative,
            has_brackets: template.has_brackets,
            sign_place: template.sign_place,
            is_sign_written: false,
            blanks,
            last_relevant: None,
            count: (template.before + template.behind).cast_signed() - 1,
            place: 0,
            digit: 0,
            is_in_number: false,
            out: String::new(),
        };
        if template.has_plus || template.has_minus {
            printer.is_sign_written = template.has_minus;
        } else {
            if !is_negative && template.is_fill_mode {
                printer.has_brackets = false;
            }
            printer.is_sign_written = !is_negative && template.is_fill_mode && !template.has_sign;
            if template.sign_place == Some(SignPlace::Before) && template.before == template.before_sign {
                printer.sign_place = Some(SignPlace::Behind);
            }
        }
        if template.is_fill_mode && template.has_point {
            printer.last_relevant =
                last_relevant(printer.digits).map(|last| match template.zero_end > blanks {
                    true => last.max((printer.digits.len() - 1).min(template.zero_end - blanks)),
                    false => last,
                });
        }
        if !printer.is_sign_written && blanks == 0 {
            printer.count += 1;
        }
        printer
    }

    fn print(mut self) -> String {
        let template = self.template;
        let is_overflowed = self.digits.first() == Some(&b'#');
        for piece in &template.pieces {
            match piece {
                Piece::Digit | Piece::Zero | Piece::Point => self.number_piece(*piece),
                Piece::Comma | Piece::Group => match (self.is_in_number, template.is_fill_mode) {
                    (true, _) => self.out.push(GROUP),
                    (false, true) => {}
                    (false, false) => self.out.push(' '),
                },
                Piece::Currency => self.out.push(CURRENCY),
                Piece::Ordinal { is_lower } => {
                    if !is_overflowed && !self.is_negative && !template.has_point {
                        let case = if *is_lower { Case::Lower } else { Case::Upper };
                        let number = String::from_utf8_lossy(self.digits).into_owned();
                        let length = number.len();
                        self.out.push_str(&ordinal(number, Some(case))[length..]);
                    }
                }
                Piece::Minus => match (self.is_negative, template.is_fill_mode) {
                    (true, _) => self.out.push('-'),
                    (false, true) => {}
                    (false, false) => self.out.push(' '),
                },
                Piece::Plus => match (self.is_negative, template.is_fill_mode) {
                    (false, _) => self.out.push('+'),
                    (true, true) => {}
                    (true, false) => self.out.push(' '),
                },
                Piece::Sign => self.out.push(self.sign()),
                Piece::Character(character) => self.out.push(*character),
                Piece::Roman { .. } | Piece::Nothing => {}
            }
        }
        // What has no more digits ends there.
        match self.out.find('\0') {
            Some(end) => self.out[..end].to_string(),
            None => self.out,
        }
    }

    fn sign(&self) -> char {
        if self.is_negative { '-' } else { '+' }
    }

    /// Whether the next digit is the 0 of a number below one, which `9` leaves blank.
    fn is_blank_zero(&self) -> bool {
        !self.template.has_zero
            && self.digit == 0
            && self.digits.first() == Some(&b'0')
            && self.template.behind != 0
    }

    fn ends_at_point(&self) -> bool {
        self.last_relevant
            .is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    /// A digit or the point, and the sign where the number begins or ends.
    fn number_piece(&mut self, piece: Piece) {
        let (template, is_fill_mode) = (self.template, self.template.is_fill_mode);
        // From 0, as places are counted here.
        let zero_start = template.zero_start.saturating_sub(1);
        self.is_in_number = false;
        let begins = self.place >= self.blanks || template.has_zero && zero_start == self.place;
        if !self.is_sign_written && begins && (!self.is_blank_zero() || self.ends_at_point()) {
            self.leading_sign();
        }
        if self.place < self.blanks && (zero_start > self.place || !template.has_zero) {
            if !is_fill_mode {
                self.out.push(' ');
            }
        } else if template.has_zero && self.place < self.blanks && zero_start <= self.place {
            self.out.push('0');
            self.is_in_number = true;
        } else {
            self.next_digit(piece);
        }
        let mut end = self.count + isize::from(self.blanks > 0) + isize::from(template.has_point);
        if self.last_relevant == Some(self.digit) {
            end = self.place.cast_signed();
        }
        if self.place.cast_signed() + 1 == end {
            if self.is_sign_written && self.has_brackets {
                self.out.push(if self.is_negative { '>' } else { ' ' });
            } else if template.has_sign && self.sign_place == Some(SignPlace::Behind) {
                self.out.push(self.sign());
            }
        }
        self.place += 1;
    }

    fn leading_sign(&mut self) {
        if self.template.has_sign {
            if self.sign_place == Some(SignPlace::Before) {
                self.out.push(self.sign());
                self.is_sign_written = true;
            }
            return;
        }
        if self.has_brackets {
            self.out.push(if self.is_negative { '<' } else { ' ' });
        } else if self.is_negative {
            self.out.push('-');
        } else if !self.template.is_fill_mode {
            self.out.push(' ');
        }
        self.is_sign_written = true;
    }

    fn next_digit(&mut self, piece: Piece) {
        let digit = self.digits.get(self.digit).copied().unwrap_or(0);
        let is_beyond = self.last_relevant.is_some_and(|last| self.digit > last);
        if digit == b'.' {
            if !self.ends_at_point() || self.template.is_fill_mode {
                self.out.push('.');
            }
        } else if is_beyond && piece != Piece::Zero {
            // FM leaves zeros out that say nothing.
        } else if self.is_blank_zero() {
            if !self.template.is_fill_mode {
                self.out.push(' ');
            } else if self.ends_at_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(char::from(digit));
            self.is_in_number = true;
        }
        self.digit += usize::from(self.digit < self.digits.len());
    }
}

/// The place of the last digit behind the point that is not 0, or of the point; `None`: there is no point.
fn last_relevant(digits: &[u8]) -> Option<usize> {
    let point = digits.iter().position(|digit| *digit == b'.')?;
    let last = digits[point + 1..].iter().rposition(|digit| *digit != b'0');
    Some(last.map_or(point, |last| point + 1 + last))
}
