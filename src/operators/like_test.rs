//! LIKE as what computes it. A pattern that is the same for all rows is parsed once a batch.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::datatypes::{DataType, Schema};
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::plan::like::LikeMatcher;
use crate::scan::like_values::LikeValues;
use crate::tree::{Expr, Like};
use crate::{Error, Result};

/// What computes a LIKE of these operands, a value and a pattern. Errors: they do not fit the schema.
pub(super) fn like_test(
    like: &Like,
    operands: [Arc<dyn PhysicalExpr>; 2],
    schema: &Schema,
) -> DataFusionResult<ScalarFunctionExpr> {
    let test = LikeTest {
        negated: like.negated,
        case_insensitive: like.case_insensitive,
        escape: like.escape,
        signature: Signature::new(TypeSignature::Any(2), Volatility::Immutable),
    };
    let function = Arc::new(ScalarUDF::from(test));
    ScalarFunctionExpr::try_new(function, operands.into(), schema, Arc::default())
}

/// The LIKE that a function stands for, of these operands.
pub(super) fn like_of(function: &ScalarUDF, operands: &[Expr]) -> Option<Like> {
    let test = (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<LikeTest>()?;
    let [expr, pattern] = operands else { return None };
    Some(Like {
        negated: test.negated,
        case_insensitive: test.case_insensitive,
        escape: test.escape,
        expr: Box::new(expr.clone()),
        pattern: Box::new(pattern.clone()),
    })
}

/// Whether a function stands for a LIKE.
pub(super) fn is_like(function: &ScalarUDF) -> bool {
    (function.inner().as_ref() as &dyn std::any::Any).is::<LikeTest>()
}

/// LIKE as a function.
#[derive(Debug, PartialEq, Eq)]
struct LikeTest {
    negated: bool,
    case_insensitive: bool,
    escape: Option<char>,
    signature: Signature,
}

impl Hash for LikeTest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.negated, self.case_insensitive, self.escape).hash(state);
    }
}

impl ScalarUDFImpl for LikeTest {
    fn name(&self) -> &str {
        "like"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Boolean)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [value, pattern] = args.args.as_slice() else {
            return Err(Error::internal("LIKE has two operands").into());
        };
        if let (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) = (value, pattern) {
            let found = self.one_pattern(&value.to_array(1)?, &pattern.to_array(1)?)?;
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?));
        }
        let found = match pattern {
            ColumnarValue::Scalar(_) => {
                self.one_pattern(&value.to_array(args.number_rows)?, &pattern.to_array(1)?)
            }
            ColumnarValue::Array(patterns) => self.each_pattern(&value.to_array(patterns.len())?, patterns),
        };
        Ok(ColumnarValue::Array(Arc::new(found?)))
    }
}

impl LikeTest {
    fn matcher(&self, pattern: &[u8], is_text: bool) -> LikeMatcher {
        LikeMatcher::new(pattern, self.escape, self.case_insensitive, is_text)
    }

    /// Each value beside the only pattern.
    fn one_pattern(&self, values: &dyn Array, pattern: &dyn Array) -> Result<BooleanArray> {
        let patterns = LikeValues::of(pattern)?;
        let Some(pattern) = patterns.get(0) else {
            return Ok(BooleanArray::new_null(values.len()));
        };
        let matcher = self.matcher(pattern, patterns.is_text());
        LikeValues::of(values)?.matched(|_, value| Ok(Some(matcher.matches(value)? != self.negated)))
    }

    /// Each value beside its own pattern. Neighbours that have the same one share what is made of it.
    fn each_pattern(&self, values: &dyn Array, patterns: &dyn Array) -> Result<BooleanArray> {
        let patterns = LikeValues::of(patterns)?;
        let mut last: Option<(&[u8], LikeMatcher)> = None;
        LikeValues::of(values)?.matched(|row, value| {
            let Some(pattern) = patterns.get(row) else {
                return Ok(None);
            };
            let (_, matcher) = match last.take().filter(|(text, _)| *text == pattern) {
                Some(same) => last.insert(same),
                None => last.insert((pattern, self.matcher(pattern, patterns.is_text()))),
            };
            Ok(Some(matcher.matches(value)? != self.negated))
        })
    }
}
