//! `watch_reads`: notes the statement when a read that conditions leave little of has ended: an index would serve it. Asked by who reads
//! for a statement; short reads, and those that their key bounds wholly, are not watched.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::StreamExt;
use futures::stream::BoxStream;

use super::scan_metrics::ScanMetrics;
use crate::Result;
use crate::parse::without_values;
use crate::plan::{AccessPath, PlanRules, serving_index};
use crate::system::refused_statements::{RefusalReason, RefusedStatement, reads_much};
use crate::system::{ServerState, StatementContext, now_us};

/// What is noted when the read ends.
struct Watch {
    server: Arc<ServerState>,
    text: Arc<str>,
    path: Arc<AccessPath>,
    rules: PlanRules,
    metrics: Arc<ScanMetrics>,
    /// What the metrics said when it began: rows read, and rows left of them.
    before: (u64, u64),
}

/// The same rows, of a path that this statement reads by; the metrics are told of all its readers.
pub(crate) fn watch_reads<T: Send + 'static>(
    rows: BoxStream<'static, Result<T>>,
    ctx: &StatementContext,
    path: &Arc<AccessPath>,
    metrics: &Arc<ScanMetrics>,
) -> BoxStream<'static, Result<T>> {
    if path.residual.is_none() || path.ranges().is_none() {
        return rows;
    }
    let watch = Watch {
        server: Arc::clone(&ctx.server),
        text: Arc::clone(&ctx.text),
        path: Arc::clone(path),
        rules: ctx.plan_rules(&path.table),
        metrics: Arc::clone(metrics),
        before: counted(metrics),
    };
    rows.map(move |rows| {
        let _held = &watch;
        rows
    })
    .boxed()
}

fn counted(metrics: &ScanMetrics) -> (u64, u64) {
    let read = metrics.rows_read.load(Ordering::Relaxed);
    (read, metrics.rows.load(Ordering::Relaxed))
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (read, left) = counted(&self.metrics);
        let (read, left) = (
            read.saturating_sub(self.before.0),
            left.saturating_sub(self.before.1),
        );
        if !reads_much(read, left) {
            return;
        }
        let table = &self.path.table;
        let index = self.path.residual.as_ref();
        self.server.refused.note(RefusedStatement {
            reason: RefusalReason::ReadsMuch,
            text: without_values(&self.text),
            table: table.name.clone(),
            index: index.and_then(|condition| serving_index(table, condition, &self.rules)),
            count: 1,
            last: now_us(),
            rows_read: read,
            rows_left: left,
        });
    }
}
