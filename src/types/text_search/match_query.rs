//! Whether a query matches: by words alone where that tells it, by places where a phrase is in it.

use super::query::{Operand, QueryNode, TsQuery};
use super::vector::TsVector;

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    No,
    Maybe,
    Yes,
}

/// What is searched: which places a word has. `None`: it is not there; no places: nobody knows where.
pub(super) trait Document {
    fn places(&self, operand: &Operand) -> Option<Vec<u16>>;
}

impl Document for TsVector {
    fn places(&self, operand: &Operand) -> Option<Vec<u16>> {
        let lexemes: Vec<&super::vector::Lexeme> = match operand.is_prefix {
            false => self.get(&operand.word).into_iter().collect(),
            true => self.beginning_with(&operand.word).collect(),
        };
        // A word without places has every weight, and nobody knows where those stand that begin as it does.
        if lexemes.iter().any(|lexeme| lexeme.positions.is_empty()) {
            return Some(Vec::new());
        }
        let positions = lexemes.into_iter().flat_map(|lexeme| &lexeme.positions);
        let taken = positions.filter(|position| operand.takes(position.weight));
        let mut places: Vec<u16> = taken.map(|position| position.place).collect();
        places.sort_unstable();
        places.dedup();
        Some(places).filter(|places| !places.is_empty())
    }
}

impl Document for &dyn Fn(&Operand) -> Option<Vec<u16>> {
    fn places(&self, operand: &Operand) -> Option<Vec<u16>> {
        self(operand)
    }
}

impl TsQuery {
    /// Whether it matches where each word has these places, if it has any.
    pub(crate) fn matches_places(&self, places: &dyn Fn(&Operand) -> Option<Vec<u16>>) -> bool {
        self.root.as_ref().is_some_and(|root| is_in(root, &places))
    }

    /// Whether the vector has what is searched for.
    pub(crate) fn matches(&self, vector: &TsVector) -> bool {
        self.root.as_ref().is_some_and(|root| is_in(root, vector))
    }
}

/// Whether a document has what is searched for.
pub(super) fn is_in(node: &QueryNode, document: &impl Document) -> bool {
    truth(node, document) != Truth::No
}

fn truth(node: &QueryNode, document: &impl Document) -> Truth {
    match node {
        QueryNode::Word(operand) => match document.places(operand) {
            Some(_) => Truth::Yes,
            None => Truth::No,
        },
        QueryNode::Not(inner) => match truth(inner, document) {
            Truth::No => Truth::Yes,
            Truth::Maybe => Truth::Maybe,
            Truth::Yes => Truth::No,
        },
        QueryNode::And(list) => least(list, |part| truth(part, document)),
        QueryNode::Or(list) => {
            let mut found = Truth::No;
            for part in list {
                found = found.max(truth(part, document));
                if found == Truth::Yes {
                    break;
                }
            }
            found
        }
        // Where nobody knows places a phrase is not found.
        QueryNode::Phrase(..) => match phrase(node, document) {
            (Truth::Yes, _) => Truth::Yes,
            _ => Truth::No,
        },
    }
}

fn least(list: &[QueryNode], mut truth: impl FnMut(&QueryNode) -> Truth) -> Truth {
    let mut found = Truth::Yes;
    for part in list {
        found = found.min(truth(part));
        if found == Truth::No {
            break;
        }
    }
    found
}

/// Where a part of a phrase matches.
#[derive(Debug, Default)]
struct Matches {
    /// The places of its last words; or, where `is_negated`, those where it does not match.
    places: Vec<u16>,
    is_negated: bool,
    /// How many places it reaches back from there.
    width: u16,
}

impl Matches {
    /// The places moved so that they stand for the ends of something as wide.
    fn moved(&self, by: u16) -> Vec<u32> {
        self.places
            .iter()
            .map(|place| u32::from(*place) + u32::from(by))
            .collect()
    }
}

/// Which of two lists of places are kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    both: bool,
    left: bool,
    right: bool,
}

const BOTH: Kept = Kept {
    both: true,
    left: false,
    right: false,
};
const LEFT: Kept = Kept {
    both: false,
    left: true,
    right: false,
};
const RIGHT: Kept = Kept {
    both: false,
    left: false,
    right: true,
};
const ANY: Kept = Kept {
    both: true,
    left: true,
    right: true,
};

fn merged(left: &[u32], right: &[u32], kept: Kept) -> Vec<u16> {
    let (mut l, mut r, mut places) = (0, 0, Vec::new());
    while l < left.len() || r < right.len() {
        let (a, b) = (left.get(l), right.get(r));
        let (place, is_kept) = match (a, b) {
            (Some(a), Some(b)) if a == b => {
                (l, r) = (l + 1, r + 1);
                (*a, kept.both)
            }
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                l += 1;
                (*a, kept.left)
            }
            (_, Some(b)) => {
                r += 1;
                (*b, kept.right)
            }
            _ => break,
        };
        if is_kept {
            places.push(u16::try_from(place).unwrap_or(u16::MAX));
        }
    }
    places
}

/// Where the part of a phrase matches.
fn phrase(node: &QueryNode, document: &impl Document) -> (Truth, Matches) {
    match node {
        QueryNode::Word(operand) => match document.places(operand) {
            None => (Truth::No, Matches::default()),
            Some(places) if places.is_empty() => (Truth::Maybe, Matches::default()),
            Some(places) => {
                let matches = Matches {
                    places,
                    ..Matches::default()
                };
                (Truth::Yes, matches)
            }
        },
        QueryNode::Not(inner) => negated(phrase(inner, document)),
        QueryNode::And(list) => folded(list, document, |left, right| both(left, right, None)),
        QueryNode::Or(list) => folded(list, document, either),
        QueryNode::Phrase(left, right, distance) => {
            let left = phrase(left, document);
            if left.0 == Truth::No {
                return (Truth::No, Matches::default());
            }
            both(left, phrase(right, document), Some(*distance))
        }
    }
}

type Found = (Truth, Matches);

fn folded(list: &[QueryNode], document: &impl Document, join: impl Fn(Found, Found) -> Found) -> Found {
    let parts = list.iter().map(|part| phrase(part, document));
    parts.reduce(join).unwrap_or((Truth::No, Matches::default()))
}

fn negated((truth, matches): Found) -> Found {
    match truth {
        Truth::Maybe => (Truth::Maybe, matches),
        // It matches nowhere: its negation everywhere.
        Truth::No => (
            Truth::Yes,
            Matches {
                is_negated: true,
                ..Matches::default()
            },
        ),
        Truth::Yes if matches.places.is_empty() && matches.is_negated => (Truth::No, Matches::default()),
        Truth::Yes => (
            Truth::Yes,
            Matches {
                is_negated: !matches.is_negated,
                ..matches
            },
        ),
    }
}

fn known(places: Vec<u16>, width: u16) -> Found {
    let truth = if places.is_empty() { Truth::No } else { Truth::Yes };
    let matches = Matches {
        places,
        is_negated: false,
        width,
    };
    (truth, matches)
}

fn everywhere_but(places: Vec<u16>, width: u16) -> Found {
    let matches = Matches {
        places,
        is_negated: true,
        width,
    };
    (Truth::Yes, matches)
}

/// Both match; `distance`: the second so many places behind the first, else at one place.
fn both((left_truth, left): Found, (right_truth, right): Found, distance: Option<u16>) -> Found {
    if left_truth == Truth::No || right_truth == Truth::No {
        return (Truth::No, Matches::default());
    }
    if left_truth == Truth::Maybe || right_truth == Truth::Maybe {
        return (Truth::Maybe, Matches::default());
    }
    let widest = left.width.max(right.width);
    let (left_by, right_by, width) = match distance {
        Some(distance) => {
            let by = distance.saturating_add(right.width);
            (by, 0, by.saturating_add(left.width))
        }
        None => (widest - left.width, widest - right.width, widest),
    };
    let (l, r) = (left.moved(left_by), right.moved(right_by));
    match (left.is_negated, right.is_negated) {
        (true, true) => everywhere_but(merged(&l, &r, ANY), width),
        (true, false) => known(merged(&l, &r, RIGHT), width),
        (false, true) => known(merged(&l, &r, LEFT), width),
        (false, false) => known(merged(&l, &r, BOTH), width),
    }
}

/// One of both matches.
fn either((left_truth, left): Found, (right_truth, right): Found) -> Found {
    if left_truth == Truth::No && right_truth == Truth::No {
        return (Truth::No, Matches::default());
    }
    if left_truth == Truth::Maybe || right_truth == Truth::Maybe {
        return (Truth::Maybe, Matches::default());
    }
    let width = left.width.max(right.width);
    let (l, r) = (left.moved(width - left.width), right.moved(width - right.width));
    match (left.is_negated, right.is_negated) {
        (true, true) => everywhere_but(merged(&l, &r, BOTH), width),
        (true, false) => everywhere_but(merged(&l, &r, LEFT), width),
        (false, true) => everywhere_but(merged(&l, &r, RIGHT), width),
        (false, false) => known(merged(&l, &r, ANY), width),
    }
}
