//! `range_figures`: how many rows and bytes stand in ranges of a key, about, from a bounded number of them. Called for the regions of a
//! table and for advice about its keys.
//!
//! A range of few rows is read. In a larger one some places are, a few rows each: how far these reach tells how dense the keys are
//! there. What comes of it for all such ranges is made to agree with the number of rows that the store keeps for the table.

use std::sync::Arc;

use super::row_count::committed_row_counts;
use crate::Result;
use crate::catalog::TableDef;
use crate::codec::{KeyRange, successor};
use crate::store::{Page, ScanRequest};
use crate::txn::Transaction;

/// Rows of a range that are read, so that they are counted exactly.
const ROWS_READ: usize = 512;
/// Places at which larger ranges are looked at, all together and each at least.
const PLACES: usize = 256;
const PLACES_MIN: usize = 4;
/// Rows that are read at a place.
const ROWS_OF_PLACE: usize = 32;
/// Bytes of a page.
const PAGE_BYTES: usize = 128 << 10;
/// Bytes behind what keys have in common by which distances are told.
const DIGITS: usize = 8;

/// What stands in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RangeFigures {
    /// Rows.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// All of it was read.
    pub is_exact: bool,
}

/// What some rows of a range tell.
struct Sample {
    rows: f64,
    row_bytes: f64,
    is_exact: bool,
}

/// Figures of sorted, disjoint ranges of a table's rows, which together are all of it or nearly. Errors: the store's.
pub async fn range_figures(
    txn: &Transaction,
    table: &Arc<TableDef>,
    ranges: &[KeyRange],
) -> Result<Vec<RangeFigures>> {
    let txn = &txn.uncounted();
    let counts = committed_row_counts(txn, &[table]).await?;
    let counted = counts.first().copied().flatten();
    let places = (PLACES / ranges.len().max(1)).max(PLACES_MIN);
    let mut samples = Vec::with_capacity(ranges.len());
    for range in ranges {
        samples.push(sample(txn, range, places).await?);
    }
    let sum = |is_exact: bool| -> f64 {
        let some = samples.iter().filter(|sample| sample.is_exact == is_exact);
        some.map(|sample| sample.rows).sum()
    };
    let guessed = sum(false);
    let factor = match counted {
        Some(rows) if guessed > 0.0 => (rows as f64 - sum(true)).max(0.0) / guessed,
        _ => 1.0,
    };
    let figures = samples.iter().map(|sample| {
        let rows = match sample.is_exact {
            true => sample.rows,
            // It holds more than was read of it at first.
            false => (sample.rows * factor).max(ROWS_READ as f64),
        };
        RangeFigures {
            rows: rows as u64,
            bytes: (rows * sample.row_bytes) as u64,
            is_exact: sample.is_exact,
        }
    });
    Ok(figures.collect())
}

async fn sample(txn: &Transaction, range: &KeyRange, places: usize) -> Result<Sample> {
    let first = read(txn, range, ROWS_READ, false).await?;
    if first.len() < ROWS_READ && first.size_bytes() < PAGE_BYTES {
        return Ok(Sample {
            rows: first.len() as f64,
            row_bytes: bytes_each(&[&first]),
            is_exact: true,
        });
    }
    // It ends with its last row: what is behind that is not as dense.
    let filled = KeyRange {
        start: range.start.clone(),
        end: read(txn, range, 1, true)
            .await?
            .last()
            .map(|(key, _)| successor(key)),
    };
    let points = txn.split_points(filled.clone(), places).await?;
    let mut rows = 0.0;
    let mut pages = Vec::with_capacity(points.len() + 1);
    for part in filled.split(&points) {
        let page = read(txn, &part, ROWS_OF_PLACE, false).await?;
        rows += rows_of(&page, &part);
        pages.push(page);
    }
    let pages: Vec<&Page> = pages.iter().collect();
    Ok(Sample {
        rows,
        row_bytes: bytes_each(&pages),
        is_exact: false,
    })
}

/// How many rows a part has of which these are the first.
fn rows_of(page: &Page, part: &KeyRange) -> f64 {
    let read = page.len();
    let Some((last, _)) = page.last() else {
        return 0.0;
    };
    let first = page.row(0).0;
    if read < ROWS_OF_PLACE && page.size_bytes() < PAGE_BYTES {
        return read as f64;
    }
    let Some(end) = part.end.as_ref() else {
        return read as f64;
    };
    let common = first.iter().zip(end).take_while(|(a, b)| a == b).count();
    let (from, to) = (number(first, common), number(end, common));
    let reached = number(last, common).saturating_sub(from).max(1);
    let reach = to.saturating_sub(from) as f64 / reached as f64;
    read as f64 * reach.max(1.0)
}

/// The bytes behind what keys have in common as a number.
fn number(key: &[u8], common: usize) -> u64 {
    let mut digits = [0; DIGITS];
    for (digit, byte) in digits.iter_mut().zip(key.get(common..).unwrap_or_default()) {
        *digit = *byte;
    }
    u64::from_be_bytes(digits)
}

fn bytes_each(pages: &[&Page]) -> f64 {
    let rows: usize = pages.iter().map(|page| page.len()).sum();
    let bytes: usize = pages.iter().map(|page| page.size_bytes()).sum();
    if rows == 0 {
        0.0
    } else {
        bytes as f64 / rows as f64
    }
}

/// The first rows of a range, or its last.
async fn read(txn: &Transaction, range: &KeyRange, rows_max: usize, reverse: bool) -> Result<Page> {
    let mut scan = txn.scan(ScanRequest {
        ranges: vec![range.clone()],
        reverse,
        keys_only: false,
        read_ahead: false,
        page_rows_max: rows_max,
        page_bytes_max: PAGE_BYTES,
    });
    let (mut page, mut all) = (Page::new(), Page::new());
    while all.len() < rows_max && all.size_bytes() < PAGE_BYTES {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            break;
        }
        for (key, value) in page.iter() {
            all.push(key, value);
        }
    }
    Ok(all)
}
