//! An element of ROLLUP, CUBE or GROUPING SETS that begins with a parenthesis, which the parser takes for that of several keys: `ROLLUP
//! ((SELECT 1), (a)::text)` becomes `ROLLUP (((SELECT 1)), ((a)::text))`. Called by `tokens`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, keyword_of};

/// Whether a keyword may begin such lists.
pub(super) fn is_begin(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS)
}

/// Puts parentheses around those that are one key.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_begin(keyword_of(tokens.get(at)))
            && tokens
                .get(at + 1)
                .is_some_and(|token| token.token == Token::LParen)
            && let Some(close) = closing(tokens, at + 1)
        {
            take_in(tokens, at + 2, close);
        }
        at += 1;
    }
}

/// The same of a list of items.
fn take_in(tokens: &mut Vec<TokenWithSpan>, from: usize, until: usize) {
    let (mut from, mut until) = (from, until);
    while from < until {
        let end = end_of_item(tokens, from, until);
        let is_query = matches!(
            keyword_of(tokens.get(from + 1)),
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES
        );
        let goes_on = || closing(tokens, from).is_some_and(|close| close + 1 < end);
        let is_wrapped = tokens[from].token == Token::LParen && (is_query || goes_on());
        if is_wrapped {
            let span = tokens[from].span;
            let around = |token| TokenWithSpan { token, span };
            tokens.insert(end, around(Token::RParen));
            tokens.insert(from, around(Token::LParen));
            until += 2;
        }
        from = end + 1 + 2 * usize::from(is_wrapped);
    }
}

/// Where the item ends that begins there.
fn end_of_item(tokens: &[TokenWithSpan], from: usize, until: usize) -> usize {
    let mut at = from;
    while at < until && tokens[at].token != Token::Comma {
        at = match tokens[at].token {
            Token::LParen => closing(tokens, at).map_or(until, |close| close + 1),
            _ => at + 1,
        };
    }
    at.min(until)
}
