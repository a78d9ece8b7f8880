//! What `parse::tree_fields` calls read is read: of statements that have a field, one must answer otherwise once the field is
//! taken out of its tree. A test only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast;

use super::testing::{Client, FAILED};
use super::{Statement, parse};
use crate::parse::tree_fields::{Clause, Probe, check};

/// The tables that the statements are about.
const TABLES: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b int, c text);
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'x'), (4, 20, NULL);
    CREATE TABLE u (a int PRIMARY KEY, d text);
    INSERT INTO u VALUES (1, 'one'), (3, 'three'), (5, 'five');
    CREATE TABLE w (a int NOT NULL, e int NOT NULL, g int GENERATED ALWAYS AS (e + 1) STORED);
    CREATE UNIQUE INDEX w_a ON w (a);
    CREATE UNIQUE INDEX w_e ON w (e);
    CREATE TABLE i (a int GENERATED ALWAYS AS IDENTITY, b int);
    INSERT INTO i (b) VALUES (1), (2);
    CREATE VIEW v AS SELECT a FROM t;
    CREATE SCHEMA s;
    COMMENT ON TABLE t IS 'told'";

/// What a statement may have changed.
const STATE: [&str; 5] = [
    "SELECT 't' AS of, a, b, c FROM t UNION ALL SELECT 'u', a, NULL, d FROM u ORDER BY 1, 2",
    "SELECT c.relname, c.relkind, n.nspname, a.attname, a.attnum, a.attnotnull, a.attidentity, a.attgenerated,
       format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum),
       obj_description(c.oid, 'pg_class')
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
     LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE n.nspname IN ('public', 's') ORDER BY 3, 1, 5",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname IN ('public', 's') ORDER BY 1",
    "SELECT conname, contype, connoinherit, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
     WHERE r.relnamespace IN ('public'::regnamespace, 's'::regnamespace) ORDER BY 1",
    "SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size FROM pg_sequences
     ORDER BY 1",
];

/// What TRUNCATE may have done to an identity column.
const NEXT_VALUE: &str = "INSERT INTO i (b) VALUES (3) RETURNING a";

/// Statements that have between them each field that is read.
const STATEMENTS: &str = include_str!("read_fields.sql");

/// The modules of `tree_fields`, for the names of the fields.
const SOURCES: [&str; 4] = [
    include_str!("../parse/tree_fields/definition.rs"),
    include_str!("../parse/tree_fields/expression.rs"),
    include_str!("../parse/tree_fields/query.rs"),
    include_str!("../parse/tree_fields/write.rs"),
];

/// Notes the fields that are there, and takes one of them away.
#[derive(Default)]
struct Recorder {
    met: Vec<&'static str>,
    cleared: Option<usize>,
}

impl Probe for &mut Recorder {
    fn meet(&mut self, field: &'static str, clause: &mut dyn Clause) {
        if clause.is_set() {
            if self.cleared == Some(self.met.len()) {
                clause.clear();
            }
            self.met.push(field);
        }
    }
}

/// The fields that the source gives the verdict `read`: `Query.with`.
fn fields_read() -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for source in SOURCES {
        for (at, call) in source
            .match_indices("fields!(")
            .chain(source.match_indices("verdicts!("))
        {
            let arguments = &source[at + call.len()..];
            let arguments = &arguments[..closing(arguments)];
            let is_struct = call.starts_with('f');
            let before = if is_struct { 2 } else { 1 };
            let rest = arguments.splitn(before + 1, ',').last().unwrap_or_default();
            let end = if is_struct { '{' } else { ',' };
            let (name, rest) = rest.split_once(end).expect("a type and its fields");
            let name = name.trim().trim_matches('"');
            for part in rest.split([',', '{', '}', '\n']) {
                if let Some(field) = part.trim().strip_suffix(": read") {
                    fields.insert(format!("{name}.{field}"));
                }
            }
        }
    }
    fields
}

/// Where the parenthesis that is open closes.
fn closing(text: &str) -> usize {
    let (mut depth, mut quoted) = (1, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Everything that can be seen of a statement: what it answers, tells and leaves behind; of a query its plan, too.
async fn outcome(client: &mut Client, statement: &Statement) -> Vec<String> {
    client.begin().await;
    let answer = client.answer(statement).await;
    let mut seen = vec![match &statement.parsed.ast {
        ast::Statement::Explain { .. } => without_times(&answer),
        _ => answer,
    }];
    if let ast::Statement::Query(_) = &statement.parsed.ast {
        let explained = ast::Statement::Explain {
            describe_alias: ast::DescribeAlias::Explain,
            analyze: false,
            verbose: false,
            query_plan: false,
            estimate: false,
            statement: Box::new(statement.parsed.ast.clone()),
            format: None,
            options: None,
        };
        seen.push(client.answer(&statement.with_tree(explained)).await);
    } else {
        let truncates = matches!(statement.parsed.ast, ast::Statement::Truncate(_));
        for query in STATE.into_iter().chain(truncates.then_some(NEXT_VALUE)) {
            let query = parse(query).expect("the state can be asked for").remove(0);
            seen.push(client.answer(&query).await);
        }
    }
    seen.extend(client.notices());
    client.rollback();
    seen
}

/// Without the times that EXPLAIN ANALYZE took.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    let words = text.split_inclusive([' ', '\n']);
    words.filter(|word| !is_time(word)).collect()
}

/// Whether two outcomes prove nothing: they are equal, or the same error, whose text may well repeat what was written.
fn are_same(one: &[String], other: &[String]) -> bool {
    let error = |outcome: &[String]| {
        let text = outcome[0].strip_prefix(FAILED)?;
        Some(text[..5].to_string())
    };
    one == other || error(one).is_some_and(|state| Some(state) == error(other))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_field_that_is_read_changes_an_answer() {
    let mut client = Client::new();
    client.ok(TABLES).await;
    client.notices();
    let mut proved = BTreeSet::new();
    let mut unread = Vec::new();
    let mut unproved: BTreeMap<&str, String> = BTreeMap::new();
    for text in STATEMENTS
        .split(";\n")
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        let statement = match parse(text) {
            Ok(mut statements) => statements.remove(0),
            Err(error) => {
                unread.push(format!("{text}: {error}"));
                continue;
            }
        };
        let mut recorder = Recorder::default();
        assert!(matches!(
            check(&mut statement.parsed.ast.clone(), &mut recorder),
            ControlFlow::Continue(())
        ));
        let fields = recorder.met;
        if fields.iter().all(|field| proved.contains(field)) {
            continue;
        }
        let expected = outcome(&mut client, &statement).await;
        let again = outcome(&mut client, &statement).await;
        if expected != again {
            let differ = expected.iter().zip(&again).find(|(one, other)| one != other);
            unread.push(format!("{text} does not answer the same twice: {differ:#?}"));
        }
        for (at, field) in fields.iter().enumerate() {
            if proved.contains(field) {
                continue;
            }
            let mut tree = statement.parsed.ast.clone();
            let mut recorder = Recorder {
                cleared: Some(at),
                ..Recorder::default()
            };
            let _ = check(&mut tree, &mut recorder);
            match are_same(&outcome(&mut client, &statement.with_tree(tree)).await, &expected) {
                true => drop(unproved.insert(field, text.to_string())),
                false => drop(proved.insert(*field)),
            }
        }
    }
    for field in fields_read() {
        if !proved.contains(field.as_str()) {
            unread.push(match unproved.get(field.as_str()) {
                Some(text) => format!("{field}: {text} answers the same without it"),
                None => format!("{field}: no statement of read_fields.sql has it"),
            });
        }
    }
    assert!(
        unread.is_empty(),
        "fields that nobody proves to be read:\n{}",
        unread.join("\n")
    );
}

#[test]
fn no_field_is_passed_over() {
    for source in SOURCES {
        for (number, line) in source.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            assert!(
                !code.contains("..") || code.contains("(..)"),
                "line {}: name the field and give it a verdict: {line}",
                number + 1
            );
        }
    }
}
