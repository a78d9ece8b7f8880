//! sum, avg, variance, corr and their like of distinct floats, or pairs of floats. PostgreSQL sorts to find what is distinct, and its sums depend
//! on the order: the rows are kept, each once, and summed from the least to the greatest at the end. Called by `float_aggregate`.

use std::cmp::Ordering;
use std::collections::HashSet;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::Accumulator;

use super::float_rows::each_row;
use super::float_sums::Sums;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::FloatMoment;

/// The bits of a row's floats, of equal ones, which zeros and NaNs are among themselves, those of one; of one float the second are 0.
type Row = [u64; 2];

/// The distinct rows of one group.
#[derive(Debug)]
pub(super) struct DistinctFloats {
    moment: FloatMoment,
    seen: HashSet<Row>,
}

impl DistinctFloats {
    pub(super) fn new(moment: FloatMoment) -> DistinctFloats {
        DistinctFloats {
            moment,
            seen: HashSet::new(),
        }
    }

    /// From the least to the greatest, which NaN is, by the first float before the second.
    fn sorted(&self) -> Vec<[f64; 2]> {
        let rows = self.seen.iter().map(|row| row.map(f64::from_bits));
        let mut rows: Vec<[f64; 2]> = rows.collect();
        rows.sort_unstable_by(|a, b| compare(a[0], b[0]).then_with(|| compare(a[1], b[1])));
        rows
    }
}

fn compare(a: f64, b: f64) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_cmp(&b))
}

fn row_of(numbers: &[f64]) -> Row {
    let mut row = Row::default();
    for (bits, number) in row.iter_mut().zip(numbers) {
        *bits = match number {
            0.0 => 0,
            number if number.is_nan() => f64::NAN.to_bits(),
            number => number.to_bits(),
        };
    }
    row
}

impl Accumulator for DistinctFloats {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each_row(values, self.moment, |_, numbers| {
            self.seen.insert(row_of(numbers));
            Ok(())
        })
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let mut sums = Sums::default();
        let arguments = self.moment.arguments();
        for row in self.sorted() {
            sums.add_row(self.moment, &row[..arguments])
                .map_err(to_datafusion)?;
        }
        Ok(ScalarValue::Float64(sums.result(self.moment)))
    }
    fn size(&self) -> usize {
        // A table keeps a byte beside each place.
        size_of::<Self>() + self.seen.capacity() * (size_of::<Row>() + 1)
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let numbers = self.sorted().into_iter().flatten();
        let numbers: Vec<ScalarValue> = numbers.map(|number| ScalarValue::Float64(Some(number))).collect();
        let list = ScalarValue::new_list_nullable(&numbers, &DataType::Float64);
        Ok(vec![ScalarValue::List(list)])
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let lists = states[0].as_list::<i32>();
        for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
            let numbers = lists.value(row);
            let rows = numbers.as_primitive::<Float64Type>().values().chunks(2);
            self.seen.extend(rows.map(row_of));
        }
        Ok(())
    }
}
