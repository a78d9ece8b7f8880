//! What a condition asks of the terms of a value: sets of terms, of each of which the value has one.

/// Terms in a set at most: of a greater one nobody asks.
const ALTERNATIVES_MAX: usize = 256;

/// A term that is looked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// This one.
    Whole(Vec<u8>),
    /// Any that begins so.
    Beginning(Vec<u8>),
}

/// Sets of terms. Whoever meets the condition has a term of each; with no set the condition says nothing of terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedTerms {
    sets: Vec<Vec<Term>>,
}

impl WantedTerms {
    /// One term.
    pub(super) fn one(term: Term) -> WantedTerms {
        WantedTerms {
            sets: vec![vec![term]],
        }
    }

    /// All of some terms.
    pub(super) fn all(terms: Vec<Vec<u8>>) -> WantedTerms {
        let terms = terms.into_iter().map(|term| WantedTerms::one(Term::Whole(term)));
        terms.fold(WantedTerms::default(), WantedTerms::and)
    }

    /// What both ask for.
    pub fn and(mut self, other: WantedTerms) -> WantedTerms {
        self.sets.extend(other.sets);
        self.sets.sort_unstable();
        self.sets.dedup();
        self
    }

    /// What one of several asks for, each said by the smallest of its sets; nothing where one of them asks for nothing.
    pub fn any(alternatives: impl Iterator<Item = WantedTerms>) -> WantedTerms {
        let smallest = |wanted: WantedTerms| wanted.sets.into_iter().min_by_key(Vec::len);
        let sets: Option<Vec<Vec<Term>>> = alternatives.map(smallest).collect();
        let mut terms: Vec<Term> = sets.unwrap_or_default().into_iter().flatten().collect();
        terms.sort_unstable();
        terms.dedup();
        match terms.len() {
            1..=ALTERNATIVES_MAX => WantedTerms { sets: vec![terms] },
            _ => WantedTerms::default(),
        }
    }

    /// The sets.
    pub fn sets(&self) -> &[Vec<Term>] {
        &self.sets
    }
}
