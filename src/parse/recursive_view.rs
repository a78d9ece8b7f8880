//! `CREATE RECURSIVE VIEW v (a) AS query` is `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (query) SELECT a FROM v`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of such a statement as those of a plain view; others as they are.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some(recursive) = place_of_recursive(&tokens) else {
        return tokens;
    };
    let name = recursive + 2;
    let opening = (name..tokens.len()).find(|at| tokens[*at].token == Token::LParen);
    let Some(opening) = opening else { return tokens };
    let closing = (opening..tokens.len()).find(|at| tokens[*at].token == Token::RParen);
    let Some(closing) = closing.filter(|at| is_keyword(&tokens, at + 1, Keyword::AS)) else {
        return tokens;
    };
    let (called, columns) = (&tokens[opening - 1..=closing], &tokens[opening + 1..closing]);
    let body = &tokens[closing + 2..];
    let end = body
        .iter()
        .position(|token| matches!(token.token, Token::SemiColon | Token::EOF));
    let (body, rest) = body.split_at(end.unwrap_or(body.len()));
    let like = &tokens[recursive];
    let word = |text: &str| TokenWithSpan {
        token: Token::make_keyword(text),
        span: like.span,
    };
    let sign = |token: Token| TokenWithSpan {
        token,
        span: like.span,
    };
    let mut respelled = tokens[..recursive].to_vec();
    respelled.extend_from_slice(&tokens[recursive + 1..closing + 2]);
    respelled.extend([word("WITH"), word("RECURSIVE")]);
    respelled.extend_from_slice(called);
    respelled.extend([word("AS"), sign(Token::LParen)]);
    respelled.extend_from_slice(body);
    respelled.extend([sign(Token::RParen), word("SELECT")]);
    respelled.extend_from_slice(columns);
    respelled.push(word("FROM"));
    respelled.push(tokens[opening - 1].clone());
    respelled.extend_from_slice(rest);
    respelled
}

/// Where RECURSIVE stands in `CREATE [OR REPLACE] [TEMPORARY] RECURSIVE VIEW name`.
fn place_of_recursive(tokens: &[TokenWithSpan]) -> Option<usize> {
    if !is_keyword(tokens, 0, Keyword::CREATE) {
        return None;
    }
    let mut at = 1;
    if is_keyword(tokens, at, Keyword::OR) && is_keyword(tokens, at + 1, Keyword::REPLACE) {
        at += 2;
    }
    if is_keyword(tokens, at, Keyword::TEMP) || is_keyword(tokens, at, Keyword::TEMPORARY) {
        at += 1;
    }
    (is_keyword(tokens, at, Keyword::RECURSIVE) && is_keyword(tokens, at + 1, Keyword::VIEW)).then_some(at)
}

fn is_keyword(tokens: &[TokenWithSpan], at: usize, keyword: Keyword) -> bool {
    let token = tokens.get(at).map(|token| &token.token);
    matches!(token, Some(Token::Word(word)) if word.quote_style.is_none() && word.keyword == keyword)
}
