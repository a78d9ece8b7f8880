//! `Effort`: whether the form of a statement bounds what it takes to parse it, to plan it and to compute its first rows.
//! Where it does, the statement is run in the task of its connection, beside those of all other clients; where it does
//! not, on the query threads, for nobody can stop a thread that computes. Called by `sql::execute` and by `session`.
//!
//! Bounded is what is short, names tables (a view may hold anything), has no query in it but its own, and calls only
//! functions that say of themselves that they are (`FunctionDef::is_bounded` and its like): none that makes much of little,
//! as `repeat`, `generate_series` or a pattern may.
//!
//! What has queries in it, or gathers rows, takes as long as it finds rows. It pauses where it reads and writes them, so that it may be run
//! beside the connection, too, once it is known to be short.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, GroupByExpr, ObjectName, SetExpr, Visitor,
};

use crate::catalog::Object;
use crate::parse::command::Command;
use crate::parse::explain_options::Options;
use crate::parse::walk::Walk;
use crate::parse::{ParsedStatement, TEXT_BYTES_MAX, names};
use crate::query::{WINDOW_FUNCTIONS, is_aggregate, is_bounded_call};
use crate::system::StatementContext;
use crate::types::Value;

/// Values of a Bind that are read at once, and with which a bounded statement stays bounded. In bytes.
pub const PARAMETER_BYTES_MAX: usize = 64 << 10;

/// A relation's schema, if it is written, and its name.
type Written = (Option<String>, String);

/// What a statement names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Named {
    relations: Vec<Written>,
    /// Functions, without their schemas.
    functions: Vec<String>,
}

/// What a statement's form says of the work that it makes.
#[derive(Debug, Clone)]
pub(crate) enum Effort {
    /// Bounded, as long as what it names are tables and built-in functions, and nothing stored with what it writes may call another.
    Bounded { named: Named, writes: bool },
    /// The same but for the rows that it finds.
    Pausing { named: Named, writes: bool },
    /// As much as it likes.
    Unbounded,
}

/// Whether values are so few that a bounded statement stays bounded with them.
fn are_quick_to_read(values: &[Value]) -> bool {
    let bytes = |value: &Value| match value {
        Value::Text(text) | Value::Unknown(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(items) => 16 * items.len(),
        _ => 16,
    };
    values.iter().map(bytes).sum::<usize>() <= PARAMETER_BYTES_MAX
}

impl Effort {
    /// That of a statement.
    pub(super) fn of(parsed: &ParsedStatement) -> Effort {
        let (statement, text) = (planned(&parsed.ast), &parsed.text);
        let simple = match statement {
            ast::Statement::Query(query) => is_simple(query),
            ast::Statement::Insert(insert) => insert.source.as_ref().is_none_or(|source| {
                matches!(source.body.as_ref(), SetExpr::Values(_)) && source.with.is_none()
            }),
            ast::Statement::Update(_) | ast::Statement::Delete(_) => true,
            _ => false,
        };
        let mut found = Found::default();
        // What a COPY takes is as long as its data.
        if matches!(parsed.command, Some(Command::Copy(_))) {
            return Effort::Unbounded;
        }
        if text.len() > TEXT_BYTES_MAX || statement.walk(&mut found).is_break() {
            return Effort::Unbounded;
        }
        let own = usize::from(matches!(
            statement,
            ast::Statement::Query(_) | ast::Statement::Insert(_)
        ));
        let named = found.named;
        let is_query = matches!(statement, ast::Statement::Query(_));
        let writes = !is_query || parsed.kind.write().is_some();
        match statement {
            _ if simple && found.queries <= own && !found.gathers => Effort::Bounded {
                writes: !is_query,
                named,
            },
            ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_) => Effort::Pausing { named, writes },
            _ => Effort::Unbounded,
        }
    }

    /// Whether the statement's work is bounded with these tables and parameters.
    pub(super) fn is_bounded(&self, ctx: &StatementContext) -> bool {
        matches!(self, Effort::Bounded { .. }) && self.is_pausing(ctx)
    }

    /// The same but for the rows that it finds.
    pub(super) fn is_pausing(&self, ctx: &StatementContext) -> bool {
        match self {
            Effort::Bounded { named, writes } | Effort::Pausing { named, writes } => {
                named.is_bounded(ctx) && !(*writes && named.writes_may_call(ctx))
            }
            Effort::Unbounded => false,
        }
    }
}

/// The statement, or the one that it only says the plan of.
fn planned(statement: &ast::Statement) -> &ast::Statement {
    match (statement, Options::of(statement)) {
        (ast::Statement::Explain { statement, .. }, Ok(options)) if !options.analyze => statement,
        _ => statement,
    }
}

impl Named {
    /// Whether these are tables and built-in functions, and the parameters are quick to read.
    fn is_bounded(&self, ctx: &StatementContext) -> bool {
        let is_view = |(schema, name): &Written| {
            matches!(ctx.peek_relation(schema.as_deref(), name), Some(Object::View(_)))
        };
        let is_a_users = |name: &String| ctx.catalog.routines.may_be_in(name);
        are_quick_to_read(&ctx.parameters)
            && !self.relations.iter().any(is_view)
            && !self.functions.iter().any(is_a_users)
    }

    /// Whether a write of a table among these may call a function of a user's.
    fn writes_may_call(&self, ctx: &StatementContext) -> bool {
        let may = |(schema, name): &Written| {
            let found = ctx.peek_relation(schema.as_deref(), name);
            matches!(found, Some(Object::Table(table)) if ctx.catalog.write_may_call(table))
        };
        !ctx.catalog.routines.is_empty() && self.relations.iter().any(may)
    }
}

/// A query of one SELECT or VALUES, with no groups but by columns.
fn is_simple(query: &ast::Query) -> bool {
    query.with.is_none()
        && match query.body.as_ref() {
            SetExpr::Select(select) => match &select.group_by {
                GroupByExpr::All(_) => false,
                GroupByExpr::Expressions(keys, modifiers) => {
                    modifiers.is_empty()
                        && keys
                            .iter()
                            .all(|key| matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
                }
            },
            SetExpr::Values(_) => true,
            _ => false,
        }
}

/// What a statement's form is made of. The walk ends at what has no bounds whatever it reads.
#[derive(Default)]
struct Found {
    queries: usize,
    /// Something gathers rows, or is a query in FROM.
    gathers: bool,
    named: Named,
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        // One that is no relation's name reads nothing.
        self.named.relations.extend(names::relation_name(name).ok());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &ast::TableFactor) -> ControlFlow<()> {
        match factor {
            ast::TableFactor::Table { args: None, .. } => ControlFlow::Continue(()),
            ast::TableFactor::Derived { .. } | ast::TableFactor::NestedJoin { .. } => {
                self.gathers = true;
                ControlFlow::Continue(())
            }
            // It gives as many rows each time: those of a run that was short are few.
            ast::TableFactor::Table {
                args: Some(arguments),
                ..
            } if arguments.args.iter().all(is_constant) => {
                self.gathers = true;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_bounded = match expr {
            Expr::Function(function) => names::last_name(&function.name).is_some_and(|name| {
                let gathers = is_aggregate(&name) || WINDOW_FUNCTIONS.contains(&name.as_str());
                let is_bounded = is_bounded_call(&name);
                self.gathers |= gathers && !is_bounded;
                self.named.functions.push(name);
                gathers || is_bounded
            }),
            // Behind FROM may stand a pattern.
            Expr::Substring {
                substring_from: Some(from),
                shorthand: false,
                ..
            } => is_number(from),
            Expr::BinaryOp { op, .. } => !matches!(
                op,
                BinaryOperator::Custom(_)
                    | BinaryOperator::PGExp
                    | BinaryOperator::PGRegexMatch
                    | BinaryOperator::PGRegexIMatch
                    | BinaryOperator::PGRegexNotMatch
                    | BinaryOperator::PGRegexNotIMatch
            ),
            Expr::SimilarTo { .. } => false,
            _ => true,
        };
        match is_bounded {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// Whether an argument is the same in every run.
fn is_constant(argument: &FunctionArg) -> bool {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => {
            !matches!(value.value, ast::Value::Placeholder(_))
        }
        _ => false,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, ast::Value::Number(..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_bounded_by_its_form() {
        let effort = |text: &str| crate::sql::parse(text).unwrap().remove(0).effort;
        for text in [
            "SELECT 1",
            "SELECT a, lower(b) FROM t WHERE a = $1 AND b LIKE 'x%' ORDER BY c LIMIT 5",
            "SELECT count(*), sum(a) FROM t JOIN u ON t.a = u.a WHERE t.a IN (1, 2, 3)",
            "VALUES (1), (2)",
            "INSERT INTO t (a, b) VALUES ($1, now()) ON CONFLICT DO NOTHING RETURNING a",
            "UPDATE t SET b = b + 1 WHERE a = 1",
            "SELECT substring(b, 1, 3), substr(b, a), trim(b), greatest(a, 1), current_date, stddev(a) FROM t",
            "SELECT set_config('a.b', current_setting('a.b'), false), pg_catalog.lower('A')",
            "DELETE FROM t WHERE a = 1",
            "EXPLAIN (COSTS OFF) SELECT a FROM t WHERE a = 1",
        ] {
            assert!(matches!(effort(text), Effort::Bounded { .. }), "{text}");
        }
        let long = format!("SELECT {}1", "1, ".repeat(4000));
        for text in [
            "SELECT count(*) FROM generate_series(1, $1)",
            "SELECT count(*) FROM generate_series(1, 10 * 10)",
            "SELECT * FROM unnest(ARRAY[1])",
            "SELECT length(repeat('x', 1000000000))",
            "SELECT 2 ^ 3",
            "SELECT 'a' ~ 'b'",
            "SELECT 'a' SIMILAR TO 'b'",
            "SELECT substring('a' FROM 'b')",
            "SELECT substring('a', $1)",
            "SELECT no_such_function(1)",
            "INSERT INTO t SELECT a FROM generate_series(1, $1) a",
            "EXPLAIN ANALYZE SELECT 1",
            "CREATE TABLE t (a int)",
            &long,
        ] {
            assert!(matches!(effort(text), Effort::Unbounded), "{text}");
        }
        for text in [
            "SELECT array_agg(a) FROM t",
            "SELECT count(*) FROM generate_series(1, 15000000)",
            "SELECT a, row_number() OVER (ORDER BY a) FROM t",
            "SELECT (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = a.attrelid) FROM pg_attribute a",
            "WITH q AS (SELECT 1) SELECT * FROM q",
            "SELECT (SELECT 1)",
            "SELECT * FROM (SELECT 1) s",
            "SELECT 1 UNION SELECT 2",
            "SELECT count(*) FROM t GROUP BY CUBE (a, b)",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
            "INSERT INTO t SELECT * FROM u",
            "DELETE FROM t WHERE a IN (SELECT a FROM u)",
            "EXPLAIN INSERT INTO t SELECT * FROM u",
        ] {
            assert!(matches!(effort(text), Effort::Pausing { .. }), "{text}");
        }
    }

    #[tokio::test]
    async fn a_write_is_bounded_where_no_function_of_a_users_may_run() {
        let client = crate::sql::testing::Client::new();
        for text in [
            "CREATE FUNCTION \"Twice it\"(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1'",
            "CREATE FUNCTION lower(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1'",
            "CREATE DOMAIN twice AS int CHECK (\"Twice it\"(VALUE) > 0)",
            "CREATE DOMAIN once AS int CHECK (VALUE > 0)",
            "CREATE TABLE plain (k serial PRIMARY KEY, v int DEFAULT 1 + 1, w once, x text GENERATED ALWAYS AS (upper('a')) STORED)",
            "CREATE TABLE defaults (k int PRIMARY KEY, v int DEFAULT \"Twice it\"(1))",
            "CREATE TABLE generated (k int PRIMARY KEY, v int GENERATED ALWAYS AS (\"Twice it\"(k)) STORED)",
            "CREATE TABLE checks (k int PRIMARY KEY CHECK (\"Twice it\"(k) > 0))",
            "CREATE TABLE indexes (k int PRIMARY KEY, v int); CREATE INDEX ON indexes ((\"Twice it\"(v)))",
            "CREATE TABLE predicates (k int PRIMARY KEY, v int); CREATE INDEX ON predicates (v) WHERE \"Twice it\"(v) > 0",
            "CREATE TABLE domains (k int PRIMARY KEY, v twice)",
            "CREATE TABLE referred (k int PRIMARY KEY)",
            "CREATE TABLE between (k int PRIMARY KEY REFERENCES referred ON DELETE CASCADE)",
            "CREATE TABLE referring (k int PRIMARY KEY, b int DEFAULT \"Twice it\"(1) REFERENCES between ON DELETE SET DEFAULT)",
        ] {
            for text in text.split("; ") {
                client.ok(text).await;
            }
        }
        let ctx = client.context(&[]).await;
        let is_bounded = |text: &str| crate::sql::parse(text).unwrap().remove(0).effort.is_bounded(&ctx);
        assert!(is_bounded("INSERT INTO plain (v) VALUES (abs(1))"));
        assert!(is_bounded(
            "UPDATE plain SET v = 2 WHERE k = 1 RETURNING upper(x)"
        ));
        assert!(!is_bounded("UPDATE plain SET v = lower(2) WHERE k = 1"));
        assert!(!is_bounded("SELECT lower(2)"));
        for table in [
            "defaults",
            "generated",
            "checks",
            "indexes",
            "predicates",
            "domains",
            "referred",
            "between",
            "referring",
        ] {
            assert!(
                !is_bounded(&format!("DELETE FROM {table} WHERE k = 1")),
                "{table}"
            );
            assert!(!is_bounded(&format!("INSERT INTO {table} VALUES (1)")), "{table}");
            assert!(
                is_bounded(&format!("SELECT k FROM {table} WHERE k = 1")),
                "{table}"
            );
        }
    }
}
