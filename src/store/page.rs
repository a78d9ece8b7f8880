//! `Page`: a run of rows of a scan in one arena, so that reading a page allocates nothing a row. Stores fill it, scans
//! of every layer read it; it knows nothing of what a key means.

use crate::codec::expiry::NEVER;

/// Rows of a scan, in scan order, keys and values back to back in one buffer that is used again for the next page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    bytes: Vec<u8>,
    /// For each row: where its key starts, where its value starts, where its value ends.
    rows: Vec<[u32; 3]>,
    known: KnownOfAll,
}

/// What is known of all rows of a page, or of a piece of memory, so that nobody need look at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownOfAll {
    /// Every value is a row value that was checked when it came into memory, so that nobody need check it again
    /// ([`crate::codec::row::RowReader::of_verified`]).
    pub are_verified: bool,
    /// By the rule that the scan was told, none is over before this moment, in microseconds since 1970; `None`: nobody knows.
    pub over_from: Option<i64>,
}

impl KnownOfAll {
    /// Of no rows: all of them are as they should be.
    pub const OF_NONE: KnownOfAll = KnownOfAll {
        are_verified: true,
        over_from: Some(NEVER),
    };

    /// Of these rows and the others.
    pub fn and(self, other: KnownOfAll) -> KnownOfAll {
        KnownOfAll {
            are_verified: self.are_verified && other.are_verified,
            over_from: self
                .over_from
                .zip(other.over_from)
                .map(|(one, other)| one.min(other)),
        }
    }
}

/// One row of a page, or of elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// Whether the value was checked before: see [`KnownOfAll::are_verified`].
    pub is_verified: bool,
}

impl<'a> Entry<'a> {
    /// One whose value was not checked.
    pub fn new(key: &'a [u8], value: &'a [u8]) -> Entry<'a> {
        Entry {
            key,
            value,
            is_verified: false,
        }
    }
}

impl Page {
    /// An empty page.
    pub fn new() -> Page {
        Page::default()
    }
    /// Empties the page and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.known = KnownOfAll::default();
    }
    /// Appends a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.rows
            .push([start as u32, middle as u32, self.bytes.len() as u32]);
        self.known = KnownOfAll::default();
    }
    /// Notes what is known of all its rows. The next row that is appended takes that back.
    pub fn set_known(&mut self, known: KnownOfAll) {
        self.known = known;
    }
    /// What is known of all its rows.
    pub fn known(&self) -> KnownOfAll {
        self.known
    }
    /// Drops every row from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if let Some([start, ..]) = self.rows.get(rows) {
            self.bytes.truncate(*start as usize);
            self.rows.truncate(rows);
        }
    }
    /// Drops the rows that `keep`, asked for each once from the first on, does not keep.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let (mut end, mut kept) = (0, 0);
        for at in 0..self.rows.len() {
            if !keep(at) {
                continue;
            }
            let [start, middle, stop] = self.rows[at];
            self.bytes
                .copy_within(start as usize..stop as usize, end as usize);
            self.rows[kept] = [end, end + (middle - start), end + (stop - start)];
            end += stop - start;
            kept += 1;
        }
        self.rows.truncate(kept);
        self.bytes.truncate(end as usize);
    }
    /// Rows in the page.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether the page holds no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// Bytes of keys and values.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }
    /// Key and value of the row at `index`, which must be below `len`.
    pub fn row(&self, index: usize) -> (&[u8], &[u8]) {
        let [start, middle, end] = self.rows[index].map(|at| at as usize);
        (&self.bytes[start..middle], &self.bytes[middle..end])
    }
    /// The row at `index`, which must be below `len`, and what is known of it.
    pub fn entry(&self, index: usize) -> Entry<'_> {
        let (key, value) = self.row(index);
        Entry {
            key,
            value,
            is_verified: self.known.are_verified,
        }
    }
    /// The last row, if there is one.
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        Some(self.row(self.len().checked_sub(1)?))
    }
    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| self.row(index))
    }
}
