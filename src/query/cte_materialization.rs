//! WITH queries whose rows are made once, for all places that name them. Others stand in each such place, so that conditions there reach
//! the keys of what they read.
//!
//! 1. What is AS MATERIALIZED.
//! 2. What may give other rows in another run: it gives the same wherever it is named.
//! 3. What makes groups and is named more than once, if all of it is read in one of these places and no equality bounds what it reads, or
//!    if it is of whole tables and groups by columns that lead to no key: then no condition on what it gives makes it read less. (Not if
//!    it is AS NOT MATERIALIZED.)
//!
//! A query that refers to one around it does so for one row of that at a time, and is run where it is named. So is one in
//! the step of a recursion that reads the recursion's rows: they are others at each turn.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast;

use super::binder::{BoundQuery, fold};
use super::correlation_bound::{is_bounded, is_pinned};
use super::decorrelation::refers_out;
use crate::Result;
use crate::logical::dependent_join::{for_each_node, is_volatile};
use crate::logical::stored_table::scanned_table;
use crate::logical::work_table::is_work_table;
use crate::parse::walk::{Walk, visit_relations};
use crate::plan::is_bounded_by;
use crate::tree::{Aggregate, Expr, Plan, SharedRows, TreeNode, TreeNodeRecursion};

/// The WITH query, made to give its rows once if that is right or better. `whole`: the query that it belongs to.
pub(super) fn shared(bound: BoundQuery, cte: &ast::Cte, whole: &ast::Query) -> Result<BoundQuery> {
    let is_better = || {
        let name = fold(&cte.alias.name);
        let Some(groups) = groups(&bound.plan) else {
            return false;
        };
        let is_made_whole = match is_read_whole(whole, &name) {
            true => !is_pinned(&bound.plan),
            false => !is_bounded(&bound.plan, &[]) && is_apart_from_keys(groups),
        };
        mentions(whole, &name) > 1 && is_made_whole
    };
    let is_asked_for = match &cte.materialized {
        Some(ast::CteAsMaterialized::Materialized) => true,
        Some(ast::CteAsMaterialized::NotMaterialized) => false,
        None => is_better(),
    };
    let is_shared = is_asked_for || is_volatile(&bound.plan)?;
    if !is_shared || refers_out(&bound.plan)? || reads_open_recursion(&bound.plan)? {
        return Ok(bound);
    }
    Ok(BoundQuery {
        plan: Plan::SharedRows(SharedRows::new(bound.plan)),
        ..bound
    })
}

/// Whether the plan reads what the turn before it gave, of a recursion that is not in the plan itself.
pub(super) fn reads_open_recursion(plan: &Plan) -> Result<bool> {
    let (mut read, mut closed) = (HashSet::new(), HashSet::new());
    for_each_node(plan, &mut |node| {
        match node {
            Plan::RecursiveQuery(recursion) => drop(closed.insert(recursion.name.clone())),
            Plan::TableScan(scan) if is_work_table(scan) => {
                read.insert(scan.table_name.table().to_string());
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(!read.is_subset(&closed))
}

/// How often something reads a relation of this name.
pub(crate) fn mentions(query: &impl Walk, name: &str) -> usize {
    let mut times = 0;
    let _ = visit_relations(query, |relation| {
        if let [part] = relation.0.as_slice() {
            times += usize::from(part.as_ident().is_some_and(|ident| fold(ident) == name));
        }
        ControlFlow::<()>::Continue(())
    });
    times
}

/// Whether a query somewhere in this one reads all of a relation of this name, and nothing else.
fn is_read_whole(query: &ast::Query, name: &str) -> bool {
    struct Whole<'a>(&'a str);
    impl ast::Visitor for Whole<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            let ast::SetExpr::Select(select) = query.body.as_ref() else {
                return ControlFlow::Continue(());
            };
            let is_alone = matches!(
                select.from.as_slice(),
                [ast::TableWithJoins { relation: ast::TableFactor::Table { .. }, joins }] if joins.is_empty()
            );
            let is_all = select.selection.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
            match is_alone && is_all && mentions(&select.from, self.0) > 0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.walk(&mut Whole(name)).is_break()
}

/// The groups that a query gives; `None`: it gives something else.
fn groups(plan: &Plan) -> Option<&Aggregate> {
    match plan {
        Plan::Projection(projection) => groups(&projection.input),
        Plan::SubqueryAlias(alias) => groups(&alias.input),
        Plan::Filter(filter) => groups(&filter.input),
        Plan::Aggregate(aggregate) => Some(aggregate),
        _ => None,
    }
}

/// Whether no condition on groups bounds a key of the tables that they are made of.
fn is_apart_from_keys(aggregate: &Aggregate) -> bool {
    let columns = aggregate.group_expr.iter().flat_map(Expr::column_refs);
    let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    let mut is_apart = true;
    // Where columns may have other names than the tables have for them, nothing is known.
    let _ = aggregate.input.apply(|node| {
        is_apart &= match node {
            Plan::Filter(_) | Plan::Join(_) => true,
            Plan::TableScan(scan) => scanned_table(scan).is_some_and(|scanned| {
                let positions = names.iter().filter_map(|name| scanned.table.column_index(name));
                !is_bounded_by(
                    &scanned.table,
                    &positions.collect::<Vec<_>>(),
                    &scanned.index_hint,
                )
            }),
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    is_apart
}
