//! Where in a statement's text an error stands. The binder says it by a place of the tree (a token, an operator after an
//! operand); `sql::execute` and `sql::describe` turn that into the character that PostgreSQL reports.

use std::ops::ControlFlow;

use sqlparser::ast::{self, BinaryOperator, Expr, Spanned, Visitor};
use sqlparser::tokenizer::{Location, Span};

use super::names;
use super::position::{byte_offset, character_position};
use super::walk::Walk;
use crate::error::TextPlace;
use crate::{Error, Result};

/// The error with the character of `text` that it is about.
pub(crate) fn locate(error: Error, text: &str) -> Error {
    let Error::At { error, place } = error else {
        return error;
    };
    let position = match place {
        TextPlace::Character(position) => position,
        TextPlace::Token { line, column } => character_position(Location { line, column }, text),
        TextPlace::Operator {
            name,
            line,
            column,
            passed,
        } => {
            let after = byte_offset(Location { line, column }, text);
            let rest = text[after..].to_ascii_lowercase();
            let skipped = rest.match_indices(&name).nth(passed).map_or(0, |(at, _)| at);
            text[..after + skipped].chars().count() + 1
        }
    };
    Error::At {
        error,
        place: TextPlace::Character(position),
    }
}

/// The beginning of a span; `None` for what no text stands behind.
pub(crate) fn of_span(span: Span) -> Option<TextPlace> {
    (span.start.line > 0).then_some(TextPlace::Token {
        line: span.start.line,
        column: span.start.column,
    })
}

/// The result, an error of it at the beginning of a span.
pub(crate) fn at_span<R>(result: Result<R>, span: Span) -> Result<R> {
    result.map_err(|error| at_error(error, span))
}

/// The error at the beginning of a span.
pub(crate) fn at_error(error: Error, span: Span) -> Error {
    match of_span(span) {
        Some(place) => error.at(place),
        None => error,
    }
}

/// Where an error of binding this expression stands: PostgreSQL names the operator, the literal that does not read, or the
/// beginning of the expression.
pub(crate) fn of_expr(expr: &Expr, error: &Error) -> Option<TextPlace> {
    let runs_later = matches!(
        error,
        Error::DivisionByZero
            | Error::NumericOutOfRange { .. }
            | Error::DataException { .. }
            | Error::StringTooLong { .. }
            | Error::InvalidParameter { .. }
            | Error::LimitExceeded { .. }
            | Error::Internal { .. }
    );
    if runs_later {
        return None;
    }
    if let Error::InvalidText { value, .. } | Error::InvalidDatetime { value, .. } = error {
        return of_literal(expr, value);
    }
    let operator = |name: String, left: &Expr| {
        let end = left.span().end;
        let passed = match name.as_str() {
            "::" => casts_within(left),
            _ => 0,
        };
        (end.line > 0).then_some(TextPlace::Operator {
            name,
            line: end.line,
            column: end.column,
            passed,
        })
    };
    match (expr, error) {
        (Expr::BinaryOp { left, op, .. }, _) if *op != BinaryOperator::And && *op != BinaryOperator::Or => {
            operator(op.to_string().to_ascii_lowercase(), left)
        }
        (Expr::InList { expr, .. } | Expr::InSubquery { expr, .. }, _) => operator("in".to_string(), expr),
        (Expr::Between { expr, .. }, _) => operator("between".to_string(), expr),
        (Expr::Like { expr, .. }, _) => operator("like".to_string(), expr),
        (Expr::ILike { expr, .. }, _) => operator("ilike".to_string(), expr),
        (
            Expr::Cast {
                kind: ast::CastKind::DoubleColon,
                expr,
                ..
            },
            Error::CannotCoerce { .. },
        ) => operator("::".to_string(), expr),
        _ => of_span(expr.span()),
    }
}

/// How many `::` an expression ends with, behind what its span ends with.
fn casts_within(expr: &Expr) -> usize {
    match expr {
        Expr::Cast {
            kind: ast::CastKind::DoubleColon,
            expr,
            ..
        } => 1 + casts_within(expr),
        Expr::Nested(inner) => casts_within(inner),
        _ => 0,
    }
}

/// The string literal of this text in the expression.
pub(crate) fn of_literal(expr: &Expr, text: &str) -> Option<TextPlace> {
    struct Find<'a>(&'a str, Option<TextPlace>);
    impl Visitor for Find<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let literal = match expr {
                Expr::Value(value) => value,
                Expr::TypedString(typed) => &typed.value,
                _ => return ControlFlow::Continue(()),
            };
            if literal.value.clone().into_string().as_deref() == Some(self.0) {
                self.1 = of_span(literal.span);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }
    let mut find = Find(text, None);
    let _ = expr.walk(&mut find);
    find.1
}

/// The first place of a SELECT that names this column (`t.a` or `a`): an error found after binding is about it.
pub(crate) fn of_column(select: &ast::Select, column: &str) -> Option<TextPlace> {
    struct Find<'a>(&'a str, Option<TextPlace>);
    impl Visitor for Find<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            if name.is_some_and(|name| names::fold(name) == self.0) {
                self.1 = of_span(expr.span());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }
    let name = column.rsplit_once('.').map_or(column, |(_, name)| name);
    let mut find = Find(name, None);
    let found = select.projection.walk(&mut find).is_break() || select.having.walk(&mut find).is_break();
    found.then_some(find.1).flatten()
}
