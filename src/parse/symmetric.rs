//! `BETWEEN SYMMETRIC`, which the parser does not read, as what SQL defines it to be:
//! `x BETWEEN a AND b OR x BETWEEN b AND a`.

use std::ops::ControlFlow;

use super::walk::Walk;
use sqlparser::ast::{BinaryOperator, Expr, Visitor};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// Expressions in the operands of one test, which double with each test inside another.
const OPERANDS_MAX: usize = 10_000;

/// The test behind `left`, whose BETWEEN or NOT BETWEEN is next; `None` when it is another. `precedence`: BETWEEN's.
pub(super) fn parse(parser: &mut Parser, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    use Keyword::{ASYMMETRIC, BETWEEN, NOT, SYMMETRIC};
    let forms = [
        ([NOT, BETWEEN, SYMMETRIC].as_slice(), true, true),
        (&[NOT, BETWEEN, ASYMMETRIC], true, false),
        (&[BETWEEN, SYMMETRIC], false, true),
        (&[BETWEEN, ASYMMETRIC], false, false),
    ];
    let (_, negated, symmetric) = forms
        .into_iter()
        .find(|(keywords, ..)| parser.parse_keywords(keywords))?;
    Some(match symmetric {
        true => parse_bounds(parser, precedence).and_then(|bounds| either_way(left, bounds, negated)),
        // What BETWEEN alone says.
        false => parser.parse_between(left.clone(), negated),
    })
}

fn parse_bounds(parser: &mut Parser, precedence: u8) -> Result<(Expr, Expr), ParserError> {
    let low = parser.parse_subexpr(precedence)?;
    parser.expect_keyword_is(Keyword::AND)?;
    Ok((low, parser.parse_subexpr(precedence)?))
}

/// `(value BETWEEN low AND high OR value BETWEEN high AND low)`. Errors: for operands too large to say them twice.
fn either_way(value: &Expr, (low, high): (Expr, Expr), negated: bool) -> Result<Expr, ParserError> {
    if [value, &low, &high].map(size).iter().sum::<usize>() > OPERANDS_MAX {
        return Err(ParserError::RecursionLimitExceeded);
    }
    let between = |low: &Expr, high: &Expr| Expr::Between {
        expr: Box::new(value.clone()),
        negated,
        low: Box::new(low.clone()),
        high: Box::new(high.clone()),
    };
    let op = match negated {
        true => BinaryOperator::And,
        false => BinaryOperator::Or,
    };
    let (left, right) = (Box::new(between(&low, &high)), Box::new(between(&high, &low)));
    Ok(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right })))
}

/// How many expressions an expression consists of.
fn size(expr: &Expr) -> usize {
    struct Count(usize);
    impl Visitor for Count {
        type Break = ();
        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut count = Count(0);
    let _ = expr.walk(&mut count);
    count.0
}
