//! Text search: `tsvector` (the words of a document, with their places and weights) and `tsquery` (what is searched for): their texts, binary
//! forms and order, whether one is in the other, and how well. Values are carried and stored as their texts, in the one form in which
//! they print. Which words a document has is for `functions` to say; nothing here knows languages.

mod match_query;
mod names;
mod query;
mod query_binary;
mod query_text;
mod rank;
mod rewrite;
mod vector;
mod vector_binary;
mod vector_text;
mod word_reader;

pub(crate) use names::{UNACCENT, configuration_name, dictionary_name};
pub(crate) use query::{DISTANCE_MAX, Operand, QueryNode, TsQuery, out_of_distance};
pub(super) use query_binary::read_binary as read_query;
pub(crate) use query_text::{QueryStyle, parse_query, phrase_of};
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
    query_binary::put_binary(out, &query.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_binary_forms_are_read_as_they_are_written() {
        for text in ["", "'a'", "'a':1A,3 'b c'", "'it''s':2", "'x\\\\y':16383B"] {
            let vector = TsVector::parse(text).unwrap();
            assert_eq!(vector.to_string(), text);
            let mut bytes = Vec::new();
            put_vector(&mut bytes, text.as_bytes());
            assert_eq!(read_vector(&bytes).unwrap().unwrap(), vector);
            assert!(read_vector(&bytes[..bytes.len() - 1]).is_none_or(|read| read.is_err()));
        }
        for text in [
            "'a'",
            "!'a' & ( 'b' | 'c':*AB ) & 'd'",
            "'a' <-> ( 'b' <2> 'c' )",
            "!!'a' | 'b'",
        ] {
            let query = TsQuery::parse(text).unwrap();
            assert_eq!(query.to_string(), text);
            let mut bytes = Vec::new();
            put_query(&mut bytes, text.as_bytes());
            assert_eq!(read_query(&bytes).unwrap().unwrap(), query);
            assert!(read_query(&bytes[..bytes.len() - 1]).is_none());
        }
    }

    #[test]
    fn queries_too_deep_are_refused_before_they_are_made() {
        for text in [
            "!".repeat(100_000) + "a",
            "(".repeat(100_000) + "a",
            "a<->".repeat(100_000) + "a",
        ] {
            assert_eq!(TsQuery::parse(&text).unwrap_err().sqlstate(), "54001");
        }
        assert!(TsQuery::parse(&("a&".repeat(100_000) + "a")).is_ok());
        let deep = [&[0, 0, 0, 200][..], &[2, 1].repeat(100_000)].concat();
        assert_eq!(read_query(&deep).unwrap().unwrap_err().sqlstate(), "54001");
    }

    proptest::proptest! {
        #[test]
        fn other_bytes_are_no_value(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)) {
            let _ = read_vector(&bytes);
            let _ = read_query(&bytes);
        }

        #[test]
        fn other_texts_are_refused_or_printed_again(text in "[ab :,&|!()<>1'\\\\*-]{0,16}") {
            if let Ok(query) = TsQuery::parse(&text) {
                proptest::prop_assert_eq!(TsQuery::parse(&query.to_string()).unwrap(), query);
            }
            if let Ok(vector) = TsVector::parse(&text) {
                proptest::prop_assert_eq!(TsVector::parse(&vector.to_string()).unwrap(), vector);
            }
        }
    }
}
