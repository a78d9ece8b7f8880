//! Writes of a transaction whose snapshot is older than a definition that they break: they fail, to be done again by the definition. (In
//! PostgreSQL they obey it, for definitions are of no snapshot there.)

use crate::server::TestServer;

/// A partitioned table whose default partition has a partition of its own, and a table that refers to another such.
const SETUP: &str = "CREATE TABLE other (k int PRIMARY KEY);
    CREATE TABLE q (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
    CREATE TABLE q_rest PARTITION OF q DEFAULT PARTITION BY RANGE (id);
    CREATE TABLE q_rest_low PARTITION OF q_rest FOR VALUES FROM (0) TO (100);
    CREATE TABLE q_far PARTITION OF q FOR VALUES FROM (100) TO (200);
    INSERT INTO q VALUES (150, 1);
    CREATE TABLE lone (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
    CREATE TABLE lone_all PARTITION OF lone DEFAULT;
    CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (10);
    INSERT INTO p VALUES (1), (2);
    CREATE TABLE c (k int PRIMARY KEY, pid int);
    CREATE INDEX ON c (pid);
    INSERT INTO c VALUES (1, 1);
    CREATE TABLE r (k int PRIMARY KEY, pid int REFERENCES p);
    CREATE INDEX ON r (pid);
    CREATE DOMAIN positive AS int;
    CREATE TABLE d (k int PRIMARY KEY, v positive)";

#[tokio::test(flavor = "multi_thread")]
async fn a_write_by_an_older_definition_fails() {
    let made = "CREATE TABLE q_new PARTITION OF q FOR VALUES FROM (0) TO (10)";
    let attached = "CREATE TABLE q_new (id int PRIMARY KEY, v int);
        ALTER TABLE q ATTACH PARTITION q_new FOR VALUES FROM (0) TO (10)";
    let referred = "ALTER TABLE c ADD FOREIGN KEY (pid) REFERENCES p";
    for (definition, write) in [
        (made, "INSERT INTO q VALUES (5, 1)"),
        (made, "INSERT INTO q_rest_low VALUES (5, 1)"),
        (made, "UPDATE q SET id = 5 WHERE id = 150"),
        (attached, "INSERT INTO q VALUES (5, 1)"),
        (attached, "INSERT INTO q_rest_low VALUES (5, 1)"),
        (attached, "UPDATE q SET id = 5 WHERE id = 150"),
        (
            "ALTER TABLE q ATTACH PARTITION lone FOR VALUES FROM (200) TO (300)",
            "INSERT INTO lone_all VALUES (5, 1)",
        ),
        (referred, "DELETE FROM p WHERE id = 1"),
        (referred, "DELETE FROM p_low WHERE id = 1"),
        (
            "ALTER TABLE p DETACH PARTITION p_low",
            "INSERT INTO r VALUES (1, 2)",
        ),
        (
            "ALTER DOMAIN positive ADD CHECK (value > 0)",
            "INSERT INTO d VALUES (1, -1)",
        ),
        (
            "ALTER DOMAIN positive SET NOT NULL",
            "INSERT INTO d VALUES (1, NULL)",
        ),
    ] {
        let server = TestServer::start("memory").await;
        let (defining, writing) = (server.connect().await, server.connect().await);
        defining.batch_execute(SETUP).await.unwrap();
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM other";
        writing.batch_execute(begin).await.unwrap();
        defining.batch_execute(definition).await.unwrap();
        let written = writing.batch_execute(&format!("{write}; COMMIT")).await;
        let error = written.expect_err(&format!("{definition}; {write}"));
        let state = error.code().map(|code| code.code());
        assert_eq!(state, Some("40001"), "{definition}; {write}: {error:?}");
    }
}
