//! Evaluates a `Predicate` over Arrow batches with PostgreSQL's three-valued logic and comparisons. Called by `scan` for
//! what key ranges do not guarantee; knows nothing of keys.
//!
//! Comparisons follow `plan::compare`, the rule that cut the key ranges: a constant of the column's own kind is compared
//! natively, a whole array at a time; any other pair row by row with the rule itself. Arrow's own comparison kernels
//! are not used for values, since they tell −0 from 0 and know nothing of char(n).

use std::borrow::Cow;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray,
    PrimitiveArray, RecordBatch, StringArray, UInt64Array,
};
use arrow::compute::{and_kleene, is_not_null, is_null, not, or_kleene, take};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};

use super::like_values::LikeValues;
use crate::codec::key::tells_value;
use crate::plan::compare::{compare, compare_floats, is_own_kind, reduce};
use crate::plan::like::LikeMatcher;
use crate::plan::predicate::lower_row_in;
use crate::plan::{CompareOp, Predicate};
use crate::types::{SqlType, Value, comparable_text, numeric_key, take_rows, value_at};
use crate::{Error, Result};

/// Conditions are asked of some rows alone once these are no more than one of so many.
const FEW_OF: usize = 4;
/// Lists up to this long are compared value by value; longer ones are searched.
const SHORT_LIST: usize = 4;

/// Which rows satisfy the predicate (NULL where PostgreSQL says NULL). `column_of` gives the batch column that holds a
/// column of the table. The predicate holds no `Opaque`.
pub fn evaluate(
    predicate: &Predicate,
    batch: &RecordBatch,
    column_of: &dyn Fn(usize) -> usize,
) -> Result<BooleanArray> {
    Rows { batch, column_of }.evaluate(predicate)
}

/// AND (`all`) or OR.
fn both(one: &BooleanArray, other: &BooleanArray, all: bool) -> Result<BooleanArray> {
    if all {
        and_kleene(one, other)
    } else {
        or_kleene(one, other)
    }
    .map_err(Error::arrow)
}

struct Rows<'a> {
    batch: &'a RecordBatch,
    column_of: &'a dyn Fn(usize) -> usize,
}

/// One column of the batch with its SQL type.
struct Column<'a> {
    array: &'a ArrayRef,
    ty: SqlType,
}

impl Rows<'_> {
    fn evaluate(&self, predicate: &Predicate) -> Result<BooleanArray> {
        match predicate {
            Predicate::Constant(truth) => Ok(BooleanArray::from(vec![*truth; self.batch.num_rows()])),
            // What it follows from decides.
            Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => {
                Ok(BooleanArray::from(vec![true; self.batch.num_rows()]))
            }
            Predicate::Compare { column, op, value } => self.column(*column).compare(*op, value),
            Predicate::InList { column, values } => self.column(*column).in_list(values),
            Predicate::IsNull { column } => is_null(self.column(*column).array).map_err(Error::arrow),
            Predicate::IsTrue { column } => self.column(*column).compare(CompareOp::Eq, &Value::Bool(true)),
            Predicate::Like {
                column,
                pattern,
                escape,
                case_insensitive,
            } => self.column(*column).like(pattern, *escape, *case_insensitive),
            Predicate::RowIn { columns, rows } => self.evaluate(&lower_row_in(columns, rows)),
            Predicate::And(children) => self.combine(children, true),
            Predicate::Or(children) => self.combine(children, false),
            Predicate::Not(child) => not(&self.evaluate(child)?).map_err(Error::arrow),
            Predicate::Is {
                child,
                truth,
                negated,
            } => {
                let child = self.evaluate(child)?;
                let is = |row: usize| child.is_valid(row).then(|| child.value(row)) == *truth;
                Ok((0..child.len()).map(|row| Some(is(row) != *negated)).collect())
            }
            Predicate::Opaque { .. } => Err(Error::internal(
                "a condition that the planner cannot express came to the residual filter",
            )),
        }
    }

    /// AND (`all`) or OR of the children; stops as soon as every row is decided.
    fn combine(&self, children: &[Predicate], all: bool) -> Result<BooleanArray> {
        let mut result = BooleanArray::from(vec![all; self.batch.num_rows()]);
        for (at, child) in children.iter().enumerate() {
            result = both(&result, &self.evaluate(child)?, all)?;
            let decided = if all {
                result.false_count()
            } else {
                result.true_count()
            };
            let (undecided, rest) = (result.len() - decided, &children[at + 1..]);
            if undecided == 0 || rest.is_empty() {
                break;
            }
            if undecided * FEW_OF <= result.len() {
                return self.combine_rest(&result, rest, all);
            }
        }
        Ok(result)
    }

    /// The result of the first children with the others, which are asked of the rows that are not decided yet.
    fn combine_rest(&self, result: &BooleanArray, rest: &[Predicate], all: bool) -> Result<BooleanArray> {
        let is_undecided = |row: &usize| result.is_null(*row) || result.value(*row) == all;
        let places: Vec<usize> = (0..result.len()).filter(is_undecided).collect();
        let indices = UInt64Array::from_iter_values(places.iter().map(|place| *place as u64));
        let batch = take_rows(self.batch, &indices).map_err(Error::arrow)?;
        let rows = Rows {
            batch: &batch,
            column_of: self.column_of,
        };
        let before = take(result, &indices, None).map_err(Error::arrow)?;
        let combined = both(before.as_boolean(), &rows.combine(rest, all)?, all)?;
        let mut whole = vec![Some(!all); result.len()];
        for (truth, place) in combined.iter().zip(places) {
            whole[place] = truth;
        }
        Ok(whole.into())
    }

    fn column(&self, column: usize) -> Column<'_> {
        let at = (self.column_of)(column);
        Column {
            array: self.batch.column(at),
            ty: SqlType::from_field(self.batch.schema_ref().field(at)),
        }
    }
}

impl Column<'_> {
    fn compare(&self, op: CompareOp, constant: &Value) -> Result<BooleanArray> {
        if *constant == Value::Null {
            return Ok(BooleanArray::new_null(self.array.len()));
        }
        let constant = reduce(&self.ty, constant);
        if is_own_kind(&self.ty, &constant)
            && let Some(result) = self.compare_native(op, &constant)
        {
            return Ok(result);
        }
        self.compare_slowly(op, &constant)
    }

    /// Whether its bytes are not those that its values compare by.
    fn is_nested(&self) -> bool {
        !matches!(self.ty, SqlType::Citext | SqlType::Numeric(_)) && !tells_value(&self.ty)
    }

    /// Compares with a constant of the column's own kind.
    fn compare_native(&self, op: CompareOp, constant: &Value) -> Option<BooleanArray> {
        let array = self.array.as_ref();
        if self.is_nested() {
            return None;
        }
        Some(match (array.data_type(), constant) {
            (DataType::Int16, Value::Int(value)) => each(array.as_primitive::<Int16Type>(), |it| {
                op.holds(i64::from(it).cmp(value))
            }),
            (DataType::Int32, Value::Int(value)) => each(array.as_primitive::<Int32Type>(), |it| {
                op.holds(i64::from(it).cmp(value))
            }),
            (DataType::Int64, Value::Int(value) | Value::Money(value)) => {
                each(array.as_primitive::<Int64Type>(), |it| op.holds(it.cmp(value)))
            }
            (DataType::Float32, Value::Float4(value)) => {
                let value = f64::from(*value);
                each(array.as_primitive::<Float32Type>(), |it| {
                    op.holds(compare_floats(f64::from(it), value))
                })
            }
            (DataType::Float64, Value::Float8(value)) => each(array.as_primitive::<Float64Type>(), |it| {
                op.holds(compare_floats(it, *value))
            }),
            (DataType::Decimal128(_, scale), Value::Numeric(number)) => {
                let value = number.exactly_at(u16::try_from(*scale).ok()?)?;
                each(array.as_primitive::<Decimal128Type>(), |it| {
                    op.holds(it.cmp(&value))
                })
            }
            (DataType::Date32, Value::Date(value)) => {
                each(array.as_primitive::<Date32Type>(), |it| op.holds(it.cmp(value)))
            }
            (DataType::Time64(TimeUnit::Microsecond), Value::Time(value)) => {
                each(array.as_primitive::<Time64MicrosecondType>(), |it| {
                    op.holds(it.cmp(value))
                })
            }
            (
                DataType::Timestamp(TimeUnit::Microsecond, _),
                Value::Timestamp(value) | Value::TimestampTz(value),
            ) => each(array.as_primitive::<TimestampMicrosecondType>(), |it| {
                op.holds(it.cmp(value))
            }),
            (DataType::Boolean, Value::Bool(value)) => {
                let array = array.as_boolean();
                BooleanArray::from_unary(array, |it| op.holds(it.cmp(value)))
            }
            (DataType::Binary, Value::Numeric(number)) => {
                let mut bytes = Vec::new();
                number.put_bytes(&mut bytes);
                let value = numeric_key(&bytes);
                let array: &BinaryArray = array.as_binary();
                BooleanArray::from_unary(array, |it| op.holds(numeric_key(it).cmp(value)))
            }
            (DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_), constant) => {
                let value = self.constant_bytes(constant)?;
                self.each_bytes(|it| op.holds(it.cmp(&*value)))?
            }
            _ => return None,
        })
    }

    /// Compares row by row by the planner's rule: for constants of another type.
    fn compare_slowly(&self, op: CompareOp, constant: &Value) -> Result<BooleanArray> {
        let mut result = Vec::with_capacity(self.array.len());
        for row in 0..self.array.len() {
            let ordering = match value_at(self.array, row, &self.ty)? {
                Value::Null => None,
                value => Some(compare(&self.ty, &value, constant).ok_or_else(|| {
                    Error::internal(format!("type {} does not compare with {constant:?}", self.ty))
                })?),
            };
            result.push(ordering.map(|ordering| op.holds(ordering)));
        }
        Ok(BooleanArray::from(result))
    }

    fn in_list(&self, values: &[Value]) -> Result<BooleanArray> {
        let has_null = values.contains(&Value::Null);
        let constants: Vec<_> = values
            .iter()
            .filter(|value| **value != Value::Null)
            .map(|value| reduce(&self.ty, value))
            .collect();
        let found = match self.search_list(&constants) {
            Some(found) => found,
            None => {
                let mut found = if constants.is_empty() {
                    BooleanArray::from(vec![false; self.array.len()])
                } else {
                    self.compare(CompareOp::Eq, &constants[0])?
                };
                for constant in constants.iter().skip(1) {
                    found =
                        or_kleene(&found, &self.compare(CompareOp::Eq, constant)?).map_err(Error::arrow)?;
                }
                found
            }
        };
        let known = is_not_null(self.array).map_err(Error::arrow)?;
        let truth = |row: usize| match (known.value(row), found.is_valid(row) && found.value(row)) {
            (true, true) => Some(true),
            // `x IN ()` of nothing but NULLs is NULL as well; the empty list itself is false.
            (true, false) => (!has_null).then_some(false),
            (false, _) => values.is_empty().then_some(false),
        };
        Ok((0..self.array.len()).map(truth).collect())
    }

    /// Looks each row up in a sorted list; `None` when the list is short or not all of the column's own kind.
    fn search_list(&self, constants: &[Value]) -> Option<BooleanArray> {
        if constants.len() <= SHORT_LIST
            || self.is_nested()
            || !constants.iter().all(|constant| is_own_kind(&self.ty, constant))
        {
            return None;
        }
        let array = self.array.as_ref();
        if let DataType::Int16 | DataType::Int32 | DataType::Int64 = array.data_type() {
            let mut sorted: Vec<i64> = constants.iter().filter_map(as_int).collect();
            sorted.sort_unstable();
            let holds = |it: i64| sorted.binary_search(&it).is_ok();
            return Some(match array.data_type() {
                DataType::Int16 => each(array.as_primitive::<Int16Type>(), |it| holds(i64::from(it))),
                DataType::Int32 => each(array.as_primitive::<Int32Type>(), |it| holds(i64::from(it))),
                _ => each(array.as_primitive::<Int64Type>(), holds),
            });
        }
        let mut sorted: Vec<Cow<'_, [u8]>> = constants
            .iter()
            .filter_map(|constant| self.constant_bytes(constant))
            .collect();
        if sorted.len() < constants.len() {
            return None;
        }
        sorted.sort_unstable();
        self.each_bytes(|it| sorted.binary_search_by(|constant| (**constant).cmp(it)).is_ok())
    }

    fn like(&self, pattern: &Value, escape: Option<char>, case_insensitive: bool) -> Result<BooleanArray> {
        let bytes = match pattern {
            Value::Null => return Ok(BooleanArray::new_null(self.array.len())),
            Value::Text(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            other => return Err(Error::internal(format!("{other:?} is no LIKE pattern"))),
        };
        // LIKE sees char(n) with its blanks, unlike comparisons.
        let values = LikeValues::of(self.array.as_ref())?;
        let matcher = LikeMatcher::new(bytes, escape, case_insensitive, values.is_text());
        values.matched(|_, value| matcher.matches(value).map(Some))
    }

    /// Applies a test to the comparable bytes of each value of text, bytea or uuid.
    fn each_bytes(&self, test: impl Fn(&[u8]) -> bool) -> Option<BooleanArray> {
        let array = self.array.as_ref();
        Some(match array.data_type() {
            DataType::Utf8 => {
                let array: &StringArray = array.as_string();
                BooleanArray::from_unary(array, |it| test(comparable_text(&self.ty, it).as_bytes()))
            }
            DataType::Binary => {
                let array: &BinaryArray = array.as_binary();
                BooleanArray::from_unary(array, test)
            }
            DataType::FixedSizeBinary(_) => {
                let array: &FixedSizeBinaryArray = array.as_fixed_size_binary();
                BooleanArray::from_unary(array, test)
            }
            _ => return None,
        })
    }

    fn constant_bytes<'a>(&self, constant: &'a Value) -> Option<Cow<'a, [u8]>> {
        match constant {
            Value::Text(text) => Some(match comparable_text(&self.ty, text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }),
            Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Value::Uuid(bytes) => Some(Cow::Borrowed(bytes)),
            Value::Packed(address) => Some(Cow::Borrowed(address.bytes())),
            _ => None,
        }
    }
}

fn each<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, test: impl Fn(T::Native) -> bool) -> BooleanArray {
    BooleanArray::from_unary(array, test)
}

fn as_int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::codec::row::ColumnBuilder;
    use crate::plan::tests as plan_tests;

    #[test]
    fn agrees_with_the_row_at_a_time_evaluator() {
        let mut random = StdRng::seed_from_u64(7);
        for _ in 0..400 {
            let types: Vec<_> = (0..3).map(|_| plan_tests::random_type(&mut random)).collect();
            let rows: Vec<Vec<Value>> = (0..60)
                .map(|_| {
                    let value = |ty| {
                        if random.random_bool(0.15) {
                            Value::Null
                        } else {
                            plan_tests::random_value(&mut random, ty)
                        }
                    };
                    types.iter().map(value).collect()
                })
                .collect();
            let batch = batch(&types, &rows);
            for _ in 0..20 {
                let predicate = plan_tests::random_predicate(&mut random, &types, 2, false);
                let result = evaluate(&predicate, &batch, &|column| column).unwrap();
                for (at, row) in rows.iter().enumerate() {
                    let found = result.is_valid(at).then(|| result.value(at));
                    assert_eq!(
                        found,
                        plan_tests::truth(&predicate, &types, row),
                        "{predicate:?} {types:?} {row:?}"
                    );
                }
            }
        }
    }

    fn batch(types: &[SqlType], rows: &[Vec<Value>]) -> RecordBatch {
        let fields: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(at, ty)| ty.field(&format!("c{at}"), true))
            .collect();
        let columns = types.iter().enumerate().map(|(at, ty)| {
            let mut builder = ColumnBuilder::new(ty, rows.len());
            rows.iter()
                .for_each(|row| builder.append_value(&row[at]).unwrap());
            builder.finish()
        });
        RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns.collect()).unwrap()
    }

    #[test]
    fn an_opaque_condition_is_a_fault_not_a_guess() {
        let batch = batch(&[SqlType::Int8], &[vec![Value::Int(1)]]);
        assert!(evaluate(&Predicate::Opaque { columns: vec![0] }, &batch, &|column| column).is_err());
    }
}
