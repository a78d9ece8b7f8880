//! `CREATE TABLE … PARTITION OF t (column options, …)`: the parser wants types there, which a partition has of its parent. Each column gets
//! one that nobody can write, which `sql::ddl` reads as that of the parent; WITH OPTIONS says nothing.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, is_word_at};

/// The type.
const OF_PARENT: &str = "\0of parent";
/// What begins a constraint of the table.
const CONSTRAINTS: [&str; 6] = ["CONSTRAINT", "CHECK", "PRIMARY", "UNIQUE", "FOREIGN", "EXCLUDE"];

/// Gives the columns of a partition's list their type.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 1 < tokens.len() && !(is_word_at(tokens, at, "PARTITION") && is_word_at(tokens, at + 1, "OF"))
    {
        if tokens[at].token == Token::LParen {
            return;
        }
        at += 1;
    }
    // Behind the name of the parent.
    let mut list = at + 3;
    while tokens.get(list).is_some_and(|token| token.token == Token::Period) {
        list += 2;
    }
    if tokens.get(list).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    let Some(end) = closing(tokens, list) else { return };
    let mut starts = Vec::new();
    let (mut depth, mut begins) = (0_usize, true);
    for (at, token) in tokens.iter().enumerate().take(end).skip(list + 1) {
        if begins && !CONSTRAINTS.iter().any(|word| is_word_at(tokens, at, word)) {
            starts.push(at);
        }
        begins = depth == 0 && token.token == Token::Comma;
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    for at in starts.into_iter().rev() {
        if is_word_at(tokens, at + 1, "WITH") && is_word_at(tokens, at + 2, "OPTIONS") {
            tokens.drain(at + 1..at + 3);
        }
        let span = tokens[at].span;
        tokens.insert(
            at + 1,
            TokenWithSpan::new(Token::make_word(OF_PARENT, Some('"')), span),
        );
    }
}
