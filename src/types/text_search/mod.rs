//! Text search: `tsvector` (the words of a document, with their places and weights) and `tsquery` (what is searched for): their texts, binary
//! forms and order, whether one is in the other, and how well. Values are carried and stored as their texts, in the one form in which
//! they print. Which words a document has is for `functions` to say; nothing here knows languages.

mod match_query;
mod names;
mod query;
mod query_text;
mod rank;
mod vector;
mod vector_binary;
mod vector_text;
mod word_reader;

pub(crate) use names::{configuration_name, dictionary_name};
pub(crate) use query::{DISTANCE_MAX, Operand, QueryNode, TsQuery};
pub(super) use query_text::read_binary as read_query;
pub(crate) use query_text::{QueryStyle, out_of_distance, parse_query, phrase_of};
pub(crate) use rank::{DEFAULT_WEIGHTS, rank, rank_by_covers};
pub(crate) use vector::{Lexeme, POSITION_MAX, Position, TsVector, Weight};
pub(super) use vector_binary::read_binary as read_vector;
pub(crate) use word_reader::{WORD_BYTES_MAX, check_length};

/// Appends the binary form of a tsvector's text; of what is none, that of no words.
pub(super) fn put_vector(out: &mut Vec<u8>, text: &[u8]) {
    let vector = std::str::from_utf8(text)
        .ok()
        .and_then(|text| TsVector::parse(text).ok());
    vector_binary::put_binary(out, &vector.unwrap_or_default());
}

/// Appends the binary form of a tsquery's text; of what is none, that of no words.
pub(super) fn put_query(out: &mut Vec<u8>, text: &[u8]) {
    let query = std::str::from_utf8(text)
        .ok()
        .and_then(|text| TsQuery::parse(text).ok());
    query_text::put_binary(out, &query.unwrap_or_default());
}
