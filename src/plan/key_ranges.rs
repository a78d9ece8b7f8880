//! Boxes to bytes: the distinct keys of boxes that pin every key column, or else sorted, disjoint ranges of stored keys.
//! Called by `access_path`; knows nothing of predicates.
//!
//! Ranges extend each box along the key while its leading columns are points, then append the spans of the first column
//! that is more than points. Neighbouring ranges are joined. Rows inside the ranges satisfy every box's sets on the first
//! `exact_columns` key columns; what boxes say of later columns is left to a residual filter.

use super::boxes::KeyBox;
use super::column_set::{ColumnSet, Span};
use super::key_shape::{KeyColumnShape, KeyShape};
use crate::codec::prefix_end;
use crate::store::KeyRange;

/// Keys are counted one by one up to this many times the allowed number; beyond it duplicates between boxes no longer
/// matter to the verdict.
const KEYS_COUNTED_FACTOR: u128 = 16;

/// What boxes that pin every key column amount to.
#[derive(Debug, PartialEq)]
pub(crate) enum Points {
    /// Some box leaves a key column open.
    Open,
    /// Distinct stored keys, sorted.
    Keys(Vec<Vec<u8>>),
    /// More distinct keys than allowed.
    TooMany(u128),
}

/// Ranges of stored keys that hold every row inside the boxes.
#[derive(Debug, PartialEq)]
pub(crate) struct Ranges {
    /// Sorted, disjoint, not empty.
    pub(crate) ranges: Vec<KeyRange>,
    /// Leading key columns for which the ranges say all that the boxes say.
    pub(crate) exact_columns: usize,
}

/// The keys of boxes in which every key column is a set of points.
pub(crate) fn points(shape: &KeyShape, boxes: &[KeyBox], keys_max: usize) -> Points {
    let mut total: u128 = 0;
    for one in boxes {
        let mut product: u128 = 1;
        for (position, column) in shape.columns.iter().enumerate() {
            match one.set(position).and_then(|set| point_count(column, set)) {
                Some(_)
                    if shape.goes_on_behind_null && one.set(position).is_some_and(ColumnSet::holds_null) =>
                {
                    return Points::Open;
                }
                Some(count) => product = product.saturating_mul(count as u128),
                None => return Points::Open,
            }
        }
        total = total.saturating_add(product);
    }
    let allowed = keys_max as u128;
    if total > allowed && (boxes.len() == 1 || total > allowed.saturating_mul(KEYS_COUNTED_FACTOR)) {
        return Points::TooMany(total);
    }
    let mut keys = Vec::with_capacity(usize::try_from(total).unwrap_or(0));
    for one in boxes {
        let mut prefixes = vec![shape.prefix.clone()];
        for (position, column) in shape.columns.iter().enumerate() {
            let fields = one
                .set(position)
                .map(|set| point_fields(column, set))
                .unwrap_or_default();
            prefixes = append_fields(&prefixes, &fields);
        }
        keys.append(&mut prefixes);
    }
    if boxes.len() > 1 {
        keys.sort_unstable();
        keys.dedup();
    }
    if keys.len() > keys_max {
        Points::TooMany(keys.len() as u128)
    } else {
        Points::Keys(keys)
    }
}

/// The ranges of boxes; at most `ranges_max`.
pub(crate) fn ranges(shape: &KeyShape, boxes: &[KeyBox], ranges_max: usize) -> Ranges {
    let ranges_max = ranges_max.max(1);
    let mut collector = Collector {
        shape,
        per_box: (ranges_max / boxes.len().max(1)).max(1),
        ranges: Vec::new(),
    };
    let mut exact_columns = shape.columns.len();
    for one in boxes {
        exact_columns = exact_columns.min(collector.add(one));
    }
    let mut ranges = join(collector.ranges);
    if ranges.len() > ranges_max {
        ranges = hulls(&ranges, ranges_max, |first, last| KeyRange {
            start: first.start.clone(),
            end: last.end.clone(),
        });
        exact_columns = 0;
    }
    Ranges {
        ranges,
        exact_columns,
    }
}

/// Every key of the shape's key; of one with buckets from the first of them to the last.
pub(crate) fn whole(shape: &KeyShape) -> KeyRange {
    let buckets = shape.all_buckets().zip(shape.columns.first());
    let ends = buckets.and_then(|(buckets, column)| {
        let mut fields = point_fields(column, &buckets).into_iter();
        let first = concat(&shape.prefix, &fields.next()?);
        let last = concat(&shape.prefix, &fields.next_back()?);
        Some((first, column.block_end(&last)))
    });
    let (start, end) = ends.unwrap_or_else(|| (shape.prefix.clone(), prefix_end(&shape.prefix)));
    KeyRange { start, end }
}

/// How many values a set holds, if it is nothing but points.
pub(crate) fn point_count(column: &KeyColumnShape, set: &ColumnSet) -> Option<usize> {
    let all_points = set.spans().iter().all(|span| column.is_point(span));
    all_points.then(|| set.spans().len() + usize::from(set.holds_null()))
}

struct Collector<'a> {
    shape: &'a KeyShape,
    per_box: usize,
    ranges: Vec<KeyRange>,
}

impl Collector<'_> {
    /// Adds the ranges of a box; answers for how many leading key columns they say all that the box says.
    fn add(&mut self, one: &KeyBox) -> usize {
        let mut prefixes = vec![self.shape.prefix.clone()];
        let exact = |used: usize| {
            if one.bounds_from(used) {
                used
            } else {
                self.shape.columns.len()
            }
        };
        for (position, column) in self.shape.columns.iter().enumerate() {
            let Some(set) = one.set(position) else {
                let exact = exact(position);
                self.add_blocks(position, prefixes);
                return exact;
            };
            let pieces = set.spans().len() + usize::from(set.holds_null());
            if prefixes.len() * pieces > self.per_box {
                if position > 0 {
                    let exact = exact(position);
                    self.add_blocks(position, prefixes);
                    return exact;
                }
                // Already the first column is too much: values next to one another are joined, which loses nothing but
                // later columns; if that is not enough, pieces are joined over the gaps between them as well.
                let touching = join_touching(sorted_pieces(column, set));
                if touching.len() <= self.per_box {
                    self.add_spans(position, &prefixes, &touching);
                    return exact(1);
                }
                let joined = hulls(&touching, self.per_box, |first, last| Span {
                    start: first.start.clone(),
                    end: last.end.clone(),
                });
                self.add_spans(position, &prefixes, &joined);
                return 0;
            }
            if point_count(column, set).is_none() {
                let exact = exact(position + 1);
                self.add_spans(position, &prefixes, &sorted_pieces(column, set));
                return exact;
            }
            prefixes = append_fields(&prefixes, &point_fields(column, set));
        }
        self.add_blocks(self.shape.columns.len(), prefixes);
        self.shape.columns.len()
    }

    /// The blocks of all keys that start with one of the prefixes, which hold `used` fields.
    fn add_blocks(&mut self, used: usize, prefixes: Vec<Vec<u8>>) {
        for start in prefixes {
            let end = self.block_end(&start, used);
            self.ranges.push(KeyRange { start, end });
        }
    }

    fn add_spans(&mut self, position: usize, prefixes: &[Vec<u8>], spans: &[Span]) {
        let column = &self.shape.columns[position];
        let domain = column.directed_span(&column.domain);
        for prefix in prefixes {
            for span in spans {
                // Open ends of a column without NULLs run to the edge of the block, so that neighbours join.
                let start = if column.not_null && span.start == domain.start {
                    prefix.clone()
                } else {
                    concat(prefix, &span.start)
                };
                let end = if column.not_null && span.end == domain.end {
                    self.block_end(prefix, position)
                } else {
                    Some(concat(prefix, &span.end))
                };
                self.ranges.push(KeyRange { start, end });
            }
        }
    }

    /// The end of all keys that start with `key`, which holds `used` fields.
    fn block_end(&self, key: &[u8], used: usize) -> Option<Vec<u8>> {
        let Some(last) = used.checked_sub(1).map(|last| &self.shape.columns[last]) else {
            return prefix_end(key);
        };
        last.block_end(key)
    }
}

/// The encoded fields of a set of points, sorted as the key sorts.
fn point_fields(column: &KeyColumnShape, set: &ColumnSet) -> Vec<Vec<u8>> {
    let mut fields: Vec<_> = set
        .spans()
        .iter()
        .map(|span| column.directed_point(span))
        .collect();
    if set.holds_null() {
        fields.push(column.directed_null());
    }
    fields.sort_unstable();
    fields
}

/// The spans of a set in the key's direction, NULL's among them, sorted.
fn sorted_pieces(column: &KeyColumnShape, set: &ColumnSet) -> Vec<Span> {
    let mut spans: Vec<_> = set
        .spans()
        .iter()
        .map(|span| column.directed_span(span))
        .collect();
    if set.holds_null() {
        let start = column.directed_null();
        let end = vec![start[0] + 1];
        spans.push(Span { start, end });
    }
    spans.sort_unstable();
    spans
}

fn append_fields(prefixes: &[Vec<u8>], fields: &[Vec<u8>]) -> Vec<Vec<u8>> {
    prefixes
        .iter()
        .flat_map(|prefix| fields.iter().map(move |field| concat(prefix, field)))
        .collect()
}

fn concat(prefix: &[u8], field: &[u8]) -> Vec<u8> {
    [prefix, field].concat()
}

/// Joins sorted, disjoint spans where one ends as the next starts.
fn join_touching(spans: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => joined.push(span),
        }
    }
    joined
}

/// Sorts ranges and joins those that overlap or touch.
fn join(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| range.end.as_ref().is_none_or(|end| range.start < *end));
    ranges.sort_unstable_by(|left, right| left.start.cmp(&right.start));
    let mut joined: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| range.start <= *end) => {
                let longer = match (&last.end, &range.end) {
                    (None, _) => false,
                    (_, None) => true,
                    (Some(end), Some(other)) => other > end,
                };
                if longer {
                    last.end = range.end;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// At most `parts` hulls around runs of sorted items, as few of which are joined as can be.
fn hulls<T>(sorted: &[T], parts: usize, hull: impl Fn(&T, &T) -> T) -> Vec<T> {
    let parts = parts.clamp(1, sorted.len().max(1));
    let (run, longer) = (sorted.len() / parts, sorted.len() % parts);
    let (of_longer, of_shorter) = sorted.split_at(longer * (run + 1));
    let runs = of_longer.chunks(run + 1).chain(of_shorter.chunks(run.max(1)));
    runs.filter_map(|run| Some(hull(run.first()?, run.last()?)))
        .collect()
}
