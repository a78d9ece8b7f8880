//! Templates of numbers (`'FM9,999.00'`), cut into pieces as PostgreSQL cuts them, and what they ask for as a whole.
//! `number_to_char` prints by them, `number_from_char` reads by them.

use super::datetime_template::quoted;
use crate::error::StatementFault;
use crate::{Error, Result};

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// `9`.
    Digit,
    /// `0`.
    Zero,
    /// `.` or `D`.
    Point,
    Comma,
    /// `G`.
    Group,
    /// `L`.
    Currency,
    /// `RN`, or `rn` in lower case.
    Roman {
        is_lower: bool,
    },
    /// `TH`, or `th` in lower case.
    Ordinal {
        is_lower: bool,
    },
    /// `MI`.
    Minus,
    /// `PL`.
    Plus,
    /// `SG`.
    Sign,
    /// What only says something of the whole: `S`, `FM`, `PR`, `V`, `EEEE`, `B`.
    Nothing,
    /// A character that stands for itself.
    Character(char),
}

/// Where `S` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignPlace {
    Before,
    Behind,
}

/// A template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) pieces: Vec<Piece>,
    /// Digits before and behind the point, and those behind `V`.
    pub(super) before: usize,
    pub(super) behind: usize,
    pub(super) multiplied: usize,
    /// The place of the first `0` before the point, from 1; 0 is none.
    pub(super) zero_start: usize,
    /// The place of the last `0`.
    pub(super) zero_end: usize,
    pub(super) sign_place: Option<SignPlace>,
    /// Digits before `S`.
    pub(super) before_sign: usize,
    pub(super) has_point: bool,
    pub(super) has_zero: bool,
    pub(super) is_blank: bool,
    pub(super) is_fill_mode: bool,
    pub(super) has_sign: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) has_brackets: bool,
    pub(super) is_multiplied: bool,
    pub(super) is_roman: bool,
    pub(super) is_scientific: bool,
}

/// Patterns, longer ones before their beginnings.
const PATTERNS: &[&str] = &[
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "G", "L", "S", "V", "eeee", "fm",
    "mi", "pl", "pr", "rn", "sg", "sp", "th", "b", "c", "d", "g", "l", "s", "v", ",", ".", "0", "9",
];

fn refuse(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

impl Template {
    /// Cuts a template. Errors: 42601 for patterns that do not go together.
    pub(super) fn read(text: &str) -> Result<Template> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(pattern) = PATTERNS.iter().find(|pattern| rest.starts_with(**pattern)) {
                let piece = template.take(pattern)?;
                template.pieces.push(piece);
                rest = &rest[pattern.len()..];
                continue;
            }
            if first == '"' {
                let pieces = &mut template.pieces;
                rest = quoted(&rest[1..], |character| pieces.push(Piece::Character(character)));
                continue;
            }
            // A backslash outside of quotes is one, but before a quote.
            rest = rest
                .strip_prefix('\\')
                .filter(|rest| rest.starts_with('"'))
                .unwrap_or(rest);
            let mut characters = rest.chars();
            template.pieces.extend(characters.next().map(Piece::Character));
            rest = characters.as_str();
        }
        Ok(template)
    }

    fn take(&mut self, pattern: &str) -> Result<Piece> {
        let is_lower = pattern.starts_with(|c: char| c.is_ascii_lowercase());
        let name = pattern.to_ascii_uppercase();
        if self.is_scientific && name != "EEEE" {
            return Err(refuse("\"EEEE\" must be the last pattern used"));
        }
        Ok(match name.as_str() {
            "9" => self.digit()?,
            "0" => self.zero()?,
            "." | "D" => self.point()?,
            "," => Piece::Comma,
            "G" => Piece::Group,
            "L" => Piece::Currency,
            "RN" => {
                self.is_roman = true;
                Piece::Roman { is_lower }
            }
            "TH" => Piece::Ordinal { is_lower },
            "MI" | "PL" | "SG" => self.signed(&name)?,
            "S" => self.anchored_sign()?,
            "PR" => {
                if self.has_sign || self.has_plus || self.has_minus {
                    return Err(refuse(
                        "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
                    ));
                }
                self.has_brackets = true;
                Piece::Nothing
            }
            "V" => {
                if self.has_point {
                    return Err(refuse("cannot use \"V\" and decimal point together"));
                }
                self.is_multiplied = true;
                Piece::Nothing
            }
            "B" => {
                self.is_blank |= self.before == 0 && self.behind == 0 && !self.has_zero;
                Piece::Nothing
            }
            "FM" => {
                self.is_fill_mode = true;
                Piece::Nothing
            }
            "EEEE" => self.exponent()?,
            _ => Piece::Nothing,
        })
    }

    fn digit(&mut self) -> Result<Piece> {
        if self.has_brackets {
            return Err(refuse("\"9\" must be ahead of \"PR\""));
        }
        match (self.is_multiplied, self.has_point) {
            (true, _) => self.multiplied += 1,
            (false, true) => self.behind += 1,
            (false, false) => self.before += 1,
        }
        Ok(Piece::Digit)
    }

    fn zero(&mut self) -> Result<Piece> {
        if self.has_brackets {
            return Err(refuse("\"0\" must be ahead of \"PR\""));
        }
        if !self.has_zero && !self.has_point {
            self.has_zero = true;
            self.zero_start = self.before + 1;
        }
        match self.has_point {
            true => self.behind += 1,
            false => self.before += 1,
        }
        self.zero_end = self.before + self.behind;
        Ok(Piece::Zero)
    }

    fn point(&mut self) -> Result<Piece> {
        if self.has_point {
            return Err(refuse("multiple decimal points"));
        }
        if self.is_multiplied {
            return Err(refuse("cannot use \"V\" and decimal point together"));
        }
        self.has_point = true;
        Ok(Piece::Point)
    }

    fn signed(&mut self, name: &str) -> Result<Piece> {
        if self.has_sign {
            return Err(refuse(&format!("cannot use \"S\" and \"{name}\" together")));
        }
        self.has_minus |= name != "PL";
        self.has_plus |= name != "MI";
        Ok(match name {
            "MI" => Piece::Minus,
            "PL" => Piece::Plus,
            _ => Piece::Sign,
        })
    }

    fn anchored_sign(&mut self) -> Result<Piece> {
        if self.has_sign {
            return Err(refuse("cannot use \"S\" twice"));
        }
        if self.has_plus || self.has_minus || self.has_brackets {
            return Err(refuse(
                "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
            ));
        }
        self.has_sign = true;
        self.sign_place = Some(match self.has_point {
            true => SignPlace::Behind,
            false => SignPlace::Before,
        });
        if !self.has_point {
            self.before_sign = self.before;
        }
        Ok(Piece::Nothing)
    }

    fn exponent(&mut self) -> Result<Piece> {
        if self.is_scientific {
            return Err(refuse("cannot use \"EEEE\" twice"));
        }
        let has_others = self.is_blank
            || self.is_fill_mode
            || self.has_sign
            || self.has_brackets
            || self.has_minus
            || self.has_plus
            || self.is_roman
            || self.is_multiplied;
        if has_others {
            return Err(refuse("\"EEEE\" is incompatible with other formats"));
        }
        self.is_scientific = true;
        Ok(Piece::Nothing)
    }
}

/// What groups of digits have between them, and what stands for the currency.
pub(super) const GROUP: char = ',';
pub(super) const CURRENCY: char = ' ';
