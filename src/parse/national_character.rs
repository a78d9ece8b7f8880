//! `NATIONAL CHARACTER` and `NCHAR VARYING`: types that PostgreSQL takes for `character` and `character varying`, of which the parser knows
//! `nchar` alone. Called by `tokens`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{is_word_at, keyword_of};

/// Before a word is taken: what stands before it becomes what the parser reads.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, word: &TokenWithSpan) {
    let Some(last) = tokens.len().checked_sub(1) else {
        return;
    };
    match keyword_of(Some(word)) {
        Keyword::CHARACTER | Keyword::CHAR
            if is_word_at(tokens, last, "NATIONAL") && !begins_column(&tokens[..last]) =>
        {
            tokens.pop();
        }
        Keyword::VARYING if is_word_at(tokens, last, "NCHAR") => {
            tokens[last].token = Token::make_keyword("CHARACTER");
        }
        _ => {}
    }
}

/// Whether what follows is the name of a column, which may be `national`, of type `character`.
fn begins_column(before: &[TokenWithSpan]) -> bool {
    before.last().is_none_or(|token| {
        matches!(token.token, Token::LParen | Token::Comma)
            || matches!(keyword_of(Some(token)), Keyword::ADD | Keyword::COLUMN)
    })
}
