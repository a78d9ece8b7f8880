//! `substring(text FROM start FOR length)`, whose two clauses may stand in either order. The parser knows one of them only.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The call whose SUBSTRING is next; `None` when SUBSTRING is a name.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let [_, open] = parser.peek_tokens_ref();
    if open.token != Token::LParen {
        return None;
    }
    parser.advance_token();
    parser.advance_token();
    Some(parse_arguments(parser))
}

/// The text, then its clauses or further arguments, to the closing parenthesis.
fn parse_arguments(parser: &mut Parser) -> Result<Expr, ParserError> {
    let argument = |parser: &mut Parser| parser.parse_expr().map(|expr| Some(Box::new(expr)));
    let expr = Box::new(parser.parse_expr()?);
    let special = parser.consume_token(&Token::Comma);
    let (mut substring_from, mut substring_for) = (None, None);
    if special || parser.parse_keyword(Keyword::FROM) {
        substring_from = argument(parser)?;
    }
    if parser.parse_keyword(Keyword::FOR) || parser.consume_token(&Token::Comma) {
        substring_for = argument(parser)?;
    }
    if substring_from.is_none() && parser.parse_keyword(Keyword::FROM) {
        substring_from = argument(parser)?;
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Substring {
        expr,
        substring_from,
        substring_for,
        special,
        shorthand: false,
    })
}
