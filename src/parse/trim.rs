//! `trim([BOTH | LEADING | TRAILING] [characters FROM] text)` in all its forms. It stands for a function of the text and the characters. The
//! parser knows some of the forms only.

use sqlparser::ast::{Expr, Ident, TrimWhereField};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

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
    let ends = match parser.parse_one_of_keywords(&[Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING]) {
        Some(Keyword::LEADING) => TrimWhereField::Leading,
        Some(Keyword::TRAILING) => TrimWhereField::Trailing,
        _ => TrimWhereField::Both,
    };
    Some(parse_arguments(parser).map(|arguments| trimmed(ends, span, arguments)))
}

/// The function that is meant.
pub(crate) fn function_name(ends: Option<TrimWhereField>) -> &'static str {
    match ends {
        Some(TrimWhereField::Leading) => "ltrim",
        Some(TrimWhereField::Trailing) => "rtrim",
        Some(TrimWhereField::Both) | None => "btrim",
    }
}

/// Of a text, and of characters if there are any. Whether the function takes more, its call tells.
fn trimmed(ends: TrimWhereField, span: Span, arguments: Vec<Expr>) -> Expr {
    let trim = |text: Expr, characters: Option<Expr>| Expr::Trim {
        trim_where: Some(ends),
        trim_what: characters.map(Box::new),
        expr: Box::new(text),
        trim_characters: None,
    };
    match <[Expr; 1]>::try_from(arguments) {
        Ok([text]) => trim(text, None),
        Err(arguments) => match <[Expr; 2]>::try_from(arguments) {
            Ok([text, characters]) => trim(text, Some(characters)),
            Err(arguments) => call(Ident::with_span(span, function_name(Some(ends))), arguments),
        },
    }
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
