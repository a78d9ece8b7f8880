//! Words of INSERT and MERGE that the parser has no tree of: [`take_overriding`] and [`take_merge`] make names of columns of
//! them that no column can have, for they begin with a zero byte; [`split`] and [`is_nothing`] read them. Called by `tokens`, and by `sql::dml`.
//!
//! ```text
//! INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (1)   =>  INSERT INTO t ("\0SYSTEM", a) VALUES (1)
//! WHEN NOT MATCHED THEN INSERT DEFAULT VALUES            =>  … THEN INSERT ("\0DEFAULT") VALUES (0)
//! WHEN NOT MATCHED THEN DO NOTHING                       =>  … THEN INSERT ("\0NOTHING") VALUES (0)
//! WHEN MATCHED THEN DO NOTHING                           =>  … THEN UPDATE SET "\0NOTHING" = 0
//! ```

use sqlparser::ast::{AssignmentTarget, MergeAction, ObjectName};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::syntax_error;
use super::token_reader::{is_word_at, opening};
use crate::Result;

const SYSTEM: &str = "\0SYSTEM";
const USER: &str = "\0USER";
const DEFAULT: &str = "\0DEFAULT";
const NOTHING: &str = "\0NOTHING";

/// Whose values an identity column gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Overriding {
    /// The statement's where the column lets it.
    #[default]
    Unsaid,
    /// OVERRIDING SYSTEM VALUE: the statement's, also where the column is GENERATED ALWAYS.
    System,
    /// OVERRIDING USER VALUE: the sequence's, whatever the statement gives.
    User,
}

/// The list of columns of an INSERT, read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InsertColumns<'a> {
    /// The columns named; none: all.
    pub(crate) named: &'a [ObjectName],
    pub(crate) overriding: Overriding,
    /// DEFAULT VALUES of MERGE.
    pub(crate) defaults: bool,
}

/// Reads the list of columns of an INSERT.
pub(crate) fn split(columns: &[ObjectName]) -> InsertColumns<'_> {
    let mut read = InsertColumns {
        named: columns,
        overriding: Overriding::Unsaid,
        defaults: false,
    };
    while let [first, rest @ ..] = read.named {
        match mark_of(first) {
            Some(SYSTEM) => read.overriding = Overriding::System,
            Some(USER) => read.overriding = Overriding::User,
            Some(DEFAULT) => read.defaults = true,
            _ => return read,
        }
        read.named = rest;
    }
    read
}

/// Whether what a clause of MERGE does is DO NOTHING.
pub(crate) fn is_nothing(action: &MergeAction) -> bool {
    let name = match action {
        MergeAction::Insert(insert) => insert.columns.first(),
        MergeAction::Update(update) => match update.assignments.first().map(|first| &first.target) {
            Some(AssignmentTarget::ColumnName(name)) => Some(name),
            _ => None,
        },
        MergeAction::Delete { .. } => None,
    };
    name.and_then(mark_of) == Some(NOTHING)
}

fn mark_of(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [part] => part
            .as_ident()
            .map(|ident| ident.value.as_str())
            .filter(|name| name.starts_with('\0')),
        _ => None,
    }
}

/// Brings OVERRIDING into the parser's form.
pub(super) fn take_overriding(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at < tokens.len() {
        let mark = match () {
            () if !is_word_at(tokens, at, "OVERRIDING") || !is_word_at(tokens, at + 2, "VALUE") => None,
            () if is_word_at(tokens, at + 1, "SYSTEM") => Some(SYSTEM),
            () if is_word_at(tokens, at + 1, "USER") => Some(USER),
            () => None,
        };
        if let Some(mark) = mark {
            let span = tokens[at].span;
            tokens.drain(at..at + 3);
            lead_columns(tokens, at, mark, span);
        }
        at += 1;
    }
}

/// Brings DO NOTHING and DEFAULT VALUES of the clauses of MERGE into the parser's form. `text`: the message. Errors: 42601 for a clause
/// that does what it cannot.
pub(super) fn take_merge(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let mut at = 1;
    while at < tokens.len() {
        let span = tokens[at].span;
        if is_word_at(tokens, at - 1, "THEN") {
            check_verb(tokens, at, text)?;
        }
        let does_nothing = is_word_at(tokens, at, "DO")
            && is_word_at(tokens, at + 1, "NOTHING")
            && is_word_at(tokens, at - 1, "THEN");
        if does_nothing {
            let made = match may_insert(&tokens[..at]) == Some(true) {
                true => spelt(&["INSERT", "(", NOTHING, ")", "VALUES", "(", "0", ")"], span),
                false => spelt(&["UPDATE", "SET", NOTHING, "=", "0"], span),
            };
            tokens.splice(at..at + 2, made);
        } else if is_word_at(tokens, at, "DEFAULT")
            && is_word_at(tokens, at + 1, "VALUES")
            && is_word_at(tokens, at - 1, "INSERT")
        {
            tokens.splice(
                at..at + 2,
                spelt(&["(", DEFAULT, ")", "VALUES", "(", "0", ")"], span),
            );
        }
        at += 1;
    }
    Ok(())
}

/// Errors: 42601 for INSERT of rows that are there, UPDATE and DELETE of rows that are not.
fn check_verb(tokens: &[TokenWithSpan], at: usize, text: &str) -> Result<()> {
    let is = |verb: &str| is_word_at(tokens, at, verb);
    let cannot = match may_insert(&tokens[..at]) {
        Some(true) => is("UPDATE") || is("DELETE"),
        Some(false) => is("INSERT"),
        None => false,
    };
    match cannot {
        true => Err(syntax_error::near(&tokens[at], text)),
        false => Ok(()),
    }
}

/// Whether the clause of MERGE that the tokens end with is one of rows that the target has not; `None`: THEN is another's.
fn may_insert(tokens: &[TokenWithSpan]) -> Option<bool> {
    let mut places = (1..tokens.len()).rev();
    let at = places.find(|at| is_word_at(tokens, *at, "MATCHED") || is_word_at(tokens, *at, "CASE"))?;
    if is_word_at(tokens, at, "CASE") && !(at..tokens.len()).any(|at| is_word_at(tokens, at, "END")) {
        return None;
    }
    let at = (1..=at).rev().find(|at| is_word_at(tokens, *at, "MATCHED"))?;
    let by_source = is_word_at(tokens, at + 1, "BY") && is_word_at(tokens, at + 2, "SOURCE");
    Some(is_word_at(tokens, at - 1, "NOT") && !by_source)
}

/// Puts a name before those of the list that ends before `at`, or makes a list of it.
fn lead_columns(tokens: &mut Vec<TokenWithSpan>, at: usize, mark: &str, span: Span) {
    let has_list = tokens[at - 1].token == Token::RParen;
    match opening(&tokens[..at]).filter(|_| has_list) {
        Some(open) => tokens.splice(open + 1..open + 1, spelt(&[mark, ","], span)),
        None => tokens.splice(at..at, spelt(&["(", mark, ")"], span)),
    };
}

fn spelt(words: &[&str], span: Span) -> Vec<TokenWithSpan> {
    let token = |word: &&str| match *word {
        "(" => Token::LParen,
        ")" => Token::RParen,
        "," => Token::Comma,
        "=" => Token::Eq,
        "0" => Token::Number("0".to_string(), false),
        mark if mark.starts_with('\0') => Token::make_word(mark, Some('"')),
        word => Token::make_keyword(word),
    };
    let tokens = words.iter().map(token);
    tokens.map(|token| TokenWithSpan { token, span }).collect()
}
