//! The rule `columns`: from the top down each node is asked for the columns that are used of it, and gives no others: scans read these,
//! projections, groups and windows compute these, projections of projections are one.
//!
//! What is volatile in a projection is computed though nobody asks for it, as PostgreSQL does (`nextval`).

use std::sync::Arc;

use datafusion_common::DFSchema;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::builder::build_join_schema;
use datafusion_expr::logical_plan::TableScanBuilder;
use datafusion_expr::{
    Aggregate, EmptyRelation, Expr, Extension, Join, JoinType, LogicalPlan, Projection, SubqueryAlias,
    TableScan, Union, Unnest, Window,
};

use super::column_demand::{Asked, with_own};
use super::existence::{Asks, asks};
use super::projections::merged;
use super::substitution::unnamed;
use super::{Rewriting, with_stack};

/// The plan without columns that nobody asks for.
pub(super) fn columns(plan: LogicalPlan, rewriting: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
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
    fn pruned(&self, plan: LogicalPlan, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        with_stack(|| match plan {
            LogicalPlan::Projection(projection) => self.projection(projection, asked),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, asked),
            LogicalPlan::Window(window) => self.window(window, asked),
            LogicalPlan::TableScan(table) => scan(table, asked).map(LogicalPlan::TableScan),
            LogicalPlan::Join(join) => self.join(join, asked),
            LogicalPlan::SubqueryAlias(alias) => self.alias(alias, asked),
            LogicalPlan::Union(union) => self.union(union, asked),
            LogicalPlan::Extension(extension) => self.extension(extension, asked),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest, asked),
            LogicalPlan::Filter(mut filter) => {
                let is_volatile = filter.predicate.is_volatile();
                let mut below = Asked::of(asked.columns().to_vec(), asked.once && !is_volatile);
                below.add([&filter.predicate], filter.input.schema());
                filter.input = self.narrow(filter.input, &below)?;
                Ok(LogicalPlan::Filter(filter))
            }
            LogicalPlan::Sort(mut sort) => {
                let mut below = Asked::of(asked.columns().to_vec(), asked.once && sort.fetch.is_none());
                below.add(sort.expr.iter().map(|key| &key.expr), sort.input.schema());
                let below = below.or_one(sort.input.schema());
                sort.input = self.narrow(sort.input, &below)?;
                Ok(LogicalPlan::Sort(sort))
            }
            LogicalPlan::Limit(mut limit) => {
                let below = Asked::of(asked.columns().to_vec(), false);
                let input = self.pruned(Arc::unwrap_or_clone(limit.input), &below)?;
                limit.input = Arc::new(input);
                Ok(LogicalPlan::Limit(limit))
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
    fn narrow(&self, input: Arc<LogicalPlan>, asked: &Asked) -> DataFusionResult<Arc<LogicalPlan>> {
        let columns = asked.columns().len();
        let before = Arc::clone(input.schema());
        let pruned = self.pruned(Arc::unwrap_or_clone(input), asked)?;
        Ok(Arc::new(match columns < pruned.schema().fields().len() {
            true => LogicalPlan::Projection(Projection::try_new(asked.exprs(&before), Arc::new(pruned))?),
            false => pruned,
        }))
    }

    fn projection(&self, projection: Projection, asked: &Asked) -> DataFusionResult<LogicalPlan> {
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
        let projection = match schema {
            Some(schema) => Projection::try_new_with_schema(exprs, input, schema),
            None => Projection::try_new(exprs, input),
        };
        projection.map(LogicalPlan::Projection)
    }

    fn aggregate(&self, mut aggregate: Aggregate, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        let (_, wanted) = asked.split(aggregate.group_expr_len()?);
        let wanted = Asked::of(wanted, false);
        let is_whole = wanted.columns().len() == aggregate.aggr_expr.len();
        if !is_whole {
            aggregate.aggr_expr = wanted.taken(&aggregate.aggr_expr);
        }
        if aggregate.group_expr.is_empty() && aggregate.aggr_expr.is_empty() {
            // Without groups there is one row, whatever is below.
            return Ok(LogicalPlan::EmptyRelation(EmptyRelation {
                produce_one_row: true,
                schema: Arc::new(DFSchema::empty()),
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
            return Ok(LogicalPlan::Aggregate(aggregate));
        }
        Aggregate::try_new(input, aggregate.group_expr, aggregate.aggr_expr).map(LogicalPlan::Aggregate)
    }

    fn window(&self, mut window: Window, asked: &Asked) -> DataFusionResult<LogicalPlan> {
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
            true => Ok(LogicalPlan::Window(window)),
            false => Window::try_new(exprs, window.input).map(LogicalPlan::Window),
        }
    }

    fn join(&self, mut join: Join, asked: &Asked) -> DataFusionResult<LogicalPlan> {
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
                    join.schema = Arc::new(build_join_schema(
                        join.left.schema(),
                        join.right.schema(),
                        &join_type,
                    )?);
                }
                Asks::Join(_) => {}
            }
        }
        let once = sides_once(&join, asked.once);
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
        let fields = join.left.schema().fields().len() + join.right.schema().fields().len();
        join.left = self.narrow(join.left, &left)?;
        join.right = self.narrow(join.right, &right)?;
        if join.left.schema().fields().len() + join.right.schema().fields().len() != fields {
            join.schema = Arc::new(build_join_schema(
                join.left.schema(),
                join.right.schema(),
                &join.join_type,
            )?);
        }
        Ok(LogicalPlan::Join(join))
    }

    fn alias(&self, mut alias: SubqueryAlias, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        let fields = alias.input.schema().fields().len();
        alias.input = self.narrow(alias.input, asked)?;
        Ok(LogicalPlan::SubqueryAlias(
            match alias.input.schema().fields().len() == fields {
                true => alias,
                false => SubqueryAlias::try_new(alias.input, alias.alias)?,
            },
        ))
    }

    fn union(&self, union: Union, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        let is_whole = asked.columns().len() == union.schema.fields().len();
        let inputs = union.inputs.into_iter().map(|input| self.narrow(input, asked));
        let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
        Ok(LogicalPlan::Union(match is_whole {
            true => Union {
                inputs,
                schema: union.schema,
            },
            false => Union::try_new(inputs)?,
        }))
    }

    fn extension(&self, extension: Extension, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        let needed = extension.node.necessary_children_exprs(asked.columns());
        let exprs = extension.node.expressions();
        let mut inputs = Vec::new();
        for (at, input) in extension.node.inputs().into_iter().enumerate() {
            let below = match needed.as_ref().and_then(|needed| needed.get(at)) {
                Some(columns) => {
                    let mut below = Asked::of(columns.clone(), false);
                    below.add(&exprs, input.schema());
                    below
                }
                None => Asked::all(input.schema()),
            };
            inputs.push(self.pruned(input.clone(), &below)?);
        }
        if inputs.is_empty() {
            return Ok(LogicalPlan::Extension(extension));
        }
        let node = extension.node.with_exprs_and_inputs(exprs, inputs)?;
        Ok(LogicalPlan::Extension(Extension { node }))
    }

    fn unnest(&self, unnest: Unnest, asked: &Asked) -> DataFusionResult<LogicalPlan> {
        let passed = asked.columns().iter();
        let passed = passed.filter_map(|at| unnest.dependency_indices.get(*at).copied());
        let below = Asked::of(passed.collect(), false);
        let below = with_own(&below, &LogicalPlan::Unnest(unnest.clone()), &unnest.input);
        let input = self.pruned(Arc::unwrap_or_clone(Arc::clone(&unnest.input)), &below)?;
        let narrowed = LogicalPlan::Unnest(Unnest {
            input: Arc::new(input),
            ..unnest
        });
        narrowed.recompute_schema()
    }
}

/// What a join is asked for of its left side, and of its right one.
fn sides(join: &Join, asked: &Asked) -> (Vec<usize>, Vec<usize>) {
    use JoinType::{LeftAnti, LeftMark, LeftSemi, RightAnti, RightMark, RightSemi};
    let left = join.left.schema().fields().len();
    match join.join_type {
        LeftSemi | LeftAnti => (asked.columns().to_vec(), Vec::new()),
        RightSemi | RightAnti => (Vec::new(), asked.columns().to_vec()),
        LeftMark => (asked.split(left).0, vec![0]),
        RightMark => (vec![0], asked.split(join.right.schema().fields().len()).0),
        _ => asked.split(left),
    }
}

/// Whether it matters for a side how often its rows come.
fn sides_once(join: &Join, once: bool) -> (bool, bool) {
    use JoinType::{Inner, LeftAnti, LeftMark, LeftSemi, RightAnti, RightMark, RightSemi};
    if join.filter.iter().any(Expr::is_volatile) {
        return (false, false);
    }
    match join.join_type {
        Inner => (once, once),
        LeftSemi | LeftAnti | LeftMark => (once, true),
        RightSemi | RightAnti | RightMark => (true, once),
        _ => (false, false),
    }
}

fn is_of_sorted_rows(call: &Expr) -> bool {
    match unnamed(call) {
        Expr::AggregateFunction(call) => !call.params.order_by.is_empty(),
        _ => false,
    }
}

fn scan(table: TableScan, asked: &Asked) -> DataFusionResult<TableScan> {
    let columns = match &table.projection {
        Some(read) => asked.taken(read),
        None => asked.columns().to_vec(),
    };
    TableScanBuilder::from(table)
        .with_projection(Some(columns))
        .build()
}

/// Whether they are all columns of the input, as they are.
fn gives_all(exprs: &[Expr], schema: &DFSchema) -> bool {
    let mut outputs = schema.iter().zip(exprs);
    exprs.len() == schema.fields().len()
        && outputs.all(|((relation, field), expr)| match expr {
            Expr::Column(column) => column.relation.as_ref() == relation && column.name == *field.name(),
            _ => false,
        })
}
