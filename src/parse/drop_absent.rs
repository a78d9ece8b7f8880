//! `DROP … IF EXISTS` of kinds of objects that there are none of: it is done already. Dumps made with `--clean --if-exists` and migrations
//! that go both ways begin with such.

use sqlparser::tokenizer::TokenWithSpan;

use super::token_reader::is_word_at;

/// The words of kinds, each with the tag of its statement.
const KINDS: [(&[&str], &str); 20] = [
    (&["RULE"], "DROP RULE"),
    (&["POLICY"], "DROP POLICY"),
    (&["SERVER"], "DROP SERVER"),
    (&["FOREIGN", "TABLE"], "DROP FOREIGN TABLE"),
    (&["FOREIGN", "DATA", "WRAPPER"], "DROP FOREIGN DATA WRAPPER"),
    (&["USER", "MAPPING"], "DROP USER MAPPING"),
    (&["OPERATOR", "CLASS"], "DROP OPERATOR CLASS"),
    (&["OPERATOR", "FAMILY"], "DROP OPERATOR FAMILY"),
    (&["OPERATOR"], "DROP OPERATOR"),
    (&["EVENT", "TRIGGER"], "DROP EVENT TRIGGER"),
    (&["PUBLICATION"], "DROP PUBLICATION"),
    (&["SUBSCRIPTION"], "DROP SUBSCRIPTION"),
    (&["STATISTICS"], "DROP STATISTICS"),
    (&["CONVERSION"], "DROP CONVERSION"),
    (&["COLLATION"], "DROP COLLATION"),
    (
        &["TEXT", "SEARCH", "CONFIGURATION"],
        "DROP TEXT SEARCH CONFIGURATION",
    ),
    (&["TEXT", "SEARCH", "DICTIONARY"], "DROP TEXT SEARCH DICTIONARY"),
    (&["TRANSFORM"], "DROP TRANSFORM"),
    (&["ACCESS", "METHOD"], "DROP ACCESS METHOD"),
    (&["TABLESPACE"], "DROP TABLESPACE"),
];

/// The tag of such a statement; `None`: the tokens are none.
pub(super) fn tag_of(tokens: &[TokenWithSpan]) -> Option<&'static str> {
    if !is_word_at(tokens, 0, "DROP") {
        return None;
    }
    let is_of = |words: &[&str]| {
        let mut words = words.iter().chain(&["IF", "EXISTS"]).enumerate();
        words.all(|(at, word)| is_word_at(tokens, 1 + at, word))
    };
    let mut kinds = KINDS.iter();
    kinds.find(|(words, _)| is_of(words)).map(|(_, tag)| *tag)
}
