//! `View`: what the reads of a transaction see that is to stay as it was: the writes up to a mark. As long as it is there the
//! buffer keeps the versions that the mark sees.

use std::sync::{Arc, Mutex};

use super::buffer::Buffer;
use super::lock;

/// The mark, held.
#[derive(Debug)]
pub(super) struct View {
    buffer: Arc<Mutex<Buffer>>,
    mark: usize,
}

impl View {
    /// Of everything so far.
    pub(super) fn open(buffer: &Arc<Mutex<Buffer>>) -> View {
        View::held(buffer, None)
    }

    /// Of what another sees that is open.
    pub(super) fn again(&self) -> View {
        View::held(&self.buffer, Some(self.mark))
    }

    fn held(buffer: &Arc<Mutex<Buffer>>, mark: Option<usize>) -> View {
        let mark = lock(buffer).open_scan(mark);
        let buffer = Arc::clone(buffer);
        View { buffer, mark }
    }

    /// What it sees: the writes up to it.
    pub(super) fn mark(&self) -> usize {
        self.mark
    }
}

impl Drop for View {
    fn drop(&mut self) {
        lock(&self.buffer).close_scan(self.mark);
    }
}
