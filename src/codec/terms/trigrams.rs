//! The terms of texts: their trigrams.

use crate::types::trigram::{TrigramWord, words, words_within};

/// The terms of a text.
pub(super) fn of_text(text: &str) -> Vec<Vec<u8>> {
    of_words(&words(text))
}

fn of_words(words: &[TrigramWord]) -> Vec<Vec<u8>> {
    let trigrams = words.iter().flat_map(TrigramWord::trigrams);
    trigrams.map(String::into_bytes).collect()
}

/// What every text has that a LIKE pattern matches, whether or not case counts.
pub(super) fn of_pattern(pattern: &str, escape: Option<char>) -> Vec<Vec<u8>> {
    let mut terms = Vec::new();
    let (mut part, mut goes_on_before) = (String::new(), false);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            part.extend(characters.next());
        } else if matches!(character, '%' | '_') {
            terms.extend(of_words(&words_within(&part, (goes_on_before, true))));
            part.clear();
            goes_on_before = true;
        } else {
            part.push(character);
        }
    }
    terms.extend(of_words(&words_within(&part, (goes_on_before, false))));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_asks_for_every_match_has() {
        for (pattern, text) in [
            ("%oba%", "Foobar"),
            ("foo%", "foo bar"),
            ("%o\\_b%", "foo_bar"),
            ("f_o b%r", "fxo bazar"),
            ("%", ""),
            ("a%b", "ab"),
        ] {
            let terms = of_text(text);
            for wanted in of_pattern(pattern, Some('\\')) {
                assert!(terms.contains(&wanted), "{pattern} {text} {wanted:?}");
            }
        }
        assert_eq!(of_pattern("%foo bar_", None).len(), 5);
    }
}
