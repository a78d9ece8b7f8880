//! The skeleton of random walks over one table and a model of what it must be: a clock of the test's own, blocks and savepoints that go back
//! in both, statements that must do what the model says, and a store that may be opened again. What statements there are, and what must be
//! seen, the tests of a feature say.

use std::fmt::Debug;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::sql::testing::Client;
use crate::store::{Store, StoreKind, StoreOptions, open_store};
use crate::txn::Savepoint;

/// When walks begin, in microseconds since 1970: 2027-01-15 08:00 UTC.
pub(super) const BEGIN: i64 = 1_800_000_000_000_000;

/// What a table must be.
pub(super) trait Model: Clone + Debug {
    /// What becomes of it with a commit at a time.
    fn commit(&mut self, _now: i64) {}
}

/// A walk under way.
pub(super) struct Walk<M> {
    pub(super) client: Client,
    pub(super) random: StdRng,
    pub(super) model: M,
    /// What the machine's clock says, and the greatest it has said.
    pub(super) machine: i64,
    pub(super) now: i64,
    /// In a block: the model and the time as it began, and the model at its savepoint.
    block: Option<(M, i64)>,
    savepoint: Option<(Savepoint, M)>,
    pub(super) log: Vec<String>,
    /// Where the store is, if it is on disk.
    directory: Option<tempfile::TempDir>,
}

/// A store on sled, in a folder.
fn open(directory: &tempfile::TempDir) -> Arc<dyn Store> {
    open_store(StoreKind::Sled, directory.path(), &StoreOptions::default()).unwrap()
}

impl<M: Model> Walk<M> {
    /// On sled, or in memory, with what these statements make.
    pub(super) async fn new(seed: u64, is_on_sled: bool, definitions: &str, model: M) -> Walk<M> {
        let directory = is_on_sled.then(|| tempfile::tempdir().unwrap());
        let client = match &directory {
            Some(directory) => Client::on(open(directory)),
            None => Client::new(),
        };
        client.store.clock().set(BEGIN);
        Box::pin(client.ok(definitions)).await;
        Walk {
            client,
            random: StdRng::seed_from_u64(seed),
            model,
            machine: BEGIN,
            now: BEGIN,
            block: None,
            savepoint: None,
            log: vec![
                format!("seed {seed}, on sled {is_on_sled}"),
                definitions.to_string(),
            ],
            directory,
        }
    }

    /// The time at which the statement at hand began, as its transaction knows it.
    pub(super) fn time(&self) -> i64 {
        self.block.as_ref().map_or(self.now, |(_, time)| *time)
    }

    pub(super) fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Sets the machine's clock forward, or back, which changes nothing.
    pub(super) fn pass_time(&mut self, micros: i64) {
        self.machine += micros;
        self.now = self.now.max(self.machine);
        self.client.store.clock().set(self.machine);
        // Somebody looks: what nobody has seen of the clock it need not keep to.
        self.client.store.clock().now();
    }

    /// Runs a statement that must do what the model says; a failed one leaves nothing.
    pub(super) async fn expect(&mut self, statement: String, expected: Result<String, &str>, after: M) {
        self.log.push(statement.clone());
        let savepoint = self.client.savepoint();
        let done = Box::pin(self.client.run_with(&statement, &[])).await;
        let done = done
            .map(|(tag, _)| tag)
            .map_err(|error| error.sqlstate().to_string());
        let expected = expected.map_err(str::to_string);
        assert_eq!(done, expected, "{statement}\n{}", self.story());
        match done {
            Ok(_) => self.model = after,
            Err(_) => self.client.rollback_to(savepoint),
        }
        if self.block.is_none() {
            self.model.commit(self.now);
        }
    }

    /// Queries that must have these rows.
    pub(super) async fn expect_rows(&self, queries: Vec<(String, Vec<String>)>) {
        for (query, rows) in queries {
            let found = Box::pin(self.client.rows(&query)).await;
            assert_eq!(found, rows, "{query} at {}\n{}", self.time(), self.story());
        }
    }

    /// What was done, and what must be.
    pub(super) fn story(&self) -> String {
        format!("{}\n{:#?}", self.log.join("\n"), self.model)
    }

    /// Begins a block, or a savepoint in it, goes back to one, or ends the block.
    pub(super) async fn change_block(&mut self) {
        match (self.block.take(), self.random.random_range(0..5)) {
            (None, _) => {
                self.client.begin().await;
                self.block = Some((self.model.clone(), self.now));
                self.log.push("BEGIN".to_string());
            }
            (Some(block), 0..=1) => {
                self.block = Some(block);
                let savepoint = self.client.savepoint();
                self.savepoint = savepoint.map(|savepoint| (savepoint, self.model.clone()));
                self.log.push("SAVEPOINT".to_string());
            }
            (Some(block), 2) if self.savepoint.is_some() => {
                self.block = Some(block);
                if let Some((savepoint, model)) = self.savepoint.take() {
                    self.client.rollback_to(Some(savepoint));
                    self.model = model;
                    self.log.push("ROLLBACK TO".to_string());
                }
            }
            (Some((before, _)), 3) => {
                self.client.rollback();
                (self.model, self.savepoint) = (before, None);
                self.log.push("ROLLBACK".to_string());
            }
            (Some(_), _) => self.commit().await,
        }
    }

    async fn commit(&mut self) {
        (self.block, self.savepoint) = (None, None);
        self.log.push("COMMIT".to_string());
        self.client.commit().await.unwrap();
        self.model.commit(self.now);
    }

    /// Opens the store again, where it is on disk: what a block has not committed is gone.
    pub(super) async fn open_again(&mut self) {
        let Some(directory) = &self.directory else { return };
        self.log.push("open again".to_string());
        if let Some((before, _)) = self.block.take() {
            self.client.rollback();
            (self.model, self.savepoint) = (before, None);
        }
        self.client.store.close().await.unwrap();
        // Of two stores of a folder the first must have gone.
        self.client = Client::new();
        self.client = Client::on(open(directory));
        // How far it was the server records, and here is none: the machine's clock is right again.
        self.machine = self.now;
        self.client.store.clock().set(self.machine);
        self.client.store.clock().now();
    }

    /// Ends the walk: the store must be sound.
    pub(super) async fn end(mut self) {
        if self.block.is_some() {
            self.commit().await;
        }
        let faults = self.client.check().await;
        assert_eq!(faults, Vec::<String>::new(), "{}", self.story());
    }
}

/// How many seeds a walk is asked for, by an environment variable, or so many.
pub(super) fn seeds(variable: &str, usually: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(usually)
}
