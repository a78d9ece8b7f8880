//! Tests of definitions over the memory store: what they leave in the catalog, PostgreSQL's errors and NOTICEs.

use crate::catalog::{Access, ColumnDefault, ExpressionText, Object, RelationName, reclaim_dropped};
use crate::sql::testing::Client;
use crate::types::{SqlType, Value};

const ORDERS: &str = "CREATE TABLE orders (
  channel VARCHAR NOT NULL,   # payment channel
  id VARCHAR NOT NULL,        # order id
  ts TIMESTAMP NOT NULL,      # when it was paid
  status VARCHAR,
  location VARCHAR,
  PRIMARY KEY(channel, id, ts)
) WITH (DYNAMIC_COLUMNS='true')";

#[tokio::test]
async fn a_table_is_kept_as_it_is_written() {
    let client = Client::new();
    assert_eq!(client.ok(ORDERS).await, "CREATE TABLE");
    let table = client.table("orders").await;
    let names: Vec<_> = table
        .columns
        .iter()
        .map(|column| (column.id, column.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            (1, "channel"),
            (2, "id"),
            (3, "ts"),
            (4, "status"),
            (5, "location")
        ]
    );
    assert_eq!(table.key_columns(), [0, 1, 2]);
    assert_eq!(table.primary_key.name, "orders_pkey");
    assert_eq!(table.columns[2].ty, SqlType::Timestamp(None));
    assert!(table.columns[0].not_null && !table.columns[3].not_null);
    assert!(table.options.dynamic_columns && !table.options.full_scan_allowed);
    let notices = client.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("\"channel\", \"id\""), "{notices:?}");
}

#[tokio::test]
async fn keys_defaults_and_constraints_are_read() {
    let client = Client::new();
    client
        .ok("CREATE TABLE s1 (v int DEFAULT -1, b bigserial, t text DEFAULT 'x', u int UNIQUE, n numeric(6,2) DEFAULT 1.005,
             i int GENERATED ALWAYS AS IDENTITY, CONSTRAINT k PRIMARY KEY (v DESC, t), CONSTRAINT uu UNIQUE (u, t))")
        .await;
    let table = client.table("s1").await;
    assert_eq!(table.primary_key.name, "k");
    let key: Vec<_> = table
        .primary_key
        .columns
        .iter()
        .map(|part| (part.column, part.descending))
        .collect();
    assert_eq!(key, [(1, true), (3, false)]);
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|index| (index.id, index.name.as_str(), index.unique))
        .collect();
    assert_eq!(indexes, [(1, "s1_u_key", true), (2, "uu", true)]);
    let default = |at: usize| table.columns[at].default.clone();
    assert_eq!(
        default(0),
        Some(ColumnDefault::Constant {
            text: Some(ExpressionText {
                plain: "'-1'::integer".to_string(),
                pretty: "'-1'::integer".to_string(),
            }),
            value: Value::Int(-1),
            sql: "-1".to_string()
        })
    );
    assert!(matches!(default(1), Some(ColumnDefault::Sequence { oid: 1.. })));
    assert!(matches!(
        default(5),
        Some(ColumnDefault::Identity {
            always: true,
            oid: 1..
        })
    ));
    let Some(ColumnDefault::Constant { value, .. }) = default(4) else {
        panic!("{:?}", default(4))
    };
    assert_eq!(
        value.to_text(&client.context(&[]).await.format_settings()),
        "1.01"
    );
    assert!(table.columns[1].not_null && table.columns[5].not_null);
}

#[tokio::test]
async fn a_table_without_key_gets_a_hidden_row_id_and_a_notice() {
    let client = Client::new();
    client.ok("CREATE TABLE t (a int, b text)").await;
    let table = client.table("t").await;
    assert!(table.has_hidden_key());
    assert_eq!(table.visible_columns().count(), 2);
    assert!(!table.primary_key.constraint);
    assert!(client.notices()[0].starts_with("table \"t\" has no primary key"));
}

#[tokio::test]
async fn keys_that_invite_trouble_raise_notices() {
    let client = Client::new();
    for (text, expected) in [
        ("CREATE TABLE a1 (ts timestamp PRIMARY KEY)", "a hotspot"),
        ("CREATE TABLE a2 (id bigserial PRIMARY KEY)", "a hotspot"),
        (
            "CREATE TABLE a3 (a int, b int, c int, d int, PRIMARY KEY (a, b, c, d))",
            "has 4 columns",
        ),
        ("CREATE TABLE a4 (a text PRIMARY KEY)", "without a length limit"),
    ] {
        client.ok(text).await;
        let notices = client.notices();
        assert!(
            notices.len() == 1 && notices[0].contains(expected),
            "{text}: {notices:?}"
        );
    }
    client
        .ok("CREATE TABLE fine (a varchar(20), b int, PRIMARY KEY (a, b))")
        .await;
    assert_eq!(client.notices(), [""; 0]);
}

#[tokio::test]
async fn create_table_refuses_what_postgres_refuses() {
    let client = Client::new();
    client.ok("CREATE TABLE t (a int PRIMARY KEY)").await;
    client.notices();
    for (text, error) in [
        ("CREATE TABLE t (a int)", "42P07 relation \"t\" already exists"),
        (
            "CREATE TABLE t_pkey (a int)",
            "42P07 relation \"t_pkey\" already exists",
        ),
        (
            "CREATE TABLE nope.t (a int)",
            "3F000 schema \"nope\" does not exist",
        ),
        (
            "CREATE TABLE x (a int, a text)",
            "42701 column \"a\" specified more than once",
        ),
        (
            "CREATE TABLE x (a geometry)",
            "42704 type \"geometry\" does not exist",
        ),
        (
            "CREATE TABLE x (a int PRIMARY KEY, PRIMARY KEY (a))",
            "42P16 multiple primary keys for table \"x\" are not allowed",
        ),
        (
            "CREATE TABLE x (a int, PRIMARY KEY (b))",
            "42703 column \"b\" named in key does not exist",
        ),
        (
            "CREATE TABLE x (a int, PRIMARY KEY (a, a))",
            "42701 column \"a\" appears twice in primary key constraint",
        ),
        (
            "CREATE TABLE x (a int DEFAULT 'x')",
            "22P02 invalid input syntax for type integer: \"x\"",
        ),
        (
            "CREATE TABLE x (a int NOT NULL NULL)",
            "42601 conflicting NULL/NOT NULL declarations for column \"a\" of table \"x\"",
        ),
        (
            "CREATE TABLE x (a int CHECK (a > (SELECT 1)))",
            "0A000 cannot use subquery in check constraint",
        ),
        (
            "CREATE TABLE x (a int PRIMARY KEY DEFERRABLE)",
            "0A000 a deferrable primary key is not supported",
        ),
        (
            "CREATE TABLE x (a int) WITH (lasting = 5)",
            "22023 unrecognized parameter \"lasting\"",
        ),
        (
            "CREATE TABLE x (a int) WITH (full_scan = 'maybe')",
            "22023 invalid value for table option \"full_scan\": maybe",
        ),
    ] {
        assert_eq!(client.fails(text).await, error, "{text}");
    }
    assert!(
        client
            .fails("CREATE TABLE x (a json PRIMARY KEY)")
            .await
            .starts_with("0A000")
    );
    let (_, hint) = client
        .detail_and_hint("CREATE TABLE x (a int) WITH (lasting = 5)")
        .await;
    let hint = hint.unwrap();
    assert!(
        hint.contains("The table options are dynamic_columns, full_scan, buckets"),
        "{hint}"
    );
    assert_eq!(
        client.ok("CREATE TABLE IF NOT EXISTS t (b text)").await,
        "CREATE TABLE"
    );
    assert_eq!(client.notices(), ["relation \"t\" already exists, skipping"]);
}

#[tokio::test]
async fn definitions_are_transactional() {
    let mut client = Client::new();
    client.begin().await;
    client.ok("CREATE TABLE t (a int PRIMARY KEY)").await;
    client.ok("INSERT INTO t VALUES (1)").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["1"]);
    client.rollback();
    assert_eq!(
        client.fails("SELECT * FROM t").await,
        "42P01 relation \"t\" does not exist"
    );
    client.ok("CREATE TABLE t (b text PRIMARY KEY)").await;
}

#[tokio::test]
async fn dropped_and_truncated_data_goes_in_the_background() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b serial); INSERT INTO t (a) VALUES (1), (2)")
        .await;
    let before = client.table("t").await;
    assert_eq!(client.ok("TRUNCATE t").await, "TRUNCATE TABLE");
    assert_eq!(client.rows("SELECT * FROM t").await, [""; 0]);
    client.ok("INSERT INTO t (a) VALUES (1)").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|3"]);
    client
        .ok("TRUNCATE TABLE t RESTART IDENTITY; INSERT INTO t (a) VALUES (7)")
        .await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["7|1"]);
    let after = client.table("t").await;
    assert_eq!(after.oid, before.oid);
    assert_eq!(reclaim_dropped(&client.store).await, Ok(2));
    assert_eq!(client.rows("SELECT * FROM t").await, ["7|1"]);
    client.ok("DROP TABLE t").await;
    assert_eq!(reclaim_dropped(&client.store).await, Ok(1));
    assert!(client.fails("SELECT * FROM t").await.starts_with("42P01"));
}

#[tokio::test]
async fn drop_says_what_is_missing_or_of_another_kind() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY); CREATE VIEW v AS SELECT a FROM t")
        .await;
    client.notices();
    for (text, error) in [
        ("DROP TABLE nope", "42P01 table \"nope\" does not exist"),
        ("DROP VIEW nope", "42P01 view \"nope\" does not exist"),
        ("DROP INDEX nope", "42704 index \"nope\" does not exist"),
        ("DROP SCHEMA nope", "3F000 schema \"nope\" does not exist"),
        ("DROP TABLE v", "42809 \"v\" is not a table"),
        ("DROP VIEW t", "42809 \"t\" is not a view"),
        (
            "DROP TABLE t",
            "2BP01 cannot drop table t because other objects depend on it",
        ),
        (
            "DROP SCHEMA keyspan",
            "2BP01 cannot drop schema keyspan because it is required by the database system",
        ),
        (
            "DROP INDEX t_pkey",
            "2BP01 cannot drop index t_pkey because constraint t_pkey on table t requires it",
        ),
    ] {
        assert_eq!(client.fails(text).await, error, "{text}");
    }
    let (detail, hint) = client.detail_and_hint("DROP TABLE t").await;
    assert_eq!(detail.as_deref(), Some("view v depends on table t"));
    assert_eq!(
        hint.as_deref(),
        Some("Use DROP ... CASCADE to drop the dependent objects too.")
    );
    assert_eq!(client.ok("DROP TABLE IF EXISTS nope, nope2").await, "DROP TABLE");
    let skipped = [
        "table \"nope\" does not exist, skipping",
        "table \"nope2\" does not exist, skipping",
    ];
    assert_eq!(client.notices(), skipped);
    client.ok("DROP TABLE t CASCADE").await;
    assert_eq!(client.notices(), ["drop cascades to view v"]);
    assert!(client.fails("SELECT * FROM v").await.starts_with("42P01"));
}

#[tokio::test]
async fn schemas_hold_relations() {
    let client = Client::new();
    client
        .ok("CREATE SCHEMA s; CREATE TABLE s.t (a int PRIMARY KEY); INSERT INTO s.t VALUES (1)")
        .await;
    client.notices();
    assert_eq!(client.rows("SELECT * FROM s.t").await, ["1"]);
    assert_eq!(
        client.fails("CREATE SCHEMA s").await,
        "42P06 schema \"s\" already exists"
    );
    assert_eq!(
        client.fails("CREATE SCHEMA pg_x").await,
        "42939 unacceptable schema name \"pg_x\""
    );
    client.ok("CREATE SCHEMA IF NOT EXISTS s").await;
    assert_eq!(client.notices(), ["schema \"s\" already exists, skipping"]);
    assert_eq!(
        client.fails("DROP SCHEMA s").await,
        "2BP01 cannot drop schema s because other objects depend on it"
    );
    client.ok("DROP SCHEMA s CASCADE").await;
    assert_eq!(client.notices(), ["drop cascades to table s.t"]);
    assert!(client.fails("SELECT * FROM s.t").await.starts_with("42P01"));
}

#[tokio::test]
async fn columns_come_and_go_without_rewriting_rows() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x')")
        .await;
    client
        .ok("ALTER TABLE t ADD COLUMN c int DEFAULT 5, ADD COLUMN d text")
        .await;
    client.ok("INSERT INTO t VALUES (2, 'y', NULL, 'z')").await;
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|x|5|", "2|y||z"]);
    client
        .ok("ALTER TABLE t ALTER COLUMN c SET DEFAULT 6; INSERT INTO t (a) VALUES (3)")
        .await;
    assert_eq!(
        client.rows("SELECT * FROM t").await,
        ["1|x|5|", "2|y||z", "3||6|"]
    );
    client
        .ok("ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD COLUMN b int; ALTER TABLE t RENAME COLUMN d TO e")
        .await;
    assert_eq!(
        client.rows("SELECT a, b, c, e FROM t").await,
        ["1||5|", "2|||z", "3||6|"]
    );
    client.ok("ALTER TABLE t RENAME TO u").await;
    assert_eq!(client.rows("SELECT a FROM u").await, ["1", "2", "3"]);
    assert_eq!(
        client.ok("ALTER TABLE IF EXISTS t ADD COLUMN z int").await,
        "ALTER TABLE"
    );
    client
        .ok("ALTER TABLE u ADD COLUMN IF NOT EXISTS b int; ALTER TABLE u DROP COLUMN IF EXISTS zz")
        .await;
    let notices = client.notices();
    assert!(notices.ends_with(&[
        "relation \"t\" does not exist, skipping".to_string(),
        "column \"b\" of relation \"u\" already exists, skipping".to_string(),
        "column \"zz\" of relation \"u\" does not exist, skipping".to_string(),
    ]));
}

#[tokio::test]
async fn alter_table_refuses_what_would_break_rows() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, NULL)")
        .await;
    for (text, error) in [
        (
            "ALTER TABLE t ADD COLUMN b int",
            "42701 column \"b\" of relation \"t\" already exists",
        ),
        (
            "ALTER TABLE t ADD COLUMN c int NOT NULL",
            "23502 column \"c\" of relation \"t\" contains null values",
        ),
        (
            "ALTER TABLE t ALTER COLUMN b SET NOT NULL",
            "23502 column \"b\" of relation \"t\" contains null values",
        ),
        (
            "ALTER TABLE t ALTER COLUMN a DROP NOT NULL",
            "42P16 column \"a\" is in a primary key",
        ),
        (
            "ALTER TABLE t ADD PRIMARY KEY (b)",
            "42P16 multiple primary keys for table \"t\" are not allowed",
        ),
        (
            "ALTER TABLE t DROP COLUMN c",
            "42703 column \"c\" of relation \"t\" does not exist",
        ),
        (
            "ALTER TABLE t RENAME COLUMN b TO a",
            "42701 column \"a\" of relation \"t\" already exists",
        ),
        (
            "ALTER TABLE t DROP CONSTRAINT x",
            "42704 constraint \"x\" of relation \"t\" does not exist",
        ),
        (
            "ALTER TABLE nope ADD COLUMN a int",
            "42P01 relation \"nope\" does not exist",
        ),
        (
            "ALTER TABLE t ALTER COLUMN b TYPE uuid",
            "42804 column \"b\" cannot be cast automatically to type uuid",
        ),
    ] {
        assert_eq!(client.fails(text).await, error, "{text}");
    }
    client
        .ok("UPDATE t SET b = 2 WHERE a = 1; ALTER TABLE t ALTER COLUMN b SET NOT NULL")
        .await;
    assert!(
        client
            .fails("INSERT INTO t VALUES (2)")
            .await
            .starts_with("23502")
    );
    client
        .ok("ALTER TABLE t ALTER b DROP NOT NULL; INSERT INTO t VALUES (2)")
        .await;
    client
        .ok("ALTER TABLE t ADD COLUMN c int NOT NULL DEFAULT 3")
        .await;
    assert_eq!(client.rows("SELECT c FROM t").await, ["3", "3"]);
}

#[tokio::test]
async fn an_index_is_dropped_concurrently_alone_and_outside_of_a_block() {
    let mut client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX i ON t (b); CREATE INDEX j ON t (b, a)")
        .await;
    assert_eq!(
        client.fails("DROP INDEX CONCURRENTLY i, j").await,
        "0A000 DROP INDEX CONCURRENTLY does not support dropping multiple objects"
    );
    assert_eq!(
        client.ok("DROP INDEX CONCURRENTLY IF EXISTS i").await,
        "DROP INDEX"
    );
    client.begin().await;
    assert_eq!(
        client.fails("DROP INDEX CONCURRENTLY j").await,
        "25001 DROP INDEX CONCURRENTLY cannot run inside a transaction block"
    );
    client.ok("DROP INDEX j").await;
    client.commit().await.unwrap();
    assert!(client.table("t").await.indexes.is_empty());
}

#[tokio::test]
async fn unique_constraints_and_indexes_are_enforced() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE, c text)")
        .await;
    client
        .ok("INSERT INTO t VALUES (1, 10, 'x'), (2, NULL, 'y'), (3, NULL, 'x')")
        .await;
    let duplicate = "23505 duplicate key value violates unique constraint \"t_b_key\"";
    assert_eq!(client.fails("INSERT INTO t VALUES (4, 10, 'z')").await, duplicate);
    assert_eq!(client.fails("UPDATE t SET b = 10 WHERE a = 2").await, duplicate);
    client
        .ok("UPDATE t SET b = 11 WHERE a = 1; INSERT INTO t VALUES (4, 10, 'z'); DELETE FROM t WHERE a = 4")
        .await;
    client.ok("INSERT INTO t VALUES (5, 10, 'z')").await;
    let error = client.fails("CREATE UNIQUE INDEX i ON t (c)").await;
    assert_eq!(error, "23505 could not create unique index \"i\"");
    let (detail, _) = client.detail_and_hint("CREATE UNIQUE INDEX i ON t (c)").await;
    assert_eq!(detail.as_deref(), Some("Key (c)=(x) is duplicated."));
    client
        .ok("DELETE FROM t WHERE a = 3; CREATE UNIQUE INDEX i ON t (c)")
        .await;
    let duplicate = "23505 duplicate key value violates unique constraint \"i\"";
    assert_eq!(client.fails("INSERT INTO t VALUES (6, 6, 'z')").await, duplicate);
    client
        .ok("DROP INDEX i; INSERT INTO t VALUES (6, 6, 'z'); ALTER TABLE t DROP CONSTRAINT t_b_key")
        .await;
    client.ok("INSERT INTO t VALUES (7, 6, 'z')").await;
    let error = client.fails("ALTER TABLE t ADD CONSTRAINT bb UNIQUE (b)").await;
    assert_eq!(error, "23505 could not create unique index \"bb\"");
    client
        .ok("DELETE FROM t WHERE a = 7; ALTER TABLE t ADD CONSTRAINT bb UNIQUE (b)")
        .await;
    let duplicate = "23505 duplicate key value violates unique constraint \"bb\"";
    assert_eq!(client.fails("INSERT INTO t VALUES (8, 6, '')").await, duplicate);
    assert!(reclaim_dropped(&client.store).await.unwrap() >= 3);
    assert_eq!(client.fails("INSERT INTO t VALUES (8, 6, '')").await, duplicate);
}

#[tokio::test]
async fn an_index_is_built_and_named_as_postgresql_does() {
    let client = Client::new();
    client.ok("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    client.ok("CREATE INDEX ON t (b DESC, a)").await;
    let table = client.table("t").await;
    assert_eq!(table.indexes[0].name, "t_b_a_idx");
    assert!(table.indexes[0].is_complete() && !table.indexes[0].unique);
    assert_eq!(client.notices(), [""; 0]);
    assert_eq!(
        client.fails("CREATE INDEX t_b_a_idx ON t (b)").await,
        "42P07 relation \"t_b_a_idx\" already exists"
    );
    assert_eq!(
        client.fails("CREATE INDEX ON t (c)").await,
        "42703 column \"c\" does not exist"
    );
    client.ok("CREATE INDEX IF NOT EXISTS t_b_a_idx ON t (b)").await;
    client.ok("DROP INDEX t_b_a_idx").await;
    assert!(client.table("t").await.indexes.is_empty());
}

#[tokio::test]
async fn views_keep_their_columns() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x')")
        .await;
    client
        .ok("CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w (one, two) AS SELECT b, a + 1 FROM t")
        .await;
    client.ok("ALTER TABLE t ADD COLUMN c int").await;
    assert_eq!(client.rows("SELECT * FROM v").await, ["1|x"]);
    assert_eq!(client.rows("SELECT two, one FROM w").await, ["2|x"]);
    let catalog = client.context(&[]).await.catalog;
    let name = RelationName::in_schema("public", "w");
    let Object::View(view) = catalog.relation(name, Access::Name).unwrap() else {
        panic!("w is a view")
    };
    let columns = [
        ("one".to_string(), "text".to_string()),
        ("two".to_string(), "integer".to_string()),
    ];
    assert_eq!(view.columns, columns);
    assert_eq!(
        client.fails("CREATE VIEW v AS SELECT 1 AS a").await,
        "42P07 relation \"v\" already exists"
    );
    assert_eq!(
        client.fails("CREATE OR REPLACE VIEW v AS SELECT 1 AS a").await,
        "42P16 cannot drop columns from view"
    );
    assert_eq!(
        client
            .fails("CREATE OR REPLACE VIEW v AS SELECT a AS x, b FROM t")
            .await,
        "42P16 cannot change name of view column \"a\" to \"x\""
    );
    client
        .ok("CREATE OR REPLACE VIEW v AS SELECT a, b, c FROM t WHERE a > 0")
        .await;
    assert_eq!(client.rows("SELECT * FROM v").await, ["1|x|"]);
    assert!(
        client
            .fails("ALTER TABLE t DROP COLUMN b")
            .await
            .starts_with("2BP01")
    );
    client.ok("DROP VIEW v, w; ALTER TABLE t DROP COLUMN b").await;
}

#[tokio::test]
async fn tables_are_created_from_queries() {
    let client = Client::new();
    assert_eq!(
        client
            .ok("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b, 2.5 AS c")
            .await,
        "SELECT 1"
    );
    assert_eq!(client.rows("SELECT * FROM t").await, ["1|x|2.5"]);
    client
        .ok("CREATE TABLE IF NOT EXISTS u AS SELECT b, a + 1 AS c FROM t")
        .await;
    assert_eq!(client.rows("SELECT b, c FROM u").await, ["x|2"]);
    assert_eq!(
        client.fails("CREATE TABLE w AS SELECT 1 AS a, 2 AS a").await,
        "42701 column \"a\" specified more than once"
    );
    assert_eq!(client.ok("SELECT a INTO v FROM t").await, "SELECT 1");
    assert_eq!(client.rows("SELECT * FROM v").await, ["1"]);
}

#[tokio::test]
async fn comments_are_kept() {
    let client = Client::new();
    client
        .ok("CREATE TABLE t (a int PRIMARY KEY); CREATE SCHEMA s")
        .await;
    client
        .ok("COMMENT ON TABLE t IS 'tt'; COMMENT ON COLUMN t.a IS 'aa'; COMMENT ON SCHEMA s IS 'ss'")
        .await;
    let table = client.table("t").await;
    assert_eq!(table.comment.as_deref(), Some("tt"));
    assert_eq!(table.columns[0].comment.as_deref(), Some("aa"));
    let catalog = client.context(&[]).await.catalog;
    assert_eq!(catalog.schema("s").unwrap().comment.as_deref(), Some("ss"));
    client
        .ok("COMMENT ON TABLE t IS NULL; COMMENT ON COLUMN t.a IS ''")
        .await;
    let table = client.table("t").await;
    assert_eq!((&table.comment, &table.columns[0].comment), (&None, &None));
    assert_eq!(
        client.fails("COMMENT ON COLUMN t.b IS 'x'").await,
        "42703 column \"b\" of relation \"t\" does not exist"
    );
    assert_eq!(
        client.fails("COMMENT ON VIEW t IS 'x'").await,
        "42809 \"t\" is not a view"
    );
}
