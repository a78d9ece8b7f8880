//! Arithmetic over numbers, dates, intervals and places in a log. Each finds the operands' common type as PostgreSQL's operator resolution
//! does, or raises `operator does not exist`.

use super::binder::{Binder, Bound};
use super::coercion::{self, CastContext, base, promote, type_name};
use super::operator::no_operator;
use crate::functions::Volatility;
use crate::functions::{self, ArithmeticOp, T, arithmetic, arithmetic_result};
use crate::tree::{self, Expr};
use crate::types::{CatalogType, NumericSize, SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// `left op right` over numbers, dates and intervals.
    pub(super) fn arithmetic(&mut self, op: ArithmeticOp, left: Bound, right: Bound) -> Result<Bound> {
        if let Some(unwritten) = unwritten_of(&left, &right) {
            return Ok(unwritten);
        }
        let (left, right) = self.arithmetic_unknowns(op, left, right)?;
        if let Some(common) = promote(&left.ty, &right.ty) {
            return self.number_arithmetic(op, left, right, &common);
        }
        if let Some(bound) = self.date_arithmetic(op, left.clone(), right.clone())? {
            return Ok(bound);
        }
        if let Some(bound) = self.lsn_arithmetic(op, left.clone(), right.clone())? {
            return Ok(bound);
        }
        Err(no_operator(op.symbol(), &left.ty, &right.ty))
    }

    /// The same of places in a log and bytes.
    fn lsn_arithmetic(&mut self, op: ArithmeticOp, left: Bound, right: Bound) -> Result<Option<Bound>> {
        const LSN: SqlType = SqlType::Catalog(CatalogType::PgLsn);
        let is_lsn = (left.ty == LSN, right.ty == LSN);
        let name = match (op, is_lsn) {
            (ArithmeticOp::Subtract, (true, true)) => "pg_lsn_mi",
            (ArithmeticOp::Subtract, (true, false)) if right.ty.is_number() => "pg_lsn_mii",
            (ArithmeticOp::Add, (true, false)) if right.ty.is_number() => "pg_lsn_pli",
            (ArithmeticOp::Add, (false, true)) if left.ty.is_number() => "numeric_pl_pg_lsn",
            _ => return Ok(None),
        };
        self.resolve_function(name, vec![left, right]).map(Some)
    }

    /// An untyped operand takes the other's type, or interval beside a date or time of which `'1 day'` is added.
    fn arithmetic_unknowns(&mut self, op: ArithmeticOp, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        use SqlType as S;
        let unknown = |ty: &S| matches!(ty, S::Unknown | S::Void);
        match (unknown(&left.ty), unknown(&right.ty)) {
            (true, true) => {
                if left.is_null_literal() || right.is_null_literal() {
                    // PostgreSQL calls the operator ambiguous; NULL of an integer is what scripts mean.
                    let left = self.convert(left, &S::Int4, CastContext::Implicit)?;
                    let right = self.convert(right, &S::Int4, CastContext::Implicit)?;
                    return Ok((left, right));
                }
                Err(Error::UndefinedOperator {
                    signature: format!("unknown {} unknown", op.symbol()),
                    ambiguous: true,
                })
            }
            (true, false) | (false, true) if op == ArithmeticOp::Add && is_date_and(&left, &right) => {
                // An integer, an interval or a time may be added to a date.
                Err(Error::UndefinedOperator {
                    signature: format!("{} + {}", type_name(&left.ty), type_name(&right.ty)),
                    ambiguous: true,
                })
            }
            (false, false)
                if op == ArithmeticOp::Add && matches!((&left.ty, &right.ty), (S::Time(_), S::Time(_))) =>
            {
                // Either may be taken for an interval.
                Err(Error::UndefinedOperator {
                    signature: format!("{} + {}", type_name(&left.ty), type_name(&right.ty)),
                    ambiguous: true,
                })
            }
            (true, false) => {
                let target = unknown_partner(op, &right.ty, true);
                Ok((self.convert(left, &target, CastContext::Implicit)?, right))
            }
            (false, true) => {
                let target = unknown_partner(op, &left.ty, false);
                let right = self.convert(right, &target, CastContext::Implicit)?;
                Ok((left, right))
            }
            (false, false) => Ok((left, right)),
        }
    }

    fn number_arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: Bound,
        right: Bound,
        common: &SqlType,
    ) -> Result<Bound> {
        if op == ArithmeticOp::Modulo && matches!(common, SqlType::Float4 | SqlType::Float8) {
            return Err(no_operator("%", &left.ty, &right.ty));
        }
        let (left, right) = if let SqlType::Numeric(_) = common {
            (self.as_numeric(left)?, self.as_numeric(right)?)
        } else {
            (
                self.convert(left, common, CastContext::Implicit)?,
                self.convert(right, common, CastContext::Implicit)?,
            )
        };
        let returns = arithmetic_result(op, &left.ty, &right.ty);
        let definition = (op.symbol(), op.body(), true, Volatility::Immutable);
        let constant = matches!((&left.expr, &right.expr), (Expr::Literal(..), Expr::Literal(..)));
        let arguments = vec![(left.expr, left.ty), (right.expr, right.ty)];
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        if constant && let Ok(folded) = tree::fold_constants(call.clone()) {
            // A long sum of constants stays one constant; one that fails is left to fail where it runs.
            return Ok(Bound::new(folded, returns));
        }
        Ok(Bound::new(call, returns))
    }

    /// A number as the numeric that just holds it.
    pub(super) fn as_numeric(&mut self, bound: Bound) -> Result<Bound> {
        if let SqlType::Numeric(_) = bound.ty {
            return Ok(bound);
        }
        let size = match bound.literal()? {
            // Fewer digits leave more room for what is computed of it.
            Some(Value::Int(number)) => Some(NumericSize {
                precision: number
                    .unsigned_abs()
                    .checked_ilog10()
                    .map_or(1, |log| log as u16 + 1),
                scale: 0,
            }),
            _ => coercion::numeric_size(&bound.ty),
        };
        self.convert(bound, &SqlType::Numeric(size), CastContext::Implicit)
    }

    /// Operators over dates, times and intervals, looked up as functions named by their symbols.
    fn date_arithmetic(&mut self, op: ArithmeticOp, left: Bound, right: Bound) -> Result<Option<Bound>> {
        let exact = |wanted: T, ty: &SqlType| super::overload::matches_type(&wanted, ty);
        let candidates: Vec<_> = functions::functions_named(op.symbol()).collect();
        let pick = candidates
            .iter()
            .find(|row| exact(row.arguments[0], &left.ty) && exact(row.arguments[1], &right.ty))
            .or_else(|| {
                candidates.iter().find(|row| {
                    let fits = |wanted: T, ty: &SqlType| {
                        wanted
                            .sql_type()
                            .is_some_and(|wanted| coercion::implicit(ty, &wanted))
                    };
                    fits(row.arguments[0], &left.ty) && fits(row.arguments[1], &right.ty)
                })
            });
        match pick {
            Some(row) => self.call_function(row, vec![left, right]).map(Some),
            None => Ok(None),
        }
    }

    /// `-x`.
    pub(super) fn negate(&mut self, operand: Bound) -> Result<Bound> {
        use SqlType as S;
        let operand = match operand.ty {
            S::Unknown | S::Void if operand.is_of_unwritten() => {
                let ty = match operand.is_null_literal() {
                    true => S::Int4,
                    false => S::Float8,
                };
                self.convert(operand, &ty, CastContext::Implicit)?
            }
            S::Unknown | S::Void => {
                return Err(Error::UndefinedOperator {
                    signature: "- unknown".to_string(),
                    ambiguous: true,
                });
            }
            _ => operand,
        };
        match operand.ty {
            S::Int2 | S::Int4 | S::Int8 | S::Float4 | S::Float8 | S::Numeric(_) | S::Interval(_) => {}
            _ => {
                return Err(Error::UndefinedOperator {
                    signature: format!("- {}", type_name(&operand.ty)),
                    ambiguous: false,
                });
            }
        }
        if let Some(value) = operand.literal()? {
            let negated = match value {
                Value::Int(number) => number.checked_neg().map(Value::Int),
                Value::Float4(number) => Some(Value::Float4(-number)),
                Value::Float8(number) => Some(Value::Float8(-number)),
                Value::Numeric(number) => Some(Value::Numeric(number.negated())),
                Value::Null => Some(Value::Null),
                _ => None,
            };
            if let Some(negated) = negated {
                return Bound::constant(&negated, operand.ty);
            }
        }
        let definition = ("-", arithmetic::NEGATE, true, Volatility::Immutable);
        let ty = operand.ty.clone();
        let call = tree::call(
            definition,
            vec![(operand.expr, operand.ty)],
            ty.clone(),
            &self.settings,
        );
        Ok(Bound::new(call, ty))
    }
}

/// What an operator gives where neither operand has a type and one is of a column that nobody has written yet: NULL, of no type either.
/// What is computed stays, for it may be an aggregate.
fn unwritten_of(left: &Bound, right: &Bound) -> Option<Bound> {
    let is_parameter = |operand: &Bound| matches!(operand.expr, Expr::Placeholder(_));
    let are_open = [left, right]
        .into_iter()
        .all(|operand| operand.ty == SqlType::Unknown && !is_parameter(operand));
    let unwritten = || {
        [left, right]
            .into_iter()
            .filter(|operand| operand.is_of_unwritten())
    };
    let computed = unwritten().find(|operand| !operand.is_null_literal());
    computed
        .or_else(|| unwritten().next())
        .filter(|_| are_open)
        .cloned()
}

/// Whether one is a date and the other says nothing of what it is. A column that nobody has written yet is a number of days.
fn is_date_and(left: &Bound, right: &Bound) -> bool {
    let is_date = left.ty == SqlType::Date || right.ty == SqlType::Date;
    is_date && !left.is_unwritten() && !right.is_unwritten()
}

/// The type an untyped operand of an arithmetic operator takes beside `other`.
fn unknown_partner(op: ArithmeticOp, other: &SqlType, untyped_is_left: bool) -> SqlType {
    use SqlType as S;
    match (op, other) {
        (ArithmeticOp::Add, S::Date) => S::Int4,
        (ArithmeticOp::Add, S::Timestamp(_) | S::TimestampTz(_) | S::Time(_)) => S::Interval(None),
        (ArithmeticOp::Add | ArithmeticOp::Subtract, S::Interval(_)) if untyped_is_left => S::Interval(None),
        (ArithmeticOp::Multiply | ArithmeticOp::Divide, S::Interval(_)) => S::Float8,
        (ArithmeticOp::Multiply, S::Money) => S::Float8,
        (ArithmeticOp::Add, S::Catalog(CatalogType::PgLsn)) => S::Numeric(None),
        (_, other) => base(other),
    }
}
