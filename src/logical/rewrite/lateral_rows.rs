//! The rule `lateral_rows`: a lateral VALUES, which lists rows of a row's columns, is a join with the numbers of its rows, of which each
//! chooses what to compute. A dependent join would run it for each row, and nothing could be joined with its input before it.
//!
//! ```text
//!   a, LATERAL (VALUES (a.x), (a.y)) v (z)      Projection: a.*, CASE n WHEN 1 THEN a.x ELSE a.y END AS v.z
//!                                                 Inner Join
//!                                                   a
//!                                                   Values: (1), (2) as n
//! ```

use std::sync::Arc;

use super::Rewriting;
use super::substitution::substituted;
use crate::Result;
use crate::logical::dependent_join::is_volatile;
use crate::tree::{
    Alias, Case, Column, DependentJoin, Expr, FieldMetadata, Plan, Projection, RowSchema, SubPlan,
    SubPlanKind, Transformed, TransformedResult, TreeNode, lit,
};

/// So many rows at most: each is asked for in every row.
const ROWS_MAX: usize = 64;

/// The plan with its lateral lists so.
pub(super) fn lateral_rows(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::DependentJoin(join) => match listed_by(&join)? {
            Some(rows) => joined(join, rows, rewriting).map(Transformed::yes),
            None => Ok(Transformed::no(Plan::DependentJoin(join))),
        },
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// The rows that the only subquery of a join lists, over the input of the join. `None`: they are others each time, or not known so.
fn listed_by(join: &DependentJoin) -> Result<Option<Vec<Vec<Expr>>>> {
    let [sub_plan] = join.sub_plans.as_slice() else {
        return Ok(None);
    };
    if !matches!(sub_plan.kind, SubPlanKind::Rows { .. }) || is_volatile(&sub_plan.plan)? {
        return Ok(None);
    }
    let Some(rows) = listed(&sub_plan.plan)?.filter(|rows| (1..=ROWS_MAX).contains(&rows.len())) else {
        return Ok(None);
    };
    let rows = rows.into_iter().map(|row| {
        let row = row.into_iter().map(|expr| over_input(expr, sub_plan));
        row.collect::<Result<Vec<Expr>>>()
    });
    Ok(Some(rows.collect::<Result<_>>()?))
}

/// The rows of a plan that reads nothing. `None`: they are more than a list.
fn listed(plan: &Plan) -> Result<Option<Vec<Vec<Expr>>>> {
    match plan {
        Plan::EmptyRelation(empty) if empty.produce_one_row => Ok(Some(vec![Vec::new()])),
        Plan::SubqueryAlias(named) => listed(&named.input),
        Plan::Union(union) => {
            let mut all = Vec::new();
            for input in &union.inputs {
                match listed(input)? {
                    Some(rows) => all.extend(rows),
                    None => return Ok(None),
                }
            }
            Ok(Some(all))
        }
        Plan::Projection(projection) if projection.expr.iter().all(is_plain) => {
            let Some(rows) = listed(&projection.input)? else {
                return Ok(None);
            };
            let schema = projection.input.schema();
            let rows = rows.into_iter().map(|row| {
                let exprs = projection.expr.iter();
                let exprs =
                    exprs.map(|expr| substituted(expr.unnamed().clone(), schema, &|at| row[at].clone()));
                exprs.collect::<Result<Vec<Expr>>>()
            });
            Ok(Some(rows.collect::<Result<_>>()?))
        }
        _ => Ok(None),
    }
}

/// Whether an output is computed of its row alone, one value a row.
fn is_plain(expr: &Expr) -> bool {
    !expr.has(|expr| expr.is_subquery() || matches!(expr, Expr::Unnest(_)))
}

/// What the subquery computes of columns of the row around, over that row.
fn over_input(expr: Expr, sub_plan: &SubPlan) -> Result<Expr> {
    expr.transform_up(|expr| {
        let Expr::OuterReferenceColumn(_, column) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let mut bindings = sub_plan.bindings.iter();
        Ok(match bindings.find(|(name, _)| name == column) {
            Some((_, outer)) => Transformed::yes(outer.clone()),
            None => Transformed::no(expr),
        })
    })
    .data()
}

/// The join of the input with the numbers of the rows. There is a row for each of the input, so that it is an inner one always.
fn joined(join: DependentJoin, rows: Vec<Vec<Expr>>, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let input = Arc::unwrap_or_clone(join.input);
    let own = input.schema().columns().into_iter();
    let mut outputs: Vec<Expr> = own.map(Expr::Column).collect();
    let first = outputs.len();
    let numbers = (1..=rows.len() as i64).map(|number| vec![lit(number)]);
    let numbers = Plan::values(numbers.collect())?.alias(rewriting.name("row"))?;
    let number = Column::from(numbers.schema().qualified_field(0));
    for at in first..join.schema.fields().len() {
        let values = rows.iter().map(|row| row[at - first].clone());
        outputs.push(named_as(&join.schema, at, chosen(&number, values.collect())));
    }
    let pairs = Arc::new(input.cross_join(numbers));
    Ok(Plan::Projection(Projection::with_schema(
        outputs,
        pairs,
        join.schema,
    )))
}

/// The expression under the name of a column.
fn named_as(schema: &RowSchema, at: usize, expr: Expr) -> Expr {
    let (relation, field) = schema.qualified_field(at);
    Expr::Alias(Alias {
        metadata: Some(FieldMetadata::from(field.metadata())),
        ..Alias::new(expr, relation.cloned(), field.name())
    })
}

/// The one of this number among the values, which are counted from 1.
fn chosen(number: &Column, mut values: Vec<Expr>) -> Expr {
    let last = values.pop().map(Box::new);
    let branches = values.into_iter().zip(1_i64..).map(|(value, at)| {
        let is_it = Expr::Column(number.clone()).eq(lit(at));
        (Box::new(is_it), Box::new(value))
    });
    match (branches.collect::<Vec<_>>(), last) {
        (branches, Some(last)) if branches.is_empty() => *last,
        (branches, last) => Expr::Case(Case::new(None, branches, last)),
    }
}
