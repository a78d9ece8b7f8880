//! Trigrams, as pg_trgm has them: words in lower case with two blanks before and one behind, cut into threes.

use super::letter_case::lowercase;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrigramWord {
    /// In lower case, with the blanks around it.
    pub(crate) characters: Vec<char>,
}

impl TrigramWord {
    /// Its trigrams, in their order.
    pub(crate) fn trigrams(&self) -> impl Iterator<Item = String> {
        self.characters.windows(3).map(|three| three.iter().collect())
    }
}

/// The words of a text.
pub(crate) fn words(text: &str) -> Vec<TrigramWord> {
    words_within(text, (false, false))
}

/// The words of a part of a text, which may go on before it, or behind it: there no word is known to begin or to end.
pub(crate) fn words_within(part: &str, (goes_on_before, goes_on_behind): (bool, bool)) -> Vec<TrigramWord> {
    let lower: Vec<char> = lowercase(part).chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    for run in lower.chunk_by(|one, other| one.is_alphanumeric() == other.is_alphanumeric()) {
        let (begins, ends) = (
            at > 0 || !goes_on_before,
            at + run.len() < lower.len() || !goes_on_behind,
        );
        at += run.len();
        if !run[0].is_alphanumeric() {
            continue;
        }
        let before = [' ', ' '].into_iter().filter(|_| begins);
        let behind = [' '].into_iter().filter(|_| ends);
        let characters = before.chain(run.iter().copied()).chain(behind);
        words.push(TrigramWord {
            characters: characters.collect(),
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigrams(part: &str, goes_on: (bool, bool)) -> Vec<String> {
        let words = words_within(part, goes_on);
        words.iter().flat_map(TrigramWord::trigrams).collect()
    }

    #[test]
    fn words_begin_and_end_where_the_text_says_so() {
        assert_eq!(trigrams("Ab", (false, false)), ["  a", " ab", "ab "]);
        assert_eq!(trigrams("abc-d", (true, true)), ["abc", "bc ", "  d"]);
        assert_eq!(trigrams("abc-d", (true, false)), ["abc", "bc ", "  d", " d "]);
        assert_eq!(trigrams("-ab", (true, true)), ["  a", " ab"]);
        assert!(trigrams("--", (false, false)).is_empty());
    }
}
