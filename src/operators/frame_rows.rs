//! Which rows of a partition are in the frame of each: the ends of ROWS, GROUPS and RANGE, and what EXCLUDE leaves out. Asked by
//! `framed_call`, for frames that DataFusion has not; knows no function.

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, make_comparator};
use arrow::compute::{SortColumn, SortOptions, partition};
use datafusion_common::Result as DataFusionResult;

use crate::Error;
use crate::tree::{FrameExclusion, FrameOffset, FrameUnits};

/// A frame whose expressions stand at places among the values of a call.
#[derive(Debug, Clone)]
pub(super) struct ComputedFrame {
    pub(super) units: FrameUnits,
    pub(super) start: End,
    pub(super) end: End,
    pub(super) exclusion: FrameExclusion,
}

/// An end of it.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// That of the partition.
    Unbounded,
    CurrentRow,
    Offset {
        precedes: bool,
        /// Rows or groups; what is added to a key.
        count: usize,
        reach: Option<Reach>,
    },
}

/// What keys of a RANGE frame are compared with.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub(super) key: usize,
    pub(super) limit: usize,
    pub(super) is_negative: usize,
}

/// The frames of the rows of one partition.
pub(super) struct FrameRows {
    /// The rows from the first to behind the last of each row's frame.
    ends: Vec<Range<usize>>,
    peers: Peers,
    exclusion: FrameExclusion,
}

/// Rows of a partition that are equal in order.
pub(super) struct Peers {
    /// The rows of each group, one behind the other.
    pub(super) groups: Vec<Range<usize>>,
    /// The group of each row.
    pub(super) group_of: Vec<usize>,
}

impl Peers {
    /// Of rows in the order of these columns. Errors: Arrow's.
    pub(super) fn of(columns: &[SortColumn], rows: usize) -> DataFusionResult<Peers> {
        let values: Vec<ArrayRef> = columns.iter().map(|column| column.values.clone()).collect();
        let groups = match values.is_empty() {
            true => std::iter::once(0..rows).collect(),
            false => partition(&values)?.ranges(),
        };
        let group_of = groups
            .iter()
            .enumerate()
            .flat_map(|(group, rows)| std::iter::repeat_n(group, rows.len()));
        let group_of = group_of.collect();
        Ok(Peers { groups, group_of })
    }

    /// The rows that are equal to this one, itself among them.
    pub(super) fn of_row(&self, row: usize) -> &Range<usize> {
        &self.groups[self.group_of[row]]
    }
}

impl FrameRows {
    /// Of a partition of so many rows in the order of these columns. Errors: 22004, 22013 for offsets that are none.
    pub(super) fn of(
        frame: &ComputedFrame,
        (values, rows): (&[ArrayRef], usize),
        order: &[SortColumn],
    ) -> DataFusionResult<FrameRows> {
        let peers = Peers::of(order, rows)?;
        let options = order
            .first()
            .and_then(|column| column.options)
            .unwrap_or_default();
        let ends = Ends {
            units: frame.units,
            values,
            rows,
            peers: &peers,
            options,
        };
        let starts = ends.of(&frame.start, true)?;
        let stops = ends.of(&frame.end, false)?;
        let ranges = starts.into_iter().zip(stops);
        let ends = ranges.map(|(start, stop)| start..stop.max(start)).collect();
        Ok(FrameRows {
            ends,
            peers,
            exclusion: frame.exclusion,
        })
    }

    /// Between which rows the frame of a row is.
    pub(super) fn ends(&self, row: usize) -> &Range<usize> {
        &self.ends[row]
    }

    /// Whether it is all that is between its ends.
    pub(super) fn is_whole(&self) -> bool {
        self.exclusion == FrameExclusion::NoOthers
    }

    /// The rows of its frame: pieces in their order, of which some may be empty.
    pub(super) fn pieces(&self, row: usize) -> [Range<usize>; 3] {
        let Range { start, end } = self.ends[row];
        let peers = self.peers.of_row(row);
        let within = |range: Range<usize>| {
            let first = range.start.clamp(start, end);
            first..range.end.clamp(first, end)
        };
        let (left_out, kept) = match self.exclusion {
            FrameExclusion::NoOthers => return [start..end, end..end, end..end],
            FrameExclusion::CurrentRow => (within(row..row + 1), end..end),
            FrameExclusion::Group => (within(peers.clone()), end..end),
            FrameExclusion::Ties => (within(peers.clone()), within(row..row + 1)),
        };
        [start..left_out.start, kept, left_out.end..end]
    }
}

/// What the ends of frames are found in.
struct Ends<'a> {
    units: FrameUnits,
    /// Those of the call.
    values: &'a [ArrayRef],
    rows: usize,
    peers: &'a Peers,
    /// Of the one key of RANGE.
    options: SortOptions,
}

impl Ends<'_> {
    /// The first row of each row's frame, or the one behind its last.
    fn of(&self, end: &End, is_start: bool) -> DataFusionResult<Vec<usize>> {
        let rows = self.rows;
        let group = |row: usize| self.peers.of_row(row);
        let all = 0..rows;
        let (count, precedes, reach) = match end {
            End::Unbounded => return Ok(vec![if is_start { 0 } else { rows }; rows]),
            End::CurrentRow => {
                return Ok(match (self.units, is_start) {
                    (FrameUnits::Rows, true) => all.collect(),
                    (FrameUnits::Rows, false) => all.map(|row| row + 1).collect(),
                    (_, true) => all.map(|row| group(row).start).collect(),
                    (_, false) => all.map(|row| group(row).end).collect(),
                });
            }
            End::Offset {
                count,
                precedes,
                reach,
            } => (count, *precedes, reach),
        };
        let count = &self.values[*count];
        if rows > 0 && count.is_null(0) {
            return Err(FrameOffset::null(is_start).into());
        }
        if let Some(reach) = reach {
            return self.by_value(reach, is_start);
        }
        let count = match count.as_any().downcast_ref::<Int64Array>() {
            Some(counts) if rows > 0 => FrameOffset::rows(counts.value(0), is_start)?,
            Some(_) => 0,
            None => return Err(Error::internal("a frame is not counted in bigint").into()),
        };
        Ok(match self.units {
            FrameUnits::Groups => all
                .map(|row| self.group_end(row, (count, precedes), is_start))
                .collect(),
            _ => all
                .map(|row| row_end(row, rows, (count, precedes), is_start))
                .collect(),
        })
    }

    fn group_end(&self, row: usize, (count, precedes): (usize, bool), is_start: bool) -> usize {
        let (groups, group) = (&self.peers.groups, self.peers.group_of[row]);
        let reached = match precedes {
            true => group.checked_sub(count),
            false => Some(group.saturating_add(count)),
        };
        let rows = self.rows;
        match (reached, is_start) {
            (None, _) => 0,
            (Some(group), true) => groups.get(group).map_or(rows, |rows| rows.start),
            (Some(group), false) => groups.get(group).map_or(rows, |rows| rows.end),
        }
    }

    /// The key of a frame's first row is not before the limit, that of the last not behind it. Both go forward with the rows.
    fn by_value(&self, reach: &Reach, is_start: bool) -> DataFusionResult<Vec<usize>> {
        let rows = self.rows;
        let is_negative = self.values[reach.is_negative]
            .as_any()
            .downcast_ref::<BooleanArray>();
        if rows > 0 && is_negative.is_some_and(|negative| negative.is_valid(0) && negative.value(0)) {
            return Err(Error::DataException {
                state: "22013",
                message: "invalid preceding or following size in window function".to_string(),
            }
            .into());
        }
        let (key, limit) = (&self.values[reach.key], &self.values[reach.limit]);
        let compare = make_comparator(key, limit, self.options)?;
        let mut at = 0;
        let ends = (0..rows).map(|row| {
            let is_passed = |ordering: Ordering| match is_start {
                true => ordering.is_lt(),
                false => ordering.is_le(),
            };
            while at < rows && is_passed(compare(at, row)) {
                at += 1;
            }
            at
        });
        Ok(ends.collect())
    }
}

fn row_end(row: usize, rows: usize, (count, precedes): (usize, bool), is_start: bool) -> usize {
    let behind = usize::from(!is_start);
    match precedes {
        true => (row + behind).saturating_sub(count),
        false => (row + behind).saturating_add(count).min(rows),
    }
}
