//! The rule `columns`: from the top down each node is asked for the columns that are used of it, and gives no others: scans read these,
//! projections, groups and windows compute these, projections of projections are one.
//!
//! What is volatile in a projection is computed though nobody asks for it, as PostgreSQL does (`nextval`).

use std::sync::Arc;

use super::Rewriting;
use super::column_demand::Asked;
use super::existence::{Asks, asks};
use super::projections::merged;
use crate::Result;
use crate::tree::{
    Aggregate, EmptyRelation, Expr, Join, JoinType, Plan, Projection, RowSchema, SubqueryAlias, TableScan,
    Transformed, TreeNode, Union, Unnest, Window, join_schema, with_stack,
};

/// The plan without columns that nobody asks for.
pub(super) fn columns(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let all = Asked::all(plan.schema());
    let pruning = Pruning {
        asks_existence: !rewriting.leaves_out("existence"),
    };
    pruning.pruned(plan, &all)
}

struct Pruning {
    /// Whether joins may become semi-joins.
    asks_existence: bool,
}

impl Pruning {
    /// The plan with the columns that are asked for at least, in the order in which it had them.
    fn pruned(&self, plan: Plan, asked: &Asked) -> Result<Plan> {
        with_stack(|| match plan {
            Plan::Projection(projection) => self.projection(projection, asked),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate, asked),
            Plan::Window(window) => self.window(window, asked),
            Plan::TableScan(table) => Ok(Plan::TableScan(scan(table, asked))),
            Plan::Join(join) => self.join(join, asked),
            Plan::SubqueryAlias(alias) => self.alias(alias, asked),
            Plan::Union(union) => self.union(union, asked),
            Plan::Unnest(unnest) => self.unnest(unnest, asked),
            Plan::Filter(mut filter) => {
                let is_volatile = filter.predicate.is_volatile();
                let mut below = Asked::of(asked.columns().to_vec(), asked.once && !is_volatile);
                below.add([&filter.predicate], filter.input.schema());
                filter.input = self.narrow(filter.input, &below)?;
                Ok(Plan::Filter(filter))
            }
            Plan::Sort(mut sort) => {
                let mut below = Asked::of(asked.columns().to_vec(), asked.once && sort.fetch.is_none());
                below.add(sort.expr.iter().map(|key| &key.expr), sort.input.schema());
                let below = below.or_one(sort.input.schema());
                sort.input = self.narrow(sort.input, &below)?;
                Ok(Plan::Sort(sort))
            }
            Plan::Limit(mut limit) => {
                let below = Asked::of(asked.columns().to_vec(), false);
                let input = self.pruned(Arc::unwrap_or_clone(limit.input), &below)?;
                limit.input = Arc::new(input);
                Ok(Plan::Limit(limit))
            }
            plan => {
                let below = plan.map_children(|input| {
                    let all = Asked::all(input.schema());
                    self.pruned(input, &all).map(Transformed::yes)
                })?;
                Ok(below.data)
            }
        })
    }

    /// The input with these columns and no others.
    fn narrow(&self, input: Arc<Plan>, asked: &Asked) -> Result<Arc<Plan>> {
        let columns = asked.columns().len();
        let before = Arc::clone(input.schema());
        let pruned = self.pruned(Arc::unwrap_or_clone(input), asked)?;
        Ok(Arc::new(match columns < pruned.schema().fields().len() {
            true => Plan::Projection(Projection::try_new(asked.exprs(&before), Arc::new(pruned))?),
            false => pruned,
        }))
    }

    fn projection(&self, projection: Projection, asked: &Asked) -> Result<Plan> {
        let is_whole = asked.columns().len() == projection.expr.len();
        let is_volatile = !is_whole && projection.expr.iter().any(Expr::is_volatile);
        let kept = match is_volatile {
            true => {
                let computed = (0..projection.expr.len()).filter(|at| projection.expr[*at].is_volatile());
                Asked::of(asked.columns().iter().copied().chain(computed).collect(), false)
            }
            false => asked.clone(),
        };
        let schema = (kept.columns().len() == projection.expr.len()).then(|| Arc::clone(&projection.schema));
        let exprs = match schema {
            Some(_) => projection.expr,
            None => kept.taken(&projection.expr),
        };
        let (exprs, input) = merged(exprs, projection.input)?;
        let once = asked.once && !exprs.iter().any(Expr::is_volatile);
        let below = Asked::by(&exprs, input.schema(), once);
        let input = Arc::new(self.pruned(Arc::unwrap_or_clone(input), &below)?);
        if gives_all(&exprs, input.schema()) {
            return Ok(Arc::unwrap_or_clone(input));
        }
        Ok(Plan::Projection(match schema {
            Some(schema) => Projection::with_schema(exprs, input, schema),
            None => Projection::try_new(exprs, input)?,
        }))
    }

    fn aggregate(&self, mut aggregate: Aggregate, asked: &Asked) -> Result<Plan> {
        let (_, wanted) = asked.split(aggregate.group_expr_len());
        let wanted = Asked::of(wanted, false);
        let is_whole = wanted.columns().len() == aggregate.aggr_expr.len();
        if !is_whole {
            aggregate.aggr_expr = wanted.taken(&aggregate.aggr_expr);
        }
        if aggregate.group_expr.is_empty() && aggregate.aggr_expr.is_empty() {
            // Without groups there is one row, whatever is below.
            return Ok(Plan::EmptyRelation(EmptyRelation {
                produce_one_row: true,
                schema: Arc::new(RowSchema::empty()),
            }));
        }
        let exprs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
        let once = aggregate.aggr_expr.is_empty();
        let mut below = Asked::by(exprs, aggregate.input.schema(), once);
        if aggregate.aggr_expr.iter().any(is_of_sorted_rows) {
            below = below.or_one(aggregate.input.schema());
        }
        let input = self.narrow(aggregate.input, &below)?;
        if is_whole {
            aggregate.input = input;
            return Ok(Plan::Aggregate(aggregate));
        }
        Aggregate::try_new(input, aggregate.group_expr, aggregate.aggr_expr).map(Plan::Aggregate)
    }

    fn window(&self, mut window: Window, asked: &Asked) -> Result<Plan> {
        let before = window.input.schema().fields().len();
        let (passed, wanted) = asked.split(before);
        let wanted = Asked::of(wanted, false);
        let exprs = wanted.taken(&window.window_expr);
        let mut below = Asked::of(passed, false);
        below.add(&exprs, window.input.schema());
        if exprs.is_empty() {
            return self.pruned(Arc::unwrap_or_clone(window.input), &below);
        }
        let below = below.or_one(window.input.schema());
        window.input = self.narrow(window.input, &below)?;
        let is_whole =
            window.input.schema().fields().len() == before && exprs.len() == window.window_expr.len();
        match is_whole {
            true => Ok(Plan::Window(window)),
            false => Window::try_new(exprs, window.input).map(Plan::Window),
        }
    }

    fn join(&self, mut join: Join, asked: &Asked) -> Result<Plan> {
        let (mut left, mut right) = sides(&join, asked);
        if self.asks_existence {
            let gives = (!left.is_empty(), !right.is_empty());
            match asks(&join, gives, asked.once) {
                Asks::Left => {
                    let below = Asked::of(left, asked.once);
                    return self.pruned(Arc::unwrap_or_clone(join.left), &below);
                }
                Asks::Right => {
                    let below = Asked::of(right, asked.once);
                    return self.pruned(Arc::unwrap_or_clone(join.right), &below);
                }
                Asks::Join(join_type) if join_type != join.join_type => {
                    join.join_type = join_type;
                    (left, right) = match join_type {
                        JoinType::LeftSemi => (left, Vec::new()),
                        _ => (Vec::new(), right),
                    };
                    join.schema = Arc::new(join_schema(join.left.schema(), join.right.schema(), join_type));
                }
                Asks::Join(_) => {}
            }
        }
        let once = sides_once(&join, asked.once);
        let asked = with_keys(&join, (left, right), once);
        join_over(join, |left, right| {
            Ok((self.narrow(left, &asked.0)?, self.narrow(right, &asked.1)?))
        })
    }

    fn alias(&self, mut alias: SubqueryAlias, asked: &Asked) -> Result<Plan> {
        let input = self.narrow(std::mem::take(&mut alias.input), asked)?;
        alias_over(alias, input)
    }

    fn union(&self, union: Union, asked: &Asked) -> Result<Plan> {
        let is_whole = asked.columns().len() == union.schema.fields().len();
        let inputs = union.inputs.into_iter().map(|input| self.narrow(input, asked));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        Ok(Plan::Union(match is_whole {
            true => Union {
                inputs,
                schema: union.schema,
            },
            false => Union::try_new(inputs)?,
        }))
    }

    fn unnest(&self, unnest: Unnest, asked: &Asked) -> Result<Plan> {
        let wanted = asked.columns().iter().copied().chain(unnest.places());
        let below = Asked::of(wanted.collect(), false);
        let input = self.pruned(Arc::unwrap_or_clone(unnest.input), &below)?;
        input.unnest(unnest.columns)
    }
}

/// A relation's name over another input, which may give fewer columns.
pub(super) fn alias_over(mut alias: SubqueryAlias, input: Arc<Plan>) -> Result<Plan> {
    // A column may be another, where nobody asks for any.
    let is_same = input.schema().fields() == alias.schema.fields();
    Ok(Plan::SubqueryAlias(match is_same {
        true => {
            alias.input = input;
            alias
        }
        false => SubqueryAlias::try_new(input, alias.alias)?,
    }))
}

/// A join of what becomes of its sides, which may give fewer columns.
pub(super) fn join_over(
    mut join: Join,
    map: impl FnOnce(Arc<Plan>, Arc<Plan>) -> Result<(Arc<Plan>, Arc<Plan>)>,
) -> Result<Plan> {
    let sides = |join: &Join| (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
    let before = sides(&join);
    (join.left, join.right) = map(std::mem::take(&mut join.left), std::mem::take(&mut join.right))?;
    if sides(&join) != before {
        join.schema = Arc::new(join_schema(
            join.left.schema(),
            join.right.schema(),
            join.join_type,
        ));
    }
    Ok(Plan::Join(join))
}

/// What the sides of a join are asked for, with what joins them.
pub(super) fn with_keys(
    join: &Join,
    (left, right): (Vec<usize>, Vec<usize>),
    once: (bool, bool),
) -> (Asked, Asked) {
    let mut left = Asked::of(left, once.0);
    let mut right = Asked::of(right, once.1);
    left.add(
        join.on.iter().map(|(key, _)| key).chain(&join.filter),
        join.left.schema(),
    );
    right.add(
        join.on.iter().map(|(_, key)| key).chain(&join.filter),
        join.right.schema(),
    );
    (left, right)
}

/// What a join is asked for of its left side, and of its right one.
pub(super) fn sides(join: &Join, asked: &Asked) -> (Vec<usize>, Vec<usize>) {
    use JoinType::{LeftAnti, LeftSemi, RightSemi};
    let left = join.left.schema().fields().len();
    match join.join_type {
        LeftSemi | LeftAnti => (asked.columns().to_vec(), Vec::new()),
        RightSemi => (Vec::new(), asked.columns().to_vec()),
        _ => asked.split(left),
    }
}

/// Whether it matters for a side how often its rows come.
fn sides_once(join: &Join, once: bool) -> (bool, bool) {
    use JoinType::{Inner, LeftAnti, LeftSemi, RightSemi};
    if join.filter.iter().any(Expr::is_volatile) {
        return (false, false);
    }
    match join.join_type {
        Inner => (once, once),
        LeftSemi | LeftAnti => (once, true),
        RightSemi => (true, once),
        _ => (false, false),
    }
}

fn is_of_sorted_rows(call: &Expr) -> bool {
    match call.unnamed() {
        Expr::AggregateFunction(call) => !call.params.order_by.is_empty(),
        _ => false,
    }
}

fn scan(table: TableScan, asked: &Asked) -> TableScan {
    let columns = match &table.projection {
        Some(read) => asked.taken(read),
        None => asked.columns().to_vec(),
    };
    table.with_projection(columns)
}

/// Whether they are all columns of the input, as they are.
fn gives_all(exprs: &[Expr], schema: &RowSchema) -> bool {
    let mut outputs = schema.iter().zip(exprs);
    exprs.len() == schema.fields().len()
        && outputs.all(|((relation, field), expr)| match expr {
            Expr::Column(column) => column.relation.as_ref() == relation && column.name == *field.name(),
            _ => false,
        })
}
