//! Whether a query sees what a statement writes that it is a part of: it reads the table at another place too, or calls a function that sees
//! what the statement sees.

use super::QueryPlan;
use crate::functions::Volatility;
use crate::logical::dependent_join::for_each_node;
use crate::logical::stored_table::scanned_table;
use crate::tree::{Expr, Plan, TreeNodeRecursion};

impl QueryPlan {
    /// Whether it reads the table more often than so many times, by whatever name, or runs a function of a user's that is not volatile: which
    /// may read it, and sees what the statement saw when it began.
    pub(crate) fn reads_beyond(&self, table: u32, times: usize) -> bool {
        let mut reads = 0;
        let mut calls = false;
        let walked = for_each_node(self.bound(), &mut |node| {
            if let Plan::TableScan(scan) = node {
                reads += usize::from(scanned_table(scan).is_some_and(|scanned| scanned.table.oid == table));
            }
            calls |= node
                .expressions()
                .into_iter()
                .any(|expr| expr.has(is_kept_routine));
            Ok(TreeNodeRecursion::Continue)
        });
        calls || reads > times || walked.is_err()
    }
}

fn is_kept_routine(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call)
        if call.func.routine().is_some() && call.func.volatility() != Volatility::Volatile)
}
