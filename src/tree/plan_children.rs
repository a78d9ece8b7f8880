//! What a relation is made of: other relations, and expressions.

use std::sync::Arc;

use super::expr::Expr;
use super::plan::Plan;
use super::sub_plan::{SubPlan, SubPlanKind};
use super::walk::{Mapping, Transformed, TreeNode, TreeNodeRecursion, visit_each};
use crate::Result;

impl TreeNode for Plan {
    fn apply_children<'n, F>(&'n self, visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Plan) -> Result<TreeNodeRecursion>,
    {
        visit_each(self.inputs(), visit)
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

/// The relations that a plan is made of, to read or to change: one list for both.
macro_rules! inputs {
    ($plan:expr, $iter:ident $(, $mutable:tt)?) => {
        match $plan {
            Plan::TableScan(_) | Plan::EmptyRelation(_) | Plan::Values(_) => Vec::new(),
            Plan::Projection(projection) => vec![& $($mutable)? projection.input],
            Plan::Filter(filter) => vec![& $($mutable)? filter.input],
            Plan::Aggregate(aggregate) => vec![& $($mutable)? aggregate.input],
            Plan::Distinct(input) => vec![input],
            Plan::Window(window) => vec![& $($mutable)? window.input],
            Plan::Sort(sort) => vec![& $($mutable)? sort.input],
            Plan::LockRows(locked) => vec![& $($mutable)? locked.input],
            Plan::Limit(limit) => vec![& $($mutable)? limit.input],
            Plan::SubqueryAlias(alias) => vec![& $($mutable)? alias.input],
            Plan::Join(join) => vec![& $($mutable)? join.left, & $($mutable)? join.right],
            Plan::Union(union) => union.inputs.$iter().collect(),
            Plan::Unnest(unnest) => vec![& $($mutable)? unnest.input],
            Plan::RecursiveQuery(recursion) => {
                vec![& $($mutable)? recursion.static_term, & $($mutable)? recursion.recursive_term]
            }
            Plan::DependentJoin(join) => vec![& $($mutable)? join.input],
            Plan::LookupJoin(join) => vec![& $($mutable)? join.outer],
            Plan::SharedRows(shared) => vec![& $($mutable)? shared.input],
            Plan::TopRows(top) => vec![& $($mutable)? top.whole, & $($mutable)? top.streamed],
        }
    };
}

/// A plan's own expressions, in order, likewise.
macro_rules! expressions {
    ($plan:expr, $iter:ident, $of_sub_plan:ident $(, $mutable:tt)?) => {
        match $plan {
            Plan::TableScan(scan) => scan.filters.$iter().collect(),
            Plan::Values(values) => values.values.$iter().flatten().collect(),
            Plan::Projection(projection) => projection.expr.$iter().collect(),
            Plan::Filter(filter) => vec![& $($mutable)? filter.predicate],
            Plan::Aggregate(aggregate) => {
                let groups = aggregate.group_expr.$iter();
                groups.chain(aggregate.aggr_expr.$iter()).collect()
            }
            Plan::Window(window) => window.window_expr.$iter().collect(),
            Plan::Sort(sort) => sort.expr.$iter().map(|key| & $($mutable)? key.expr).collect(),
            Plan::LockRows(locked) => locked.locks.$iter().flat_map(|lock| lock.key.$iter()).collect(),
            Plan::Limit(limit) => {
                let counts = limit.skip.$iter().chain(limit.fetch.$iter());
                counts.map(|count| & $($mutable)? **count).collect()
            }
            Plan::Join(join) => {
                let on = join.on.$iter().flat_map(|(left, right)| [left, right]);
                on.chain(join.filter.$iter()).collect()
            }
            Plan::DependentJoin(join) => join.sub_plans.$iter().flat_map(SubPlan::$of_sub_plan).collect(),
            Plan::EmptyRelation(_)
            | Plan::Distinct(_)
            | Plan::SubqueryAlias(_)
            | Plan::Union(_)
            | Plan::Unnest(_)
            | Plan::RecursiveQuery(_)
            | Plan::LookupJoin(_)
            | Plan::SharedRows(_)
            | Plan::TopRows(_) => Vec::new(),
        }
    };
}

/// What a subquery computes of the rows around it, likewise.
macro_rules! sub_plan_expressions {
    ($sub_plan:expr, $iter:ident $(, $mutable:tt)?) => {{
        let bindings = $sub_plan.bindings.$iter().map(|(_, expr)| expr);
        let operand = match & $($mutable)? $sub_plan.kind {
            SubPlanKind::In { operand, .. } => Some(operand),
            _ => None,
        };
        bindings.chain(operand).chain($sub_plan.asked_when.$iter()).collect()
    }};
}

impl Plan {
    /// The relations that it is made of; not those of subqueries in its expressions.
    pub fn inputs(&self) -> Vec<&Plan> {
        let inputs: Vec<&Arc<Plan>> = inputs!(self, iter);
        inputs.into_iter().map(Arc::as_ref).collect()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Arc<Plan>> {
        inputs!(self, iter_mut, mut)
    }

    /// Its own expressions, in order.
    pub fn expressions(&self) -> Vec<&Expr> {
        expressions!(self, iter, expressions)
    }

    fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        expressions!(self, iter_mut, expressions_mut, mut)
    }

    /// Calls `visit` with each of its own expressions until one says stop.
    pub fn apply_expressions<'n, F>(&'n self, visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Expr) -> Result<TreeNodeRecursion>,
    {
        visit_each(self.expressions(), visit)
    }

    /// With other expressions of its own. What is an output is to keep its name and type.
    pub fn map_expressions<F>(mut self, mut map: F) -> Result<Transformed<Plan>>
    where
        F: FnMut(Expr) -> Result<Transformed<Expr>>,
    {
        let mut mapping = Mapping::new(&mut map);
        for expr in self.expressions_mut() {
            *expr = mapping.one(std::mem::take(expr))?;
        }
        Ok(mapping.done(self))
    }
}

impl SubPlan {
    /// What it computes of the rows around it.
    pub fn expressions(&self) -> Vec<&Expr> {
        sub_plan_expressions!(self, iter)
    }

    fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        sub_plan_expressions!(self, iter_mut, mut)
    }
}
