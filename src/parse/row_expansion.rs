//! `(row).*`, `$1.column` and `t.*::type`: the parser knows names alone before `.*` and nothing behind it, and no parameter before a
//! point. Called by `tokens`, which gives it what it reads, and by `query`, which asks whether an expression is one.
//!
//! ```text
//! SELECT (f(x)).*, $1.a, t.*::text   =>  SELECT (f(x)).*, ($1).a, t::text
//! ```
//!
//! The star becomes a name that is no column's: a star without quotes.

use sqlparser::ast::{AccessExpr, Expr};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The name that stands for all columns.
const ALL: &str = "*";

/// Puts what the parser reads for every expansion of a row.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    let is = |tokens: &[TokenWithSpan], at: usize, wanted: &Token| {
        tokens.get(at).is_some_and(|token| token.token == *wanted)
    };
    let mut at = 0;
    while at < tokens.len() {
        if is(tokens, at, &Token::Period) {
            if is(tokens, at + 1, &Token::Mul) && stands_behind_row(tokens, at) {
                tokens[at + 1].token = Token::make_word(ALL, None);
            }
            if is(tokens, at + 1, &Token::Mul)
                && is(tokens, at + 2, &Token::DoubleColon)
                && stands_behind_name(tokens, at)
            {
                tokens.drain(at..at + 2);
                continue;
            }
            let is_parameter = at > 0 && matches!(tokens[at - 1].token, Token::Placeholder(_));
            if is_parameter {
                let spanned = |token| TokenWithSpan {
                    token,
                    span: tokens[at - 1].span,
                };
                let (opens, closes) = (spanned(Token::LParen), spanned(Token::RParen));
                tokens.insert(at, closes);
                tokens.insert(at - 1, opens);
                at += 1;
                continue;
            }
        }
        at += 1;
    }
}

/// Whether what stands before a point is the name of a relation.
fn stands_behind_name(tokens: &[TokenWithSpan], point: usize) -> bool {
    point > 0 && matches!(tokens[point - 1].token, Token::Word(_))
}

/// Whether what stands before a point is no name of a relation: it begins with what closes.
fn stands_behind_row(tokens: &[TokenWithSpan], point: usize) -> bool {
    let mut at = point;
    while at >= 2 && matches!(tokens[at - 1].token, Token::Word(_)) && tokens[at - 2].token == Token::Period {
        at -= 2;
    }
    let before = at.checked_sub(1).map(|at| &tokens[at].token);
    matches!(before, Some(Token::RParen | Token::RBracket))
}

/// The row of which an expression is all columns.
pub(crate) fn row_expanded(expr: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return None;
    };
    let (last, before) = access_chain.split_last()?;
    let is_all = matches!(last, AccessExpr::Dot(Expr::Identifier(name))
        if name.value == ALL && name.quote_style.is_none());
    if !is_all {
        return None;
    }
    Some(match before {
        [] => root.as_ref().clone(),
        before => Expr::CompoundFieldAccess {
            root: root.clone(),
            access_chain: before.to_vec(),
        },
    })
}
