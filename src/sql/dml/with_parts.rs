//! `WithParts`: a statement whose WITH clause writes, taken apart. Its parts are the writes, what more than one of the others reads, and
//! the statement that the clause belongs to. Each runs once. Every other query of the clause goes to the one that reads it.

use sqlparser::ast::{self, Cte, With};

use crate::error::StatementFault;
use crate::parse::names::fold;
use crate::parse::with_write::{give, is_write, write_of};
use crate::query::{mentions, repeated_name};
use crate::{Error, Result};

/// The parts in the order in which they are written; the statement itself is the last.
pub(super) struct WithParts {
    pub(super) parts: Vec<WithPart>,
}

/// One part.
pub(super) struct WithPart {
    /// What others read it by; the statement itself has no name.
    pub(super) alias: Option<ast::TableAlias>,
    pub(super) statement: ast::Statement,
    /// Which parts before it it reads.
    pub(super) reads: Vec<usize>,
}

impl WithParts {
    /// Those of a query whose clause writes. Errors: 42712, 42P19.
    pub(super) fn of(query: &ast::Query) -> Result<WithParts> {
        let with = query.with.as_ref();
        let with = with.ok_or_else(|| Error::internal("a write in no WITH clause"))?;
        check_names(with)?;
        let main = ast::Query {
            with: None,
            ..query.clone()
        };
        let is_part = |cte: &Cte| is_write(&cte.query) || readers(with, &main, cte) > 1;
        let (mut parts, mut inlined) = (WithParts { parts: Vec::new() }, Vec::new());
        for cte in &with.cte_tables {
            match is_part(cte) {
                true => parts.push(Some(&cte.alias), &cte.query, clause(with, &inlined, &cte.query)),
                false => inlined.push(cte),
            }
        }
        let own = clause(with, &inlined, &main);
        parts.push(None, &main, own);
        Ok(parts)
    }

    fn push(&mut self, alias: Option<&ast::TableAlias>, query: &ast::Query, with: Option<With>) {
        let mut query = query.clone();
        let outer = query.with.take();
        let with = match (with, outer) {
            (Some(mut with), Some(own)) => {
                with.recursive |= own.recursive;
                with.cte_tables.extend(own.cte_tables);
                Some(with)
            }
            (with, own) => with.or(own),
        };
        let statement = match (write_of(&query).cloned(), with) {
            (Some(write), None) => write,
            (Some(write), Some(with)) => give(write, with),
            (None, with) => ast::Statement::Query(Box::new(ast::Query { with, ..query })),
        };
        let is_read = |part: &WithPart| {
            let alias = part.alias.as_ref();
            alias.is_some_and(|alias| mentions(&statement, &fold(&alias.name)) > 0)
        };
        let reads = (0..self.parts.len()).filter(|at| is_read(&self.parts[*at]));
        self.parts.push(WithPart {
            alias: alias.cloned(),
            reads: reads.collect(),
            statement,
        });
    }

    /// In which order they run, as PostgreSQL has it: what the statement reads runs when it is read, the other writes when it has ended,
    /// the last of them first. A query that nobody reads does not run.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.parts.len());
        for at in (0..self.parts.len()).rev() {
            let is_query = matches!(self.parts[at].statement, ast::Statement::Query(_));
            if self.parts[at].alias.is_none() || !is_query {
                self.run(at, &mut order);
            }
        }
        order
    }

    /// A part, behind those that it reads.
    fn run(&self, at: usize, order: &mut Vec<usize>) {
        if order.contains(&at) {
            return;
        }
        for read in &self.parts[at].reads {
            self.run(*read, order);
        }
        order.push(at);
    }
}

/// Errors: 42712 for a name that comes twice, 42P19 for a write that reads itself.
fn check_names(with: &With) -> Result<()> {
    for (at, cte) in with.cte_tables.iter().enumerate() {
        let name = fold(&cte.alias.name);
        if with.cte_tables[..at]
            .iter()
            .any(|other| fold(&other.alias.name) == name)
        {
            return Err(repeated_name(&name));
        }
        if with.recursive && is_write(&cte.query) && mentions(&*cte.query, &name) > 0 {
            return Err(Error::InvalidStatement {
                state: StatementFault::InvalidRecursion,
                message: format!("recursive query \"{name}\" must not contain data-modifying statements"),
                hint: None,
            });
        }
    }
    Ok(())
}

/// How many others read a query of the clause: a write as often as it names it, for each of its queries would run it.
fn readers(with: &With, main: &ast::Query, cte: &Cte) -> usize {
    let name = fold(&cte.alias.name);
    let reads = |query: &ast::Query| match is_write(query) {
        true => mentions(query, &name),
        false => usize::from(mentions(query, &name) > 0),
    };
    let others = with.cte_tables.iter().filter(|other| !std::ptr::eq(*other, cte));
    others.map(|other| reads(&other.query)).sum::<usize>() + reads(main)
}

/// The queries that a reader needs, of those that have no place of their own.
fn clause(with: &With, inlined: &[&Cte], reader: &ast::Query) -> Option<With> {
    let mut needed: Vec<&Cte> = Vec::new();
    for cte in inlined.iter().rev() {
        let name = fold(&cte.alias.name);
        let is_read = |query: &ast::Query| mentions(query, &name) > 0;
        if is_read(reader) || needed.iter().any(|other| is_read(&other.query)) {
            needed.push(cte);
        }
    }
    needed.reverse();
    (!needed.is_empty()).then(|| With {
        with_token: with.with_token.clone(),
        recursive: with.recursive,
        cte_tables: needed.into_iter().cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn parts(text: &str) -> WithParts {
        let ast::Statement::Query(query) = parse::parse(text).unwrap().remove(0).ast else {
            panic!("{text} is no query");
        };
        WithParts::of(&query).unwrap()
    }

    #[test]
    fn queries_go_to_the_part_that_reads_them() {
        let parts = parts(
            "WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a), c AS (SELECT 2 AS y), d AS (INSERT INTO t SELECT x FROM b RETURNING x), \
             e AS (SELECT y FROM c) SELECT * FROM d, e, c",
        );
        let texts: Vec<String> = parts
            .parts
            .iter()
            .map(|part| part.statement.to_string())
            .collect();
        assert_eq!(
            texts,
            [
                "SELECT 2 AS y",
                "INSERT INTO t WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT x FROM b RETURNING x",
                "WITH e AS (SELECT y FROM c) SELECT * FROM d, e, c",
            ]
        );
        assert_eq!(parts.parts[2].reads, [0, 1]);
    }

    #[test]
    fn what_nobody_reads_runs_at_the_end_and_backwards() {
        let parts = parts(
            "WITH a AS (DELETE FROM t), b AS (DELETE FROM u RETURNING *), c AS (DELETE FROM v) SELECT * FROM b",
        );
        assert_eq!(parts.order(), [1, 3, 2, 0]);
    }
}
