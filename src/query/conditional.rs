//! CASE; COALESCE, NULLIF, GREATEST and LEAST, as what CASE says. A value that is asked for twice is computed once ([`Binder::once`]).

use sqlparser::ast;

use super::binder::{Binder, Place};
use super::bound::{Bound, are_of_unwritten, declare_alike};
use super::coercion::{self, CastContext, common_type};
use super::once::is_repeatable;
use super::operator::binary;
use super::set_returning::refuse_set_in;
use crate::tree::{Case, Expr, Operator};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        place: Place<'_>,
    ) -> Result<Bound> {
        let operand = operand
            .map(|operand| self.expression(operand, place))
            .transpose()?;
        let (mut tests, mut results) = (Vec::new(), Vec::new());
        for branch in conditions {
            tests.push(self.expression(&branch.condition, place)?);
            results.push(self.expression(&branch.result, place)?);
        }
        if let Some(otherwise) = otherwise {
            results.push(self.expression(otherwise, place)?);
        }
        // As in PostgreSQL ELSE is asked first.
        let mut asked = results.clone();
        asked.rotate_right(usize::from(otherwise.is_some()));
        let ty = self.common_type_of("CASE", &asked)?;
        let is_declared = otherwise.is_some() && declare_alike(&asked, &ty);
        let is_of_unwritten = are_of_unwritten(&asked);
        let mut results = results
            .into_iter()
            .map(|result| Ok(self.convert(result, &ty, CastContext::Implicit)?.expr))
            .collect::<Result<Vec<_>>>()?;
        let otherwise = match otherwise {
            Some(_) => results.pop().map(Box::new),
            None => None,
        };
        if let Some(operand) = &operand {
            refuse_set_in("CASE", &operand.expr)?;
        }
        let case = |binder: &mut Self, operand: Option<Bound>| {
            let tests = tests.into_iter().map(|test| match &operand {
                Some(operand) => Ok(binder.compare(Operator::Eq, operand.clone(), test)?.expr),
                None => binder.coerce_boolean(test, "CASE/WHEN"),
            });
            let tests = tests.collect::<Result<Vec<_>>>()?;
            let branches = tests.into_iter().map(Box::new);
            let branches = branches.zip(results.into_iter().map(Box::new)).collect();
            let case = Expr::Case(Case::new(None, branches, otherwise));
            refuse_set_in("CASE", &case).map(|()| case)
        };
        let case = match operand {
            Some(operand) => self.once(operand, |binder, operand| case(binder, Some(operand))),
            None => case(self, None),
        };
        Ok(Bound {
            is_declared,
            ..Bound::new(case?, ty)
        }
        .open_if(is_of_unwritten))
    }

    pub(super) fn coalesce(&mut self, arguments: Vec<Bound>) -> Result<Bound> {
        let ty = self.common_type_of("COALESCE", &arguments)?;
        let is_declared = declare_alike(&arguments, &ty);
        let is_of_unwritten = are_of_unwritten(&arguments);
        let mut items = arguments
            .into_iter()
            .map(|bound| self.convert(bound, &ty, CastContext::Implicit))
            .collect::<Result<Vec<_>>>()?;
        let last = items.pop().ok_or_else(nothing_between)?;
        if items.is_empty() {
            return Ok(last.computed().open_if(is_of_unwritten));
        }
        for item in items.iter().chain([&last]) {
            refuse_set_in("COALESCE", &item.expr)?;
        }
        Ok(Bound {
            is_declared,
            ..Bound::new(self.first_not_null(items, last.expr)?, ty)
        }
        .open_if(is_of_unwritten))
    }

    /// The first of the items that is not NULL, or the last value.
    pub(super) fn first_not_null(&mut self, items: Vec<Bound>, last: Expr) -> Result<Expr> {
        let mut branches = Vec::new();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            if is_repeatable(&item.expr) {
                branches.push(kept_unless_null(item.expr));
                continue;
            }
            let rest: Vec<Bound> = items.collect();
            let chosen = self.once(item, |binder, item| {
                let otherwise = match rest.is_empty() {
                    true => last,
                    false => binder.first_not_null(rest, last)?,
                };
                let case = Case::new(None, vec![kept_unless_null(item.expr)], Some(Box::new(otherwise)));
                Ok(Expr::Case(case))
            })?;
            return Ok(match branches.is_empty() {
                true => chosen,
                false => Expr::Case(Case::new(None, branches, Some(Box::new(chosen)))),
            });
        }
        Ok(Expr::Case(Case::new(None, branches, Some(Box::new(last)))))
    }

    pub(super) fn nullif(&mut self, arguments: Vec<Bound>) -> Result<Bound> {
        let Ok([first, second]) = <[Bound; 2]>::try_from(arguments) else {
            return Err(Error::UndefinedFunction {
                signature: "nullif()".to_string(),
                hint: None,
            });
        };
        let is_of_unwritten = first.is_of_unwritten() && second.ty == SqlType::Unknown;
        let first = self.decided_beside(first, &second)?;
        let (is_declared, mut ty) = (first.is_declared, first.ty.clone());
        let expr = self.once(first, |binder, first| {
            let equal = binder.compare(Operator::Eq, first.clone(), second.clone())?;
            let first = binder.operand_of_equality(first, &second.ty)?;
            ty = first.ty.clone();
            let null = coercion::null_of(&first.ty)?;
            let case = Case::new(
                None,
                vec![(Box::new(equal.expr), Box::new(null))],
                Some(Box::new(first.expr)),
            );
            Ok(Expr::Case(case))
        })?;
        Ok(Bound {
            is_declared,
            ..Bound::new(expr, ty)
        }
        .open_if(is_of_unwritten))
    }

    /// What `=` compares with a value of the other type: a number of another type widens it.
    fn operand_of_equality(&mut self, operand: Bound, other: &SqlType) -> Result<Bound> {
        match coercion::promote(&operand.ty, other) {
            // An integer keeps its digits as a numeric.
            Some(SqlType::Numeric(_)) => self.as_numeric(operand),
            // Integers of two widths, and floats, compare as they are.
            Some(SqlType::Float8) if !operand.ty.is_float() => {
                self.convert(operand, &SqlType::Float8, CastContext::Implicit)
            }
            _ if matches!(operand.ty, SqlType::Varchar(_)) && !matches!(other, SqlType::Char(_)) => {
                self.convert(operand, &SqlType::Text, CastContext::Implicit)
            }
            _ => Ok(operand),
        }
    }

    pub(super) fn decided_beside(&mut self, bound: Bound, other: &Bound) -> Result<Bound> {
        match (&bound.ty, &other.ty) {
            (SqlType::Unknown, SqlType::Unknown) => self.with_decided_type(bound),
            (SqlType::Unknown, ty) => {
                let ty = common_type(&[SqlType::Unknown, ty.clone()]).unwrap_or_else(|| ty.clone());
                self.convert(bound, &ty, CastContext::Implicit)
            }
            _ => Ok(bound),
        }
    }

    /// GREATEST and LEAST: NULLs do not take part.
    pub(super) fn extreme(&mut self, name: &str, arguments: Vec<Bound>) -> Result<Bound> {
        let ty = self.common_type_of(&name.to_uppercase(), &arguments)?;
        let is_declared = declare_alike(&arguments, &ty);
        let is_of_unwritten = are_of_unwritten(&arguments);
        let items = arguments
            .into_iter()
            .map(|bound| self.convert(bound, &ty, CastContext::Implicit))
            .collect::<Result<Vec<_>>>()?;
        let op = match name {
            "greatest" => Operator::GtEq,
            _ => Operator::LtEq,
        };
        let mut items = items.into_iter();
        let mut best = items.next().ok_or_else(nothing_between)?;
        for item in items {
            let better = self.both_once([best, item], |binder, both| binder.better_of(op, both))?;
            best = Bound::new(better, ty.clone());
        }
        Ok(Bound { is_declared, ..best }.open_if(is_of_unwritten))
    }

    /// The first value where the comparison with the second holds, or the second is NULL; else the second.
    fn better_of(&mut self, op: Operator, [first, second]: [Bound; 2]) -> Result<Expr> {
        let wins = self.compare(op, first.clone(), second.clone())?.expr;
        let keep = binary(wins, Operator::Or, Expr::IsNull(Box::new(second.expr.clone())));
        let branch = (Box::new(keep), Box::new(first.expr));
        let otherwise = Some(Box::new(second.expr));
        Ok(Expr::Case(Case::new(None, vec![branch], otherwise)))
    }
}

fn kept_unless_null(expr: Expr) -> (Box<Expr>, Box<Expr>) {
    (Box::new(Expr::IsNotNull(Box::new(expr.clone()))), Box::new(expr))
}

/// `COALESCE()`.
fn nothing_between() -> Error {
    Error::Syntax {
        message: "syntax error at or near \")\"".to_string(),
        position: 0,
    }
}
