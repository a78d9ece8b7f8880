//! Upper and lower case, character by character as PostgreSQL's C.UTF-8 has it: what a letter becomes depends on no other. `lower`,
//! `upper`, ILIKE and the comparisons of citext are all made of it; knows nothing of them.

use std::borrow::Cow;

/// The one capital whose small letter Unicode writes as two characters, and the C library as one.
const DOTTED_I: char = '\u{130}';

/// A character in upper case; one that has no single such character stays, as in PostgreSQL.
pub(crate) fn uppercase_of(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

/// See [`uppercase_of`].
pub(crate) fn lowercase_of(character: char) -> char {
    let mut mapped = character.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ if character == DOTTED_I => 'i',
        _ => character,
    }
}

/// The text in upper case.
pub(crate) fn uppercase(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_uppercase(),
        false => text.chars().map(uppercase_of).collect(),
    }
}

/// The text in lower case; borrowed where it is so already. Lower case of lower case is itself.
pub(crate) fn lowercase(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().map(lowercase_of).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_does_not_ask_what_stands_around_it() {
        assert_eq!(lowercase("ΣΑΣ"), "σασ");
        assert_eq!(lowercase("İSTANBUL"), "istanbul");
        assert_eq!(uppercase("straße"), "STRAßE");
        assert!(matches!(lowercase("a1 _"), Cow::Borrowed("a1 _")));
    }

    #[test]
    fn lower_case_is_its_own() {
        for character in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let lower = lowercase_of(character);
            assert_eq!(lowercase_of(lower), lower, "{character:?}");
        }
    }
}
