//! `WITH … INSERT / UPDATE / DELETE / UPSERT`: a write each of whose queries takes the WITH clause along, which says the
//! same. The parser would make it a query around the write; that is what it stays when a query of the clause writes itself, or several of
//! the write's would take it along, for each of those runs once. `sql::dml` takes it apart.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Cte, Ident, ObjectName, Query, SetExpr, TableAlias, TableFactor, TableWithJoins,
    UpdateTableFromKind, Visitor, VisitorMut, With,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::token_reader::is_word;
use super::walk::{Walk, WalkMut, visit_relations};
use super::{names, row_assignment};
use crate::Error;
use crate::error::StatementFault;

/// The statement whose WITH is next.
pub(super) fn parse(parser: &mut Parser) -> Result<ast::Statement, ParserError> {
    let mut with = With {
        with_token: parser.next_token().into(),
        recursive: parser.parse_keyword(Keyword::RECURSIVE),
        cte_tables: parser.parse_comma_separated(Parser::parse_cte)?,
    };
    with.cte_tables.iter_mut().for_each(settle);
    let Token::Word(verb) = &parser.peek_token_ref().token else {
        return parse_query(parser, with);
    };
    match verb.keyword {
        Keyword::WITH => parser.expected_ref("a statement behind WITH", parser.peek_token_ref()),
        Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE | Keyword::MERGE => {
            Ok(around(parser.parse_statement()?, with))
        }
        _ if is_word(verb, "UPSERT") => Ok(around(parser.parse_statement()?, with)),
        _ => parse_query(parser, with),
    }
}

/// Does for a write in the clause what is done where one is a statement: an INSERT that is spelt so becomes an UPSERT, row assignments are
/// taken apart.
fn settle(cte: &mut Cte) {
    match cte.query.body.as_mut() {
        SetExpr::Update(ast::Statement::Update(update)) => {
            row_assignment::take_apart(&mut update.assignments)
        }
        SetExpr::Merge(ast::Statement::Merge(merge)) => row_assignment::take_merge_apart(merge),
        _ => {}
    }
    if let SetExpr::Insert(ast::Statement::Insert(insert)) = cte.query.body.as_mut()
        && let Token::Word(verb) = &insert.insert_token.0.token
        && verb.value.eq_ignore_ascii_case("UPSERT")
    {
        insert.replace_into = true;
    }
}

/// The write with its clause.
fn around(write: ast::Statement, with: With) -> ast::Statement {
    let is_part = |cte: &Cte| is_write(&cte.query) || readers(&write, &with, cte) > 1;
    if !with.cte_tables.iter().any(is_part) {
        return give(write, with);
    }
    let body = match write {
        ast::Statement::Update(_) => SetExpr::Update(write),
        ast::Statement::Delete(_) => SetExpr::Delete(write),
        ast::Statement::Merge(_) => SetExpr::Merge(write),
        write => SetExpr::Insert(write),
    };
    ast::Statement::Query(Box::new(Query {
        with: Some(with),
        ..bare_query(body)
    }))
}

/// How many queries of a write, and relations of its FROM, would run a query of the clause if each took it along.
fn readers(write: &ast::Statement, with: &With, cte: &Cte) -> usize {
    let mut names = vec![names::fold(&cte.alias.name)];
    for other in &with.cte_tables {
        if mentions_any(&*other.query, &names) {
            names.push(names::fold(&other.alias.name));
        }
    }
    let mut readers = Readers {
        names: &names,
        depth: 0,
        found: 0,
    };
    let _ = write.walk(&mut readers);
    readers.found
}

fn mentions_any(tree: &impl Walk, names: &[String]) -> bool {
    let found = visit_relations(tree, |name| match is_any(name, names) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn is_any(name: &ObjectName, names: &[String]) -> bool {
    matches!(names::relation_name(name), Ok((None, name)) if names.contains(&name))
}

/// Visits the outermost queries of a write, and the relations outside them.
struct Readers<'n> {
    names: &'n [String],
    depth: usize,
    found: usize,
}

impl Visitor for Readers<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            self.found += usize::from(mentions_any(query, self.names));
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.found += usize::from(self.depth == 0 && is_any(name, self.names));
        ControlFlow::Continue(())
    }
}

/// A query of a body and nothing else.
pub(crate) fn bare_query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// Whether a query is a write with RETURNING or without, as one of a WITH clause may be.
pub(crate) fn is_write(query: &Query) -> bool {
    write_of(query).is_some()
}

/// The write that a query is.
pub(crate) fn write_of(query: &Query) -> Option<&ast::Statement> {
    match query.body.as_ref() {
        SetExpr::Insert(write) | SetExpr::Update(write) | SetExpr::Delete(write) | SetExpr::Merge(write) => {
            Some(write)
        }
        _ => None,
    }
}

/// Whether a query's own WITH clause writes, or what it belongs to does.
pub(crate) fn has_writes(query: &Query) -> bool {
    if is_write(query) {
        return true;
    }
    let queries = query.with.iter().flat_map(|with| &with.cte_tables);
    queries.into_iter().any(|cte| is_write(&cte.query))
}

fn parse_query(parser: &mut Parser, with: With) -> Result<ast::Statement, ParserError> {
    let mut query = parser.parse_query()?;
    query.with = Some(with);
    Ok(ast::Statement::Query(query))
}

/// Gives every outermost query of the write the clause, and makes queries of the relations that it names.
pub(crate) fn give(mut write: ast::Statement, with: With) -> ast::Statement {
    match &mut write {
        ast::Statement::Update(update) => {
            if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) =
                &mut update.from
            {
                from.iter_mut().for_each(|table| name_queries(table, &with));
            }
        }
        ast::Statement::Delete(delete) => {
            delete
                .using
                .iter_mut()
                .flatten()
                .for_each(|table| name_queries(table, &with));
        }
        ast::Statement::Merge(merge) => match &mut merge.source {
            TableFactor::NestedJoin { table_with_joins, .. } => name_queries(table_with_joins, &with),
            source => name_query(source, &with),
        },
        _ => {}
    }
    let _ = write.walk_mut(&mut Give { with, depth: 0 });
    write
}

/// What may not have a clause that writes. Its SQLSTATE is 0A000.
pub(crate) fn with_writes(what: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: format!("{what} must not contain data-modifying statements in WITH"),
        hint: None,
    }
}

/// Turns relations that the clause names into `(SELECT * FROM name) AS name`.
fn name_queries(table: &mut TableWithJoins, with: &With) {
    name_query(&mut table.relation, with);
    for join in &mut table.joins {
        name_query(&mut join.relation, with);
    }
}

fn name_query(factor: &mut TableFactor, with: &With) {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return;
    };
    let Ok((None, name)) = names::relation_name(name) else {
        return;
    };
    let mut queries = with.cte_tables.iter();
    if !queries.any(|cte| names::fold(&cte.alias.name) == name) {
        return;
    }
    let Some(subquery) = select_all(&name) else {
        return;
    };
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    });
    *factor = TableFactor::Derived {
        lateral: false,
        subquery,
        alias: Some(alias),
        sample: None,
    };
}

fn select_all(name: &str) -> Option<Box<Query>> {
    let text = format!(
        "SELECT * FROM {}",
        Ident::with_quote('"', name.replace('"', "\"\""))
    );
    Parser::new(&PostgreSqlDialect {})
        .try_with_sql(&text)
        .ok()?
        .parse_query()
        .ok()
}

/// Visits the queries of a write; the outermost take the clause.
struct Give {
    with: With,
    depth: usize,
}

impl VisitorMut for Give {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if self.depth == 0 {
            match &mut query.with {
                // The query's own names come after the clause's, and so hide them.
                Some(own) => {
                    own.recursive |= self.with.recursive;
                    own.cte_tables.splice(0..0, self.with.cte_tables.iter().cloned());
                }
                None => query.with = Some(self.with.clone()),
            }
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    fn unwrapped(text: &str) -> String {
        crate::parse::parse(text).unwrap()[0].ast.to_string()
    }

    #[test]
    fn a_query_that_several_would_take_along_stays_in_the_clause() {
        for text in [
            "WITH a AS (SELECT 1 AS x) UPDATE t SET v = (SELECT x FROM a), w = (SELECT x FROM a)",
            "WITH a AS (SELECT 1 AS x) DELETE FROM t USING a WHERE k = (SELECT x FROM a)",
            "WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) UPDATE t SET v = (SELECT x FROM b), w = (SELECT x FROM a)",
        ] {
            assert_eq!(unwrapped(text), text);
        }
    }

    #[test]
    fn the_clause_goes_with_each_query_of_the_write() {
        assert_eq!(
            unwrapped("WITH a AS (SELECT 1 AS x) INSERT INTO t SELECT x FROM a"),
            "INSERT INTO t WITH a AS (SELECT 1 AS x) SELECT x FROM a"
        );
        assert_eq!(
            unwrapped("WITH a AS (SELECT 1 AS x) DELETE FROM t WHERE k IN (SELECT x FROM a)"),
            "DELETE FROM t WHERE k IN (WITH a AS (SELECT 1 AS x) SELECT x FROM a)"
        );
        assert_eq!(
            unwrapped("WITH a AS (SELECT 1 AS x) UPDATE t SET v = a.x FROM a WHERE k = a.x"),
            "UPDATE t SET v = a.x FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM \"a\") AS \"a\" WHERE k = a.x"
        );
        for text in [
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "WITH a AS (DELETE FROM t RETURNING k) INSERT INTO u SELECT k FROM a",
        ] {
            assert_eq!(unwrapped(text), text);
        }
    }
}
