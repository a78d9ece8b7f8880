//! `Operand`: a column in a condition, and how constants are given its type by PostgreSQL's rules. Used by `predicate`.

use super::constant::{ConstantContext, date_to_timestamp};
use crate::Result;
use crate::plan::{CompareOp, Predicate};
use crate::types::{Numeric, SqlType, Value};

const DAY_US: i64 = 86_400_000_000;

/// A column, perhaps under a cast.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    /// Position in `TableDef::columns`.
    pub(super) column: usize,
    /// The type that comparisons take place in.
    pub(super) ty: SqlType,
    /// The column's own type.
    column_type: SqlType,
}

/// A constant as an operand takes it.
pub(super) enum Coerced {
    /// Comparing the column with this value is what was asked.
    Value(Value),
    /// What equals the constant lies between these values of the column's type; the condition is still to be evaluated.
    Between(Value, Value),
    /// No operator that is understood here.
    No,
}

impl Operand {
    pub(super) fn new(column: usize, ty: SqlType) -> Operand {
        Operand {
            column,
            column_type: ty.clone(),
            ty,
        }
    }

    /// Whether values of the operand are the column's own (its comparisons are comparisons of the column).
    pub(super) fn is_plain(&self) -> bool {
        !self.is_date_of_timestamp()
    }

    /// The operand under a cast that loses nothing (or a timestamp's date); `None` for any other.
    pub(super) fn cast(self, ty: SqlType) -> Option<Operand> {
        use SqlType as T;
        let harmless = match (&self.ty, &ty) {
            (from, to) if from == to => true,
            (T::Int2, T::Int4 | T::Int8 | T::Numeric(None) | T::Float8)
            | (T::Int4, T::Int8 | T::Numeric(None) | T::Float8)
            | (T::Int8, T::Numeric(None) | T::Float8)
            | (T::Float4, T::Float8)
            | (T::Numeric(_), T::Numeric(None) | T::Float8)
            | (T::Text | T::Varchar(_), T::Text | T::Varchar(None))
            | (T::Date, T::Timestamp) => true,
            (T::Timestamp | T::TimestampTz, T::Date) => self.ty == self.column_type,
            _ => false,
        };
        harmless.then_some(Operand { ty, ..self })
    }

    /// The operand in the type that an IN list of these constants is compared in: one float among numbers makes all of
    /// them floats, one numeric makes string literals numerics.
    pub(super) fn of_common_type(&self, constants: &[Value]) -> Operand {
        let has = |test: fn(&Value) -> bool| constants.iter().any(test);
        let integer = matches!(self.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
        let ty = if (integer || matches!(self.ty, SqlType::Numeric(_) | SqlType::Float4))
            && has(|it| matches!(it, Value::Float8(_)))
        {
            SqlType::Float8
        } else if integer && has(|it| matches!(it, Value::Numeric(_))) {
            SqlType::Numeric(None)
        } else {
            self.ty.clone()
        };
        Operand { ty, ..self.clone() }
    }

    /// The type that a string literal compared with the operand is read as: without a length limit, since PostgreSQL
    /// compares with the value as it is.
    pub(super) fn literal_type(&self) -> SqlType {
        self.ty.comparison_type()
    }

    /// The constant in a form that compares with the operand. Errors: those of reading a string literal as its type.
    pub(super) fn coerce(&self, constant: Value, constants: &ConstantContext<'_>) -> Result<Coerced> {
        use SqlType as T;
        let constant = match constant {
            Value::Unknown(text) => match &self.ty {
                T::Text | T::Varchar(_) | T::Char(_) => return Ok(Coerced::Value(Value::Text(text))),
                T::Numeric(_) => Value::Numeric(Numeric::parse(&text)?),
                T::Json | T::Jsonb | T::Array(_) | T::Int2Vector | T::Regclass | T::InternalChar => {
                    return Ok(Coerced::No);
                }
                ty => Value::parse(&text, ty, &constants.format_settings())?,
            },
            constant => constant,
        };
        Ok(match (&self.ty, constant) {
            (_, Value::Null) => Coerced::Value(Value::Null),
            (
                T::Int2 | T::Int4 | T::Int8 | T::Numeric(_) | T::Float4,
                number @ (Value::Int(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_)),
            ) => Coerced::Value(number),
            (T::Float8, number @ Value::Float8(_)) => Coerced::Value(number),
            (T::Float8, Value::Int(number)) => Coerced::Value(Value::Float8(number as f64)),
            (T::Float8, Value::Numeric(number)) => Coerced::Value(Value::Float8(number.to_f64())),
            (T::Float8, Value::Float4(number)) => Coerced::Value(Value::Float8(f64::from(number))),
            (T::Oid, Value::Int(number)) => Coerced::Value(Value::Int(number)),
            // Lindorm's epoch milliseconds.
            (T::Timestamp, Value::Int(ms)) => ms
                .checked_mul(1000)
                .map_or(Coerced::No, |us| Coerced::Value(Value::Timestamp(us))),
            (T::TimestampTz, Value::Int(ms)) => ms
                .checked_mul(1000)
                .map_or(Coerced::No, |us| Coerced::Value(Value::TimestampTz(us))),
            // A text constant keeps the blanks that char(n) drops.
            (T::Char(_), Value::Text(text)) if text.ends_with(' ') => Coerced::No,
            (T::Text | T::Varchar(_) | T::Char(_) | T::Name, value @ Value::Text(_))
            | (T::Bool, value @ Value::Bool(_))
            | (T::Bytea, value @ Value::Bytes(_))
            | (T::Uuid, value @ Value::Uuid(_))
            | (T::Time, value @ Value::Time(_))
            | (T::Interval, value @ Value::Interval(_))
            | (T::Date, value @ (Value::Date(_) | Value::Timestamp(_)))
            | (T::Timestamp, value @ (Value::Timestamp(_) | Value::Date(_)))
            | (T::TimestampTz, value @ Value::TimestampTz(_)) => Coerced::Value(value),
            (T::TimestampTz, Value::Timestamp(us)) => zoned(constants.local_to_utc(us)),
            (T::TimestampTz, Value::Date(days)) => {
                zoned(date_to_timestamp(days).and_then(|us| constants.local_to_utc(us)))
            }
            (T::Timestamp | T::Date, Value::TimestampTz(us)) => self.against_zoned(us, constants),
            _ => Coerced::No,
        })
    }

    /// `operand op value`, for a value that `coerce` gave. `None`: not understood after all.
    pub(super) fn compare(
        &self,
        op: CompareOp,
        value: Value,
        constants: &ConstantContext<'_>,
    ) -> Option<Predicate> {
        if !self.is_date_of_timestamp() {
            return Some(Predicate::Compare {
                column: self.column,
                op,
                value,
            });
        }
        let days = match value {
            Value::Null => return Some(Predicate::Constant(None)),
            // The zone may turn its clock back over a midnight: then dates are not in the order of time.
            _ if self.column_type == SqlType::TimestampTz && !constants.has_fixed_zone() => return None,
            Value::Date(days) if !matches!(days, i32::MIN | i32::MAX) => days,
            _ => return None,
        };
        let midnight = date_to_timestamp(days)?;
        let instant = |local: i64| match self.column_type {
            SqlType::TimestampTz => constants.local_to_utc(local).map(Value::TimestampTz),
            _ => Some(Value::Timestamp(local)),
        };
        let (start, next) = (instant(midnight)?, instant(midnight.checked_add(DAY_US)?)?);
        let compare = |op, value| Predicate::Compare {
            column: self.column,
            op,
            value,
        };
        Some(match op {
            CompareOp::Eq => Predicate::all(vec![
                compare(CompareOp::GreaterEq, start),
                compare(CompareOp::Less, next),
            ]),
            CompareOp::NotEq => Predicate::any(vec![
                compare(CompareOp::Less, start),
                compare(CompareOp::GreaterEq, next),
            ]),
            CompareOp::Less => compare(CompareOp::Less, start),
            CompareOp::LessEq => compare(CompareOp::Less, next),
            CompareOp::Greater => compare(CompareOp::GreaterEq, next),
            CompareOp::GreaterEq => compare(CompareOp::GreaterEq, start),
        })
    }

    /// A bound that holds wherever `operand op x` does, for an x between `low` and `high`.
    pub(super) fn around(&self, op: CompareOp, low: Value, high: Value) -> Predicate {
        let compare = |op, value| Predicate::Compare {
            column: self.column,
            op,
            value,
        };
        match op {
            CompareOp::Eq => Predicate::all(vec![
                compare(CompareOp::GreaterEq, low),
                compare(CompareOp::LessEq, high),
            ]),
            CompareOp::NotEq => Predicate::IsNull { column: self.column }.negate(),
            CompareOp::Less | CompareOp::LessEq => compare(CompareOp::LessEq, high),
            CompareOp::Greater | CompareOp::GreaterEq => compare(CompareOp::GreaterEq, low),
        }
    }

    /// `operand LIKE pattern`; `None` when the types are not those of LIKE, or the pattern is broken.
    pub(super) fn like(
        &self,
        pattern: Value,
        escape: Option<char>,
        case_insensitive: bool,
        constants: &ConstantContext<'_>,
    ) -> Result<Option<Predicate>> {
        let pattern = match (&self.ty, pattern) {
            (_, Value::Null) => Value::Null,
            (
                SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_),
                Value::Unknown(text) | Value::Text(text),
            ) => Value::Text(text),
            (SqlType::Bytea, Value::Unknown(text)) if !case_insensitive => {
                Value::parse(&text, &SqlType::Bytea, &constants.format_settings())?
            }
            (SqlType::Bytea, Value::Bytes(bytes)) if !case_insensitive => Value::Bytes(bytes),
            _ => return Ok(None),
        };
        let like = Predicate::Like {
            column: self.column,
            pattern,
            escape,
            case_insensitive,
        };
        Ok(crate::plan::has_sound_pattern(&like).then_some(like))
    }

    /// A timestamp without zone against one with: the same order only where the zone has one offset.
    fn against_zoned(&self, utc_us: i64, constants: &ConstantContext<'_>) -> Coerced {
        let Some(local) = constants.utc_to_local(utc_us) else {
            return Coerced::No;
        };
        if constants.has_fixed_zone() {
            return Coerced::Value(Value::Timestamp(local));
        }
        match (local.checked_sub(DAY_US), local.checked_add(DAY_US)) {
            (Some(low), Some(high)) => Coerced::Between(Value::Timestamp(low), Value::Timestamp(high)),
            _ => Coerced::No,
        }
    }

    fn is_date_of_timestamp(&self) -> bool {
        self.ty == SqlType::Date && matches!(self.column_type, SqlType::Timestamp | SqlType::TimestampTz)
    }
}

fn zoned(us: Option<i64>) -> Coerced {
    us.map_or(Coerced::No, |us| Coerced::Value(Value::TimestampTz(us)))
}

/// The truth of `left op right` between constants; `None` when it takes more than this to tell.
pub(super) fn compare_constants(left: &Value, op: CompareOp, right: &Value) -> Option<Option<bool>> {
    if *left == Value::Null || *right == Value::Null {
        return Some(None);
    }
    let ordering = match (left, right) {
        (Value::Unknown(left) | Value::Text(left), Value::Unknown(right) | Value::Text(right)) => {
            left.cmp(right)
        }
        (Value::Unknown(_), _) | (_, Value::Unknown(_)) => return None,
        (left, right) => crate::plan::compare_values(left, right)?,
    };
    Some(Some(op.holds(ordering)))
}
