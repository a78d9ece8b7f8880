//! Forms of FROM that the parser has no tree of: both become names that no relation has, for they begin with a character that no name
//! has. Written by `tokens`, read by `query`; a tree that is written as text and read again says the same.
//!
//! ```text
//! FROM ROWS FROM (f(1), g(2)) AS x   =>  FROM "\3rows from"(f(1), g(2)) AS x
//! a JOIN b USING (id) AS j           =>  a JOIN b USING (id, "\3j")
//! ```

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::group_distinct;
use super::token_reader::{closing, is_word_at, keyword_of};
use crate::{Error, Result};

/// What stands before the names; that of SEARCH and CYCLE, which stand behind FROM too, is another.
const MARK: char = '\u{3}';

/// The name that stands for ROWS FROM.
const ROWS_FROM: &str = "\u{3}rows from";

/// Whether a function of FROM is ROWS FROM of its arguments.
pub(crate) fn is_rows_from(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| name.value == ROWS_FROM))
}

/// The columns of USING, and the name of what they are joined to.
pub(crate) fn split_using(columns: &[ObjectName]) -> (&[ObjectName], Option<&str>) {
    match columns.split_last() {
        Some((last, named)) if joined_name(last).is_some() => (named, joined_name(last)),
        _ => (columns, None),
    }
}

/// A text that was made of a tree, with the forms as SQL has them.
pub(crate) fn spelt_out(text: &str) -> String {
    let text = group_distinct::spelt_out(text).replace(&format!("\"{ROWS_FROM}\"("), "ROWS FROM (");
    let begin = format!(", \"{MARK}");
    let mut spelt = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once(&begin) {
        let Some((name, after)) = behind.split_once("\")") else {
            break;
        };
        spelt.push_str(before);
        spelt.push_str(&format!(") AS \"{name}\""));
        rest = after;
    }
    spelt + rest
}

fn joined_name(name: &ObjectName) -> Option<&str> {
    let [part] = name.0.as_slice() else { return None };
    part.as_ident()?.value.strip_prefix(MARK)
}

/// Brings the forms into the parser's. Errors: 0A000 for a function of ROWS FROM whose columns are defined there.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut at = 1;
    while at < tokens.len() {
        match keyword_of(tokens.get(at)) {
            Keyword::ROWS if begins_rows_from(tokens, at) => take_rows_from(tokens, at)?,
            Keyword::USING => take_using(tokens, at),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn begins_rows_from(tokens: &[TokenWithSpan], at: usize) -> bool {
    let opens = tokens.get(at + 2).is_some_and(|next| next.token == Token::LParen);
    let before = keyword_of(tokens.get(at - 1));
    keyword_of(tokens.get(at + 1)) == Keyword::FROM
        && opens
        && (tokens[at - 1].token == Token::Comma
            || matches!(
                before,
                Keyword::FROM | Keyword::JOIN | Keyword::LATERAL | Keyword::USING
            ))
}

fn take_rows_from(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Result<()> {
    let end = closing(tokens, at + 2).unwrap_or(tokens.len());
    let defines = |place: usize| {
        tokens[place].token == Token::RParen
            && is_word_at(tokens, place + 1, "AS")
            && tokens
                .get(place + 2)
                .is_some_and(|next| next.token == Token::LParen)
    };
    if (at + 3..end).any(defines) {
        return Err(Error::unsupported(
            "a column definition list within ROWS FROM",
            Some("Write the function as a FROM item of its own: FROM f(…) AS x(a int)."),
        ));
    }
    let span = tokens[at].span;
    let token = Token::make_word(ROWS_FROM, Some('"'));
    tokens.splice(at..at + 2, [TokenWithSpan { token, span }]);
    Ok(())
}

/// `USING (a, b) AS j`.
fn take_using(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let opens = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
    let Some(close) = closing(tokens, at + 1).filter(|_| opens) else {
        return;
    };
    let mut named = tokens[at + 2..close].iter().enumerate();
    let are_names = named.all(|(place, token)| match &token.token {
        Token::Word(_) => place % 2 == 0,
        Token::Comma => place % 2 == 1,
        _ => false,
    });
    let Some(Token::Word(alias)) = tokens.get(close + 2).map(|token| &token.token) else {
        return;
    };
    // AS OF SYSTEM TIME is the time of the whole query.
    let is_time = is_word_at(tokens, close + 2, "OF") && is_word_at(tokens, close + 3, "SYSTEM");
    if !are_names || is_time || close == at + 2 || !is_word_at(tokens, close + 1, "AS") {
        return;
    }
    let alias = match alias.quote_style {
        Some(_) => alias.value.clone(),
        None => alias.value.to_lowercase(),
    };
    let span = tokens[close].span;
    let made = [
        Token::Comma,
        Token::make_word(&format!("{MARK}{alias}"), Some('"')),
        Token::RParen,
    ];
    let made = made.map(|token| TokenWithSpan { token, span });
    tokens.splice(close..close + 3, made);
}
