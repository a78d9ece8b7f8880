//! `StatementKind`: what a statement does to the database, decided from its tree. The session's rules follow from it: what
//! a read-only transaction refuses, what is still taken when the disk is nearly full, what leaves something to reclaim.

use sqlparser::ast::{AlterTableOperation, Query, SelectInto, SetExpr, Statement};

use super::alter::altered_kind;
use super::command::Command;
use super::copy::CopySubject;
use super::definition::{Definition, TrashStatement};
use super::explain_options::Options;
use super::with_write::{has_writes, write_of};

/// What a statement does to the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// It reads, or changes nothing but the session.
    Read,
    /// It writes.
    Write(Write),
}

/// As messages name it.
const TRUNCATE: &str = "TRUNCATE TABLE";

/// A statement that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// As messages name it: `INSERT`, `CREATE TABLE`.
    pub name: String,
    /// It only frees space: it writes little, and makes room once what it removes is gone.
    pub frees_space: bool,
    /// It may leave keys of no table behind.
    pub leaves_keys: bool,
}

impl Write {
    /// Whether the catalog is another one behind it: what TRUNCATE empties is stored anew.
    pub fn changes_catalog(&self) -> bool {
        self.is_definition() || self.name == TRUNCATE
    }

    /// Whether it changes definitions, not rows.
    pub fn is_definition(&self) -> bool {
        let of_rows = [
            "SELECT",
            "INSERT",
            "UPSERT",
            "UPDATE",
            "DELETE",
            "MERGE",
            "COPY FROM",
            TRUNCATE,
        ];
        !of_rows.contains(&self.name.as_str())
    }
}

impl StatementKind {
    /// The kind of a statement.
    pub(crate) fn of(statement: &Statement) -> StatementKind {
        match statement {
            Statement::Query(query) if has_writes(query) => match write_of(query) {
                Some(main) => StatementKind::of(main).never_alone(),
                None => writes("SELECT"),
            },
            Statement::Query(query) if !is_select_into(query) => StatementKind::Read,
            Statement::Query(_) => writes("SELECT INTO"),
            // What is called may write, which is refused then.
            Statement::Call(_) => StatementKind::Read,
            Statement::Insert(_) => writes("INSERT"),
            Statement::Update(_) => writes("UPDATE"),
            Statement::Delete(_) => removes("DELETE", false),
            Statement::Merge(_) => writes("MERGE"),
            Statement::Truncate(_) => removes(TRUNCATE, true),
            Statement::Drop { object_type, .. } => removes(&format!("DROP {object_type}"), true),
            Statement::AlterTable(alter) => StatementKind::Write(Write {
                name: altered_kind(alter).tag().to_string(),
                frees_space: !alter.operations.is_empty() && alter.operations.iter().all(is_drop),
                leaves_keys: true,
            }),
            Statement::Explain {
                statement: explained, ..
            } if Options::of(statement).is_ok_and(|options| options.analyze) => StatementKind::of(explained),
            Statement::Explain { .. } | Statement::ExplainTable { .. } => StatementKind::Read,
            Statement::CreateIndex(_) => writes("CREATE INDEX"),
            Statement::CreateTable(create) if create.query.is_some() => writes("CREATE TABLE AS"),
            Statement::CreateTable(_) => writes("CREATE TABLE"),
            Statement::CreateView(create) if create.materialized => writes("CREATE MATERIALIZED VIEW"),
            Statement::CreateView(_) => writes("CREATE VIEW"),
            other => writes(&first_words(other)),
        }
    }

    /// The kind of a command with the tree beside it.
    pub(crate) fn of_command(command: &Command, tree: &Statement) -> StatementKind {
        if let Command::Copy(copy) = command {
            return match (copy.is_from, &copy.subject) {
                (true, _) => writes(copy.name()),
                (false, CopySubject::Query) => StatementKind::of(tree),
                (false, CopySubject::Relation { .. }) => StatementKind::Read,
            };
        }
        match command.writes() {
            true if matches!(
                command,
                Command::Define(
                    Definition::RefreshView { .. } | Definition::AlterIndex { .. } | Definition::Trash(_)
                )
            ) =>
            {
                let purges = matches!(
                    command,
                    Command::Define(Definition::Trash(TrashStatement::Purge { .. }))
                );
                StatementKind::Write(Write {
                    name: command.tag().to_string(),
                    frees_space: purges,
                    leaves_keys: true,
                })
            }
            true => writes(command.tag()),
            false => StatementKind::Read,
        }
    }

    /// The kind of a statement that does this and writes more.
    fn never_alone(self) -> StatementKind {
        match self {
            StatementKind::Read => StatementKind::Read,
            StatementKind::Write(write) => StatementKind::Write(Write {
                frees_space: false,
                ..write
            }),
        }
    }

    /// What it writes, if it does.
    pub fn write(&self) -> Option<&Write> {
        match self {
            StatementKind::Read => None,
            StatementKind::Write(write) => Some(write),
        }
    }

    /// Whether it only frees space.
    pub fn frees_space(&self) -> bool {
        self.write().is_some_and(|write| write.frees_space)
    }
}

fn writes(name: &str) -> StatementKind {
    StatementKind::Write(Write {
        name: name.to_string(),
        frees_space: false,
        leaves_keys: false,
    })
}

fn removes(name: &str, leaves_keys: bool) -> StatementKind {
    StatementKind::Write(Write {
        name: name.to_string(),
        frees_space: true,
        leaves_keys,
    })
}

fn is_drop(operation: &AlterTableOperation) -> bool {
    matches!(
        operation,
        AlterTableOperation::DropColumn { .. } | AlterTableOperation::DropConstraint { .. }
    )
}

/// Whether a query is SELECT INTO: INTO stands in the first of its SELECTs.
pub(crate) fn is_select_into(query: &Query) -> bool {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return select.into.is_some(),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => query.body.as_ref(),
            _ => return false,
        };
    }
}

/// Takes INTO out of SELECT INTO.
pub(crate) fn take_into(query: &mut Query) -> Option<SelectInto> {
    let mut body = query.body.as_mut();
    loop {
        body = match body {
            SetExpr::Select(select) => return select.into.take(),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            SetExpr::Query(query) => query.body.as_mut(),
            _ => return None,
        };
    }
}

/// The first words of a statement: `CREATE SEQUENCE`.
pub(crate) fn first_words(statement: &Statement) -> String {
    let text = statement.to_string();
    let words: Vec<_> = text.split_whitespace().take(2).collect();
    match words.as_slice() {
        ["CREATE" | "ALTER" | "DROP", ..] => words.join(" "),
        [first, ..] => first.to_string(),
        [] => "this statement".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> StatementKind {
        crate::parse::parse(text).unwrap().remove(0).kind
    }

    #[test]
    fn writes_are_told_from_reads() {
        for (text, name) in [
            ("INSERT INTO t VALUES (1)", "INSERT"),
            ("WITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q", "INSERT"),
            ("WITH q AS (DELETE FROM t RETURNING a) SELECT a FROM q", "SELECT"),
            (
                "WITH q AS (DELETE FROM t RETURNING a) INSERT INTO u SELECT a FROM q",
                "INSERT",
            ),
            ("EXPLAIN ANALYZE UPDATE t SET a = 1", "UPDATE"),
            ("EXPLAIN (COSTS off, ANALYZE) UPSERT INTO t VALUES (1)", "INSERT"),
            ("/* a */ DELETE FROM t", "DELETE"),
            ("SELECT 1 AS a INTO t", "SELECT INTO"),
            ("CREATE TABLE t (a int)", "CREATE TABLE"),
            ("CREATE UNIQUE INDEX ON t (a)", "CREATE INDEX"),
            ("DROP VIEW v", "DROP VIEW"),
            ("TRUNCATE t", "TRUNCATE TABLE"),
            ("ALTER TABLE t ADD COLUMN b int", "ALTER TABLE"),
            ("ALTER VIEW v RENAME TO w", "ALTER VIEW"),
            ("ALTER TABLE IF EXISTS t SET SCHEMA s", "ALTER TABLE"),
        ] {
            assert_eq!(
                kind(text).write().map(|write| write.name.as_str()),
                Some(name),
                "{text}"
            );
        }
        for text in [
            "SELECT 1",
            "EXPLAIN DELETE FROM t",
            "EXPLAIN (ANALYZE off) DELETE FROM t",
            "VACUUM",
            "BEGIN",
            "SHOW ALL",
        ] {
            assert_eq!(kind(text), StatementKind::Read, "{text}");
        }
    }

    #[test]
    fn what_frees_space_is_told() {
        for text in [
            "DELETE FROM t WHERE a = 1 RETURNING *",
            "TRUNCATE t",
            "DROP TABLE t",
            "DROP INDEX i",
            "DROP SCHEMA s CASCADE",
            "ALTER TABLE t DROP COLUMN a, DROP CONSTRAINT c",
        ] {
            assert!(kind(text).frees_space(), "{text}");
        }
        for text in [
            "INSERT INTO t VALUES (1)",
            "WITH q AS (INSERT INTO u VALUES (1)) DELETE FROM t",
            "UPDATE t SET a = 1",
            "CREATE TABLE t (a int)",
            "ALTER TABLE t DROP COLUMN a, ADD COLUMN b int",
            "SELECT 1",
        ] {
            assert!(!kind(text).frees_space(), "{text}");
        }
    }
}
