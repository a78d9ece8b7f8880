//! The rule `common_expressions`: what expressions of a projection, of groups or of windows compute more than once is computed once, in a
//! projection below. Only what is computed for every row anyway: not what stands under a condition alone, and never what is volatile.

use std::collections::HashMap;
use std::sync::Arc;

use super::Rewriting;
use super::output_names::with_name_of;
use crate::Result;
use crate::tree::{
    Aggregate, BinaryExpr, Column, Expr, Operator, Plan, Projection, Transformed, TransformedResult,
    TreeNode, TreeNodeRecursion, Window, with_stack,
};

/// The plan with such expressions in projections of their own.
pub(super) fn common_expressions(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_down(|node| match node {
        Plan::Projection(projection) => {
            let Some(common) = Common::of(&projection.expr, rewriting) else {
                return Ok(Transformed::no(Plan::Projection(projection)));
            };
            let exprs = common.used_by(projection.expr)?;
            let input = common.below(projection.input)?;
            let projection = Projection::with_schema(exprs, input, projection.schema);
            Ok(Transformed::yes(Plan::Projection(projection)))
        }
        // What a grouping set names is computed once for all sets.
        Plan::Aggregate(aggregate)
            if !aggregate
                .group_expr
                .iter()
                .any(|key| matches!(key, Expr::GroupingSets(_))) =>
        {
            let exprs: Vec<Expr> = aggregate
                .group_expr
                .iter()
                .chain(&aggregate.aggr_expr)
                .cloned()
                .collect();
            let Some(common) = Common::of(&exprs, rewriting) else {
                return Ok(Transformed::no(Plan::Aggregate(aggregate)));
            };
            let keys = common.used_by(aggregate.group_expr)?;
            let calls = common.used_by(aggregate.aggr_expr)?;
            let input = common.below(aggregate.input)?;
            let aggregate = Aggregate::try_new(input, keys, calls)?;
            Ok(Transformed::yes(Plan::Aggregate(aggregate)))
        }
        Plan::Window(window) => {
            let Some(common) = Common::of(&window.window_expr, rewriting) else {
                return Ok(Transformed::no(Plan::Window(window)));
            };
            let schema = Arc::clone(&window.schema);
            let given = schema.columns().into_iter().map(Expr::Column).collect();
            let calls = common.used_by(window.window_expr)?;
            let input = common.below(window.input)?;
            let window = Plan::Window(Window::try_new(calls, input)?);
            // Nobody above knows of what is computed below.
            let given = Projection::with_schema(given, Arc::new(window), schema);
            Ok(Transformed::yes(Plan::Projection(given)))
        }
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// What is computed more than once, and what it is called.
struct Common {
    names: HashMap<Expr, String>,
}

/// How often an expression is computed, and whether it is for every row.
#[derive(Default)]
struct Uses {
    count: usize,
    is_certain: bool,
}

impl Common {
    /// `None`: there is nothing.
    fn of(exprs: &[Expr], rewriting: &Rewriting<'_>) -> Option<Common> {
        let mut uses: HashMap<&Expr, Uses> = HashMap::new();
        for expr in exprs {
            note(expr, true, &mut uses);
        }
        let mut repeated: Vec<&Expr> = uses
            .into_iter()
            .filter_map(|(expr, uses)| (uses.count > 1 && uses.is_certain).then_some(expr))
            .collect();
        if repeated.is_empty() {
            return None;
        }
        // Names do not depend on how the map is ordered.
        repeated.sort_by_cached_key(|expr| expr.schema_name().to_string());
        let named = repeated
            .into_iter()
            .map(|expr| (expr.clone(), rewriting.name("common")));
        Some(Common {
            names: named.collect(),
        })
    }

    /// The expressions with these by name.
    fn used_by(&self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        let used = exprs.into_iter().map(|expr| {
            with_name_of(expr, |expr| {
                expr.transform_down(|expr| {
                    Ok(match self.names.get(&expr) {
                        Some(name) => {
                            let column = Expr::Column(Column::new_unqualified(name));
                            Transformed::new(column, true, TreeNodeRecursion::Jump)
                        }
                        None => Transformed::no(expr),
                    })
                })
                .data()
            })
        });
        used.collect()
    }

    /// The input with them. What is part of another only is left out in the end by whoever asks for columns.
    fn below(&self, input: Arc<Plan>) -> Result<Arc<Plan>> {
        let mut named: Vec<(&Expr, &String)> = self.names.iter().collect();
        named.sort_by_key(|(_, name)| *name);
        let computed = named.into_iter().map(|(expr, name)| expr.clone().alias(name));
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let outputs = columns.chain(computed).collect();
        Projection::try_new(outputs, input).map(|below| Arc::new(Plan::Projection(below)))
    }
}

/// Notes what an expression computes. `is_certain`: for every row.
fn note<'a>(expr: &'a Expr, is_certain: bool, uses: &mut HashMap<&'a Expr, Uses>) {
    if is_worthwhile(expr) {
        let noted = uses.entry(expr).or_default();
        noted.count += 1;
        noted.is_certain |= is_certain;
    }
    let mut note_if = |expr: &'a Expr, is_certain| with_stack(|| note(expr, is_certain, uses));
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And | Operator::Or,
            right,
        }) => {
            note_if(left, is_certain);
            note_if(right, false);
        }
        Expr::Case(case) => {
            case.expr.iter().for_each(|operand| note_if(operand, is_certain));
            for (at, (when, then)) in case.when_then_expr.iter().enumerate() {
                note_if(when, is_certain && at == 0);
                note_if(then, false);
            }
            case.else_expr
                .iter()
                .for_each(|otherwise| note_if(otherwise, false));
        }
        Expr::AggregateFunction(call) if call.params.filter.is_some() => {
            call.params
                .args
                .iter()
                .for_each(|argument| note_if(argument, false));
        }
        Expr::WindowFunction(call) if call.params.filter.is_some() => {
            let params = &call.params;
            params.args.iter().for_each(|argument| note_if(argument, false));
            let order = params.order_by.iter().map(|key| &key.expr);
            let certain = params.filter.as_deref().into_iter().chain(&params.partition_by);
            certain.chain(order).for_each(|each| note_if(each, is_certain));
        }
        expr => {
            // No step of it fails.
            let _ = expr.apply_children(|child| {
                note_if(child, is_certain);
                Ok(TreeNodeRecursion::Continue)
            });
        }
    }
}

/// Whether it computes something that a row has once.
fn is_worthwhile(expr: &Expr) -> bool {
    let computes = matches!(
        expr,
        Expr::ScalarFunction(_)
            | Expr::BinaryExpr(_)
            | Expr::Case(_)
            | Expr::Let(_)
            | Expr::Cast(_)
            | Expr::Like(_)
            | Expr::InList(_)
    );
    computes
        && !expr.is_volatile()
        && expr.is_closed()
        && expr
            .exists(|part| {
                Ok(matches!(
                    part,
                    Expr::ScalarSubquery(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_)
                ))
            })
            .is_ok_and(|has_more| !has_more)
        && expr.any_column_refs()
}
