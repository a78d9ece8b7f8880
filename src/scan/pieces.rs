//! Rows that come in pieces, of several reads one after the other.

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::Rows;
use crate::Result;

/// Rows that come in pieces.
pub(crate) trait Piece: Sized {
    fn rows(&self) -> usize;
    /// Its first rows.
    fn cut(self, rows: usize) -> Self;
}

impl Piece for RecordBatch {
    fn rows(&self) -> usize {
        self.num_rows()
    }
    fn cut(self, rows: usize) -> RecordBatch {
        self.slice(0, rows)
    }
}

impl Piece for Rows {
    fn rows(&self) -> usize {
        self.num_rows()
    }
    fn cut(self, rows: usize) -> Rows {
        self.slice(0, rows)
    }
}

/// The rows of the parts, as many as wanted. A part begins when the one before it has ended.
pub(crate) fn one_after_another<P: Piece + Send + 'static>(
    mut parts: impl ExactSizeIterator<Item = BoxStream<'static, Result<P>>> + Send + 'static,
    wanted: Option<usize>,
) -> BoxStream<'static, Result<P>> {
    if parts.len() == 1
        && let Some(only) = parts.next()
    {
        return only;
    }
    let all = stream::iter(parts).flatten().boxed();
    let Some(wanted) = wanted else {
        return all;
    };
    stream::try_unfold((all, wanted), |(mut all, wanted)| async move {
        if wanted == 0 {
            return Ok(None);
        }
        let piece: Option<P> = all.try_next().await?;
        Ok(piece.map(|piece| {
            let rows = piece.rows().min(wanted);
            (piece.cut(rows), (all, wanted - rows))
        }))
    })
    .boxed()
}
