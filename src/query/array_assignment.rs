//! `SET tags[2] = 'x'` and `SET tags[1:2] = '{a,b}'`: the column's array with a part replaced. Called by `function_call` for
//! the call that `parse::subscript_assignment` makes of one.

use sqlparser::ast::{self, AccessExpr, Subscript};

use super::binder::{Binder, Bound, Place};
use super::coercion::{CastContext, base, is_assignable, type_name};
use crate::functions::{self, Volatility};
use crate::parse::subscript_assignment;
use crate::tree;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// How a dimension is given, as the function is told: one subscript, or a slice without some of its limits.
const INDEX: i64 = 0;
const SLICE: i64 = 1;
const LOW_OPEN: i64 = 2;
const HIGH_OPEN: i64 = 4;

impl Binder<'_> {
    /// The whole array as it is after the assignment. `expr`: the call. Errors: 42804, 0A000.
    pub(super) fn array_assignment(&mut self, function: &ast::Function, place: Place<'_>) -> Result<Bound> {
        let broken = || Error::internal("an assignment to a part of an array that is none");
        let call = ast::Expr::Function(function.clone());
        let (root, chain, value) = subscript_assignment::parts(&call).ok_or_else(broken)?;
        let array = self.expression(root, place)?;
        let Some(item) = array
            .ty
            .item_type()
            .filter(|_| matches!(array.ty, SqlType::Array(_)))
        else {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "cannot subscript type {} because it does not support subscripting",
                    type_name(&array.ty)
                ),
                hint: None,
            });
        };
        let is_slice = chain
            .iter()
            .any(|access| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. })));
        let held = widest(&array.ty);
        let dimensions = array.ty.dimensions();
        if chain.len() > dimensions {
            return Err(Error::unsupported(
                "an array of more than one dimension where one of one dimension is held",
                Some("Declare the column with a pair of brackets for each dimension, as in integer[][]."),
            ));
        }
        if is_slice && dimensions > 1 {
            return Err(Error::unsupported(
                "an assignment to a slice of an array of more than one dimension",
                Some("Assign to each item, or to the whole array."),
            ));
        }
        let taken = match is_slice {
            true => held.clone(),
            false => widest(innermost(item)),
        };
        let value = self.assigned_part(value, &taken, root, place)?;
        let array = self.convert(array, &held, CastContext::Implicit)?;
        let mut arguments = vec![(array.expr, held.clone()), (value.expr, taken)];
        for access in chain {
            for limit in self.limits(access, place)? {
                arguments.push((limit.expr, limit.ty));
            }
        }
        let definition = (
            "array_assignment",
            functions::ASSIGN_PART,
            false,
            Volatility::Immutable,
        );
        Ok(Bound::new(
            tree::call(definition, arguments, held.clone(), &self.settings),
            held,
        ))
    }

    /// The value as one of the type that the part holds. Errors: 42804.
    fn assigned_part(
        &mut self,
        value: &ast::Expr,
        taken: &SqlType,
        root: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let bound = self.expression(value, place)?;
        if !is_assignable(&bound.ty, taken) {
            let column = match root {
                ast::Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()),
                _ => None,
            };
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "subscripted assignment to \"{}\" requires type {} but expression is of type {}",
                    column.unwrap_or_default(),
                    type_name(taken),
                    type_name(&bound.ty)
                ),
                hint: Some("You will need to rewrite or cast the expression.".to_string()),
            });
        }
        self.convert(bound, taken, CastContext::Explicit)
    }

    /// What says how a dimension is given, and its two limits.
    fn limits(&mut self, access: &AccessExpr, place: Place<'_>) -> Result<[Bound; 3]> {
        let mut limit = |expr: Option<&ast::Expr>| match expr {
            Some(expr) => {
                let bound = self.expression(expr, place)?;
                self.convert(bound, &SqlType::Int4, CastContext::Implicit)
            }
            None => Bound::constant(&Value::Null, SqlType::Int4),
        };
        let (form, low, high) = match access {
            AccessExpr::Subscript(Subscript::Index { index }) => (INDEX, limit(None)?, limit(Some(index))?),
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) => {
                let mut form = SLICE;
                form |= if lower_bound.is_none() { LOW_OPEN } else { 0 };
                form |= if upper_bound.is_none() { HIGH_OPEN } else { 0 };
                (form, limit(lower_bound.as_ref())?, limit(upper_bound.as_ref())?)
            }
            _ => return Err(Error::unsupported("a slice with a stride", None)),
        };
        Ok([Bound::constant(&Value::Int(form), SqlType::Int4)?, low, high])
    }
}

/// The type without the length and scale of its items: they are checked when the column is given the whole array.
fn widest(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Array(item) => SqlType::Array(Box::new(widest(item))),
        SqlType::Char(_) => SqlType::Text,
        ty => base(ty),
    }
}

fn innermost(ty: &SqlType) -> &SqlType {
    match ty {
        SqlType::Array(item) => innermost(item),
        ty => ty,
    }
}
