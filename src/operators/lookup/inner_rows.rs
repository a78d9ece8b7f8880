//! `InnerRows`: inner rows of a join by lookup, found by their keys. Made for a batch of outer rows of what was read for it, or once
//! of all inner rows. Called by `table_lookup`; `partners` pairs outer rows with them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::row::{Row, Rows};
use xxhash_rust::xxh3::xxh3_64;

/// No row.
const NONE: u32 = u32::MAX;

/// Inner rows, hashed by their keys.
#[derive(Debug)]
pub(super) struct InnerRows {
    /// What the join gives of them, and its conditions ask for.
    rows: RecordBatch,
    widest_row: usize,
    keys: Rows,
    /// For each hash (of its last bits) the first row of a key that has it. There is a power of two of them.
    firsts: Vec<u32>,
    /// For each first row of a key that of the next key of the same hash.
    others: Vec<u32>,
    /// For each row the next of the same key.
    nexts: Arc<[Option<u32>]>,
}

impl InnerRows {
    /// `keys`: the keys of the rows, made of `key_columns`. A row with a NULL there is nobody's partner.
    pub(super) fn new(rows: RecordBatch, keys: Rows, key_columns: &[ArrayRef]) -> InnerRows {
        let count = keys.num_rows();
        let mut inner = InnerRows {
            firsts: vec![NONE; count.next_power_of_two()],
            others: vec![NONE; count],
            nexts: Arc::from([]),
            widest_row: widest_row(&rows),
            rows,
            keys,
        };
        let (mut lasts, mut nexts) = (vec![NONE; count], vec![None; count]);
        for row in 0..count as u32 {
            if key_columns.iter().all(|column| column.is_valid(row as usize)) {
                inner.add(row, &mut lasts, &mut nexts);
            }
        }
        inner.nexts = nexts.into();
        inner
    }

    /// Adds a row behind those of its key that came before. `lasts`: for each first row of a key the last one so far; `nexts`: see
    /// [`InnerRows`].
    fn add(&mut self, row: u32, lasts: &mut [u32], nexts: &mut [Option<u32>]) {
        let key = self.keys.row(row as usize);
        match self.first_of(key) {
            Some(first) => {
                let before = std::mem::replace(&mut lasts[first as usize], row);
                nexts[before as usize] = Some(row);
            }
            None => {
                let place = self.place_of(key);
                lasts[row as usize] = row;
                self.others[row as usize] = std::mem::replace(&mut self.firsts[place], row);
            }
        }
    }

    pub(super) fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// About the bytes of the longest of them.
    pub(super) fn widest_row(&self) -> usize {
        self.widest_row
    }

    /// The first row of a key.
    pub(super) fn first_of(&self, key: Row<'_>) -> Option<u32> {
        let mut row = self.firsts[self.place_of(key)];
        while row != NONE && self.keys.row(row as usize) != key {
            row = self.others[row as usize];
        }
        (row != NONE).then_some(row)
    }

    /// For each row the next of the same key.
    pub(super) fn nexts(&self) -> &Arc<[Option<u32>]> {
        &self.nexts
    }

    /// Bytes in memory.
    pub(super) fn size_bytes(&self) -> usize {
        let places = (self.firsts.len() + self.others.len()) * size_of::<u32>();
        let places = places + self.nexts.len() * size_of::<Option<u32>>();
        self.rows.get_array_memory_size() + self.keys.size() + places
    }

    fn place_of(&self, key: Row<'_>) -> usize {
        xxh3_64(key.data()) as usize & (self.firsts.len() - 1)
    }
}

/// About the bytes of the longest row: the longest value of each column of texts, the average of each other.
pub(super) fn widest_row(batch: &RecordBatch) -> usize {
    let rows = batch.num_rows().max(1);
    let longest = |lengths: &[i32]| {
        let lengths = lengths.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        lengths.max().unwrap_or(0)
    };
    let column = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8 => longest(column.as_string::<i32>().value_offsets()),
        DataType::Binary => longest(column.as_binary::<i32>().value_offsets()),
        ty => match ty.primitive_width() {
            Some(width) => width,
            None => column.to_data().get_slice_memory_size().unwrap_or(0) / rows,
        },
    };
    batch.columns().iter().map(column).sum()
}
