//! `ORDER BY x USING >`, which the parser does not read: the order by an operator is the one that it stands for. Called by `tokens`.
//!
//! ```text
//! ORDER BY x USING >     =>  ORDER BY x DESC
//! ORDER BY x USING ~<~   =>  ORDER BY x COLLATE "C" ASC
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::position::character_position;
use super::token_reader::{closing, is_word_at, keyword_of};
use crate::error::{StatementFault, TextPlace};
use crate::{Error, Result};

/// Operators that are no order.
const OTHERS: [&str; 5] = ["=", "<>", "!=", "<=", ">="];

/// Brings the orders into the parser's form. `text`: the message. Errors: 42809 for an operator that is no order.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let mut at = 1;
    while at < tokens.len() {
        if keyword_of(tokens.get(at)) == Keyword::USING
            && let Some((operator, end)) = operator_at(tokens, at + 1)
        {
            let span = tokens[at].span;
            let order: &[Token] = match operator.as_str() {
                "<" => &[Token::make_keyword("ASC")],
                ">" => &[Token::make_keyword("DESC")],
                "~<~" | "~>~" => &[
                    Token::make_keyword("COLLATE"),
                    Token::make_word("C", Some('"')),
                    Token::make_keyword(if operator == "~<~" { "ASC" } else { "DESC" }),
                ],
                other if OTHERS.contains(&other) => {
                    let place = tokens[at + 1].span.start;
                    return Err(Error::At {
                        error: Box::new(no_order(other)),
                        place: TextPlace::Character(character_position(place, text)),
                    });
                }
                _ => return Ok(()),
            };
            let made: Vec<_> = order
                .iter()
                .map(|token| TokenWithSpan {
                    token: token.clone(),
                    span,
                })
                .collect();
            tokens.splice(at..end, made);
        }
        at += 1;
    }
    Ok(())
}

fn no_order(operator: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message: format!("operator {operator} is not a valid ordering operator"),
        hint: Some(
            "Ordering operators must be \"<\" or \">\" members of btree operator families.".to_string(),
        ),
    }
}

/// The operator that stands here, `OPERATOR(schema.op)` too, and where it ends.
fn operator_at(tokens: &[TokenWithSpan], at: usize) -> Option<(String, usize)> {
    if is_word_at(tokens, at, "OPERATOR") {
        let close = closing(tokens, at + 1)?;
        return Some((tokens.get(close - 1)?.token.to_string(), close + 1));
    }
    let is_part = |token: &Token| {
        let text = token.to_string();
        !text.is_empty() && text.chars().all(|c| "<>=~!".contains(c))
    };
    let mut end = at;
    let mut operator = String::new();
    while let Some(next) = tokens.get(end)
        && is_part(&next.token)
        && (end == at || tokens[end - 1].span.end == next.span.start)
    {
        operator.push_str(&next.token.to_string());
        end += 1;
    }
    (end > at).then_some((operator, end))
}
