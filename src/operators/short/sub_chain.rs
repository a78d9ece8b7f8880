//! `Answers`: what the rows of a subquery say of the outer rows that they were found for.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, UInt32Type};

use crate::{Error, Result};

/// The answers for one batch of outer rows, being gathered. Rows of the subquery are the number of an outer row, then perhaps a value.
pub(super) struct Answers {
    /// For each outer row the place of its value among all that came; of a question whether there is a row: of any.
    found: Vec<Option<u32>>,
    values: Vec<ArrayRef>,
    count: u32,
    bytes: usize,
}

impl Answers {
    /// None so far, for so many outer rows.
    pub(super) fn new(outer_rows: usize) -> Answers {
        Answers {
            found: vec![None; outer_rows],
            values: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    /// What it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes rows that say that there are some.
    pub(super) fn note(&mut self, rows: &RecordBatch) -> Result<()> {
        for number in numbers(rows)?.values() {
            self.found[*number as usize] = Some(0);
        }
        Ok(())
    }

    /// Takes rows with the only value of each outer row. Errors: 21000 for a second one.
    pub(super) fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        for number in numbers(rows)?.values() {
            let place = &mut self.found[*number as usize];
            if place.replace(self.count).is_some() {
                return Err(Error::CardinalityViolation);
            }
            self.count += 1;
        }
        let values = rows.column(1);
        self.bytes += values.get_array_memory_size();
        self.values.push(Arc::clone(values));
        Ok(())
    }

    /// Whether an outer row has none, of those that were asked for.
    pub(super) fn lacks_some(&self, asked: Option<&BooleanArray>) -> bool {
        let mut rows = self.found.iter().enumerate();
        rows.any(|(row, found)| found.is_none() && is_asked(asked, row))
    }

    /// Whether each outer row has one, or has none if `negated`; NULL where nobody asked.
    pub(super) fn exist(&self, asked: Option<&BooleanArray>, negated: bool) -> BooleanArray {
        let rows = self.found.iter().enumerate();
        rows.map(|(row, found)| is_asked(asked, row).then_some(found.is_some() != negated))
            .collect()
    }

    /// The value of each outer row, `over_none` (one value) where it has none, NULL where nobody asked.
    pub(super) fn values(
        mut self,
        asked: Option<&BooleanArray>,
        over_none: Option<ArrayRef>,
        ty: &DataType,
    ) -> Result<ArrayRef> {
        let none = over_none.as_ref().map(|_| self.count);
        self.values.extend(over_none);
        if self.values.is_empty() {
            return Ok(new_null_array(ty, self.found.len()));
        }
        let rows = self.found.iter().enumerate();
        let places = rows.map(|(row, found)| found.or(none.filter(|_| is_asked(asked, row))));
        let places: UInt32Array = places.collect();
        let values: Vec<&dyn Array> = self.values.iter().map(|values| values.as_ref()).collect();
        let values = concat(&values).map_err(Error::arrow)?;
        take(&values, &places, None).map_err(Error::arrow)
    }
}

fn is_asked(asked: Option<&BooleanArray>, row: usize) -> bool {
    asked.is_none_or(|asked| asked.is_valid(row) && asked.value(row))
}

/// The numbers of the outer rows that rows of a subquery belong to.
fn numbers(rows: &RecordBatch) -> Result<&UInt32Array> {
    let numbers = rows.column(0).as_primitive_opt::<UInt32Type>();
    numbers.ok_or_else(|| Error::internal("rows of a subquery without the numbers of outer rows"))
}
