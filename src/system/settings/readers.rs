//! How many readers a long scan may have.

use std::sync::OnceLock;

use super::Settings;

impl Settings {
    /// Readers that a long scan may have: no more than there are processors.
    pub fn readers_max(&self) -> usize {
        // Asking reads files of the control group.
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors =
            PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        (*processors).min(self.parallel_workers_max + 1)
    }
}
