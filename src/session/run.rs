//! Running one statement: on its own (begin, execute, commit) or in a block. Where it comes upon what others committed behind its
//! snapshot, and cannot go on with that alone (`operators::recheck`), it is undone and run again from a newer one, with its locks kept, so
//! that nobody comes between a second time; only what keeps its snapshot fails then (40001).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;

use super::statement_run::Run;
use super::transaction::Block;
use super::{Reply, RowStream, Session};
use crate::catalog::{Access, Catalog, RelationName};
use crate::parse::command::Command;
use crate::parse::names::relation_name;
use crate::parse::{StatementKind, count_expressions, is_quick_to_read, without_constants};
use crate::scan::OutputColumn;
use crate::sql::{self, Statement};
use crate::store::out_of_server_memory;
use crate::system::{
    DeferredMark, LoggedStatements, Notice, Parameters, Settings, SharedMark, StatementContext, now_us,
    query_threads,
};
use crate::txn::{Transaction, is_data};
use crate::{Error, Result};

/// What the tokens and the tree of a statement take for each of its expressions.
const TREE_BYTES: usize = 640;

impl Session {
    /// Splits and parses the text of a message. Errors: 42601 with a position; 53200; what stops the session.
    pub async fn parse(&mut self, text: &str) -> Result<Vec<Arc<Statement>>> {
        let parsed = match is_quick_to_read(text) {
            true => sql::parse(text)?,
            false => {
                let text = text.to_string();
                let account = self.settings().memory.account();
                if !account.take(text.len() + count_expressions(&text) * TREE_BYTES) {
                    return Err(out_of_server_memory());
                }
                let account = Arc::new(account);
                let parsing = query_threads::run(async move {
                    let parsed = sql::parse(&text)?.into_iter();
                    Ok(parsed.map(|statement| statement.held_in(&account)).collect())
                });
                let deadline = self.deadline();
                self.interrupt.guard(deadline, parsing).await?
            }
        };
        for name in parsed
            .iter()
            .flat_map(|statement| &statement.parsed.truncated_names)
        {
            self.raise(Notice::of_cut_name(&name.written, &name.name));
        }
        Ok(parsed.into_iter().map(Arc::new).collect())
    }

    /// Runs a statement. `described`: the columns that the client was told of, which the result must have.
    /// Errors: the statement's; 25P02 in a failed block; 57014 when it is cancelled or times out.
    pub async fn run(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters,
        described: Option<&[OutputColumn]>,
    ) -> Result<Reply> {
        let counted = self.begin_counted(statement, &parameters);
        let mut ran = self.run_at_hand(statement, parameters, described).await;
        if counted.is_some() {
            self.count_reply(counted, &mut ran);
        }
        self.remember_refusal(&statement.parsed.text, &ran);
        if let Ok(Reply::Done { .. }) = ran {
            self.stop_clock();
        }
        ran
    }

    /// What was told of the statement's text.
    fn raise_warnings(&self, statement: &Statement) {
        for warning in statement.parsed.warnings.iter() {
            let (message, hint) = (warning.message.clone(), warning.hint.clone());
            self.notify("WARNING", "01000", message, Some(hint));
        }
    }

    /// Errors: 25P01 for LOCK TABLE outside a block, 25006 for a write where none may be.
    async fn require_place(&mut self, statement: &Arc<Statement>) -> Result<()> {
        let command = statement.parsed.command.as_ref();
        if command.is_some_and(Command::only_locks) && self.transaction.has_no_block() {
            self.require_block("LOCK TABLE")?;
        }
        let Some(name) = statement.parsed.name_of_write() else {
            return Ok(());
        };
        let in_block = self.transaction.block != Block::None;
        if let Err(refused) = self.settings().require_writable(in_block, &name)
            && !self.writes_to_temporary(statement).await?
        {
            return Err(refused);
        }
        Ok(())
    }

    async fn run_at_hand(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters,
        described: Option<&[OutputColumn]>,
    ) -> Result<Reply> {
        // Many statements of one message may each be done at once.
        tokio::task::consume_budget().await;
        self.log_statement(statement);
        self.transaction.require_usable(statement)?;
        self.shared.runs(&statement.parsed.text);
        let own = statement.parsed.command.as_ref();
        if let Some(command) = own.filter(|command| !command.is_of_sql()) {
            self.raise_warnings(statement);
            let reply = Box::pin(self.run_command(command, &statement.parsed.text, parameters)).await;
            let reply = match command {
                // What others have under SHOW and SET may have another name here.
                Command::Show { .. } | Command::Set { .. } => {
                    reply.map_err(|error| statement.parsed.locate(error))?
                }
                _ => reply?,
            };
            self.end_statement();
            return Ok(reply);
        }
        self.require_place(statement).await?;
        let run = Run {
            statement,
            parameters,
            described,
            deadline: self.deadline_of(statement.parsed.hints.timeout_ms),
            cursor: None,
            position: self.position_of(statement)?,
        };
        let reply = match self.transaction.block {
            Block::None if statement.parsed.runs_code() => self.run_code(&run).boxed().await?,
            Block::Implicit if self.transaction.is_pipeline && statement.parsed.runs_code() => {
                self.run_code(&run).boxed().await?
            }
            Block::None => match self.read_point(&run).await? {
                Some(reply) => reply,
                None => self.run_alone(&run).await?,
            },
            Block::Implicit | Block::Explicit | Block::Failed => self.run_in_block(&run).await?,
        };
        if statement
            .parsed
            .kind
            .write()
            .is_some_and(|write| write.leaves_keys)
            || statement.parsed.runs_code()
        {
            self.dropped();
        }
        self.adopt_cursors();
        self.apply_settings_of(&reply)?;
        if let Reply::Done { .. } = reply {
            self.end_statement();
        }
        Ok(reply)
    }

    /// Whether rows of a temporary table are all that a statement writes: nobody else can tell.
    async fn writes_to_temporary(&mut self, statement: &Statement) -> Result<bool> {
        let Some(target) = statement
            .rows_written_to()
            .filter(|_| self.shared.has_had_temporary())
        else {
            return Ok(false);
        };
        let catalog = match self.transaction.block {
            Block::None => {
                let txn = self.instance.begin(self.transaction_options()).await?;
                self.instance.catalog(&txn, None).await?
            }
            _ => self.block_transaction().await?.1,
        };
        let (schema, name) = relation_name(target)?;
        let settings = self.settings();
        let name = RelationName {
            schema: schema.as_deref().map(|schema| settings.schema_meant(schema)),
            name: &name,
            search_path: &settings.search_path,
        };
        let found = catalog.get_relation(name, Access::Name)?;
        Ok(found.is_some_and(|found| *found.schema() == *settings.temporary_schema))
    }

    /// A statement outside a block is done and committed.
    pub(super) fn end_statement(&mut self) {
        if self.transaction.block == Block::None {
            self.settings.end(true);
            self.shared.end_transaction(true);
        }
    }

    /// Ends a result whose rows were all handed out: commits what a statement outside a block wrote; answers the tag.
    pub async fn complete(&mut self, mut rows: RowStream) -> Result<String> {
        let tag = rows.tag();
        self.stop_clock();
        self.count(rows.counted.take(), &tag);
        if let Some(mut portal) = rows.cursor.take() {
            let name = std::mem::take(&mut rows.cursor_name);
            portal.state = super::PortalState::Streaming(rows);
            self.portals.insert(name, *portal);
            self.adopt_cursors();
            return Ok(tag);
        }
        let txn = rows.txn.take();
        drop(rows);
        Box::pin(self.commit_alone(txn)).await?;
        self.end_statement();
        Ok(tag)
    }

    /// Commits what a statement outside a block wrote while its rows were read.
    pub(super) async fn commit_alone(&mut self, txn: Option<Arc<Transaction>>) -> Result<()> {
        if self.transaction.block == Block::None {
            if let Some(txn) = txn.as_ref().filter(|_| self.shared.deferred.has_open()) {
                // What it has left of constraints is asked as at the end of any other.
                self.adopt(txn);
                self.commit_transaction().await?;
                return self.apply_requested_settings();
            }
            if let Some(txn) = &txn {
                self.settle_temporary(txn).await?;
            }
            self.before_commit()?;
        }
        if let Some(txn) = txn {
            txn.commit(!self.settings().synchronous_commit).await?;
        }
        self.apply_requested_settings()
    }

    /// Logs a statement that begins, if log_statement asks for it.
    fn log_statement(&self, statement: &Statement) {
        let write = statement.parsed.kind.write();
        let is_wanted = match self.settings().log_statement {
            LoggedStatements::None => false,
            LoggedStatements::Definitions => write.is_some_and(|write| write.is_definition()),
            LoggedStatements::Writes => write.is_some(),
            LoggedStatements::All => true,
        };
        if is_wanted {
            let (process_id, text) = (self.process_id, without_constants(&statement.parsed.text));
            tracing::info!(process_id, "statement: {text}");
        }
    }

    /// When the statement at hand times out: its time counts from the first message that is about it, so that reading,
    /// describing and running it have one limit together.
    pub fn deadline(&mut self) -> Option<Instant> {
        self.deadline_of(None)
    }

    /// The same for one that says itself how long it may take.
    pub fn deadline_of(&mut self, own_ms: Option<u64>) -> Option<Instant> {
        let begun = *self.statement_begun.get_or_insert_with(Instant::now);
        let timeout_ms = own_ms.unwrap_or(self.settings().statement_timeout_ms);
        (timeout_ms > 0).then(|| begun + Duration::from_millis(timeout_ms))
    }

    /// A result waits for the client to ask for more of it: its time does not run meanwhile.
    pub fn suspend(&mut self) {
        self.stop_clock();
    }

    /// The statement at hand has ended: the time of the next begins anew.
    pub(super) fn stop_clock(&mut self) {
        self.statement_begun = None;
    }

    /// What a run runs in. The rows of a query that come later, when the block has written more, are those of its beginning.
    pub(super) fn context_of(
        &self,
        run: &Run<'_>,
        txn: &Arc<Transaction>,
        catalog: Arc<Catalog>,
    ) -> StatementContext {
        let parsed = &run.statement.parsed;
        // Others of its transaction write before its last row: those behind it, or those of functions.
        let may_be_passed = self.transaction.block != Block::None || !catalog.routines.is_empty();
        let txn = match may_be_passed && parsed.command.is_none() && parsed.kind == StatementKind::Read {
            true => Arc::new(txn.as_it_is()),
            false => Arc::clone(txn),
        };
        StatementContext {
            cursor_position: run.position.clone(),
            ..self.context(txn, catalog, run.statement, run.parameters.clone())
        }
    }

    /// What a statement runs in.
    pub(super) fn context(
        &self,
        txn: Arc<Transaction>,
        catalog: Arc<Catalog>,
        statement: &Statement,
        parameters: Parameters,
    ) -> StatementContext {
        let in_transaction = self.transaction.block != Block::None;
        let (transaction_time_us, statement_time_us) = match in_transaction {
            true => (self.transaction.started_us, self.shared.message_us()),
            false => {
                let now_us = now_us();
                (now_us, now_us)
            }
        };
        StatementContext {
            txn,
            began: None,
            part_began: None,
            common_rows: Arc::default(),
            catalog,
            lookups: Arc::default(),
            in_block: in_transaction,
            asks_deferred: in_transaction || statement.parsed.command.is_none(),
            in_savepoint: self.transaction.is_in_savepoint(),
            jobs: Arc::default(),
            index_builds: Arc::clone(self.instance.index_builds()),
            session: Arc::clone(&self.shared),
            server: Arc::clone(self.instance.state()),
            text: Arc::clone(&statement.parsed.text),
            sequences: self.instance.sequences().clone(),
            settings: self.settings().clone(),
            memory: self.settings().statement_memory(),
            parameters: parameters.values,
            parameter_types: parameters.types,
            parameters_are_constants: parameters.constants.is_some(),
            transaction_time_us,
            statement_time_us,
            hints: statement.parsed.hints.clone(),
            notices: self.notices.clone(),
            user: Arc::clone(self.current_user()),
            session_user: Arc::clone(self.session_user()),
            database: self.database.clone(),
            process_id: self.process_id,
            prepared: Arc::clone(&self.prepared),
            cursors: self.cursor_rows(),
            cursor_position: None,
            variables: None,
            transaction_control: None,
            place: None,
            calls: 0,
            in_stable_function: false,
            rows_wanted: None,
            trigger_depth: 0,
            call_routine: crate::sql::call_routine,
            compile_generated: crate::sql::compile_generated,
        }
    }

    /// Outside a block: a transaction of its own. Run again where it came upon what was committed behind its snapshot, and once when
    /// others wrote so much while it waited that its snapshot was given up.
    pub(super) async fn run_alone(&mut self, run: &Run<'_>) -> Result<Reply> {
        let mut attempts = Attempts::of(self);
        let (instance, interrupt) = (self.instance.clone(), self.interrupt.clone());
        let options = self.transaction_options();
        let begin = instance.begin(options.clone());
        let mut txn = interrupt.guard(run.deadline, begin).await?;
        let origin = txn.savepoint();
        loop {
            let error = match self.attempt(run, &txn).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let is_again = !ends_alone(&txn, &error) && attempts.may_begin_again(self, &error);
            // What it has left to be asked is undone with it.
            self.shared.deferred.roll_back_to(DeferredMark::default());
            match is_again && !txn.is_over() {
                true => txn.undo_to(origin),
                // A statement that commits on its way has nothing to keep.
                false => txn.roll_back(),
            }
            if !is_again {
                return Err(error);
            }
            let begin = async {
                match txn.is_over() {
                    true => instance.begin(options.clone()).await,
                    false => txn.again().await.map(Arc::new),
                }
            };
            txn = interrupt.guard(run.deadline, begin).await?;
        }
    }

    async fn attempt(&mut self, run: &Run<'_>, txn: &Arc<Transaction>) -> Result<Reply> {
        let (instance, interrupt) = (self.instance.clone(), self.interrupt.clone());
        txn.set_lock_policy(self.settings().lock_policy());
        let catalog = interrupt.guard(run.deadline, instance.catalog(txn, None)).await?;
        let ctx = self.context_of(run, txn, Arc::clone(&catalog));
        let outcome = {
            // Pinned here, for a future that is handed over stands twice in the one that takes it.
            let executed = pin!(run.execute(&ctx));
            interrupt.guard(run.deadline, executed).await
        };
        // What a definition that failed or was cancelled had done is undone before the client hears of it.
        if outcome.is_err() && ctx.jobs.ended().await {
            self.instance.wake_reclaim();
        }
        let outcome = outcome.map_err(|error| ctx.jobs.with_done(error))?;
        let streams = outcome.streams();
        let mut reply = run.reply(outcome, &ctx.memory)?;
        match &mut reply {
            Reply::Rows(rows) if streams => rows.txn = Some(txn.clone()),
            Reply::CopyTo(copy) => copy.rows.txn = Some(txn.clone()),
            Reply::CopyFrom(copy) => copy.txn = Some(txn.clone()),
            _ if txn.has_writes() => {
                txn.note_statement(run.statement.parsed.kind.frees_space());
                if self.shared.deferred.has_open() {
                    // What its triggers have done is done.
                    let now = Arc::new(txn.next_statement().await?);
                    let ctx = self.context_of(run, &now, catalog);
                    let asked = Box::pin(crate::sql::check_deferred(&ctx, |_| true));
                    interrupt.guard(run.deadline, asked).await?;
                }
                self.settle_temporary(txn).await?;
                self.before_commit()?;
                // Whoever stops it now is still in time.
                interrupt.guard(run.deadline, txn.settle()).await?;
                // Not under the guard: once it is on its way a commit ends as it ends.
                txn.commit(!self.settings().synchronous_commit).await?;
            }
            _ => txn.roll_back(),
        }
        Ok(reply)
    }

    /// In a block: in the block's transaction, atomic in itself.
    pub(super) async fn run_in_block(&mut self, run: &Run<'_>) -> Result<Reply> {
        let mut attempts = Attempts::of(self);
        loop {
            let interrupt = self.interrupt.clone();
            let (txn, catalog) = interrupt.guard(run.deadline, self.block_transaction()).await?;
            let own = run.statement.parsed.command.as_ref();
            let keeps_snapshot = txn.keeps_snapshot() && !self.transaction.may_move_snapshot();
            if !own.is_some_and(Command::only_locks) {
                self.note_query(true);
            }
            let before = txn.savepoint();
            let ctx = self.context_of(run, &txn, catalog);
            let error = match self.attempt_in_block(run, &ctx).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            // What was dropped may still be writing.
            ctx.jobs.ended().await;
            let ends = keeps_snapshot || ends_alone(&txn, &error);
            if ends || !attempts.may_begin_again(self, &error) {
                txn.rollback_to(before);
                return Err(error);
            }
            txn.undo_to(before);
            if txn.keeps_snapshot() {
                self.note_query(false);
            }
            // A catalog that was changed and changed back may bear a version that comes again.
            self.forget_catalog();
        }
    }

    async fn attempt_in_block(&mut self, run: &Run<'_>, ctx: &StatementContext) -> Result<Reply> {
        let (txn, interrupt) = (&ctx.txn, self.interrupt.clone());
        let progress = txn.progress();
        let executed = async {
            let outcome = run.execute(ctx).await.map_err(|error| match error.bare() {
                // What was read of the key is as old as everything else.
                Error::UniqueViolation { .. } => txn.require_unread().err().unwrap_or(error),
                _ => error,
            })?;
            txn.settle().await?;
            if txn.may_be_refused() {
                // It could not commit any more: better now than then.
                txn.require_unread()?;
            }
            Ok(outcome)
        };
        let outcome = interrupt.guard(run.deadline, executed).await?;
        let reply = run.reply(outcome, &ctx.memory)?;
        if txn.progress() > progress {
            txn.note_statement(run.statement.parsed.kind.frees_space());
        }
        Ok(reply)
    }

    /// Applies what a statement has asked for so far. Its rows may still fail, and what it has set then does not count.
    fn apply_settings_of(&mut self, reply: &Reply) -> Result<()> {
        if self.transaction.block == Block::None && !matches!(reply, Reply::Done { .. }) {
            self.settings.begin();
        }
        self.apply_requested_settings()
    }

    /// Applies what `set_config` asked for while the statement ran.
    pub(super) fn apply_requested_settings(&mut self) -> Result<()> {
        for change in self.settings().take_requested() {
            if change.local && self.transaction.block == Block::None {
                // It ends with the statement, which is over; but for what is wrong with it, and for a name of the client's own.
                let mut ended = Settings::clone(self.settings());
                change.apply(&mut ended)?;
                if ended.has_more_names(self.settings()) {
                    self.change_settings(false, |settings| {
                        settings.keep_names(&ended);
                        Ok(())
                    })?;
                }
                continue;
            }
            self.change_settings(change.local, |settings| change.apply(settings))?;
            self.tell_of_cut(&change.name, change.values.as_deref());
            self.tell_without_effect(&change.name);
        }
        Ok(())
    }
}

/// Whether a statement outside a block, or the first of one, fails with this as any in a block would: it keeps its snapshot, in which a row is
/// not as it is now. Where a definition came between, or what it only read was written, it may begin again: nobody has seen anything of it.
pub(super) fn ends_alone(txn: &Transaction, error: &Error) -> bool {
    match error.bare() {
        Error::Conflict { key } => txn.keeps_snapshot() && is_data(key),
        _ => false,
    }
}

/// What was in the session before a statement ran.
#[derive(Debug, Clone, Copy)]
pub struct RunMark {
    notices: usize,
    shared: SharedMark,
}

impl Session {
    /// What is in the session before a statement runs.
    pub fn mark_run(&self) -> RunMark {
        RunMark {
            notices: self.notices.count(),
            shared: self.shared.mark(),
        }
    }

    /// Whether the client was told of something that a statement has raised since.
    pub fn has_told_since(&self, mark: RunMark) -> bool {
        self.notices.were_taken_behind(mark.notices)
    }

    /// Takes back what a failed statement left in the session, for the next is the same in another form.
    pub fn take_back(&self, mark: RunMark) {
        self.forget_since(mark);
        self.shared.sequences.repeat();
    }

    fn forget_since(&self, mark: RunMark) {
        self.notices.forget_behind(mark.notices);
        self.settings().take_requested();
        self.shared.roll_back_to(mark.shared);
    }
}

/// The runs of one statement: what the earlier ones left in the session is taken back before the next.
pub(super) struct Attempts {
    before: RunMark,
    was_too_old: bool,
}

impl Attempts {
    pub(super) fn of(session: &Session) -> Attempts {
        session.shared.sequences.begin_statement();
        Attempts {
            before: session.mark_run(),
            was_too_old: false,
        }
    }

    /// Whether the statement that failed so begins anew; if it does, it has left nothing in the session.
    pub(super) fn may_begin_again(&mut self, session: &Session, error: &Error) -> bool {
        // A function that came upon it has said where.
        let is_again = match error.bare() {
            Error::Conflict { .. } | Error::ReadConflict => true,
            Error::SnapshotTooOld => !std::mem::replace(&mut self.was_too_old, true),
            _ => false,
        };
        if is_again {
            session.forget_since(self.before);
            session.shared.sequences.begin_again();
        }
        is_again
    }
}
