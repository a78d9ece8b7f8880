//! `PRIMARY KEY (…) INCLUDE (…)` and `UNIQUE (…) INCLUDE (…)` of tables, which the parser does not read: it is written as an option that
//! another dialect has there, a comment, which begins as no text of anybody's.

use sqlparser::ast::IndexOption;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::exclusion;
use super::token_reader::is_word_at;
use crate::{Error, Result};

/// What stands before each name. No text holds this character.
const MARK: char = '\0';

/// Brings INCLUDE of constraints into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 2;
    while at < tokens.len() {
        if is_word_at(tokens, at, "INCLUDE")
            && is_behind_key(tokens, at)
            && let Some((names, end)) = names(tokens, at + 1)
        {
            let span = tokens[at].span;
            let comment = [Token::make_keyword("COMMENT"), Token::SingleQuotedString(names)];
            tokens.splice(at..end, comment.map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
}

/// The columns that a key includes, in what the parser takes for its options. Errors: 42601 for options that it has.
pub(crate) fn included(options: &[IndexOption]) -> Result<Vec<String>> {
    let mut included = Vec::new();
    for option in options {
        match option {
            option if exclusion::is_mark(option) => {}
            IndexOption::Comment(names) if names.starts_with(MARK) => {
                included.extend(names.split(MARK).skip(1).map(str::to_string));
            }
            other => {
                let written = other.to_string();
                let first = written.split_whitespace().next().unwrap_or_default();
                return Err(Error::Syntax {
                    message: format!("syntax error at or near \"{first}\""),
                    position: 0,
                });
            }
        }
    }
    Ok(included)
}

/// The options of a key that includes these columns.
pub(crate) fn including(names: &[String]) -> Vec<IndexOption> {
    if names.is_empty() {
        return Vec::new();
    }
    let marked = names.iter().map(|name| format!("{MARK}{name}"));
    vec![IndexOption::Comment(marked.collect())]
}

/// Whether the parentheses that close before this token are those of a key's columns.
fn is_behind_key(tokens: &[TokenWithSpan], at: usize) -> bool {
    if tokens[at - 1].token != Token::RParen {
        return false;
    }
    let mut depth = 0usize;
    let open = (0..at).rev().find(|place| {
        match tokens[*place].token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let before = open.and_then(|open| open.checked_sub(1));
    before.is_some_and(|before| {
        ["KEY", "UNIQUE", "DISTINCT"]
            .iter()
            .any(|word| is_word_at(tokens, before, word))
    })
}

/// The names in the parentheses that open at this token, each behind the mark, and the place behind them.
fn names(tokens: &[TokenWithSpan], open: usize) -> Option<(String, usize)> {
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let (mut names, mut at) = (String::new(), open + 1);
    loop {
        let Token::Word(word) = &tokens.get(at)?.token else {
            return None;
        };
        names.push(MARK);
        match word.quote_style {
            Some(_) => names.push_str(&word.value),
            None => names.push_str(&word.value.to_ascii_lowercase()),
        }
        match tokens.get(at + 1)?.token {
            Token::Comma => at += 2,
            Token::RParen => return Some((names, at + 2)),
            _ => return None,
        }
    }
}
