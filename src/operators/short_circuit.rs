//! `ShortCircuit`: AND and OR whose right side is computed for those rows alone that the left side does not decide, as PostgreSQL does:
//! `x = 0 OR 10 / x > 1` and `t ~ '^\d+$' AND t::int > 7` do not fail. Where the right side cannot fail, DataFusion's own operator computes
//! both sides at once.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::{and_kleene, or_kleene};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_common::cast::as_boolean_array;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr, case,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::few_columns::FewColumns;
use super::like_test::is_like;
use super::parameter::placeholder_of;
use crate::functions::sort_key::is_around_operands;

type Physical = Arc<dyn PhysicalExpr>;

/// What is asked for the type of the result.
static FIELD: LazyLock<FieldRef> =
    LazyLock::new(|| Arc::new(Field::new("condition", DataType::Boolean, true)));

/// See the module.
#[derive(Debug)]
pub(super) struct ShortCircuit {
    pub(super) left: Physical,
    /// AND or OR.
    pub(super) op: Operator,
    pub(super) right: Physical,
    few: FewColumns,
}

/// AND or OR of two conditions; `None`: the operator is another, or the right side cannot fail.
pub(super) fn short_circuit(left: &Physical, op: Operator, right: &Physical) -> Option<Physical> {
    if !matches!(op, Operator::And | Operator::Or) || !may_fail(right) {
        return None;
    }
    let (left, right) = (Arc::clone(left), Arc::clone(right));
    // The closures of its making do not fail.
    let built = ShortCircuit::new(left, op, right).ok()?;
    Some(Arc::new(built))
}

/// A value that is looked at only where the condition, if there is one, is true: what FILTER leaves out is not computed.
pub(super) fn computed_where(condition: Option<&Physical>, value: Physical) -> DataFusionResult<Physical> {
    // What says something else each time is asked once: by who leaves rows out.
    match condition.filter(|condition| may_fail(&value) && !is_volatile(condition)) {
        Some(condition) => case(None, vec![(Arc::clone(condition), value)], None),
        None => Ok(value),
    }
}

/// Whether computing it may fail for some values, or do something.
fn may_fail(expr: &Physical) -> bool {
    let mut may_fail = false;
    // The closure does not fail.
    let _ = expr.apply(|expr| {
        may_fail |= !is_safe(expr);
        Ok(match may_fail {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    });
    may_fail
}

/// Whether an expression cannot fail if its parts do not.
fn is_safe(expr: &Physical) -> bool {
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        return is_around_operands(call.name())
            || placeholder_of(call.fun()).is_some()
            || is_like(call.fun());
    }
    // Those that a tree has compare, or join conditions.
    expr.is::<BinaryExpr>()
        || expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<ShortCircuit>()
}

// Derived, they would move the sides out.
impl PartialEq for ShortCircuit {
    fn eq(&self, other: &ShortCircuit) -> bool {
        self.op == other.op && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Eq for ShortCircuit {}

impl Hash for ShortCircuit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.left, self.op, &self.right).hash(state);
    }
}

impl ShortCircuit {
    fn new(left: Physical, op: Operator, right: Physical) -> DataFusionResult<ShortCircuit> {
        Ok(ShortCircuit {
            few: FewColumns::of(&right)?,
            left,
            op,
            right,
        })
    }

    /// For which rows the left side does not decide.
    fn undecided(&self, left: &BooleanArray) -> BooleanArray {
        let decides = self.op == Operator::Or;
        let values = match decides {
            true => !left.values(),
            false => left.values().clone(),
        };
        match left.nulls() {
            None => BooleanArray::new(values, None),
            Some(nulls) => BooleanArray::new(&values | &!nulls.inner(), None),
        }
    }
}

fn truth(value: &ColumnarValue, rows: usize) -> DataFusionResult<BooleanArray> {
    Ok(as_boolean_array(&value.to_array(rows)?)?.clone())
}

impl PhysicalExpr for ShortCircuit {
    fn return_field(&self, _: &Schema) -> DataFusionResult<FieldRef> {
        Ok(Arc::clone(&FIELD))
    }
    fn data_type(&self, _: &Schema) -> DataFusionResult<DataType> {
        Ok(DataType::Boolean)
    }
    fn nullable(&self, _: &Schema) -> DataFusionResult<bool> {
        Ok(true)
    }
    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        let rows = batch.num_rows();
        let left = truth(&self.left.evaluate(batch)?, rows)?;
        let undecided = self.undecided(&left);
        if !undecided.has_true() {
            return Ok(ColumnarValue::Array(Arc::new(left)));
        }
        let right = truth(&self.few.evaluate(batch, &undecided)?, rows)?;
        // What was not computed is NULL or false, which changes nothing of what the left side decides.
        let both = match self.op {
            Operator::And => and_kleene(&left, &right),
            _ => or_kleene(&left, &right),
        };
        Ok(ColumnarValue::Array(Arc::new(both?)))
    }
    fn children(&self) -> Vec<&Physical> {
        vec![&self.left, &self.right]
    }
    fn with_new_children(self: Arc<Self>, children: Vec<Physical>) -> DataFusionResult<Physical> {
        let [left, right] = <[Physical; 2]>::try_from(children)
            .map_err(|_| DataFusionError::Internal("a condition of two sides".to_string()))?;
        Ok(Arc::new(ShortCircuit::new(left, self.op, right)?))
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ShortCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} {} {})", self.left, self.op, self.right)
    }
}
