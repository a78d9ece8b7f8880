//! Threads that wait for nothing but one connection. What holds up such a thread holds up nobody else, and needs no other thread to take
//! its place, which costs as much as a short commit. `wire` tells how many connections a thread of its has; a commit asks.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// The connections that this thread serves; empty on all threads that serve none.
    static SERVED: OnceCell<Arc<AtomicUsize>> = const { OnceCell::new() };
}

/// From now on this thread serves as many connections as the number says at each moment.
pub fn serve_on_this_thread(connections: Arc<AtomicUsize>) {
    SERVED.with(|served| {
        // A thread belongs to one counter for as long as it lives.
        let _ = served.set(connections);
    });
}

/// Does what may take as long as a disk does. Where other work waits for this thread another one takes its place meanwhile; the caller
/// is on a runtime that has others to take it.
pub(super) fn hold_up<T>(work: impl FnOnce() -> T) -> T {
    let is_alone = SERVED.with(|served| {
        served
            .get()
            .is_some_and(|connections| connections.load(Ordering::Relaxed) <= 1)
    });
    match is_alone {
        true => work(),
        false => tokio::task::block_in_place(work),
    }
}
