//! A session without a server, for the tests of `ddl` and `dml`: statements over a memory store, each in a transaction
//! of its own unless one is held open.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::TryStreamExt;

use super::{Outcome, Statement, execute, parse};
use crate::catalog::{Access, Catalog, RelationName, TableDef};
use crate::scan::Rows;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, StoreOptions};
use crate::system::{Notices, Settings, StatementContext};
use crate::table::Sequences;
use crate::table::check::check_store;
use crate::txn::{Savepoint, Transaction, TransactionOptions};
use crate::types::value_at;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

const TXN_BYTES_MAX: usize = 64 << 20;

/// How often a statement begins anew that others came before.
const ATTEMPTS: usize = 20;

/// What an answer begins with that is an error.
pub(super) const FAILED: &str = "error ";

/// A client of one memory store.
pub(super) struct Client {
    pub(super) store: Arc<dyn Store>,
    pub(super) sequences: Arc<Sequences>,
    pub(super) settings: Settings,
    pub(super) notices: Arc<Notices>,
    /// The open transaction, between `begin` and `commit`.
    open: Option<Arc<Transaction>>,
}

impl Client {
    /// The database that its transactions are in.
    pub(super) fn database(&self) -> crate::txn::DatabaseStore {
        crate::txn::DatabaseStore {
            store: Arc::clone(&self.store),
            database: crate::catalog::FIRST_DATABASE,
        }
    }

    pub(super) fn new() -> Client {
        let engine = Arc::new(MemoryEngine::new());
        Client::on(Arc::new(
            MvccStore::open(engine, &StoreOptions::default(), None).unwrap(),
        ))
    }

    /// The first session of a server with this store.
    pub(super) fn on(store: Arc<dyn Store>) -> Client {
        Client {
            sequences: Arc::new(Sequences::new(Arc::clone(&store))),
            store,
            settings: settings(),
            notices: Arc::default(),
            open: None,
        }
    }

    /// Another session of the same server.
    pub(super) fn other(&self) -> Client {
        Client {
            store: Arc::clone(&self.store),
            sequences: Arc::clone(&self.sequences),
            settings: settings(),
            notices: Arc::default(),
            open: None,
        }
    }

    pub(super) async fn begin(&mut self) {
        self.open = Some(self.transaction().await);
    }

    /// As `begin`, with another limit of what the transaction may write.
    pub(super) async fn begin_with(&mut self, bytes_max: usize) {
        let txn = Transaction::begin(Arc::clone(&self.store), bytes_max).await;
        self.open = Some(Arc::new(txn.unwrap()));
    }

    pub(super) async fn commit(&mut self) -> Result<()> {
        self.open
            .take()
            .expect("a transaction is open")
            .commit(false)
            .await
    }

    /// As a session does at the end of each statement of a block.
    pub(super) async fn settle(&self) -> Result<()> {
        self.open.as_ref().expect("a transaction is open").settle().await
    }

    pub(super) fn rollback(&mut self) {
        self.open = None;
    }

    /// As `begin`, with what REPEATABLE READ or SERIALIZABLE begin with.
    pub(super) async fn begin_keeping(&mut self, is_serializable: bool) {
        let options = TransactionOptions {
            bytes_max: TXN_BYTES_MAX,
            keeps_snapshot: true,
            is_serializable,
            ..TransactionOptions::default()
        };
        let txn = Transaction::begin_with(Arc::clone(&self.store), options).await;
        self.open = Some(Arc::new(txn.unwrap()));
    }

    /// A mark of the open transaction, if one is.
    pub(super) fn savepoint(&self) -> Option<Savepoint> {
        self.open.as_ref().map(|txn| txn.savepoint())
    }

    /// Back to a mark of it.
    pub(super) fn rollback_to(&self, savepoint: Option<Savepoint>) {
        if let (Some(txn), Some(savepoint)) = (&self.open, savepoint) {
            txn.rollback_to(savepoint);
        }
    }

    /// What is wrong in the store.
    pub(super) async fn check(&self) -> Vec<String> {
        let report = check_store(&*self.store, &mut |_| ()).await.unwrap();
        let faults = report.faults.by_kind();
        faults
            .flat_map(|(_, _, kept)| kept.iter().map(|fault| format!("{fault:?}")).collect::<Vec<_>>())
            .collect()
    }

    async fn transaction(&self) -> Arc<Transaction> {
        Arc::new(
            Transaction::begin(Arc::clone(&self.store), TXN_BYTES_MAX)
                .await
                .unwrap(),
        )
    }

    pub(super) async fn context(&self, parameters: &[Value]) -> StatementContext {
        let txn = match &self.open {
            Some(txn) => Arc::clone(txn),
            None => self.transaction().await,
        };
        StatementContext {
            catalog: Catalog::load(&txn, None).await.unwrap(),
            txn,
            began: None,
            part_began: None,
            common_rows: Arc::default(),
            lookups: Arc::default(),
            in_block: self.open.is_some(),
            asks_deferred: self.open.is_some(),
            in_savepoint: false,
            jobs: Arc::default(),
            index_builds: Arc::default(),
            server: Arc::default(),
            session: crate::system::ServerState::default().begin_test_session(),
            text: Arc::default(),
            sequences: Arc::clone(&self.sequences),
            settings: Arc::new(self.settings.clone()),
            memory: self.settings.statement_memory(),
            parameters: parameters.into(),
            parameter_types: Arc::default(),
            parameters_are_constants: false,
            transaction_time_us: 1_700_000_000_000_000,
            statement_time_us: 1_700_000_000_000_000,
            hints: Default::default(),
            notices: Arc::clone(&self.notices),
            user: "keyspan".into(),
            session_user: "keyspan".into(),
            database: "keyspan".into(),
            process_id: 1,
            prepared: Arc::default(),
            cursors: Arc::default(),
            cursor_position: None,
            transaction_control: None,
            variables: None,
            place: None,
            calls: 0,
            in_stable_function: false,
            rows_wanted: None,
            trigger_depth: 0,
            call_routine: crate::sql::call_routine,
            compile_generated: crate::sql::compile_generated,
        }
    }

    /// Runs statements; answers the last one's tag and rows as text (`a|b`, NULL as nothing).
    pub(super) async fn run_with(&self, text: &str, parameters: &[Value]) -> Result<(String, Vec<String>)> {
        let mut last = (String::new(), Vec::new());
        for statement in parse(text)? {
            let hints = statement.parsed.hints.clone();
            let statement = statement.into();
            let mut attempts = 0;
            last = loop {
                let ctx = StatementContext {
                    hints: hints.clone(),
                    ..self.context(parameters).await
                };
                attempts += 1;
                match self.run_once(&ctx, &statement).await {
                    // What came between is over: outside a block it begins anew, as a session has it do.
                    Err(Error::Conflict { .. }) if self.open.is_none() && attempts < ATTEMPTS => {}
                    outcome => break outcome?,
                }
            };
        }
        Ok(last)
    }

    async fn run_once(
        &self,
        ctx: &StatementContext,
        statement: &Arc<Statement>,
    ) -> Result<(String, Vec<String>)> {
        let taken = taken(ctx, Box::pin(execute(ctx, statement)).await?).await?;
        if self.open.is_none() && ctx.txn.has_writes() {
            ctx.txn.commit(false).await?;
        }
        Ok(taken)
    }

    /// All that one statement, as it was read, answers: tag, columns and rows, or the error with what it tells besides.
    pub(super) async fn answer(&self, statement: &Statement) -> String {
        let ctx = StatementContext {
            hints: statement.parsed.hints.clone(),
            ..self.context(&[]).await
        };
        let statement = Arc::new(statement.clone());
        let executed = async {
            let outcome = Box::pin(execute(&ctx, &statement)).await?;
            let columns = match &outcome {
                Outcome::Rows { columns, .. } => columns.iter().map(|column| column.name.clone()).collect(),
                Outcome::Written(_) | Outcome::Done { .. } | Outcome::CopyOut { .. } | Outcome::CopyIn(_) => {
                    Vec::new()
                }
            };
            let (tag, rows) = taken(&ctx, outcome).await?;
            Ok(format!("{tag} {columns:?}\n{}", rows.join("\n")))
        };
        executed.await.unwrap_or_else(|error: Error| {
            format!(
                "{FAILED}{} {error} {:?} {:?}",
                error.sqlstate(),
                error.detail(),
                error.hint()
            )
        })
    }

    /// The tag of statements that must succeed.
    pub(super) async fn ok(&self, text: &str) -> String {
        self.run_with(text, &[])
            .await
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .0
    }

    /// The rows of a statement that must succeed.
    pub(super) async fn rows(&self, text: &str) -> Vec<String> {
        self.run_with(text, &[])
            .await
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .1
    }

    /// `SQLSTATE message` of a statement that must fail.
    pub(super) async fn fails(&self, text: &str) -> String {
        match self.run_with(text, &[]).await {
            Ok((tag, rows)) => panic!("{text}: {tag} {rows:?}"),
            Err(error) => format!("{} {error}", error.sqlstate()),
        }
    }

    /// DETAIL and HINT of a statement that must fail.
    pub(super) async fn detail_and_hint(&self, text: &str) -> (Option<String>, Option<String>) {
        let error = self.run_with(text, &[]).await.unwrap_err();
        (error.detail(), error.hint())
    }

    /// The messages of the NOTICEs since the last call.
    pub(super) fn notices(&self) -> Vec<String> {
        self.notices
            .take()
            .into_iter()
            .map(|notice| notice.message)
            .collect()
    }

    pub(super) async fn table(&self, name: &str) -> Arc<TableDef> {
        let catalog = self.context(&[]).await.catalog;
        Arc::clone(
            catalog
                .relation(RelationName::in_schema("public", name), Access::Name)
                .unwrap()
                .table()
                .unwrap(),
        )
    }
}

/// What a statement answers: its tag and its rows.
async fn taken(ctx: &StatementContext, outcome: Outcome) -> Result<(String, Vec<String>)> {
    Ok(match outcome {
        Outcome::Done { tag } => (tag, Vec::new()),
        Outcome::CopyOut { .. } | Outcome::CopyIn(_) => {
            return Err(Error::unsupported("COPY without a client", None));
        }
        Outcome::Written(result) => {
            let types: Vec<_> = result.columns.iter().map(|column| column.ty.clone()).collect();
            let lines = result.batches.iter().flat_map(|batch| lines(ctx, batch, &types));
            (result.tag.clone(), lines.collect())
        }
        Outcome::Rows { columns, stream } => {
            let types: Vec<_> = columns.iter().map(|column| column.ty.clone()).collect();
            let pieces: Vec<Rows> = stream.try_collect().await?;
            let batches: Vec<RecordBatch> =
                pieces.into_iter().map(Rows::into_batch).collect::<Result<_>>()?;
            let rows: Vec<_> = batches
                .iter()
                .flat_map(|batch| lines(ctx, batch, &types))
                .collect();
            (format!("SELECT {}", rows.len()), rows)
        }
    })
}

fn lines(ctx: &StatementContext, batch: &RecordBatch, types: &[SqlType]) -> Vec<String> {
    let settings = ctx.format_settings();
    (0..batch.num_rows())
        .map(|row| {
            let cells = batch.columns().iter().zip(types).map(|(array, ty)| {
                match value_at(array, row, ty).unwrap() {
                    Value::Null => String::new(),
                    value => value.to_text(&settings),
                }
            });
            cells.collect::<Vec<_>>().join("|")
        })
        .collect()
}

/// The settings of a session, which may have temporary relations.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.begin_session(1);
    settings
}
