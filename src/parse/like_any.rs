//! `x [NOT] LIKE | ILIKE ANY | SOME | ALL (…)`: the parser reads another dialect's form of it. It becomes the operator that LIKE stands for.
//! And ANY behind operators that it reads none behind, as `@>`.

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Operators behind which the parser reads ANY.
const READ_BY_PARSER: [&str; 15] = [
    "=", "<>", "!=", "<", "<=", ">", ">=", "~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*",
];

/// The test behind `left`, whose LIKE or NOT LIKE is next; `None` when it is one of a single pattern.
pub(super) fn parse(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    use Keyword::{ALL, ANY, ILIKE, LIKE, NOT, SOME};
    let [first, second, third] = parser.peek_tokens_ref().map(|token| keyword(&token.token));
    let (negated, like, quantifier) = match first {
        NOT => (true, second, third),
        like => (false, like, second),
    };
    if !matches!(like, LIKE | ILIKE) || !matches!(quantifier, ANY | SOME | ALL) {
        return None;
    }
    for _ in 0..(2 + usize::from(negated)) {
        parser.advance_token();
    }
    let compare_op = match (like, negated) {
        (LIKE, false) => BinaryOperator::PGLikeMatch,
        (LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (_, false) => BinaryOperator::PGILikeMatch,
        (_, true) => BinaryOperator::PGNotILikeMatch,
    };
    Some(patterns(parser).map(|right| quantified(left, compare_op, quantifier, right)))
}

/// The test behind `left`, whose operator is next; `None` where it is none, or one that the parser reads ANY behind.
pub(super) fn parse_operator(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    use Keyword::{ALL, ANY, SOME};
    let [operator, quantifier, list] = parser.peek_tokens_ref().map(|token| &token.token);
    let quantifier = keyword(quantifier);
    if !matches!(quantifier, ANY | SOME | ALL) || *list != Token::LParen {
        return None;
    }
    let operator = operator.to_string();
    let is_operator = operator.chars().all(|sign| "+-*/<>=~!@#%^&|?".contains(sign));
    if !is_operator || READ_BY_PARSER.contains(&operator.as_str()) {
        return None;
    }
    parser.advance_token();
    parser.advance_token();
    let compare_op = BinaryOperator::PGCustomBinaryOperator(vec![operator]);
    Some(patterns(parser).map(|right| quantified(left, compare_op, quantifier, right)))
}

fn quantified(left: &Expr, compare_op: BinaryOperator, quantifier: Keyword, right: Expr) -> Expr {
    let (left, right) = (Box::new(left.clone()), Box::new(right));
    match quantifier {
        Keyword::ALL => Expr::AllOp {
            left,
            compare_op,
            right,
        },
        quantifier => Expr::AnyOp {
            left,
            compare_op,
            right,
            is_some: quantifier == Keyword::SOME,
        },
    }
}

/// What stands in the parentheses: a query, or an array.
fn patterns(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let begins = keyword(&parser.peek_token_ref().token);
    let patterns = match begins {
        Keyword::SELECT | Keyword::WITH | Keyword::VALUES => Expr::Subquery(parser.parse_query()?),
        _ => parser.parse_expr()?,
    };
    parser.expect_token(&Token::RParen)?;
    Ok(patterns)
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
