//! A session's transaction: none, implicit (several statements of one message or pipeline), a block between BEGIN and
//! COMMIT, or a failed block; savepoints.
//!
//! - A block's transaction begins with its first statement, not with BEGIN. At READ COMMITTED each statement takes a snapshot; a
//!   higher level keeps the first.
//! - A failed block keeps its transaction only when there is a savepoint to roll back to.
//! - Portals end with the transaction, and with the savepoint they are younger than; cursors WITH HOLD that it committed
//!   stay.

use std::sync::Arc;

use super::settings::SettingsMark;
use super::statement_run::Run;
use super::{Portal, Session};
use crate::catalog::Catalog;
use crate::parse::command::{Command, Modes};
use crate::sql::Statement;
use crate::system::settings::{Isolation, Settings};
use crate::system::{Parameters, SharedMark};
use crate::txn::{Savepoint, SharedSnapshot, Transaction, TransactionOptions};
use crate::{Error, Result};

/// What ReadyForQuery tells of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside a block.
    Idle,
    /// In a block.
    InBlock,
    /// In a failed block.
    Failed,
}

/// Where a session stands.
#[derive(Debug, Default)]
pub(super) struct TransactionState {
    pub(super) block: Block,
    pub(super) active: Option<Active>,
    savepoints: Vec<NamedSavepoint>,
    /// When the transaction began, in microseconds since 1970-01-01 UTC.
    pub(super) started_us: i64,
    modes: Modes,
    /// What it begins at; `None`: the newest snapshot.
    pub(super) snapshot: Option<SharedSnapshot>,
    /// Something was dropped, whose keys are to be removed after the commit.
    drops: bool,
    /// Of an implicit block: it is a pipeline's, and the bodies of procedures may end it.
    pub(super) is_pipeline: bool,
    /// Of a failed block: the portals that it had, which are no more.
    pub(super) lost_portals: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// Every statement is a transaction of its own.
    #[default]
    None,
    /// Several statements of one message or pipeline.
    Implicit,
    /// After BEGIN.
    Explicit,
    /// After an error in a block.
    Failed,
}

impl TransactionState {
    /// Whether there is a savepoint.
    pub(super) fn is_in_savepoint(&self) -> bool {
        !self.savepoints.is_empty()
    }

    /// Whether a statement that is a transaction of its own would not be one: in a block, among others of one message, or behind others of a
    /// pipeline.
    pub(super) fn is_within(&self) -> bool {
        match self.block {
            Block::None => false,
            Block::Implicit => !self.is_pipeline || self.active.is_some(),
            Block::Explicit | Block::Failed => true,
        }
    }

    /// Whether no block stands around a statement, nor the others of its message: it is on its own, or one of a pipeline.
    pub(super) fn has_no_block(&self) -> bool {
        match self.block {
            Block::None => true,
            Block::Implicit => self.is_pipeline,
            Block::Explicit | Block::Failed => false,
        }
    }

    /// Whether nothing has been read that its snapshot must keep to.
    pub(super) fn may_move_snapshot(&self) -> bool {
        self.snapshot.is_none() && self.active.as_ref().is_none_or(|active| !active.is_queried)
    }

    /// Errors: 25P02 in a failed block for anything but its end.
    pub(super) fn require_usable(&self, statement: &Statement) -> Result<()> {
        match self.block == Block::Failed && !ends_failed_block(statement) {
            true => Err(Error::FailedTransaction),
            false => Ok(()),
        }
    }

    /// Whether a failed block had a portal of this name.
    pub(super) fn has_lost(&self, portal: &str) -> bool {
        self.block == Block::Failed && self.lost_portals.iter().any(|lost| lost == portal)
    }

    /// Errors: 25P02 in a failed block.
    pub(super) fn require_well(&self) -> Result<()> {
        match self.block {
            Block::Failed => Err(Error::FailedTransaction),
            Block::None | Block::Implicit | Block::Explicit => Ok(()),
        }
    }

    /// In a transaction that has begun, or behind a savepoint. Errors: 25001 for a mode that differs and has been in use. The level is what the transaction has begun with, be it by LOCK TABLE.
    fn require_modes(&self, old: &Settings, new: &Settings) -> Result<()> {
        let has_begun = self.active.is_some() || self.snapshot.is_some();
        let is_within = self.is_in_savepoint();
        let is_fixed = is_within || self.active.as_ref().is_some_and(|active| active.is_queried);
        let deferrable = |settings: &Settings| settings.get("transaction_deferrable");
        let message = if new.isolation != old.isolation {
            match has_begun {
                true => "SET TRANSACTION ISOLATION LEVEL must be called before any query",
                false => "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
            }
        } else if is_fixed && old.transaction_read_only && !new.transaction_read_only {
            match is_within {
                true => "cannot set transaction read-write mode inside a read-only transaction",
                false => "transaction read-write mode must be set before any query",
            }
        } else if is_fixed && deferrable(new) != deferrable(old) {
            match is_within {
                true => "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction",
                false => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
            }
        } else {
            return Ok(());
        };
        let (state, message) = ("25001", message.to_string());
        Err(Error::TransactionState { state, message })
    }
}

/// Whether a statement may run in a failed block: COMMIT, ROLLBACK, ROLLBACK TO.
fn ends_failed_block(statement: &Statement) -> bool {
    matches!(
        statement.parsed.command,
        Some(Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo { .. })
    )
}

/// A transaction whose snapshot is taken.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) txn: Arc<Transaction>,
    /// Before its first write.
    origin: Savepoint,
    /// As its last statement saw it.
    catalog: Option<Arc<Catalog>>,
    /// Something was read: a transaction that keeps its snapshot keeps this one.
    is_queried: bool,
}

#[derive(Debug)]
struct NamedSavepoint {
    name: String,
    /// `None`: before the snapshot was taken.
    mark: Option<Savepoint>,
    settings: SettingsMark,
    shared: SharedMark,
    portals_made: u64,
}

impl Session {
    /// What ReadyForQuery tells.
    pub fn status(&self) -> TransactionStatus {
        match self.transaction.block {
            Block::None | Block::Implicit => TransactionStatus::Idle,
            Block::Explicit => TransactionStatus::InBlock,
            Block::Failed => TransactionStatus::Failed,
        }
    }

    /// The statements from here to `close_implicit` are one transaction, unless they stand in a block.
    pub fn open_implicit(&mut self) {
        if self.transaction.block == Block::None {
            self.open(Block::Implicit, Modes::default());
        }
    }

    /// Commits what `open_implicit` began, if it was not ended by the statements themselves. Errors: as a commit's.
    pub async fn close_implicit(&mut self) -> Result<()> {
        self.stop_clock();
        match self.transaction.block {
            Block::Implicit => self.commit_transaction().await,
            Block::None => {
                self.end_portals(true);
                self.settings.end(true);
                self.shared.end_transaction(true);
                Ok(())
            }
            Block::Explicit | Block::Failed => Ok(()),
        }
    }

    /// An error was reported: a block has failed, any other transaction is rolled back.
    pub fn fail(&mut self) {
        self.note_refusal();
        self.settings.current().take_requested();
        self.stop_clock();
        match self.transaction.block {
            Block::None | Block::Implicit => self.rollback_transaction(),
            Block::Explicit => {
                self.transaction.block = Block::Failed;
                let active = self.transaction.active.as_ref();
                // Others need not wait until the client has noticed.
                let (kept, shared) = match self.transaction.savepoints.last() {
                    Some(savepoint) => {
                        if let Some(active) = active {
                            active.txn.rollback_to(savepoint.mark.unwrap_or(active.origin));
                        }
                        (savepoint.portals_made, savepoint.shared)
                    }
                    None => {
                        if let Some(active) = self.transaction.active.take() {
                            active.txn.roll_back();
                        }
                        (0, SharedMark::default())
                    }
                };
                self.shared.roll_back_to(shared);
                let stays = |portal: &Portal| portal.number < kept || portal.is_held();
                let lost = self.portals.extract_if(|_, portal| !stays(portal));
                self.transaction.lost_portals = lost.map(|(name, _)| name).collect();
                self.align_cursors();
            }
            Block::Failed => {}
        }
    }

    /// BEGIN.
    pub(super) fn begin(&mut self, modes: &Modes) -> Result<()> {
        match self.transaction.block {
            Block::None => self.open(Block::Explicit, modes.clone()),
            Block::Implicit => {
                // With modes that come too late none begins, and what was one transaction so far is undone.
                self.apply_modes(modes, true)?;
                self.transaction.block = Block::Explicit;
                self.transaction.modes = modes.clone();
                return Ok(());
            }
            Block::Explicit | Block::Failed => {
                self.warn("25001", "there is already a transaction in progress");
                return self.apply_modes(modes, false);
            }
        }
        self.apply_modes(modes, true)
    }

    /// COMMIT; answers the command tag, which is ROLLBACK for a failed block.
    pub(super) async fn commit(&mut self, chain: bool) -> Result<&'static str> {
        let modes = self.chained_modes("COMMIT", chain)?;
        let tag = match self.transaction.block {
            Block::None => {
                self.warn("25P01", "there is no transaction in progress");
                "COMMIT"
            }
            Block::Implicit => {
                self.warn("25P01", "there is no transaction in progress");
                self.commit_transaction().await?;
                "COMMIT"
            }
            Block::Explicit => {
                self.commit_transaction().await?;
                "COMMIT"
            }
            Block::Failed => {
                self.rollback_transaction();
                "ROLLBACK"
            }
        };
        if let Some(modes) = modes {
            self.begin(&modes)?;
        }
        Ok(tag)
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self, chain: bool) -> Result<()> {
        let modes = self.chained_modes("ROLLBACK", chain)?;
        if matches!(self.transaction.block, Block::None | Block::Implicit) {
            self.warn("25P01", "there is no transaction in progress");
        }
        self.rollback_transaction();
        match modes {
            Some(modes) => self.begin(&modes),
            None => Ok(()),
        }
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: String) -> Result<()> {
        self.require_block("SAVEPOINT")?;
        let savepoint = NamedSavepoint {
            name,
            mark: self
                .transaction
                .active
                .as_ref()
                .map(|active| active.txn.savepoint()),
            settings: self.settings.mark(),
            shared: self.shared.mark(),
            portals_made: self.portals_made,
        };
        self.transaction.savepoints.push(savepoint);
        Ok(())
    }

    /// RELEASE.
    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        self.require_block("RELEASE SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        if let Some(released) = self.transaction.savepoints.drain(at..).next() {
            self.settings.restore_access(&released.settings)?;
        }
        Ok(())
    }

    /// ROLLBACK TO: the savepoint stays, and a failed block is well again.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.require_block("ROLLBACK TO SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(at + 1);
        let savepoint = &self.transaction.savepoints[at];
        if let Some(active) = &self.transaction.active {
            active.txn.rollback_to(savepoint.mark.unwrap_or(active.origin));
        }
        // A catalog that was changed and changed back may bear a version that comes again.
        self.forget_catalog();
        let savepoint = &self.transaction.savepoints[at];
        self.settings.restore(&savepoint.settings);
        self.shared.roll_back_to(savepoint.shared);
        let portals_made = savepoint.portals_made;
        self.portals.retain(|_, portal| portal.number < portals_made);
        self.align_cursors();
        self.transaction.block = Block::Explicit;
        Ok(())
    }

    /// Changes settings; `local`: until the transaction ends. Errors: those of `change`; 25001 for a mode of the transaction that cannot
    /// change any more.
    pub(super) fn change_settings(
        &mut self,
        local: bool,
        change: impl Fn(&mut Settings) -> Result<()>,
    ) -> Result<()> {
        let has_begun = self.transaction.active.is_some() || self.transaction.snapshot.is_some();
        if has_begun || self.transaction.is_in_savepoint() {
            let mut changed = Settings::clone(self.settings());
            change(&mut changed)?;
            self.transaction.require_modes(self.settings(), &changed)?;
        }
        self.settings.change(local, change)
    }

    /// The transaction of an implicit or explicit block, begun by its first statement, and the catalog as it sees it.
    pub(super) async fn block_transaction(&mut self) -> Result<(Arc<Transaction>, Arc<Catalog>)> {
        let txn = match &self.transaction.active {
            Some(active) if active.is_queried || self.transaction.snapshot.is_some() => {
                Arc::new(active.txn.next_statement().await?)
            }
            Some(active) => Arc::new(active.txn.again().await?),
            None => {
                let options = self.transaction_options();
                self.instance.begin(options).await?
            }
        };
        txn.set_lock_policy(self.settings().lock_policy());
        let active = self.transaction.active.get_or_insert_with(|| Active {
            txn: Arc::clone(&txn),
            origin: txn.savepoint(),
            catalog: None,
            is_queried: false,
        });
        active.txn = Arc::clone(&txn);
        let catalog = self.instance.catalog(&txn, active.catalog.clone()).await?;
        active.catalog = Some(catalog.clone());
        Ok((txn, catalog))
    }

    /// The transaction waits for locks as long as the settings now say.
    pub(super) fn renew_lock_policy(&self) {
        if let Some(active) = &self.transaction.active {
            active.txn.set_lock_policy(self.settings().lock_policy());
        }
    }

    /// The level of the transaction at hand, or of the next statement outside a block.
    pub(super) fn isolation(&self) -> Isolation {
        let settings = self.settings();
        match self.transaction.block {
            Block::None => settings.default_isolation,
            Block::Implicit | Block::Explicit | Block::Failed => settings.isolation,
        }
    }

    /// What a transaction of the session begins with.
    pub(super) fn transaction_options(&self) -> TransactionOptions {
        let isolation = self.isolation();
        TransactionOptions {
            session: self.process_id,
            dependency: self.dependency.clone(),
            keeps_snapshot: isolation != Isolation::ReadCommitted,
            is_serializable: isolation == Isolation::Serializable,
            snapshot: self.transaction.snapshot.clone(),
            ..self.instance.transaction_options()
        }
    }

    /// A statement of the block has read something; or the only one that has begins anew (`false`).
    pub(super) fn note_query(&mut self, is_queried: bool) {
        if let Some(active) = &mut self.transaction.active {
            active.is_queried = is_queried;
        }
    }

    /// The next statement loads the catalog anew.
    pub(super) fn forget_catalog(&mut self) {
        if let Some(active) = &mut self.transaction.active {
            active.catalog = None;
        }
    }

    /// 25P01 outside a block; `statement` is named in the message.
    pub(super) fn require_block(&self, statement: &str) -> Result<()> {
        match self.transaction.block {
            Block::Explicit | Block::Failed => Ok(()),
            Block::None | Block::Implicit => Err(Error::TransactionState {
                state: "25P01",
                message: format!("{statement} can only be used in transaction blocks"),
            }),
        }
    }

    /// A statement may have dropped something: once that is committed its keys are removed.
    pub(super) fn dropped(&mut self) {
        match self.transaction.block {
            Block::None => self.instance.wake_reclaim(),
            Block::Implicit | Block::Explicit | Block::Failed => self.transaction.drops = true,
        }
    }

    /// The transaction of a statement outside a block becomes that of the session, to be ended as any other.
    pub(super) fn adopt(&mut self, txn: &Arc<Transaction>) {
        self.open(Block::Implicit, Modes::default());
        self.transaction.active = Some(Active {
            txn: Arc::clone(txn),
            origin: txn.savepoint(),
            catalog: None,
            is_queried: true,
        });
    }

    /// Opens a block, which begins with the message that asks for it.
    pub(super) fn open(&mut self, block: Block, modes: Modes) {
        self.open_at(self.shared.message_us(), block, modes);
    }

    /// Opens a block that began then.
    pub(super) fn open_at(&mut self, started_us: i64, block: Block, modes: Modes) {
        self.transaction = TransactionState {
            block,
            modes,
            started_us,
            ..TransactionState::default()
        };
        self.shared.in_transaction_since(started_us);
        self.settings.begin();
    }

    /// Commits whatever is open. The transaction is over either way, and portals with it.
    pub(super) async fn commit_transaction(&mut self) -> Result<()> {
        let asked = self.check_deferred().await;
        let held = match asked {
            Ok(()) => self.hold_cursors().await,
            Err(error) => Err(error),
        };
        let state = std::mem::take(&mut self.transaction);
        let relaxed = !self.settings.current().synchronous_commit;
        let settled = match (held, &state.active) {
            (Ok(()), Some(active)) => self.settle_temporary(&active.txn).await,
            (held, _) => held,
        };
        let committed = match (settled.and_then(|()| self.before_commit()), state.active) {
            (Err(error), active) => {
                if let Some(active) = active {
                    active.txn.roll_back();
                }
                Err(error)
            }
            (Ok(()), Some(active)) => active.txn.commit(relaxed).await,
            (Ok(()), None) => Ok(()),
        };
        self.end_portals(committed.is_ok());
        self.settings.end(committed.is_ok());
        self.end_shared(committed.is_ok());
        if state.drops && committed.is_ok() {
            self.instance.wake_reclaim();
        }
        committed
    }

    /// Asks what the transaction has left of constraints, as SET CONSTRAINTS would. Errors: 23503.
    async fn check_deferred(&mut self) -> Result<()> {
        if !self.shared.deferred.has_open() {
            return Ok(());
        }
        let statement = self.parse("SET CONSTRAINTS ALL IMMEDIATE").await?.pop();
        let statement = statement.ok_or_else(|| Error::internal("a statement of no text"))?;
        let run = Run {
            statement: &statement,
            parameters: Parameters::default(),
            described: None,
            deadline: self.deadline(),
            cursor: None,
            position: None,
        };
        self.run_in_block(&run).await.map(|_| ())
    }

    pub(super) fn rollback_transaction(&mut self) {
        let state = std::mem::take(&mut self.transaction);
        if let Some(active) = state.active {
            active.txn.roll_back();
        }
        self.end_portals(false);
        self.settings.end(false);
        self.end_shared(false);
    }

    /// Errors: 54000 when what the transaction notifies has no room.
    pub(super) fn before_commit(&self) -> Result<()> {
        self.shared.before_commit(self.settings().notify_queue_bytes_max)
    }

    fn end_shared(&self, committed: bool) {
        self.shared.in_transaction_since(0);
        self.shared.end_transaction(committed);
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self
            .transaction
            .savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| Error::UndefinedSavepoint {
            name: name.to_string(),
        })
    }
}
