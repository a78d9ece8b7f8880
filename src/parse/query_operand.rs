//! A query that stands where a value does and that the parser does not take for such: `((SELECT 1) UNION SELECT 2)`.

use sqlparser::ast::{Expr, SetExpr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::token_reader::keyword_of;

/// A set operation in parentheses whose first side is in parentheses, too; `None`: it is something else.
pub(super) fn parse_set_operation(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let mut at = 0;
    while parser.peek_nth_token_ref(at).token == Token::LParen {
        at += 1;
    }
    let begins_query = matches!(
        keyword_of(Some(parser.peek_nth_token_ref(at))),
        Keyword::SELECT | Keyword::WITH | Keyword::VALUES
    );
    if at < 2 || !begins_query {
        return None;
    }
    let read = parser.maybe_parse(|parser| {
        let read = parse_query(parser)?;
        let is_it =
            matches!(&read, Expr::Subquery(query) if matches!(*query.body, SetExpr::SetOperation { .. }));
        match is_it {
            true => Ok(read),
            false => Err(ParserError::ParserError("no set operation".to_string())),
        }
    });
    read.transpose()
}

fn parse_query(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}
