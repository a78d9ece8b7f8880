//! Frames of windows: their ends, and what a RANGE frame reaches. Called by `window`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::coercion::{CastContext, implicit, type_name};
use super::operator::binary;
use crate::error::StatementFault;
use crate::functions::ArithmeticOp;
use crate::tree::{
    Case, Expr, FrameBound, FrameExclusion, FrameOffset, FrameUnits, Operator, ValueReach, WindowFrame,
    fold_constants,
};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A key of a window's order, before it is what Arrow compares.
pub(super) struct WindowKey {
    pub(super) bound: Bound,
    pub(super) ascending: bool,
}

/// An end of a frame as it is bound.
#[derive(Clone, Copy)]
struct End {
    is_start: bool,
    precedes: bool,
}

impl Binder<'_> {
    /// A frame over rows in this order. `exclusion`: the word of EXCLUDE. Errors: 42P20, 22013, 22004, 42P10, 0A000 as in PostgreSQL.
    pub(super) fn frame(
        &mut self,
        (frame, exclusion): (&ast::WindowFrame, Option<&str>),
        keys: &[WindowKey],
        place: Place<'_>,
    ) -> Result<WindowFrame> {
        check_ends(frame)?;
        let units = match frame.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let start = self.bound(&frame.start_bound, (units, true), keys, place)?;
        let end = match &frame.end_bound {
            Some(bound) => self.bound(bound, (units, false), keys, place)?,
            None => FrameBound::CurrentRow,
        };
        let exclusion = match exclusion {
            Some("CURRENT") => FrameExclusion::CurrentRow,
            Some("GROUP") => FrameExclusion::Group,
            Some("TIES") => FrameExclusion::Ties,
            _ => FrameExclusion::NoOthers,
        };
        Ok(WindowFrame {
            exclusion,
            ..WindowFrame::new_bounds(units, start, end)
        })
    }

    fn bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        (units, is_start): (FrameUnits, bool),
        keys: &[WindowKey],
        place: Place<'_>,
    ) -> Result<FrameBound> {
        use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
        let (expr, precedes) = match bound {
            CurrentRow => return Ok(FrameBound::CurrentRow),
            Preceding(None) => return Ok(FrameBound::UnboundedPreceding),
            Following(None) => return Ok(FrameBound::UnboundedFollowing),
            Preceding(Some(expr)) => (expr, true),
            Following(Some(expr)) => (expr, false),
        };
        let end = End { is_start, precedes };
        // The parser takes a string here for an interval.
        let expr = match expr.as_ref() {
            ast::Expr::Interval(interval) if is_bare(interval) => interval.value.as_ref(),
            other => other,
        };
        let offset = self.expression(expr, place)?;
        if !offset.expr.column_refs().is_empty() {
            let message = format!("argument of {units} must not contain variables");
            return Err(fault(StatementFault::InvalidColumnReference, message));
        }
        let offset = match (units, keys) {
            (FrameUnits::Range, [key]) => self.reach(offset, key, end)?,
            (FrameUnits::Range, _) => {
                let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
                return Err(fault(StatementFault::Windowing, message));
            }
            _ => self.row_offset(offset, units, end)?,
        };
        Ok(match precedes {
            true => FrameBound::Preceding(offset),
            false => FrameBound::Following(offset),
        })
    }

    /// A number of rows or groups.
    fn row_offset(&mut self, offset: Bound, units: FrameUnits, end: End) -> Result<FrameOffset> {
        use SqlType as S;
        let is_number = matches!(
            offset.ty,
            S::Int2 | S::Int4 | S::Int8 | S::Numeric(_) | S::Float4 | S::Float8 | S::Unknown | S::Void
        );
        if !is_number {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "argument of {units} must be type bigint, not type {}",
                    type_name(&offset.ty)
                ),
                hint: None,
            });
        }
        let offset = self.convert(offset, &S::Int8, CastContext::Explicit)?;
        let offset = Bound::new(fold_constants(offset.expr)?, S::Int8);
        match offset.literal()? {
            Some(Value::Null) => return Err(FrameOffset::null(end.is_start)),
            Some(Value::Int(count)) => drop(FrameOffset::rows(count, end.is_start)?),
            _ => {}
        }
        Ok(FrameOffset {
            count: offset.expr,
            reach: None,
        })
    }

    /// What is added to the key, or taken from it, and what comes of that.
    fn reach(&mut self, offset: Bound, key: &WindowKey, end: End) -> Result<FrameOffset> {
        // What has no type is of the key's, where integers are added as what holds any sum of them.
        let is_open = matches!(offset.ty, SqlType::Unknown | SqlType::Void);
        let offset = match is_open && key.bound.ty.is_integer() {
            true => self.convert(offset, &key.bound.ty, CastContext::Implicit)?,
            false => offset,
        };
        let (key_type, offset_type) = range_types(&key.bound.ty, &offset.ty)?;
        let ascending = key.ascending;
        let key = self.convert(key.bound.clone(), &key_type, CastContext::Implicit)?;
        let given = self.convert(offset, &offset_type, CastContext::Implicit)?;
        let offset = Bound::new(fold_constants(given.expr)?, offset_type.clone());
        if offset.is_null_literal() {
            return Err(FrameOffset::null(end.is_start));
        }
        let op = match end.precedes == ascending {
            true => ArithmeticOp::Subtract,
            false => ArithmeticOp::Add,
        };
        let limit = self.arithmetic(op, key.clone(), offset.clone())?;
        let limit = self.endless_limit((key.clone(), &key_type), limit, end.is_start == ascending)?;
        let is_negative = self.is_below_zero(offset.clone())?;
        let reach = ValueReach {
            key: self.order_key(key)?,
            limit: self.order_key(limit)?,
            is_negative,
        };
        Ok(FrameOffset {
            count: offset.expr,
            reach: Some(Box::new(reach)),
        })
    }

    /// Infinity is as far from infinity as all numbers are: then the limit is one that they are all within, as in PostgreSQL. `is_low`: they
    /// stand above it.
    fn endless_limit(&mut self, (key, ty): (Bound, &SqlType), limit: Bound, is_low: bool) -> Result<Bound> {
        if !matches!(ty, SqlType::Numeric(_) | SqlType::Float8) {
            return Ok(limit);
        }
        let constant = |binder: &mut Self, text: &str| {
            binder.convert(Bound::unknown(Some(text.to_string())), ty, CastContext::Implicit)
        };
        let nan = constant(self, "NaN")?;
        let end = constant(self, if is_low { "-Infinity" } else { "Infinity" })?;
        let has_no_limit = self.compare(Operator::Eq, limit.clone(), nan.clone())?.expr;
        let is_number = self.compare(Operator::NotEq, key, nan)?.expr;
        let is_endless = binary(has_no_limit, Operator::And, is_number);
        let branch = (Box::new(is_endless), Box::new(end.expr));
        let case = Case::new(None, vec![branch], Some(Box::new(limit.expr)));
        Ok(Bound::new(Expr::Case(case), limit.ty))
    }

    /// Whether an offset is below zero; one that is no number is, too.
    fn is_below_zero(&mut self, offset: Bound) -> Result<Expr> {
        let ty = offset.ty.clone();
        let constant = |binder: &mut Self, text: &str| {
            binder.convert(Bound::unknown(Some(text.to_string())), &ty, CastContext::Implicit)
        };
        let zero = constant(self, "0")?;
        let is_negative = self.compare(Operator::Lt, offset.clone(), zero)?.expr;
        if matches!(ty, SqlType::Interval(_)) {
            return Ok(is_negative);
        }
        let nan = constant(self, "NaN")?;
        let is_nan = self.compare(Operator::Eq, offset, nan)?.expr;
        Ok(binary(is_negative, Operator::Or, is_nan))
    }
}

/// In which types a key and the offset of a RANGE frame are added. Errors: 0A000, there are none.
fn range_types(key: &SqlType, offset: &SqlType) -> Result<(SqlType, SqlType)> {
    use SqlType as S;
    let is_open = matches!(offset, S::Unknown | S::Void);
    let integer = matches!(offset, S::Int2 | S::Int4 | S::Int8);
    let (key_type, offset_type, fits) = match key {
        // Neither bounds the other: the sum of two may be greater than either type holds.
        S::Int2 | S::Int4 | S::Int8 => (S::Numeric(None), S::Numeric(None), integer),
        S::Numeric(_) => (
            S::Numeric(None),
            S::Numeric(None),
            implicit(offset, &S::Numeric(None)),
        ),
        S::Float4 | S::Float8 => (S::Float8, S::Float8, implicit(offset, &S::Float8)),
        S::Date => (
            S::Timestamp(None),
            S::Interval(None),
            implicit(offset, &S::Interval(None)),
        ),
        S::Timestamp(_) | S::TimestampTz(_) => (
            key.clone(),
            S::Interval(None),
            implicit(offset, &S::Interval(None)),
        ),
        S::Time(_) | S::Interval(_) => (
            S::Interval(None),
            S::Interval(None),
            implicit(offset, &S::Interval(None)),
        ),
        other => {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                type_name(other)
            );
            return Err(fault(StatementFault::NotImplemented, message));
        }
    };
    match fits || is_open {
        true => Ok((key_type, offset_type)),
        false => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {}",
                type_name(key),
                type_name(offset)
            ),
            hint: Some("Cast the offset value to an appropriate type.".to_string()),
        }),
    }
}

/// Whether it has no words of an interval's.
fn is_bare(interval: &ast::Interval) -> bool {
    interval.leading_field.is_none() && interval.last_field.is_none() && interval.leading_precision.is_none()
}

/// Errors: 42P20 for ends that contradict one another.
fn check_ends(frame: &ast::WindowFrame) -> Result<()> {
    use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
    let message = match (&frame.start_bound, &frame.end_bound) {
        (Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, Some(Preceding(None))) => "frame end cannot be UNBOUNDED PRECEDING",
        (Following(Some(_)), None) => "frame starting from following row cannot end with current row",
        (CurrentRow, Some(Preceding(_))) => "frame starting from current row cannot have preceding rows",
        (Following(Some(_)), Some(Preceding(_) | CurrentRow)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => return Ok(()),
    };
    Err(fault(StatementFault::Windowing, message))
}
