//! Metaphone: how an English word sounds, its consonants written as one letter a sound: X as in "shy", 0 as
//! in "thin". Only letters of ASCII count.

use super::json::refuse;
use crate::{Error, Result};

/// Bytes of a word, and letters of its sound; PostgreSQL's.
const LENGTH_MAX: usize = 255;

/// The sound of a word in so many letters at most. Errors: 22023 for what is too long, 2200F for no letters.
pub(super) fn metaphone_of(word: &str, letters_max: i32) -> Result<String> {
    if word.is_empty() {
        return Ok(String::new());
    }
    if word.len() > LENGTH_MAX {
        return Err(refuse(format!(
            "argument exceeds the maximum length of {LENGTH_MAX} bytes"
        )));
    }
    match usize::try_from(letters_max) {
        Ok(most) if most > LENGTH_MAX => Err(refuse(format!(
            "output exceeds the maximum length of {LENGTH_MAX} bytes"
        ))),
        Ok(most) if most > 0 => Ok(metaphone(word, most)),
        _ => Err(Error::RefusedValue {
            state: "2200F",
            message: "output cannot be empty string".to_string(),
            detail: None,
            hint: None,
        }),
    }
}

fn metaphone(word: &str, letters_max: usize) -> String {
    let Some(first) = word.bytes().position(|byte| byte.is_ascii_alphabetic()) else {
        return String::new();
    };
    let letters = word.to_ascii_uppercase().into_bytes();
    let mut place = Place {
        letters: &letters,
        at: first,
    };
    let mut code = String::new();
    let (beginning, taken) = place.beginning();
    code.extend(beginning);
    place.at += taken;
    while place.at < letters.len() && code.len() < letters_max {
        let letter = place.ahead(0);
        let is_repeated = letter == place.back(1) && letter != b'C';
        let (sound, taken) = match letter.is_ascii_alphabetic() && !is_repeated {
            true => place.sound(),
            false => ("", 1),
        };
        code.push_str(&sound[..sound.len().min(letters_max - code.len())]);
        place.at += taken;
    }
    code
}

/// A letter among those around it. All are upper case; 0 stands before the first and behind the last.
struct Place<'w> {
    letters: &'w [u8],
    at: usize,
}

impl Place<'_> {
    fn ahead(&self, count: usize) -> u8 {
        self.letters.get(self.at + count).copied().unwrap_or(0)
    }

    fn back(&self, count: usize) -> u8 {
        let at = self.at.checked_sub(count);
        at.and_then(|at| self.letters.get(at)).copied().unwrap_or(0)
    }

    /// The sound that a word begins with where another rule holds for that, and how many letters make it.
    fn beginning(&self) -> (Option<char>, usize) {
        match (self.ahead(0), self.ahead(1)) {
            (b'A', b'E') => (Some('E'), 2),
            (b'G' | b'K' | b'P', b'N') => (Some('N'), 2),
            (b'X', _) => (Some('S'), 1),
            (vowel @ (b'A' | b'E' | b'I' | b'O' | b'U'), _) => (Some(char::from(vowel)), 1),
            (b'W', b'R') => (Some('R'), 2),
            (b'W', b'H') => (Some('H'), 2),
            (b'W', next) if is_vowel(next) => (Some('W'), 2),
            _ => (None, 0),
        }
    }

    /// The sound of a letter, and how many letters make it.
    fn sound(&self) -> (&'static str, usize) {
        let next = self.ahead(1);
        match self.ahead(0) {
            b'B' if self.back(1) != b'M' => ("B", 1),
            b'C' => self.sound_of_c(),
            b'D' if next == b'G' && softens(self.ahead(2)) => ("J", 2),
            b'D' => ("T", 1),
            b'G' => self.sound_of_g(),
            b'H' if is_vowel(next) && !b"CGPST".contains(&self.back(1)) => ("H", 1),
            b'K' if self.back(1) != b'C' => ("K", 1),
            b'P' if next == b'H' => ("F", 1),
            b'P' => ("P", 1),
            b'Q' => ("K", 1),
            b'S' => self.sound_of_s(),
            b'T' if self.is_before_sliding_vowels() => ("X", 1),
            b'T' if next == b'H' => ("0", 2),
            b'T' => ("T", 1),
            b'F' | b'V' => ("F", 1),
            b'W' if is_vowel(next) => ("W", 1),
            b'X' => ("KS", 1),
            b'Y' if is_vowel(next) => ("Y", 1),
            b'Z' => ("S", 1),
            b'J' => ("J", 1),
            b'L' => ("L", 1),
            b'M' => ("M", 1),
            b'N' => ("N", 1),
            b'R' => ("R", 1),
            _ => ("", 1),
        }
    }

    /// As in "nation" and "Russia".
    fn is_before_sliding_vowels(&self) -> bool {
        self.ahead(1) == b'I' && matches!(self.ahead(2), b'O' | b'A')
    }

    fn sound_of_c(&self) -> (&'static str, usize) {
        match self.ahead(1) {
            b'I' if self.ahead(2) == b'A' => ("X", 2),
            next if softens(next) && self.back(1) == b'S' => ("", 1),
            next if softens(next) => ("S", 1),
            // Christ, school.
            b'H' if self.ahead(2) == b'R' || self.back(1) == b'S' => ("K", 2),
            b'H' => ("X", 2),
            _ => ("K", 1),
        }
    }

    fn sound_of_g(&self) -> (&'static str, usize) {
        match self.ahead(1) {
            // Silent in bough and daughter, but not in laugh.
            b'H' if matches!(self.back(3), b'B' | b'D' | b'H') || self.back(4) == b'H' => ("", 1),
            b'H' => ("F", 2),
            // Silent in sign and signed.
            b'N' if !self.ahead(2).is_ascii_alphabetic() => ("", 1),
            b'N' if self.ahead(2) == b'E' && self.ahead(3) == b'D' => ("", 1),
            b'N' => ("K", 1),
            next if softens(next) && self.back(1) != b'G' => ("J", 1),
            _ => ("K", 1),
        }
    }

    fn sound_of_s(&self) -> (&'static str, usize) {
        match (self.ahead(1), self.ahead(2), self.ahead(3)) {
            (b'I', b'O' | b'A', _) => ("X", 1),
            (b'H', _, _) => ("X", 2),
            (b'C', b'H', b'W') => ("X", 3),
            _ => ("S", 1),
        }
    }
}

fn is_vowel(letter: u8) -> bool {
    b"AEIOU".contains(&letter)
}

/// Whether C and G are soft before it.
fn softens(letter: u8) -> bool {
    b"EIY".contains(&letter)
}
