//! Placeholders of a generic plan as what gives their value in the present run: a function that looks at no argument. It has one, a
//! constant: of expressions without any, DataFusion asks neither whether they are constant nor what their type bounds, and what it does
//! not know of a parameter it does not know of all that is made with it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::interval_arithmetic::Interval;
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_physical_expr::expressions::Literal;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::logical::run_inputs::RunInputs;
use crate::tree::Placeholder;

/// What gives the value of a placeholder. Errors: it has no type, or there are no inputs.
pub(super) fn parameter(
    placeholder: &Placeholder,
    inputs: Option<&Arc<RunInputs>>,
) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let internal = |what: &str| DataFusionError::Internal(what.to_string());
    let inputs = inputs.ok_or_else(|| internal("a parameter that nobody put in"))?;
    let field = placeholder.field.as_ref();
    let field = field.ok_or_else(|| internal("a parameter without a type"))?;
    let function = ScalarUDF::from(Parameter {
        id: placeholder.id.clone(),
        field: Arc::clone(field),
        inputs: Arc::clone(inputs),
        signature: Signature::any(1, Volatility::Stable),
    });
    let unread: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(ScalarValue::Boolean(None)));
    let call =
        ScalarFunctionExpr::try_new(Arc::new(function), vec![unread], &Schema::empty(), Arc::default())?;
    Ok(Arc::new(call))
}

/// The placeholder that a function stands for.
pub(super) fn placeholder_of(function: &ScalarUDF) -> Option<Placeholder> {
    let parameter = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<Parameter>()?;
    Some(Placeholder {
        id: parameter.id.clone(),
        field: Some(Arc::clone(&parameter.field)),
    })
}

/// A placeholder as a function.
struct Parameter {
    id: String,
    field: FieldRef,
    inputs: Arc<RunInputs>,
    signature: Signature,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Parameter) -> bool {
        self.id == other.id && self.field == other.field && Arc::ptr_eq(&self.inputs, &other.inputs)
    }
}

impl Eq for Parameter {}

impl Hash for Parameter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ScalarUDFImpl for Parameter {
    fn name(&self) -> &str {
        &self.id
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.field.data_type().clone())
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.field.as_ref().clone().with_nullable(true)))
    }
    fn evaluate_bounds(&self, _: &[&Interval]) -> DataFusionResult<Interval> {
        Interval::make_unbounded(self.field.data_type())
            .or_else(|_| Interval::make_unbounded(&DataType::Null))
    }
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.inputs.value(&self.id)?))
    }
}
