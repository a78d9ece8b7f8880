//! `Page`: a run of rows of a scan in one arena, so that reading a page allocates nothing a row. Stores fill it, scans
//! of every layer read it; it knows nothing of what a key means.

/// Rows of a scan, in scan order, keys and values back to back in one buffer that is used again for the next page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    bytes: Vec<u8>,
    /// For each row: where its key starts, where its value starts, where its value ends.
    rows: Vec<[u32; 3]>,
    is_verified: bool,
}

/// One row of a page, or of elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// Whether the value was checked before: see [`Page::set_verified`].
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
        self.is_verified = false;
    }
    /// Appends a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.rows
            .push([start as u32, middle as u32, self.bytes.len() as u32]);
        self.is_verified = false;
    }
    /// Notes that every value in it is a row value that was checked when it came into memory, so that nobody need check it again
    /// ([`crate::codec::row::RowReader::of_verified`]). The next row that is appended takes that back.
    pub fn set_verified(&mut self) {
        self.is_verified = true;
    }
    /// Whether every value was checked before.
    pub fn is_verified(&self) -> bool {
        self.is_verified
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
            is_verified: self.is_verified,
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
