//! `x IN ((SELECT 1), 2)`: a list whose first item is a subquery. The parser takes what stands in the parentheses for one query.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The test behind `left`, whose IN or NOT IN is next; `None` when it is no list that begins with parentheses.
pub(super) fn parse(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let [first, second, third, fourth] = parser.peek_tokens_ref().map(|token| &token.token);
    let is_word = |token: &Token, keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let (negated, [open, inner]) = match is_word(first, Keyword::NOT) && is_word(second, Keyword::IN) {
        true => (true, [third, fourth]),
        false if is_word(first, Keyword::IN) => (false, [second, third]),
        false => return None,
    };
    if [open, inner].iter().any(|token| **token != Token::LParen) {
        return None;
    }
    let list = parser.maybe_parse(|parser| {
        let _ = parser.parse_keyword(Keyword::NOT);
        parser.expect_keyword_is(Keyword::IN)?;
        parser.expect_token(&Token::LParen)?;
        let list = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        Ok(list)
    });
    let list = match list {
        Ok(list) => list?,
        Err(error) => return Some(Err(error)),
    };
    // One subquery is one however many parentheses it has.
    Some(Ok(match <[Expr; 1]>::try_from(list) {
        Ok([only]) => match subquery(only) {
            Ok(subquery) => Expr::InSubquery {
                expr: Box::new(left.clone()),
                subquery,
                negated,
            },
            Err(only) => in_list(left, vec![*only], negated),
        },
        Err(list) => in_list(left, list, negated),
    }))
}

fn in_list(left: &Expr, list: Vec<Expr>, negated: bool) -> Expr {
    Expr::InList {
        expr: Box::new(left.clone()),
        list,
        negated,
    }
}

/// The query that stands in parentheses; the expression itself when there is none.
fn subquery(expr: Expr) -> Result<Box<sqlparser::ast::Query>, Box<Expr>> {
    match expr {
        Expr::Subquery(query) => Ok(query),
        Expr::Nested(inner) => subquery(*inner),
        other => Err(Box::new(other)),
    }
}
