//! Which rows a query asks to be locked: its locking clauses and those around it, relation by relation, as PostgreSQL's `transformLockingClause`
//! has it. Asked by `query_body` once the query is bound; nothing takes the locks yet. What a clause says, `parse::row_locks` knows.

use std::ops::ControlFlow;

use sqlparser::ast;

use super::aggregate::is_aggregate;
use super::binder::{Binder, fault, fold};
use super::record_function::is_record_function;
use crate::error::StatementFault;
use crate::functions;
use crate::parse::row_locks::{LockStrength, LockingClause, WaitPolicy, locking_clauses};
use crate::parse::text_place;
use crate::{Error, Result};

/// The rows of a relation that a query asks to be locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowLock {
    /// What FROM calls the relation, behind the names of the subqueries that it stands in.
    pub(super) relation: Vec<String>,
    /// How.
    pub(super) strength: LockStrength,
    /// What becomes of rows that are locked already.
    pub(super) wait: WaitPolicy,
}

impl Binder<'_> {
    /// The locks that a query asks for in its own clauses; each relation once. Errors: 0A000 where rows of the result are no rows of a
    /// relation, 42P01 for a name that FROM has not.
    pub(super) fn row_locks(&mut self, query: &ast::Query) -> Result<Vec<RowLock>> {
        let names: Vec<&str> = self
            .common_tables
            .iter()
            .map(|table| table.name.as_str())
            .collect();
        let mut locks = Vec::new();
        let applied = locking_clauses(query)
            .iter()
            .try_for_each(|clause| apply(clause, query, (&names, &[]), &mut locks));
        match applied {
            Ok(()) => Ok(locks),
            Err(Error::At { error, place }) => self.note_place(Err(*error), |_| Some(place)),
            Err(error) => Err(error),
        }
    }
}

/// Errors: 0A000 for a term of a set operation that has locking clauses.
pub(super) fn refuse_in_term(term: &ast::SetExpr) -> Result<()> {
    match term {
        ast::SetExpr::Query(query) => match locking_clauses(query).first() {
            Some(clause) => Err(not_allowed(clause, "UNION/INTERSECT/EXCEPT")),
            None => refuse_in_term(&query.body),
        },
        _ => Ok(()),
    }
}

/// Adds the locks of a clause. `within`: the names of WITH queries around, and of the subqueries that the query stands in.
fn apply(
    clause: &LockingClause,
    query: &ast::Query,
    within: (&[&str], &[String]),
    locks: &mut Vec<RowLock>,
) -> Result<()> {
    let select = match query.body.as_ref() {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::Query(inner) => return apply(clause, inner, within, locks),
        ast::SetExpr::SetOperation { .. } => {
            return Err(not_allowed(clause, "UNION/INTERSECT/EXCEPT"));
        }
        // A subquery of VALUES has no relation.
        _ if !within.1.is_empty() => return Ok(()),
        _ => return Err(not_applicable(clause, "VALUES")),
    };
    if let Some(what) = obstacle(select, query) {
        return Err(not_allowed(clause, what));
    }
    let own = query.with.iter().flat_map(|with| &with.cte_tables);
    let own: Vec<String> = own.map(|cte| fold(&cte.alias.name)).collect();
    let names: Vec<&str> = within
        .0
        .iter()
        .copied()
        .chain(own.iter().map(String::as_str))
        .collect();
    let items = items(&select.from, &names);
    if clause.relations.is_empty() {
        let relations = items
            .iter()
            .filter(|item| matches!(item.kind, ItemKind::Relation | ItemKind::Subquery(_)));
        return relations
            .into_iter()
            .try_for_each(|item| lock(clause, item, (&names, within.1), locks));
    }
    for relation in &clause.relations {
        let name = fold(relation);
        let refused = |error: Error| text_place::at_error(error, relation.span);
        let Some(item) = items.iter().find(|item| item.name == name) else {
            let what = clause.strength.clause();
            let message = format!("relation \"{name}\" in {what} clause not found in FROM clause");
            return Err(refused(fault(StatementFault::MissingFrom, message)));
        };
        match item.kind {
            ItemKind::Relation | ItemKind::Subquery(_) => lock(clause, item, (&names, within.1), locks)?,
            ItemKind::Join => return Err(refused(not_applicable(clause, "a join"))),
            ItemKind::Function => return Err(refused(not_applicable(clause, "a function"))),
            ItemKind::WithQuery => return Err(refused(not_applicable(clause, "a WITH query"))),
        }
    }
    Ok(())
}

/// Locks a relation, or all those of a subquery. Of several locks of one the strongest counts.
fn lock(
    clause: &LockingClause,
    item: &Item<'_>,
    within: (&[&str], &[String]),
    locks: &mut Vec<RowLock>,
) -> Result<()> {
    let relation = [within.1, std::slice::from_ref(&item.name)].concat();
    if let ItemKind::Subquery(query) = item.kind {
        let all = LockingClause {
            relations: Vec::new(),
            ..clause.clone()
        };
        return apply(&all, query, (within.0, &relation), locks);
    }
    match locks.iter_mut().find(|lock| lock.relation == relation) {
        Some(lock) => {
            lock.strength = lock.strength.max(clause.strength);
            lock.wait = lock.wait.max(clause.wait);
        }
        None => locks.push(RowLock {
            relation,
            strength: clause.strength,
            wait: clause.wait,
        }),
    }
    Ok(())
}

/// What of a SELECT makes other rows of those that it reads.
fn obstacle(select: &ast::Select, query: &ast::Query) -> Option<&'static str> {
    let groups = match &select.group_by {
        ast::GroupByExpr::All(_) => true,
        ast::GroupByExpr::Expressions(exprs, _) => !exprs.is_empty(),
    };
    let mut calls = Calls::default();
    let _ = ast::Visit::visit(&select.projection, &mut calls);
    let _ = ast::Visit::visit(&query.order_by, &mut calls);
    let obstacles = [
        (select.distinct.is_some(), "DISTINCT clause"),
        (groups, "GROUP BY clause"),
        (select.having.is_some(), "HAVING clause"),
        (calls.aggregates, "aggregate functions"),
        (calls.windows, "window functions"),
        (calls.sets, "set-returning functions in the target list"),
    ];
    obstacles
        .into_iter()
        .find_map(|(is_there, what)| is_there.then_some(what))
}

/// What a select list calls, outside of subqueries.
#[derive(Default)]
struct Calls {
    queries: usize,
    aggregates: bool,
    windows: bool,
    sets: bool,
}

impl ast::Visitor for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Function(call) = expr
            && self.queries == 0
            && let Some(name) = call.name.0.last().and_then(|part| part.as_ident())
        {
            let name = fold(name);
            self.windows |= call.over.is_some();
            self.aggregates |= call.over.is_none() && is_aggregate(&name);
            self.sets |= functions::is_set_returning(&name) || is_record_function(&name);
        }
        ControlFlow::Continue(())
    }
}

/// An item of FROM that has a name.
struct Item<'a> {
    name: String,
    kind: ItemKind<'a>,
}

enum ItemKind<'a> {
    /// A table or a view.
    Relation,
    Subquery(&'a ast::Query),
    Join,
    Function,
    WithQuery,
}

/// The items of FROM, in PostgreSQL's order: a join behind what it joins.
fn items<'a>(from: &'a [ast::TableWithJoins], with_names: &[&str]) -> Vec<Item<'a>> {
    let mut found = Vec::new();
    for table in from {
        add_items(table, with_names, &mut found);
    }
    found
}

fn add_items<'a>(table: &'a ast::TableWithJoins, with_names: &[&str], found: &mut Vec<Item<'a>>) {
    let joined = table.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&table.relation).chain(joined) {
        let (alias, name, kind) = match factor {
            ast::TableFactor::Table {
                name, alias, args, ..
            } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                let last = last.map(fold).unwrap_or_default();
                let kind = match args {
                    Some(_) => ItemKind::Function,
                    None if name.0.len() == 1 && with_names.contains(&last.as_str()) => ItemKind::WithQuery,
                    None => ItemKind::Relation,
                };
                (alias, last, kind)
            }
            ast::TableFactor::Derived { subquery, alias, .. } => {
                (alias, String::new(), ItemKind::Subquery(subquery))
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                add_items(table_with_joins, with_names, found);
                (alias, String::new(), ItemKind::Join)
            }
            ast::TableFactor::UNNEST { alias, .. } => (alias, "unnest".to_string(), ItemKind::Function),
            ast::TableFactor::Function { name, alias, .. } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                (alias, last.map(fold).unwrap_or_default(), ItemKind::Function)
            }
            ast::TableFactor::TableFunction { alias, .. } => (alias, String::new(), ItemKind::Function),
            _ => continue,
        };
        let name = alias.as_ref().map_or(name, |alias| fold(&alias.name));
        found.push(Item { name, kind });
    }
}

fn not_allowed(clause: &LockingClause, what: &str) -> Error {
    let message = format!("{} is not allowed with {what}", clause.strength.clause());
    fault(StatementFault::NotImplemented, message)
}

fn not_applicable(clause: &LockingClause, what: &str) -> Error {
    let message = format!("{} cannot be applied to {what}", clause.strength.clause());
    fault(StatementFault::NotImplemented, message)
}
