//! `-|-`, which ranges have: the tokenizer cuts it apart. Called by `tokens`, which gives it what it reads.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The operator.
const ADJACENT: &str = "-|-";

/// Joins the pieces of the operator.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let count = pieces(&tokens[at..]);
        if count > 0 {
            tokens[at].token = Token::CustomBinaryOperator(ADJACENT.to_string());
            tokens.drain(at + 1..at + count);
        }
        at += 1;
    }
}

/// How many tokens, with nothing between them, are the operator; 0: they are another one.
fn pieces(tokens: &[TokenWithSpan]) -> usize {
    let mut text = String::new();
    for (count, token) in (1..).zip(tokens.iter().take(ADJACENT.len())) {
        let touches = count == 1 || tokens[count - 2].span.end == token.span.start;
        match &token.token {
            _ if !touches => return 0,
            Token::Minus => text.push('-'),
            Token::Pipe => text.push('|'),
            Token::CustomBinaryOperator(operator) => text.push_str(operator),
            _ => return 0,
        }
        if text == ADJACENT {
            return count;
        }
        if !ADJACENT.starts_with(&text) {
            return 0;
        }
    }
    0
}
