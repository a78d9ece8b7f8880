//! One client's state: transaction, prepared statements, portals, settings. Called by `wire`, which turns messages into
//! calls and answers into messages; knows nothing of the protocol's messages or of sockets.
//!
//! How `wire` uses it: `parse` the text, then for each statement `run` it and hand out what the `RowStream` gives, then
//! `complete` it. Whatever fails, `fail` is called once for each error that is reported. Several statements of one
//! message, or of one pipeline, stand between `open_implicit` and `close_implicit` and are one transaction.

mod code_run;
mod command;
mod copy;
mod counted_run;
mod cursors;
mod databases;
mod execute;
mod imported_snapshot;
mod instance;
mod modes;
mod point_read;
mod prepared;
mod prepared_statement;
mod refusal;
#[cfg(test)]
mod region_tests;
mod regions;
mod removal;
mod rows;
mod run;
mod settings;
mod statement_run;
mod temporary;
mod text_cache;
mod transaction;
mod trash;
mod version_removal;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;

use crate::Result;
use crate::catalog::{Access, RelationName};
pub use crate::system::interrupt::{Cause, Interrupt};
use crate::system::{
    ActivityState, Notice, Notices, PreparedList, SessionLimits, SessionOwner, SessionState, SettingSource,
    Settings, TcpEnds,
};
use crate::txn::{CommitDependency, DurabilityBarrier};
use crate::types::FormatSettings;
pub use copy::{CopyFrom, CopyTo};
pub use databases::Databases;
pub use instance::Instance;
pub use prepared::text_parameter;
pub use prepared_statement::PreparedStatement;
use prepared_statement::PreparedStatements;
pub use rows::{Portal, PortalState, RowStream};
use settings::SessionSettings;
use text_cache::TextCache;
pub use transaction::TransactionStatus;
use transaction::{Block, TransactionState};

/// One client's state.
#[derive(Debug)]
pub struct Session {
    instance: Arc<Instance>,
    user: Arc<str>,
    database: Arc<str>,
    process_id: i32,
    /// What others see of it.
    shared: Arc<SessionState>,
    interrupt: Arc<Interrupt>,
    settings: SessionSettings,
    transaction: TransactionState,
    statements: PreparedStatements,
    /// What the catalog tells of `statements`.
    prepared: Arc<PreparedList>,
    known_texts: TextCache,
    portals: HashMap<String, Portal>,
    /// What it has read rests on.
    dependency: CommitDependency,
    /// Settings without effect that the client was told of.
    told_without_effect: HashSet<&'static str>,
    /// When the first message came that is about the statement at hand; `None` between statements.
    statement_begun: Option<Instant>,
    /// Counts portals, to know which are younger than a savepoint.
    portals_made: u64,
    notices: Arc<Notices>,
    /// The statement at hand, if it was refused.
    refusal: Option<refusal::Refusal>,
}

/// Who a session belongs to.
#[derive(Debug, Clone)]
pub struct Identity {
    /// `current_user`.
    pub user: String,
    /// `current_database()`.
    pub database: String,
    /// `pg_backend_pid()`.
    pub process_id: i32,
    /// Where its client is.
    pub client: Option<TcpEnds>,
}

/// What running a statement gives.
#[derive(Debug)]
pub enum Reply {
    /// Rows to hand out, then `Session::complete`.
    Rows(RowStream),
    /// A COPY that takes the client's data, then `Session::complete_copy`.
    CopyFrom(CopyFrom),
    /// Rows to hand out as data, then `Session::complete`.
    CopyTo(Box<CopyTo>),
    /// Done; the command tag.
    Done {
        /// `INSERT 0 1`, `BEGIN` …
        tag: String,
    },
}

impl Session {
    /// A new session. `options`: settings that the client gave at start-up; RESET goes back to them. `limits`: how many its
    /// database and its role may have. Errors: as `Settings::set`; 53300; 3D000 for a database that was dropped meanwhile; the store's.
    pub async fn new(
        instance: Arc<Instance>,
        identity: Identity,
        options: &[(String, String)],
        limits: SessionLimits,
    ) -> Result<Session> {
        let mut settings = (**instance.settings()).clone();
        // Each session collects the changes that its own statements ask for.
        settings.detach();
        settings.begin_session(identity.process_id);
        settings.set_internal("session_authorization", &identity.user)?;
        let unusable = instance.begin_with(&mut settings, &identity.user).await?;
        for (name, value) in options {
            settings.set_from(SettingSource::Client, name, std::slice::from_ref(value))?;
        }
        settings.keep_as_reset();
        let (user, database): (Arc<str>, Arc<str>) = (identity.user.into(), identity.database.into());
        let owner = SessionOwner {
            user: Arc::clone(&user),
            database: Arc::clone(&database),
            database_id: instance.database(),
        };
        let shared = instance
            .state()
            .begin_session(owner, identity.process_id, identity.client, limits)?;
        let mut session = Session {
            instance,
            user,
            database,
            process_id: identity.process_id,
            interrupt: Arc::clone(&shared.interrupt),
            shared,
            settings: SessionSettings::new(Arc::new(settings)),
            transaction: TransactionState::default(),
            statements: PreparedStatements::default(),
            prepared: Arc::default(),
            known_texts: TextCache::default(),
            portals: HashMap::new(),
            dependency: CommitDependency::default(),
            told_without_effect: HashSet::new(),
            statement_begun: None,
            portals_made: 0,
            notices: Arc::default(),
            refusal: None,
        };
        for error in unusable {
            session.warn(error.sqlstate(), &error.to_string());
        }
        for (name, value) in options {
            session.tell_of_cut(name, Some(std::slice::from_ref(value)));
        }
        if options.iter().any(|(name, _)| name.eq_ignore_ascii_case("role")) {
            session.require_own_role().await?;
        }
        Ok(session)
    }

    /// A message comes that runs statements: what they tell as their time.
    pub fn takes_message(&self) {
        self.shared.takes_message();
    }

    /// `pg_backend_pid()`.
    pub fn process_id(&self) -> i32 {
        self.process_id
    }

    /// Whether a table or view of this name can be seen. Errors: the store's.
    pub async fn has_relation(&mut self, name: &str) -> Result<bool> {
        let txn = self.instance.begin(self.instance.transaction_options()).await?;
        let catalog = self.instance.catalog(&txn, None).await?;
        let name = RelationName::searched(name, &self.settings().search_path);
        Ok(catalog.get_relation(name, Access::Name)?.is_some())
    }

    /// What the client is told of has to pass here.
    pub fn durability_barrier(&self) -> DurabilityBarrier {
        DurabilityBarrier::new(Arc::clone(self.instance.store()), self.dependency.clone())
    }

    /// `session_user`: who the session is, the client's user as long as nobody has set another.
    pub fn session_user(&self) -> &Arc<str> {
        &self.settings().session_user
    }

    /// `current_user`: who its statements run as.
    pub fn current_user(&self) -> &Arc<str> {
        let settings = self.settings();
        settings.role.as_ref().unwrap_or(&settings.session_user)
    }

    /// What others see of the session.
    pub fn shared(&self) -> &Arc<SessionState> {
        &self.shared
    }

    /// It waits for its client.
    pub fn idles(&self) {
        self.shared.idles(match self.status() {
            TransactionStatus::Idle => ActivityState::Idle,
            TransactionStatus::InBlock => ActivityState::IdleInTransaction,
            TransactionStatus::Failed => ActivityState::IdleInFailed,
        });
    }

    /// How to stop what the session runs.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The settings that count now.
    pub fn settings(&self) -> &Arc<Settings> {
        self.settings.current()
    }

    /// How values are read and written now. In a block `now` is when that began.
    pub fn format(&self) -> FormatSettings {
        let in_block = self.transaction.block != Block::None;
        FormatSettings {
            now_us: in_block.then_some(self.transaction.started_us),
            ..self.settings().format()
        }
    }

    /// What its statements tell the client beside their results.
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    fn notify(&self, severity: &'static str, sqlstate: &str, message: String, hint: Option<String>) {
        let notice = Notice {
            severity,
            sqlstate: sqlstate.to_string().into(),
            detail: None,
            message,
            hint,
            context: None,
        };
        self.raise(notice);
    }

    fn raise(&self, notice: Notice) {
        let is_wanted = self.settings().wants(notice.severity);
        self.notices.raise(notice, is_wanted);
    }

    fn warn(&self, sqlstate: &str, message: &str) {
        self.notify("WARNING", sqlstate, message.to_string(), None);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What the transaction holds must be free before others take what the session leaves.
        self.transaction = TransactionState::default();
        self.instance.state().end_session(&self.shared);
        if self.shared.has_had_temporary() {
            self.instance.leave_temporary(self.process_id);
        }
    }
}
