//! `Words`: what a text may name.

use std::collections::BTreeSet;

/// The words of a text.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) all: BTreeSet<String>,
    /// Those that no name stands behind: as a record's they mean all of it.
    pub(super) rows: BTreeSet<String>,
}

impl Words {
    /// Those outside of strings, as names are compared.
    pub(super) fn of(text: &str) -> Words {
        // A text that stands between quotes names nothing.
        let named = crate::parse::without_strings(text);
        let mut all: BTreeSet<String> = named
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
            .map(str::to_lowercase)
            .collect();
        // What stands in quotes is what it is.
        all.extend(named.split('"').skip(1).step_by(2).map(str::to_string));
        let rows = bare_words(&named);
        Words { all, rows }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.all.contains(word)
    }
}

/// The words of a text behind which no point and name stand.
fn bare_words(text: &str) -> BTreeSet<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut words = BTreeSet::new();
    let (mut rest, mut in_quotes) = (text, false);
    while let Some(start) = rest.find(|c: char| is_of_word(c) || c == '"') {
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix('"') {
            (rest, in_quotes) = (after, !in_quotes);
            if !in_quotes {
                continue;
            }
        }
        let end = match in_quotes {
            true => rest.find('"'),
            false => rest.find(|c: char| !is_of_word(c)),
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let behind = after.trim_start_matches('"').trim_start();
        let behind = behind.strip_prefix('.').map(str::trim_start);
        if behind.is_none_or(|behind| !behind.starts_with(|c: char| is_of_word(c) || c == '"')) {
            words.insert(match in_quotes {
                true => word.to_string(),
                false => word.to_lowercase(),
            });
        }
        rest = after;
    }
    words
}
