//! `is_folding`: whether what is computed now is to become a constant of a plan. Told by the rewriter, asked by functions,
//! whose long results do not belong into plans.

use std::cell::Cell;

thread_local! {
    static FOLDING: Cell<bool> = const { Cell::new(false) };
}

/// Does what computes constants for a plan.
pub(crate) fn folding<T>(fold: impl FnOnce() -> T) -> T {
    let before = FOLDING.replace(true);
    let folded = fold();
    FOLDING.set(before);
    folded
}

/// Whether what is computed now would become a constant of a plan.
pub(crate) fn is_folding() -> bool {
    FOLDING.get()
}
