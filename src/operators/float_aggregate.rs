//! sum, avg, variance, stddev, covar, corr and regr_ of floats as PostgreSQL computes them, digit for digit, as aggregates of DataFusion's. The
//! binder picks one; it knows nothing of SQL text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Builder};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

use super::distinct_floats::DistinctFloats;
use super::float_rows::each_row;
use super::float_sums::Sums;
use crate::Result;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::FloatMoment;

/// The aggregate of this name over doubles: one column, or Y and X.
pub(super) fn float_aggregate(name: &str, moment: FloatMoment) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(FloatAggregate {
        name: name.to_string(),
        moment,
        signature: Signature::any(moment.arguments(), Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatAggregate {
    name: String,
    moment: FloatMoment,
    signature: Signature,
}

impl AggregateUDFImpl for FloatAggregate {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Float64)
    }
    fn accumulator(&self, args: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        Ok(match self.moment {
            moment if args.is_distinct => Box::new(DistinctFloats::new(moment)),
            moment => Box::new(One {
                moment,
                sums: Sums::default(),
            }),
        })
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        if args.is_distinct {
            let floats = DataType::new_list(DataType::Float64, true);
            return Ok(vec![Arc::new(Field::new(
                format!("{}[seen]", args.name),
                floats,
                true,
            ))]);
        }
        let field = |part| {
            Arc::new(Field::new(
                format!("{}[{part}]", args.name),
                DataType::Float64,
                true,
            ))
        };
        Ok((0..Sums::PARTS).map(field).collect())
    }
    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }
    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups {
            moment: self.moment,
            sums: Vec::new(),
        }))
    }
}

/// The sums as columns, part by part.
fn state_columns(sums: Vec<Sums>) -> Vec<ArrayRef> {
    let mut columns: [Float64Builder; Sums::PARTS] = Default::default();
    for sums in sums {
        for (column, part) in columns.iter_mut().zip(sums.parts()) {
            column.append_value(part);
        }
    }
    let finish = |column: &mut Float64Builder| Arc::new(column.finish()) as ArrayRef;
    columns.iter_mut().map(finish).collect()
}

/// Calls `merge` with each row's sums.
fn each_state(states: &[ArrayRef], mut merge: impl FnMut(usize, Sums) -> Result<()>) -> DataFusionResult<()> {
    let mut parts = [0.0; Sums::PARTS];
    for row in 0..states[0].len() {
        for (part, column) in parts.iter_mut().zip(states) {
            *part = column.as_primitive::<Float64Type>().value(row);
        }
        merge(row, Sums::of_parts(parts)).map_err(to_datafusion)?;
    }
    Ok(())
}

/// The rows of one group, or of a window's frame.
#[derive(Debug)]
struct One {
    moment: FloatMoment,
    sums: Sums,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let moment = self.moment;
        each_row(values, moment, |_, numbers| self.sums.add_row(moment, numbers))
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Float64(self.sums.result(self.moment)))
    }
    fn size(&self) -> usize {
        size_of::<Self>()
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let parts = self.sums.parts();
        Ok(parts.map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let moment = self.moment;
        each_state(states, |_, sums| self.sums.merge(moment, sums))
    }
}

/// The rows of many groups.
#[derive(Debug)]
struct Groups {
    moment: FloatMoment,
    sums: Vec<Sums>,
}

impl Groups {
    fn resize(&mut self, groups: usize) {
        if self.sums.len() < groups {
            self.sums.resize(groups, Sums::default());
        }
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DataFusionResult<()> {
        self.resize(total);
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        let moment = self.moment;
        each_row(values, moment, |row, numbers| match passes(row) {
            true => self.sums[groups[row]].add_row(moment, numbers),
            false => Ok(()),
        })
    }
    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let mut results = Float64Builder::new();
        for sums in emit.take_needed(&mut self.sums) {
            results.append_option(sums.result(self.moment));
        }
        Ok(Arc::new(results.finish()))
    }
    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(state_columns(emit.take_needed(&mut self.sums)))
    }
    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DataFusionResult<()> {
        self.resize(total);
        let moment = self.moment;
        each_state(states, |row, sums| self.sums[groups[row]].merge(moment, sums))
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let mut sums = vec![Sums::default(); values[0].len()];
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        each_row(values, self.moment, |row, numbers| match passes(row) {
            true => sums[row].add_row(self.moment, numbers),
            false => Ok(()),
        })?;
        Ok(state_columns(sums))
    }
    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Sums>()
    }
}
