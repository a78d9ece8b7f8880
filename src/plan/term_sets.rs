//! `TermSets`: what is read of an inverted index.

use crate::codec::prefix_end;
use crate::store::KeyRange;

/// What is read of an inverted index.
#[derive(Debug, Clone, PartialEq)]
pub struct TermSets {
    /// A row stands under a term of each; at least one, and none empty.
    pub sets: Vec<Vec<TermRange>>,
    /// How many bytes stand before the term in a stored key.
    pub term_at: usize,
    /// Between which the rows' keys stand, without the bytes that say of which table they are.
    pub rows: KeyRange,
}

/// The entries of a term, or of all that begin alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TermRange {
    /// What their stored keys begin with.
    pub prefix: Vec<u8>,
    /// Whether they are of one term, and so sorted by what follows the prefix.
    pub is_one_term: bool,
}

impl TermRange {
    /// The stored keys of its entries of rows in a range.
    pub fn within(&self, rows: &KeyRange) -> KeyRange {
        match self.is_one_term {
            true => KeyRange {
                start: [self.prefix.as_slice(), &rows.start].concat(),
                end: match &rows.end {
                    Some(end) => Some([self.prefix.as_slice(), end].concat()),
                    None => prefix_end(&self.prefix),
                },
            },
            false => KeyRange::of_prefix(&self.prefix),
        }
    }
}
