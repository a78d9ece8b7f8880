//! `FoldExpr`: what a step makes of the items of arrays, one after the other (`tree::Fold`). The rows go side by side: of each that has an
//! item left the next one is taken, and the step is computed for all of them at once.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::let_expr::let_column;
use super::physical_expr::{ExprBuilder, Physical};
use crate::system::query_threads::check_left;
use crate::tree::{Fold, RowSchema};

/// See the module.
#[derive(Debug)]
pub(super) struct FoldExpr {
    /// The first state, then the lists.
    operands: Vec<Physical>,
    /// Over a state and an item of each list.
    step: Physical,
    schema: Arc<Schema>,
}

impl FoldExpr {
    /// What makes the next state: it is over columns of its own, so it is no child.
    pub(super) fn step(&self) -> &Physical {
        &self.step
    }

    /// The same with another step over the same columns.
    pub(super) fn with_step(&self, step: Physical) -> FoldExpr {
        FoldExpr {
            operands: self.operands.clone(),
            step,
            schema: Arc::clone(&self.schema),
        }
    }
}

impl ExprBuilder {
    /// Computes the last state. Errors: those of what it is made of.
    pub(super) fn fold_expr(&self, fold: &Fold, schema: &RowSchema) -> DataFusionResult<Physical> {
        let own = schema.as_arrow();
        let initial = self.build(&fold.initial, schema)?;
        let mut fields = vec![(None, named(&initial.return_field(own)?, fold.number))];
        let mut operands = vec![initial];
        for (at, list) in fold.lists.iter().enumerate() {
            let list = self.build(list, schema)?;
            let DataType::List(item) = list.data_type(own)? else {
                return Err(DataFusionError::Internal("a fold of no array".to_string()));
            };
            fields.push((None, named(&item, fold.number + 1 + at)));
            operands.push(list);
        }
        let inside = RowSchema::new(fields);
        Ok(Arc::new(FoldExpr {
            operands,
            step: self.build(&fold.step, &inside)?,
            schema: Arc::new(inside.as_arrow().clone()),
        }))
    }
}

fn named(field: &FieldRef, number: usize) -> FieldRef {
    let field = field.as_ref().clone();
    Arc::new(field.with_name(let_column(number)).with_nullable(true))
}

// Derived, they would move the parts out.
impl PartialEq for FoldExpr {
    fn eq(&self, other: &FoldExpr) -> bool {
        self.operands == other.operands && self.step.eq(&other.step)
    }
}

impl Eq for FoldExpr {}

impl Hash for FoldExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.operands, &self.step).hash(state);
    }
}

/// The items of the rows that have as many.
struct Items<'a> {
    lists: Vec<&'a ListArray>,
}

impl Items<'_> {
    fn count_of(&self, row: usize) -> usize {
        let first = self.lists.first();
        first.map_or(0, |list| match list.is_null(row) {
            true => 0,
            false => list.value_length(row) as usize,
        })
    }

    /// The item at a place of each of these rows, list by list.
    fn at(&self, place: usize, rows: &[usize]) -> DataFusionResult<Vec<ArrayRef>> {
        let items = self.lists.iter().map(|list| {
            let offsets = list.value_offsets();
            let at = rows.iter().map(|row| offsets[*row] as u64 + place as u64);
            Ok(take(list.values(), &UInt64Array::from_iter_values(at), None)?)
        });
        items.collect()
    }
}

impl FoldExpr {
    /// The states of these rows, with those of the others as they are.
    fn step_on(
        &self,
        states: &ArrayRef,
        items: &Items<'_>,
        (place, rows): (usize, &[usize]),
    ) -> DataFusionResult<ArrayRef> {
        let at = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
        let mut columns = vec![take(states, &at, None)?];
        columns.extend(items.at(place, rows)?);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let next = self.step.evaluate(&batch)?.into_array(rows.len())?;
        if rows.len() == states.len() {
            return Ok(next);
        }
        let mut sources: Vec<(usize, usize)> = (0..states.len()).map(|row| (0, row)).collect();
        for (at, row) in rows.iter().enumerate() {
            sources[*row] = (1, at);
        }
        Ok(interleave(&[states.as_ref(), next.as_ref()], &sources)?)
    }
}

impl PhysicalExpr for FoldExpr {
    fn return_field(&self, _: &Schema) -> DataFusionResult<FieldRef> {
        self.step.return_field(&self.schema)
    }
    fn data_type(&self, _: &Schema) -> DataFusionResult<DataType> {
        self.step.data_type(&self.schema)
    }
    fn nullable(&self, _: &Schema) -> DataFusionResult<bool> {
        Ok(true)
    }
    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        let count = batch.num_rows();
        let operands = self.operands.iter();
        let operands = operands.map(|operand| operand.evaluate(batch)?.into_array(count));
        let operands = operands.collect::<DataFusionResult<Vec<ArrayRef>>>()?;
        let Some((initial, lists)) = operands.split_first() else {
            return Err(DataFusionError::Internal("a fold of nothing".to_string()));
        };
        let lists = lists.iter().map(|list| {
            let list = list.as_list_opt::<i32>();
            list.ok_or_else(|| DataFusionError::Internal("a fold of no array".to_string()))
        });
        let items = Items {
            lists: lists.collect::<DataFusionResult<_>>()?,
        };
        let mut states = Arc::clone(initial);
        let mut rows: Vec<usize> = (0..count).filter(|row| items.count_of(*row) > 0).collect();
        let mut place = 0;
        while !rows.is_empty() {
            check_left().map_err(crate::system::datafusion_error::to_datafusion)?;
            states = self.step_on(&states, &items, (place, &rows))?;
            place += 1;
            rows.retain(|row| items.count_of(*row) > place);
        }
        Ok(ColumnarValue::Array(states))
    }
    fn children(&self) -> Vec<&Physical> {
        self.operands.iter().collect()
    }
    fn is_volatile_node(&self) -> bool {
        is_volatile(&self.step)
    }
    fn with_new_children(self: Arc<Self>, children: Vec<Physical>) -> DataFusionResult<Physical> {
        Ok(Arc::new(FoldExpr {
            operands: children,
            step: Arc::clone(&self.step),
            schema: Arc::clone(&self.schema),
        }))
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FoldExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fold({})", self.step)
    }
}
