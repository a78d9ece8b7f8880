//! `BETWEEN SYMMETRIC`, which the parser does not read: the tokens mark the lower bound with a function that nobody
//! else can name, and the tree then says what SQL defines it as: `x BETWEEN a AND b OR x BETWEEN b AND a`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, VisitMut, VisitorMut,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::word::is_word;

/// The marking function's name; the blank keeps it apart from any name a user would write.
const MARK: &str = "between symmetric";

/// Turns `BETWEEN SYMMETRIC a AND` into `BETWEEN "between symmetric"(a) AND`. Answers whether there was any.
pub(crate) fn mark(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let mut marked = false;
    let mut at = 1;
    while at < tokens.len() {
        if is_word(tokens.get(at), "SYMMETRIC")
            && is_word(tokens.get(at - 1), "BETWEEN")
            && let Some(end) = end_of_lower_bound(&tokens[at + 1..]).map(|length| at + 1 + length)
        {
            marked = true;
            let span = tokens[at].span;
            tokens.insert(
                end,
                TokenWithSpan {
                    token: Token::RParen,
                    span,
                },
            );
            tokens[at].token = Token::make_word(MARK, Some('"'));
            tokens.insert(
                at + 1,
                TokenWithSpan {
                    token: Token::LParen,
                    span,
                },
            );
        }
        at += 1;
    }
    marked
}

/// How many tokens stand before the AND that ends the lower bound.
fn end_of_lower_bound(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            _ if is_word(Some(token), "CASE") => depth += 1,
            _ if is_word(Some(token), "END") => depth = depth.checked_sub(1)?,
            _ if depth == 0 && is_word(Some(token), "AND") => return Some(at),
            _ => {}
        }
    }
    None
}

/// Says every marked BETWEEN in plain SQL.
pub(crate) fn expand(statement: &mut ast::Statement) {
    let _ = statement.visit(&mut Expand);
}

struct Expand;

impl VisitorMut for Expand {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Between {
            expr: value,
            negated,
            low,
            high,
        } = expr
            && let Some(low) = marked(low)
        {
            let between = |low: &Expr, high: &Expr| Expr::Between {
                expr: value.clone(),
                negated: *negated,
                low: Box::new(low.clone()),
                high: Box::new(high.clone()),
            };
            let op = if *negated {
                BinaryOperator::And
            } else {
                BinaryOperator::Or
            };
            let (left, right) = (Box::new(between(low, high)), Box::new(between(high, low)));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }));
        }
        ControlFlow::Continue(())
    }
}

/// The argument of the marking function.
fn marked(expr: &Expr) -> Option<&Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let [part] = function.name.0.as_slice() else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] if part.as_ident()?.value == MARK => {
            Some(argument)
        }
        _ => None,
    }
}
