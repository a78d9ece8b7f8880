//! sum, avg, variance and stddev of distinct floats. PostgreSQL sorts to find what is distinct, and its sums depend on the order: the floats are
//! kept, each once, and summed from the least to the greatest at the end. Called by `float_aggregate`.

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::Accumulator;

use super::float_sums::Sums;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::FloatMoment;

/// The distinct floats of one group.
#[derive(Debug)]
pub(super) struct DistinctFloats {
    moment: FloatMoment,
    /// Their bits: of equal floats, which zeros and NaNs are among themselves, those of one.
    seen: HashSet<u64>,
}

impl DistinctFloats {
    pub(super) fn new(moment: FloatMoment) -> DistinctFloats {
        DistinctFloats {
            moment,
            seen: HashSet::new(),
        }
    }

    fn add(&mut self, array: &ArrayRef) {
        let numbers = array.as_primitive::<Float64Type>().iter().flatten();
        self.seen.extend(numbers.map(|number| match number {
            0.0 => 0,
            number if number.is_nan() => f64::NAN.to_bits(),
            number => number.to_bits(),
        }));
    }

    /// From the least to the greatest, which NaN is.
    fn sorted(&self) -> Vec<f64> {
        let mut numbers: Vec<f64> = self.seen.iter().map(|bits| f64::from_bits(*bits)).collect();
        numbers.sort_unstable_by(|a, b| a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_cmp(b)));
        numbers
    }
}

impl Accumulator for DistinctFloats {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.add(&values[0]);
        Ok(())
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let mut sums = Sums::default();
        for number in self.sorted() {
            sums.add_row(self.moment, &[number]).map_err(to_datafusion)?;
        }
        Ok(ScalarValue::Float64(sums.result(self.moment)))
    }
    fn size(&self) -> usize {
        // A table keeps a byte beside each place.
        size_of::<Self>() + self.seen.capacity() * (size_of::<u64>() + 1)
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let numbers = self.sorted().into_iter();
        let numbers: Vec<ScalarValue> = numbers.map(|number| ScalarValue::Float64(Some(number))).collect();
        let list = ScalarValue::new_list_nullable(&numbers, &DataType::Float64);
        Ok(vec![ScalarValue::List(list)])
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let lists = states[0].as_list::<i32>();
        for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
            self.add(&lists.value(row));
        }
        Ok(())
    }
}
