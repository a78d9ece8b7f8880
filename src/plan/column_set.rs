//! Sets of values of one key column, as sorted disjoint half-open spans of encoded key fields. Every cut between two
//! spans is a byte string, so one algebra serves every type; `key_shape` makes the cuts and knows the types.
//!
//! Invariants of a `ColumnSet`:
//! - spans are sorted, not empty and do not overlap;
//! - spans may touch and are then kept apart: `IN (1, 2, 3)` must stay three points so that conditions on later
//!   columns can be appended to each;
//! - bytes are those of an ascending field; the direction of the key comes in only when boxes become key ranges.

/// Values from `start` up to and without `end`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
}

/// A set of values of one column, and whether NULL belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ColumnSet {
    spans: Vec<Span>,
    null: bool,
}

impl ColumnSet {
    /// No value.
    pub(crate) fn none() -> ColumnSet {
        ColumnSet::default()
    }

    /// The spans, in any order, overlapping or empty, made a set.
    pub(crate) fn from_spans(spans: Vec<Span>) -> ColumnSet {
        ColumnSet {
            spans: normalize(spans),
            null: false,
        }
    }

    /// The set with or without NULL.
    pub(crate) fn with_null(mut self, null: bool) -> ColumnSet {
        self.null = null;
        self
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(crate) fn holds_null(&self) -> bool {
        self.null
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty() && !self.null
    }

    /// Everything that any of the sets holds.
    pub(crate) fn union<'a>(sets: impl IntoIterator<Item = &'a ColumnSet>) -> ColumnSet {
        let mut spans = Vec::new();
        let mut null = false;
        for set in sets {
            spans.extend_from_slice(&set.spans);
            null |= set.null;
        }
        ColumnSet {
            spans: normalize(spans),
            null,
        }
    }

    /// Everything that both sets hold.
    pub(crate) fn intersect(&self, other: &ColumnSet) -> ColumnSet {
        let (mut left, mut right) = (self.spans.iter().peekable(), other.spans.iter().peekable());
        let mut spans = Vec::new();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let start = (&a.start).max(&b.start);
            let end = (&a.end).min(&b.end);
            if start < end {
                spans.push(Span {
                    start: start.clone(),
                    end: end.clone(),
                });
            }
            if a.end <= b.end {
                left.next()
            } else {
                right.next()
            };
        }
        ColumnSet {
            spans,
            null: self.null && other.null,
        }
    }

    /// Everything of `whole` that the set does not hold; NULL as well when `nullable`.
    pub(crate) fn complement(&self, whole: &Span, nullable: bool) -> ColumnSet {
        let mut spans = Vec::new();
        let mut from = &whole.start;
        for span in &self.spans {
            if *from < span.start {
                spans.push(Span {
                    start: from.clone(),
                    end: span.start.clone(),
                });
            }
            from = &span.end;
        }
        if *from < whole.end {
            spans.push(Span {
                start: from.clone(),
                end: whole.end.clone(),
            });
        }
        ColumnSet {
            spans,
            null: nullable && !self.null,
        }
    }
}

/// Sorts, drops empty spans, merges spans that overlap (not those that touch).
fn normalize(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.start < span.end);
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                if span.end > last.end {
                    last.end = span.end;
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}
