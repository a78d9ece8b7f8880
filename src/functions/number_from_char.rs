//! Numbers read by a template: `to_number`, piece by piece as PostgreSQL's NUM_processor reads.

use super::number_template::{GROUP, Piece, SignPlace, Template};
use crate::types::{Numeric, NumericSize};
use crate::{Error, Result};

/// NULL without a template. Errors: 42601, 0A000 for Roman numerals and exponents, 22P02 where there is no number.
pub(super) fn to_number(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let template = Template::read(template)?;
    for (is_asked, name) in [(template.is_scientific, "EEEE"), (template.is_roman, "RN")] {
        if is_asked {
            return Err(Error::DataException {
                state: "0A000",
                message: format!("\"{name}\" not supported for input"),
            });
        }
    }
    let mut reader = Reader {
        template: &template,
        input: text.as_bytes(),
        at: 0,
        sign: b' ',
        number: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    reader.read();
    let mut written = String::from(char::from(reader.sign));
    written.push_str(reader.number.strip_suffix('.').unwrap_or(&reader.number));
    let precision = template.before + template.multiplied + reader.behind;
    let size = NumericSize {
        precision: u16::try_from(precision).unwrap_or(u16::MAX),
        scale: i16::try_from(reader.behind).unwrap_or(i16::MAX),
    };
    let number = Numeric::parse(&written)?.fit(Some(size))?;
    match template.multiplied {
        0 => Ok(Some(number)),
        places => {
            let places = places.min(1_000);
            // As wide as PostgreSQL's power of ten is.
            let unit = Numeric::parse(&format!("0.{}1", "0".repeat(places - 1)))?;
            let width = u16::try_from(places.max(16)).unwrap_or(16);
            number.times(&unit.rescale(width)).map(Some)
        }
    }
}

struct Reader<'a> {
    template: &'a Template,
    input: &'a [u8],
    at: usize,
    /// `-`, `+`, or a blank until one is read.
    sign: u8,
    /// The digits and the point that were read.
    number: String,
    before: usize,
    behind: usize,
    has_point: bool,
}

impl Reader<'_> {
    fn first(&self) -> u8 {
        self.input.get(self.at).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.input.len()
    }

    fn read(&mut self) {
        let template = self.template;
        for piece in &template.pieces {
            if self.is_at_end() {
                break;
            }
            match piece {
                Piece::Digit | Piece::Zero | Piece::Point => {
                    self.number_piece(*piece);
                    self.at += 1;
                }
                Piece::Comma | Piece::Group => {
                    // No digit counts as read here, so that FM passes over every separator.
                    if !template.is_fill_mode && self.first() == GROUP as u8 {
                        self.at += 1;
                    }
                }
                Piece::Currency => self.skip_other(1),
                Piece::Ordinal { .. } => {
                    if self.sign != b'-' && !template.has_point {
                        self.skip_other(2);
                    }
                }
                Piece::Minus | Piece::Plus | Piece::Sign => {
                    let wants_minus = *piece != Piece::Plus;
                    let wants_plus = *piece != Piece::Minus;
                    match self.first() {
                        b'-' if wants_minus => {
                            self.sign = b'-';
                            self.at += 1;
                        }
                        b'+' if wants_plus => {
                            self.sign = b'+';
                            self.at += 1;
                        }
                        _ => self.skip_other(1),
                    }
                }
                Piece::Character(_) => self.skip_character(),
                Piece::Roman { .. } | Piece::Nothing => {}
            }
        }
    }

    fn skip_character(&mut self) {
        self.at += 1;
        // The bytes that go on with a character of UTF-8.
        while self.input.get(self.at).is_some_and(|byte| byte & 0xC0 == 0x80) {
            self.at += 1;
        }
    }

    /// Skips so many characters that are no part of a number.
    fn skip_other(&mut self, count: usize) {
        for _ in 0..count {
            if self.is_at_end() || b"0123456789.,+-".contains(&self.first()) {
                return;
            }
            self.skip_character();
        }
    }

    /// A digit or the point, and a sign before the first or behind the last.
    fn number_piece(&mut self, piece: Piece) {
        let template = self.template;
        if self.first() == b' ' {
            self.at += 1;
        }
        if self.is_at_end() {
            return;
        }
        if self.sign == b' ' && piece != Piece::Point && self.before + self.behind == 0 {
            let is_anchored = template.has_sign && template.sign_place == Some(SignPlace::Before);
            match self.first() {
                b'-' => self.sign = b'-',
                b'<' if template.has_brackets && !is_anchored => self.sign = b'-',
                b'+' => self.sign = b'+',
                _ => {}
            }
            self.at += usize::from(self.sign != b' ');
        }
        if self.is_at_end() {
            return;
        }
        let mut is_read = false;
        match self.first() {
            digit @ b'0'..=b'9' => {
                if self.has_point && self.behind == template.behind {
                    return;
                }
                self.number.push(char::from(digit));
                match self.has_point {
                    true => self.behind += 1,
                    false => self.before += 1,
                }
                is_read = true;
            }
            b'.' if template.has_point && !self.has_point => {
                self.number.push('.');
                self.has_point = true;
                is_read = true;
            }
            _ => {}
        }
        if self.sign == b' ' && self.before + self.behind > 0 {
            self.sign_behind(is_read);
        }
    }

    /// A sign behind the last digit counts for a template that has one: right behind it for S, in the place of a digit for MI and PL.
    fn sign_behind(&mut self, is_read: bool) {
        let next = self.input.get(self.at + 1).copied();
        let mut pieces = self.template.pieces.iter();
        if self.template.has_sign {
            if let Some(sign @ (b'-' | b'+')) = next.filter(|_| is_read) {
                self.sign = sign;
                self.at += 1;
            }
        } else if !is_read
            && let sign @ (b'-' | b'+') = self.first()
            && pieces.any(|piece| matches!(piece, Piece::Minus | Piece::Plus))
        {
            self.sign = sign;
        }
    }
}
