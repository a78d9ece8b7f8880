//! `evaluated`: what an expression over constants gives, as the constant that it is. What fails is left to fail when it is computed for a
//! row, if it ever is; what would be long is left to be computed there.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Scalar};
use arrow::compute::kernels::cmp;

use crate::functions::value_array::{array_of_scalar, cast_scalar, null_of};
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{
    BinaryExpr, Case, Expr, FieldMetadata, InList, Operator, RowSchema, ScalarValue, Transformed,
    TransformedResult, TreeNode,
};

/// Whether a condition over constants is false or NULL.
pub(crate) fn is_never_true(condition: &Expr) -> bool {
    let parts = condition.clone().transform_up(|part| {
        Ok(match evaluated(&part, None) {
            Some(value) => Transformed::yes(value),
            None => Transformed::no(part),
        })
    });
    let Ok(Expr::Literal(value, _)) = parts.data() else {
        return false;
    };
    matches!(
        value,
        ScalarValue::Boolean(None | Some(false)) | ScalarValue::Null
    )
}

/// The constant that an expression over constants is. `None`: it is none, or it fails. `catalogs`: those that functions may ask.
pub(super) fn evaluated(expr: &Expr, catalogs: Option<&Arc<CatalogContext>>) -> Option<Expr> {
    let truth = |value: Option<bool>| Expr::Literal(ScalarValue::Boolean(value), None);
    Some(match expr {
        Expr::ScalarFunction(call) => {
            let arguments = call.args.iter().map(constant).collect::<Option<Vec<_>>>()?;
            let catalogs = catalogs.map(Arc::as_ref);
            let value = call.func.of_constants(arguments.into_iter(), catalogs).ok()??;
            let field = call.func.returns().field(call.name(), true);
            let label = (!field.metadata().is_empty()).then(|| FieldMetadata::from(field.metadata()));
            Expr::Literal(value, label)
        }
        Expr::Cast(cast) => Expr::Literal(cast_scalar(constant(&cast.expr)?, &cast.ty).ok()?, None),
        Expr::BinaryExpr(binary) => truth(compared(binary)?),
        Expr::Not(inner) => truth(boolean(inner)?.map(|value| !value)),
        Expr::IsNull(inner) => truth(Some(constant(inner)?.is_null())),
        Expr::IsNotNull(inner) => truth(Some(!constant(inner)?.is_null())),
        Expr::TruthTest(test) => truth(Some((boolean(&test.expr)? == test.truth) != test.negated)),
        Expr::Case(case) => taken(case, expr)?,
        Expr::InList(list) => truth(found(list)?),
        _ => return None,
    })
}

fn constant(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn boolean(expr: &Expr) -> Option<Option<bool>> {
    match constant(expr)? {
        ScalarValue::Boolean(value) => Some(*value),
        ScalarValue::Null => Some(None),
        _ => None,
    }
}

/// What a comparison of constants says.
fn compared(binary: &BinaryExpr) -> Option<Option<bool>> {
    compare(constant(&binary.left)?, binary.op, constant(&binary.right)?)
}

fn compare(left: &ScalarValue, op: Operator, right: &ScalarValue) -> Option<Option<bool>> {
    type Kernel = fn(
        &dyn arrow::array::Datum,
        &dyn arrow::array::Datum,
    ) -> Result<BooleanArray, arrow::error::ArrowError>;
    let kernel: Kernel = match op {
        Operator::Eq => cmp::eq,
        Operator::NotEq => cmp::neq,
        Operator::Lt => cmp::lt,
        Operator::LtEq => cmp::lt_eq,
        Operator::Gt => cmp::gt,
        Operator::GtEq => cmp::gt_eq,
        Operator::IsDistinctFrom => cmp::distinct,
        Operator::IsNotDistinctFrom => cmp::not_distinct,
        _ => return None,
    };
    let side = |value: &ScalarValue| array_of_scalar(value).ok().map(Scalar::<ArrayRef>::new);
    let compared = kernel(&side(left)?, &side(right)?).ok()?;
    Some(compared.iter().next().flatten())
}

/// The branch of a CASE over constants that is taken.
fn taken(case: &Case, whole: &Expr) -> Option<Expr> {
    for (when, then) in &case.when_then_expr {
        let holds = match &case.expr {
            Some(operand) => compare(constant(operand)?, Operator::Eq, constant(when)?)?,
            None => boolean(when)?,
        };
        if holds == Some(true) {
            return constant(then).map(|_| then.as_ref().clone());
        }
    }
    match &case.else_expr {
        Some(otherwise) => constant(otherwise).map(|_| otherwise.as_ref().clone()),
        None => {
            let ty = whole.get_type(&RowSchema::empty()).ok()?;
            null_of(&ty).ok().map(|null| Expr::Literal(null, None))
        }
    }
}

/// Whether a constant is among others.
fn found(list: &InList) -> Option<Option<bool>> {
    let value = constant(&list.expr)?;
    let mut found = Some(false);
    for item in &list.list {
        match compare(value, Operator::Eq, constant(item)?)? {
            Some(true) => return Some(Some(!list.negated)),
            Some(false) => {}
            None => found = None,
        }
    }
    Some(found.map(|found| found != list.negated))
}
