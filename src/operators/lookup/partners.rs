//! `Joined`: the pairs of a batch, and what the join makes of outer rows that have inner rows, and of those that have none.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::Rows;
use datafusion_physical_expr::PhysicalExpr;

use super::inner_rows::{InnerRows, widest_row};
use crate::functions::evaluate::truth;
use crate::tree::Partners;
use crate::types::take_rows;
use crate::{Error, Result};

/// Pairs of one batch that comes of a join.
const PAIRS_MAX: usize = 8192;

/// About so many bytes such a batch has at most, unless a single pair has more.
const PAIRS_BYTES_MAX: usize = 32 << 20;

/// Outer rows and inner rows that belong together, being joined: a batch at a time, for they may be as many as the one times
/// the other.
pub(crate) struct Joined {
    outer: RecordBatch,
    inner: RecordBatch,
    /// For each outer row its first inner row.
    firsts: Vec<Option<u32>>,
    /// For each inner row the next of the same key; none where no key has two.
    nexts: Arc<[Option<u32>]>,
    /// The outer row that comes next, the inner row it stands beside next, and whether a row before that one counted.
    row: usize,
    next: Option<u32>,
    has_partner: bool,
    pairs_max: usize,
}

impl Joined {
    /// All pairs of equal keys. `wanted`: those of the outer rows.
    pub(super) fn of_equal(outer: RecordBatch, wanted: &Rows, inner: &InnerRows) -> Joined {
        let firsts: Vec<Option<u32>> = wanted.iter().map(|key| inner.first_of(key)).collect();
        let pairs_max = pairs_at_once(widest_row(&outer) + inner.widest_row());
        let (rows, nexts) = (inner.rows().clone(), Arc::clone(inner.nexts()));
        Joined {
            pairs_max,
            ..Joined::of_places(outer, rows, firsts, nexts)
        }
    }

    /// The same of one outer row, whose partners all the inner rows are.
    pub(super) fn of_one(outer: RecordBatch, inner: RecordBatch) -> Joined {
        let rows = inner.num_rows() as u32;
        let pairs_max = pairs_at_once(widest_row(&outer) + widest_row(&inner));
        let nexts = (1..=rows).map(|next| (next < rows).then_some(next));
        Joined {
            pairs_max,
            ..Joined::of_places(outer, inner, vec![(rows > 0).then_some(0)], nexts.collect())
        }
    }

    /// The same where an outer row has one inner row at most.
    pub(super) fn of_one_each(outer: RecordBatch, inner: RecordBatch, places: Vec<Option<u32>>) -> Joined {
        let pairs_max = pairs_at_once(widest_row(&outer) + widest_row(&inner));
        Joined {
            pairs_max,
            ..Joined::of_places(outer, inner, places, Arc::default())
        }
    }

    /// The pairs that are known: for each outer row its first inner row, for each of these the next of the same key.
    pub(crate) fn of_places(
        outer: RecordBatch,
        inner: RecordBatch,
        firsts: Vec<Option<u32>>,
        nexts: Arc<[Option<u32>]>,
    ) -> Joined {
        Joined {
            next: firsts.first().copied().flatten(),
            outer,
            inner,
            firsts,
            nexts,
            row: 0,
            has_partner: false,
            pairs_max: PAIRS_MAX,
        }
    }

    /// Whether every outer row has been joined.
    pub(crate) fn is_done(&self) -> bool {
        self.row == self.firsts.len()
    }

    /// The next rows of the join: of pairs for which the conditions hold. Errors: the conditions'.
    pub(crate) fn next(
        &mut self,
        conditions: &[Arc<dyn PhysicalExpr>],
        partners: Partners,
        schema: &JoinedSchema,
    ) -> Result<RecordBatch> {
        let (first_row, had_partner) = (self.row, self.has_partner);
        let mut pairs = self.take_pairs();
        for condition in conditions {
            self.keep(&mut pairs, condition, schema)?;
        }
        if partners == Partners::Needed {
            self.has_partner = false;
            let places = pairs.iter().map(|(outer, inner)| (*outer, Some(*inner)));
            return self.side_by_side(places.collect(), schema);
        }
        // The rows before this one are done with.
        let open = self.row;
        let mut has_partner = vec![false; open - first_row + 1];
        has_partner[0] = had_partner;
        for (outer, _) in &pairs {
            has_partner[*outer as usize - first_row] = true;
        }
        self.has_partner = has_partner[open - first_row];
        if partners == Partners::OrNone {
            let places = places_or_none(&pairs, first_row, &has_partner);
            return self.side_by_side(places, schema);
        }
        let wanted = partners == Partners::Exist;
        let done = (first_row as u32..).zip(&has_partner[..open - first_row]);
        let stays =
            UInt32Array::from_iter_values(done.filter(|(_, has)| **has == wanted).map(|(row, _)| row));
        take_rows(&self.outer, &stays).map_err(Error::arrow)
    }

    /// As many pairs as come at once.
    fn take_pairs(&mut self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::with_capacity(self.pairs_max.min(self.firsts.len() - self.row));
        while self.row < self.firsts.len() && pairs.len() < self.pairs_max {
            if let Some(inner) = self.next {
                pairs.push((self.row as u32, inner));
                self.next = self.nexts.get(inner as usize).copied().flatten();
                if self.next.is_some() {
                    continue;
                }
            }
            self.row += 1;
            self.next = self.firsts.get(self.row).copied().flatten();
        }
        pairs
    }

    /// Leaves out the pairs for which a condition does not hold.
    fn keep(
        &self,
        pairs: &mut Vec<(u32, u32)>,
        condition: &Arc<dyn PhysicalExpr>,
        schema: &JoinedSchema,
    ) -> Result<()> {
        let places = pairs.iter().map(|(outer, inner)| (*outer, Some(*inner)));
        let holds = truth(condition, &self.side_by_side(places.collect(), schema)?)?;
        let mut holds = holds.iter();
        pairs.retain(|_| holds.next().flatten() == Some(true));
        Ok(())
    }

    /// Outer rows beside inner rows, or beside NULLs.
    fn side_by_side(&self, places: Vec<(u32, Option<u32>)>, schema: &JoinedSchema) -> Result<RecordBatch> {
        let (outer, inner): (Vec<u32>, Vec<Option<u32>>) = places.into_iter().unzip();
        let rows = outer.len();
        let mut columns = Vec::with_capacity(self.outer.num_columns() + self.inner.num_columns());
        match is_all(outer.iter().map(|place| Some(*place)), self.outer.num_rows()) {
            true => columns.extend_from_slice(self.outer.columns()),
            false => columns.extend(taken(&self.outer, &UInt32Array::from(outer))?),
        }
        match is_all(inner.iter().copied(), self.inner.num_rows()) {
            true => columns.extend_from_slice(self.inner.columns()),
            false => columns.extend(taken(&self.inner, &UInt32Array::from(inner))?),
        }
        let schema = schema.of(self.outer.schema_ref(), self.inner.schema_ref());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::arrow)
    }
}

/// How many pairs of so many bytes come at once.
fn pairs_at_once(pair_bytes: usize) -> usize {
    (PAIRS_BYTES_MAX / pair_bytes.max(1)).clamp(1, PAIRS_MAX)
}

/// Whether places are those of all of so many rows, in their order.
fn is_all(places: impl ExactSizeIterator<Item = Option<u32>>, rows: usize) -> bool {
    places.len() == rows && places.zip(0..).all(|(place, row)| place == Some(row))
}

fn taken(rows: &RecordBatch, places: &UInt32Array) -> Result<Vec<ArrayRef>> {
    let columns = rows.columns().iter();
    let columns = columns.map(|column| take(column, places, None));
    columns
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::arrow)
}

/// The schema of outer rows beside inner rows, made anew only for other ones than the last: most often batch after batch, and run
/// after run, has the same.
#[derive(Debug, Default)]
pub(crate) struct JoinedSchema(Mutex<Option<[SchemaRef; 3]>>);

impl JoinedSchema {
    fn of(&self, outer: &SchemaRef, inner: &SchemaRef) -> SchemaRef {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([last_outer, last_inner, joined]) = &*last
            && Arc::ptr_eq(last_outer, outer)
            && Arc::ptr_eq(last_inner, inner)
        {
            return Arc::clone(joined);
        }
        let fields = inner.fields().iter();
        let fields = fields.map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
        let fields = outer.fields().iter().cloned().chain(fields);
        let joined = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        *last = Some([Arc::clone(outer), Arc::clone(inner), Arc::clone(&joined)]);
        joined
    }
}

/// The pairs, and between them, at their places, the outer rows without a partner; not the last of `has_partner`, which may
/// still find one.
fn places_or_none(pairs: &[(u32, u32)], first_row: usize, has_partner: &[bool]) -> Vec<(u32, Option<u32>)> {
    let mut pairs = pairs.iter().peekable();
    let mut places = Vec::with_capacity(pairs.len());
    for (row, has_partner) in (first_row as u32..).zip(&has_partner[..has_partner.len() - 1]) {
        if !has_partner {
            places.push((row, None));
        }
        while let Some((outer, inner)) = pairs.next_if(|(outer, _)| *outer == row) {
            places.push((*outer, Some(*inner)));
        }
    }
    places.extend(pairs.map(|(outer, inner)| (*outer, Some(*inner))));
    places
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field};
    use arrow::row::{RowConverter, SortField};

    use super::*;

    fn batch(keys: &[i64]) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("k", DataType::Int64, true)]);
        let keys = Arc::new(Int64Array::from(keys.to_vec()));
        RecordBatch::try_new(Arc::new(schema), vec![keys]).unwrap()
    }

    /// The rows of a join that gives so many pairs at once.
    fn joined(outer: &[i64], inner: &[i64], partners: Partners, pairs_max: usize) -> Vec<String> {
        let (outer, inner) = (batch(outer), batch(inner));
        let converter = RowConverter::new(vec![SortField::new(DataType::Int64)]).unwrap();
        let rows = |batch: &RecordBatch| converter.convert_columns(batch.columns()).unwrap();
        let (wanted, found) = (rows(&outer), rows(&inner));
        let keys = inner.columns().to_vec();
        let inner = InnerRows::new(inner, found, &keys);
        let mut joined = Joined {
            pairs_max,
            ..Joined::of_equal(outer, &wanted, &inner)
        };
        let mut rows = Vec::new();
        while !joined.is_done() {
            let part = joined.next(&[], partners, &JoinedSchema::default()).unwrap();
            assert!(part.num_rows() <= pairs_max + 4);
            let cell = |column: &ArrayRef, row: usize| {
                let column = column.as_primitive::<arrow::datatypes::Int64Type>();
                column.is_valid(row).then(|| column.value(row))
            };
            rows.extend((0..part.num_rows()).map(|row| {
                let cells = part.columns().iter().map(|column| cell(column, row));
                format!("{:?}", cells.collect::<Vec<_>>())
            }));
        }
        rows
    }

    #[test]
    fn a_join_gives_the_same_in_parts_of_any_size() {
        let (outer, inner) = ([1, 2, 3, 2], [2, 1, 2, 5, 2, 1]);
        for partners in [
            Partners::Needed,
            Partners::OrNone,
            Partners::Exist,
            Partners::Miss,
        ] {
            let whole = joined(&outer, &inner, partners, 100);
            for pairs_max in 1..10 {
                assert_eq!(joined(&outer, &inner, partners, pairs_max), whole, "{partners:?}");
            }
        }
        assert_eq!(joined(&outer, &inner, Partners::OrNone, 2).len(), 9);
        assert_eq!(joined(&outer, &inner, Partners::Miss, 2), ["[Some(3)]"]);
    }
}
