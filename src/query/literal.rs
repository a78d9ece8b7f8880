//! Constants and casts: literals of every form, typed literals, intervals, `CAST` with the modifiers of its type.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place};
use super::coercion::CastContext;
use crate::parse::assignment_cast::as_assigned;
use crate::parse::interval_literal;
use crate::parse::type_name::reduced_digits;
use crate::query::type_name::{NamedType, named_type_in};
use crate::system::StatementContext;
use crate::types::{NumericSize, SqlType, Value, number_value};
use crate::{Error, Result};

impl Binder<'_> {
    /// `DATE '2024-02-29'`: a constant whose type is written before it.
    pub(super) fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Bound> {
        let text = typed.value.value.clone().into_string().unwrap_or_default();
        let NamedType { ty, domain } = self.written_type(&typed.data_type)?;
        let bound = self.convert(Bound::unknown(Some(text)), &ty, CastContext::Explicit)?;
        match domain {
            Some(domain) => self.of_domain(bound, &domain),
            None => Ok(bound),
        }
    }

    /// The type that a name in the statement means, with a warning of digits that it cannot have.
    pub(super) fn written_type(&self, data_type: &ast::DataType) -> Result<NamedType> {
        warn_of_digits(self.ctx, data_type);
        named_type_in(self.ctx, data_type, &self.search_path)
    }

    /// A literal of SQL text.
    pub(super) fn literal(&mut self, value: &ast::Value) -> Result<Bound> {
        use ast::Value as V;
        if let Some(text) = string_literal(value) {
            return Ok(Bound::unknown(Some(text.clone())));
        }
        match value {
            V::Number(text, _) => number_literal(text),
            V::Boolean(flag) => Bound::constant(&Value::Bool(*flag), SqlType::Bool),
            V::Null => Ok(Bound::unknown(None)),
            V::Placeholder(id) => self.parameter(id),
            V::HexStringLiteral(text) => self.bits(format!("x{text}")),
            V::SingleQuotedByteStringLiteral(text) => self.bits(format!("b{text}")),
            other => Err(Error::unsupported(format!("the literal {other}"), None)),
        }
    }

    /// A bit string, in its digits.
    fn bits(&mut self, digits: String) -> Result<Bound> {
        self.convert(
            Bound::unknown(Some(digits)),
            &SqlType::Bit(None),
            CastContext::Explicit,
        )
    }

    /// `INTERVAL '1' YEAR TO MONTH`.
    pub(super) fn interval(&mut self, interval: &ast::Interval, place: Place<'_>) -> Result<Bound> {
        let value = self.expression(&interval.value, place)?;
        self.convert(
            value,
            &interval_literal::sql_type(interval)?,
            CastContext::Explicit,
        )
    }

    /// A cast as it is written, or a value that is assigned.
    pub(super) fn written_cast(&mut self, cast: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        match (as_assigned(cast), cast) {
            (Some(assigned), _) => self.assigned(&assigned, place),
            (None, ast::Expr::Cast { expr, data_type, .. }) => self.cast(expr, data_type, place),
            (None, _) => Err(Error::internal("a cast that is none")),
        }
    }

    fn cast(&mut self, expr: &ast::Expr, data_type: &ast::DataType, place: Place<'_>) -> Result<Bound> {
        let NamedType { ty, domain } = self.written_type(data_type)?;
        let bound = self.cast_to(expr, ty, place)?;
        match domain {
            Some(domain) => self.of_domain(bound, &domain),
            None => Ok(bound),
        }
    }

    fn cast_to(&mut self, expr: &ast::Expr, target: SqlType, place: Place<'_>) -> Result<Bound> {
        if let (ast::Expr::Array(array), SqlType::Array(item)) = (expr, &target) {
            return self.array_cast_to(&array.elem, item, place);
        }
        let bound = self.expression(expr, place)?;
        self.cast_bound(bound, target)
    }

    /// An expression that is written as a cast.
    pub(super) fn cast_bound(&mut self, bound: Bound, target: SqlType) -> Result<Bound> {
        if target == SqlType::Numeric(None) && bound.ty.fixed_size().is_some() {
            // Its values show the digits that they have.
            return Ok(Bound {
                origin: None,
                is_declared: false,
                ..bound
            });
        }
        if target == SqlType::Numeric(None)
            && matches!(bound.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
        {
            // A whole number has no digits behind the point.
            return self.as_numeric(bound);
        }
        let cast = self.convert(bound, &target, CastContext::Explicit)?;
        Ok(cast.declared())
    }
}

/// Warns when a type's name asks for more digits behind the second than there are.
pub(crate) fn warn_of_digits(ctx: &StatementContext, data_type: &ast::DataType) {
    if let Some(message) = reduced_digits(data_type) {
        ctx.warn_of_parameter(message);
    }
}

/// The text of a string literal of any form.
pub(super) fn string_literal(value: &ast::Value) -> Option<&String> {
    use ast::Value as V;
    match value {
        V::SingleQuotedString(text)
        | V::EscapedStringLiteral(text)
        | V::UnicodeStringLiteral(text)
        | V::NationalStringLiteral(text) => Some(text),
        V::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// integer when it fits, else bigint, else numeric; numeric with a point or exponent.
pub(super) fn number_literal(text: &str) -> Result<Bound> {
    let number = match number_value(text)? {
        Value::Numeric(number) => number,
        value => return Bound::constant(&value, value.natural_type()),
    };
    let size = number.scale().and_then(|scale| {
        let digits = number.unscaled_at(scale)?.unsigned_abs();
        let digits = digits.checked_ilog10().map_or(0, |log| log as u16 + 1);
        // The 0 before the point is no digit of its own.
        let size = NumericSize {
            precision: digits.max(scale).max(1),
            scale: i16::try_from(scale).ok()?,
        };
        size.is_fixed().then_some(size)
    });
    Bound::constant(&Value::Numeric(number), SqlType::Numeric(size))
}
