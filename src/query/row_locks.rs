//! Which rows a query locks: its locking clauses and those around it, relation by relation, as PostgreSQL's `transformLockingClause` has
//! it. Asked by `query_body` for each query; `from` tells of the tables that it comes upon, `select` puts their locks below LIMIT. What a
//! clause says, `parse::row_locks` knows.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast;

use super::aggregate::is_aggregate;
use super::binder::{Binder, Bound, BoundQuery, fault, fold};
use super::lock_scope::{ItemLock, LockScope, LockedTable};
use super::record_function::is_record_function;
use super::scope::{Outer, Scope};
use crate::catalog::TableDef;
use crate::error::StatementFault;
use crate::functions;
use crate::parse::row_locks::{LockStrength, LockingClause, locking_clauses};
use crate::parse::text_place;
use crate::parse::walk::Walk;
use crate::tree::{Expr, Plan};
use crate::{Error, Result};

impl Binder<'_> {
    /// The clauses that the query around has for this one.
    pub(super) fn locks_around(&mut self) -> Vec<LockingClause> {
        std::mem::take(&mut self.locks.around)
    }

    /// What a query locks by its own clauses and those around, each item of its FROM once.
    /// Errors: 0A000 where rows of the result are no rows of a relation, 42P01 for a name that FROM has not.
    pub(super) fn row_locks(
        &mut self,
        query: &ast::Query,
        around: Vec<LockingClause>,
    ) -> Result<Vec<ItemLock>> {
        let mut around = around;
        if let ast::SetExpr::Values(_) = query.body.as_ref() {
            // As a subquery it has no relation to lock.
            around = Vec::new();
        }
        let clauses = [around, locking_clauses(query)].concat();
        let names: Vec<&str> = self
            .common_tables
            .iter()
            .map(|table| table.name.as_str())
            .collect();
        let mut locks = Vec::new();
        let applied = clauses
            .iter()
            .try_for_each(|clause| apply(clause, query, &names, &mut locks));
        match applied {
            Ok(()) => Ok(locks),
            Err(Error::At { error, place }) => self.note_place(Err(*error), |_| Some(place)),
            Err(error) => Err(error),
        }
    }

    /// As [`Binder::from`], with locks on some of its items; answers the tables of which rows are locked. Errors: also 0A000 for an item
    /// whose rows an outer join may leave out.
    pub(super) fn locked_from(
        &mut self,
        from: &[ast::TableWithJoins],
        outer: Option<&Outer<'_>>,
        items: Vec<ItemLock>,
    ) -> Result<(Plan, Scope, Vec<LockedTable>)> {
        let scope = LockScope {
            items,
            ..LockScope::default()
        };
        let around = std::mem::replace(&mut self.locks, scope);
        let bound = self.from(from, outer);
        let own = std::mem::replace(&mut self.locks, around);
        let (plan, scope) = bound?;
        for lock in &own.items {
            let relation = scope.get_relation(None, &lock.item);
            if relation.is_some_and(|relation| relation.may_be_missing) {
                let what = "the nullable side of an outer join";
                return Err(not_applicable(lock.strength, what));
            }
        }
        Ok((plan, scope, own.tables))
    }

    /// The lock on the item of the FROM that is bound that is called so.
    pub(super) fn item_lock(&self, item: &str) -> Option<&ItemLock> {
        self.locks.items.iter().find(|lock| lock.item == item)
    }

    /// A table of FROM was met under this name whose rows are to be locked; its scan gives all columns.
    pub(super) fn note_locked(&mut self, table: &Arc<TableDef>, item: &str, scan: &Plan) -> Result<()> {
        let Some(lock) = self.item_lock(item).cloned() else {
            return Ok(());
        };
        if table.is_materialized_view() {
            return Err(Error::InvalidStatement {
                state: StatementFault::WrongObjectType,
                message: format!("cannot lock rows in materialized view \"{}\"", table.name),
                hint: None,
            });
        }
        let key = table.primary_key.columns.iter().map(|key| {
            let at = table.column_index_by_id(key.column);
            let at = at.ok_or_else(|| Error::internal("a key column that the table has not"))?;
            let column = Expr::Column(scan.schema().qualified_field(at).into());
            Ok(Bound::new(column, table.columns[at].ty.clone()))
        });
        let key = key.collect::<Result<_>>()?;
        let table = Arc::clone(table);
        self.locks.tables.push(LockedTable { table, lock, key });
        Ok(())
    }

    /// Binds a query that stands in FROM under this name: what is to be locked of it is locked in it.
    pub(super) fn query_of_item(
        &mut self,
        item: &str,
        bind: impl FnOnce(&mut Self) -> Result<BoundQuery>,
    ) -> Result<BoundQuery> {
        let lock = self.item_lock(item);
        self.locks.around = lock.map(ItemLock::of_all).into_iter().collect();
        bind(self)
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

/// Adds the locks of a clause. `with_names`: those of the WITH queries in sight.
fn apply(
    clause: &LockingClause,
    query: &ast::Query,
    with_names: &[&str],
    locks: &mut Vec<ItemLock>,
) -> Result<()> {
    let select = match query.body.as_ref() {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { .. } => {
            return Err(not_allowed(clause, "UNION/INTERSECT/EXCEPT"));
        }
        // The table is named by no FROM.
        ast::SetExpr::Table(_) => return Ok(()),
        _ => return Err(not_applicable(clause.strength, "VALUES")),
    };
    if let Some(what) = obstacle(select, query) {
        return Err(not_allowed(clause, what));
    }
    let items = items(&select.from, with_names);
    if clause.relations.is_empty() {
        let relations = items.iter().filter(|item| item.kind == ItemKind::Relation);
        relations.for_each(|item| add(clause, item, locks));
        return Ok(());
    }
    for relation in &clause.relations {
        let name = fold(relation);
        let refused = |error: Error| text_place::at_error(error, relation.span);
        let Some(item) = items.iter().find(|item| item.name == name) else {
            let what = clause.strength.clause();
            let message = format!("relation \"{name}\" in {what} clause not found in FROM clause");
            return Err(refused(fault(StatementFault::MissingFrom, message)));
        };
        let other = match item.kind {
            ItemKind::Relation => {
                add(clause, item, locks);
                continue;
            }
            ItemKind::Join => "a join",
            ItemKind::Function => "a function",
            ItemKind::WithQuery => "a WITH query",
        };
        return Err(refused(not_applicable(clause.strength, other)));
    }
    Ok(())
}

/// Locks an item. Of several locks of one the strongest counts.
fn add(clause: &LockingClause, item: &Item, locks: &mut Vec<ItemLock>) {
    match locks.iter_mut().find(|lock| lock.item == item.name) {
        Some(lock) => {
            lock.strength = lock.strength.max(clause.strength);
            lock.wait = lock.wait.max(clause.wait);
        }
        None => locks.push(ItemLock {
            item: item.name.clone(),
            strength: clause.strength,
            wait: clause.wait,
        }),
    }
}

/// What of a SELECT makes other rows of those that it reads.
fn obstacle(select: &ast::Select, query: &ast::Query) -> Option<&'static str> {
    let groups = match &select.group_by {
        ast::GroupByExpr::All(_) => true,
        ast::GroupByExpr::Expressions(exprs, _) => !exprs.is_empty(),
    };
    let mut calls = Calls::default();
    let _ = select.projection.walk(&mut calls);
    let _ = query.order_by.walk(&mut calls);
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
struct Item {
    name: String,
    kind: ItemKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    /// A table, a view or a subquery.
    Relation,
    Join,
    Function,
    WithQuery,
}

/// The items of FROM, in PostgreSQL's order: a join behind what it joins.
fn items(from: &[ast::TableWithJoins], with_names: &[&str]) -> Vec<Item> {
    let mut found = Vec::new();
    for table in from {
        add_items(table, with_names, &mut found);
    }
    found
}

fn add_items(table: &ast::TableWithJoins, with_names: &[&str], found: &mut Vec<Item>) {
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
            ast::TableFactor::Derived { alias, .. } => (alias, String::new(), ItemKind::Relation),
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

fn not_applicable(strength: LockStrength, what: &str) -> Error {
    let message = format!("{} cannot be applied to {what}", strength.clause());
    fault(StatementFault::NotImplemented, message)
}
