//! A function of fixed argument and result types, as DataFusion runs it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef};
use async_trait::async_trait;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::interval_arithmetic::Interval;
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::batch::Batch;
use super::compare;
use super::definition::Body;
use super::size::{BatchBytes, within_memory};
use crate::functions::folding::is_folding;
use crate::system::datafusion_error::{from_datafusion, to_datafusion};
use crate::system::pg_catalog::{CatalogContext, installed};
use crate::types::{FormatSettings, SqlType};
use crate::{Error, Result};

/// A function whose argument and result types are fixed, as DataFusion runs it.
pub(super) struct BoundFunction {
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
    let function = match body {
        Body::Waiting(_) => AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf(),
        _ => ScalarUDF::new_from_impl(function),
    };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), expressions))
}

impl BoundFunction {
    /// The types of its arguments.
    pub(super) fn arguments(&self) -> &[SqlType] {
        &self.arguments
    }

    /// The type of its result.
    pub(super) fn returns(&self) -> &SqlType {
        &self.returns
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
            (Body::Catalog(body) | Body::CatalogRows(body), Some(statement)) => body(&batch, statement),
            (Body::Waiting(_), _) => Err(Error::internal("a function that waits was not waited for")),
            (Body::Catalog(_) | Body::CatalogRows(_), None) => {
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
    ) -> datafusion_common::Result<ArrayRef> {
        let mut parts = Vec::with_capacity(rows.div_ceil(at_once));
        let mut bytes = BatchBytes::new(self.settings.result_limits);
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            let arrays = arguments.iter().map(|argument| match argument {
                ColumnarValue::Array(array) => Ok(array.slice(first, count)),
                ColumnarValue::Scalar(scalar) => scalar.to_array_of_size(count),
            });
            let arrays = arrays.collect::<datafusion_common::Result<Vec<_>>>()?;
            let part = self.compute(arrays, count, statement).map_err(to_datafusion)?;
            bytes
                .add_bytes(part.get_array_memory_size())
                .map_err(to_datafusion)?;
            self.check_folded(&part).map_err(to_datafusion)?;
            parts.push(part);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        Ok(concat(&parts)?)
    }

    /// Errors: whatever tells DataFusion not to put a long result into the plan, when constants are being folded.
    fn check_folded(&self, result: &ArrayRef) -> Result<()> {
        match result.get_array_memory_size() > FOLDED_BYTES_MAX && is_folding() {
            true => Err(Error::internal("a constant is too long for the plan")),
            false => Ok(()),
        }
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
    fn schema_name(&self, arguments: &[Expr]) -> datafusion_common::Result<String> {
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
    fn return_type(&self, _arguments: &[DataType]) -> datafusion_common::Result<DataType> {
        Ok(self.returns.arrow_type())
    }
    /// Any value of the result's type. DataFusion's own answer has no type, and comparing it with a constant's would fail: an
    /// order by `upper(s) > 'A'` would not be known for what it is.
    fn evaluate_bounds(&self, _: &[&Interval]) -> datafusion_common::Result<Interval> {
        Interval::make_unbounded(&self.returns.arrow_type())
            .or_else(|_| Interval::make_unbounded(&DataType::Null))
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs) -> datafusion_common::Result<FieldRef> {
        Ok(Arc::new(self.returns.field(&self.name, true)))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion_common::Result<ColumnarValue> {
        let constant = self.signature.volatility != Volatility::Volatile
            && args
                .args
                .iter()
                .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let statement = match self.body {
            Body::Catalog(_) | Body::CatalogRows(_) => Some(installed(&args.config_options)?),
            Body::Batch(_) | Body::Rows(_) | Body::Waiting(_) => None,
        };
        let result = match rows_at_once(&args.args) {
            at_once if rows <= at_once => {
                let arrays = args.args.into_iter().map(|argument| argument.into_array(rows));
                let arrays = arrays.collect::<datafusion_common::Result<Vec<_>>>()?;
                self.compute(arrays, rows, statement.as_deref())
                    .map_err(to_datafusion)?
            }
            at_once => self.compute_in_parts(&args.args, rows, at_once, statement.as_deref())?,
        };
        self.check_folded(&result).map_err(to_datafusion)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for BoundFunction {
    async fn invoke_async_with_args(
        &self,
        args: ScalarFunctionArgs,
    ) -> datafusion_common::Result<ColumnarValue> {
        let Body::Waiting(body) = self.body else {
            return self.invoke_with_args(args);
        };
        let rows = args.number_rows;
        let arrays = args.args.into_iter();
        let arrays = arrays.map(|argument| argument.into_array(rows));
        let arrays = arrays.collect::<datafusion_common::Result<Vec<_>>>()?;
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

/// Whether a function may wait, which only the general plan can.
pub fn waits(function: &ScalarUDF) -> bool {
    (function.inner().as_ref() as &dyn std::any::Any).is::<AsyncScalarUDF>()
}

/// Whether a function is one of ours that needs nothing of the statement that calls it.
pub fn is_self_contained(function: &ScalarUDF) -> bool {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.is_some_and(|ours| {
        !matches!(
            ours.body,
            Body::Catalog(_) | Body::CatalogRows(_) | Body::Waiting(_)
        )
    })
}

/// Whether a function is one of ours that asks the catalogs, as the statement that calls it sees them.
pub fn reads_catalogs(function: &ScalarUDF) -> bool {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.is_some_and(|ours| matches!(ours.body, Body::Catalog(_) | Body::CatalogRows(_)))
}

/// Whether a function is one of ours that gives NULL for any NULL.
pub fn is_strict(function: &ScalarUDF) -> bool {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.is_some_and(|ours| ours.strict)
}

/// The argument types of a function that is one of ours; none of any other.
pub fn argument_types(function: &ScalarUDF) -> &[SqlType] {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.map_or(&[], |ours| &ours.arguments)
}

/// The result type of a function that is one of ours.
pub fn result_type(function: &ScalarUDF) -> Option<&SqlType> {
    let ours = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>();
    ours.map(|ours| &ours.returns)
}

/// The expression with every function of ours over constants computed, but for those that need the statement.
pub fn fold_constants(expression: Expr) -> Result<Expr> {
    fold(expression, None)
}

/// The same with those that read the catalogs, as the statement sees them.
pub fn fold_constants_in(expression: Expr, statement: &CatalogContext) -> Result<Expr> {
    fold(expression, Some(statement))
}

fn fold(expression: Expr, statement: Option<&CatalogContext>) -> Result<Expr> {
    let folded = expression.transform_up(|expression| {
        Ok(
            match evaluate_constant(&expression, statement).map_err(to_datafusion)? {
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
            },
        )
    });
    folded.map(|folded| folded.data).map_err(from_datafusion)
}

/// Runs a function once, on constants; `None` when it is none of ours, needs a statement and there is none, or an argument is no
/// constant.
fn evaluate_constant(expression: &Expr, statement: Option<&CatalogContext>) -> Result<Option<ScalarValue>> {
    let Expr::ScalarFunction(function) = expression else {
        return Ok(None);
    };
    let Some(bound) = (function.func.inner().as_ref() as &dyn std::any::Any).downcast_ref::<BoundFunction>()
    else {
        return Ok(None);
    };
    let is_foldable = match bound.body {
        Body::Batch(_) | Body::Rows(_) => true,
        Body::Catalog(_) | Body::CatalogRows(_) => statement.is_some(),
        Body::Waiting(_) => false,
    };
    if bound.signature.volatility == Volatility::Volatile || !is_foldable {
        return Ok(None);
    }
    let mut arrays = Vec::with_capacity(function.args.len());
    for argument in &function.args {
        let Expr::Literal(scalar, _) = argument else {
            return Ok(None);
        };
        arrays.push(scalar.to_array().map_err(from_datafusion)?);
    }
    let result = bound.compute(arrays, 1, statement)?;
    if result.get_array_memory_size() > FOLDED_BYTES_MAX {
        return Ok(None);
    }
    ScalarValue::try_from_array(&result, 0)
        .map(Some)
        .map_err(from_datafusion)
}
