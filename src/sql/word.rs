//! Words among a statement's tokens, for the files that read tokens before the parser does.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Whether the token is this word, unquoted.
pub(crate) fn is_word(token: Option<&TokenWithSpan>, word: &str) -> bool {
    matches!(token.map(|token| &token.token),
        Some(Token::Word(found)) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}
