//! What sessions do to one another: advisory locks that are waited for, NOTIFY, pg_stat_activity, and ending what another runs.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage};

use crate::server::TestServer;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first column of the first row, as text.
async fn value(client: &Client, sql: &str) -> Option<String> {
    let messages = client.simple_query(sql).await.expect("the query runs");
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    })
}

/// The SQLSTATE of a statement that must fail.
async fn sqlstate(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err("the statement fails");
    let code = error.code().expect("the server answers with an error");
    code.code().to_string()
}

/// Waits until the query says `t`: each time it asks the server, which is a pause for others.
async fn until(client: &Client, sql: &str) {
    let asked = async {
        while value(client, sql).await.as_deref() != Some("t") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .expect("it becomes so");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_waited_for_in_any_number_and_ends_with_its_session() {
    let server = TestServer::start("memory").await;
    let holder = server.connect().await;
    holder.batch_execute("SELECT pg_advisory_lock(42)").await.unwrap();
    // More than there are threads of any kind.
    let mut waiting = Vec::new();
    for _ in 0..80 {
        let client = server.connect().await;
        waiting.push(tokio::spawn(async move {
            client
                .batch_execute("SELECT pg_advisory_lock_shared(42)")
                .await
                .map(|()| client)
        }));
    }
    let watcher = server.connect().await;
    until(
        &watcher,
        "SELECT count(*) = 80 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND waitstart IS NOT NULL",
    )
    .await;
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory' \
                 AND state = 'active' AND query LIKE 'SELECT pg_advisory_lock_shared%'";
    assert_eq!(value(&watcher, waits).await.as_deref(), Some("80"));
    assert_eq!(
        value(&watcher, "SELECT 1").await.as_deref(),
        Some("1"),
        "the server goes on"
    );
    drop(holder);
    let mut clients = Vec::new();
    for wait in waiting {
        let granted = tokio::time::timeout(PATIENCE, wait).await.expect("it is granted");
        clients.push(granted.expect("the task ends").expect("the lock is taken"));
    }
    drop(clients);
    until(
        &watcher,
        "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'",
    )
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_by_time_by_cancel_and_by_deadlock() {
    let server = TestServer::start("memory").await;
    let (first, second) = (server.connect().await, server.connect().await);
    first.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    second.batch_execute("SELECT pg_advisory_lock(2)").await.unwrap();
    assert_eq!(
        sqlstate(&second, "SET lock_timeout = 20; SELECT pg_advisory_lock(1)").await,
        "55P03"
    );
    assert_eq!(
        sqlstate(
            &second,
            "SET lock_timeout = 0; SET statement_timeout = 20; SELECT pg_advisory_lock(1)"
        )
        .await,
        "57014"
    );
    // The settings went with the message that failed.
    let cancel = second.cancel_token();
    let waits = second.batch_execute("SELECT pg_advisory_lock(1)");
    let stops = async {
        until(&first, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted").await;
        cancel.cancel_query(NoTls).await.unwrap();
    };
    let (waited, ()) = tokio::join!(waits, stops);
    assert_eq!(waited.unwrap_err().code().map(|code| code.code()), Some("57014"));
    // A circle: whoever looks for it first is refused, and the other goes on.
    for (client, patience) in [(&first, "1min"), (&second, "10ms")] {
        let patience = format!("SET deadlock_timeout = '{patience}'");
        client.batch_execute(&patience).await.unwrap();
    }
    let waits = first.batch_execute("SELECT pg_advisory_xact_lock(2)");
    let closes = async {
        until(&second, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted").await;
        assert_eq!(sqlstate(&second, "SELECT pg_advisory_lock(1)").await, "40P01");
        second
            .batch_execute("SELECT pg_advisory_unlock(2)")
            .await
            .unwrap();
    };
    let (waited, ()) = tokio::join!(waits, closes);
    waited.unwrap();
    // Nothing of the waits that ended is left.
    assert_eq!(
        value(
            &first,
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        )
        .await
        .as_deref(),
        Some("1")
    );
    server.stop().await;
}

/// A connection and what it is notified of: `channel payload pid`.
async fn listener(server: &TestServer) -> (Client, mpsc::UnboundedReceiver<String>) {
    let addr = server.addr();
    let options = format!("host={} port={} user=test dbname=test", addr.ip(), addr.port());
    let (client, mut connection) = tokio_postgres::connect(&options, NoTls).await.unwrap();
    let (told, tells) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                let (channel, payload) = (notification.channel(), notification.payload());
                let _ = told.send(format!("{channel} {payload} {}", notification.process_id()));
            }
        }
    });
    (client, tells)
}

async fn next(tells: &mut mpsc::UnboundedReceiver<String>) -> String {
    let told = tokio::time::timeout(PATIENCE, tells.recv()).await;
    told.expect("it is told").expect("the connection lives")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_notifies_sessions_that_listen_also_idle_ones() {
    let server = TestServer::start("memory").await;
    let (client, mut tells) = listener(&server).await;
    let other = server.connect().await;
    let process_id = value(&other, "SELECT pg_backend_pid()").await.unwrap();
    client.batch_execute("LISTEN jobs").await.unwrap();
    other
        .batch_execute("BEGIN; NOTIFY jobs, 'a'; NOTIFY jobs, 'a'; SELECT pg_notify('jobs', 'b'); NOTIFY others, 'x'; COMMIT")
        .await
        .unwrap();
    // The client idles: nobody asks the server for anything.
    assert_eq!(next(&mut tells).await, format!("jobs a {process_id}"));
    assert_eq!(next(&mut tells).await, format!("jobs b {process_id}"));
    // What is rolled back is not told, and in a transaction nothing is told.
    other
        .batch_execute("BEGIN; NOTIFY jobs, 'never'; ROLLBACK; BEGIN; SAVEPOINT s; NOTIFY jobs, 'nor'; ROLLBACK TO s; COMMIT")
        .await
        .unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    other
        .batch_execute("SELECT pg_notify('jobs', 'late')")
        .await
        .unwrap();
    client.batch_execute("SELECT 1").await.unwrap();
    assert!(tells.try_recv().is_err());
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(next(&mut tells).await, format!("jobs late {process_id}"));
    // One's own, and none after UNLISTEN.
    client.batch_execute("NOTIFY jobs, 'own'").await.unwrap();
    assert!(next(&mut tells).await.starts_with("jobs own "));
    client.batch_execute("UNLISTEN *").await.unwrap();
    other.batch_execute("NOTIFY jobs, 'gone'").await.unwrap();
    client
        .batch_execute("LISTEN jobs; NOTIFY jobs, 'last'")
        .await
        .unwrap();
    assert!(next(&mut tells).await.starts_with("jobs last "));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_seen_cancelled_and_terminated() {
    let server = TestServer::start("memory").await;
    let (watcher, sleeper) = (server.connect().await, server.connect().await);
    sleeper
        .batch_execute("SET application_name = 'worker'")
        .await
        .unwrap();
    let process_id = value(&sleeper, "SELECT pg_backend_pid()").await.unwrap();
    let of_worker = |what: &str| {
        format!(
            "SELECT {what} FROM pg_stat_activity WHERE application_name = 'worker' AND pid = {process_id}"
        )
    };
    assert_eq!(
        value(&watcher, &of_worker("state")).await.as_deref(),
        Some("idle")
    );
    assert_eq!(
        value(&watcher, &of_worker("client_addr")).await.as_deref(),
        Some("127.0.0.1")
    );
    sleeper.batch_execute("BEGIN").await.unwrap();
    let idles = "state = 'idle in transaction' AND xact_start IS NOT NULL AND query = 'BEGIN' AND query_start <= now()";
    assert_eq!(value(&watcher, &of_worker(idles)).await.as_deref(), Some("t"));
    let sleeps = sleeper.batch_execute("SELECT pg_sleep(600)");
    let stops = async {
        let asleep = of_worker("count(*) = 1") + " AND wait_event = 'PgSleep' AND state = 'active'";
        until(&watcher, &asleep).await;
        let stopped = value(&watcher, &format!("SELECT pg_cancel_backend({process_id})")).await;
        assert_eq!(stopped.as_deref(), Some("t"));
    };
    let (slept, ()) = tokio::join!(sleeps, stops);
    assert_eq!(slept.unwrap_err().code().map(|code| code.code()), Some("57014"));
    // One that idles is ended too.
    let ended = value(&watcher, &format!("SELECT pg_terminate_backend({process_id})")).await;
    assert_eq!(ended.as_deref(), Some("t"));
    until(&watcher, &of_worker("count(*) = 0")).await;
    assert!(sleeper.batch_execute("SELECT 1").await.is_err());
    assert_eq!(
        value(&watcher, "SELECT pg_cancel_backend(123456)")
            .await
            .as_deref(),
        Some("f")
    );
    server.stop().await;
}
