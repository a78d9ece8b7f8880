//! `nullable(x)`: its argument, said to be NULL perhaps. The first term of a recursive query needs it: what the terms
//! after it give may be NULL, but DataFusion takes the columns of all from the first, and trusts them.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The expression, said to be NULL perhaps.
pub fn nullable(expr: Expr) -> Expr {
    // Volatile, so that a constant is not computed before: it would be known not to be NULL again.
    let signature = Signature::any(1, Volatility::Volatile);
    ScalarUDF::new_from_impl(Nullable { signature }).call(vec![expr])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &str {
        "nullable"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> DataFusionResult<DataType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(args.arg_fields[0].as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        Ok(args.args.swap_remove(0))
    }
}
