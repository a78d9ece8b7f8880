//! Every predicate of `fixtures/predicates` over the wire: PostgreSQL 15's rows, and the class of access that the fixture
//! states. Three differences are by design, and said where they are met: −0 is stored as 0, ranges that touch are read
//! as one, and a CASE that is a condition in disguise is read as one. Then each once more on copies of the tables where the
//! key's columns stand in a secondary index, ascending and descending.

use serde_json::Value as Json;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::TestServer;

/// Key columns of the fixture's tables, in the order of the fixture's keys.
const KEYS: [(&str, &[&str]); 16] = [
    ("ti", &["a", "b", "c"]),
    ("td", &["a", "b", "c"]),
    ("ts", &["s", "n"]),
    ("sa", &["s", "n"]),
    ("tb", &["b", "n"]),
    ("tf", &["f"]),
    ("tg", &["g"]),
    ("tn", &["d"]),
    ("tt", &["t"]),
    ("tw", &["w"]),
    ("dt", &["d"]),
    ("tx", &["x"]),
    ("tu", &["u"]),
    ("si", &["k"]),
    ("sm", &["s"]),
    ("ch", &["c"]),
];

/// A server that has the fixture's tables.
async fn serve_fixture() -> (TestServer, Client) {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client
        .batch_execute(include_str!("../../fixtures/predicates/setup.sql"))
        .await
        .expect("the fixture loads");
    (server, client)
}

/// The fixture's predicates, each with what it must give.
fn entries() -> impl Iterator<Item = Json> {
    let lines = include_str!("../../fixtures/predicates/predicates.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

#[track_caller]
fn assert_none_differs(seen: usize, wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} of {seen} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn every_predicate_gives_postgresqls_rows_by_the_class_stated() {
    let (server, mut client) = serve_fixture().await;
    client
        .batch_execute("CREATE INDEX i1 ON si (v); CREATE INDEX i2 ON si (w DESC)")
        .await
        .expect("the fixture's indexes are built");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for entry in entries() {
        if let Err(problem) = check(&client, &entry).await {
            let sql: String = field(&entry, "pred").chars().take(120).collect();
            wrong.push(format!(
                "{} {}: {sql}: {problem}",
                entry["id"],
                field(&entry, "table")
            ));
            // One failure is one failure: neither a setting nor a broken connection reaches the next predicate.
            client = server.connect().await;
        }
        seen += 1;
    }
    assert!(seen >= 130, "{seen} predicates");
    assert_none_differs(seen, &wrong);
}

/// The copies of a table have no other key than the one index.
#[tokio::test]
async fn every_predicate_gives_the_same_rows_through_an_index() {
    let (server, mut client) = serve_fixture().await;
    for (table, columns) in KEYS {
        for (copy, direction) in COPIES {
            let key: Vec<String> = columns
                .iter()
                .map(|column| format!("{column} {direction}"))
                .collect();
            let made = format!(
                "CREATE TABLE {table}_{copy} AS SELECT * FROM {table}; CREATE INDEX ON {table}_{copy} ({})",
                key.join(", ")
            );
            client.batch_execute(&made).await.expect(&made);
        }
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    for entry in entries() {
        for (copy, _) in COPIES {
            if let Err(problem) = check_copy(&client, &entry, copy).await {
                wrong.push(format!(
                    "{} {copy}: {}: {problem}",
                    entry["id"],
                    field(&entry, "pred")
                ));
                client = server.connect().await;
            }
            seen += 1;
        }
    }
    assert!(seen >= 260, "{seen} predicates");
    assert_none_differs(seen, &wrong);
}

/// Copies of each table, and the direction of their index.
const COPIES: [(&str, &str); 2] = [("asc", "ASC"), ("desc", "DESC")];

async fn check_copy(client: &Client, entry: &Json, copy: &str) -> Result<(), String> {
    let (table, condition, class) = (field(entry, "table"), field(entry, "pred"), field(entry, "cls"));
    let columns = columns_of(table);
    let select = format!(
        "SELECT {} FROM {table}_{copy} WHERE {condition}",
        columns.join(", ")
    );
    let bounded = ["POINT", "RANGE", "EMPTY"]
        .iter()
        .any(|one| class.starts_with(one));
    if bounded && !class.contains("FULL") && !class.contains(" on ") && !condition.starts_with("CASE ") {
        client
            .simple_query(&format!("EXPLAIN {select}"))
            .await
            .map_err(|error| format!("refused, not {class}: {error}"))?;
    }
    check_rows(client, entry, &select, columns).await
}

fn columns_of(table: &str) -> &'static [&'static str] {
    let found = KEYS.iter().find(|(name, _)| *name == table);
    found.expect("a table of the fixture").1
}

async fn check(client: &Client, entry: &Json) -> Result<(), String> {
    let (table, condition, class) = (field(entry, "table"), field(entry, "pred"), field(entry, "cls"));
    let columns = columns_of(table);
    let select = format!("SELECT {} FROM {table} WHERE {condition}", columns.join(", "));
    // The optimizer says `CASE WHEN a = 1 THEN b = 2 ELSE false END` as `a = 1 AND b = 2`, which bounds the key.
    let class = if condition.starts_with("CASE ") {
        "RANGE(1) or FULL"
    } else {
        class
    };
    check_class(client, &select, class).await?;
    if class == "TOOMANY" {
        let error = client
            .simple_query(&select)
            .await
            .err()
            .ok_or("it ran, above the limit of keys")?;
        return match error.code() {
            Some(code) if code.code() == "54000" => Ok(()),
            _ => Err(format!("{error}, not SQLSTATE 54000")),
        };
    }
    check_rows(client, entry, &select, columns).await
}

/// The rows of the query and their order, whatever it takes.
async fn check_rows(client: &Client, entry: &Json, select: &str, columns: &[&str]) -> Result<(), String> {
    let table = field(entry, "table");
    client
        .batch_execute("SET keyspan.full_scan = allow; SET keyspan.multi_get_max_keys = 100000")
        .await
        .map_err(|error| error.to_string())?;
    let expected = expected_keys(entry);
    let count = usize::try_from(entry["rows"].as_u64().expect("a count")).expect("a small count");
    // In the order of the key that was read, which the fixture does not tell: compared as sets.
    let mut found = rows(client, select, table).await?;
    if found.len() != count || sorted_words(&shown(&found)) != sorted_words(&expected) {
        return Err(format!("{} rows, not {count}: {}", found.len(), found.join(" ")));
    }
    // In PostgreSQL's order, which may take a sort.
    found = rows(
        client,
        &format!("{select} ORDER BY {}", columns.join(", ")),
        table,
    )
    .await?;
    if shown(&found) != expected {
        return Err(format!("ordered: {}", found.join(" ")));
    }
    client
        .batch_execute("RESET keyspan.full_scan; RESET keyspan.multi_get_max_keys")
        .await
        .map_err(|error| error.to_string())
}

/// The class that EXPLAIN names, or the refusal.
async fn check_class(client: &Client, select: &str, class: &str) -> Result<(), String> {
    if class == "ANY" {
        return Ok(());
    }
    let found = match client.simple_query(&format!("EXPLAIN {select}")).await {
        Ok(messages) => {
            let lines: Vec<_> = text_rows(&messages).into_iter().map(|row| row.concat()).collect();
            class_of(&lines).ok_or_else(|| format!("EXPLAIN names no class:\n{}", lines.join("\n")))?
        }
        Err(error) => match error.code().map(|code| code.code()) {
            Some("53400") => "FULL".to_string(),
            Some("54000") => "TOOMANY".to_string(),
            _ => return Err(format!("EXPLAIN: {error}")),
        },
    };
    let stated: Vec<&str> = class.split(" or ").map(without_index).collect();
    if class_matches(&stated.join(" or "), &found) {
        Ok(())
    } else {
        Err(format!("{found}, not {class}"))
    }
}

/// `RANGE(1) on i1` without the index, which the class decides: no other key of the table has the column.
fn without_index(class: &str) -> &str {
    class.split(" on ").next().unwrap_or(class)
}

/// `POINT(3)`, `RANGE(2)`, `EMPTY` from EXPLAIN's lines.
fn class_of(lines: &[String]) -> Option<String> {
    let count = |name: &str| {
        let line = lines.iter().find_map(|line| line.trim().strip_prefix(name));
        line.map_or("1", str::trim).to_string()
    };
    let says = |words: &str| lines.iter().any(|line| line.contains(words));
    if says("Multi-Get") {
        Some(format!("POINT({})", count("Keys:")))
    } else if says("Range Scan") {
        Some(format!("RANGE({})", count("Ranges:")))
    } else if says("Empty Result") || says("One-Time Filter: false") {
        Some("EMPTY".to_string())
    } else {
        says("Full Scan").then(|| "FULL".to_string())
    }
}

/// Whether a class is one of those stated: `RANGE(1..2)`, `RANGE(<=4)`, `POINT(1) or EMPTY`, `RANGE/POINT(<=4)`. Fewer
/// ranges than stated are as good, since `a IN (1, 2)` on an integer touch and are read as one.
fn class_matches(stated: &str, found: &str) -> bool {
    let (class, count) = found.split_once('(').unwrap_or((found, ""));
    let count: Option<usize> = count.trim_end_matches(')').parse().ok();
    stated.split(" or ").any(|one| {
        let (names, counts) = one.split_once('(').unwrap_or((one, ""));
        let counts = counts.trim_end_matches(')').trim_start_matches("<=");
        let highest: Option<usize> = counts.rsplit("..").next().and_then(|count| count.parse().ok());
        let fits = match (count, highest) {
            (Some(count), Some(highest)) if one.contains("<=") || class == "RANGE" => count <= highest,
            (Some(count), Some(highest)) => count == highest,
            _ => true,
        };
        fits && names.split('/').any(|name| name == class)
    })
}

/// The rows of a query, each as PostgreSQL prints the row value of its columns (one column: its text).
async fn rows(client: &Client, sql: &str, table: &str) -> Result<Vec<String>, String> {
    let messages = client
        .simple_query(sql)
        .await
        .map_err(|error| match error.as_db_error() {
            Some(error) => format!("{}: {}", error.code().code(), error.message()),
            None => error.to_string(),
        })?;
    let row = |values: Vec<String>| match values.as_slice() {
        // The fixture shows char(n) as text, without its blanks.
        [one] if table == "ch" => one.trim_end().to_string(),
        [one] => one.clone(),
        many => format!(
            "({})",
            many.iter()
                .map(|value| quoted(value))
                .collect::<Vec<_>>()
                .join(",")
        ),
    };
    Ok(text_rows(&messages).into_iter().map(row).collect())
}

fn text_rows(messages: &[SimpleQueryMessage]) -> Vec<Vec<String>> {
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|at| row.get(at).unwrap_or_default().to_string())
                .collect(),
        ),
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

/// A field of a row value, quoted where PostgreSQL quotes it.
fn quoted(value: &str) -> String {
    let plain = |character: char| {
        !matches!(character, '"' | '\\' | '(' | ')' | ',') && !character.is_ascii_whitespace()
    };
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_string();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\"\""))
}

/// The fixture's keys. Keyspan stores −0 as 0 (they are equal, so a key cannot tell them apart): it prints 0.
fn expected_keys(entry: &Json) -> String {
    let keys = field(entry, "keys");
    match field(entry, "table") {
        "tf" | "tg" => keys
            .split(' ')
            .map(|key| if key == "-0" { "0" } else { key })
            .collect::<Vec<_>>()
            .join(" "),
        _ => keys.to_string(),
    }
}

/// Rows as the fixture writes them, which has lost the character U+10FFFF.
fn shown(rows: &[String]) -> String {
    rows.join(" ").replace('\u{10ffff}', "")
}

fn sorted_words(text: &str) -> Vec<&str> {
    let mut words: Vec<_> = text.split(' ').collect();
    words.sort_unstable();
    words
}

fn field<'a>(entry: &'a Json, name: &str) -> &'a str {
    entry[name].as_str().unwrap_or_default()
}
