//! Words that an expression begins with and that are read in one way. The parser would try them as a name once more where they do not read, at
//! each level of a nest: twice as long for each level, and an error about a function of the name at the end.

use sqlparser::ast::{CastKind, Expr, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The expression that the next word begins; `None` where it may be a name, or what the parser makes of it.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let [first, second] = parser.peek_tokens_ref();
    let Token::Word(word) = &first.token else {
        return None;
    };
    let is_called = second.token == Token::LParen;
    match word.keyword {
        Keyword::NOT => {
            parser.advance_token();
            Some(parser.parse_not())
        }
        Keyword::CASE => {
            parser.advance_token();
            Some(parser.parse_case_expr())
        }
        Keyword::CAST => {
            parser.advance_token();
            Some(parser.parse_cast_expr(CastKind::Cast))
        }
        Keyword::ARRAY if second.token == Token::LBracket => {
            parser.advance_token();
            parser.advance_token();
            Some(parser.parse_array_expr(true))
        }
        Keyword::CURRENT_DATE
        | Keyword::CURRENT_TIME
        | Keyword::CURRENT_TIMESTAMP
        | Keyword::LOCALTIME
        | Keyword::LOCALTIMESTAMP
            if is_called =>
        {
            let name = ObjectName::from(vec![word.to_ident(first.span)]);
            parser.advance_token();
            Some(parser.parse_time_functions(name))
        }
        Keyword::OVERLAY if is_called && has_placing(parser) => {
            parser.advance_token();
            Some(parser.parse_overlay_expr())
        }
        Keyword::CEIL | Keyword::FLOOR | Keyword::CONVERT | Keyword::OVERLAY | Keyword::SUBSTR
            if is_called =>
        {
            let name = ObjectName::from(vec![word.to_ident(first.span)]);
            parser.advance_token();
            Some(parser.parse_function(name))
        }
        _ => None,
    }
}

/// Whether PLACING stands in the parentheses behind the next word, and in none within them.
fn has_placing(parser: &Parser) -> bool {
    let mut open = 0_usize;
    for at in 1.. {
        match &parser.peek_nth_token_ref(at).token {
            Token::LParen => open += 1,
            Token::RParen if open <= 1 => return false,
            Token::RParen => open -= 1,
            Token::Word(word) if open == 1 && word.keyword == Keyword::PLACING => return true,
            Token::EOF => return false,
            _ => {}
        }
    }
    false
}
