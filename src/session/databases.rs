//! `Databases`: the databases of a running server, each with what tends it in the background. The first is always there, and is reached by
//! every name that nobody gave to another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use super::{Identity, Instance, Session};
use crate::catalog::{Catalog, DatabaseDef, DatabaseId, RoleDef};
use crate::error::StatementFault;
use crate::sql::ddl::{dropped_databases, empty_dropped};
use crate::system::SessionLimits;
use crate::{Error, Result};

/// The databases of a server.
#[derive(Debug)]
pub struct Databases {
    first: Arc<Instance>,
    /// It, and the others that were there at the start or asked for since, by oid.
    running: Mutex<BTreeMap<DatabaseId, Running>>,
    /// Those that could not begin, which nobody enters, with why.
    refused: BTreeMap<DatabaseId, Error>,
}

/// A database, and the tasks that tend it.
#[derive(Debug)]
struct Running {
    instance: Arc<Instance>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Undoes what an earlier run has left of it, and begins its tasks. Errors: the store's.
    async fn begin(instance: Arc<Instance>) -> Result<Running> {
        instance.undo_unfinished().await;
        instance.drop_left_temporary().await;
        instance.make_missing_sequences().await?;
        instance.shorten_long_names().await?;
        Ok(Running::tend(instance))
    }

    fn tend(instance: Arc<Instance>) -> Running {
        let tasks = vec![
            tokio::spawn(Arc::clone(&instance).reclaim()),
            tokio::spawn(Arc::clone(&instance).build_indexes()),
            tokio::spawn(Arc::clone(&instance).remove_over()),
            tokio::spawn(Arc::clone(&instance).tend_regions()),
        ];
        Running { instance, tasks }
    }

    async fn end(self) {
        for task in self.tasks {
            task.abort();
            // It ends by itself or by the abort; there is nothing to learn from how.
            let _ = task.await;
        }
    }
}

impl Databases {
    /// Begins the first database and all others of its store, but for those whose definitions cannot be read. To be called before clients come. Errors:
    /// the store's.
    pub async fn begin(first: Arc<Instance>) -> Result<Arc<Databases>> {
        first.resume_clock().await?;
        let catalog = catalog_of(&first).await?;
        let begun = Running::begin(Arc::clone(&first)).await?;
        let mut running = BTreeMap::from([(first.database(), begun)]);
        let mut refused = BTreeMap::new();
        for database in catalog.databases.values() {
            match Running::begin(Arc::new(first.another(database.oid))).await {
                Ok(begun) => drop(running.insert(database.oid, begun)),
                // The damage of one is not that of the others.
                Err(error @ Error::Corrupt { .. }) => {
                    tracing::error!(%error, "database \"{}\" takes no connections", database.name);
                    refused.insert(database.oid, error);
                }
                Err(error) => return Err(error),
            }
        }
        let databases = Databases {
            first,
            running: Mutex::new(running),
            refused,
        };
        // What an earlier run was dropping is gone before clients come, but for the keys of its rows.
        databases.empty_all_dropped().await;
        Ok(Arc::new(databases))
    }

    /// Over a database that nothing tends.
    #[cfg(test)]
    pub fn untended(first: Arc<Instance>) -> Arc<Databases> {
        Arc::new(Databases {
            first,
            running: Mutex::default(),
            refused: BTreeMap::new(),
        })
    }

    /// The role of a name, if it was made. Errors: the store's.
    pub async fn role(&self, name: &str) -> Result<Option<Arc<RoleDef>>> {
        let catalog = catalog_of(self.first()).await?;
        Ok(catalog.roles.get(name).cloned())
    }

    /// Whether clients show that they know the password of their role.
    pub fn asks_for_passwords(&self) -> bool {
        self.first().settings().asks_for_passwords
    }

    /// The first.
    pub fn first(&self) -> &Arc<Instance> {
        &self.first
    }

    /// A session in the database that it asks for by name. Errors: as [`Session::new`]; 55000 for a database that takes none, XX001 for
    /// one that is damaged; 3D000 for a name that nobody gave, if `keyspan.any_database` is off.
    pub async fn open_session(&self, identity: Identity, options: &[(String, String)]) -> Result<Session> {
        let catalog = catalog_of(self.first()).await?;
        let role = catalog.roles.get(&identity.user);
        let mut limits = SessionLimits {
            of_database: None,
            of_role: role.and_then(|role| usize::try_from(role.connection_limit).ok()),
        };
        let Some(database) = catalog.databases.get(&identity.database) else {
            self.require_any(&identity.database)?;
            return Session::new(Arc::clone(self.first()), identity, options, limits).await;
        };
        if !database.allow_connections {
            return Err(Error::InvalidStatement {
                state: StatementFault::NotInPrerequisiteState,
                message: format!(
                    "database \"{}\" is not currently accepting connections",
                    database.name
                ),
                hint: Some("ALTER DATABASE … ALLOW_CONNECTIONS true lets sessions in.".to_string()),
            });
        }
        if let Some(error) = self.refused.get(&database.oid) {
            return Err(error.clone());
        }
        limits.of_database = usize::try_from(database.connection_limit).ok();
        Session::new(self.instance(database), identity, options, limits).await
    }

    fn require_any(&self, name: &str) -> Result<()> {
        let any = self.first().settings().any_database;
        match any || name == crate::catalog::FIRST_DATABASE_NAME {
            true => Ok(()),
            false => Err(Error::UndefinedDatabase {
                name: name.to_string(),
            }),
        }
    }

    /// A database that was made, which begins where nobody has asked for it yet.
    fn instance(&self, database: &DatabaseDef) -> Arc<Instance> {
        let mut all = self.lock();
        let running = all.entry(database.oid).or_insert_with(|| {
            // Nothing is left of an earlier run: it was made since.
            Running::tend(Arc::new(self.first().another(database.oid)))
        });
        Arc::clone(&running.instance)
    }

    /// Removes what is in databases that are dropped from now on, until the task is aborted.
    pub async fn empty_dropped(self: Arc<Databases>) {
        let sessions = Arc::clone(self.first().state().live_sessions());
        loop {
            sessions.database_dropped().await;
            self.empty_all_dropped().await;
        }
    }

    /// The same of those that were dropped until now. What failed stays recorded, and is tried again with the next drop or start.
    async fn empty_all_dropped(&self) {
        if let Err(error) = self.empty_round().await
            && error != Error::Shutdown
        {
            tracing::warn!(%error, "could not remove what is in dropped databases");
        }
    }

    async fn empty_round(&self) -> Result<()> {
        let store = self.first().store();
        for database in dropped_databases(store).await? {
            let running = self.lock().remove(&database);
            if let Some(running) = running {
                running.end().await;
            }
            empty_dropped(store, database).await?;
        }
        self.first().wake_reclaim();
        Ok(())
    }

    /// Ends what tends the databases.
    pub async fn end(&self) {
        let all = std::mem::take(&mut *self.lock());
        for running in all.into_values() {
            running.end().await;
        }
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<DatabaseId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The catalog of a database as it is now.
async fn catalog_of(instance: &Instance) -> Result<Arc<Catalog>> {
    let txn = instance.begin(instance.transaction_options()).await?;
    instance.catalog(&txn, None).await
}
