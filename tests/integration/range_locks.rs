//! Transactions that lock so many rows that they lock ranges: what others wait for, and what is given up.

use crate::server::TestServer;
use crate::transactions::{STORES, process_id, sqlstate, until_blocked, value};

/// New rows of every second key: whoever would put one between waits, others do not; a savepoint gives the range up.
#[tokio::test(flavor = "multi_thread")]
async fn a_load_locks_the_range_of_its_new_rows() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (loads, other) = (server.connect().await, server.connect().await);
        let waiter = process_id(&other).await;
        loads
            .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int UNIQUE); INSERT INTO t VALUES (50000, 0), (90001, -1)")
            .await
            .unwrap();
        let load = |from: i32| {
            format!(
                "INSERT INTO t SELECT 2 * i, -2 * i FROM generate_series({from}, {}) i",
                from + 12_000
            )
        };
        loads.batch_execute("BEGIN").await.unwrap();
        loads.batch_execute(&load(1)).await.unwrap();
        loads.batch_execute("SAVEPOINT s").await.unwrap();
        loads.batch_execute(&load(30_000)).await.unwrap();
        other.batch_execute("SET lock_timeout = '20ms'").await.unwrap();
        for between in [
            "INSERT INTO t VALUES (20001, 1)",
            "INSERT INTO t VALUES (80001, 1)",
            "INSERT INTO t VALUES (20000, 2)",
        ] {
            assert_eq!(sqlstate(&other, between).await, "55P03", "{between}");
        }
        // What stands there is not locked, nor what is beside it.
        other
            .batch_execute("UPDATE t SET v = 7 WHERE k = 50000; INSERT INTO t VALUES (99999, 3)")
            .await
            .unwrap();
        assert_eq!(sqlstate(&loads, "INSERT INTO t VALUES (16, 8)").await, "23505");
        loads.batch_execute("ROLLBACK TO s").await.unwrap();
        other
            .batch_execute("INSERT INTO t VALUES (80001, 1); RESET lock_timeout")
            .await
            .unwrap();
        let waits = async { sqlstate(&other, "INSERT INTO t VALUES (20000, 2)").await };
        let commits = async {
            let watcher = server.connect().await;
            until_blocked(&watcher, &waiter).await;
            loads.batch_execute("COMMIT").await.unwrap();
        };
        assert_eq!(tokio::join!(waits, commits).0, "23505");
        other
            .batch_execute("INSERT INTO t VALUES (20001, 5)")
            .await
            .unwrap();
        assert_eq!(
            value(&other, "SELECT count(*) FROM t").await.as_deref(),
            Some("12006")
        );
        server.stop().await;
    }
}

/// Changes of many rows: past the setting's bound whole pages of them are locked, with what lies between; a row that others changed since is
/// changed as it is then.
#[tokio::test(flavor = "multi_thread")]
async fn past_the_bound_rows_are_locked_as_ranges() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (changes, other) = (server.connect().await, server.connect().await);
        changes
            .batch_execute(
                "CREATE TABLE t (k int PRIMARY KEY, v int);
                 INSERT INTO t SELECT 2 * i, 0 FROM generate_series(1, 20000) i;
                 SET keyspan.key_locks_max = 1000; SET keyspan.full_scan = allow",
            )
            .await
            .unwrap();
        changes.batch_execute("BEGIN").await.unwrap();
        let waiter = process_id(&changes).await;
        other
            .batch_execute("BEGIN; SET lock_timeout = '20ms'; UPDATE t SET v = 5 WHERE k = 30000")
            .await
            .unwrap();
        let update = async { changes.batch_execute("UPDATE t SET v = v + 1").await.unwrap() };
        let commit = async {
            let watcher = server.connect().await;
            until_blocked(&watcher, &waiter).await;
            other.batch_execute("COMMIT").await.unwrap();
        };
        tokio::join!(update, commit);
        for refused in [
            "UPDATE t SET v = 0 WHERE k = 39000",
            "INSERT INTO t VALUES (38001, 0)",
            "DELETE FROM t WHERE k = 30000",
        ] {
            assert_eq!(sqlstate(&other, refused).await, "55P03", "{refused}");
        }
        other
            .batch_execute("INSERT INTO t VALUES (40001, 0)")
            .await
            .unwrap();
        changes
            .batch_execute("DELETE FROM t WHERE k > 20000; COMMIT")
            .await
            .unwrap();
        other
            .batch_execute("INSERT INTO t VALUES (38001, 0)")
            .await
            .unwrap();
        assert_eq!(
            value(&other, "SELECT sum(v) FROM t").await.as_deref(),
            Some("10000")
        );
        assert_eq!(
            value(&other, "SELECT count(*) FROM t").await.as_deref(),
            Some("10001")
        );
        server.stop().await;
    }
}
