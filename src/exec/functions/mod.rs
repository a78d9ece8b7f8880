//! PostgreSQL's scalar functions, operators and casts for DataFusion's plans. Each topic's file holds one table of
//! registrations (`FunctionDef` rows) and the functions themselves, written over `Value`s a row at a time unless speed
//! asks for whole arrays. The binder picks a row by name and argument types, fixes the result type and calls `call`.
//! Knows nothing of SQL text.

pub mod arithmetic;
mod array;
mod array_order;
mod bytea;
pub(in crate::exec) mod calendar;
pub mod cast;
pub mod compare;
mod datetime;
mod datetime_field;
mod datetime_format;
mod datetime_make;
mod datetime_period;
mod decimal;
mod digest;
mod exponential;
mod json;
mod json_build;
mod json_change;
pub mod json_order;
mod json_piece;
mod math;
mod number_format;
pub mod pattern;
pub(in crate::exec) mod pattern_prefix;
mod percentile;
mod size;
mod string;
mod system;
mod text_argument;
mod text_encoding;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::cell::{array_of, value_at};
use super::datafusion_error::{from_datafusion, to_datafusion};
use crate::Result;
use crate::types::{FormatSettings, ResultLimits, SqlType, Value};

/// Rows that one call of a set-returning function gives at most: they are made in memory.
const SET_ROWS_MAX: usize = 20_000_000;

pub use arithmetic::{ArithmeticOp, QUOTIENT_SCALE, arithmetic_result};
pub use array::{ANY_EQUAL_NAME, JOIN_TEXTS, MAKE_ARRAY, ORDINALITY, SLICE, SUBSCRIPT, quantified};
pub use array_order::order_function;
pub use compare::{FLOAT_KEY, FLOAT_OF_KEY};
pub use datetime_make::{CUT_INTERVAL, ROUND_FRACTION, cut_interval, round_fraction};
pub use decimal::quotient_scale;
pub use percentile::{PERCENTILE_CONT, PERCENTILE_DISC};

/// The type of an argument or a result in a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum T {
    /// boolean.
    Bool,
    /// smallint.
    Int2,
    /// integer.
    Int4,
    /// bigint.
    Int8,
    /// real.
    Float4,
    /// double precision.
    Float8,
    /// numeric of any size.
    Numeric,
    /// text.
    Text,
    /// bytea.
    Bytea,
    /// date.
    Date,
    /// time.
    Time,
    /// timestamp.
    Timestamp,
    /// timestamptz.
    TimestampTz,
    /// interval.
    Interval,
    /// uuid.
    Uuid,
    /// json.
    Json,
    /// jsonb.
    Jsonb,
    /// name.
    Name,
    /// oid.
    Oid,
    /// text[].
    TextArray,
    /// Any type, each argument its own.
    Any,
    /// Any type, the same for all arguments marked so.
    AnyElement,
    /// An array whose items are of `AnyElement`'s type.
    AnyArray,
}

/// The type of a function's result.
#[derive(Clone, Copy)]
pub enum Returns {
    /// Always this type (for `AnyElement` and `AnyArray`: as the arguments decided).
    Type(T),
    /// An array of this type.
    ArrayOf(T),
    /// Found from the argument types and the arguments that are constants (numeric scales).
    Computed(fn(&[SqlType], &[Option<Value>]) -> SqlType),
}

/// What a function of whole arrays is given.
pub struct Batch<'a> {
    /// Its arguments, each of `rows` rows.
    pub arrays: &'a [ArrayRef],
    /// The argument types.
    pub arguments: &'a [SqlType],
    /// The result type.
    pub returns: &'a SqlType,
    /// How many rows.
    pub rows: usize,
    /// What reading and printing depends on.
    pub settings: &'a FormatSettings,
}

/// What a function of single values is given beside them.
pub struct Call<'a> {
    /// The argument types.
    pub arguments: &'a [SqlType],
    /// The result type.
    pub returns: &'a SqlType,
    /// What reading and printing depends on.
    pub settings: &'a FormatSettings,
}

impl Call<'_> {
    /// How long the result may be.
    fn result_limits(&self) -> ResultLimits {
        self.settings.result_limits
    }
}

/// How a function is computed.
#[derive(Clone, Copy)]
pub enum Body {
    /// A row at a time.
    Row(fn(&[Value], &Call) -> Result<Value>),
    /// A batch at a time.
    Batch(fn(&Batch) -> Result<ArrayRef>),
    /// Gives an array whose items become rows.
    Rows(fn(&[Value], &Call) -> Result<Value>),
}

/// A registration.
#[derive(Clone, Copy)]
pub struct FunctionDef {
    /// Its name, lower case.
    pub name: &'static str,
    /// Its arguments; with `variadic` the last may come once or more.
    pub arguments: &'static [T],
    /// See `arguments`.
    pub variadic: bool,
    /// Its result.
    pub returns: Returns,
    /// NULL when any argument is NULL, without a call.
    pub strict: bool,
    /// Immutable, stable or volatile, as PostgreSQL's.
    pub volatility: Volatility,
    /// Whether it computes and answers about as much as it is given: it makes nothing much of little, as `repeat`,
    /// `generate_series` or a pattern may.
    pub is_bounded: bool,
    /// How it is computed.
    pub body: Body,
}

impl FunctionDef {
    /// A strict, immutable function of single values.
    pub const fn row(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&[Value], &Call) -> Result<Value>,
    ) -> FunctionDef {
        FunctionDef {
            name,
            arguments,
            variadic: false,
            returns: Returns::Type(returns),
            strict: true,
            volatility: Volatility::Immutable,
            is_bounded: false,
            body: Body::Row(body),
        }
    }
    /// A strict, immutable function that gives a set of rows.
    pub const fn rows(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&[Value], &Call) -> Result<Value>,
    ) -> FunctionDef {
        FunctionDef {
            returns: Returns::ArrayOf(returns),
            body: Body::Rows(body),
            ..Self::row(name, arguments, returns, body)
        }
    }
    /// The last argument may come once or more.
    pub const fn variadic(self) -> FunctionDef {
        FunctionDef {
            variadic: true,
            ..self
        }
    }
    /// It is called with NULLs too.
    pub const fn on_null(self) -> FunctionDef {
        FunctionDef {
            strict: false,
            ..self
        }
    }
    /// Another value at every call.
    pub const fn volatile(self) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Volatile,
            ..self
        }
    }
    /// It computes and answers about as much as it is given.
    pub const fn bounded(self) -> FunctionDef {
        FunctionDef {
            is_bounded: true,
            ..self
        }
    }
    /// A result type found from the arguments.
    pub const fn computed(self, returns: fn(&[SqlType], &[Option<Value>]) -> SqlType) -> FunctionDef {
        FunctionDef {
            returns: Returns::Computed(returns),
            ..self
        }
    }
    /// An array result.
    pub const fn array(self, item: T) -> FunctionDef {
        FunctionDef {
            returns: Returns::ArrayOf(item),
            ..self
        }
    }
}

/// A function was called with other types than its registration says: a bug in us.
fn mismatched_types() -> crate::Error {
    crate::Error::internal("a function of other types than it was planned for")
}

/// Every function of this name.
pub fn functions_named(name: &str) -> impl Iterator<Item = &'static FunctionDef> {
    TABLES
        .iter()
        .flat_map(|table| table.iter())
        .filter(move |row| row.name == name)
}

/// Whether there are functions of this name, all of them bounded.
pub fn are_bounded(name: &str) -> bool {
    let mut rows = functions_named(name).peekable();
    rows.peek().is_some() && rows.all(|row| row.is_bounded)
}

/// Every function name, for hints and pg_proc.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| table.iter()).map(|row| row.name)
}

static TABLES: &[&[FunctionDef]] = &[
    array::FUNCTIONS,
    bytea::FUNCTIONS,
    datetime::FUNCTIONS,
    datetime_format::FUNCTIONS,
    datetime_period::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
    json_change::FUNCTIONS,
    math::FUNCTIONS,
    number_format::FUNCTIONS,
    pattern::FUNCTIONS,
    string::FUNCTIONS,
    system::FUNCTIONS,
];

/// A function whose argument and result types are fixed, as DataFusion runs it.
pub struct BoundFunction {
    name: String,
    arguments: Vec<SqlType>,
    returns: SqlType,
    strict: bool,
    body: Body,
    settings: Arc<FormatSettings>,
    signature: Signature,
}

/// A call of `body` as an expression: arguments of exactly the `arguments` types, result of the `returns` type.
pub fn call(
    definition: (&str, Body, bool, Volatility),
    arguments: Vec<(Expr, SqlType)>,
    returns: SqlType,
    settings: &Arc<FormatSettings>,
) -> Expr {
    let (name, body, strict, volatility) = definition;
    let (expressions, types): (Vec<Expr>, Vec<SqlType>) = arguments.into_iter().unzip();
    let signature = if types.is_empty() {
        Signature::nullary(volatility)
    } else {
        Signature::any(types.len(), volatility)
    };
    let function = BoundFunction {
        name: name.to_string(),
        arguments: types,
        returns,
        strict,
        body,
        settings: settings.clone(),
        signature,
    };
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(function)),
        expressions,
    ))
}

impl BoundFunction {
    /// Computes it for rows of arguments.
    fn compute(&self, mut arrays: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        for (array, ty) in arrays.iter_mut().zip(&self.arguments) {
            // With NULLs of no type, DataFusion asks what a condition gives for NULL.
            if *array.data_type() == DataType::Null {
                *array = new_null_array(&ty.arrow_type(), array.len());
            }
        }
        self.compute_raw(&arrays, rows).map(compare::with_one_nan)
    }

    fn compute_raw(&self, arrays: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let call = Call {
            arguments: &self.arguments,
            returns: &self.returns,
            settings: &self.settings,
        };
        let body = match self.body {
            Body::Batch(body) => {
                return body(&Batch {
                    arrays,
                    arguments: &self.arguments,
                    returns: &self.returns,
                    rows,
                    settings: &self.settings,
                });
            }
            Body::Row(body) | Body::Rows(body) => body,
        };
        let (mut results, mut bytes) = (
            Vec::with_capacity(rows),
            size::BatchBytes::new(call.result_limits()),
        );
        let mut values = vec![Value::Null; arrays.len()];
        for row in 0..rows {
            if self.strict && arrays.iter().any(|array| array.is_null(row)) {
                results.push(Value::Null);
                continue;
            }
            for ((value, array), ty) in values.iter_mut().zip(arrays).zip(&self.arguments) {
                *value = value_at(array, row, ty)?;
            }
            let result = body(&values, &call)?;
            bytes.add(&result)?;
            results.push(result);
        }
        array_of(&results, &self.returns)
    }
}

impl ScalarUDFImpl for BoundFunction {
    fn name(&self) -> &str {
        &self.name
    }
    fn schema_name(&self, arguments: &[Expr]) -> datafusion::error::Result<String> {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.schema_name().to_string())
            .collect();
        // The types tell apart calls that differ in nothing else (casts of one expression to several types).
        Ok(format!(
            "{}[{}]({})",
            self.name,
            self.returns,
            arguments.join(",")
        ))
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _arguments: &[DataType]) -> datafusion::error::Result<DataType> {
        Ok(self.returns.arrow_type())
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::error::Result<ColumnarValue> {
        let constant = self.signature.volatility != Volatility::Volatile
            && args
                .args
                .iter()
                .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let arrays = args
            .args
            .into_iter()
            .map(|argument| argument.into_array(rows))
            .collect::<datafusion::error::Result<Vec<_>>>()?;
        let result = self.compute(arrays, rows).map_err(to_datafusion)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

impl fmt::Debug for BoundFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundFunction")
            .field("name", &self.name)
            .field("returns", &self.returns)
            .finish_non_exhaustive()
    }
}

/// Calls are the same when name, types and settings are: the body follows from these.
impl PartialEq for BoundFunction {
    fn eq(&self, other: &BoundFunction) -> bool {
        self.name == other.name
            && self.arguments == other.arguments
            && self.returns == other.returns
            && self.settings == other.settings
    }
}

impl Eq for BoundFunction {}

impl Hash for BoundFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.arguments.hash(state);
        self.returns.hash(state);
    }
}

/// Whether a function is one of the tables above, which need nothing of the statement that calls them.
pub fn is_self_contained(function: &ScalarUDF) -> bool {
    (function.inner().as_ref() as &dyn std::any::Any).is::<BoundFunction>()
}

/// Whether a function is one of the tables above that gives NULL for any NULL.
pub fn is_strict(function: &ScalarUDF) -> bool {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.is_some_and(|ours| ours.strict)
}

/// The result type of a function that is one of the tables above.
pub fn result_type(function: &ScalarUDF) -> Option<&SqlType> {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.map(|ours| &ours.returns)
}

/// The expression with every function of ours over constants computed.
pub fn fold_constants(expression: Expr) -> Result<Expr> {
    let folded = expression.transform_up(|expression| {
        Ok(match evaluate_constant(&expression).map_err(to_datafusion)? {
            Some(scalar) => Transformed::yes(Expr::Literal(scalar, None)),
            None => match &expression {
                Expr::Cast(cast) => match cast.expr.as_ref() {
                    Expr::Literal(scalar, _) => {
                        Transformed::yes(Expr::Literal(scalar.cast_to(cast.field.data_type())?, None))
                    }
                    _ => Transformed::no(expression),
                },
                _ => Transformed::no(expression),
            },
        })
    });
    folded.map(|folded| folded.data).map_err(from_datafusion)
}

/// Runs a function once, on constants; `None` when it is none of ours or an argument is no constant.
fn evaluate_constant(expression: &Expr) -> Result<Option<ScalarValue>> {
    let Expr::ScalarFunction(function) = expression else {
        return Ok(None);
    };
    let Some(bound) = (function.func.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>()
    else {
        return Ok(None);
    };
    if bound.signature.volatility == Volatility::Volatile {
        return Ok(None);
    }
    let mut arrays = Vec::with_capacity(function.args.len());
    for argument in &function.args {
        let Expr::Literal(scalar, _) = argument else {
            return Ok(None);
        };
        arrays.push(scalar.to_array().map_err(from_datafusion)?);
    }
    let result = bound.compute(arrays, 1)?;
    ScalarValue::try_from_array(&result, 0)
        .map(Some)
        .map_err(from_datafusion)
}

/// 54000 for a set too large to be made in memory.
fn too_many_rows() -> crate::Error {
    crate::Error::LimitExceeded {
        state: crate::error::Limit::Program,
        message: format!("a set-returning function gave more than {SET_ROWS_MAX} rows"),
        hint: "Ask for a smaller series, or join several.".to_string(),
    }
}
