//! What SHOW CREATE TABLE answers makes the table again: asked of every table, view and materialized view that a script leaves behind, each
//! dropped and made of that text in a block that is rolled back.

use crate::client::{Protocol, Target, TextClient};

const RELATIONS: &str = "SELECT c.oid::regclass::text, c.relkind, keyspan_table_definition(c.oid) FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('information_schema', 'keyspan') AND n.nspname NOT LIKE 'pg\\_%' ORDER BY c.oid";

/// What went wrong: of each relation of a database whose text does not make it again, the text and what came of it. How many were made.
pub(crate) async fn differences(target: &Target) -> (usize, Vec<String>) {
    let mut client = TextClient::connect(target).await.unwrap();
    let mut run = async |sql: &str| client.run(sql, Protocol::Simple).await;
    run("SET keyspan.full_scan = allow").await.unwrap();
    run("SET statement_timeout = 0").await.unwrap();
    let relations = run(RELATIONS).await.unwrap().rows;
    let (mut made, mut wrong) = (0, Vec::new());
    for row in relations {
        let [Some(name), Some(kind), Some(text)] = row.as_slice() else {
            wrong.push(format!("{row:?} has no text"));
            continue;
        };
        let kind = match kind.as_str() {
            "v" => "VIEW",
            "m" => "MATERIALIZED VIEW",
            _ => "TABLE",
        };
        run("BEGIN").await.unwrap();
        let again = async {
            run(&format!("DROP {kind} {name} CASCADE")).await?;
            run(text).await?;
            let asked = format!(
                "SELECT keyspan_table_definition('{}'::regclass)",
                name.replace('\'', "''")
            );
            run(&asked).await
        };
        match again.await {
            Ok(reply) if is_same(kind, text, &reply.rows) => made += 1,
            Ok(reply) => wrong.push(format!("{name} was made as\n{text}\nand is\n{:?}", reply.rows)),
            Err(error) => wrong.push(format!("{name} cannot be made as\n{text}\n{error}")),
        }
        run("ROLLBACK").await.unwrap();
    }
    (made, wrong)
}

/// Whether a relation is told as it was, upper and lower case of keywords and blanks apart; of a view's query, only that it has the same
/// columns: a query is kept as it is written.
fn is_same(kind: &str, text: &str, again: &[Vec<Option<String>>]) -> bool {
    let [row] = again else { return false };
    let [Some(again)] = row.as_slice() else {
        return false;
    };
    let told = |text: &str| {
        let text = match kind {
            "TABLE" => text,
            _ => text.split(" AS\n").next().unwrap_or(text),
        };
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    told(text) == told(again)
}
