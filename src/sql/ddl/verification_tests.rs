//! Tests of definitions that rest on all rows, interleaved by hand with writers, cancelled, and found half done at a start.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::catalog::{Access, Catalog, RelationName, TableDef, Unverified};
use crate::error::Error;
use crate::sql::testing::Client;
use crate::sql::{Outcome, execute, parse};
use crate::system::{Jobs, Settings, StatementContext};
use crate::txn::Transaction;

/// Runs one statement in a context whose snapshot was taken before.
pub(super) async fn run_in(ctx: &StatementContext, text: &str) -> crate::Result<String> {
    let statement = parse(text)?.remove(0);
    let Outcome::Done { tag } = execute(ctx, &statement.into()).await? else {
        panic!("{text} gives rows")
    };
    if ctx.txn.has_writes() {
        ctx.txn.commit(false).await?;
    }
    Ok(tag)
}

pub(super) fn failure(result: crate::Result<String>) -> String {
    let error = result.expect_err("it fails");
    format!("{} {error}", error.sqlstate())
}

/// The definitions, and the error that the row `(1, NULL)`, or any row, makes of them.
const CHECKED: [(&str, &str); 3] = [
    (
        "ALTER TABLE t ALTER COLUMN b SET NOT NULL",
        "23502 column \"b\" of relation \"t\" contains null values",
    ),
    (
        "ALTER TABLE t ADD COLUMN c int NOT NULL",
        "23502 column \"c\" of relation \"t\" contains null values",
    ),
    (
        "ALTER TABLE t ALTER COLUMN b SET NOT NULL, ADD COLUMN c int DEFAULT 7",
        "23502 column \"b\" of relation \"t\" contains null values",
    ),
];

#[tokio::test]
async fn a_row_that_commits_after_the_snapshot_is_found_in_the_second_phase() {
    for (definition, error) in CHECKED {
        let client = Client::new();
        client.ok("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
        let before = client.table("t").await;
        let ctx = client.context(&[]).await;
        client.ok("INSERT INTO t VALUES (1, NULL)").await;
        assert_eq!(failure(run_in(&ctx, definition).await), error, "{definition}");
        let after = client.table("t").await;
        assert_eq!(after.columns, before.columns, "{definition}");
        client.ok("INSERT INTO t VALUES (2, NULL)").await;
        assert_eq!(client.rows("SELECT * FROM t").await, ["1|", "2|"]);
        client.ok("TRUNCATE t").await;
        client.ok(definition).await;
        let after = client.table("t").await;
        assert!(after.columns.iter().all(|column| column.unverified.is_none()));
        assert_eq!(client.rows("SELECT count(*) FROM t").await, ["0"]);
    }
}

#[tokio::test]
async fn a_row_that_commits_during_a_block_makes_its_commit_conflict() {
    let unique = ("CREATE UNIQUE INDEX i ON t (b)", "");
    let dropping = ("ALTER TABLE t DROP COLUMN z, ALTER COLUMN b SET NOT NULL", "");
    for (definition, _) in CHECKED.into_iter().chain([unique, dropping]) {
        let mut client = Client::new();
        let other = client.other();
        client
            .ok("CREATE TABLE t (a int PRIMARY KEY, b int, z int)")
            .await;
        client.begin().await;
        other.ok("INSERT INTO t VALUES (1, NULL)").await;
        client.ok(definition).await;
        let lost = client.commit().await.expect_err(definition);
        assert!(matches!(lost, Error::Conflict { .. }), "{definition}: {lost}");
        assert_eq!(client.rows("SELECT * FROM t").await, ["1||"], "{definition}");
    }
    // What the block itself wrote is no conflict.
    let mut client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, NULL)")
        .await;
    client.begin().await;
    client
        .ok("UPDATE t SET b = 0 WHERE b IS NULL AND a > 0; ALTER TABLE t ALTER b SET NOT NULL; CREATE UNIQUE INDEX ON t (b)")
        .await;
    client.commit().await.unwrap();
    assert_eq!(
        client.fails("INSERT INTO t VALUES (2, 0)").await,
        "23505 duplicate key value violates unique constraint \"t_b_idx\""
    );
}

/// Definitions that write every row anew.
const REWRITES: [&str; 6] = [
    "ALTER TABLE t ADD PRIMARY KEY (a)",
    "ALTER TABLE t ALTER a TYPE text",
    "ALTER TABLE t ALTER a TYPE smallint USING (a + 1)::smallint, ADD UNIQUE (a)",
    "ALTER TABLE t ADD COLUMN c serial",
    "ALTER TABLE t ADD COLUMN d text, ADD COLUMN c bigserial PRIMARY KEY",
    "ALTER TABLE t ADD COLUMN c double precision DEFAULT random()",
];

#[tokio::test]
async fn of_a_rewrite_and_a_writer_the_second_conflicts() {
    for definition in REWRITES {
        for write in [
            "INSERT INTO t VALUES (7, 7)",
            "UPDATE t SET b = 9 WHERE b = 1",
            "DELETE FROM t WHERE b = 1",
        ] {
            for definition_first in [true, false] {
                let mut client = Client::new();
                client.settings.full_scan = crate::plan::FullScanPolicy::Allow;
                let mut writer = client.other();
                writer.settings.full_scan = crate::plan::FullScanPolicy::Allow;
                client
                    .ok("CREATE TABLE t (a int, b int); CREATE INDEX ON t (b); INSERT INTO t VALUES (1, 1), (2, 2)")
                    .await;
                client.begin().await;
                writer.begin().await;
                client.ok(definition).await;
                let lost = match definition_first {
                    true => {
                        client.settle().await.unwrap();
                        let mut written = pin!(writer.run_with(write, &[]));
                        assert!(futures::poll!(&mut written).is_pending(), "{definition}, {write}");
                        client.commit().await.unwrap();
                        written.await.map(drop)
                    }
                    false => {
                        writer.ok(write).await;
                        writer.commit().await.unwrap();
                        client.commit().await
                    }
                };
                writer.rollback();
                let lost = lost.expect_err(definition);
                assert!(
                    matches!(lost, Error::Conflict { .. }),
                    "{definition}, {write}: {lost}"
                );
                let rows = client.rows("SELECT b FROM t ORDER BY b").await;
                let by_index = client.rows("SELECT b FROM t WHERE b > 0 ORDER BY b").await;
                assert_eq!(rows, by_index, "{definition}, {write}");
                assert_eq!(rows == ["1", "2"], definition_first, "{definition}, {write}");
                let report = crate::table::check::check_store(&*client.store, &mut |_| {})
                    .await
                    .unwrap();
                assert!(report.is_sound(), "{definition}, {write}: {report}");
            }
        }
    }
}

#[tokio::test]
async fn a_write_begun_before_the_publication_holds_it_up_and_is_seen_then() {
    let mut writer = Client::new();
    let client = writer.other();
    client.ok("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    writer.begin().await;
    writer.ok("INSERT INTO t VALUES (1, NULL)").await;
    let definition = "ALTER TABLE t ALTER b SET NOT NULL";
    {
        let mut altered = pin!(client.run_with(definition, &[]));
        assert!(futures::poll!(&mut altered).is_pending());
        writer.commit().await.unwrap();
        assert_eq!(altered.await.unwrap_err().sqlstate(), "23502");
    }
    assert!(client.fails(definition).await.starts_with("23502"));
    client.ok("DELETE FROM t WHERE a = 1").await;
    client.ok(definition).await;
    let obeyed = writer.fails("INSERT INTO t VALUES (1, NULL)").await;
    assert!(obeyed.starts_with("23502"), "{obeyed}");
}

/// The table as it stands, `None` when nothing of this name does.
pub(super) async fn committed(client: &Client, name: &str) -> Arc<TableDef> {
    let txn = Transaction::begin(Arc::clone(&client.store), 0).await.unwrap();
    let catalog = Catalog::load(&txn, None).await.unwrap();
    Arc::clone(
        catalog
            .relation(RelationName::in_schema("public", name), Access::Name)
            .unwrap()
            .table()
            .unwrap(),
    )
}

/// Rows of a table on which a build takes many pages.
const MANY: &str = "CREATE TABLE t (a int PRIMARY KEY, b int);
    INSERT INTO t SELECT g, g FROM generate_series(1, 200) g";

/// A context whose jobs take as many steps as the semaphore permits: none so far.
pub(super) async fn held_context(client: &Client) -> (StatementContext, Arc<Semaphore>) {
    let semaphore = Arc::new(Semaphore::new(0));
    let mut jobs = Jobs::default();
    jobs.steps = Some(Arc::clone(&semaphore));
    let jobs = Arc::new(jobs);
    let ctx = StatementContext {
        jobs,
        ..client.context(&[]).await
    };
    (ctx, semaphore)
}

/// Permits a build step by step until it has read all rows and written the first entries.
async fn begin_build(
    ctx: &StatementContext,
    building: &mut (impl Future<Output = crate::Result<String>> + Unpin),
    steps: &Semaphore,
) {
    let is_begun = || {
        let running = ctx.index_builds.running();
        running.first().is_some_and(|build| build.rows_done() > 0)
    };
    while !is_begun() {
        assert!(futures::poll!(&mut *building).is_pending());
        if steps.available_permits() == 0 {
            steps.add_permits(1);
        }
        tokio::task::yield_now().await;
    }
    steps.forget_permits(usize::MAX);
}

#[tokio::test]
async fn while_it_is_built_an_index_is_kept_and_invalid() {
    let client = Client::new();
    client.ok(MANY).await;
    let (ctx, steps) = held_context(&client).await;
    let mut building = pin!(run_in(&ctx, "CREATE UNIQUE INDEX i ON t (b)"));
    begin_build(&ctx, &mut building, &steps).await;
    let state = "SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'i'::regclass";
    assert_eq!(client.rows(state).await, ["f|t"]);
    let twice = client.fails("INSERT INTO t VALUES (9001, 1), (9002, 1)").await;
    assert_eq!(
        twice,
        "23505 duplicate key value violates unique constraint \"i\""
    );
    // Rows 1 and 2 have their entries, 150 and those after it have none yet: a row that the build does not come by any more
    // takes the entry of 150, and must keep it when 150 changes.
    client
        .ok(
            "INSERT INTO t VALUES (9001, 9001), (-1, 150); DELETE FROM t WHERE a IN (2, 200);
            UPDATE t SET b = -b WHERE a IN (1, 150, 199)",
        )
        .await;
    assert!(futures::poll!(&mut building).is_pending());
    steps.add_permits(1000);
    assert_eq!(building.await.as_deref(), Ok("CREATE INDEX"));
    assert_eq!(client.rows(state).await, ["t|t"]);
    for duplicate in [-1, 3, 100, 150, -150, -199, 9001] {
        let insert = format!("INSERT INTO t VALUES (10000, {duplicate})");
        assert!(client.fails(&insert).await.starts_with("23505"), "{duplicate}");
    }
    client
        .ok("INSERT INTO t VALUES (10000, 200), (10001, 1), (10002, 199), (10003, 2)")
        .await;
}

#[tokio::test]
async fn duplicates_that_come_during_a_build_are_refused_or_end_it() {
    let client = Client::new();
    client.ok(MANY).await;
    let (ctx, steps) = held_context(&client).await;
    let mut building = pin!(run_in(&ctx, "ALTER TABLE t ADD CONSTRAINT i UNIQUE (b)"));
    begin_build(&ctx, &mut building, &steps).await;
    let early = client.fails("INSERT INTO t VALUES (-1, 1)").await;
    assert_eq!(
        early,
        "23505 duplicate key value violates unique constraint \"i\""
    );
    // The row with 200 has no entry yet: the new one takes its place, and the build finds it out.
    client.ok("INSERT INTO t VALUES (-1, 200)").await;
    steps.add_permits(1000);
    let error = building.await.unwrap_err();
    assert_eq!(error.to_string(), "could not create unique index \"i\"");
    assert_eq!(error.detail().as_deref(), Some("Key (b)=(200) is duplicated."));
    assert!(committed(&client, "t").await.indexes.is_empty());
    client.ok("INSERT INTO t VALUES (-2, 200)").await;
}

#[tokio::test]
async fn a_dropped_statement_leaves_no_index() {
    let client = Client::new();
    client.ok(MANY).await;
    let (ctx, steps) = held_context(&client).await;
    {
        let mut building = pin!(run_in(&ctx, "CREATE UNIQUE INDEX i ON t (b)"));
        begin_build(&ctx, &mut building, &steps).await;
    }
    steps.add_permits(1000);
    assert!(ctx.jobs.ended().await);
    assert!(committed(&client, "t").await.indexes.is_empty());
    client.ok("INSERT INTO t VALUES (9000, 1)").await;
    assert!(
        client
            .fails("CREATE UNIQUE INDEX i ON t (b)")
            .await
            .starts_with("23505 could not create unique index")
    );
}

#[tokio::test]
async fn a_build_survives_what_others_do_to_its_table() {
    for (meanwhile, outcome) in [
        (
            "ALTER TABLE t ADD COLUMN c int DEFAULT 1; ALTER TABLE t RENAME TO tt",
            Ok("CREATE INDEX"),
        ),
        ("TRUNCATE t; INSERT INTO t VALUES (1, 1)", Ok("CREATE INDEX")),
        ("DROP INDEX i", Err("42704")),
        ("ALTER TABLE t DROP COLUMN b", Err("42704")),
        ("DROP TABLE t", Err("42P01")),
    ] {
        let client = Client::new();
        client.ok(MANY).await;
        let (ctx, steps) = held_context(&client).await;
        let mut building = pin!(run_in(&ctx, "CREATE UNIQUE INDEX i ON t (b)"));
        begin_build(&ctx, &mut building, &steps).await;
        let other = client.other();
        other.ok(meanwhile).await;
        steps.add_permits(1000);
        let ended = building.await;
        let ended = ended.as_deref().map_err(Error::sqlstate);
        assert_eq!(ended, outcome, "{meanwhile}");
        if outcome.is_ok() {
            let name = if meanwhile.contains("RENAME") { "tt" } else { "t" };
            let insert = format!("INSERT INTO {name} (a, b) VALUES (-5, 1)");
            assert!(client.fails(&insert).await.starts_with("23505"), "{meanwhile}");
        }
    }
}

#[tokio::test]
async fn a_start_takes_back_or_finishes_what_a_killed_server_left() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE u (a int PRIMARY KEY)")
        .await;
    let txn = Transaction::begin(Arc::clone(&client.store), 1 << 20)
        .await
        .unwrap();
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let clean = TableDef::clone(&*client.table("t").await);
    let mut left = clean.clone();
    left.columns[1].not_null = true;
    left.columns[1].unverified = Some(Unverified::NotNull);
    let mut added = left.columns[1].clone();
    added.name = "c".to_string();
    added.unverified = Some(Unverified::Column);
    left.add_column(added).unwrap();
    let mut index = left.primary_key.clone();
    (index.id, index.oid, index.name) = (1, 99_999, "i".to_string());
    (index.unique, index.built, index.building) = (false, false, true);
    // An earlier release recorded indexes that are not unique, and wrote no entries.
    let mut recorded = index.clone();
    (recorded.id, recorded.oid, recorded.name) = (2, 99_998, "recorded".to_string());
    recorded.building = false;
    left.indexes.extend([index, recorded]);
    crate::catalog::CatalogWriter::begin(&txn, &catalog)
        .unwrap()
        .put_table(left)
        .unwrap();
    txn.commit(false).await.unwrap();

    let found = client
        .rows("SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = 't'::regclass ORDER BY attnum");
    assert_eq!(found.await, ["a|t", "b|f", "c|f"]);
    assert_eq!(super::undo_unfinished(&client.database()).await.unwrap(), ["t"]);
    assert_eq!(super::undo_unfinished(&client.database()).await.unwrap(), [""; 0]);
    let table = client.table("t").await;
    assert_eq!(table.columns, clean.columns);
    assert!(
        table.indexes.iter().all(|index| index.building),
        "{:?}",
        table.indexes
    );

    // What was begun is finished.
    let builds = Arc::default();
    let ended = super::build_unattended(&client.database(), &builds, &Settings::default()).await;
    let ended = ended.unwrap();
    assert_eq!(
        ended,
        [("i".to_string(), Ok(())), ("recorded".to_string(), Ok(()))]
    );
    assert!(
        client
            .table("t")
            .await
            .indexes
            .iter()
            .all(|index| index.is_complete())
    );
    let again = super::build_unattended(&client.database(), &builds, &Settings::default()).await;
    assert_eq!(again, Ok(Vec::new()));
}
