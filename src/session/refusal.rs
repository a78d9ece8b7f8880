//! What the rule of full scans refuses is noted, for `keyspan.refused_statements`.

use super::Session;
use crate::Error;
use crate::parse::without_values;
use crate::system::now_us;
use crate::system::refused_statements::{RefusalReason, RefusedStatement};

impl Session {
    /// A statement failed: it is noted if it was refused because it would read a whole table.
    pub(super) fn note_refusal(&self, text: &str, error: &Error) {
        let Error::FullScan { table, index, .. } = error.bare() else {
            return;
        };
        self.instance.state().refused.note(RefusedStatement {
            reason: RefusalReason::Refused,
            text: without_values(text),
            table: table.clone(),
            index: index.clone(),
            count: 1,
            last: now_us(),
            rows_read: 0,
            rows_left: 0,
        });
    }
}
