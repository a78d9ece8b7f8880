//! Stack for calls of users' functions, which may call themselves, directly or by what their statements fire.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// With less stack than this left, a call takes a new segment.
const STACK_RED_ZONE_BYTES: usize = 4 << 20;
/// The size of a new segment.
const STACK_SEGMENT_BYTES: usize = 32 << 20;

/// Does work that may come here again.
pub fn with_grown_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, work)
}

/// A future that takes more stack each time it is polled with little left.
#[derive(Debug)]
pub struct GrownStack<F>(pub F);

impl<F: Future + Unpin> Future for GrownStack<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        with_grown_stack(|| Pin::new(&mut self.0).poll(context))
    }
}
