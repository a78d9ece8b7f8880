//! Moments of the past that a query reads at: what the parser has no tree of, made into what it takes. Called by `tokens`.
//!
//! ```text
//! FROM t, u AS OF SYSTEM TIME '-10m' WHERE …     =>  FROM t, u WHERE …, and the moment is noted for all tables
//! FROM t FOR SYSTEM_TIME BETWEEN a AND b          =>  FROM t FOR SYSTEM_TIME AS OF NULL BETWEEN a AND b
//! FROM t FOR SYSTEM_TIME FROM a TO b              =>  FROM t FOR SYSTEM_TIME AS OF TRUE BETWEEN a AND b
//! ```
//!
//! `FOR SYSTEM_TIME AS OF a` the parser knows, in the dialect that [`names_system_time`] asks for.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::KEYSPAN;
use super::hints::Hints;
use super::syntax_error;
use super::token_reader::is_word_at;
use crate::Result;

/// Settles all of a statement. Errors: 42601, also for a second AS OF SYSTEM TIME.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>, text: &str, hints: &mut Hints) -> Result<()> {
    let mut at = 0;
    while at < tokens.len() {
        if is_statements_clause(tokens, at) {
            if hints.as_of.is_some() {
                return Err(syntax_error::near(&tokens[at], text));
            }
            hints.as_of = Some(Box::new(take_moment(tokens, at, text)?));
        } else if is_word_at(tokens, at, "FOR") && is_word_at(tokens, at + 1, "SYSTEM_TIME") {
            spell_period(tokens, at + 2);
        }
        at += 1;
    }
    Ok(())
}

/// Whether a table of the statement is read at a moment of its own.
pub(super) fn names_system_time(tokens: &[TokenWithSpan]) -> bool {
    (1..tokens.len()).any(|at| is_word_at(tokens, at - 1, "FOR") && is_word_at(tokens, at, "SYSTEM_TIME"))
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
