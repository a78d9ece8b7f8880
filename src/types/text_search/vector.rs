//! `TsVector`: the words of a document in order, each once, with the places where it stands and their weights.

use std::fmt;

use crate::error::Limit;
use crate::{Error, Result};

/// The last place that is told apart; what stands behind it has this one.
pub(crate) const POSITION_MAX: u16 = 16_383;
/// Places that are kept of a word.
pub(super) const POSITIONS_MAX: usize = 256;
/// Bytes that the words and places of a vector take at most, as PostgreSQL counts them.
const VECTOR_BYTES_MAX: usize = (1 << 20) - 1;
/// Bytes that PostgreSQL's header of a vector takes, and those of each word.
const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = 4;

/// How much a place counts: A most, D (which is not written) least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// 0.
    D,
    /// 1.
    C,
    /// 2.
    B,
    /// 3.
    A,
}

impl Weight {
    /// By PostgreSQL's number of it; only the last two bits count.
    pub(super) fn of_number(number: u16) -> Weight {
        match number & 3 {
            0 => Weight::D,
            1 => Weight::C,
            2 => Weight::B,
            _ => Weight::A,
        }
    }

    /// By its letter, upper or lower case.
    pub(crate) fn of_letter(letter: char) -> Option<Weight> {
        Some(match letter.to_ascii_uppercase() {
            'A' => Weight::A,
            'B' => Weight::B,
            'C' => Weight::C,
            'D' => Weight::D,
            _ => return None,
        })
    }

    /// Its letter.
    pub(crate) fn letter(self) -> char {
        match self {
            Weight::A => 'A',
            Weight::B => 'B',
            Weight::C => 'C',
            Weight::D => 'D',
        }
    }

    /// Its bit in a set of weights.
    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A place in a document, from 1 up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// 1 – [`POSITION_MAX`].
    pub(crate) place: u16,
    /// How much it counts.
    pub(crate) weight: Weight,
}

/// A word, and where it stands; nowhere, if that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lexeme {
    /// Not empty.
    pub(crate) word: String,
    /// Rising.
    pub(crate) positions: Vec<Position>,
}

/// Words in the order of their bytes, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TsVector {
    lexemes: Vec<Lexeme>,
}

impl TsVector {
    /// Of words in any order, which may come several times. Errors: 54000 for more than a vector holds.
    pub(crate) fn new(mut words: Vec<Lexeme>) -> Result<TsVector> {
        words.sort_by(|a, b| a.word.cmp(&b.word));
        let mut lexemes: Vec<Lexeme> = Vec::with_capacity(words.len());
        for word in words {
            match lexemes.last_mut() {
                Some(last) if last.word == word.word => last.positions.extend(word.positions),
                _ => lexemes.push(word),
            }
        }
        for lexeme in &mut lexemes {
            lexeme.positions = in_order(std::mem::take(&mut lexeme.positions));
        }
        let vector = TsVector { lexemes };
        match vector.data_bytes() {
            bytes if bytes > VECTOR_BYTES_MAX => Err(Error::LimitExceeded {
                state: Limit::Program,
                message: format!(
                    "string is too long for tsvector ({bytes} bytes, max {VECTOR_BYTES_MAX} bytes)"
                ),
                hint: "Keep several documents, or search for parts of it.".to_string(),
            }),
            _ => Ok(vector),
        }
    }

    /// Its words.
    pub(crate) fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    /// The word, if it is in it.
    pub(crate) fn get(&self, word: &str) -> Option<&Lexeme> {
        let at = self
            .lexemes
            .binary_search_by(|lexeme| lexeme.word.as_str().cmp(word));
        at.ok().map(|at| &self.lexemes[at])
    }

    /// The words that begin so.
    pub(crate) fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Lexeme> {
        let start = self
            .lexemes
            .partition_point(|lexeme| lexeme.word.as_str() < prefix);
        self.lexemes[start..]
            .iter()
            .take_while(move |lexeme| lexeme.word.starts_with(prefix))
    }

    /// What `change` makes of each word; `None`: it goes.
    pub(crate) fn changed(&self, change: impl FnMut(&Lexeme) -> Option<Lexeme>) -> TsVector {
        TsVector {
            lexemes: self.lexemes.iter().filter_map(change).collect(),
        }
    }

    /// The words of both; the places of the second stand behind the last of the first. Errors: 54000.
    pub(crate) fn concat(&self, second: &TsVector) -> Result<TsVector> {
        let places = self.lexemes.iter().flat_map(|lexeme| &lexeme.positions);
        let last = places.map(|position| position.place).max().unwrap_or(0);
        let moved = second.lexemes.iter().map(|lexeme| {
            let positions = lexeme.positions.iter().map(|position| Position {
                place: (position.place + last).min(POSITION_MAX),
                weight: position.weight,
            });
            Lexeme {
                word: lexeme.word.clone(),
                positions: positions.collect(),
            }
        });
        TsVector::new(self.lexemes.iter().cloned().chain(moved).collect())
    }

    /// Bytes of words and places as PostgreSQL stores them.
    fn data_bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |bytes: usize, lexeme| {
            let bytes = bytes + lexeme.word.len();
            match lexeme.positions.len() {
                0 => bytes,
                count => bytes.next_multiple_of(2) + 2 + 2 * count,
            }
        })
    }

    /// Bytes that compare as PostgreSQL orders vectors: the shorter one, that of fewer words, then word by word.
    pub(crate) fn order_key(&self) -> Vec<u8> {
        let count = self.lexemes.len();
        let size = HEADER_BYTES + count * ENTRY_BYTES + self.data_bytes();
        let mut key = Vec::with_capacity(size + 16);
        key.extend_from_slice(&(size as u32).to_be_bytes());
        key.extend_from_slice(&(count as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            key.push(u8::from(lexeme.positions.is_empty()));
            key.extend_from_slice(lexeme.word.as_bytes());
            key.push(0);
            // More places, later ones and heavier ones come first.
            key.extend_from_slice(&(!(lexeme.positions.len() as u16)).to_be_bytes());
            for position in &lexeme.positions {
                key.extend_from_slice(&(!position.place).to_be_bytes());
                key.push(!(position.weight as u8));
            }
        }
        key
    }
}

/// Each place once, with the greatest weight that it has; no more than are kept.
fn in_order(mut positions: Vec<Position>) -> Vec<Position> {
    positions.sort_by_key(|position| position.place);
    let mut kept: Vec<Position> = Vec::with_capacity(positions.len().min(POSITIONS_MAX));
    for position in positions {
        let is_full = kept.len() == POSITIONS_MAX;
        match kept.last_mut() {
            Some(last) if last.place == position.place => last.weight = last.weight.max(position.weight),
            _ if is_full => break,
            _ => kept.push(position),
        }
    }
    kept
}

impl fmt::Display for TsVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, lexeme) in self.lexemes.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            write!(f, "'{}'", super::word_reader::escaped(&lexeme.word))?;
            for (at, position) in lexeme.positions.iter().enumerate() {
                write!(f, "{}{}", if at == 0 { ':' } else { ',' }, position.place)?;
                if position.weight != Weight::D {
                    write!(f, "{}", position.weight.letter())?;
                }
            }
        }
        Ok(())
    }
}
