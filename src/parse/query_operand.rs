//! Queries that stand where a value does and that the parser does not take for such: `x = ANY (VALUES (1), (2))`, and
//! `((SELECT 1) UNION SELECT 2)`.

use sqlparser::ast::{BinaryOperator, Expr, SetExpr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// `operator ANY | ALL (VALUES …)` behind `left`; `None`: something else follows.
pub(super) fn parse_quantified_values(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let [operator, quantifier, parenthesis, values] = parser.peek_tokens_ref();
    let compare_op = match operator.token {
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let quantifier = keyword(quantifier)?;
    let is_it = matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL)
        && parenthesis.token == Token::LParen
        && keyword(values) == Some(Keyword::VALUES);
    if !is_it {
        return None;
    }
    // The operator and the quantifier.
    parser.advance_token();
    parser.advance_token();
    Some(parse_query(parser).map(|right| {
        let (left, right) = (Box::new(left.clone()), Box::new(right));
        match quantifier {
            Keyword::ALL => Expr::AllOp {
                left,
                compare_op,
                right,
            },
            _ => Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: quantifier == Keyword::SOME,
            },
        }
    }))
}

/// A set operation in parentheses whose first side is in parentheses, too; `None`: it is something else.
pub(super) fn parse_set_operation(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let mut at = 0;
    while parser.peek_nth_token_ref(at).token == Token::LParen {
        at += 1;
    }
    let begins_query = matches!(
        keyword(parser.peek_nth_token_ref(at)),
        Some(Keyword::SELECT | Keyword::WITH | Keyword::VALUES)
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

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}
