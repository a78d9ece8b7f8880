//! The binary form of tsvector: how many words, then each behind one another: its bytes, a zero, how many places, these.

use super::vector::{Lexeme, POSITION_MAX, POSITIONS_MAX, Position, TsVector, Weight};
use super::word_reader::WORD_BYTES_MAX;
use crate::error::utf8;
use crate::{Error, Result};

/// Appends the binary form.
pub(in crate::types) fn put_binary(out: &mut Vec<u8>, vector: &TsVector) {
    out.extend_from_slice(&(vector.lexemes().len() as u32).to_be_bytes());
    for lexeme in vector.lexemes() {
        out.extend_from_slice(lexeme.word.as_bytes());
        out.push(0);
        out.extend_from_slice(&(lexeme.positions.len() as u16).to_be_bytes());
        for position in &lexeme.positions {
            let word = (position.weight as u16) << 14 | position.place;
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

/// Reads the binary form; `None`: bytes are missing, or too many. Errors: 22P03, 22021.
pub(in crate::types) fn read_binary(bytes: &[u8]) -> Option<Result<TsVector>> {
    let invalid = |message: &str| {
        Some(Err(Error::DataException {
            state: "22P03",
            message: message.to_string(),
        }))
    };
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    let count = u32::from_be_bytes(*count);
    // A word takes three bytes at least.
    if count as usize > rest.len() {
        return invalid("invalid size of tsvector");
    }
    let mut words = Vec::new();
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let word = match utf8::text(&rest[..end]) {
            Ok(word) => word.to_string(),
            Err(error) => return Some(Err(error)),
        };
        if word.is_empty() || word.len() > WORD_BYTES_MAX {
            return invalid("invalid tsvector: lexeme too long");
        }
        let (places, after) = rest[end + 1..].split_first_chunk::<2>()?;
        let places = usize::from(u16::from_be_bytes(*places));
        if places > POSITIONS_MAX {
            return invalid("unexpected number of tsvector positions");
        }
        let (data, after) = after.split_at_checked(2 * places)?;
        rest = after;
        let positions: Vec<Position> = data
            .chunks(2)
            .map(|pair| {
                let word = u16::from_be_bytes([pair[0], pair[1]]);
                Position {
                    place: word & POSITION_MAX,
                    weight: Weight::of_number(word >> 14),
                }
            })
            .collect();
        let are_rising = positions.windows(2).all(|pair| pair[0].place < pair[1].place);
        if !are_rising || positions.iter().any(|position| position.place == 0) {
            return invalid("position information is misordered");
        }
        words.push(Lexeme { word, positions });
    }
    rest.is_empty().then(|| TsVector::new(words))
}
