//! The simple protocol: a message of SQL text, statement by statement, all in text format but for BINARY cursors.

use std::sync::Arc;
use std::time::Instant;

use super::responder::Responder;
use super::state::State;
use super::statement_log::log_duration;
use crate::Result;
use crate::session::Reply;
use crate::sql::Statement;
use crate::system::Parameters;
use crate::types::WireFormat;

impl Responder {
    /// Query: several statements are one transaction, unless they say otherwise themselves.
    pub(super) async fn query(&mut self, text: &str) -> Result<()> {
        if self.state == State::Failed {
            // Until Sync, as everything else.
            return Ok(());
        }
        // The unnamed statement of the extended protocol does not outlive a simple message.
        self.session.close_statement("");
        self.session.takes_message();
        let began = Instant::now();
        let ran = self.run_text(text).await;
        let limit_ms = self.session.settings().log_min_duration_ms;
        log_duration(self.session.process_id(), began, limit_ms, text);
        if let Err(error) = ran {
            self.report(error)?;
        }
        self.send_ready()
    }

    async fn run_text(&mut self, text: &str) -> Result<()> {
        let Some(known) = self.session.recall(text).await? else {
            return self.run_parsed(text).await;
        };
        let (parameters, before) = (known.parameters.clone(), self.session.mark_run());
        match self.run_to_first_rows(&known.statement, parameters).await {
            // The text as it stands says what is wrong, and where; or nothing is.
            Err(error)
                if self.session.may_do_without_parameters(&error) && !self.session.has_told_since(before) =>
            {
                self.session.take_back(before);
                let ran = self.run_parsed(text).await;
                if ran.is_ok() || self.session.has_begun_work() {
                    self.session.forbid_parameters(&known);
                }
                ran
            }
            reply => self.complete(reply?).await,
        }
    }

    /// Runs a statement until its first rows are there: what fails before has told the client nothing.
    async fn run_to_first_rows(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters,
    ) -> Result<Reply> {
        self.session.close_portal("");
        let mut reply = self.run(statement, parameters, None).await?;
        if let Reply::Rows(rows) = &mut reply
            && let Some(first) = self.next_piece(rows, usize::MAX).await?
        {
            rows.put_back(first);
        }
        Ok(reply)
    }

    async fn run_parsed(&mut self, text: &str) -> Result<()> {
        let statements = self.session.parse(text).await?;
        let Some((last, others)) = statements.split_last() else {
            return self.send_empty_query();
        };
        for statement in others {
            self.session.open_implicit();
            let reply = self.run_statement(statement).await?;
            let tag = self.send_reply(reply).await?;
            self.send_notices()?;
            self.send_tag(tag)?;
            self.drain_if_full().await?;
        }
        if !others.is_empty() {
            self.session.open_implicit();
        }
        let reply = self.run_statement(last).await?;
        self.complete(reply).await
    }

    async fn run_statement(&mut self, statement: &Arc<Statement>) -> Result<Reply> {
        // It has the place of the unnamed portal.
        self.session.close_portal("");
        self.run(statement, Parameters::default(), None).await
    }

    /// Sends the reply of a message's last statement, and ends its transaction.
    async fn complete(&mut self, reply: Reply) -> Result<()> {
        let tag = self.send_reply(reply).await?;
        // The commit may fail, and then the last statement has not completed either.
        self.close_implicit().await?;
        self.send_notices()?;
        self.send_tag(tag)
    }

    /// Sends a statement's rows; answers its command tag.
    async fn send_reply(&mut self, reply: Reply) -> Result<String> {
        let mut rows = match reply {
            Reply::Done { tag } => return Ok(tag),
            Reply::CopyFrom(copy) => return self.receive_copy(copy).await,
            Reply::CopyTo(copy) => return self.send_copy(*copy).await,
            Reply::Rows(rows) => rows,
        };
        self.send_notices()?;
        let columns = rows.columns.clone();
        let formats = match rows.is_binary {
            true => vec![WireFormat::Binary; columns.len()],
            false => Vec::new(),
        };
        self.send_columns(&columns, &formats);
        self.send_rows(&mut rows, &formats, None).await?;
        self.complete_rows(rows).await
    }
}
