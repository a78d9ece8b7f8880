//! `Backtracking`: regular expressions with back references or look-around, which no automaton knows. The longest of the
//! matches that begin first, as PostgreSQL takes it, unless a quantifier of the pattern asks for the shortest: then the first
//! in the order of its branches. A search gives up where it goes back too often. `regular_expression` compiles and asks.

use fancy_regex::{CompileError, Regex, RegexBuilder};

use super::regular_automaton::REGEX_BYTES_MAX;
use super::regular_fault::{TOO_COMPLEX, invalid};
use super::regular_groups::{Groups, Span, too_complex};
use super::regular_syntax::RustPattern;
use crate::Result;

/// How often a search may go back: some tens of milliseconds.
const STEPS_BACK_MAX: usize = 1_000_000;
/// Instructions of a compiled pattern.
const INSTRUCTIONS_MAX: usize = 1 << 16;
/// What one takes, about: it does not say.
const BYTES: usize = 64 << 10;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Backtracking {
    regex: Regex,
}

impl Backtracking {
    /// Errors: 2201B.
    pub(super) fn new(pattern: &RustPattern) -> Result<Backtracking> {
        let options = pattern.options;
        let build = |takes_longest: bool| {
            RegexBuilder::new(&pattern.text)
                .case_insensitive(options.ignores_case)
                .dot_matches_new_line(options.dot_matches_newline)
                .multi_line(options.anchors_match_lines)
                .leftmost_longest(takes_longest)
                .backtrack_limit(STEPS_BACK_MAX)
                .delegate_size_limit(REGEX_BYTES_MAX)
                .delegate_dfa_size_limit(REGEX_BYTES_MAX)
                .max_prog_size(INSTRUCTIONS_MAX)
                .build()
        };
        let regex = match build(true) {
            Err(fancy_regex::Error::CompileError(error)) if is_not_longest(&error) => build(false),
            built => built,
        };
        Ok(Backtracking {
            regex: regex.map_err(fault)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        BYTES + self.regex.as_str().len()
    }

    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        self.regex.is_match(text).map_err(|_| too_complex())
    }

    pub(super) fn group_count(&self) -> usize {
        self.regex.captures_len() - 1
    }

    pub(super) fn find_at(&self, text: &str, from: usize) -> Result<Option<Span>> {
        let found = self.regex.find_from_pos(text, from);
        let found = found.map_err(|_| too_complex())?;
        Ok(found.map(|found| (found.start(), found.end())))
    }

    pub(super) fn groups_at(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        let found = self.regex.captures_from_pos(text, from);
        let found = found.map_err(|_| too_complex())?;
        let span = |group: Option<fancy_regex::Match<'_>>| group.map(|found| (found.start(), found.end()));
        Ok(found.map(|groups| groups.iter().map(span).collect()))
    }
}

/// Whether the longest match is not found of a pattern that asks for short ones.
fn is_not_longest(error: &CompileError) -> bool {
    matches!(error, CompileError::FeatureNotYetSupported(_))
}

fn fault(error: fancy_regex::Error) -> crate::Error {
    match error {
        fancy_regex::Error::CompileError(error) => match *error {
            CompileError::InnerError(_)
            | CompileError::DfaBuildError(..)
            | CompileError::PatternTooComplex => invalid(TOO_COMPLEX),
            other => invalid(other),
        },
        other => invalid(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::regular_options::RegularOptions;
    use super::super::regular_syntax::rust_pattern;
    use super::*;

    fn compiled(pattern: &str) -> Backtracking {
        let options = RegularOptions::read("").unwrap();
        Backtracking::new(&rust_pattern(pattern, options).unwrap()).unwrap()
    }

    #[test]
    fn the_longest_match_is_found_with_its_groups() {
        for (pattern, text, groups) in [
            ("(abc)\\1", "xabcabc", Some(vec![Some((1, 7)), Some((1, 4))])),
            ("(?=foo)(f|foo)", "foo", Some(vec![Some((0, 3)), Some((0, 3))])),
            // Groups of look-around count for nothing.
            ("(?=(a))a(b)", "ab", Some(vec![Some((0, 2)), Some((1, 2))])),
            ("(?<=a+)b", "aab", Some(vec![Some((2, 3))])),
            ("(a)?b\\1", "b", None),
            ("(.)\\1+?", "aaa", Some(vec![Some((0, 2)), Some((0, 1))])),
        ] {
            assert_eq!(compiled(pattern).groups_at(text, 0).unwrap(), groups, "{pattern}");
        }
    }

    #[test]
    fn a_search_that_goes_back_for_ever_ends() {
        let regex = compiled("(a*)*(a*)*(b)\\3");
        let error = regex.is_match(&"a".repeat(64)).unwrap_err();
        assert_eq!(error.sqlstate(), "54000");
    }
}
