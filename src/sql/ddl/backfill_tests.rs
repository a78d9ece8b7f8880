//! Tests of indexes over what is computed of rows: given to these page by page, interleaved by hand with writers, taken back, and found half
//! done at a start.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::verification_tests::{committed, failure, held_context, run_in};
use crate::catalog::{TableDef, Unverified};
use crate::plan::FullScanPolicy;
use crate::sql::testing::Client;
use crate::system::StatementContext;

/// Rows of which there are many pages; the first has `n = 0`.
const MANY: &str = "CREATE TABLE t (a int PRIMARY KEY, s text, n int, z int);
    INSERT INTO t SELECT g, 'Row' || g, g - 1, 0 FROM generate_series(1, 200) g";

/// Indexes, and whether a row has what they compute as it should.
const INDEXES: [(&str, &str); 5] = [
    ("(lower(s))", "lower(s) = lower(s || '')"),
    ("(n) WHERE n % 2 = 0 AND z = 0", "true"),
    ("((n + 1), lower(s))", "n + 1 = n + z - z + 1"),
    ("(lower(s)) WHERE n > 50", "lower(s) = lower(s || '')"),
    ("(s) WITH (BUCKETS = 4)", "s = s || ''"),
];

async fn many() -> Client {
    let mut client = Client::new();
    client.settings.full_scan = FullScanPolicy::Allow;
    client.ok(MANY).await;
    client
}

/// Permits steps until the columns are there and the first rows have them.
async fn begin_fill(
    client: &Client,
    building: &mut (impl Future<Output = crate::Result<String>> + Unpin),
    steps: &Semaphore,
) {
    let is_begun = |table: &TableDef| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.unverified == Some(Unverified::Column))
    };
    while !is_begun(&*client.table("t").await) {
        assert!(futures::poll!(&mut *building).is_pending());
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        steps.add_permits(1);
        while steps.available_permits() > 0 {
            assert!(futures::poll!(&mut *building).is_pending());
            tokio::task::yield_now().await;
        }
    }
}

/// Every index reads what the table has, and the store is sound.
async fn require_agreement(client: &Client, (index, right): (&str, &str)) {
    let wrong = format!("SELECT count(*) FROM t WHERE ({right}) IS NOT TRUE");
    assert_eq!(client.rows(&wrong).await, ["0"], "{index}");
    assert_eq!(client.check().await, [""; 0], "{index}");
    let table = client.table("t").await;
    assert!(table.columns.iter().all(|column| column.unverified.is_none()));
    assert!(table.indexes.iter().all(crate::catalog::IndexDef::is_complete));
    if index.contains("WHERE n > 50") {
        let partial = client
            .rows("SELECT count(*) FROM t WHERE lower(s) >= '' AND n > 50")
            .await;
        assert_eq!(
            partial,
            client.rows("SELECT count(*) FROM t WHERE n + 0 > 50").await
        );
    }
    if index.contains("n % 2") {
        let partial = client
            .rows("SELECT count(*) FROM t WHERE n > -1000 AND n % 2 = 0 AND z = 0")
            .await;
        let all = client
            .rows("SELECT count(*) FROM t WHERE n % 2 + 0 = 0 AND z + 0 = 0")
            .await;
        assert_eq!(partial, all);
    }
}

#[tokio::test]
async fn writers_beside_it_keep_what_they_write() {
    for (index, right) in INDEXES {
        let client = many().await;
        let (ctx, steps) = held_context(&client).await;
        let create = format!("CREATE INDEX i ON t {index}");
        let mut building = pin!(run_in(&ctx, &create));
        begin_fill(&client, &mut building, &steps).await;
        let valid = "SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'i'::regclass";
        assert_eq!(client.rows(valid).await, ["f|f"], "{index}");
        // Rows that have had their turn, and others: changed in what the index computes, in something else, moved, gone and come.
        client
            .ok("UPDATE t SET s = 'Other' || a, n = n + 1 WHERE a IN (2, 199);
                UPDATE t SET z = 1 WHERE a IN (3, 198);
                UPDATE t SET a = a + 1000 WHERE a IN (4, 197);
                DELETE FROM t WHERE a IN (5, 196);
                INSERT INTO t VALUES (6, 'New', 60, 0) ON CONFLICT (a) DO UPDATE SET z = 2;
                INSERT INTO t VALUES (195, 'New', 60, 0) ON CONFLICT (a) DO UPDATE SET s = 'Newer';
                UPSERT INTO t (a, z) VALUES (7, 9), (194, 9);
                UPSERT INTO t (a, s) VALUES (8, 'Upserted'), (193, 'Upserted');
                INSERT INTO t VALUES (-1, 'First', 7, 0), (9000, 'Last', 8, 0)")
            .await;
        // One who has locked rows is waited for, and keeps what he knows of them.
        let mut holder = client.other();
        holder.settings.full_scan = FullScanPolicy::Allow;
        holder.begin().await;
        holder
            .ok("SELECT * FROM t WHERE a IN (100, 101) FOR UPDATE")
            .await;
        holder.settle().await.unwrap();
        steps.add_permits(20);
        for _ in 0..200 {
            assert!(futures::poll!(&mut building).is_pending(), "{index}");
            tokio::task::yield_now().await;
        }
        holder.ok("UPDATE t SET z = 5 WHERE a = 100").await;
        holder.commit().await.unwrap();
        steps.add_permits(1000);
        assert_eq!(building.await.as_deref(), Ok("CREATE INDEX"), "{index}");
        require_agreement(&client, (index, right)).await;
    }
}

#[tokio::test]
async fn what_fails_takes_the_columns_back() {
    for (index, error) in [
        ("INDEX ON t ((100 / n))", "22012 division by zero"),
        (
            "UNIQUE INDEX i ON t ((n % 100))",
            "23505 could not create unique index \"i\"",
        ),
        (
            "INDEX ON t (z) WHERE 1000 / (n - 150) > 0",
            "22012 division by zero",
        ),
    ] {
        let mut client = many().await;
        let before = client.table("t").await;
        for in_block in [false, true] {
            let savepoint = match in_block {
                true => {
                    client.begin().await;
                    client.savepoint()
                }
                false => None,
            };
            assert_eq!(client.fails(&format!("CREATE {index}")).await, error);
            client.rollback_to(savepoint);
            client.rollback();
            let after = client.table("t").await;
            assert_eq!(
                (&after.columns, &after.indexes),
                (&before.columns, &before.indexes)
            );
            assert_eq!(client.check().await, [""; 0], "{index}");
        }
        client.ok("DELETE FROM t WHERE n = 0 OR n > 99").await;
        client.ok(&format!("CREATE {index}")).await;
        assert_eq!(client.check().await, [""; 0], "{index}");
    }
}

#[tokio::test]
async fn a_fill_survives_what_others_do_to_its_table() {
    for (meanwhile, outcome) in [
        (
            "ALTER TABLE t ADD COLUMN c int DEFAULT 1; ALTER TABLE t RENAME n TO m",
            Ok(()),
        ),
        ("TRUNCATE t; INSERT INTO t VALUES (1, 'A', 1, 1)", Ok(())),
        ("ALTER TABLE t ALTER n TYPE bigint", Ok(())),
        ("ALTER TABLE t ALTER z TYPE text", Ok(())),
        ("DROP INDEX i", Err("55000")),
        ("ALTER TABLE t DROP COLUMN s", Err("55000")),
        ("DROP TABLE t", Err("42P01")),
    ] {
        let client = many().await;
        let (ctx, steps) = held_context(&client).await;
        let mut building = pin!(run_in(&ctx, "CREATE INDEX i ON t (lower(s), (n + 1))"));
        begin_fill(&client, &mut building, &steps).await;
        client.ok(meanwhile).await;
        steps.add_permits(1000);
        let ended = building.await;
        let ended = ended.as_ref().map(|_| ()).map_err(crate::Error::sqlstate);
        assert_eq!(ended, outcome, "{meanwhile}");
        assert_eq!(client.check().await, [""; 0], "{meanwhile}");
        if meanwhile == "DROP TABLE t" {
            continue;
        }
        let table = committed(&client, "t").await;
        assert_eq!(table.indexes.len(), usize::from(outcome.is_ok()), "{meanwhile}");
        let hidden = table.columns.iter().filter(|column| column.hidden).count();
        assert_eq!(hidden, 2 * usize::from(outcome.is_ok()), "{meanwhile}");
    }
}

#[tokio::test]
async fn another_index_of_the_same_expression_waits_for_no_column() {
    let client = many().await;
    let (ctx, steps) = held_context(&client).await;
    let mut building = pin!(run_in(&ctx, "CREATE INDEX i ON t (lower(s))"));
    begin_fill(&client, &mut building, &steps).await;
    client.ok("ALTER INDEX i ON t ACTIVE").await;
    assert_eq!(
        client.fails("ALTER INDEX i ON t DISABLED").await,
        "55006 index \"i\" is being built"
    );
    client.ok("CREATE INDEX j ON t (lower(s), n)").await;
    client.ok("DROP INDEX i").await;
    steps.add_permits(1000);
    assert!(failure(building.await).starts_with("55000"));
    require_agreement(&client, INDEXES[0]).await;
    let known = client
        .rows("SELECT a FROM t WHERE lower(s) = 'row77' AND n = 76")
        .await;
    assert_eq!(known, ["77"]);
}

#[tokio::test]
async fn a_statement_that_is_dropped_or_killed_leaves_nothing() {
    for killed in [false, true] {
        let client = many().await;
        let before = client.table("t").await;
        let (ctx, steps): (StatementContext, Arc<Semaphore>) = held_context(&client).await;
        {
            let mut building = pin!(run_in(&ctx, "CREATE INDEX i ON t (lower(s))"));
            begin_fill(&client, &mut building, &steps).await;
        }
        if killed {
            // As the next start finds it.
            assert_eq!(super::undo_unfinished(&client.database()).await.unwrap(), ["t"]);
            assert_eq!(super::undo_unfinished(&client.database()).await.unwrap(), [""; 0]);
        }
        steps.add_permits(1000);
        assert!(ctx.jobs.ended().await);
        let after = committed(&client, "t").await;
        assert_eq!(
            (&after.columns, &after.indexes),
            (&before.columns, &before.indexes)
        );
        assert_eq!(client.check().await, [""; 0]);
        client.ok("CREATE INDEX i ON t (lower(s))").await;
        require_agreement(&client, INDEXES[0]).await;
    }
}

#[tokio::test]
async fn in_a_block_it_sees_what_the_block_wrote() {
    for (index, right) in INDEXES {
        let mut client = many().await;
        client.begin().await;
        client
            .ok("INSERT INTO t VALUES (-5, 'Own', 3, 0); UPDATE t SET s = 'Changed' WHERE a = 9; DELETE FROM t WHERE a = 10")
            .await;
        client.ok(&format!("CREATE INDEX i ON t {index}")).await;
        client.ok("UPDATE t SET n = 500, z = 1 WHERE a IN (11, -5)").await;
        client.commit().await.unwrap();
        require_agreement(&client, (index, right)).await;
        client.ok("DROP INDEX i").await;
        assert_eq!(client.table("t").await.columns.len(), 4, "{index}");
    }
}
