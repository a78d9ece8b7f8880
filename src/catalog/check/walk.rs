//! `Walk`: a scan of everything in some ranges for a check, where damage below is a fault instead of the end of all.
//! `catalog::check` and `table::check` read through it; it knows nothing of what a key means.

use super::{FaultKind, Faults};
use crate::codec::KeyRange;
use crate::store::{Page, Scan, ScanRequest, Snapshot};
use crate::{Error, Result};

/// Rows of a page at most: with [`PAGE_BYTES`] what a check holds in memory at a time.
pub const PAGE_ROWS: usize = 2048;
/// Bytes of a page's keys and values, about.
const PAGE_BYTES: usize = 1 << 20;
/// Bytes of a key that are shown at most when it cannot be read.
const HEX_BYTES_MAX: usize = 48;

/// A forward scan, a page at a time.
#[derive(Debug)]
pub struct Walk {
    scan: Box<dyn Scan>,
    /// The last key read.
    last: Vec<u8>,
    is_done: bool,
}

impl Walk {
    /// Over sorted, disjoint ranges; `keys_only` leaves the values out.
    pub fn new(snapshot: &dyn Snapshot, ranges: Vec<KeyRange>, keys_only: bool) -> Walk {
        Walk {
            is_done: ranges.is_empty(),
            scan: snapshot.scan(ScanRequest {
                ranges,
                reverse: false,
                keys_only,
                read_ahead: true,
                page_rows_max: PAGE_ROWS,
                page_bytes_max: PAGE_BYTES,
            }),
            last: Vec::new(),
        }
    }

    /// Fills the page with what comes next; an empty page is the end. Damage that keeps the store from reading on ends
    /// the walk too, and is a fault of `relation`. Errors: any other of the store's.
    pub async fn next_page(
        &mut self,
        page: &mut Page,
        relation: Option<&str>,
        faults: &mut Faults,
    ) -> Result<()> {
        page.clear();
        if self.is_done {
            return Ok(());
        }
        match self.scan.next_page(page).await {
            Ok(()) => {}
            Err(error @ Error::Corrupt { .. }) => {
                let behind = format!("behind {}", hex(&self.last));
                faults.add(FaultKind::Unreadable, relation, behind, error.to_string());
                page.clear();
                self.is_done = true;
            }
            Err(error) => return Err(error),
        }
        match page.last() {
            None => self.is_done = true,
            Some((key, _)) => {
                self.last.clear();
                self.last.extend_from_slice(key);
            }
        }
        Ok(())
    }
}

/// Bytes as PostgreSQL prints bytea, cut when they are many.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "\\x".to_string();
    for byte in bytes.iter().take(HEX_BYTES_MAX) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > HEX_BYTES_MAX {
        text.push_str("...");
    }
    text
}
