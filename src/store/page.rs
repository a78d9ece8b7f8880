//! `Page`: a run of rows of a scan in one arena, so that reading a page allocates nothing a row. Stores fill it, scans
//! of every layer read it; it knows nothing of what a key means.

/// Rows of a scan, in scan order, keys and values back to back in one buffer that is used again for the next page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    bytes: Vec<u8>,
    /// For each row: where its key starts, where its value starts, where its value ends.
    rows: Vec<[u32; 3]>,
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
    }
    /// Appends a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.rows
            .push([start as u32, middle as u32, self.bytes.len() as u32]);
    }
    /// Drops every row from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if let Some([start, ..]) = self.rows.get(rows) {
            self.bytes.truncate(*start as usize);
            self.rows.truncate(rows);
        }
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
    /// The last row, if there is one.
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        Some(self.row(self.len().checked_sub(1)?))
    }
    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| self.row(index))
    }
}
