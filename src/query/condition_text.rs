//! Conditions over the columns of a row as `pg_get_constraintdef` prints them: with the conversions that PostgreSQL's operators
//! make of their operands, literals with their types, IN as `= ANY`, BETWEEN as two comparisons.
//!
//! In the plain form every operator stands in parentheses; in the pretty one, psql's, an operand does only where it would
//! read otherwise. What there are no rules for is printed as it was written.

use sqlparser::ast::{self, BinaryOperator as Op, CastKind, UnaryOperator};

use super::binder::{Binder, Place};
use super::literal_pins::Written;
use super::printed::{Around, Printed, Shape, Untyped, number, operands, quoted};
use super::printed_conditions::{array_of, connected, infix_of, negated, symbol_of, tested};
use super::printed_query::{ShownRelations, items_of_row, without_parentheses};
use crate::parse::quoting::quote_ident;
use crate::parse::{interval_literal, names};
use crate::types::{FormatSettings, SqlType, Value};

/// Prints expressions that stand at one place.
pub(super) struct Printer<'p, 'c> {
    pub(super) binder: &'p mut Binder<'c>,
    pub(super) place: Place<'p>,
    /// What relations are called before their columns; `None`: columns stand by themselves.
    pub(super) shown: Option<&'p ShownRelations<'p>>,
    /// The columns that stand by themselves and are of domains, with these.
    pub(super) domains: &'p [(String, u32)],
    /// Blanks before a line that begins within an expression.
    pub(super) indent: usize,
    /// There were no rules for something that cannot stand as it was written.
    pub(super) has_failed: bool,
}

impl Printer<'_, '_> {
    pub(super) fn print(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Nested(inner) => self.print(inner),
            E::Identifier(_) | E::CompoundIdentifier(_) => Printed {
                is_of_domain: self.domain_of(expr).is_some(),
                ..self.named(expr)
            },
            E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => self.sublink(expr),
            E::CompoundFieldAccess { root, access_chain } => self.accessed(expr, root, access_chain),
            E::Tuple(items) => self.row(items, None),
            E::Substring { .. }
            | E::Overlay { .. }
            | E::Trim { .. }
            | E::IsNormalized { .. }
            | E::Position { .. }
            | E::AtTimeZone { .. }
            | E::Extract { .. }
            | E::Ceil { .. }
            | E::Floor { .. } => self.spelt_call(expr),
            E::Value(value) => self.value(expr, value),
            E::TypedString(typed) => match self.untyped(&typed.value) {
                Some(untyped) => untyped.typed(&self.type_of(expr)),
                None => self.as_written(expr),
            },
            E::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            E::UnaryOp { op, expr: operand } => self.unary(expr, *op, operand),
            E::IsNull(inner) => self.test(inner, "IS NULL"),
            E::IsNotNull(inner) => self.test(inner, "IS NOT NULL"),
            E::IsTrue(inner) => self.truth_test(inner, "IS TRUE"),
            E::IsNotTrue(inner) => self.truth_test(inner, "IS NOT TRUE"),
            E::IsFalse(inner) => self.truth_test(inner, "IS FALSE"),
            E::IsNotFalse(inner) => self.truth_test(inner, "IS NOT FALSE"),
            E::IsUnknown(inner) => self.truth_test(inner, "IS UNKNOWN"),
            E::IsNotUnknown(inner) => self.truth_test(inner, "IS NOT UNKNOWN"),
            E::IsDistinctFrom(left, right) => self.distinct(left, right, "IS NOT NULL"),
            E::IsNotDistinctFrom(left, right) => match is_null(left) || is_null(right) {
                true => self.distinct(left, right, "IS NULL"),
                false => negated(self.distinct(left, right, "IS NOT NULL")),
            },
            E::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr: inner,
                ..
            } => self.cast(expr, inner),
            E::Case { .. } => self.case(expr),
            E::Function(function) => self.function(expr, function),
            E::Array(array) => {
                let items: Vec<Printed> = array.elem.iter().map(|item| self.print(item)).collect();
                self.array(expr, items)
            }
            other => self.words(other),
        }
    }

    /// A column by its name.
    fn named(&mut self, expr: &ast::Expr) -> Printed {
        match expr {
            ast::Expr::Identifier(name) if self.shown.is_none() => {
                Printed::word(quote_ident(&names::fold(name)), self.type_of(expr))
            }
            ast::Expr::Identifier(name) => self.column(None, &names::fold(name), expr),
            ast::Expr::CompoundIdentifier(parts) if self.shown.is_some() => match parts.as_slice() {
                [relation, name] | [_, relation, name] => {
                    self.column(Some(&names::fold(relation)), &names::fold(name), expr)
                }
                _ => self.as_written(expr),
            },
            other => self.words(other),
        }
    }

    /// An operator or function that is written in words.
    fn words(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, *negated, low, high),
            E::InList {
                expr: operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated),
            E::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => {
                let operator = if *negated { "!~~" } else { "~~" };
                self.matching(expr, operator, (pattern, escape_char.as_ref()))
            }
            E::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => {
                let operator = if *negated { "!~~*" } else { "~~*" };
                self.matching(expr, operator, (pattern, escape_char.as_ref()))
            }
            other => self.other_words(other),
        }
    }

    /// See [`Printer::words`].
    fn other_words(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Collate { expr, collation } => {
                let inner = self.print(expr);
                Printed::of(Shape::Operator, inner.ty.clone(), |text| {
                    format!("{} COLLATE {collation}", text(&inner, Around::Tight))
                })
            }
            E::Interval(interval) => {
                let ty = interval_literal::sql_type(interval).ok();
                let value = match interval.value.as_ref() {
                    E::Value(value) => self.untyped(value),
                    _ => None,
                };
                match (value, ty) {
                    (Some(untyped), Some(ty)) => untyped.typed(&ty),
                    _ => self.as_written(expr),
                }
            }
            E::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char,
            } => {
                let operator = if *negated { "!~" } else { "~" };
                let value = self.print(expr).into_type(&SqlType::Text);
                let pattern = self.escaped("similar_to_escape", pattern, escape_char.as_ref());
                infix_of(&value, operator, &pattern, Shape::Operator)
            }
            E::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(left, (compare_op, "ANY"), right),
            E::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, (compare_op, "ALL"), right),
            other => self.as_written(other),
        }
    }

    pub(super) fn as_written(&mut self, expr: &ast::Expr) -> Printed {
        // A query may call its relations otherwise than the text that it was made of.
        self.has_failed |= self.shown.is_some();
        Printed::word(expr.to_string(), SqlType::Unknown)
    }

    /// What binding says; `Unknown` where it fails.
    pub(super) fn type_of(&mut self, expr: &ast::Expr) -> SqlType {
        let bound = self.binder.expression(expr, self.place);
        bound.map_or(SqlType::Unknown, |bound| bound.ty)
    }

    /// `None`: it is no string.
    fn untyped(&self, literal: &ast::ValueWithSpan) -> Option<Untyped> {
        Some(Untyped {
            written: Written::of(literal)?,
            pins: self.binder.pins.clone(),
        })
    }

    fn value(&mut self, expr: &ast::Expr, literal: &ast::ValueWithSpan) -> Printed {
        if let Some(untyped) = self.untyped(literal) {
            let text = untyped.typed(&SqlType::Text);
            return Printed {
                untyped: Some(untyped),
                ..text
            };
        }
        match &literal.value {
            ast::Value::Number(digits, _) => number(digits, &self.type_of(expr)),
            ast::Value::Boolean(value) => Printed::word(value.to_string(), SqlType::Bool),
            ast::Value::Null => Printed::word("NULL", SqlType::Unknown),
            ast::Value::SingleQuotedByteStringLiteral(bits) => {
                Printed::word(format!("'{bits}'::\"bit\""), self.type_of(expr))
            }
            ast::Value::HexStringLiteral(digits) => {
                let ty = SqlType::Bit(None);
                let bits = Value::parse(&format!("x{digits}"), &ty, &FormatSettings::default());
                match bits.map(|bits| bits.to_text(&FormatSettings::default())) {
                    Ok(bits) => Printed::word(format!("'{bits}'::\"bit\""), ty),
                    Err(_) => self.as_written(expr),
                }
            }
            _ => self.as_written(expr),
        }
    }

    fn unary(&mut self, expr: &ast::Expr, op: UnaryOperator, operand: &ast::Expr) -> Printed {
        if op == UnaryOperator::Not {
            return negated(self.condition(operand));
        }
        let ty = self.type_of(expr);
        if let (UnaryOperator::Minus, ast::Expr::Value(value)) = (op, without_parentheses(operand))
            && let ast::Value::Number(digits, _) = &value.value
        {
            return number(&format!("-{digits}"), &ty);
        }
        let operand = self.print(operand).into_only_operand(&op.to_string());
        Printed::of(Shape::of(&op.to_string()), ty, |text| {
            format!("{op} {}", text(&operand, Around::Tight))
        })
    }

    fn binary(&mut self, expr: &ast::Expr, left: &ast::Expr, op: &Op, right: &ast::Expr) -> Printed {
        match op {
            Op::Eq | Op::NotEq
                if let (Some(left), Some(right)) = (items_of_row(left), items_of_row(right)) =>
            {
                let symbol = if *op == Op::Eq { "=" } else { "<>" };
                let pairs = left.iter().zip(&right);
                let pairs =
                    pairs.map(|(one, other)| self.infix(one, (symbol, symbol), other, Shape::Operator));
                let parts: Vec<Printed> = pairs.collect();
                connected(&parts, *op == Op::Eq)
            }
            Op::Overlaps => self.overlaps(left, right),
            Op::Lt | Op::LtEq | Op::Gt | Op::GtEq
                if let (Some(left), Some(right)) = (items_of_row(left), items_of_row(right)) =>
            {
                self.ordered_rows(&left, op, &right)
            }
            Op::And | Op::Or => {
                let mut parts = Vec::new();
                chain(expr, op, &mut parts);
                let parts: Vec<Printed> = parts.into_iter().map(|part| self.condition(part)).collect();
                connected(&parts, *op == Op::And)
            }
            _ => {
                let ty = self.type_of(expr);
                let symbol = symbol_of(op);
                let printed = self.infix(left, (&symbol, &symbol), right, Shape::of(&symbol));
                Printed { ty, ..printed }
            }
        }
    }

    /// Two operands, converted as the operator `converts` wants it.
    pub(super) fn infix(
        &mut self,
        left: &ast::Expr,
        (words, converts): (&str, &str),
        right: &ast::Expr,
        shape: Shape,
    ) -> Printed {
        let (left, right) = operands(converts, self.print(left), self.print(right));
        infix_of(&left, words, &right, shape)
    }

    /// LIKE and its like; a pattern with an escape of its own is one that a function makes.
    fn matching(
        &mut self,
        value: &ast::Expr,
        operator: &str,
        (pattern, escape): (&ast::Expr, Option<&ast::ValueWithSpan>),
    ) -> Printed {
        if escape.is_none() {
            return self.infix(value, (operator, operator), pattern, Shape::Operator);
        }
        let pattern = self.escaped("like_escape", pattern, escape);
        let (value, pattern) = operands(operator, self.print(value), pattern);
        infix_of(&value, operator, &pattern, Shape::Operator)
    }

    /// A pattern as a function makes it of one with another escape.
    fn escaped(
        &mut self,
        function: &str,
        pattern: &ast::Expr,
        escape: Option<&ast::ValueWithSpan>,
    ) -> Printed {
        let pattern = self.print(pattern).into_type(&SqlType::Text);
        let escape = escape.and_then(|escape| self.untyped(escape));
        let escape = escape.map(|untyped| untyped.typed(&SqlType::Text));
        Printed::call(SqlType::Text, |text| match &escape {
            Some(escape) => format!("{function}({}, {})", text(&pattern), text(escape)),
            None => format!("{function}({})", text(&pattern)),
        })
    }

    /// `a IS DISTINCT FROM b`; beside NULL a test of the other.
    fn distinct(&mut self, left: &ast::Expr, right: &ast::Expr, beside_null: &str) -> Printed {
        match (is_null(left), is_null(right)) {
            (_, true) => self.test(left, beside_null),
            (true, _) => self.test(right, beside_null),
            _ => self.infix(left, ("IS DISTINCT FROM", "="), right, Shape::Test),
        }
    }

    /// A condition, or NULL as one.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Printed {
        self.print(expr).into_condition()
    }

    fn truth_test(&mut self, operand: &ast::Expr, words: &str) -> Printed {
        let operand = self.condition(operand);
        tested(&operand, words)
    }

    fn test(&mut self, operand: &ast::Expr, words: &str) -> Printed {
        let operand = self.print(operand);
        // A literal that is only looked at stays without a type.
        let operand = match &operand.untyped {
            Some(untyped) => Printed::word(quoted(&untyped.written.text), SqlType::Unknown),
            None if operand.plain == "NULL" => Printed::word("NULL::unknown", SqlType::Unknown),
            None => operand,
        };
        tested(&operand, words)
    }

    fn between(&mut self, value: &ast::Expr, not: bool, low: &ast::Expr, high: &ast::Expr) -> Printed {
        let (above, below) = if not { ("<", ">") } else { (">=", "<=") };
        let parts = [
            self.infix(value, (above, above), low, Shape::Operator),
            self.infix(value, (below, below), high, Shape::Operator),
        ];
        connected(&parts, !not)
    }

    fn array(&mut self, expr: &ast::Expr, items: Vec<Printed>) -> Printed {
        match self.type_of(expr) {
            SqlType::Array(item) => {
                let array = SqlType::Array(item.clone());
                let converted = items.into_iter().map(|printed| match printed.ty {
                    SqlType::Array(_) => printed.into_type(&array),
                    _ => printed.into_type(&item),
                });
                array_of(converted.collect(), SqlType::clone(&item))
            }
            _ => array_of(items, SqlType::Unknown),
        }
    }
}

fn is_null(expr: &ast::Expr) -> bool {
    matches!(without_parentheses(expr), ast::Expr::Value(value) if value.value == ast::Value::Null)
}

/// The parts of a chain of one connective, as it is written from left to right.
fn chain<'a>(expr: &'a ast::Expr, connective: &Op, parts: &mut Vec<&'a ast::Expr>) {
    match expr {
        ast::Expr::BinaryOp { left, op, right } if op == connective => {
            chain(left, connective, parts);
            parts.push(right);
        }
        ast::Expr::Nested(inner) => match inner.as_ref() {
            ast::Expr::BinaryOp { op, .. } if op == connective => chain(inner, connective, parts),
            _ => parts.push(expr),
        },
        part => parts.push(part),
    }
}
