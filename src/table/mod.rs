//! Rows as keys and values: decode pages into Arrow batches, encode batches into rows, unique checks, writes through a
//! transaction. Knows nothing of SQL text, plans or DataFusion.

mod read;
mod write;

pub use read::{RowDecoder, row_schema};
pub use write::{RowEncoder, delete_rows, insert_rows, put_rows};
