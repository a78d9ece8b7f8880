//! `CREATE RECURSIVE VIEW v (a) AS query` is `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (query) SELECT a FROM v`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, keyword_of};

/// Spells such a statement as that of a plain view.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let Some(recursive) = place_of_recursive(tokens) else {
        return;
    };
    let span = tokens[recursive].span;
    let made = |token: Token| TokenWithSpan { token, span };
    let word = |text: &str| made(Token::make_keyword(text));
    let opens = |token: &TokenWithSpan| token.token == Token::LParen;
    let Some(open) = tokens.iter().position(opens) else {
        return;
    };
    let close = closing(tokens, open).filter(|at| keyword_of(tokens.get(at + 1)) == Keyword::AS);
    let Some(close) = close else {
        return;
    };
    let name = tokens[open - 1].clone();
    let columns = tokens[open + 1..close].to_vec();
    let (begin, end) = (close + 2, tokens.len());
    let is_end = |token: &TokenWithSpan| matches!(token.token, Token::SemiColon | Token::EOF);
    let end = tokens[begin..]
        .iter()
        .position(is_end)
        .map_or(end, |at| begin + at);
    let select = [made(Token::RParen), word("SELECT")].into_iter();
    let select = select.chain(columns.clone()).chain([word("FROM"), name.clone()]);
    tokens.splice(end..end, select.collect::<Vec<_>>());
    let with = [word("WITH"), word("RECURSIVE"), name, made(Token::LParen)].into_iter();
    let with = with.chain(columns);
    let with = with.chain([made(Token::RParen), word("AS"), made(Token::LParen)]);
    tokens.splice(begin..begin, with.collect::<Vec<_>>());
    tokens.remove(recursive);
}

/// Where RECURSIVE stands in `CREATE [OR REPLACE] [TEMPORARY] RECURSIVE VIEW name`.
fn place_of_recursive(tokens: &[TokenWithSpan]) -> Option<usize> {
    let keyword = |at: usize| keyword_of(tokens.get(at));
    if keyword(0) != Keyword::CREATE {
        return None;
    }
    let mut at = 1;
    if keyword(at) == Keyword::OR && keyword(at + 1) == Keyword::REPLACE {
        at += 2;
    }
    if matches!(keyword(at), Keyword::TEMP | Keyword::TEMPORARY) {
        at += 1;
    }
    (keyword(at) == Keyword::RECURSIVE && keyword(at + 1) == Keyword::VIEW).then_some(at)
}
