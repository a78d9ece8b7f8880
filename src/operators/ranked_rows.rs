//! What functions say of the rows of a whole partition: of their places in its order, of the rows before and behind them, and of those in
//! their frames. Asked by `framed_call`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, UInt64Array, new_null_array};
use arrow::compute::{SortColumn, interleave, take};
use arrow::datatypes::DataType;
use datafusion_common::Result as DataFusionResult;

use super::frame_rows::{FrameRows, Peers};
use crate::Error;
use crate::tree::Ranking;

/// What a function that reads no frame says of each row.
pub(super) fn of_partition(
    ranking: Ranking,
    arguments: &[ArrayRef],
    order: &[SortColumn],
    rows: usize,
) -> DataFusionResult<ArrayRef> {
    let peers = Peers::of(order, rows)?;
    let counted = |count: &dyn Fn(usize) -> usize| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(
            (0..rows).map(|row| count(row) as u64),
        ))
    };
    let shares = |share: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(share)))
    };
    Ok(match ranking {
        Ranking::RowNumber => counted(&|row| row + 1),
        Ranking::Rank => counted(&|row| peers.of_row(row).start + 1),
        Ranking::DenseRank => counted(&|row| peers.group_of[row] + 1),
        Ranking::PercentRank => shares(&|row| match rows {
            1 => 0.0,
            _ => peers.of_row(row).start as f64 / (rows - 1) as f64,
        }),
        Ranking::CumeDist => shares(&|row| peers.of_row(row).end as f64 / rows as f64),
        Ranking::Ntile => ntile(arguments, rows)?,
        Ranking::Lag => neighbour(arguments, rows, true)?,
        _ => neighbour(arguments, rows, false)?,
    })
}

/// The value of a row of each row's frame. Errors: 22016.
pub(super) fn value_in_frame(
    ranking: Ranking,
    arguments: &[ArrayRef],
    frames: &FrameRows,
    ty: &DataType,
) -> DataFusionResult<ArrayRef> {
    let Some(values) = arguments.first() else {
        return Err(Error::internal("a value in a frame is not given").into());
    };
    let places = match ranking {
        Ranking::NthValue => Some(bigints(arguments, 1)?),
        _ => None,
    };
    let found = (0..values.len()).map(|row| -> DataFusionResult<Option<u64>> {
        let pieces = frames.pieces(row);
        let place = match places {
            Some(places) if places.is_null(row) => return Ok(None),
            Some(places) => match usize::try_from(places.value(row)) {
                Ok(place) if place > 0 => place - 1,
                _ => return Err(wrong_place().into()),
            },
            None => match ranking {
                Ranking::LastValue => pieces.iter().map(Range::len).sum::<usize>().wrapping_sub(1),
                _ => 0,
            },
        };
        Ok(nth(&pieces, place).map(|row| row as u64))
    });
    let found = found.collect::<DataFusionResult<UInt64Array>>()?;
    match values.data_type() == &DataType::Null {
        true => Ok(new_null_array(ty, values.len())),
        false => Ok(take(values, &found, None)?),
    }
}

/// The row at a place, from 0, of these pieces.
fn nth(pieces: &[Range<usize>; 3], mut place: usize) -> Option<usize> {
    for piece in pieces {
        if place < piece.len() {
            return Some(piece.start + place);
        }
        place -= piece.len();
    }
    None
}

fn wrong_place() -> Error {
    Error::DataException {
        state: "22016",
        message: "argument of nth_value must be greater than zero".to_string(),
    }
}

/// The bucket of each row: as many as the first row says, those that have one row more first.
fn ntile(arguments: &[ArrayRef], rows: usize) -> DataFusionResult<ArrayRef> {
    let buckets = bigints(arguments, 0)?;
    if rows == 0 || buckets.is_null(0) {
        return Ok(new_null_array(&DataType::UInt64, rows));
    }
    let buckets = match usize::try_from(buckets.value(0)) {
        Ok(buckets) if buckets > 0 => buckets,
        _ => {
            return Err(Error::DataException {
                state: "22014",
                message: "argument of ntile must be greater than zero".to_string(),
            }
            .into());
        }
    };
    let (each, longer) = (rows / buckets, rows % buckets);
    let in_longer = longer * (each + 1);
    let bucket = |row: usize| match row < in_longer {
        true => row / (each + 1) + 1,
        false => (row - in_longer) / each.max(1) + longer + 1,
    };
    let buckets = (0..rows).map(|row| bucket(row) as u64);
    Ok(Arc::new(UInt64Array::from_iter_values(buckets)))
}

/// The value so many rows before or behind each, or the default where there is none.
fn neighbour(arguments: &[ArrayRef], rows: usize, before: bool) -> DataFusionResult<ArrayRef> {
    let Some(values) = arguments.first() else {
        return Err(Error::internal("a neighbour's value is not given").into());
    };
    let offsets = bigints(arguments, 1)?;
    let nothing = new_null_array(values.data_type(), 1);
    let default = arguments.get(2);
    // Where each row's answer is: of the values, of the defaults, of NULL alone.
    let places = (0..rows).map(|row| {
        if offsets.is_null(row) {
            return (2, 0);
        }
        let offset = i128::from(offsets.value(row));
        let place = row as i128 + if before { -offset } else { offset };
        match usize::try_from(place) {
            Ok(place) if place < rows => (0, place),
            _ if default.is_some() => (1, row),
            _ => (2, 0),
        }
    });
    let places: Vec<(usize, usize)> = places.collect();
    let sources = [values, default.unwrap_or(&nothing), &nothing].map(|array| array.as_ref());
    Ok(interleave(&sources, &places)?)
}

fn bigints(arguments: &[ArrayRef], at: usize) -> DataFusionResult<&Int64Array> {
    let array = arguments.get(at).and_then(|array| array.as_any().downcast_ref());
    Ok(array.ok_or_else(|| Error::internal("a count that is no bigint"))?)
}
