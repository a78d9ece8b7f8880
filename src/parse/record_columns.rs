//! `FROM f(x) AS (a int, b text)`: the parser wants a name behind AS. Called by `tokens`, which gives it what it reads: the function
//! with its own name.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Names the functions whose columns a list behind AS defines.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at + 3 < tokens.len() {
        if let Some(name) = unnamed(tokens, at) {
            let span = tokens[at].span;
            tokens.insert(at + 1, TokenWithSpan { token: name, span });
        }
        at += 1;
    }
}

/// The name of the function, where an AS at a place has a list of columns and types behind it and a call before.
fn unnamed(tokens: &[TokenWithSpan], at: usize) -> Option<Token> {
    let is_as = keyword(tokens, at) == Keyword::AS && tokens[at - 1].token == Token::RParen;
    if !is_as || tokens[at + 1].token != Token::LParen {
        return None;
    }
    let begins_query = matches!(
        keyword(tokens, at + 2),
        Keyword::SELECT
            | Keyword::WITH
            | Keyword::VALUES
            | Keyword::TABLE
            | Keyword::INSERT
            | Keyword::UPDATE
            | Keyword::DELETE
            | Keyword::MERGE
    );
    let is_word = |at: usize| matches!(tokens[at].token, Token::Word(_));
    if begins_query || !is_word(at + 2) || !is_word(at + 3) {
        return None;
    }
    let mut depth = 0_usize;
    for before in (0..at).rev() {
        match tokens[before].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let name = before.checked_sub(1).map(|at| &tokens[at].token);
            return name.filter(|name| matches!(name, Token::Word(_))).cloned();
        }
    }
    None
}

fn keyword(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
