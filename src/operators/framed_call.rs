//! `FramedCall`: a call over a window whose frame, or whose counts, DataFusion has not: EXCLUDE, RANGE with an offset, offsets and counts
//! that a parameter or a row decides. Computed over a whole partition at once. Built by `builder`.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::compute::{SortColumn, SortOptions, filter};
use arrow::datatypes::FieldRef;
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::{Accumulator, LimitEffect, PartitionEvaluator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::window::StandardWindowFunctionExpr;

use super::frame_rows::{ComputedFrame, FrameRows};
use super::physical_expr::Physical;
use super::ranked_rows;
use crate::system::query_threads::check_left;
use crate::tree::Ranking;

/// The call. What is computed of each row stands in one list, and all else in it are places there.
#[derive(Debug, Clone)]
pub(super) struct FramedCall {
    pub(super) name: String,
    /// Of its result.
    pub(super) field: FieldRef,
    pub(super) function: Function,
    /// The arguments, the keys of the order, FILTER and what the ends of the frame need.
    pub(super) exprs: Vec<Physical>,
    pub(super) arguments: Range<usize>,
    /// Where the keys begin, and how each orders.
    pub(super) order: (usize, Vec<SortOptions>),
    pub(super) filter: Option<usize>,
    pub(super) frame: ComputedFrame,
}

/// What is called.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Aggregate(Arc<AggregateFunctionExpr>),
    Ranking(Ranking),
}

impl StandardWindowFunctionExpr for FramedCall {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn field(&self) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.field.as_ref().clone().with_name(&self.name)))
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.exprs.clone()
    }
    fn create_evaluator(&self) -> DataFusionResult<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(PartitionCall { call: self.clone() }))
    }
    fn limit_effect(&self) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// Computes it over a partition.
#[derive(Debug)]
struct PartitionCall {
    call: FramedCall,
}

impl PartitionEvaluator for PartitionCall {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> DataFusionResult<ArrayRef> {
        let call = &self.call;
        let (first, options) = &call.order;
        let keys = values[*first..].iter().zip(options);
        let order = keys.map(|(values, options)| SortColumn {
            values: Arc::clone(values),
            options: Some(*options),
        });
        let order: Vec<SortColumn> = order.collect();
        let arguments = &values[call.arguments.clone()];
        let frames = || FrameRows::of(&call.frame, (values, rows), &order);
        match &call.function {
            Function::Aggregate(_) if rows == 0 => Ok(new_null_array(call.field.data_type(), 0)),
            Function::Aggregate(aggregate) => {
                let counted = call.filter.and_then(|at| values[at].as_any().downcast_ref());
                aggregated(
                    aggregate,
                    &Input {
                        values: arguments,
                        counted,
                    },
                    &frames()?,
                    rows,
                )
            }
            Function::Ranking(ranking) if ranking.reads_frame() => {
                ranked_rows::value_in_frame(*ranking, arguments, &frames()?, call.field.data_type())
            }
            Function::Ranking(ranking) => ranked_rows::of_partition(*ranking, arguments, &order, rows),
        }
    }
}

fn aggregated(
    aggregate: &AggregateFunctionExpr,
    input: &Input<'_>,
    frames: &FrameRows,
    rows: usize,
) -> DataFusionResult<ArrayRef> {
    let answers = match frames.is_whole() {
        true => sliding(aggregate, input, frames, rows)?,
        false => None,
    };
    let answers = match answers {
        Some(answers) => answers,
        None => anew(aggregate, input, frames, rows)?,
    };
    ScalarValue::iter_to_array(answers)
}

/// What an aggregate is given.
struct Input<'a> {
    values: &'a [ArrayRef],
    /// The rows that FILTER leaves.
    counted: Option<&'a BooleanArray>,
}

impl Input<'_> {
    fn rows(&self, rows: &Range<usize>) -> DataFusionResult<Vec<ArrayRef>> {
        let slice = |array: &ArrayRef| array.slice(rows.start, rows.len());
        let Some(counted) = self.counted else {
            return Ok(self.values.iter().map(slice).collect());
        };
        let counted = counted.slice(rows.start, rows.len());
        let values = self.values.iter();
        values.map(|array| Ok(filter(&slice(array), &counted)?)).collect()
    }

    fn add(&self, accumulator: &mut dyn Accumulator, rows: &Range<usize>) -> DataFusionResult<()> {
        match rows.is_empty() {
            true => Ok(()),
            false => accumulator.update_batch(&self.rows(rows)?),
        }
    }
}

/// Each frame of what is in it, but where it is the one of the row before.
fn anew(
    aggregate: &AggregateFunctionExpr,
    input: &Input<'_>,
    frames: &FrameRows,
    rows: usize,
) -> DataFusionResult<Vec<ScalarValue>> {
    let mut answers: Vec<ScalarValue> = Vec::with_capacity(rows);
    let mut before = None;
    for row in 0..rows {
        let pieces = frames.pieces(row);
        if before.as_ref() == Some(&pieces)
            && let Some(answer) = answers.last()
        {
            answers.push(answer.clone());
            continue;
        }
        check_left()?;
        let mut accumulator = aggregate.create_accumulator()?;
        for piece in &pieces {
            input.add(accumulator.as_mut(), piece)?;
        }
        answers.push(accumulator.evaluate()?);
        before = Some(pieces);
    }
    Ok(answers)
}

/// One frame of the one before: what has come into it is added, what has left it taken away. `None`: rows leave it, and the aggregate
/// cannot take them away.
fn sliding(
    aggregate: &AggregateFunctionExpr,
    input: &Input<'_>,
    frames: &FrameRows,
    rows: usize,
) -> DataFusionResult<Option<Vec<ScalarValue>>> {
    let first = frames.ends(0).start;
    let moves = (1..rows).any(|row| frames.ends(row).start != first);
    let mut accumulator = match moves {
        true => aggregate.create_sliding_accumulator()?,
        false => aggregate.create_accumulator()?,
    };
    if moves && !accumulator.supports_retract_batch() {
        return Ok(None);
    }
    let mut answers: Vec<ScalarValue> = Vec::with_capacity(rows);
    let mut held = first..first;
    for row in 0..rows {
        let frame = frames.ends(row);
        // The ends go forward only, but for those of empty frames, which are where the start is.
        let (start, end) = (frame.start.max(held.start), frame.end.max(held.end));
        if row > 0
            && start == held.start
            && end == held.end
            && let Some(answer) = answers.last()
        {
            answers.push(answer.clone());
            continue;
        }
        check_left()?;
        let leaves = held.start..start.min(held.end);
        if !leaves.is_empty() {
            accumulator.retract_batch(&input.rows(&leaves)?)?;
        }
        input.add(accumulator.as_mut(), &(start.max(held.end)..end))?;
        held = start..end;
        answers.push(accumulator.evaluate()?);
    }
    Ok(Some(answers))
}
