//! Operators that the tokenizer cuts apart: `-|-`, which ranges have, and distances of pg_trgm. Called by `tokens`, which gives it what it
//! reads.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The longest first.
const OPERATORS: [&str; 3] = ["<<<->", "<<->", "-|-"];

/// Joins the pieces of the operators.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if matches!(
            tokens[at].token,
            Token::Minus | Token::ShiftLeft | Token::CustomBinaryOperator(_)
        ) {
            let found = OPERATORS
                .iter()
                .map(|operator| (operator, pieces(&tokens[at..], operator)));
            if let Some((operator, count)) = found.into_iter().find(|(_, count)| *count > 1) {
                tokens[at].token = Token::CustomBinaryOperator(operator.to_string());
                tokens.drain(at + 1..at + count);
            }
        }
        at += 1;
    }
}

/// How many tokens, with nothing between them, are the operator; 0: they are another one.
fn pieces(tokens: &[TokenWithSpan], operator: &str) -> usize {
    let mut text = String::new();
    for (count, token) in (1..).zip(tokens.iter().take(operator.len())) {
        let touches = count == 1 || tokens[count - 2].span.end == token.span.start;
        if !touches {
            return 0;
        }
        text.push_str(&token.token.to_string());
        if text == operator {
            return count;
        }
        if !operator.starts_with(&text) {
            return 0;
        }
    }
    0
}
