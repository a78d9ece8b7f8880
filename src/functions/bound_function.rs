//! A function of fixed argument and result types, as DataFusion runs it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef};
use async_trait::async_trait;
use datafusion_common::Result as DataFusionResult;
use datafusion_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion_expr::interval_arithmetic::Interval;
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility as DataFusionVolatility,
};

use super::batch::Batch;
use super::compare;
use super::definition::{Body, Volatility};
use super::mismatched_types;
use super::routine;
use super::size::{BatchBytes, within_memory};
use super::value_array::{ScalarValue, array_of_scalar, scalar_at};
use crate::system::datafusion_error::{from_arrow, to_datafusion};
use crate::system::pg_catalog::{CatalogContext, installed};
use crate::system::query_threads::check_left;
use crate::types::{FormatSettings, SqlType, element_type, lists_of};
use crate::{Error, Result};

/// A function whose argument and result types are fixed.
pub struct BoundFunction {
    name: String,
    arguments: Vec<SqlType>,
    returns: SqlType,
    strict: bool,
    body: Body,
    volatility: Volatility,
    settings: Arc<FormatSettings>,
    /// What DataFusion asks for.
    signature: Signature,
}

impl BoundFunction {
    /// A function of arguments of exactly these types, its result of the `returns` type.
    pub fn new(
        (name, body, strict, volatility): (&str, Body, bool, Volatility),
        arguments: Vec<SqlType>,
        returns: SqlType,
        settings: &Arc<FormatSettings>,
    ) -> BoundFunction {
        let known = match volatility {
            Volatility::Immutable => DataFusionVolatility::Immutable,
            Volatility::Stable => DataFusionVolatility::Stable,
            Volatility::Volatile => DataFusionVolatility::Volatile,
        };
        let signature = match arguments.len() {
            0 => Signature::nullary(known),
            count => Signature::any(count, known),
        };
        BoundFunction {
            name: name.to_string(),
            arguments,
            returns,
            strict,
            body,
            volatility,
            settings: Arc::clone(settings),
            signature,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types of its arguments.
    pub fn arguments(&self) -> &[SqlType] {
        &self.arguments
    }

    /// The type of its result.
    pub fn returns(&self) -> &SqlType {
        &self.returns
    }

    /// How its result depends on more than its arguments.
    pub fn volatility(&self) -> Volatility {
        self.volatility
    }

    /// Whether it gives NULL for any NULL.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether it may wait, which only the general plan can.
    pub fn waits(&self) -> bool {
        matches!(self.body, Body::Waiting(_))
    }

    /// Whether it asks the catalogs, as the statement that calls it sees them.
    pub fn reads_catalogs(&self) -> bool {
        matches!(
            self.body,
            Body::Catalog(_) | Body::CatalogRows(_) | Body::Routine(..)
        )
    }

    /// The function of a user's that it calls.
    pub fn routine(&self) -> Option<u32> {
        match self.body {
            Body::Routine(oid, _) => Some(oid),
            _ => None,
        }
    }

    /// What it gives for constants. `None`: another value each time, it needs a statement and there is none, or it would be long.
    pub(crate) fn of_constants<'a>(
        &self,
        arguments: impl Iterator<Item = &'a ScalarValue>,
        statement: Option<&CatalogContext>,
    ) -> Result<Option<ScalarValue>> {
        let is_foldable = !self.waits() && (!self.reads_catalogs() || statement.is_some());
        if self.volatility == Volatility::Volatile || !is_foldable {
            return Ok(None);
        }
        let arrays = arguments.map(array_of_scalar).collect::<Result<Vec<_>>>()?;
        let result = self.compute(arrays, 1, statement)?;
        match result.get_array_memory_size() > FOLDED_BYTES_MAX {
            true => Ok(None),
            false => scalar_at(&result, 0).map(Some),
        }
    }

    /// Whether it does more than answer, or tells what others have done: the order of calls counts, and how many there are. What changes
    /// at each call and has to do with the statement does (it takes a lock, tells others, sets, writes), but for random numbers, which
    /// nobody counts.
    pub fn acts(&self) -> bool {
        let asks_statement = match self.body {
            Body::Routine(..) | Body::Catalog(_) | Body::CatalogRows(_) | Body::Waiting(_) => true,
            Body::Batch(_) | Body::Spread(_) | Body::Rows(_) => false,
        };
        self.volatility == Volatility::Volatile && asks_statement && self.name != "random"
    }

    /// As DataFusion's operators call it.
    pub(crate) fn to_udf(self: &Arc<BoundFunction>) -> ScalarUDF {
        match self.waits() {
            true => AsyncScalarUDF::new(Arc::clone(self) as _).into_scalar_udf(),
            false => ScalarUDF::new_from_shared_impl(Arc::clone(self) as _),
        }
    }

    /// Computes it for rows of arguments, in a statement where it reads one.
    fn compute(
        &self,
        mut arrays: Vec<ArrayRef>,
        rows: usize,
        statement: Option<&CatalogContext>,
    ) -> Result<ArrayRef> {
        for (array, ty) in arrays.iter_mut().zip(&self.arguments) {
            // With NULLs of no type, DataFusion asks what a condition gives for NULL.
            if *array.data_type() == DataType::Null {
                *array = new_null_array(&ty.arrow_type(), array.len());
            }
        }
        let batch = Batch {
            arrays: &arrays,
            arguments: &self.arguments,
            returns: &self.returns,
            rows,
            strict: self.strict,
            settings: &self.settings,
        };
        let result = within_memory(|| match (self.body, statement) {
            (Body::Batch(body) | Body::Rows(body), _) => body(&batch),
            (Body::Spread(body), _) => spread(&batch, body),
            (Body::Catalog(body) | Body::CatalogRows(body), Some(statement)) => body(&batch, statement),
            (Body::Routine(oid, form), Some(statement)) => routine::call(&batch, oid, form, statement),
            (Body::Waiting(_), _) => Err(Error::internal("a function that waits was not waited for")),
            (Body::Catalog(_) | Body::CatalogRows(_) | Body::Routine(..), None) => {
                Err(Error::internal("a function of the catalog outside a statement"))
            }
        });
        result.map(compare::with_one_nan)
    }

    /// The same, so many rows at once, so that there are no more copies of a long constant.
    fn compute_in_parts(
        &self,
        arguments: &[ColumnarValue],
        rows: usize,
        at_once: usize,
        statement: Option<&CatalogContext>,
    ) -> DataFusionResult<ArrayRef> {
        let mut parts = Vec::with_capacity(rows.div_ceil(at_once));
        let mut bytes = BatchBytes::new(self.settings.result_limits);
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            let arrays = arguments.iter().map(|argument| match argument {
                ColumnarValue::Array(array) => Ok(array.slice(first, count)),
                ColumnarValue::Scalar(scalar) => scalar.to_array_of_size(count),
            });
            let arrays = arrays.collect::<DataFusionResult<Vec<_>>>()?;
            let part = self.compute(arrays, count, statement).map_err(to_datafusion)?;
            bytes
                .add_bytes(part.get_array_memory_size())
                .map_err(to_datafusion)?;
            parts.push(part);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        Ok(concat(&parts)?)
    }
}

/// A function of the items of the last array, row by row. NULL for no array.
fn spread(batch: &Batch, body: fn(&Batch) -> Result<ArrayRef>) -> Result<ArrayRef> {
    let (Some((array, before)), Some((ty, before_types))) =
        (batch.arrays.split_last(), batch.arguments.split_last())
    else {
        return Err(mismatched_types());
    };
    let lists = lists_of(array).ok_or_else(mismatched_types)?;
    let mut results = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        check_left()?;
        if lists.is_null(row) {
            results.push(new_null_array(&batch.returns.arrow_type(), 1));
            continue;
        }
        let (items, item_type) = (lists.value(row), element_type(ty));
        let mut arrays: Vec<ArrayRef> = before.iter().map(|array| array.slice(row, 1)).collect();
        arrays.extend((0..items.len()).map(|item| items.slice(item, 1)));
        let mut arguments = before_types.to_vec();
        arguments.extend(std::iter::repeat_n(item_type.clone(), items.len()));
        results.push(body(&Batch {
            arrays: &arrays,
            arguments: &arguments,
            rows: 1,
            ..*batch
        })?);
    }
    let results: Vec<&dyn Array> = results.iter().map(|result| result.as_ref()).collect();
    match results.as_slice() {
        [] => Ok(new_empty_array(&batch.returns.arrow_type())),
        results => concat(results).map_err(|error| from_arrow(&error)),
    }
}

/// Constants that a plan holds in place of the calls that make them are no longer than this: plans are copied.
const FOLDED_BYTES_MAX: usize = 64 << 10;

/// What the copies of constant arguments, one a row, may take.
const COPIES_BYTES_MAX: usize = 16 << 20;

/// Rows for which constant arguments may be copied at once.
fn rows_at_once(arguments: &[ColumnarValue]) -> usize {
    let scalars = arguments.iter().map(|argument| match argument {
        ColumnarValue::Array(_) => 0,
        ColumnarValue::Scalar(scalar) => scalar.size(),
    });
    (COPIES_BYTES_MAX / scalars.sum::<usize>().max(1)).max(1)
}

impl ScalarUDFImpl for BoundFunction {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.returns.arrow_type())
    }
    /// Any value of the result's type. DataFusion's own answer has no type, and comparing it with a constant's would fail: an
    /// order by `upper(s) > 'A'` would not be known for what it is.
    fn evaluate_bounds(&self, _: &[&Interval]) -> DataFusionResult<Interval> {
        Interval::make_unbounded(&self.returns.arrow_type())
            .or_else(|_| Interval::make_unbounded(&DataType::Null))
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.returns.field(&self.name, true)))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let constant = self.volatility != Volatility::Volatile
            && args
                .args
                .iter()
                .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let statement = match self.body {
            Body::Catalog(_) | Body::CatalogRows(_) | Body::Routine(..) => {
                Some(installed(&args.config_options)?)
            }
            Body::Batch(_) | Body::Spread(_) | Body::Rows(_) | Body::Waiting(_) => None,
        };
        let result = match rows_at_once(&args.args) {
            at_once if rows <= at_once => {
                let arrays = args.args.into_iter().map(|argument| argument.into_array(rows));
                let arrays = arrays.collect::<DataFusionResult<Vec<_>>>()?;
                self.compute(arrays, rows, statement.as_deref())
                    .map_err(to_datafusion)?
            }
            at_once => self.compute_in_parts(&args.args, rows, at_once, statement.as_deref())?,
        };
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for BoundFunction {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let Body::Waiting(body) = self.body else {
            return self.invoke_with_args(args);
        };
        let rows = args.number_rows;
        let arrays = args.args.into_iter();
        let arrays = arrays.map(|argument| argument.into_array(rows));
        let arrays = arrays.collect::<DataFusionResult<Vec<_>>>()?;
        let statement = installed(&args.config_options)?;
        let batch = Batch {
            arrays: &arrays,
            arguments: &self.arguments,
            returns: &self.returns,
            rows,
            strict: self.strict,
            settings: &self.settings,
        };
        let result = body(&batch, &statement).await.map_err(to_datafusion)?;
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

/// Calls are the same when name, types and settings are, and the function of a user's: the body follows from these.
impl PartialEq for BoundFunction {
    fn eq(&self, other: &BoundFunction) -> bool {
        self.name == other.name
            && self.routine() == other.routine()
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

/// The function of ours that DataFusion knows as this one. `None`: it is none, or waits.
pub(crate) fn bound_function_of(function: &ScalarUDF) -> Option<Arc<BoundFunction>> {
    let inner: Arc<dyn std::any::Any + Send + Sync> = Arc::clone(function.inner()) as _;
    inner.downcast().ok()
}
