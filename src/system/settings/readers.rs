//! What a statement may take: readers of a long scan, memory.

use std::sync::{Arc, OnceLock};

use super::Settings;
use crate::system::StatementMemory;

impl Settings {
    /// Readers that a long scan may have: no more than there are processors.
    pub fn readers_max(&self) -> usize {
        // Asking reads files of the control group.
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors =
            PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        (*processors).min(self.parallel_workers_max + 1)
    }

    /// The memory of a statement that begins now.
    pub fn statement_memory(&self) -> Arc<StatementMemory> {
        StatementMemory::new(&self.memory, self.query_memory_bytes_max)
    }
}
