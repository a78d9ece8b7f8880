//! `f(VARIADIC name => array)`: the parser wants VARIADIC behind the name. Called by `tokens`, of every token that it takes.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::keyword_of;

/// Puts a VARIADIC before the name of an argument behind it, when the token is what stands between that and its value.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, token: &mut TokenWithSpan) {
    let Some(place) = tokens.len().checked_sub(2) else {
        return;
    };
    let is_named = matches!(token.token, Token::RArrow | Token::Assignment)
        && matches!(tokens[place + 1].token, Token::Word(_));
    if is_named && keyword_of(tokens.get(place)) == Keyword::VARIADIC {
        let variadic = tokens.remove(place);
        tokens.push(std::mem::replace(token, variadic));
    }
}
