//! `Spool`: rows of a result that are kept to be read again from any place, in the order they came: the first in memory,
//! those above `MEMORY_BYTES_MAX` in temporary files. Used by the session's cursors.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::DataFusionError;
use datafusion_execution::SpillFile;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_physical_plan::SpillManager;
use datafusion_physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use super::planning::runtime;
use crate::system::datafusion_error::from_datafusion;
use crate::system::{Settings, StatementMemory, query_threads};
use crate::{Error, Result};

/// Rows come and go in chunks of about so many bytes.
const CHUNK_BYTES: usize = 1 << 20;
/// Whole chunks stay in memory up to so many bytes.
const MEMORY_BYTES_MAX: usize = 8 << 20;

/// The rows, from `first` on.
pub struct Spool {
    settings: Arc<Settings>,
    memory: Arc<StatementMemory>,
    /// Bytes of the chunks in memory.
    share: MemoryReservation,
    files: Option<SpillManager>,
    chunks: Vec<Chunk>,
    /// The chunk that still grows.
    open: Vec<RecordBatch>,
    open_bytes: usize,
    open_first: u64,
    end: u64,
    first: u64,
    /// The chunk that was read from a file last.
    loaded: Option<(usize, Vec<RecordBatch>)>,
}

struct Chunk {
    first: u64,
    rows: ChunkRows,
}

enum ChunkRows {
    Memory(Vec<RecordBatch>),
    File(Arc<dyn SpillFile>),
}

impl Spool {
    /// Empty; the row that comes first has the number `first`.
    pub fn new(settings: Arc<Settings>, memory: Arc<StatementMemory>, first: u64) -> Spool {
        Spool {
            share: memory.share("Spool"),
            settings,
            memory,
            files: None,
            chunks: Vec::new(),
            open: Vec::new(),
            open_bytes: 0,
            open_first: first,
            end: first,
            first,
            loaded: None,
        }
    }

    /// The number of the first row.
    #[cfg(test)]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number behind the last row.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        self.share.size() + self.open_bytes
    }

    /// Appends rows. Errors: 53100, 53200.
    pub async fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let columns = batch.columns().iter();
        // A slice counts for what it shows, not for the buffer it shares.
        let bytes: usize = columns
            .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
            .sum();
        self.end += batch.num_rows() as u64;
        self.open.push(batch);
        self.open_bytes += bytes;
        match self.open_bytes < CHUNK_BYTES {
            true => Ok(()),
            false => self.close_chunk().await,
        }
    }

    async fn close_chunk(&mut self) -> Result<()> {
        let batches = std::mem::take(&mut self.open);
        let bytes = std::mem::take(&mut self.open_bytes);
        let fits = self.share.size() + bytes <= MEMORY_BYTES_MAX && self.share.try_grow(bytes).is_ok();
        let rows = match fits {
            true => ChunkRows::Memory(batches),
            false => self.spill(batches).await?,
        };
        self.chunks.push(Chunk {
            first: self.open_first,
            rows,
        });
        self.open_first = self.end;
        Ok(())
    }

    async fn spill(&mut self, batches: Vec<RecordBatch>) -> Result<ChunkRows> {
        let files = self.files(&batches)?;
        let spilled = query_threads::run(async move {
            files
                .spill_record_batch_and_finish(&batches, "a cursor")
                .map_err(from_datafusion)
        });
        match spilled.await? {
            Some(file) => Ok(ChunkRows::File(file)),
            None => Ok(ChunkRows::Memory(Vec::new())),
        }
    }

    /// All rows, from the first on.
    pub fn into_stream(self) -> BoxStream<'static, Result<RecordBatch>> {
        let first = self.first;
        let rows = stream::try_unfold((self, first), |(mut spool, at)| async move {
            if at >= spool.end {
                return Ok(None);
            }
            let (first, batch) = spool.piece(at).await?;
            let next = first + batch.num_rows() as u64;
            Ok(Some((batch, (spool, next))))
        });
        rows.boxed()
    }

    fn files(&mut self, batches: &[RecordBatch]) -> Result<SpillManager> {
        if let Some(files) = &self.files {
            return Ok(files.clone());
        }
        let schema = match batches.first() {
            Some(batch) => batch.schema(),
            None => return Err(Error::internal("a chunk without rows")),
        };
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let runtime = runtime(&self.settings, &self.memory)?;
        let files = SpillManager::new(runtime, metrics, schema);
        Ok(self.files.insert(files).clone())
    }

    /// Rows that stand together, of which the one of number `at`, which must be there, is one; and the number of the first.
    /// Errors: 58030.
    pub async fn piece(&mut self, at: u64) -> Result<(u64, RecordBatch)> {
        let chunk = self.chunks.partition_point(|chunk| chunk.first <= at);
        if at >= self.open_first {
            return find(self.open_first, &self.open, at);
        }
        let place = chunk.checked_sub(1).ok_or_else(missing)?;
        let Chunk { first, rows } = &self.chunks[place];
        let first = *first;
        let file = match rows {
            ChunkRows::Memory(batches) => return find(first, batches, at),
            ChunkRows::File(file) => Arc::clone(file),
        };
        if self.loaded.as_ref().is_none_or(|(loaded, _)| *loaded != place) {
            let files = self.files(&[])?;
            let reading = query_threads::run(async move {
                let read = async {
                    files
                        .read_spill_as_stream_unbuffered(file, None)?
                        .try_collect()
                        .await
                };
                let read: std::result::Result<Vec<RecordBatch>, DataFusionError> = read.await;
                read.map_err(from_datafusion)
            });
            self.loaded = Some((place, reading.await?));
        }
        let batches = self.loaded.as_ref().map_or(&[][..], |(_, batches)| batches);
        find(first, batches, at)
    }
}

/// The batch that has a row, and the number of its first row.
fn find(first: u64, batches: &[RecordBatch], at: u64) -> Result<(u64, RecordBatch)> {
    let mut start = first;
    for batch in batches {
        let end = start + batch.num_rows() as u64;
        if at < end {
            return Ok((start, batch.clone()));
        }
        start = end;
    }
    Err(missing())
}

fn missing() -> Error {
    Error::internal("a row that was kept is missing")
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool")
            .field("first", &self.first)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[tokio::test]
    async fn rows_come_back_from_memory_and_from_files() {
        let settings = Arc::new(Settings::default());
        let memory = settings.statement_memory();
        let mut spool = Spool::new(settings, memory, 5);
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Utf8, true)]));
        // 20 MB in batches of 100 rows.
        let text = |at: u64| format!("{at} {}", "x".repeat(1000));
        for batch in 0..200 {
            let rows = (0..100).map(|row| text(5 + batch * 100 + row));
            let column = StringArray::from_iter_values(rows);
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)]).unwrap();
            spool.push(batch).await.unwrap();
        }
        assert_eq!((spool.first(), spool.end()), (5, 20_005));
        assert!(spool.bytes() <= MEMORY_BYTES_MAX + CHUNK_BYTES);
        assert!(spool.files.is_some(), "some stand in files");
        for at in [5, 20_004, 19_999, 12_345, 104, 105, 106, 20_003] {
            let (first, batch) = spool.piece(at).await.unwrap();
            let value = batch.column(0).as_string::<i32>().value((at - first) as usize);
            assert_eq!(value, text(at));
        }
    }
}
