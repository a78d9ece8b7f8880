//! Several servers over one store, each with a way of its own to it: clients of all see one database, whatever is on its way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use super::connection::serve;
use super::descriptors::ConnectionLimits;
use super::listening::Listening;
use crate::session::{Databases, Instance};
use crate::store::behind_a_network::Handle;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, StoreOptions};
use crate::system::Settings;

const ACCOUNTS: i32 = 6;
const CLIENTS: i64 = 6;
const TRANSFERS: i64 = 30;

/// Two servers over a new store. Of so many commits of each one's outcome is unknown; 0: of none.
fn two_servers(unknown_of: u64) -> [Arc<Listening>; 2] {
    let store = MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    [(); 2].map(|()| {
        let handle = Arc::new(Handle::new(&store, unknown_of));
        let instance = Arc::new(Instance::new(handle, Settings::default()));
        Arc::new(Listening::new(
            Databases::untended(instance),
            ConnectionLimits::from_system(16),
            None,
        ))
    })
}

async fn connect(server: &Arc<Listening>) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let place = server.startups.enter();
    tokio::spawn(serve(tokio::io::split(theirs), None, Arc::clone(server), place));
    let mut config = tokio_postgres::Config::new();
    let (client, connection) = config.user("u").connect_raw(ours, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn number(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// What became of a transfer, as its client was told.
#[derive(Debug, PartialEq)]
enum Told {
    Committed,
    Unknown,
}

/// Takes one from an account for another one and writes that down, until it is told what became of it.
async fn transfer(client: &Client, id: i64) -> Told {
    let (from, to) = (id % i64::from(ACCOUNTS), (id * 7 + 1) % i64::from(ACCOUNTS));
    let statements = format!(
        "BEGIN; UPDATE accounts SET balance = balance - 1 WHERE id = {from}; \
         UPDATE accounts SET balance = balance + 1 WHERE id = {to}; \
         INSERT INTO transfers VALUES ({id}, {from}, {to}); COMMIT"
    );
    loop {
        let Err(error) = client.batch_execute(&statements).await else {
            return Told::Committed;
        };
        client.batch_execute("ROLLBACK").await.unwrap();
        match error.code() {
            Some(state) if *state == SqlState::TRANSACTION_RESOLUTION_UNKNOWN => return Told::Unknown,
            Some(state) if *state == SqlState::T_R_DEADLOCK_DETECTED => {}
            _ => panic!("transfer {id}: {error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_there_and_what_is_unknown_is_whole() {
    let servers = two_servers(0);
    let first = connect(&servers[0]).await;
    first
        .batch_execute(&format!(
            "CREATE TABLE accounts (id int PRIMARY KEY, balance int); \
             CREATE TABLE transfers (id int PRIMARY KEY, from_id int, to_id int); \
             INSERT INTO accounts SELECT g, 100 FROM generate_series(0, {}) g",
            ACCOUNTS - 1
        ))
        .await
        .unwrap();
    let store = Arc::clone(servers[0].databases.first().store());
    // Servers that learn of some commits nothing.
    let servers = [7, 11].map(|unknown_of| {
        let instance = Arc::new(Instance::new(
            Arc::new(Handle::new(&store, unknown_of)),
            Settings::default(),
        ));
        Arc::new(Listening::new(
            Databases::untended(instance),
            ConnectionLimits::from_system(16),
            None,
        ))
    });
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let server = Arc::clone(&servers[(client % 2) as usize]);
        clients.spawn(async move {
            let connected = connect(&server).await;
            let (mut committed, mut unknown) = (Vec::new(), Vec::new());
            for id in client * TRANSFERS..(client + 1) * TRANSFERS {
                match transfer(&connected, id).await {
                    Told::Committed => committed.push(id),
                    Told::Unknown => unknown.push(id),
                }
            }
            (committed, unknown)
        });
    }
    let (mut committed, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    while let Some(told) = clients.join_next().await {
        let (of_client, unknown_of_client) = told.unwrap();
        committed.extend(of_client);
        unknown.extend(unknown_of_client);
    }
    assert!(!unknown.is_empty());
    let written = first
        .query("SELECT id::bigint FROM transfers", &[])
        .await
        .unwrap();
    let written: BTreeSet<i64> = written.iter().map(|row| row.get(0)).collect();
    assert!(committed.is_subset(&written), "acknowledged and not there");
    assert!(
        written
            .iter()
            .all(|id| committed.contains(id) || unknown.contains(id))
    );
    let wrong = "SELECT count(*) FROM accounts a WHERE balance <> 100 \
                 - (SELECT count(*) FROM transfers t WHERE t.from_id = a.id) \
                 + (SELECT count(*) FROM transfers t WHERE t.to_id = a.id)";
    first
        .batch_execute("SET keyspan.full_scan = allow")
        .await
        .unwrap();
    assert_eq!(number(&first, wrong).await, 0, "half of a transfer");
    assert_eq!(
        number(&first, "SELECT count(*) FROM transfers").await,
        written.len() as i64
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_and_sequences_of_one_hold_for_the_other() {
    let servers = two_servers(0);
    let (one, other) = (connect(&servers[0]).await, connect(&servers[1]).await);
    one.batch_execute("CREATE TABLE t (id bigint PRIMARY KEY, v int); CREATE SEQUENCE s")
        .await
        .unwrap();
    let insert = other
        .prepare("INSERT INTO t SELECT nextval('s'), $1")
        .await
        .unwrap();
    let inserted = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let server = Arc::clone(&servers[(client % 2) as usize]);
        let inserted = Arc::clone(&inserted);
        clients.spawn(async move {
            let connected = connect(&server).await;
            for v in 0..40_i32 {
                // A value that two of them got would be a duplicate.
                connected
                    .execute("INSERT INTO t (id, v) VALUES (nextval('s'), $1)", &[&v])
                    .await
                    .unwrap();
                inserted.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    one.batch_execute("ALTER TABLE t ADD COLUMN note text DEFAULT 'none'")
        .await
        .unwrap();
    other.execute(&insert, &[&1]).await.unwrap();
    one.batch_execute("CREATE INDEX ON t (v)").await.unwrap();
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let rows = inserted.load(Ordering::Relaxed) as i64 + 1;
    for client in [&one, &other] {
        assert_eq!(number(client, "SELECT count(*) FROM t").await, rows);
        // By the index, which was built while both wrote.
        assert_eq!(
            number(client, "SELECT count(*) FROM t WHERE v = 7").await,
            CLIENTS
        );
        assert_eq!(
            number(client, "SELECT count(note) FROM t WHERE v = 7").await,
            CLIENTS
        );
    }
    other.batch_execute("DROP TABLE t").await.unwrap();
    let gone = one.query("SELECT * FROM t WHERE id = 1", &[]).await.unwrap_err();
    assert_eq!(gone.code(), Some(&SqlState::UNDEFINED_TABLE));
}
