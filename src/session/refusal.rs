//! What the rule of full scans refuses is noted once its client is told of it, for `keyspan.refused_statements`: a session may try a
//! statement in several ways before.

use super::Session;
use crate::Error;
use crate::parse::without_values;
use crate::system::now_us;
use crate::system::refused_statements::{RefusalReason, RefusedStatement};

/// A statement that was refused, and perhaps is tried in another way yet.
#[derive(Debug)]
pub(super) struct Refusal {
    text: String,
    table: String,
    index: Option<String>,
}

impl Session {
    /// A statement was tried: it is remembered if it was refused because it would read a whole table, and what was before is forgotten.
    pub(super) fn remember_refusal<T>(&mut self, text: &str, tried: &crate::Result<T>) {
        self.refusal = match tried.as_ref().map_err(Error::bare) {
            Err(Error::FullScan { table, index, .. }) => Some(Refusal {
                text: text.to_string(),
                table: table.clone(),
                index: index.clone(),
            }),
            _ => None,
        };
    }

    /// The client is told of it.
    pub(super) fn note_refusal(&mut self) {
        let Some(Refusal { text, table, index }) = self.refusal.take() else {
            return;
        };
        self.instance.state().refused.note(RefusedStatement {
            reason: RefusalReason::Refused,
            text: without_values(&text),
            table,
            index,
            count: 1,
            last: now_us(),
            rows_read: 0,
            rows_left: 0,
        });
    }
}
