//! `EXCLUDE USING gist (room WITH =, during WITH &&) WHERE (…)`, which the parser does not read: it becomes a UNIQUE whose last part is the
//! condition, and an option that another dialect has there, a comment that begins as no text of anybody's, says what it really is.
//!
//! ```text
//! EXCLUDE USING gist (a WITH =, r WITH &&) WHERE (a > 0)  =>  UNIQUE (a, r, (a > 0)) COMMENT '\0\0gist\0where\0=\0&&'
//! ```

use sqlparser::ast::{Expr, IndexColumn, IndexOption, UniqueConstraint};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, is_word_at};

/// What stands before each of its parts, and once more before all: names, which `key_includes` marks so, are not empty. No text holds this
/// character.
const MARK: char = '\0';
/// It has a condition, or none.
const CONDITION: [&str; 2] = ["", "where"];

/// An exclusion constraint as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenExclusion {
    /// The access method, in lower case; none: btree.
    pub(crate) method: String,
    /// What is compared, and the operator of each as written.
    pub(crate) parts: Vec<(IndexColumn, String)>,
    /// WHERE.
    pub(crate) condition: Option<Expr>,
}

/// Brings exclusion constraints into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 2;
    while at < tokens.len() {
        if is_word_at(tokens, at, "EXCLUDE") && begins_constraint(tokens, at) {
            take_one(tokens, at);
        }
        at += 1;
    }
}

/// What a UNIQUE really is; `None`: it is one.
pub(crate) fn written_exclusion(unique: &UniqueConstraint) -> Option<WrittenExclusion> {
    let marked = unique.index_options.iter().find_map(marks)?;
    let mut marked = marked.split(MARK).skip(2);
    let (method, condition) = (marked.next()?, marked.next()?);
    let mut columns = unique.columns.clone();
    let condition = match condition.is_empty() {
        true => None,
        false => columns.pop().map(|part| part.column.expr),
    };
    Some(WrittenExclusion {
        method: method.to_string(),
        parts: columns.into_iter().zip(marked.map(str::to_string)).collect(),
        condition,
    })
}

/// Whether an option is what an exclusion constraint is told by.
pub(super) fn is_mark(option: &IndexOption) -> bool {
    marks(option).is_some()
}

fn marks(option: &IndexOption) -> Option<&str> {
    match option {
        IndexOption::Comment(text) if text.strip_prefix(MARK).is_some_and(|text| text.starts_with(MARK)) => {
            Some(text)
        }
        _ => None,
    }
}

/// A column may have this name, too.
fn begins_constraint(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_behind = match &tokens[at - 1].token {
        Token::Comma | Token::LParen => true,
        Token::Word(_) => is_word_at(tokens, at - 1, "ADD") || is_word_at(tokens, at - 2, "CONSTRAINT"),
        _ => false,
    };
    let opens = |at: usize| tokens.get(at).is_some_and(|token| token.token == Token::LParen);
    is_behind && (opens(at + 1) || is_word_at(tokens, at + 1, "USING") && opens(at + 3))
}

/// The constraint that begins at this word. What is no such constraint stays as it is: the parser says what is wrong.
fn take_one(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let open = if is_word_at(tokens, at + 1, "USING") {
        at + 3
    } else {
        at + 1
    };
    let Some(close) = closing(tokens, open) else {
        return;
    };
    let Some(operators) = operators(tokens, open, close) else {
        return;
    };
    let method = match &tokens[open - 1].token {
        Token::Word(word) if open == at + 3 => word.value.to_lowercase(),
        _ => "btree".to_string(),
    };
    let span = tokens[at].span;
    let spanned = |token| TokenWithSpan { token, span };
    let condition = condition(tokens, close);
    let mut marks = format!(
        "{MARK}{MARK}{method}{MARK}{}",
        CONDITION[usize::from(condition.is_some())]
    );
    for (_, operator) in &operators {
        marks.push(MARK);
        marks.push_str(operator);
    }
    // From behind, so that the places before stay.
    let condition = condition.map(|(word, end)| tokens.drain(word..end).skip(1).collect::<Vec<_>>());
    let comment = [Token::make_keyword("COMMENT"), Token::SingleQuotedString(marks)];
    tokens.splice(close + 1..close + 1, comment.map(spanned));
    if let Some(condition) = condition {
        let part = std::iter::once(spanned(Token::Comma)).chain(condition);
        tokens.splice(close..close, part);
    }
    for (operator, _) in operators.into_iter().rev() {
        tokens.drain(operator);
    }
    let unique = Token::make_keyword("UNIQUE");
    tokens.splice(at..open, [spanned(unique)]);
}

/// Where `WITH operator` of each part stands, and the operator.
fn operators(
    tokens: &[TokenWithSpan],
    open: usize,
    close: usize,
) -> Option<Vec<(std::ops::Range<usize>, String)>> {
    let (mut depth, mut with) = (0usize, None);
    let mut found = Vec::new();
    for at in open + 1..=close {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if at < close => depth -= 1,
            Token::Comma | Token::RParen if depth == 0 => {
                let from: usize = with.take()?;
                let operator: String = tokens[from + 1..at]
                    .iter()
                    .map(|token| token.token.to_string())
                    .collect();
                found.push((from..at, operator));
            }
            _ if depth == 0 && is_word_at(tokens, at, "WITH") => with = Some(at),
            _ => {}
        }
    }
    Some(found)
}

/// From where to where `WHERE (…)` of the constraint stands, whose parentheses close at `close`.
fn condition(tokens: &[TokenWithSpan], close: usize) -> Option<(usize, usize)> {
    let mut at = close + 1;
    while is_word_at(tokens, at, "INCLUDE") || is_word_at(tokens, at, "WITH") {
        at = closing(tokens, at + 1)? + 1;
    }
    (is_word_at(tokens, at, "WHERE")).then_some(())?;
    Some((at, closing(tokens, at + 1)? + 1))
}
