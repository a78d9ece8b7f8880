//! The simple protocol: a message of SQL text, statement by statement, all in text format.

use std::sync::Arc;

use super::responder::Responder;
use crate::Result;
use crate::exec::Parameters;
use crate::session::Reply;
use crate::sql::Statement;

impl Responder {
    /// Query: several statements are one transaction, unless they say otherwise themselves.
    pub(super) async fn query(&mut self, text: &str) -> Result<()> {
        // As in PostgreSQL, the unnamed statement of the extended protocol does not outlive a simple message.
        self.session.close_statement("");
        let ran = self.run_text(text).await;
        if let Err(error) = ran {
            self.report(error)?;
        }
        self.send_ready()
    }

    async fn run_text(&mut self, text: &str) -> Result<()> {
        let statements = self.session.parse(text).await?;
        let Some((last, others)) = statements.split_last() else {
            return self.send_empty_query();
        };
        for statement in others {
            self.session.open_implicit();
            let tag = self.run_statement(statement).await?;
            self.send_notices()?;
            self.send_tag(tag)?;
        }
        if !others.is_empty() {
            self.session.open_implicit();
        }
        let tag = self.run_statement(last).await?;
        // The commit may fail, and then the last statement has not completed either.
        self.session.close_implicit().await?;
        self.send_notices()?;
        self.send_tag(tag)
    }

    /// Runs a statement and sends its rows; answers its command tag.
    async fn run_statement(&mut self, statement: &Arc<Statement>) -> Result<String> {
        let mut rows = match self.session.run(statement, Parameters::default(), None).await? {
            Reply::Done { tag } => return Ok(tag),
            Reply::Rows(rows) => rows,
        };
        self.send_notices()?;
        let columns = rows.columns.clone();
        self.send_columns(&columns, &[]);
        self.send_rows(&mut rows, &[], None).await?;
        self.session.complete(rows).await
    }
}
