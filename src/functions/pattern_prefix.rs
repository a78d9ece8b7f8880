//! What a regular expression says about the start of the texts it matches, so that a key column bounds the scan that
//! looks for them. Asked by `logical::filter_predicate`; `pattern` evaluates the same expressions. Says nothing rather than
//! guess: `None` costs a scan, a prefix too long loses rows.

use std::borrow::Cow;

/// What every text that a pattern matches begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FixedPrefix {
    /// `^ab$`: the text is this.
    Whole(String),
    /// `^ab.c`: the text starts so; never empty.
    Start(String),
}

impl FixedPrefix {
    /// The LIKE pattern, escaped by backslashes, that is true wherever the regular expression is.
    pub(crate) fn like_pattern(&self) -> String {
        let (FixedPrefix::Whole(text) | FixedPrefix::Start(text)) = self;
        let mut pattern = like_literal(text);
        if matches!(self, FixedPrefix::Start(_)) {
            pattern.push('%');
        }
        pattern
    }
}

/// The text as a LIKE pattern that matches it alone.
pub(crate) fn like_literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The prefix of a pattern as `~` reads it without flags. Only a pattern that begins with its anchor has one: options
/// (`(?i)`) and directors (`***=`) would stand before it.
pub(super) fn anchored_prefix(pattern: &str) -> Option<FixedPrefix> {
    let rest = pattern
        .strip_prefix('^')
        .or_else(|| pattern.strip_prefix("\\A"))?;
    let rest = without_group(rest);
    let rest = rest.as_ref();
    if has_alternation(rest) {
        return None;
    }
    let (prefix, rest) = literal_start(rest);
    match rest {
        "$" => Some(FixedPrefix::Whole(prefix)),
        _ if prefix.is_empty() => None,
        _ => Some(FixedPrefix::Start(prefix)),
    }
}

/// `(ab)$`, as psql writes a name, without the group around all of it.
fn without_group(rest: &str) -> Cow<'_, str> {
    let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(")$"));
    match inner {
        Some(inner)
            if !inner.starts_with('?') && !inner.ends_with('\\') && !inner.contains(['(', ')', '|']) =>
        {
            Cow::Owned(format!("{inner}$"))
        }
        _ => Cow::Borrowed(rest),
    }
}

/// The literal characters a pattern begins with, and what follows them. A character that a quantifier may leave out is
/// not one of them.
fn literal_start(pattern: &str) -> (String, &str) {
    let mut prefix = String::new();
    let mut rest = pattern;
    while let Some((character, after)) = literal_character(rest) {
        prefix.push(character);
        rest = after;
    }
    // `b+` has a `b`; `b+*` and `b+{0}` may have none.
    let quantifier = rest.strip_prefix('+').unwrap_or(rest);
    if quantifier.starts_with(['*', '?', '{']) {
        prefix.pop();
    }
    (prefix, rest)
}

/// The character that a pattern must begin with, and what follows it.
fn literal_character(pattern: &str) -> Option<(char, &str)> {
    let mut characters = pattern.chars();
    match characters.next()? {
        '\\' => {
            let escaped = characters.next().filter(char::is_ascii_punctuation)?;
            Some((escaped, characters.as_str()))
        }
        '.' | '[' | ']' | '(' | ')' | '{' | '}' | '*' | '+' | '?' | '|' | '^' | '$' => None,
        character => Some((character, characters.as_str())),
    }
}

/// Whether a `|` may stand outside all parentheses. A class inside a class (`[[:alpha:]]`) is not followed: then every
/// `|` counts.
fn has_alternation(pattern: &str) -> bool {
    let mut depth = 0_usize;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            '|' if depth == 0 => return true,
            '[' => match after_class(characters.as_str()) {
                Some(after) => characters = after.chars(),
                None => return pattern.contains('|'),
            },
            _ => {}
        }
    }
    false
}

/// What follows the class whose `[` was read; `None` when it is not a plain one.
fn after_class(class: &str) -> Option<&str> {
    let members = class.strip_prefix('^').unwrap_or(class);
    // A bracket that comes first is a member.
    let end = 1 + members.get(1..)?.find(']')?;
    let plain = !members[..end].contains(['[', '\\']);
    plain.then(|| &members[end + 1..])
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use regex::Regex;

    use super::*;

    fn start(pattern: &str) -> Option<String> {
        anchored_prefix(pattern).map(|prefix| prefix.like_pattern())
    }

    #[test]
    fn a_prefix_is_what_no_operator_can_change() {
        for (pattern, like) in [
            ("^ab", Some("ab%")),
            ("^ab.*$", Some("ab%")),
            ("\\Aab", Some("ab%")),
            ("^ab$", Some("ab")),
            ("^(ab)$", Some("ab")),
            ("^(a.*)$", Some("a%")),
            ("^(ab|c)$", None),
            ("^(a)(b)$", None),
            ("^(?:ab)$", None),
            ("^(ab\\\\)$", None),
            ("^$", Some("")),
            ("^ab*", Some("a%")),
            ("^ab?c", Some("a%")),
            ("^ab{0,3}", Some("a%")),
            ("^ab+", Some("ab%")),
            ("^ab+*", Some("a%")),
            ("^a*$", None),
            ("^é?", None),
            ("^a\\.b\\d", Some("a.b%")),
            ("^a%_\\\\", Some("a\\%\\_\\\\%")),
            ("^ab(c|d)[|]", Some("ab%")),
            ("^ab(c|d)[[:alpha:]]", None),
            ("^ab|c", None),
            ("^ab[(]|c", None),
            ("^ab[])]|c", None),
            ("^(ab|c)", None),
            ("ab", None),
            ("(?i)^ab", None),
            ("***=^ab", None),
            (".*ab", None),
            ("", None),
        ] {
            assert_eq!(start(pattern).as_deref(), like, "{pattern}");
        }
    }

    /// Every text over a small alphabet, up to a length.
    fn texts(length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..length {
            let until = all.len();
            for at in from..until {
                let longer: Vec<_> = ["a", "b", "|", "é"]
                    .map(|more| format!("{}{more}", all[at]))
                    .into();
                all.extend(longer);
            }
            from = until;
        }
        all
    }

    #[test]
    fn every_match_of_a_random_pattern_has_its_prefix() {
        const PIECES: [&str; 22] = [
            "a", "b", "é", "|", "\\|", "*", "+", "?", "{0,1}", "(", ")", "[", "]", "^", "$", ".", "\\A",
            "(?i)", "\\", "[^", "[a|]", "(?:",
        ];
        let texts = texts(4);
        let mut random = StdRng::seed_from_u64(7);
        let (mut bounded, mut matched) = (0, 0);
        for _ in 0..60_000 {
            let length = random.random_range(1..7);
            let pieces = (0..length).map(|_| PIECES[random.random_range(0..PIECES.len())]);
            let pattern = format!("^{}", pieces.collect::<String>());
            let (Some(prefix), Ok(regex)) = (anchored_prefix(&pattern), Regex::new(&pattern)) else {
                continue;
            };
            bounded += 1;
            for text in texts.iter().filter(|text| regex.is_match(text)) {
                matched += 1;
                let fits = match &prefix {
                    FixedPrefix::Whole(whole) => text == whole,
                    FixedPrefix::Start(start) => text.starts_with(start.as_str()),
                };
                assert!(fits, "{pattern} matches {text:?}, not bounded by {prefix:?}");
            }
        }
        assert!(
            bounded > 1_000 && matched > 10_000,
            "{bounded} patterns, {matched} matches"
        );
    }
}
