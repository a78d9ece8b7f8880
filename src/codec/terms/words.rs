//! The terms of tsvectors: their words.

use super::wanted::{Term, WantedTerms};
use super::{bounded, bounded_beginning};
use crate::Result;
use crate::types::text_search::{Operand, QueryNode, TsVector};

/// The terms of a vector in its text form. Errors: what is none.
pub(super) fn of_vector(text: &str) -> Result<Vec<Vec<u8>>> {
    let vector = TsVector::parse(text)?;
    let words = vector.lexemes().iter();
    Ok(words.map(|lexeme| of_word(&lexeme.word)).collect())
}

fn of_word(word: &str) -> Vec<u8> {
    bounded(word.as_bytes().to_vec())
}

/// What every vector has that a query matches.
pub(super) fn of_query(node: &QueryNode) -> WantedTerms {
    match node {
        QueryNode::Word(Operand { word, is_prefix, .. }) => WantedTerms::one(match is_prefix {
            true => Term::Beginning(bounded_beginning(word.as_bytes().to_vec())),
            false => Term::Whole(of_word(word)),
        }),
        QueryNode::Not(_) => WantedTerms::default(),
        QueryNode::And(parts) => parts
            .iter()
            .map(of_query)
            .fold(WantedTerms::default(), WantedTerms::and),
        QueryNode::Phrase(first, second, _) => of_query(first).and(of_query(second)),
        QueryNode::Or(parts) => WantedTerms::any(parts.iter().map(of_query)),
    }
}
