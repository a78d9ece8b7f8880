//! `OPERATOR(schema.op)`, which the parser reads between two operands alone: elsewhere it becomes the operator. Called by `tokens`, a
//! token after the other.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::keyword_of;

/// Turns the `OPERATOR(schema.op)` taken last into `op`, where the parser does not read it before `next`.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, next: &TokenWithSpan) {
    if tokens.last().is_none_or(|last| last.token != Token::RParen) {
        return;
    }
    let begins = |at: &usize| {
        tokens
            .get(*at)
            .is_some_and(|token| keyword_of(Some(token)) == Keyword::OPERATOR)
    };
    let last = tokens.len() - 1;
    // OPERATOR ( op ), OPERATOR ( schema . op )
    let Some(start) = [3, 5]
        .iter()
        .filter_map(|length| last.checked_sub(*length))
        .find(begins)
    else {
        return;
    };
    let is_list = matches!(
        keyword_of(Some(next)),
        Keyword::ANY | Keyword::ALL | Keyword::SOME
    );
    let before = start.checked_sub(1).map(|at| &tokens[at].token);
    if tokens[start + 1].token == Token::LParen && (is_list || before.is_none_or(precedes_operand)) {
        tokens.swap(start, last - 1);
        tokens.truncate(start + 1);
    }
}

/// Whether an operand begins behind the token.
fn precedes_operand(token: &Token) -> bool {
    use Keyword::{
        AND, BETWEEN, BY, CASE, DISTINCT, ELSE, FROM, HAVING, ILIKE, IN, LIKE, LIMIT, NOT, OFFSET, ON, OR,
        RETURNING, SELECT, SET, THEN, VALUES, WHEN, WHERE,
    };
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            AND | BETWEEN
                | BY
                | CASE
                | DISTINCT
                | ELSE
                | FROM
                | HAVING
                | ILIKE
                | IN
                | LIKE
                | LIMIT
                | NOT
                | OFFSET
                | ON
                | OR
                | RETURNING
                | SELECT
                | SET
                | THEN
                | VALUES
                | WHEN
                | WHERE
        ),
        Token::LParen
        | Token::LBracket
        | Token::Comma
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div => true,
        Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq | Token::StringConcat => {
            true
        }
        _ => false,
    }
}
