//! `Partners`: what a join makes of outer rows that have inner rows, and of those that have none; `Joined`: the pairs of a
//! batch.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;
use arrow::row::Rows;
use datafusion::physical_expr::PhysicalExpr;

use crate::exec::evaluate::truth;
use crate::{Error, Result};

/// What becomes of outer rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partners {
    /// Each stands beside each of its inner rows; without one it goes.
    Needed,
    /// The same, but without one it stays, with NULLs (LEFT JOIN).
    OrNone,
    /// It stays by itself if it has an inner row (EXISTS, IN).
    Exist,
    /// It stays by itself if it has none (NOT EXISTS).
    Miss,
}

impl Partners {
    /// Whether inner rows are given.
    pub(crate) fn are_given(self) -> bool {
        matches!(self, Partners::Needed | Partners::OrNone)
    }
}

/// Outer rows and inner rows that belong together.
pub(crate) struct Joined<'a> {
    outer: &'a RecordBatch,
    inner: &'a RecordBatch,
    /// Places of rows, in the order of the outer ones.
    pairs: Vec<(u32, u32)>,
}

impl<'a> Joined<'a> {
    /// All pairs of equal keys: of the outer rows' and the inner rows', none of which has a NULL.
    pub(crate) fn of_equal(
        outer: &'a RecordBatch,
        inner: &'a RecordBatch,
        (wanted, found): (&Rows, &Rows),
    ) -> Joined<'a> {
        // For each key its first inner row; for each inner row the next of the same key.
        let mut firsts: HashMap<&[u8], u32> = HashMap::with_capacity(found.num_rows());
        let mut nexts: Vec<Option<u32>> = vec![None; found.num_rows()];
        for (row, key) in found.iter().enumerate().rev() {
            nexts[row] = firsts.insert(key.data(), row as u32);
        }
        let mut pairs = Vec::with_capacity(wanted.num_rows());
        for (row, key) in wanted.iter().enumerate() {
            let mut next = firsts.get(key.data()).copied();
            while let Some(inner) = next {
                pairs.push((row as u32, inner));
                next = nexts[inner as usize];
            }
        }
        Joined { outer, inner, pairs }
    }

    /// Leaves out the pairs for which a condition does not hold.
    pub(crate) fn keep(&mut self, condition: &Arc<dyn PhysicalExpr>) -> Result<()> {
        let holds = truth(condition, &self.side_by_side(self.inner_places())?)?;
        let mut holds = holds.iter();
        self.pairs.retain(|_| holds.next().flatten() == Some(true));
        Ok(())
    }

    /// What the join gives.
    pub(crate) fn finish(self, partners: Partners) -> Result<RecordBatch> {
        if partners == Partners::Needed {
            return self.side_by_side(self.inner_places());
        }
        let mut has_partner = vec![false; self.outer.num_rows()];
        self.pairs
            .iter()
            .for_each(|(outer, _)| has_partner[*outer as usize] = true);
        if partners == Partners::OrNone {
            return self.side_by_side(self.places_or_none(&has_partner));
        }
        let wanted = partners == Partners::Exist;
        let stays = (0..).zip(&has_partner).filter(|(_, has)| **has == wanted);
        let stays = UInt32Array::from_iter_values(stays.map(|(row, _)| row));
        take_record_batch(self.outer, &stays).map_err(Error::arrow)
    }

    fn inner_places(&self) -> Vec<(u32, Option<u32>)> {
        let pairs = self.pairs.iter();
        pairs.map(|(outer, inner)| (*outer, Some(*inner))).collect()
    }

    /// The pairs, and between them, at their places, the outer rows without a partner.
    fn places_or_none(&self, has_partner: &[bool]) -> Vec<(u32, Option<u32>)> {
        let mut pairs = self.pairs.iter().peekable();
        let mut places = Vec::with_capacity(self.pairs.len());
        for (row, has_partner) in (0u32..).zip(has_partner) {
            if !has_partner {
                places.push((row, None));
            }
            while let Some((outer, inner)) = pairs.next_if(|(outer, _)| *outer == row) {
                places.push((*outer, Some(*inner)));
            }
        }
        places
    }

    /// Outer rows beside inner rows, or beside NULLs.
    fn side_by_side(&self, places: Vec<(u32, Option<u32>)>) -> Result<RecordBatch> {
        let (outer, inner): (Vec<u32>, Vec<Option<u32>>) = places.into_iter().unzip();
        let outer = take_record_batch(self.outer, &UInt32Array::from(outer)).map_err(Error::arrow)?;
        let inner_rows = UInt32Array::from(inner);
        let columns = self.inner.columns().iter();
        let columns = columns.map(|column| arrow::compute::take(column, &inner_rows, None));
        let columns = columns
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(Error::arrow)?;
        let fields = self.inner.schema_ref().fields().iter();
        let fields = fields.map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
        let fields = outer.schema_ref().fields().iter().cloned().chain(fields);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = outer.columns().iter().cloned().chain(columns).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(outer.num_rows()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::arrow)
    }
}
