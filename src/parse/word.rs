//! Words that the parser has no `Keyword` for.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Word;

/// Whether it is this word, not in quotes.
pub(super) fn is_word(word: &Word, text: &str) -> bool {
    word.keyword == Keyword::NoKeyword && word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}
