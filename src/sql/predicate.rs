//! WHERE clauses to predicates: the part of an expression tree that `plan` understands, with names resolved, parameters
//! put in and constants folded and given the column's type. Everything else becomes `Predicate::Opaque`, which tells
//! the caller to let DataFusion evaluate the condition; errors that need more than this table are raised there.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value as Literal, Visit, Visitor};
use std::ops::ControlFlow;

use super::constant::ConstantContext;
use super::operand::{Coerced, Operand};
use super::{names, operand};
use crate::Result;
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::plan::{CompareOp, Predicate};
use crate::types::{SqlType, Value};

pub(crate) use super::infer::infer_parameters;

/// The predicate that a WHERE clause over one table means. `alias`: the name the table has in FROM, if not its own.
/// Errors: 42703 for unknown columns, those of reading literals as the column's type (22P02, 22003, 22007 …).
pub(crate) fn from_ast(
    expr: &Expr,
    table: &TableDef,
    alias: Option<&str>,
    ctx: &StatementContext,
) -> Result<Predicate> {
    let constants = ConstantContext {
        parameters: &ctx.parameters,
        time_zone: ctx.settings.time_zone,
        now_us: ctx.transaction_time_us,
    };
    Converter {
        table,
        alias,
        constants,
    }
    .condition(expr)
}

/// Turns expressions over one table into predicates.
pub(super) struct Converter<'a> {
    pub(super) table: &'a TableDef,
    pub(super) alias: Option<&'a str>,
    pub(super) constants: ConstantContext<'a>,
}

impl Converter<'_> {
    /// The predicate of a boolean expression.
    pub(super) fn condition(&self, expr: &Expr) -> Result<Predicate> {
        match expr {
            Expr::Nested(inner) => self.condition(inner),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => Ok(self.condition(expr)?.negate()),
            Expr::BinaryOp {
                op: op @ (BinaryOperator::And | BinaryOperator::Or),
                ..
            } => self.connective(expr, op),
            Expr::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            Expr::IsTrue(child) => self.truth_test(expr, child, Some(true), false),
            Expr::IsNotTrue(child) => self.truth_test(expr, child, Some(true), true),
            Expr::IsFalse(child) => self.truth_test(expr, child, Some(false), false),
            Expr::IsNotFalse(child) => self.truth_test(expr, child, Some(false), true),
            Expr::IsUnknown(child) => self.truth_test(expr, child, None, false),
            Expr::IsNotUnknown(child) => self.truth_test(expr, child, None, true),
            Expr::IsNull(child) => self.null_test(expr, child, false),
            Expr::IsNotNull(child) => self.null_test(expr, child, true),
            Expr::IsDistinctFrom(left, right) => self.distinct(expr, left, right, true),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(expr, left, right, false),
            Expr::InList {
                expr: value,
                list,
                negated,
            } => {
                let within = self.in_list(expr, value, list)?;
                Ok(if *negated { within.negate() } else { within })
            }
            Expr::Between {
                expr: value,
                negated,
                low,
                high,
            } => {
                let above = self.comparison(expr, value, CompareOp::GreaterEq, low)?;
                let below = self.comparison(expr, value, CompareOp::LessEq, high)?;
                let between = Predicate::all(vec![above, below]);
                Ok(if *negated { between.negate() } else { between })
            }
            Expr::Like {
                negated,
                any: false,
                expr: value,
                pattern,
                escape_char,
            } => self.like(expr, value, pattern, escape_char.as_ref(), false, *negated),
            Expr::ILike {
                negated,
                any: false,
                expr: value,
                pattern,
                escape_char,
            } => self.like(expr, value, pattern, escape_char.as_ref(), true, *negated),
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(expr, left, compare_op, right, true),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(expr, left, compare_op, right, false),
            _ => self.bare(expr),
        }
    }

    /// A chain of AND or OR. The parser nests chains to the left as deep as they are long, so they are walked in a loop.
    fn connective(&self, expr: &Expr, op: &BinaryOperator) -> Result<Predicate> {
        let mut operands = Vec::new();
        let mut rest = expr;
        while let Expr::BinaryOp {
            left,
            op: inner,
            right,
        } = rest
            && inner == op
        {
            operands.push(right.as_ref());
            rest = left;
        }
        operands.push(rest);
        let children: Vec<_> = operands
            .into_iter()
            .rev()
            .map(|operand| self.condition(operand))
            .collect::<Result<_>>()?;
        Ok(if *op == BinaryOperator::And {
            Predicate::all(children)
        } else {
            Predicate::any(children)
        })
    }

    fn binary(&self, whole: &Expr, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Predicate> {
        use BinaryOperator as Op;
        if let Some(op) = compare_op(op) {
            return self.comparison(whole, left, op, right);
        }
        let pattern =
            |case_insensitive, negated| self.like(whole, left, right, None, case_insensitive, negated);
        match op {
            Op::PGLikeMatch => pattern(false, false),
            Op::PGNotLikeMatch => pattern(false, true),
            Op::PGILikeMatch => pattern(true, false),
            Op::PGNotILikeMatch => pattern(true, true),
            Op::PGStartsWith => self.starts_with(whole, left, right),
            Op::PGRegexMatch => self.regex(whole, left, right),
            _ => self.opaque(whole),
        }
    }

    /// `left op right`, of single values or of rows.
    fn comparison(&self, whole: &Expr, left: &Expr, op: CompareOp, right: &Expr) -> Result<Predicate> {
        if let (Some(left), Some(right)) = (tuple(left), tuple(right)) {
            return self.row_comparison(whole, left, op, right);
        }
        if let Some(operand) = self.operand(left)? {
            return match self.constants.fold(right)? {
                Some(constant) => self.compare(whole, &operand, op, constant),
                None => self.opaque_with(whole, right),
            };
        }
        if let Some(operand) = self.operand(right)? {
            return match self.constants.fold(left)? {
                Some(constant) => self.compare(whole, &operand, op.flipped(), constant),
                None => self.opaque_with(whole, left),
            };
        }
        match (self.constants.fold(left)?, self.constants.fold(right)?) {
            (Some(left), Some(right)) => match operand::compare_constants(&left, op, &right) {
                Some(truth) => Ok(Predicate::Constant(truth)),
                None => self.opaque(whole),
            },
            _ => self.opaque(whole),
        }
    }

    fn compare(&self, whole: &Expr, operand: &Operand, op: CompareOp, constant: Value) -> Result<Predicate> {
        Ok(match operand.coerce(constant, &self.constants)? {
            Coerced::Value(value) => match operand.compare(op, value, &self.constants) {
                Some(compared) => compared,
                None => self.opaque(whole)?,
            },
            Coerced::Between(low, high) => {
                // A bound that every match meets; the condition itself is evaluated by whoever planned it.
                Predicate::all(vec![operand.around(op, low, high), self.opaque(whole)?])
            }
            Coerced::No => self.opaque(whole)?,
        })
    }

    fn row_comparison(
        &self,
        whole: &Expr,
        left: &[Expr],
        op: CompareOp,
        right: &[Expr],
    ) -> Result<Predicate> {
        if left.len() != right.len() {
            return self.opaque(whole);
        }
        if let Some((columns, values)) = self.row(left, right)? {
            return Ok(Predicate::RowCompare { columns, op, values });
        }
        match self.row(right, left)? {
            Some((columns, values)) => Ok(Predicate::RowCompare {
                columns,
                op: op.flipped(),
                values,
            }),
            None => self.opaque(whole),
        }
    }

    /// A row of plain columns against a row of constants of their types; `None` when it is something else.
    fn row(&self, columns: &[Expr], constants: &[Expr]) -> Result<Option<(Vec<usize>, Vec<Value>)>> {
        let (mut positions, mut values) = (
            Vec::with_capacity(columns.len()),
            Vec::with_capacity(columns.len()),
        );
        for (column, constant) in columns.iter().zip(constants) {
            let Some(operand) = self.operand(column)? else {
                return Ok(None);
            };
            let Some(constant) = self.constants.fold(constant)? else {
                return Ok(None);
            };
            match operand.coerce(constant, &self.constants)? {
                Coerced::Value(value) if operand.is_plain() => {
                    positions.push(operand.column);
                    values.push(value);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some((positions, values)))
    }

    fn in_list(&self, whole: &Expr, value: &Expr, list: &[Expr]) -> Result<Predicate> {
        if let Some(columns) = tuple(value) {
            return self.row_in(whole, columns, list);
        }
        let Some(operand) = self.operand(value)? else {
            return self.opaque_with(whole, value);
        };
        let mut constants = Vec::with_capacity(list.len());
        let mut alternatives = Vec::new();
        for item in list {
            match self.constants.fold(item)? {
                Some(constant) => constants.push(constant),
                None => alternatives.push(self.opaque_with(whole, item)?),
            }
        }
        let within = self.within(whole, &operand, constants)?;
        if alternatives.is_empty() {
            return Ok(within);
        }
        alternatives.push(within);
        Ok(Predicate::any(alternatives))
    }

    /// `operand IN (constants)`.
    fn within(&self, whole: &Expr, operand: &Operand, constants: Vec<Value>) -> Result<Predicate> {
        let operand = operand.of_common_type(&constants);
        let mut values = Vec::with_capacity(constants.len());
        let mut others = Vec::new();
        for constant in constants {
            match operand.coerce(constant, &self.constants)? {
                Coerced::Value(value) if operand.is_plain() => values.push(value),
                Coerced::Value(value) => match operand.compare(CompareOp::Eq, value, &self.constants) {
                    Some(equal) => others.push(equal),
                    None => return self.opaque(whole),
                },
                Coerced::Between(low, high) => others.push(Predicate::all(vec![
                    operand.around(CompareOp::Eq, low, high),
                    self.opaque(whole)?,
                ])),
                Coerced::No => return self.opaque(whole),
            }
        }
        let within = Predicate::InList {
            column: operand.column,
            values,
        };
        if others.is_empty() {
            return Ok(within);
        }
        if !matches!(&within, Predicate::InList { values, .. } if values.is_empty()) {
            others.push(within);
        }
        Ok(Predicate::any(others))
    }

    fn row_in(&self, whole: &Expr, columns: &[Expr], list: &[Expr]) -> Result<Predicate> {
        let mut positions = Vec::new();
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let row = match tuple(item) {
                Some(constants) if constants.len() == columns.len() => self.row(columns, constants)?,
                _ => None,
            };
            let Some((columns, values)) = row else {
                return self.opaque(whole);
            };
            positions = columns;
            rows.push(values);
        }
        Ok(Predicate::RowIn {
            columns: positions,
            rows,
        })
    }

    /// `left op ANY (array)` (`any`) or `left op ALL (array)`.
    fn quantified(
        &self,
        whole: &Expr,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        any: bool,
    ) -> Result<Predicate> {
        let (Some(operand), Some(op)) = (self.operand(left)?, compare_op(op)) else {
            return self.opaque(whole);
        };
        let constants = match self.constants.fold(right)? {
            Some(Value::Array(constants)) => constants,
            Some(Value::Unknown(text)) => {
                let array = SqlType::Array(Box::new(operand.literal_type()));
                match Value::parse(&text, &array, &self.constants.format_settings())? {
                    Value::Array(constants) => constants,
                    _ => return self.opaque(whole),
                }
            }
            Some(Value::Null) => return Ok(Predicate::Constant(None)),
            _ => return self.opaque_with(whole, right),
        };
        match (op, any) {
            _ if constants.is_empty() => return Ok(Predicate::Constant(Some(!any))),
            (CompareOp::Eq, true) => return self.within(whole, &operand, constants),
            (CompareOp::NotEq, false) => return Ok(self.within(whole, &operand, constants)?.negate()),
            _ => {}
        }
        let operand = operand.of_common_type(&constants);
        let terms: Vec<_> = constants
            .into_iter()
            .map(|it| self.compare(whole, &operand, op, it))
            .collect::<Result<_>>()?;
        Ok(if any {
            Predicate::any(terms)
        } else {
            Predicate::all(terms)
        })
    }

    fn distinct(&self, whole: &Expr, left: &Expr, right: &Expr, distinct: bool) -> Result<Predicate> {
        let (operand, constant) = match (self.operand(left)?, self.operand(right)?) {
            (Some(operand), None) => (operand, self.constants.fold(right)?),
            (None, Some(operand)) => (operand, self.constants.fold(left)?),
            _ => return self.opaque(whole),
        };
        let Some(constant) = constant else {
            return self.opaque(whole);
        };
        if constant == Value::Null {
            let is_null = Predicate::IsNull {
                column: operand.column,
            };
            return Ok(if distinct { is_null.negate() } else { is_null });
        }
        let child = Box::new(self.compare(whole, &operand, CompareOp::Eq, constant)?);
        Ok(Predicate::Is {
            child,
            truth: Some(true),
            negated: distinct,
        })
    }

    fn truth_test(
        &self,
        whole: &Expr,
        child: &Expr,
        truth: Option<bool>,
        negated: bool,
    ) -> Result<Predicate> {
        match self.condition(child)? {
            Predicate::Opaque { .. } => self.opaque(whole),
            child => Ok(Predicate::Is {
                child: Box::new(child),
                truth,
                negated,
            }),
        }
    }

    fn null_test(&self, whole: &Expr, child: &Expr, negated: bool) -> Result<Predicate> {
        if let Some(items) = tuple(child) {
            // A row is NULL when all its fields are, and NOT NULL when none is.
            let tests: Vec<_> = items
                .iter()
                .map(|item| self.null_test(whole, item, negated))
                .collect::<Result<_>>()?;
            return Ok(Predicate::all(tests));
        }
        if let Some(operand) = self.operand(child)? {
            let is_null = Predicate::IsNull {
                column: operand.column,
            };
            return Ok(if negated { is_null.negate() } else { is_null });
        }
        if let Some(constant) = self.constants.fold(child)? {
            return Ok(Predicate::Constant(Some((constant == Value::Null) != negated)));
        }
        if is_condition(child) {
            self.truth_test(whole, child, None, negated)
        } else {
            self.opaque(whole)
        }
    }

    /// An expression that stands alone: a boolean column or constant.
    fn bare(&self, expr: &Expr) -> Result<Predicate> {
        if let Some(operand) = self.operand(expr)? {
            return match operand.ty {
                SqlType::Bool => Ok(Predicate::IsTrue {
                    column: operand.column,
                }),
                _ => self.opaque(expr),
            };
        }
        match self.constants.fold(expr)? {
            Some(Value::Bool(truth)) => Ok(Predicate::Constant(Some(truth))),
            Some(Value::Null) => Ok(Predicate::Constant(None)),
            Some(Value::Unknown(text)) => {
                match Value::parse(&text, &SqlType::Bool, &self.constants.format_settings())? {
                    Value::Bool(truth) => Ok(Predicate::Constant(Some(truth))),
                    _ => self.opaque(expr),
                }
            }
            _ => self.opaque(expr),
        }
    }

    /// What cannot be expressed, over the columns it names.
    pub(super) fn opaque(&self, expr: &Expr) -> Result<Predicate> {
        let mut named = NamedColumns {
            table: self.table,
            columns: Vec::new(),
        };
        let _ = expr.visit(&mut named);
        named.columns.sort_unstable();
        named.columns.dedup();
        Ok(Predicate::Opaque {
            columns: named.columns,
        })
    }

    /// The same, where one side must at least not be a name that does not exist.
    pub(super) fn opaque_with(&self, whole: &Expr, side: &Expr) -> Result<Predicate> {
        self.operand(side)?;
        self.opaque(whole)
    }
}

/// Collects the table's columns that an expression names anywhere.
struct NamedColumns<'a> {
    table: &'a TableDef,
    columns: Vec<usize>,
}

impl Visitor for NamedColumns<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let ident = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if let Some(column) = ident.and_then(|ident| self.table.column_index(&names::fold(ident))) {
            self.columns.push(column);
        }
        ControlFlow::Continue(())
    }
}

/// The items of `(a, b)` or `ROW(a, b)`.
pub(super) fn tuple(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(items) if items.len() > 1 => Some(items),
        Expr::Nested(inner) => tuple(inner),
        _ => None,
    }
}

/// The comparison that an operator is.
pub(super) fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::NotEq,
        BinaryOperator::Lt => CompareOp::Less,
        BinaryOperator::LtEq => CompareOp::LessEq,
        BinaryOperator::Gt => CompareOp::Greater,
        BinaryOperator::GtEq => CompareOp::GreaterEq,
        _ => return None,
    })
}

/// Whether an expression is a condition by its form, so that `IS NULL` asks for its truth.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or,
            ..
        } => true,
        Expr::BinaryOp { op, .. } => compare_op(op).is_some(),
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            ..
        }
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. } => true,
        Expr::Value(value) => matches!(value.value, Literal::Boolean(_)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "predicate_tests.rs"]
mod tests;
