//! PostgreSQL as the oracle: the server that `PG_URI` names (`postgresql://user@host:port/database`), and databases of one
//! test's own in it. Without the variable whoever asks goes without.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::{Protocol, Target, TextClient};

/// The server, by a user who may create databases; `None` when `PG_URI` is not set.
pub(crate) fn admin() -> Option<Target> {
    let uri = std::env::var("PG_URI").ok()?;
    let config: tokio_postgres::Config = uri.parse().expect("PG_URI is a connection string");
    let host = match config.get_hosts() {
        [tokio_postgres::config::Host::Tcp(host)] => host.clone(),
        other => panic!("PG_URI must name one TCP host, not {other:?}"),
    };
    Some(Target {
        addr: format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432)),
        user: config.get_user().unwrap_or("postgres").to_string(),
        database: config.get_dbname().unwrap_or("postgres").to_string(),
    })
}

/// A database made for a test, that orders and folds texts as Keyspan does.
pub(crate) struct Database {
    admin: Target,
    name: String,
}

impl Database {
    pub(crate) async fn create(admin: &Target, label: &str) -> Database {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyspan_{label}_{}_{number}", std::process::id());
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'");
        run_as(admin, &create).await;
        Database {
            admin: admin.clone(),
            name,
        }
    }

    /// One, and a client of it; `None` when `PG_URI` is not set.
    pub(crate) async fn with_client(label: &str) -> Option<(Database, TextClient)> {
        let database = Database::create(&admin()?, label).await;
        let client = TextClient::connect(&database.target()).await;
        Some((database, client.expect("it was just made")))
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            database: self.name.clone(),
            ..self.admin.clone()
        }
    }

    pub(crate) async fn drop(self) {
        run_as(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

async fn run_as(admin: &Target, sql: &str) {
    let mut client = TextClient::connect(admin)
        .await
        .expect("PG_URI is reachable without a password");
    let done = client.run(sql, Protocol::Simple).await;
    done.expect("the user of PG_URI may create databases");
    client.close().await;
}
