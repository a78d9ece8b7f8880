//! `a OR b OR c …`: a long chain becomes a tree as shallow as can be, for the parser makes one that is as deep as the chain is
//! long, and whoever walks a tree needs stack for each level. Called by the dialect; see [`super::nesting`].

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// Operands up to which a chain stays as it is written: from the left.
pub(super) const WRITTEN_MAX: usize = 16;

/// What follows the first operand, from the first OR on.
pub(super) fn parse(parser: &mut Parser, first: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    let mut operands = vec![first.clone()];
    while parser.parse_keyword(Keyword::OR) {
        operands.push(parser.parse_subexpr(precedence)?);
    }
    if operands.len() > WRITTEN_MAX {
        return Ok(balanced(operands));
    }
    let written = operands.into_iter().reduce(either);
    written.ok_or_else(|| ParserError::ParserError("an OR without operands".to_string()))
}

/// The operands, of which there is one at least, two by two.
fn balanced(mut operands: Vec<Expr>) -> Expr {
    while operands.len() > 1 {
        let mut pairs = operands.into_iter();
        let mut halved = Vec::with_capacity(pairs.len().div_ceil(2));
        while let Some(left) = pairs.next() {
            halved.push(match pairs.next() {
                Some(right) => either(left, right),
                None => left,
            });
        }
        operands = halved;
    }
    operands.remove(0)
}

fn either(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Or,
        right: Box::new(right),
    }
}
