//! `Limits`: when a page of a scan ends, and how they grow from page to page.

/// Each page of a scan is this many times larger than the one before, up to what the request allows.
const PAGE_GROWTH: usize = 2;
/// For each row asked for a page looks at this many entries at most: the others are too new for the snapshot, or deleted …
const ENTRIES_PER_ROW: usize = 4;
/// … and after each page in which it found no row at twice as many, up to these: the head of a queue.
const ENTRIES_MAX: usize = 16 << 10;

/// When a page ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows_max: usize,
    pub(super) bytes_max: usize,
    /// Entries that are looked at for it, whether there are rows of them or not.
    pub(super) entries_max: usize,
}

impl Limits {
    /// A page of so many rows or bytes.
    pub(super) const fn new(rows_max: usize, bytes_max: usize) -> Limits {
        Limits {
            rows_max,
            bytes_max,
            entries_max: rows_max.saturating_mul(ENTRIES_PER_ROW),
        }
    }

    /// Whether a page of these is none of more than those.
    pub(super) fn are_within(self, other: Limits) -> bool {
        self.rows_max <= other.rows_max && self.bytes_max <= other.bytes_max
    }

    /// The same, and so many rows more.
    pub(super) fn with_rows(self, more: usize) -> Limits {
        Limits {
            rows_max: self.rows_max.saturating_add(more),
            ..self
        }
    }

    /// The limits of the page after one with rows.
    pub(super) fn grown(self, limits_max: Limits) -> Limits {
        Limits::new(
            self.rows_max.saturating_mul(PAGE_GROWTH),
            self.bytes_max.saturating_mul(PAGE_GROWTH),
        )
        .at_most(limits_max)
    }

    /// The limits of the page after one in which there was no row: it need not be larger, only come further.
    pub(super) fn reaching_further(self) -> Limits {
        let entries = self.entries_max.saturating_mul(PAGE_GROWTH).min(ENTRIES_MAX);
        Limits {
            entries_max: entries.max(self.entries_max),
            ..self
        }
    }

    pub(super) fn at_most(self, limits_max: Limits) -> Limits {
        Limits::new(
            self.rows_max.min(limits_max.rows_max),
            self.bytes_max.min(limits_max.bytes_max),
        )
    }
}
