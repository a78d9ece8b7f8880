//! How all rows of a table are read by what goes over them a page at a time.

use crate::catalog::TableDef;
use crate::codec::keyspace::entry_prefix;
use crate::store::{KeyRange, ScanRequest};

/// Bytes of a page at most.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// Rows of a page at most, where only one column is looked at, or nobody else writes.
pub(super) const PAGE_ROWS_MAX: usize = 4096;

/// All rows from a key on (`None`: the first).
pub(super) fn rows_request(
    table: &TableDef,
    from: Option<&[u8]>,
    keys_only: bool,
    page_rows_max: usize,
) -> ScanRequest {
    let all = KeyRange::of_prefix(&entry_prefix(table.id, table.primary_key.id));
    let range = KeyRange {
        start: from.map_or(all.start, <[u8]>::to_vec),
        end: all.end,
    };
    ScanRequest {
        read_ahead: false,
        ranges: vec![range],
        reverse: false,
        keys_only,
        page_rows_max,
        page_bytes_max: PAGE_BYTES_MAX,
    }
}
