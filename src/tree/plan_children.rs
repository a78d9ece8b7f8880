//! What a relation is made of: other relations, and expressions.

use std::sync::Arc;

use super::expr::Expr;
use super::plan::{Filter, Plan, RecursiveQuery};
use super::relations::Sort;
use super::sub_plan::{SubPlan, SubPlanKind};
use super::walk::{Mapping, Transformed, TreeNode, TreeNodeRecursion};
use crate::Result;

impl TreeNode for Plan {
    fn apply_children<'n, F>(&'n self, mut visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Plan) -> Result<TreeNodeRecursion>,
    {
        for input in self.inputs() {
            if visit(input)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn map_children<F>(mut self, mut map: F) -> Result<Transformed<Plan>>
    where
        F: FnMut(Plan) -> Result<Transformed<Plan>>,
    {
        let mut mapping = Mapping::new(&mut map);
        for input in self.inputs_mut() {
            let plan = mapping.one(Arc::unwrap_or_clone(std::mem::take(input)))?;
            *input = Arc::new(plan);
        }
        if mapping.transformed
            && let Plan::DependentJoin(join) = &mut self
        {
            join.renew_schema();
        }
        Ok(mapping.done(self))
    }
}

impl Plan {
    /// The relations that it is made of; not those of subqueries in its expressions.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::TableScan(_) | Plan::EmptyRelation(_) | Plan::Values(_) => Vec::new(),
            Plan::Projection(projection) => vec![&projection.input],
            Plan::Filter(filter) => vec![&filter.input],
            Plan::Aggregate(aggregate) => vec![&aggregate.input],
            Plan::Distinct(input) => vec![input],
            Plan::Window(window) => vec![&window.input],
            Plan::Sort(sort) => vec![&sort.input],
            Plan::Limit(limit) => vec![&limit.input],
            Plan::SubqueryAlias(alias) => vec![&alias.input],
            Plan::Join(join) => vec![&join.left, &join.right],
            Plan::Union(union) => union.inputs.iter().map(Arc::as_ref).collect(),
            Plan::Unnest(unnest) => vec![&unnest.input],
            Plan::RecursiveQuery(recursion) => vec![&recursion.static_term, &recursion.recursive_term],
            Plan::DependentJoin(join) => vec![&join.input],
            Plan::LookupJoin(join) => vec![&join.outer],
            Plan::SharedRows(shared) => vec![&shared.input],
        }
    }

    fn inputs_mut(&mut self) -> Vec<&mut Arc<Plan>> {
        match self {
            Plan::TableScan(_) | Plan::EmptyRelation(_) | Plan::Values(_) => Vec::new(),
            Plan::Projection(projection) => vec![&mut projection.input],
            Plan::Filter(filter) => vec![&mut filter.input],
            Plan::Aggregate(aggregate) => vec![&mut aggregate.input],
            Plan::Distinct(input) => vec![input],
            Plan::Window(window) => vec![&mut window.input],
            Plan::Sort(sort) => vec![&mut sort.input],
            Plan::Limit(limit) => vec![&mut limit.input],
            Plan::SubqueryAlias(alias) => vec![&mut alias.input],
            Plan::Join(join) => vec![&mut join.left, &mut join.right],
            Plan::Union(union) => union.inputs.iter_mut().collect(),
            Plan::Unnest(unnest) => vec![&mut unnest.input],
            Plan::RecursiveQuery(RecursiveQuery {
                static_term,
                recursive_term,
                ..
            }) => vec![static_term, recursive_term],
            Plan::DependentJoin(join) => vec![&mut join.input],
            Plan::LookupJoin(join) => vec![&mut join.outer],
            Plan::SharedRows(shared) => vec![&mut shared.input],
        }
    }

    /// Its own expressions, in order.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Plan::TableScan(scan) => scan.filters.iter().collect(),
            Plan::Values(values) => values.values.iter().flatten().collect(),
            Plan::Projection(projection) => projection.expr.iter().collect(),
            Plan::Filter(filter) => vec![&filter.predicate],
            Plan::Aggregate(aggregate) => aggregate.group_expr.iter().chain(&aggregate.aggr_expr).collect(),
            Plan::Window(window) => window.window_expr.iter().collect(),
            Plan::Sort(sort) => sort.expr.iter().map(|key| &key.expr).collect(),
            Plan::Limit(limit) => limit.skip.iter().chain(&limit.fetch).map(Box::as_ref).collect(),
            Plan::Join(join) => {
                let on = join.on.iter().flat_map(|(left, right)| [left, right]);
                on.chain(&join.filter).collect()
            }
            Plan::DependentJoin(join) => join.sub_plans.iter().flat_map(SubPlan::expressions).collect(),
            Plan::EmptyRelation(_)
            | Plan::Distinct(_)
            | Plan::SubqueryAlias(_)
            | Plan::Union(_)
            | Plan::Unnest(_)
            | Plan::RecursiveQuery(_)
            | Plan::LookupJoin(_)
            | Plan::SharedRows(_) => Vec::new(),
        }
    }

    /// Calls `visit` with each of its own expressions until one says stop.
    pub fn apply_expressions<'n, F>(&'n self, mut visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Expr) -> Result<TreeNodeRecursion>,
    {
        for expr in self.expressions() {
            if visit(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    /// With other expressions of its own. What is an output is to keep its name and type.
    pub fn map_expressions<F>(mut self, mut map: F) -> Result<Transformed<Plan>>
    where
        F: FnMut(Expr) -> Result<Transformed<Expr>>,
    {
        let mut mapping = Mapping::new(&mut map);
        let mut change = |expr: &mut Expr| -> Result<()> {
            *expr = mapping.one(std::mem::take(expr))?;
            Ok(())
        };
        match &mut self {
            Plan::TableScan(scan) => scan.filters.iter_mut().try_for_each(change)?,
            Plan::Values(values) => values.values.iter_mut().flatten().try_for_each(change)?,
            Plan::Projection(projection) => projection.expr.iter_mut().try_for_each(change)?,
            Plan::Filter(Filter { predicate, .. }) => change(predicate)?,
            Plan::Aggregate(aggregate) => {
                let exprs = aggregate.group_expr.iter_mut();
                exprs.chain(&mut aggregate.aggr_expr).try_for_each(change)?;
            }
            Plan::Window(window) => window.window_expr.iter_mut().try_for_each(change)?,
            Plan::Sort(Sort { expr, .. }) => expr.iter_mut().try_for_each(|key| change(&mut key.expr))?,
            Plan::Limit(limit) => {
                let mut counts = limit.skip.iter_mut().chain(&mut limit.fetch);
                counts.try_for_each(|count| change(count))?;
            }
            Plan::Join(join) => {
                let on = join.on.iter_mut().flat_map(|(left, right)| [left, right]);
                on.chain(&mut join.filter).try_for_each(change)?;
            }
            Plan::DependentJoin(join) => {
                let exprs = join.sub_plans.iter_mut().flat_map(SubPlan::expressions_mut);
                exprs.into_iter().try_for_each(change)?;
            }
            Plan::EmptyRelation(_)
            | Plan::Distinct(_)
            | Plan::SubqueryAlias(_)
            | Plan::Union(_)
            | Plan::Unnest(_)
            | Plan::RecursiveQuery(_)
            | Plan::LookupJoin(_)
            | Plan::SharedRows(_) => {}
        }
        Ok(mapping.done(self))
    }
}

impl SubPlan {
    /// What it computes of the rows around it.
    fn expressions(&self) -> Vec<&Expr> {
        let bindings = self.bindings.iter().map(|(_, expr)| expr);
        let operand = match &self.kind {
            SubPlanKind::In { operand, .. } => Some(operand),
            _ => None,
        };
        bindings.chain(operand).chain(&self.asked_when).collect()
    }

    fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let bindings = self.bindings.iter_mut().map(|(_, expr)| expr);
        let operand = match &mut self.kind {
            SubPlanKind::In { operand, .. } => Some(operand),
            _ => None,
        };
        bindings.chain(operand).chain(&mut self.asked_when).collect()
    }
}
