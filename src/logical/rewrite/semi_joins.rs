//! The rule `semi_joins`: EXISTS and IN as conditions of their own are semi-joins, NOT EXISTS is an anti-join. The binder leaves those of
//! which PostgreSQL's answer is a join's (`query::decorrelation`): correlated, if they are, by a filter at the top of the subquery or right
//! below its select list, whose inner columns have names of their own. Without this rule they cannot run.
//!
//! ```text
//!   Filter: a.x IN (SELECT b.y FROM b WHERE b.z = outer(a.z))     LeftSemi Join: a.x = q.y AND q.z = a.z
//!     a                                                             a
//!                                                                   SubqueryAlias: q
//!                                                                     Projection: b.y, b.z
//!                                                                       b
//! ```

use std::sync::Arc;

use super::Rewriting;
use super::operands::{operands, operands_of};
use crate::tree::{
    Column, Exists, Expr, Filter, InSubquery, Join, JoinType, Operator, Plan, Projection, SubqueryAlias,
    Transformed, TransformedResult, TreeNode, conjunction, lit,
};
use crate::{Error, Result};

/// The plan with such subqueries as joins.
pub(super) fn semi_joins(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_down(|node| match node {
        Plan::Filter(filter) => {
            let mut parts = operands_of(&filter.predicate, Operator::And).into_iter();
            match parts.any(is_test) {
                true => joined(filter, rewriting).map(Transformed::yes),
                false => Ok(Transformed::no(Plan::Filter(filter))),
            }
        }
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn is_test(part: &Expr) -> bool {
    matches!(part, Expr::Exists(_) | Expr::InSubquery(_))
}

fn joined(filter: Filter, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let (mut plan, mut others) = (filter.input, Vec::new());
    for part in operands(filter.predicate, Operator::And) {
        match part {
            Expr::Exists(Exists { subquery, negated }) => {
                let inner = Inner::of(&subquery.subquery, rewriting)?;
                plan = Arc::new(inner.joined(plan, None, negated)?);
            }
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated: false,
            }) => {
                let inner = Inner::of(&subquery.subquery, rewriting)?;
                plan = Arc::new(inner.joined(plan, Some(*expr), false)?);
            }
            other => others.push(other),
        }
    }
    Ok(match conjunction(others) {
        Some(condition) => Plan::Filter(Filter::new(condition, plan)),
        None => Arc::unwrap_or_clone(plan),
    })
}

/// A subquery as the inner side of a join.
struct Inner {
    /// What it reads, without the conditions on outer columns.
    input: Arc<Plan>,
    /// What its select list computes of that.
    select: Vec<Expr>,
    /// Conditions on inner and outer columns.
    correlation: Vec<Expr>,
    /// What its columns are called in the join.
    relation: String,
    /// What it gives.
    outputs: Vec<Expr>,
}

impl Inner {
    fn of(plan: &Arc<Plan>, rewriting: &Rewriting<'_>) -> Result<Inner> {
        let columns = |plan: &Plan| plan.schema().columns().into_iter().map(Expr::Column).collect();
        let (filter, select) = match plan.as_ref() {
            Plan::Projection(projection) => (&projection.input, projection.expr.clone()),
            _ => (plan, columns(plan)),
        };
        let mut inner = Inner {
            input: Arc::clone(plan),
            select: columns(plan),
            correlation: Vec::new(),
            relation: rewriting.name("subquery"),
            outputs: Vec::new(),
        };
        if let Plan::Filter(filter) = filter.as_ref() {
            let parts = operands_of(&filter.predicate, Operator::And).into_iter();
            let (correlated, own): (Vec<&Expr>, Vec<&Expr>) = parts.partition(|part| part.contains_outer());
            if !correlated.is_empty() {
                inner.input = match conjunction(own.into_iter().cloned()) {
                    Some(own) => Arc::new(Plan::Filter(Filter::new(own, Arc::clone(&filter.input)))),
                    None => Arc::clone(&filter.input),
                };
                inner.select = select;
                inner.correlation = correlated.into_iter().cloned().collect();
            }
        }
        Ok(inner)
    }

    /// The join with `outer`. `operand`: what is looked for among the rows.
    fn joined(mut self, outer: Arc<Plan>, operand: Option<Expr>, negated: bool) -> Result<Plan> {
        let mut conditions = Vec::new();
        if let Some(operand) = operand {
            let found = self.select.first().cloned();
            let found = found.ok_or_else(|| Error::internal("IN without a column".to_string()))?;
            conditions.push(operand.eq(self.output(found)));
        }
        for condition in std::mem::take(&mut self.correlation) {
            let condition = condition.transform_up(|expr| {
                Ok(match expr {
                    Expr::Column(_) => Transformed::yes(self.output(expr)),
                    expr => Transformed::no(expr),
                })
            })?;
            let condition = condition.data.transform_up(|expr| {
                Ok(match expr {
                    Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
                    expr => Transformed::no(expr),
                })
            })?;
            conditions.push(condition.data);
        }
        if self.outputs.is_empty() {
            self.outputs.push(lit(1_i64).alias("?row"));
        }
        let rows = Projection::try_new(self.outputs, self.input)?;
        let rows = SubqueryAlias::try_new(Arc::new(Plan::Projection(rows)), self.relation)?;
        let join_type = match negated {
            true => JoinType::LeftAnti,
            false => JoinType::LeftSemi,
        };
        let rows = Arc::new(Plan::SubqueryAlias(rows));
        let condition = conjunction(conditions);
        Ok(Plan::Join(Join::new(
            outer,
            rows,
            Vec::new(),
            condition,
            join_type,
        )))
    }

    /// What an expression over the subquery's rows is called in the join, where it is given from now on.
    fn output(&mut self, expr: Expr) -> Expr {
        let known = |output: &Expr| *output == expr;
        let at = self.outputs.iter().position(known).unwrap_or_else(|| {
            let name = expr.qualified_name().1;
            let is_taken = self
                .outputs
                .iter()
                .any(|output| output.qualified_name().1 == name);
            self.outputs.push(match is_taken {
                true => expr.alias(format!("{name} {}", self.outputs.len())),
                false => expr,
            });
            self.outputs.len() - 1
        });
        let name = self.outputs[at].qualified_name().1;
        Expr::Column(Column::new(Some(self.relation.clone()), name))
    }
}
