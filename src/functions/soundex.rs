//! Soundex: what an English name begins with, and how its consonants sound, in four characters. Only letters of ASCII count.

/// How many characters a code has.
const CODE_LENGTH: usize = 4;

/// The groups of sounds of A to Z; 0 is none.
const SOUNDS: &[u8; 26] = b"01230120022455012623010202";

/// The code of a text; empty for one without letters.
pub(super) fn soundex(text: &str) -> String {
    let bytes = text.as_bytes();
    let Some(first) = bytes.iter().position(u8::is_ascii_alphabetic) else {
        return String::new();
    };
    let mut code = String::from(bytes[first].to_ascii_uppercase() as char);
    for pair in bytes[first..].windows(2) {
        let (before, sound) = (sound(pair[0]), sound(pair[1]));
        if code.len() < CODE_LENGTH && pair[1].is_ascii_alphabetic() && sound != before && sound != b'0' {
            code.push(sound as char);
        }
    }
    format!("{code:0<CODE_LENGTH$}")
}

/// How many places of two texts' codes are the same.
pub(super) fn difference(one: &str, other: &str) -> i32 {
    let (one, other) = (soundex(one), soundex(other));
    if one.is_empty() && other.is_empty() {
        return CODE_LENGTH as i32;
    }
    let same = one.bytes().zip(other.bytes()).filter(|(one, other)| one == other);
    same.count() as i32
}

/// The sound of a letter; what is none stands for itself.
fn sound(byte: u8) -> u8 {
    match byte.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => SOUNDS[usize::from(letter - b'A')],
        other => other,
    }
}
