//! The rows that an aggregate of floats takes: those none of whose arguments is NULL. Called by all that compute one.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use datafusion_common::Result as DataFusionResult;

use crate::Result;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::FloatMoment;

/// Calls `take` with each row none of whose arguments is NULL. What an ORDER BY of the call adds behind them is left out.
pub(super) fn each_row(
    values: &[ArrayRef],
    moment: FloatMoment,
    mut take: impl FnMut(usize, &[f64]) -> Result<()>,
) -> DataFusionResult<()> {
    let columns: Vec<_> = values
        .iter()
        .take(moment.arguments())
        .map(|column| column.as_primitive::<Float64Type>())
        .collect();
    if let [column] = columns.as_slice()
        && column.null_count() == 0
    {
        let mut numbers = column.values().iter().enumerate();
        return numbers
            .try_for_each(|(row, number)| take(row, std::slice::from_ref(number)).map_err(to_datafusion));
    }
    let mut numbers = vec![0.0; columns.len()];
    for row in 0..values[0].len() {
        if columns.iter().all(|column| column.is_valid(row)) {
            for (number, column) in numbers.iter_mut().zip(&columns) {
                *number = column.value(row);
            }
            take(row, &numbers).map_err(to_datafusion)?;
        }
    }
    Ok(())
}
