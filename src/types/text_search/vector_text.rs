//! The text of tsvector: `'cat':3A,7 dog`.

use super::vector::{Lexeme, POSITION_MAX, Position, TsVector, Weight};
use super::word_reader::{WordReader, check_length, invalid};
use crate::Result;
use crate::types::spaces::is_space;

impl TsVector {
    /// Reads the text form. Errors: 42601; 54000 for what is too long.
    pub(crate) fn parse(text: &str) -> Result<TsVector> {
        let mut reader = WordReader {
            text,
            rest: text,
            type_name: "tsvector",
            is_operator: |_| false,
        };
        let mut words = Vec::new();
        while let Some(word) = reader.word()? {
            check_length(&word)?;
            let positions = match reader.peek() {
                Some(':') => read_positions(&mut reader)?,
                _ => Vec::new(),
            };
            words.push(Lexeme { word, positions });
        }
        TsVector::new(words)
    }
}

/// Places behind a `:`, with commas between them. Errors: 42601.
fn read_positions(reader: &mut WordReader<'_>) -> Result<Vec<Position>> {
    let mut positions = Vec::new();
    loop {
        reader.next();
        let digits = reader.rest.len() - reader.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Err(reader.fault());
        }
        let (number, rest) = reader.rest.split_at(digits);
        reader.rest = rest;
        let place = number.bytes().fold(0_u32, |place, digit| {
            place.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
        });
        if place == 0 {
            let text = reader.text;
            return Err(invalid(format!("wrong position info in tsvector: \"{text}\"")));
        }
        let weight = read_weight(reader)?;
        let place = u16::try_from(place).unwrap_or(POSITION_MAX).min(POSITION_MAX);
        positions.push(Position { place, weight });
        match reader.peek() {
            Some(',') => {}
            Some(other) if !is_space(other) => return Err(reader.fault()),
            _ => return Ok(positions),
        }
    }
}

/// The letter behind a place, `*` for A.
fn read_weight(reader: &mut WordReader<'_>) -> Result<Weight> {
    let mut weight = Weight::D;
    while let Some(letter) = reader.peek() {
        let found = match letter {
            '*' => Weight::A,
            other => match Weight::of_letter(other) {
                Some(found) => found,
                None => break,
            },
        };
        if weight != Weight::D {
            return Err(reader.fault());
        }
        weight = found;
        reader.next();
    }
    Ok(weight)
}
