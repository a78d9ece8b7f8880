//! Constructs that are syntax for a call: `EXTRACT`, `SUBSTRING … FROM`, `AT TIME ZONE` …

use sqlparser::ast;

use super::binder::{Binder, Bound, Place};
use crate::parse::trim;
use crate::tree::Expr;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Whether it is such a construct.
pub(super) fn is_spelt(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    matches!(
        expr,
        E::Extract { .. }
            | E::Ceil { .. }
            | E::Floor { .. }
            | E::Position { .. }
            | E::Substring { .. }
            | E::Overlay { .. }
            | E::Trim { .. }
            | E::IsNormalized { .. }
            | E::AtTimeZone { .. }
    )
}

impl Binder<'_> {
    /// Constructs that are syntax for a call.
    pub(super) fn function_syntax(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        match expr {
            E::Extract { field, expr, .. } => {
                let text = Bound::constant(&Value::Text(unit(field)), SqlType::Text)?;
                let argument = self.expression(expr, place)?;
                self.resolve_function("extract", vec![text, argument])
            }
            E::Ceil { expr: operand, .. } | E::Floor { expr: operand, .. } => {
                let name = if matches!(expr, E::Ceil { .. }) {
                    "ceil"
                } else {
                    "floor"
                };
                let argument = self.expression(operand, place)?;
                self.resolve_function(name, vec![argument])
            }
            E::Position { expr, r#in } => {
                let (part, whole) = (self.expression(expr, place)?, self.expression(r#in, place)?);
                self.resolve_function("position", vec![whole, part])
            }
            E::Substring {
                expr,
                substring_from,
                substring_for,
                shorthand,
                ..
            } => {
                let mut arguments = vec![self.expression(expr, place)?];
                match substring_from {
                    Some(from) => arguments.push(self.expression(from, place)?),
                    None => arguments.push(Bound::constant(&Value::Int(1), SqlType::Int4)?),
                }
                if let Some(length) = substring_for {
                    arguments.push(self.expression(length, place)?);
                }
                let name = if *shorthand { "substr" } else { "substring" };
                self.resolve_function(name, arguments)
            }
            E::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                let parts = [expr, overlay_what, overlay_from].into_iter().chain(overlay_for);
                let arguments: Result<Vec<Bound>> = parts.map(|part| self.expression(part, place)).collect();
                self.resolve_function("overlay", arguments?)
            }
            E::Trim { .. } => self.trim(expr, place),
            E::IsNormalized { expr, form, negated } => {
                let mut arguments = vec![self.expression(expr, place)?];
                if let Some(form) = form {
                    arguments.push(Bound::constant(&Value::Text(form.to_string()), SqlType::Text)?);
                }
                let is_normalized = self.resolve_function("is_normalized", arguments)?;
                match negated {
                    true => Ok(Bound::new(Expr::Not(Box::new(is_normalized.expr)), SqlType::Bool)),
                    false => Ok(is_normalized),
                }
            }
            E::AtTimeZone { timestamp, time_zone } => {
                let timestamp = self.expression(timestamp, place)?;
                let zone = self.expression(time_zone, place)?;
                self.resolve_function("timezone", vec![zone, timestamp])
            }
            other => Err(Error::unsupported(format!("the expression {other}"), None)),
        }
    }

    fn trim(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        let ast::Expr::Trim {
            trim_where,
            trim_what,
            expr,
            ..
        } = expr
        else {
            return Err(Error::internal("a TRIM that is none"));
        };
        let parts = std::iter::once(expr).chain(trim_what);
        let arguments: Result<Vec<Bound>> = parts.map(|part| self.expression(part, place)).collect();
        self.resolve_function(trim::function_name(*trim_where), arguments?)
    }
}

/// What EXTRACT names, without the quotes that may stand around it.
fn unit(field: &ast::DateTimeField) -> String {
    match field {
        ast::DateTimeField::Custom(ident) => ident.value.to_lowercase(),
        field => field.to_string().to_lowercase(),
    }
}
