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
        parser.expect_token(&Token::LParen)?;
        let query = parse_operation(parser)?;
        parser.expect_token(&Token::RParen)?;
        Ok(query)
    });
    read.transpose()
}

/// Whether the parenthesis behind ANY, SOME or ALL was read last.
pub(super) fn is_quantified(parser: &Parser) -> bool {
    let quantifier = keyword_of(Some(parser.get_previous_token()));
    parser.get_current_token().token == Token::LParen
        && matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL)
}

/// A set operation behind that parenthesis whose first side is in parentheses; `None`: it is something else.
pub(super) fn parse_quantified(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    parser.maybe_parse(parse_operation).transpose()
}

/// A query that is a set operation. Errors: it is another.
fn parse_operation(parser: &mut Parser) -> Result<Expr, ParserError> {
    let query = parser.parse_query()?;
    match *query.body {
        SetExpr::SetOperation { .. } => Ok(Expr::Subquery(query)),
        _ => Err(ParserError::ParserError("no set operation".to_string())),
    }
}
