//! Where a test runs that PostgreSQL must pass, too: Keyspan over a store, or a database of the server that `PG_URI` names.

use crate::client::{Target, TextClient};
use crate::postgresql::{Database, admin};
use crate::server::{TestServer, run};

/// A server, empty when it begins.
pub(crate) enum Place {
    Keyspan(TestServer),
    PostgreSql(Database),
}

impl Place {
    /// Keyspan over `memory` or `sled`, or `postgresql`: `None` when `PG_URI` is not set.
    pub(crate) async fn start(name: &str) -> Option<Place> {
        match name {
            "postgresql" => Some(Place::PostgreSql(Database::create(&admin()?, "place").await)),
            store => Some(Place::Keyspan(TestServer::start(store).await)),
        }
    }

    /// A connection that may read a table from end to end.
    pub(crate) async fn connect(&self) -> TextClient {
        let mut client = TextClient::connect(&self.target())
            .await
            .expect("the server accepts connections");
        // A setting that PostgreSQL takes for somebody's own.
        let allowed = run(&mut client, "SET keyspan.full_scan = allow").await;
        allowed.expect("both take the setting");
        client
    }

    /// Ends it. A client that is still there keeps the server waiting for it to take its leave.
    pub(crate) async fn end(self) {
        match self {
            Place::Keyspan(server) => drop(server.stop().await),
            Place::PostgreSql(database) => database.drop().await,
        }
    }

    pub(crate) fn target(&self) -> Target {
        match self {
            Place::Keyspan(server) => server.target(),
            Place::PostgreSql(database) => database.target(),
        }
    }
}
