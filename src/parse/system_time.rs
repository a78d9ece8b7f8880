//! Moments of the past that a query reads at: what the parser has no tree of, made into what it takes. Called by `tokens`.
//!
//! ```text
//! FROM t, u AS OF SYSTEM TIME '-10m' WHERE …     =>  FROM t, u WHERE …, and the moment is noted for all tables
//! FROM t FOR SYSTEM_TIME BETWEEN a AND b          =>  FROM t FOR SYSTEM_TIME AS OF NULL BETWEEN a AND b
//! FROM t FOR SYSTEM_TIME FROM a TO b              =>  FROM t FOR SYSTEM_TIME AS OF TRUE BETWEEN a AND b
//! FROM t AS x FOR SYSTEM_TIME AS OF a             =>  FROM t FOR SYSTEM_TIME AS OF a AS x
//! ```
//!
//! `FOR SYSTEM_TIME AS OF a` the parser knows, in the dialect that [`dialect_of`] chooses. It reads an alias behind the clause and
//! prints it before, so that what is stored of a query is read here as well ([`respell`]).

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::{KEYSPAN, KeyspanDialect, WITH_SYSTEM_TIME};
use super::hints::Hints;
use super::syntax_error;
use super::token_reader::{is_word_at, opening};
use crate::Result;

/// Words that stand before the name of a table: what follows them is no alias.
const BEFORE_TABLES: [&str; 9] = [
    "FROM", "JOIN", "ONLY", "LATERAL", "USING", "UPDATE", "INTO", "TABLE", "VIEW",
];

/// Settles all of a statement. Errors: 42601, also for a second AS OF SYSTEM TIME.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>, text: &str, hints: &mut Hints) -> Result<()> {
    let mut at = 0;
    while at < tokens.len() {
        if is_statements_clause(tokens, at) {
            if hints.as_of.is_some() {
                return Err(syntax_error::near(&tokens[at], text));
            }
            hints.as_of = Some(Box::new(take_moment(tokens, at, text)?));
        }
        at += 1;
    }
    respell(tokens);
    Ok(())
}

/// Spells what stands behind tables as the parser reads it. What it has spelt stays as it is.
pub(super) fn respell(tokens: &mut Vec<TokenWithSpan>) {
    for at in 0..tokens.len() {
        if is_tables_clause(tokens, at) {
            spell_period(tokens, at + 2);
            move_alias(tokens, at);
        }
    }
}

/// The dialect that reads these tokens: whether a table is read at a moment of its own.
pub(super) fn dialect_of(tokens: &[TokenWithSpan]) -> &'static KeyspanDialect {
    match (0..tokens.len()).any(|at| is_tables_clause(tokens, at)) {
        true => &WITH_SYSTEM_TIME,
        false => &KEYSPAN,
    }
}

/// Whether FOR SYSTEM_TIME stands here.
fn is_tables_clause(tokens: &[TokenWithSpan], at: usize) -> bool {
    is_word_at(tokens, at, "FOR") && is_word_at(tokens, at + 1, "SYSTEM_TIME")
}

/// Whether AS OF SYSTEM TIME stands here.
fn is_statements_clause(tokens: &[TokenWithSpan], at: usize) -> bool {
    let words = ["AS", "OF", "SYSTEM", "TIME"];
    let mut places = words.iter().zip(at..);
    places.all(|(word, at)| is_word_at(tokens, at, word))
}

/// Takes AS OF SYSTEM TIME and the expression behind it out of the tokens. Errors: 42601.
fn take_moment(tokens: &mut Vec<TokenWithSpan>, at: usize, text: &str) -> Result<Expr> {
    let rest = tokens.split_off(at + 4);
    tokens.truncate(at);
    let mut parser = Parser::new(&KEYSPAN).with_tokens_with_locations(rest.clone());
    let moment = parser
        .parse_expr()
        .map_err(|error| syntax_error::of_parser(error, text))?;
    let taken = parser.index().min(rest.len());
    tokens.extend(rest.into_iter().skip(taken));
    Ok(moment)
}

/// Puts an alias that stands before FOR SYSTEM_TIME AS OF, which is at `clause`, behind its moment.
fn move_alias(tokens: &mut [TokenWithSpan], clause: usize) {
    let Some(begin) = alias_before(&tokens[..clause]) else {
        return;
    };
    let moment = clause + 4;
    let Some(rest) = tokens.get(moment..) else {
        return;
    };
    let mut parser = Parser::new(&KEYSPAN).with_tokens_with_locations(rest.to_vec());
    // What is no expression the parser says of the statement.
    if parser.parse_expr().is_ok() {
        let end = moment + parser.index().min(rest.len());
        tokens[begin..end].rotate_left(clause - begin);
    }
}

/// Where the alias of a table begins that these tokens end with: `t AS x`, `t x`, `t x (a, b)`.
fn alias_before(tokens: &[TokenWithSpan]) -> Option<usize> {
    let name = match tokens.last()?.token {
        Token::RParen => opening(tokens)?.checked_sub(1)?,
        _ => tokens.len() - 1,
    };
    let before = name.checked_sub(1)?;
    if !matches!(tokens[name].token, Token::Word(_)) {
        return None;
    }
    if is_word_at(tokens, before, "AS") {
        return Some(before);
    }
    let is_behind_name = matches!(tokens[before].token, Token::Word(_) | Token::Mul)
        && !BEFORE_TABLES.iter().any(|word| is_word_at(tokens, before, word));
    is_behind_name.then_some(name)
}

/// Spells a period as a comparison with it. `at`: what stands behind SYSTEM_TIME.
fn spell_period(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let Some(span) = tokens.get(at).map(|token| token.span) else {
        return;
    };
    let word = |keyword: &str| TokenWithSpan {
        token: Token::make_keyword(keyword),
        span,
    };
    if is_word_at(tokens, at, "BETWEEN") {
        tokens.splice(at..at, [word("AS"), word("OF"), word("NULL")]);
    } else if is_word_at(tokens, at, "FROM") {
        let is_end =
            |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::TO);
        let Some(to) = (at..tokens.len()).find(|at| is_end(&tokens[*at])) else {
            return;
        };
        tokens[to] = TokenWithSpan {
            token: Token::make_keyword("AND"),
            span: tokens[to].span,
        };
        let spelt = ["AS", "OF", "TRUE", "BETWEEN"].map(word);
        tokens.splice(at..=at, spelt);
    }
}
