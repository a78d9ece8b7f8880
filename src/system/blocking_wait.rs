//! `wait_in_place`: waits in the middle of what computes, where no pause can be made: a value of a sequence is wanted for one
//! branch of an expression and not for the other, row by row. Most such waits are over when they begin. One that lasts keeps its thread,
//! and hands all other work of that thread to another one.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::StatementContext;
use super::allowance::without_limit;
use super::query_threads::check_left;
use crate::{Error, Result};

/// How often a wait looks whether its statement has been cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the future gives. Errors: its own; what stops the statement; XX000 on a runtime of one thread, which nothing else could
/// go on in.
pub(crate) fn wait_in_place<T>(ctx: &StatementContext, future: impl Future<Output = Result<T>>) -> Result<T> {
    without_limit(|| wait(ctx, pin!(future)))
}

fn wait<T>(ctx: &StatementContext, mut future: Pin<&mut impl Future<Output = Result<T>>>) -> Result<T> {
    if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return result;
    }
    let handle = Handle::try_current().map_err(|_| nowhere())?;
    if handle.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return Err(nowhere());
    }
    tokio::task::block_in_place(|| {
        handle.block_on(async {
            loop {
                match tokio::time::timeout(LOOK_EVERY, future.as_mut()).await {
                    Ok(result) => return result,
                    Err(_) => {
                        check_left()?;
                        ctx.session.interrupt.check()?;
                    }
                }
            }
        })
    })
}

fn nowhere() -> Error {
    Error::internal("a wait where no thread can wait")
}
