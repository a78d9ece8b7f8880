//! How many rows a whole table has, where that is all that is asked of them. The store knows it for every
//! snapshot, so nothing is read.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::totals::RowCount;
use crate::Result;
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::table::row_count;

/// Nothing, when the number is known: then `count` has it; else the rows.
pub(super) fn count_or_read(
    ctx: &StatementContext,
    table: Arc<TableDef>,
    count: &RowCount,
    rows: BoxStream<'static, Result<RecordBatch>>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (txn, count) = (Arc::clone(&ctx.txn), Arc::clone(count));
    let counted = async move {
        Ok(match row_count(&txn, &table).await? {
            Some(number) => {
                count.get_or_init(|| number);
                stream::empty().boxed()
            }
            None => rows,
        })
    };
    stream::once(counted).try_flatten().boxed()
}
