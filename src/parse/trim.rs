//! `trim([BOTH | LEADING | TRAILING] [characters FROM] text)` in all its forms, as the function it stands for: `btrim`,
//! `ltrim` or `rtrim` of the text and the characters. The parser knows some of the forms only.

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::call::call;

/// The call whose TRIM is next; `None` when TRIM is a name.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let [trim, open] = parser.peek_tokens_ref();
    if open.token != Token::LParen {
        return None;
    }
    let span = trim.span;
    parser.advance_token();
    parser.advance_token();
    let name = match parser.parse_one_of_keywords(&[Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING]) {
        Some(Keyword::LEADING) => "ltrim",
        Some(Keyword::TRAILING) => "rtrim",
        _ => "btrim",
    };
    Some(parse_arguments(parser).map(|arguments| call(Ident::with_span(span, name), arguments)))
}

/// The text, then the characters, to the closing parenthesis.
fn parse_arguments(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    let characters = match parser.parse_keyword(Keyword::FROM) {
        true => None,
        false => {
            let first = parser.parse_expr()?;
            if !parser.parse_keyword(Keyword::FROM) {
                let mut arguments = vec![first];
                if parser.consume_token(&Token::Comma) {
                    arguments.extend(parser.parse_comma_separated(Parser::parse_expr)?);
                }
                parser.expect_token(&Token::RParen)?;
                return Ok(arguments);
            }
            Some(first)
        }
    };
    let mut arguments = parser.parse_comma_separated(Parser::parse_expr)?;
    arguments.extend(characters);
    parser.expect_token(&Token::RParen)?;
    Ok(arguments)
}
