//! The rule `waiting`: functions that wait (sizes of tables, advisory locks) are called in a projection below groups, windows and rows of
//! VALUES, which have nobody to wait for them. Projections, filters and joins by keys call them by themselves. Without this rule such a
//! plan cannot run.

use std::sync::Arc;

use super::Rewriting;
use super::output_names::with_name_of;
use crate::Result;
use crate::logical::evaluable::calls_waiting;
use crate::tree::{
    Aggregate, Column, EmptyRelation, Expr, Filter, Join, JoinType, Plan, Projection, RowSchema, Transformed,
    TransformedResult, TreeNode, TreeNodeRecursion, Union, Values, Window,
};

/// The plan with such calls below the nodes that cannot wait.
pub(super) fn waiting(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::Aggregate(aggregate) if waits(&aggregate) => groups(aggregate, rewriting).map(Transformed::yes),
        Plan::Window(window) if window.window_expr.iter().any(calls_waiting) => {
            windows(window, rewriting).map(Transformed::yes)
        }
        Plan::Values(values) if values.values.iter().flatten().any(calls_waiting) => {
            rows(values).map(Transformed::yes)
        }
        Plan::Join(join) if join.join_type == JoinType::Inner => Ok(pairs(join)),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// Whether keys or aggregates call what waits; the keys of grouping sets are columns by then.
fn waits(aggregate: &Aggregate) -> bool {
    let has_sets = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSets(_)]);
    aggregate.aggr_expr.iter().any(calls_waiting)
        || !has_sets && aggregate.group_expr.iter().any(calls_waiting)
}

fn groups(aggregate: Aggregate, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let mut calls = Calls::new(rewriting);
    let keys = match aggregate.group_expr.as_slice() {
        [Expr::GroupingSets(_)] => aggregate.group_expr,
        _ => calls.used_by(aggregate.group_expr)?,
    };
    let aggregates = calls.used_by(aggregate.aggr_expr)?;
    let input = calls.below(aggregate.input)?;
    Aggregate::try_new(input, keys, aggregates).map(Plan::Aggregate)
}

fn windows(window: Window, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let mut calls = Calls::new(rewriting);
    let schema = Arc::clone(&window.schema);
    let given = schema.columns().into_iter().map(Expr::Column).collect();
    let functions = calls.used_by(window.window_expr)?;
    let input = calls.below(window.input)?;
    let window = Plan::Window(Window::try_new(functions, input)?);
    // Nobody above knows of what is computed below.
    let given = Projection::with_schema(given, Arc::new(window), schema);
    Ok(Plan::Projection(given))
}

/// Each row as a projection of its own.
fn rows(values: Values) -> Result<Plan> {
    let schema = values.schema;
    let nothing = Arc::new(Plan::EmptyRelation(EmptyRelation {
        produce_one_row: true,
        schema: Arc::new(RowSchema::empty()),
    }));
    let row = |row: Vec<Expr>| {
        let named = row.into_iter().zip(schema.columns());
        let named = named.map(|(value, column)| value.alias_qualified(column.relation, column.name));
        let row = Projection::with_schema(named.collect(), Arc::clone(&nothing), Arc::clone(&schema));
        Arc::new(Plan::Projection(row))
    };
    let inputs = values.values.into_iter().map(row).collect();
    Ok(Plan::Union(Union {
        inputs,
        schema: Arc::clone(&schema),
    }))
}

/// What a join asks of pairs is asked of its rows instead, where it waits.
fn pairs(join: Join) -> Transformed<Plan> {
    match join.filter {
        Some(filter) if calls_waiting(&filter) => {
            let joined = Arc::new(Plan::Join(Join { filter: None, ..join }));
            Transformed::yes(Plan::Filter(Filter::new(filter, joined)))
        }
        _ => Transformed::no(Plan::Join(join)),
    }
}

/// The calls of a node, each under a name of its own: one that is written twice is made twice.
struct Calls<'a> {
    rewriting: &'a Rewriting<'a>,
    named: Vec<Expr>,
}

impl<'a> Calls<'a> {
    fn new(rewriting: &'a Rewriting<'a>) -> Calls<'a> {
        Calls {
            rewriting,
            named: Vec::new(),
        }
    }

    /// The expressions with columns in the places of the calls.
    fn used_by(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        let used = exprs.into_iter();
        let used =
            used.map(|expr| with_name_of(expr, |expr| expr.transform_down(|part| self.column(part)).data()));
        used.collect()
    }

    fn column(&mut self, part: Expr) -> Result<Transformed<Expr>> {
        Ok(match &part {
            Expr::ScalarFunction(call) if call.func.waits() && part.is_closed() => {
                let name = self.rewriting.name("waiting");
                self.named.push(part.alias(&name));
                let column = Expr::Column(Column::new_unqualified(name));
                Transformed::new(column, true, TreeNodeRecursion::Jump)
            }
            _ => Transformed::no(part),
        })
    }

    /// The input with what the calls give behind its own columns.
    fn below(self, input: Arc<Plan>) -> Result<Arc<Plan>> {
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let outputs = columns.chain(self.named).collect();
        Projection::try_new(outputs, input).map(|below| Arc::new(Plan::Projection(below)))
    }
}
