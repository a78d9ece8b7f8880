//! `Automaton`: where a match that begins at a given place ends, of all places where it could. `regular_groups` asks it of the
//! parts of a pattern. `regex_automata::meta` does not do: some of its engines stop at the first alternative, whatever kind of
//! match is asked for.

use std::cell::RefCell;

use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Input, MatchKind};
use regex_syntax::hir::Hir;

/// The size of a compiled pattern, so that a client cannot take the memory of the server.
pub(super) const REGEX_BYTES_MAX: usize = 4 << 20;

/// A compiled part of a pattern.
#[derive(Debug)]
pub(super) struct Automaton {
    /// Fast, but gives up at characters beyond ASCII beside a word's border, and where its states grow too many.
    lazy: Option<(DFA, RefCell<dfa::Cache>)>,
    /// Never gives up.
    slow: PikeVM,
    slow_cache: RefCell<pikevm::Cache>,
}

impl Automaton {
    /// `None`: a pattern that is too large.
    pub(super) fn new(hir: &Hir) -> Option<Automaton> {
        let config = thompson::Config::new()
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(Some(REGEX_BYTES_MAX));
        let nfa = NFA::compiler().configure(config).build_from_hir(hir).ok()?;
        let config = dfa::Config::new()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(8));
        let lazy = DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok();
        let slow = PikeVM::builder()
            .configure(pikevm::Config::new().match_kind(MatchKind::All))
            .build_from_nfa(nfa)
            .ok()?;
        Some(Automaton {
            lazy: lazy.map(|lazy| {
                let cache = RefCell::new(lazy.create_cache());
                (lazy, cache)
            }),
            slow_cache: RefCell::new(slow.create_cache()),
            slow,
        })
    }

    /// The last end of a match of the input, which is anchored; the first one, if the input asks for the earliest.
    pub(super) fn end(&self, input: &Input) -> Option<usize> {
        if let Some((lazy, cache)) = &self.lazy
            && let Ok(found) = lazy.try_search_fwd(&mut cache.borrow_mut(), input)
        {
            return found.map(|found| found.offset());
        }
        let mut slots = [None, None];
        self.slow
            .search_slots(&mut self.slow_cache.borrow_mut(), input, &mut slots)?;
        slots[1].map(|end| end.get())
    }
}

#[cfg(test)]
mod tests {
    use regex_automata::Anchored;

    use super::*;

    #[test]
    fn the_longest_and_the_shortest_end_are_found() {
        for (pattern, text, longest, shortest) in [
            ("foo|foobar", "foobarbaz", Some(6), Some(3)),
            ("a*", "aaab", Some(3), Some(0)),
            ("(?:a|ab)(?:c|bcd)", "abcd", Some(4), Some(3)),
            ("x", "abc", None, None),
            // A border of a word beside a character beyond ASCII is what the fast way gives up at.
            (r"\bé+\b", "ééé x", Some(6), Some(6)),
        ] {
            let hir = regex_syntax::parse(pattern).unwrap();
            let automaton = Automaton::new(&hir).unwrap();
            let input = Input::new(text).anchored(Anchored::Yes);
            assert_eq!(automaton.end(&input), longest, "{pattern}");
            assert_eq!(automaton.end(&input.earliest(true)), shortest, "{pattern}");
        }
    }
}
