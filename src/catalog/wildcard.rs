//! Columns that writes may add to a table: any (DYNAMIC_COLUMNS), or those of a name that a wildcard column matches, a pattern with a
//! type. Asked by whoever meets a name that the table has no column of: binding, writes, CREATE and ALTER TABLE. Knows nothing of
//! statements.
//!
//! In a pattern `*` stands for any characters, none among them, and `?` for one; there is no escape, and all else stands for
//! itself. Of several patterns that match a name the one with most literal characters says the type. No table has two of which
//! neither would: [`may_tie`].

use super::{ColumnDef, TableDef};

impl TableDef {
    /// Whether there are names that a write may add as columns.
    pub fn gets_columns(&self) -> bool {
        self.options.dynamic_columns || !self.wildcards.is_empty()
    }

    /// Whether it is one of the table's wildcard columns.
    pub fn is_wildcard(&self, column: &ColumnDef) -> bool {
        self.wildcards.iter().any(|known| std::ptr::eq(known, column))
    }

    /// Whether a write may add a column of this name, which the table does not have. A pattern is no name of a column.
    pub fn may_get_column(&self, name: &str) -> bool {
        let is_wildcard = self.wildcards.iter().any(|known| known.name == name);
        let is_gettable = self.options.dynamic_columns && !is_wildcard || self.pattern_of(name).is_some();
        is_gettable && !self.has_column_named(name)
    }

    /// The wildcard column that says what a column of this name is.
    pub fn pattern_of(&self, name: &str) -> Option<&ColumnDef> {
        if is_pattern(name) {
            return None;
        }
        let matching = self.wildcards.iter().filter(|known| matches(&known.name, name));
        matching.max_by_key(|known| literal_chars(&known.name))
    }
}

/// Whether a name has a character that stands for others.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// How many characters of a pattern stand for themselves.
fn literal_chars(pattern: &str) -> usize {
    pattern
        .chars()
        .filter(|letter| !matches!(letter, '*' | '?'))
        .count()
}

/// Whether the pattern matches the name.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where the last star stands, and what it does not cover yet.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, covered)) = star else {
                    return false;
                };
                star = Some((star_at, covered + 1));
                (at, place) = (star_at + 1, covered + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// Whether a name may match both patterns, and neither is the longer one.
pub fn may_tie(left: &str, right: &str) -> bool {
    literal_chars(left) == literal_chars(right) && may_meet(left, right)
}

/// Whether there is a name that both patterns match.
fn may_meet(left: &str, right: &str) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    // Whether what is left of the one and of the other, from these places on, meets; the last row and column first.
    let mut below = vec![false; right.len() + 1];
    for i in (0..=left.len()).rev() {
        let mut row = vec![false; right.len() + 1];
        for j in (0..=right.len()).rev() {
            row[j] = match (left.get(i), right.get(j)) {
                (None, None) => true,
                (Some('*'), _) if below[j] => true,
                (_, Some('*')) if row[j + 1] => true,
                // The star takes the other's next character.
                (Some('*'), Some(_)) => row[j + 1],
                (Some(_), Some('*')) => below[j],
                (Some(a), Some(b)) => (*a == '?' || *b == '?' || a == b) && below[j + 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
        below = row;
    }
    below[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("c2*", "c2", true),
            ("c2*", "c2_x", true),
            ("c2*", "c1", false),
            ("c2*", "xc2", false),
            ("*_str", "a_str", true),
            ("*_str", "_str", true),
            ("*_str", "a_strx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_c", false),
            ("*", "", true),
            ("?*", "", false),
            ("?*", "ä", true),
            ("é?", "éß", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn ties_are_told() {
        for (left, right, expected) in [
            ("c2*", "*_str", false),
            ("ab*", "*cd", true),
            ("a*", "b*", false),
            ("a*", "*b", true),
            ("a?", "?b", true),
            ("a?", "??b", false),
            ("a?", "b??", false),
            ("*", "?*", true),
            ("a*c", "a?c", true),
            ("a*c", "ac", true),
            ("*a*", "*b*", true),
        ] {
            assert_eq!(may_tie(left, right), expected, "{left} {right}");
            assert_eq!(may_tie(right, left), expected, "{right} {left}");
        }
    }

    /// Brute force over all names of few letters.
    #[test]
    fn two_patterns_meet_where_a_name_matches_both() {
        let letters = ['a', 'b', '*', '?'];
        let texts = |alphabet: &[char], longest: usize| {
            let (mut all, mut last) = (vec![String::new()], vec![String::new()]);
            for _ in 0..longest {
                let longer = last.iter();
                last = longer
                    .flat_map(|text| alphabet.iter().map(move |letter| format!("{text}{letter}")))
                    .collect();
                all.extend(last.iter().cloned());
            }
            all
        };
        let (patterns, names) = (texts(&letters, 3), texts(&letters[..2], 6));
        for left in &patterns {
            for right in &patterns {
                let meets = names
                    .iter()
                    .any(|name| matches(left, name) && matches(right, name));
                assert_eq!(may_meet(left, right), meets, "{left} {right}");
            }
        }
    }
}
