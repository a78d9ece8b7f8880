//! `Instance`: what every session of one database of a running Keyspan shares: the store, the newest catalog, server-wide settings. All
//! databases share the store, and what of it is given once ([`super::Databases`]).

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::catalog::{
    Catalog, DatabaseId, FIRST_DATABASE, SettingsOwner, is_temporary_schema, reclaim_dropped,
    temporary_schema,
};
use crate::sql::ddl::{build_unattended, drop_temporary, make_missing_sequences, shorten_long_names};
use crate::store::Store;
use crate::system::statement_statistics::PG_STAT_STATEMENTS;
use crate::system::{IndexBuilds, LiveSessions, ServerState, SettingSource, Settings};
use crate::table::Sequences;
use crate::txn::{DatabaseStore, Transaction, TransactionNumbers, TransactionOptions};
use crate::{Error, Result};

/// How often the removal of temporary relations that loses a race is tried again at once.
const DROP_TRIES: usize = 20;

/// One running database.
#[derive(Debug)]
pub struct Instance {
    /// The store, and which database it is.
    store: DatabaseStore,
    sequences: Arc<Sequences>,
    settings: Arc<Settings>,
    catalog: Mutex<Option<Shared>>,
    /// Something was dropped: its keys are to be removed.
    dropped: Notify,
    /// The temporary schemas of sessions that have ended.
    left_schemas: Mutex<Vec<String>>,
    index_builds: Arc<IndexBuilds>,
    state: Arc<ServerState>,
    transaction_numbers: Arc<TransactionNumbers>,
}

/// The newest catalog that a session has loaded.
#[derive(Debug)]
struct Shared {
    /// The number of the transaction that saw it.
    as_of: u64,
    catalog: Arc<Catalog>,
}

impl Instance {
    /// The first database of a store, with the settings that sessions begin with.
    pub fn new(store: Arc<dyn Store>, settings: Settings) -> Instance {
        crate::functions::note_server_start();
        let database = DatabaseStore {
            database: FIRST_DATABASE,
            store: Arc::clone(&store),
        };
        let sequences = Arc::new(Sequences::new(store));
        Instance::of(
            (database, sequences),
            Arc::new(settings),
            Arc::default(),
            Arc::default(),
        )
    }

    /// Another database of the same store.
    pub(super) fn another(&self, database: DatabaseId) -> Instance {
        let store = DatabaseStore {
            database,
            store: Arc::clone(self.store()),
        };
        let sequences = Arc::clone(&self.sequences);
        let (settings, numbers) = (Arc::clone(&self.settings), Arc::clone(&self.transaction_numbers));
        Instance::of(
            (store, sequences),
            settings,
            Arc::clone(self.state.live_sessions()),
            numbers,
        )
    }

    fn of(
        (store, sequences): (DatabaseStore, Arc<Sequences>),
        settings: Arc<Settings>,
        sessions: Arc<LiveSessions>,
        transaction_numbers: Arc<TransactionNumbers>,
    ) -> Instance {
        let state = Arc::new(ServerState::new(store.store.lock_table(), sessions));
        state.heat.turn(store.store.clock().now());
        Instance {
            sequences,
            state,
            store,
            settings,
            catalog: Mutex::new(None),
            dropped: Notify::new(),
            left_schemas: Mutex::default(),
            index_builds: Arc::default(),
            transaction_numbers,
        }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store.store
    }

    /// The database's oid.
    pub(super) fn database(&self) -> DatabaseId {
        self.store.database
    }

    /// Row ids and serial values.
    pub(super) fn sequences(&self) -> &Arc<Sequences> {
        &self.sequences
    }

    /// The settings that sessions begin with.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The server's settings with those of ALTER SYSTEM, as far as the command line does not say otherwise.
    /// Errors: the store's.
    pub async fn with_altered_settings(store: &Arc<dyn Store>, mut settings: Settings) -> Result<Settings> {
        let txn = Transaction::begin(store.clone(), settings.transaction_bytes_max).await?;
        let catalog = Catalog::load(&txn, None).await?;
        let altered = catalog.altered.get(&SettingsOwner::System);
        for (name, value) in altered.iter().flat_map(|altered| &altered.values) {
            if let Err(error) = settings.apply(SettingSource::System, name, value) {
                tracing::warn!(%error, "a setting of ALTER SYSTEM is left out");
            }
        }
        settings.keep_as_reset();
        Ok(settings)
    }

    /// Gives settings the values that sessions of the user begin with; answers what is wrong with those that are left out.
    /// Errors: the store's.
    pub(super) async fn begin_with(&self, settings: &mut Settings, user: &str) -> Result<Vec<Error>> {
        let txn = self.begin(self.transaction_options()).await?;
        let catalog = self.catalog(&txn, None).await?;
        let mut unusable = Vec::new();
        for (owner, altered) in catalog
            .altered
            .iter()
            .filter(|(owner, _)| owner.concerns(user, self.database()))
        {
            let own = altered.values.iter();
            // What only a start changes it has changed.
            for (name, value) in own.filter(|(name, _)| Settings::is_of_sessions(name)) {
                if let Err(error) = settings.apply(source_of(owner), name, value) {
                    unusable.push(error);
                }
            }
        }
        Ok(unusable)
    }

    /// Takes back the definitions that an earlier server was killed in the middle of. To be called before clients come.
    pub async fn undo_unfinished(&self) {
        match crate::sql::ddl::undo_unfinished(&self.store).await {
            Ok(tables) => tables.iter().for_each(|table| {
                tracing::info!("an unfinished definition on table \"{table}\" was taken back");
            }),
            // It stays marked: writes obey it, reads do not rest on it, and the next start tries again.
            Err(error) => tracing::warn!(%error, "could not take unfinished definitions back"),
        }
    }

    /// Makes the sequences that columns of an older release lack. To be called before clients come. Errors: the store's.
    pub async fn make_missing_sequences(&self) -> Result<()> {
        for table in make_missing_sequences(&self.store).await? {
            tracing::info!("the columns of table \"{table}\" got their sequences");
        }
        Ok(())
    }

    /// Cuts names that an older release let be longer than 63 bytes. To be called before clients come. Errors: the store's.
    pub async fn shorten_long_names(&self) -> Result<()> {
        for relation in shorten_long_names(&self.store).await? {
            tracing::info!("\"{relation}\" got names of 63 bytes at most");
        }
        Ok(())
    }

    /// Removes the temporary relations that an earlier server was killed with. To be called before clients come.
    pub async fn drop_left_temporary(&self) {
        // Their sessions are over, so that they are nobody's.
        if let Err(error) = self.drop_temporary(&is_temporary_schema).await {
            tracing::warn!(%error, "could not remove temporary tables of an earlier run");
        }
    }

    /// Removes temporary relations in a transaction of its own. Errors: the store's; as `ddl::drop_temporary`'s.
    pub(super) async fn drop_temporary(&self, is_gone: &(dyn Fn(&str) -> bool + Sync)) -> Result<()> {
        let mut lost = Ok(());
        for _ in 0..DROP_TRIES {
            let txn = self.begin(self.transaction_options()).await?;
            let catalog = self.catalog(&txn, None).await?;
            if !drop_temporary(&txn, &catalog, is_gone).await? {
                return Ok(());
            }
            txn.note_statement(true);
            match txn.commit(true).await {
                Err(error @ Error::Conflict { .. }) => lost = Err(error),
                committed => {
                    self.wake_reclaim();
                    return committed;
                }
            }
        }
        lost
    }

    /// A session has ended: what is temporary of it is to be removed.
    pub(super) fn leave_temporary(&self, process_id: i32) {
        self.lock_left_schemas().push(temporary_schema(process_id));
        self.wake_reclaim();
    }

    /// Removes what is temporary of sessions that have ended.
    async fn drop_left_schemas(&self) -> Result<()> {
        let left = std::mem::take(&mut *self.lock_left_schemas());
        if left.is_empty() {
            return Ok(());
        }
        let dropped = self
            .drop_temporary(&|name| left.iter().any(|schema| schema == name))
            .await;
        if dropped.is_err() {
            self.lock_left_schemas().extend(left);
        }
        dropped
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock_left_schemas(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.left_schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what is temporary of sessions that have ended, and the keys of what is dropped, now and whenever something is, until the
    /// task is aborted.
    pub async fn reclaim(self: Arc<Instance>) {
        loop {
            if let Err(error) = self.drop_left_schemas().await {
                tracing::warn!(%error, "could not remove temporary tables");
            }
            // What failed stays recorded, and is tried again with the next drop or start.
            if let Err(error) = reclaim_dropped(self.store()).await {
                tracing::warn!(%error, "could not remove dropped data");
            }
            if let Err(error) = self.sequences.forget_dropped().await {
                tracing::warn!(%error, "could not forget what is dropped");
            }
            self.dropped.notified().await;
        }
    }

    /// Builds the indexes whose builds nobody waits for, now and whenever there are some, until the task is aborted.
    pub async fn build_indexes(self: Arc<Instance>) {
        loop {
            match build_unattended(&self.store, &self.index_builds, &self.settings).await {
                Ok(ended) => ended.into_iter().for_each(|(name, ended)| match ended {
                    Ok(()) => tracing::info!("index \"{name}\" is complete"),
                    Err(error) => {
                        tracing::warn!(%error, "index \"{name}\" could not be built");
                        self.wake_reclaim();
                    }
                }),
                // They stay recorded, and are tried again with the next one or start.
                Err(error) => tracing::warn!(%error, "could not look for unfinished indexes"),
            }
            self.index_builds.asked().await;
        }
    }

    /// The indexes that are being built.
    pub(super) fn index_builds(&self) -> &Arc<IndexBuilds> {
        &self.index_builds
    }

    /// What the statements of all sessions share.
    pub(super) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// A commit may have dropped something.
    pub(super) fn wake_reclaim(&self) {
        self.dropped.notify_one();
    }

    /// Begins a transaction at the newest snapshot.
    pub(super) async fn begin(&self, options: TransactionOptions) -> Result<Arc<Transaction>> {
        Transaction::begin_with(Arc::clone(self.store()), options)
            .await
            .map(Arc::new)
    }

    /// What the transactions of nobody's session begin with.
    pub(super) fn transaction_options(&self) -> TransactionOptions {
        TransactionOptions {
            database: self.database(),
            bytes_max: self.settings.transaction_bytes_max,
            memory: Some(Arc::clone(&self.settings.memory)),
            heat: Some(Arc::clone(&self.state.heat)),
            numbers: Arc::clone(&self.transaction_numbers),
            ..TransactionOptions::default()
        }
    }

    /// The catalog as the transaction sees it. `own`: what the transaction's last statement saw. Only catalogs without
    /// uncommitted changes are shared, or another transaction might take them for its own of the same version.
    pub(super) async fn catalog(&self, txn: &Transaction, own: Option<Arc<Catalog>>) -> Result<Arc<Catalog>> {
        let known = own.or_else(|| self.shared_catalog());
        let catalog = Catalog::load(txn, known).await?;
        if txn.has_writes() {
            return Ok(catalog);
        }
        let mut shared = self.lock_catalog();
        let as_of = txn.number();
        let is_newer = |shared: &Shared| shared.catalog.version != catalog.version && shared.as_of < as_of;
        if shared.as_ref().is_none_or(is_newer) {
            let counts = catalog.extensions.contains_key(PG_STAT_STATEMENTS);
            self.state.statements.switch(counts);
            let catalog = catalog.clone();
            *shared = Some(Shared { as_of, catalog });
        }
        Ok(catalog)
    }

    pub(super) fn shared_catalog(&self) -> Option<Arc<Catalog>> {
        self.lock_catalog()
            .as_ref()
            .map(|shared| Arc::clone(&shared.catalog))
    }

    fn lock_catalog(&self) -> std::sync::MutexGuard<'_, Option<Shared>> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn source_of(owner: &SettingsOwner) -> SettingSource {
    match owner {
        SettingsOwner::System => SettingSource::System,
        SettingsOwner::AllRoles => SettingSource::AllRoles,
        SettingsOwner::Database(_) => SettingSource::Database,
        SettingsOwner::Role(_) => SettingSource::Role,
        SettingsOwner::RoleInDatabase(..) => SettingSource::RoleInDatabase,
    }
}
