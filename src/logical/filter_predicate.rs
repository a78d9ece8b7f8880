//! Conditions to predicates, for scans: what `plan` and the residual filter understand of an
//! expression over one table. A part that they do not understand becomes `Predicate::Opaque`, so the result is true for
//! every row for which the filter is; it is the filter itself when `has_opaque` is false.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};

use super::literal::literal;
use super::{network_predicate, wanted_terms};
use crate::catalog::TableDef;
use crate::functions::cast::CAST_NAME;
use crate::functions::compare::{CITEXT_KEY_NAME, FLOAT_ORDER_NAME, TRIM_CHAR_NAME};
use crate::functions::pattern::{FixedPrefix, fixed_prefix};
use crate::functions::pattern_prefix::like_literal;
use crate::functions::sort_key::{is_key_of_operand, value_of_key};
use crate::plan::compare::compare;
use crate::plan::key_shape::smallest_value;
use crate::plan::{CompareOp, Predicate, has_sound_pattern};
use crate::tree::{BinaryExpr, Expr, FunctionCall, InList, Operator, ScalarValue, fold_constants};
use crate::types::letter_case::lowercase;
use crate::types::{EnumValue, Numeric, PackedValue, SqlType, Value};

/// The predicate that a filter over `table` means. Columns are matched by name.
pub fn from_expr(expr: &Expr, table: &TableDef) -> Predicate {
    Converter { table }.condition(expr)
}

struct Converter<'a> {
    table: &'a TableDef,
}

/// A column under casts that lose nothing, and the Arrow type it is compared in.
struct Operand<'a> {
    column: usize,
    ty: &'a SqlType,
    compared: DataType,
    /// char(n) without its blanks, as text.
    trimmed: bool,
    /// As the key by which it compares; so is the constant beside it.
    keyed: bool,
    /// citext as text: what is equal so is equal as citext, but not the other way round.
    cased: bool,
}

impl Converter<'_> {
    fn condition(&self, expr: &Expr) -> Predicate {
        wanted_terms::with_terms(self.condition_alone(expr), expr, self.table)
    }

    fn condition_alone(&self, expr: &Expr) -> Predicate {
        match expr {
            Expr::Alias(alias) => self.condition(&alias.expr),
            Expr::Literal(ScalarValue::Boolean(truth), _) => Predicate::Constant(*truth),
            Expr::Literal(ScalarValue::Null, _) => Predicate::Constant(None),
            Expr::Column(_) => match self.operand(expr) {
                Some(Operand {
                    column,
                    ty: SqlType::Bool,
                    ..
                }) => Predicate::IsTrue { column },
                _ => self.opaque(expr),
            },
            Expr::Not(child) => self.condition(child).negate(),
            Expr::BinaryExpr(BinaryExpr {
                op: op @ (Operator::And | Operator::Or),
                ..
            }) => self.connective(expr, *op),
            Expr::BinaryExpr(binary) => self.binary(expr, binary),
            Expr::IsNull(child) => self.null_test(expr, child, false),
            Expr::IsNotNull(child) => self.null_test(expr, child, true),
            Expr::TruthTest(test) => self.truth_test(expr, &test.expr, test.truth, test.negated),
            Expr::InList(list) => self.in_list(expr, list),
            Expr::Like(like) => {
                let predicate = self.like(&like.expr, &like.pattern, like.escape, like.case_insensitive);
                match predicate {
                    Some(predicate) if like.negated => predicate.negate(),
                    Some(predicate) => predicate,
                    None => self.opaque(expr),
                }
            }
            Expr::ScalarFunction(call) => self.function(expr, call),
            _ => self.opaque(expr),
        }
    }

    /// A chain of AND or OR, nested to the left as deep as it is long: walked in a loop.
    fn connective(&self, expr: &Expr, op: Operator) -> Predicate {
        let mut operands = Vec::new();
        let mut rest = expr;
        while let Expr::BinaryExpr(BinaryExpr {
            left,
            op: inner,
            right,
        }) = rest
            && *inner == op
        {
            operands.push(right.as_ref());
            rest = left;
        }
        operands.push(rest);
        let children = operands
            .into_iter()
            .rev()
            .map(|operand| self.condition(operand))
            .collect();
        if op == Operator::And {
            Predicate::all(children)
        } else {
            Predicate::any(children)
        }
    }

    fn binary(&self, whole: &Expr, binary: &BinaryExpr) -> Predicate {
        let BinaryExpr { left, op, right } = binary;
        let distinct = |negated| {
            if let (Some(left), Some(right)) = (literal(left), literal(right))
                && (left.is_null() || right.is_null())
            {
                let is_same = left.is_null() && right.is_null();
                return Predicate::Constant(Some(is_same != negated));
            }
            let equal = self.comparison(whole, left, CompareOp::Eq, right);
            match (self.operand(left).or_else(|| self.operand(right)), equal) {
                (Some(operand), Predicate::Constant(None)) => {
                    // The constant is NULL.
                    let is_null = Predicate::IsNull {
                        column: operand.column,
                    };
                    if negated { is_null.negate() } else { is_null }
                }
                (_, opaque @ Predicate::Opaque { .. }) => opaque,
                (_, equal) => Predicate::Is {
                    child: Box::new(equal),
                    truth: Some(true),
                    negated,
                },
            }
        };
        match op {
            Operator::Eq => self.comparison(whole, left, CompareOp::Eq, right),
            Operator::NotEq => self.comparison(whole, left, CompareOp::NotEq, right),
            Operator::Lt => self.comparison(whole, left, CompareOp::Less, right),
            Operator::LtEq => self.comparison(whole, left, CompareOp::LessEq, right),
            Operator::Gt => self.comparison(whole, left, CompareOp::Greater, right),
            Operator::GtEq => self.comparison(whole, left, CompareOp::GreaterEq, right),
            Operator::IsDistinctFrom => distinct(true),
            Operator::IsNotDistinctFrom => distinct(false),
            _ => self.opaque(whole),
        }
    }

    fn comparison(&self, whole: &Expr, left: &Expr, op: CompareOp, right: &Expr) -> Predicate {
        let (operand, op, constant) = match (self.operand(left), self.operand(right)) {
            (Some(operand), None) => (operand, op, right),
            (None, Some(operand)) => (operand, op.flipped(), left),
            (None, None) => match comparison_of_constants(left, op, right) {
                Some(truth) => return Predicate::Constant(truth),
                None => return self.opaque(whole),
            },
            _ => return self.opaque(whole),
        };
        match operand.constant(constant) {
            Some(Value::Null) => Predicate::Constant(None),
            // As text it is in another order.
            Some(_) if operand.cased && op != CompareOp::Eq => self.opaque(whole),
            Some(value) => {
                let compared = Predicate::Compare {
                    column: operand.column,
                    op,
                    value,
                };
                self.bounded_by(compared, &operand, whole)
            }
            None => self.opaque(whole),
        }
    }

    fn in_list(&self, whole: &Expr, list: &InList) -> Predicate {
        let Some(operand) = self.operand(&list.expr) else {
            let equals = list.list.iter();
            let equals = equals.map(|item| comparison_of_constants(&list.expr, CompareOp::Eq, item));
            let Some(equals) = equals.collect::<Option<Vec<_>>>() else {
                return self.opaque(whole);
            };
            let within = Predicate::any(equals.into_iter().map(Predicate::Constant).collect());
            return if list.negated { within.negate() } else { within };
        };
        let values: Option<Vec<_>> = list.list.iter().map(|item| operand.constant(item)).collect();
        let Some(values) = values else {
            return self.opaque(whole);
        };
        let within = Predicate::InList {
            column: operand.column,
            values,
        };
        match list.negated {
            true if operand.cased => self.opaque(whole),
            true => within.negate(),
            false => self.bounded_by(within, &operand, whole),
        }
    }

    /// A condition that an operand meets where it meets the whole, which says more where its case counts.
    fn bounded_by(&self, condition: Predicate, operand: &Operand<'_>, whole: &Expr) -> Predicate {
        match operand.cased {
            true => Predicate::all(vec![condition, self.opaque(whole)]),
            false => condition,
        }
    }

    /// `value LIKE pattern`; `None`: it has no form of ours.
    fn like(
        &self,
        value: &Expr,
        pattern: &Expr,
        escape: Option<char>,
        case_insensitive: bool,
    ) -> Option<Predicate> {
        // LIKE sees char(n) with its blanks.
        let operand = self.operand(value).filter(|operand| !operand.trimmed)?;
        let pattern = match (operand.ty, literal(pattern)) {
            (_, Some(constant)) if constant.is_null() => Value::Null,
            (SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Citext, Some(constant)) => {
                match constant.try_as_str() {
                    Some(Some(text)) => Value::Text(text.to_string()),
                    _ => return None,
                }
            }
            (SqlType::Bytea, Some(ScalarValue::Binary(Some(bytes)))) => Value::Bytes(bytes.clone()),
            _ => return None,
        };
        let predicate = Predicate::Like {
            column: operand.column,
            pattern,
            escape,
            case_insensitive,
        };
        has_sound_pattern(&predicate).then_some(predicate)
    }

    /// Calls that are a LIKE, or that only a value can match that a LIKE does.
    fn function(&self, whole: &Expr, call: &FunctionCall) -> Predicate {
        let is_null = |argument: &Expr| literal(argument).is_some_and(ScalarValue::is_null);
        if call.func.is_strict() && call.args.iter().any(is_null) {
            return Predicate::Constant(None);
        }
        let found = match (call.name(), call.args.as_slice()) {
            ("starts_with" | "^@", [value, prefix]) => text_literal(prefix)
                .and_then(|prefix| self.like_of_text(value, format!("{}%", like_literal(prefix)))),
            (symbol @ ("<<" | "<<="), [value, network]) => self.in_networks(value, symbol, network),
            (symbol @ (">>" | ">>="), [value, network]) if literal(network).is_some() => {
                self.in_networks(value, symbol, network)
            }
            // The same with the column behind the symbol.
            (">>", [network, value]) => self.in_networks(value, "<<", network),
            (">>=", [network, value]) => self.in_networks(value, "<<=", network),
            (name @ ("~" | "regexp_like" | "similar_to"), [value, pattern @ ..]) => {
                self.bounded_by_prefix(whole, name, value, pattern)
            }
            _ => None,
        };
        found.unwrap_or_else(|| self.opaque(whole))
    }

    /// `value << network` and its kin, for a column of inet or cidr.
    fn in_networks(&self, value: &Expr, symbol: &str, network: &Expr) -> Option<Predicate> {
        let operand = self.operand(value)?;
        let kind = operand.ty.packed_kind().filter(|kind| kind.is_ip())?;
        match operand.constant(network)? {
            Value::Null => Some(Predicate::Constant(None)),
            Value::Packed(network) => network_predicate::of_symbol((operand.column, kind), symbol, &network),
            _ => None,
        }
    }

    /// `value ~ '^ab'`: LIKE 'ab%', which bounds a key, and the regular expression itself.
    fn bounded_by_prefix(
        &self,
        whole: &Expr,
        name: &str,
        value: &Expr,
        pattern: &[Expr],
    ) -> Option<Predicate> {
        let like = self.like_of_text(value, prefix_of(name, pattern)?.like_pattern())?;
        Some(Predicate::all(vec![like, self.opaque(whole)]))
    }

    /// `value LIKE pattern`, escaped by backslashes, for a column of text.
    fn like_of_text(&self, value: &Expr, pattern: String) -> Option<Predicate> {
        let operand = self.operand(value)?;
        matches!(operand.ty, SqlType::Text | SqlType::Varchar(_)).then_some(Predicate::Like {
            column: operand.column,
            pattern: Value::Text(pattern),
            escape: Some('\\'),
            case_insensitive: false,
        })
    }

    fn null_test(&self, whole: &Expr, child: &Expr, negated: bool) -> Predicate {
        if let Some(operand) = self.operand(child) {
            let is_null = Predicate::IsNull {
                column: operand.column,
            };
            return if negated { is_null.negate() } else { is_null };
        }
        match literal(child) {
            Some(constant) => Predicate::Constant(Some(constant.is_null() != negated)),
            None if is_condition(child) => self.truth_test(whole, child, None, negated),
            None => self.opaque(whole),
        }
    }

    fn truth_test(&self, whole: &Expr, child: &Expr, truth: Option<bool>, negated: bool) -> Predicate {
        match self.condition(child) {
            Predicate::Opaque { .. } => self.opaque(whole),
            Predicate::Constant(constant) => Predicate::Constant(Some((constant == truth) != negated)),
            child => Predicate::Is {
                child: Box::new(child),
                truth,
                negated,
            },
        }
    }

    fn operand(&self, expr: &Expr) -> Option<Operand<'_>> {
        match expr {
            Expr::Alias(alias) => self.operand(&alias.expr),
            Expr::Column(name) => {
                let column = self.table.whole_column_index(&name.name)?;
                let ty = &self.table.columns[column].ty;
                Some(Operand {
                    column,
                    ty,
                    compared: ty.arrow_type(),
                    trimmed: false,
                    keyed: false,
                    cased: false,
                })
            }
            Expr::Cast(cast) => self.operand(&cast.expr)?.cast(&cast.ty),
            // What comparisons put around columns so that Arrow's order is PostgreSQL's, which is ours already.
            Expr::ScalarFunction(call) if call.name() == FLOAT_ORDER_NAME => self.operand(call.args.first()?),
            Expr::ScalarFunction(call) if call.name() == TRIM_CHAR_NAME => {
                let operand = self.operand(call.args.first()?)?;
                // A text that is compared as a char(n) has blanks at its end that mean nothing there.
                matches!(operand.ty, SqlType::Char(_)).then_some(Operand {
                    trimmed: true,
                    ..operand
                })
            }
            // A constant beside it is in lower case, as the key is.
            Expr::ScalarFunction(call) if call.name() == CITEXT_KEY_NAME => {
                let operand = self.operand(call.args.first()?)?;
                (*operand.ty == SqlType::Citext).then_some(operand)
            }
            Expr::ScalarFunction(call) if is_key_of_operand(call.name()) => Some(Operand {
                keyed: true,
                ..self.operand(call.args.first()?)?
            }),
            // A numeric without a size holds every integer and every numeric with one.
            Expr::ScalarFunction(call)
                if call.name() == CAST_NAME && *call.func.returns() == SqlType::Numeric(None) =>
            {
                let operand = self.operand(call.args.first()?)?;
                let exact = operand.ty.is_integer() || matches!(operand.ty, SqlType::Numeric(_));
                (exact && operand.compared == operand.ty.arrow_type()).then(|| Operand {
                    compared: SqlType::Numeric(None).arrow_type(),
                    ..operand
                })
            }
            Expr::ScalarFunction(call) if call.name() == CAST_NAME => match call.func.returns() {
                ty @ SqlType::Float8 => self.operand(call.args.first()?)?.cast(&ty.arrow_type()),
                // Of a timestamptz it is the session's zone that tells, and one of fewer digits is rounded.
                ty @ SqlType::Timestamp(_) if *call.func.arguments() == [SqlType::Date] => {
                    self.operand(call.args.first()?)?.cast(&ty.arrow_type())
                }
                SqlType::Text => {
                    let operand = self.operand(call.args.first()?)?;
                    (*operand.ty == SqlType::Citext).then_some(Operand {
                        cased: true,
                        ..operand
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn opaque(&self, expr: &Expr) -> Predicate {
        let mut columns: Vec<_> = expr
            .column_refs()
            .into_iter()
            .filter_map(|column| self.table.column_index(&column.name))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        Predicate::Opaque { columns }
    }
}

impl Operand<'_> {
    /// The operand under a cast that keeps every value and its order; `None` for any other cast.
    fn cast(self, to: &DataType) -> Option<Self> {
        use DataType as D;
        let harmless = match (&self.compared, to) {
            (from, to) if from == to => true,
            (D::Int16, D::Int32 | D::Int64 | D::Float64)
            | (D::Int32, D::Int64 | D::Float64)
            // Comparing as float8 is what the literal's own type says.
            | (D::Int64, D::Float64)
            | (D::Float32, D::Float64)
            | (D::Decimal128(_, _), D::Float64)
            | (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Utf8 | D::LargeUtf8 | D::Utf8View)
            | (D::Binary | D::LargeBinary | D::BinaryView, D::Binary | D::LargeBinary | D::BinaryView)
            | (D::Date32, D::Timestamp(TimeUnit::Microsecond, None)) => true,
            (from @ (D::Int16 | D::Int32 | D::Int64), D::Decimal128(precision, scale)) => {
                let digits = match from {
                    D::Int16 => 5,
                    D::Int32 => 10,
                    _ => 19,
                };
                *scale >= 0 && i16::from(*precision) - i16::from(*scale) >= digits
            }
            (D::Decimal128(precision, scale), D::Decimal128(to_precision, to_scale)) => {
                to_scale >= scale
                    && i16::from(*to_precision) - i16::from(*to_scale) >= i16::from(*precision) - i16::from(*scale)
            }
            (D::Timestamp(TimeUnit::Microsecond, from), D::Timestamp(TimeUnit::Microsecond, to)) => {
                from.as_deref().is_none_or(is_utc) && to.as_deref().is_none_or(is_utc)
            }
            _ => false,
        };
        harmless.then(|| Operand {
            compared: to.clone(),
            ..self
        })
    }

    /// The constant that an expression is, as a value that compares with the column; `None` when it is none, or of a
    /// kind that does not.
    fn constant(&self, expr: &Expr) -> Option<Value> {
        // The key of what a client bound is still a call.
        let folded = match expr {
            Expr::ScalarFunction(call) if is_key_of_operand(call.name()) => {
                Some(fold_constants(expr.clone()).ok()?)
            }
            _ => None,
        };
        let value = match value_of(literal(folded.as_ref().unwrap_or(expr))?)? {
            // The example of an outer value is no value's key.
            Value::Bytes(key) if self.keyed && key.is_empty() => smallest_value(self.ty)?,
            Value::Null => Value::Null,
            key if self.keyed => value_of_key(self.ty, key)?,
            value => value,
        };
        use SqlType as T;
        Some(match (self.ty, value) {
            (_, Value::Null) => Value::Null,
            (
                T::Int2 | T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric(_),
                value @ (Value::Int(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_)),
            ) => value,
            // Blanks at the end count in text, and the column has none: not a comparison of char(n).
            (T::Char(_), Value::Text(text)) if self.trimmed && text.ends_with(' ') => return None,
            (T::Citext, Value::Text(text)) => Value::Text(lowercase(&text).into_owned()),
            (T::Bool, value @ Value::Bool(_))
            | (T::Text | T::Varchar(_) | T::Char(_) | T::Bit(_) | T::VarBit(_), value @ Value::Text(_))
            | (T::Oid, value @ Value::Int(_))
            | (T::Bytea, value @ Value::Bytes(_))
            | (T::Uuid, value @ Value::Uuid(_))
            | (T::Date, value @ (Value::Date(_) | Value::Timestamp(_)))
            | (T::Time(_), value @ Value::Time(_))
            | (T::Timestamp(_), value @ (Value::Timestamp(_) | Value::Date(_)))
            | (T::TimestampTz(_), value @ Value::TimestampTz(_))
            | (T::Interval(_), value @ Value::Interval(_)) => value,
            (T::Jsonb | T::Array(_) | T::Range(_) | T::Multirange(_) | T::Record(_), value) if self.keyed => {
                value
            }
            (T::Money, Value::Int(cents)) => Value::Money(cents),
            (T::Packed(kind), Value::Bytes(bytes)) => Value::Packed(PackedValue::comparable(&bytes, *kind)?),
            (T::Enum(labels), Value::Int(position)) => {
                let ty = Arc::clone(labels);
                Value::Enum(EnumValue { ty, position })
            }
            // Only under a cast that says so: zones differ by nothing in UTC.
            (T::Timestamp(_), Value::TimestampTz(us)) if self.compared != T::Timestamp(None).arrow_type() => {
                Value::Timestamp(us)
            }
            (T::TimestampTz(_), Value::Timestamp(us))
                if self.compared != T::TimestampTz(None).arrow_type() =>
            {
                Value::TimestampTz(us)
            }
            _ => return None,
        })
    }
}

/// What comparing two constants of one type gives, NULL for a NULL; `None` when they are none.
fn comparison_of_constants(left: &Expr, op: CompareOp, right: &Expr) -> Option<Option<bool>> {
    let (left, right) = (literal(left)?, literal(right)?);
    if left.is_null() || right.is_null() {
        return Some(None);
    }
    if left.data_type() != right.data_type() {
        return None;
    }
    // Of char(n) no literal is.
    let ordering = compare(&SqlType::Text, &value_of(left)?, &value_of(right)?)?;
    Some(Some(op.holds(ordering)))
}

fn text_literal(expr: &Expr) -> Option<&str> {
    literal(expr)?.try_as_str()?
}

/// What a text begins with for which a function of it and this pattern is true.
fn prefix_of(name: &str, pattern: &[Expr]) -> Option<FixedPrefix> {
    let pattern: Option<Vec<_>> = pattern.iter().map(text_literal).collect();
    fixed_prefix(name, &pattern?)
}

/// The only text for which a function of it and this pattern is true.
pub(crate) fn whole_text(name: &str, pattern: &[Expr]) -> Option<String> {
    match prefix_of(name, pattern)? {
        FixedPrefix::Whole(text) => Some(text),
        FixedPrefix::Start(_) => None,
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z")
}

/// Whether an expression is a condition by its form, so that IS NULL asks for its truth.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => matches!(
            op,
            Operator::And
                | Operator::Or
                | Operator::Eq
                | Operator::NotEq
                | Operator::Lt
                | Operator::LtEq
                | Operator::Gt
                | Operator::GtEq
        ),
        Expr::Not(_) | Expr::InList(_) | Expr::Like(_) => true,
        _ => false,
    }
}

/// A literal as a constant; `None` for kinds that no column of ours compares with.
fn value_of(constant: &ScalarValue) -> Option<Value> {
    use ScalarValue as S;
    if constant.is_null() {
        return Some(Value::Null);
    }
    let decimal = |unscaled: i128, scale: i8| {
        let scale = u16::try_from(scale).ok();
        scale.map(|scale| Value::Numeric(Numeric::from_i128(unscaled, scale)))
    };
    match constant {
        S::Boolean(Some(value)) => Some(Value::Bool(*value)),
        S::Int8(Some(value)) => Some(Value::Int((*value).into())),
        S::Int16(Some(value)) => Some(Value::Int((*value).into())),
        S::Int32(Some(value)) => Some(Value::Int((*value).into())),
        S::Int64(Some(value)) => Some(Value::Int(*value)),
        S::UInt8(Some(value)) => Some(Value::Int((*value).into())),
        S::UInt16(Some(value)) => Some(Value::Int((*value).into())),
        S::UInt32(Some(value)) => Some(Value::Int((*value).into())),
        S::UInt64(Some(value)) => decimal((*value).into(), 0),
        S::Float32(Some(value)) => Some(Value::Float4(*value)),
        S::Float64(Some(value)) => Some(Value::Float8(*value)),
        S::Decimal32(Some(value), _, scale) => decimal((*value).into(), *scale),
        S::Decimal64(Some(value), _, scale) => decimal((*value).into(), *scale),
        S::Decimal128(Some(value), _, scale) => decimal(*value, *scale),
        S::Utf8(Some(text)) | S::Utf8View(Some(text)) | S::LargeUtf8(Some(text)) => {
            Some(Value::Text(text.clone()))
        }
        S::FixedSizeBinary(16, Some(bytes)) => <[u8; 16]>::try_from(bytes.as_slice()).ok().map(Value::Uuid),
        S::Binary(Some(bytes)) | S::BinaryView(Some(bytes)) | S::LargeBinary(Some(bytes)) => {
            Some(Value::Bytes(bytes.clone()))
        }
        S::Date32(Some(days)) => Some(Value::Date(*days)),
        S::Time64Microsecond(Some(us)) => Some(Value::Time(*us)),
        S::TimestampMicrosecond(Some(us), None) => Some(Value::Timestamp(*us)),
        S::TimestampMicrosecond(Some(us), Some(_)) => Some(Value::TimestampTz(*us)),
        S::IntervalMonthDayNano(Some(value)) if value.nanoseconds % 1000 == 0 => {
            Some(Value::Interval((*value).into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::{cast, col, lit};

    use super::*;
    use crate::plan::tests::table;

    fn convert(expr: Expr) -> Predicate {
        let types = [
            SqlType::Int4,
            SqlType::Text,
            SqlType::Bool,
            SqlType::Timestamp(None),
        ];
        from_expr(&expr, &table(&types, &[false]))
    }

    #[test]
    fn comparisons_and_connectives_convert() {
        let one = Predicate::Compare {
            column: 0,
            op: CompareOp::Eq,
            value: Value::Int(1),
        };
        assert_eq!(convert(col("a").eq(lit(1_i64))), one);
        assert_eq!(convert(lit(1_i64).eq(cast(col("a"), DataType::Int64))), one);
        assert_eq!(
            convert(lit(1_i32).lt(col("a"))),
            Predicate::Compare {
                column: 0,
                op: CompareOp::Greater,
                value: Value::Int(1)
            }
        );
        assert_eq!(
            convert(col("a").eq(lit(1_i32)).and(col("c")).and(col("b").null_test())),
            Predicate::And(vec![
                one.clone(),
                Predicate::IsTrue { column: 2 },
                Predicate::IsNull { column: 1 }
            ])
        );
        assert_eq!(
            convert(cast(col("a"), DataType::Float64).gt(lit(1.5))),
            Predicate::Compare {
                column: 0,
                op: CompareOp::Greater,
                value: Value::Float8(1.5)
            }
        );
        let distinct =
            crate::tree::binary_expr(col("a"), Operator::IsDistinctFrom, lit(ScalarValue::Int32(None)));
        assert_eq!(convert(distinct), Predicate::IsNull { column: 0 }.negate());
    }

    #[test]
    fn what_is_not_understood_is_opaque_over_its_columns() {
        assert_eq!(
            convert(crate::tree::binary_expr(col("a"), Operator::BitwiseAnd, lit(1_i32)).eq(lit(2_i32))),
            Predicate::Opaque { columns: vec![0] }
        );
        // A cast that loses values must not be looked through.
        assert_eq!(
            convert(cast(col("a"), DataType::Int16).eq(lit(1_i16))),
            Predicate::Opaque { columns: vec![0] }
        );
        assert_eq!(
            convert(col("a").eq(col("b"))),
            Predicate::Opaque { columns: vec![0, 1] }
        );
        assert_eq!(
            convert(col("b").eq(lit(1_i32))),
            Predicate::Opaque { columns: vec![1] }
        );
    }

    #[test]
    fn a_long_chain_does_not_nest() {
        let chain = (0..20_000)
            .map(|number| col("a").eq(lit(number)))
            .reduce(Expr::or)
            .unwrap();
        let found = from_expr(&chain, &table(&[SqlType::Int4], &[false]));
        let Predicate::Or(children) = found else {
            panic!("{found:?}")
        };
        assert_eq!(children.len(), 20_000);
        // Dropping so deep a tree is the caller's to avoid.
        std::mem::forget(chain);
    }
}
