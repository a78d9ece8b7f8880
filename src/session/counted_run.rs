//! `CountedRun`: a run of a statement that the extension pg_stat_statements counts when it is done. Errors, and results that nobody reads
//! to their end, are not counted.

use std::sync::Arc;
use std::time::Instant;

use super::{Reply, Session};
use crate::Result;
use crate::parse::command::Command;
use crate::sql::Statement;
use crate::system::Parameters;
use crate::system::statement_statistics::StatementKey;

/// See the module.
#[derive(Debug)]
pub(super) struct CountedRun {
    statement: Arc<Statement>,
    /// Parameters stand for constants of its text.
    has_parameters_for_constants: bool,
    began: Instant,
}

impl Session {
    /// A statement begins. `None`: it is not counted.
    pub(super) fn begin_counted(
        &self,
        statement: &Arc<Statement>,
        parameters: &Parameters,
    ) -> Option<Box<CountedRun>> {
        if !self.instance.state().statements.is_on() || !self.is_counted(statement) {
            return None;
        }
        Some(Box::new(CountedRun {
            statement: Arc::clone(statement),
            has_parameters_for_constants: parameters.constants.is_some(),
            began: Instant::now(),
        }))
    }

    fn is_counted(&self, statement: &Statement) -> bool {
        let settings = self.settings();
        // Of EXECUTE what it runs is counted.
        let is_of_prepared = matches!(
            statement.parsed.command,
            Some(Command::Execute { .. } | Command::Prepare { .. } | Command::Deallocate { .. })
        );
        settings.counts_statements
            && !is_of_prepared
            && (settings.counts_utility_statements || !statement.is_utility())
    }

    /// What a run gave: it is counted now, or goes along with the rows.
    pub(super) fn count_reply(&self, counted: Option<Box<CountedRun>>, ran: &mut Result<Reply>) {
        match ran {
            Ok(Reply::Done { tag }) => self.count(counted, tag),
            Ok(Reply::Rows(rows)) => rows.counted = counted,
            Ok(Reply::CopyFrom(copy)) => copy.counted = counted,
            Ok(Reply::CopyTo(copy)) => copy.rows.counted = counted,
            Err(_) => {}
        }
    }

    /// A run is done. The last word of its tag says how many rows, if it says so.
    pub(super) fn count(&self, counted: Option<Box<CountedRun>>, tag: &str) {
        let Some(counted) = counted else {
            return;
        };
        let took = counted.began.elapsed();
        let rows = tag.rsplit(' ').next().and_then(|word| word.parse().ok());
        let text = counted
            .statement
            .normalized_text(counted.has_parameters_for_constants);
        let key = StatementKey {
            user: Arc::clone(self.current_user()),
            query_id: text.id,
        };
        let statements_max = self.settings().counted_statements_max;
        let statistics = &self.instance.state().statements;
        statistics.note(key, &text.text, took, rows.unwrap_or(0), statements_max);
    }
}
