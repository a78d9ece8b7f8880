//! `ON DELETE SET NULL (column, …)` and `SET DEFAULT (column, …)` of foreign keys, which the parser does not read: the columns become names
//! of columns that are referred to, behind a character that no name has. Written by `constraint_words`, read by `sql::ddl`.
//!
//! ```text
//! REFERENCES t ON DELETE SET NULL (a)     =>  REFERENCES t ("\0a") ON DELETE SET NULL
//! REFERENCES t (x) ON DELETE SET NULL (a) =>  REFERENCES t (x, "\0a") ON DELETE SET NULL
//! ```

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, is_word_at};
use crate::error::StatementFault;
use crate::{Error, Result};

/// What stands before the name of such a column.
const MARK: char = '\0';

/// The columns that are referred to, and the names, folded, of those that are set.
pub(crate) fn split(referred: &[Ident]) -> (Vec<Ident>, Vec<String>) {
    let (set, referred): (Vec<Ident>, Vec<Ident>) = referred
        .iter()
        .cloned()
        .partition(|name| name.value.starts_with(MARK));
    let set = set.iter().map(|name| name.value[MARK.len_utf8()..].to_string());
    (referred, set.collect())
}

/// A column that is set, as it stands among those that are referred to.
pub(crate) fn marked(name: &Ident) -> Ident {
    Ident::with_quote('"', format!("{MARK}{}", name.value))
}

/// Brings the list of columns behind this SET, if there is one, into the parser's form. Errors: 0A000 for one behind ON UPDATE.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Result<()> {
    let is = |at: usize, word: &str| is_word_at(tokens, at, word);
    let value = ["NULL", "DEFAULT"].into_iter().find(|value| is(at + 1, value));
    let Some(value) = value.filter(|_| is(at, "SET") && at >= 2 && is(at - 2, "ON")) else {
        return Ok(());
    };
    if tokens
        .get(at + 2)
        .is_none_or(|token| token.token != Token::LParen)
    {
        return Ok(());
    }
    if is(at - 1, "UPDATE") {
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!("a column list with SET {value} is only supported for ON DELETE actions"),
            hint: None,
        });
    }
    let (Some(close), Some(target)) = (closing(tokens, at + 2), referred_end(tokens, at)) else {
        return Ok(());
    };
    if !is(at - 1, "DELETE") {
        return Ok(());
    }
    let listed: Vec<TokenWithSpan> = tokens.drain(at + 2..=close).collect();
    let mut names = Vec::new();
    for token in &listed[1..listed.len() - 1] {
        let name = match &token.token {
            Token::Word(word) if word.quote_style.is_some() => format!("{MARK}{}", word.value),
            Token::Word(word) => format!("{MARK}{}", word.value.to_lowercase()),
            other => {
                names.push(other.clone());
                continue;
            }
        };
        names.push(Token::make_word(&name, Some('"')));
    }
    let span = tokens[at].span;
    let added: Vec<Token> = match tokens[target].token {
        // Before the parenthesis that ends the list.
        Token::RParen => std::iter::once(Token::Comma).chain(names).collect(),
        _ => std::iter::once(Token::LParen)
            .chain(names)
            .chain([Token::RParen])
            .collect(),
    };
    let place = match tokens[target].token {
        Token::RParen => target,
        _ => target + 1,
    };
    let added = added.into_iter().map(|token| TokenWithSpan { token, span });
    tokens.splice(place..place, added);
    Ok(())
}

/// The end of `REFERENCES relation [(columns)]` before a place: the last token of the name, or the closing parenthesis.
fn referred_end(tokens: &[TokenWithSpan], before: usize) -> Option<usize> {
    let references = (0..before)
        .rev()
        .find(|at| is_word_at(tokens, *at, "REFERENCES"))?;
    let mut at = references + 1;
    while tokens
        .get(at + 1)
        .is_some_and(|token| token.token == Token::Period)
    {
        at += 2;
    }
    match tokens.get(at + 1)?.token {
        Token::LParen => closing(tokens, at + 1),
        _ => Some(at),
    }
}
