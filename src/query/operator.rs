//! Comparisons: each finds the operands' common type as PostgreSQL's operator resolution does, or raises `operator does not exist`.

use super::binder::{Binder, Bound};
use super::coercion::{self, CastContext, Category, base, category, promote, row_without_name, type_name};
use super::same_rows::refuse_unequal;
use crate::functions::Volatility;
use crate::functions::value_array::value_of_scalar;
use crate::functions::{self, compare};
use crate::tree::{self, BinaryExpr, Expr, Operator, ScalarValue};
use crate::types::{CatalogType, Numeric, SqlType, Value, comparable_text, numeric_key};
use crate::{Error, Result};

/// The operator that matches a text of this type: citext matches what it matches in any case.
pub(super) fn matching_symbol<'s>(symbol: &'s str, ty: &SqlType) -> &'s str {
    match (symbol, ty) {
        ("~", SqlType::Citext) => "~*",
        ("!~", SqlType::Citext) => "!~*",
        ("~~", SqlType::Citext) => "~~*",
        ("!~~", SqlType::Citext) => "!~~*",
        _ => symbol,
    }
}

/// A comparison's operator as SQL writes it.
pub(super) fn comparison_symbol(op: Operator) -> &'static str {
    match op {
        Operator::Eq => "=",
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        Operator::IsDistinctFrom => "IS DISTINCT FROM",
        _ => "IS NOT DISTINCT FROM",
    }
}

impl Binder<'_> {
    /// `left op right`, a boolean.
    pub(super) fn compare(&mut self, op: Operator, left: Bound, right: Bound) -> Result<Bound> {
        let is_strict = !matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if is_strict && (self.stays_open(&left, &right) || self.stays_open(&right, &left)) {
            return Bound::constant(&Value::Null, SqlType::Bool);
        }
        let (left, right) = self.comparable(comparison_symbol(op), left, right)?;
        let is_null = |side: &Expr| matches!(side, Expr::Literal(scalar, _) if scalar.is_null());
        let is_call = |side: &Expr| matches!(side, Expr::ScalarFunction(_));
        if is_strict && (is_null(&left) && is_call(&right) || is_null(&right) && is_call(&left)) {
            // What stands beside NULL is not computed, however it would fail.
            return Bound::constant(&Value::Null, SqlType::Bool);
        }
        Ok(Bound::new(binary(left, op, right), SqlType::Bool))
    }

    /// Whether one operand is a parameter of no type yet, and the other a column that nobody has written yet. It has none then, so that
    /// the statement runs as it is once somebody has.
    fn stays_open(&mut self, parameter: &Bound, column: &Bound) -> bool {
        let Expr::Placeholder(placeholder) = &parameter.expr else {
            return false;
        };
        let is_open =
            parameter.ty == SqlType::Unknown && column.is_unwritten() && column.ty == SqlType::Unknown;
        if is_open {
            self.leave_undecided(&placeholder.id);
        }
        is_open
    }

    /// Both operands as expressions that Arrow's comparison orders as PostgreSQL orders the originals.
    pub(super) fn comparable(&mut self, symbol: &str, left: Bound, right: Bound) -> Result<(Expr, Expr)> {
        let is_xid = |bound: &Bound| bound.ty == SqlType::Catalog(CatalogType::Xid);
        if (is_xid(&left) || is_xid(&right)) && matches!(symbol, "<" | "<=" | ">" | ">=") {
            return Err(no_operator(symbol, &left.ty, &right.ty));
        }
        // The one operator of xid with another type takes an integer at its right.
        let (left, right) = match (is_xid(&left), &right.ty) {
            (true, SqlType::Int2 | SqlType::Int4) => {
                let right = self.convert(right, &SqlType::Oid, CastContext::Implicit)?;
                (Bound::new(left.expr, SqlType::Oid), right)
            }
            _ => (left, right),
        };
        if has_no_comparisons(&left.ty) || has_no_comparisons(&right.ty) {
            return Err(no_operator(symbol, &left.ty, &right.ty));
        }
        let (left, right) = self.cast_operands(left, right)?;
        let (left, right) = match row_without_name(&left.ty, &right.ty) {
            Some(plain) => (self.coerce(left, &plain)?, self.coerce(right, &plain)?),
            None => self.unify(symbol, left, right)?,
        };
        let ty = left.ty.clone();
        Ok((
            self.ordering_operand(left, &right.ty)?,
            self.ordering_operand(right, &ty)?,
        ))
    }

    /// Both operands in the one type in which they compare.
    fn unify(&mut self, symbol: &str, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        use SqlType as S;
        let unknown = |ty: &S| matches!(ty, S::Unknown | S::Void);
        match (unknown(&left.ty), unknown(&right.ty)) {
            (true, true) => return Ok((self.with_decided_type(left)?, self.with_decided_type(right)?)),
            (true, false) => {
                let left = self.unknown_operand(left, &right.ty)?;
                return self.unify_numerics(left, right);
            }
            (false, true) => {
                let right = self.unknown_operand(right, &left.ty)?;
                return self.unify_numerics(left, right);
            }
            (false, false) => {}
        }
        if is_timestamp(&left.ty) && is_integer(&right.ty) {
            let right = self.timestamp_of_milliseconds(right, &left.ty)?;
            return Ok((left, right));
        }
        if is_timestamp(&right.ty) && is_integer(&left.ty) {
            let left = self.timestamp_of_milliseconds(left, &right.ty)?;
            return Ok((left, right));
        }
        if let Some(number) = promote(&left.ty, &right.ty) {
            return self.unify_numbers(left, right, &number);
        }
        check_arrays(symbol, &left.ty, &right.ty)?;
        // "char" has no operators with other types; it becomes text beside any string.
        let (left_char, right_char) = (left.ty == S::InternalChar, right.ty == S::InternalChar);
        if left_char && right.ty.is_string() || right_char && left.ty.is_string() {
            return Ok((
                self.convert(left, &S::Text, CastContext::Implicit)?,
                self.convert(right, &S::Text, CastContext::Implicit)?,
            ));
        }
        // varchar beside char(n) compares as char(n) does, without the blanks at its end.
        match (&left.ty, &right.ty) {
            (S::Char(_), S::Varchar(_)) => {
                return Ok((left, Bound::new(right.expr, S::Char(None))));
            }
            (S::Varchar(_), S::Char(_)) => {
                return Ok((Bound::new(left.expr, S::Char(None)), right));
            }
            _ => {}
        }
        if let (S::Time(_), S::Interval(_)) | (S::Interval(_), S::Time(_)) = (&left.ty, &right.ty) {
            return Ok((
                self.convert(left, &S::Interval(None), CastContext::Implicit)?,
                self.convert(right, &S::Interval(None), CastContext::Implicit)?,
            ));
        }
        let pair_exists = (category(&left.ty) == category(&right.ty)
            && !matches!(category(&left.ty), Category::Other | Category::Array))
            || base(&left.ty) == base(&right.ty);
        if let (Some(a), Some(b)) = (left.ty.item_type(), right.ty.item_type()) {
            if let Some(common) = coercion::common_type(&[a.clone(), b.clone()]) {
                let array = S::array(common);
                return Ok((
                    self.convert(left, &array, CastContext::Implicit)?,
                    self.convert(right, &array, CastContext::Implicit)?,
                ));
            }
        } else if pair_exists && left.ty != S::Json {
            let common = match compared_type(&left.ty, &right.ty) {
                Some(S::Text | S::Varchar(_) | S::Name) => S::Text,
                Some(common) => common,
                None => return Err(no_operator(symbol, &left.ty, &right.ty)),
            };
            if matches!(common, S::Char(_)) {
                return Ok((left, right));
            }
            return Ok((
                self.convert(left, &common, CastContext::Implicit)?,
                self.convert(right, &common, CastContext::Implicit)?,
            ));
        }
        Err(no_comparison(symbol, &left.ty, &right.ty))
    }

    /// An untyped literal beside an operand of type `other`.
    fn unknown_operand(&mut self, literal: Bound, other: &SqlType) -> Result<Bound> {
        match other {
            SqlType::Json => Err(no_operator("=", other, &SqlType::Unknown)),
            // As long as a name may be.
            SqlType::Name => {
                let name = self.convert(literal, &SqlType::Name, CastContext::Implicit)?;
                Ok(Bound::new(name.expr, SqlType::Text))
            }
            SqlType::Varchar(_) => self.convert(literal, &SqlType::Text, CastContext::Implicit),
            SqlType::Numeric(Some(_)) => {
                let number = self.convert(literal, &SqlType::Numeric(None), CastContext::Implicit)?;
                match exact_literal(&number, other)? {
                    Some(exact) => Ok(exact),
                    None => Ok(number),
                }
            }
            // Padded to the column's width so that it compares as it is stored.
            SqlType::Char(_) => match literal_text(&literal) {
                Some(text) => {
                    let trimmed = text.trim_end_matches(' ').to_string();
                    let padded = self.convert(
                        Bound::unknown(Some(trimmed.clone())),
                        other,
                        CastContext::Explicit,
                    )?;
                    if literal_text(&padded).is_some_and(|padded| padded.trim_end_matches(' ') == trimmed) {
                        return Ok(padded);
                    }
                    Ok(Bound::new(
                        Bound::unknown(Some(trimmed)).expr,
                        SqlType::Char(None),
                    ))
                }
                None if literal.is_null_literal() => self.convert(literal, other, CastContext::Implicit),
                // What is longer than the column equals none of its values, and is no error.
                None => self.convert(literal, &SqlType::Char(None), CastContext::Implicit),
            },
            other => self.convert(literal, &base(other), CastContext::Implicit),
        }
    }

    /// Two operands, of which numerics of different sizes become one type.
    fn unify_numerics(&mut self, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        match (&left.ty, &right.ty) {
            (SqlType::Numeric(_), SqlType::Numeric(_)) => {
                let common = coercion::common_numeric(&left.ty, &right.ty);
                self.unify_numbers(left, right, &common)
            }
            _ => Ok((left, right)),
        }
    }

    /// Two numbers in one type. A constant that the other operand's type holds exactly takes that type, so that the
    /// column stays bare and can bound a key; otherwise both take the common type.
    fn unify_numbers(&mut self, left: Bound, right: Bound, common: &SqlType) -> Result<(Bound, Bound)> {
        if left.ty == right.ty {
            return Ok((left, right));
        }
        if let Some(exact) = exact_literal(&right, &left.ty)? {
            return Ok((left, exact));
        }
        if let Some(exact) = exact_literal(&left, &right.ty)? {
            return Ok((exact, right));
        }
        Ok((
            self.convert(left, common, CastContext::Implicit)?,
            self.convert(right, common, CastContext::Implicit)?,
        ))
    }

    /// An integer beside a timestamp counts milliseconds since 1970-01-01 UTC.
    pub(super) fn timestamp_of_milliseconds(&mut self, integer: Bound, ty: &SqlType) -> Result<Bound> {
        if let Some(Value::Int(milliseconds)) = integer.literal()? {
            return Bound::constant(&compare::epoch_timestamp(milliseconds, ty)?, ty.clone());
        }
        if integer.is_null_literal() {
            return Bound::constant(&Value::Null, ty.clone());
        }
        let definition = ("epoch_ms", compare::EPOCH_MS, true, Volatility::Immutable);
        let call = tree::call(
            definition,
            vec![(integer.expr, integer.ty)],
            ty.clone(),
            &self.settings,
        );
        Ok(Bound::new(call, ty.clone()))
    }

    /// An expression that rows are ordered by, as Arrow must see it to order them as PostgreSQL does.
    pub(super) fn order_key(&mut self, bound: Bound) -> Result<Expr> {
        let ty = bound.ty.clone();
        self.ordering_operand(bound, &ty)
    }

    /// The operand as Arrow must see it to order it as PostgreSQL does.
    fn ordering_operand(&mut self, bound: Bound, other: &SqlType) -> Result<Expr> {
        match (&bound.ty, bound.literal()?) {
            (SqlType::Float4, Some(Value::Float4(number))) => {
                return Ok(Bound::constant(&Value::Float4(compare::order_f32(number)), bound.ty)?.expr);
            }
            (SqlType::Float8, Some(Value::Float8(number))) => {
                return Ok(Bound::constant(&Value::Float8(compare::order_f64(number)), bound.ty)?.expr);
            }
            (ty, Some(value)) if ty.is_variable_numeric() => return numeric_key_of(&value),
            (SqlType::Citext, Some(Value::Text(text))) => {
                let lower = Value::Text(comparable_text(&SqlType::Citext, &text).into_owned());
                return Ok(Bound::constant(&lower, SqlType::Text)?.expr);
            }
            _ => {}
        }
        // Two columns of different widths; a literal has been padded.
        if matches!(&bound.ty, SqlType::Char(n) if !matches!(other, SqlType::Char(m) if n == m)) {
            return Ok(self.call_on(compare::TRIM_CHAR_NAME, compare::TRIM_CHAR, bound, None));
        }
        Ok(match functions::order_function(&bound.ty) {
            Some((name, body, key)) => self.call_on(name, body, bound, Some(key)),
            None => bound.expr,
        })
    }

    fn call_on(&self, name: &str, body: functions::Body, bound: Bound, returns: Option<SqlType>) -> Expr {
        let returns = returns.unwrap_or_else(|| bound.ty.clone());
        let definition = (name, body, true, Volatility::Immutable);
        tree::call(definition, vec![(bound.expr, bound.ty)], returns, &self.settings)
    }
}

/// Arrays compare with those of the same elements alone, however wide these are. Errors: 42883.
fn check_arrays(symbol: &str, left: &SqlType, right: &SqlType) -> Result<()> {
    let (SqlType::Array(_), SqlType::Array(_)) = (left, right) else {
        return Ok(());
    };
    match type_name(left.innermost()) == type_name(right.innermost()) {
        true => refuse_unequal(left.innermost()),
        false => Err(no_operator(symbol, left, right)),
    }
}

/// Whether PostgreSQL compares no values of the type, not even with a constant.
fn has_no_comparisons(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Catalog(CatalogType::Void | CatalogType::JsonPath))
}

/// The type in which two values compare that are no numbers: text beside any other string.
pub(super) fn compared_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    match (left, right) {
        (SqlType::Text, other) | (other, SqlType::Text) if other.is_string() => Some(SqlType::Text),
        // Without regard to case with its like alone.
        (SqlType::Citext, other) | (other, SqlType::Citext)
            if other.is_string() && !matches!(other, SqlType::Citext | SqlType::Unknown) =>
        {
            Some(SqlType::Text)
        }
        _ => coercion::common_type(&[left.clone(), right.clone()]),
    }
}

/// Operands that do not compare. Of macaddr and macaddr8 each converts into the other, so that there are two comparisons.
fn no_comparison(symbol: &str, left: &SqlType, right: &SqlType) -> Error {
    let are_macs =
        matches!((left, right), (SqlType::Packed(a), SqlType::Packed(b)) if a.is_mac() && b.is_mac());
    match no_operator(symbol, left, right) {
        Error::UndefinedOperator { signature, .. } if are_macs => Error::UndefinedOperator {
            signature,
            ambiguous: true,
        },
        error => error,
    }
}

/// A constant in another number type, when that type holds it exactly.
fn exact_literal(constant: &Bound, ty: &SqlType) -> Result<Option<Bound>> {
    let Expr::Literal(scalar, _) = &constant.expr else {
        return Ok(None);
    };
    let value = value_of_scalar(scalar, &constant.ty)?;
    let whole = match &value {
        Value::Null => return Ok(Some(Bound::constant(&Value::Null, ty.clone())?)),
        Value::Int(number) => Some(Numeric::from_i64(*number)),
        Value::Numeric(number) => Some(number.clone()),
        _ => None,
    };
    let Some(number) = whole else { return Ok(None) };
    match ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            let (Some(low), Some(high)) = (number.floor(), number.ceil()) else {
                return Ok(None);
            };
            let limit: i128 = match ty {
                SqlType::Int2 => 1 << 15,
                SqlType::Int4 => 1 << 31,
                _ => 1 << 63,
            };
            match i64::try_from(low) {
                Ok(fits) if low == high && (-limit..limit).contains(&low) => {
                    Ok(Some(Bound::constant(&Value::Int(fits), ty.clone())?))
                }
                _ => Ok(None),
            }
        }
        SqlType::Numeric(_) => {
            let scale = ty.fixed_size().map(|size| size.shown_scale());
            Ok(match scale.and_then(|scale| number.exactly_at(scale)) {
                Some(_) => Bound::constant(&Value::Numeric(number), ty.clone()).ok(),
                None => None,
            })
        }
        _ => Ok(None),
    }
}

/// The constant that a comparison sees of a numeric of variable length.
fn numeric_key_of(value: &Value) -> Result<Expr> {
    let key = match value {
        Value::Numeric(number) => {
            let mut bytes = Vec::new();
            number.put_bytes(&mut bytes);
            Some(numeric_key(&bytes).to_vec())
        }
        _ => None,
    };
    Ok(Expr::Literal(ScalarValue::Binary(key), None))
}

fn literal_text(bound: &Bound) -> Option<String> {
    match &bound.expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text.clone()),
        _ => None,
    }
}

fn is_timestamp(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Timestamp(_) | SqlType::TimestampTz(_))
}

fn is_integer(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
}

/// Two operands.
pub(super) fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// 42883 for an operator over these types.
pub(super) fn no_operator(symbol: &str, left: &SqlType, right: &SqlType) -> Error {
    Error::UndefinedOperator {
        signature: format!("{} {symbol} {}", type_name(left), type_name(right)),
        ambiguous: false,
    }
}
