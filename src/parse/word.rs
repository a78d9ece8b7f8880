//! Words among the tokens, also those that the parser has no `Keyword` for.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Whether it is this word, not in quotes.
pub(super) fn is_word(word: &Word, text: &str) -> bool {
    word.keyword == Keyword::NoKeyword && word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// Whether the token at this place is this word, not in quotes.
pub(super) fn is(tokens: &[TokenWithSpan], at: usize, text: &str) -> bool {
    matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(word))
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}
