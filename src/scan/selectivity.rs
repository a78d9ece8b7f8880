//! `rows_kept`: how many rows of a table a condition is likely to keep, judged by some of them, from places all over the key. Called
//! before an order of joins is chosen; whether a statement may run never depends on it.

use std::sync::Arc;

use super::row_filter::RowFilter;
use crate::Result;
use crate::catalog::TableDef;
use crate::plan::Predicate;
use crate::system::StatementContext;
use crate::table::{RowLayout, first_rows, rows_range};

/// Places that are looked at, and rows of each.
const PLACES: usize = 8;
const ROWS_OF_PLACE: usize = 32;
/// One row in so many satisfies a condition of which nothing is known.
pub(crate) const OTHER_ROWS: u64 = 3;

/// How many of a table's `rows` satisfy a condition. Errors: those of reading.
pub(crate) async fn rows_kept(
    ctx: &StatementContext,
    table: &TableDef,
    condition: &Predicate,
    rows: u64,
) -> Result<u64> {
    let (opaque, asked): (Vec<&Predicate>, Vec<&Predicate>) = condition
        .conjuncts()
        .into_iter()
        .partition(|condition| condition.has_opaque());
    let likely = |rows: u64| opaque.iter().fold(rows, |rows, _| rows.div_ceil(OTHER_ROWS));
    if asked.is_empty() {
        return Ok(likely(rows));
    }
    let asked = Predicate::all(asked.into_iter().cloned().collect());
    let layout = Arc::new(RowLayout::new(table, &asked.columns()));
    let mut filter = RowFilter::new(layout, 0);
    let txn = ctx.txn.uncounted();
    let range = rows_range(table);
    let points = match rows > (PLACES * ROWS_OF_PLACE) as u64 {
        true => txn.split_points(range.clone(), PLACES).await?,
        false => Vec::new(),
    };
    // Without points all rows are looked at.
    let rows_max = PLACES * ROWS_OF_PLACE / (points.len() + 1);
    let (mut seen, mut kept) = (0, 0);
    for part in range.split(&points) {
        let page = first_rows(&txn, part, false, rows_max).await?;
        seen += page.len() as u64;
        kept += filter.kept(&page, &asked, page.len())?.rows.len() as u64;
    }
    // What no row of a few satisfies, one of so many more may.
    let likely_kept = match (seen, kept) {
        (0, _) => rows,
        (seen, _) if seen >= rows => kept,
        (seen, 0) => rows / (2 * seen),
        (seen, kept) => (rows as u128 * kept as u128 / seen as u128) as u64,
    };
    Ok(likely(likely_kept))
}
