//! Reads a subquery that depends on outer rows as a `SubChain`: steps that take outer rows, each with its number, to the answers.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};

use super::join_group::{Growing, JoinGroup};
use super::prune::prune;
use super::step::{Answer, Step, SubChain};
use super::totals::Total;
use crate::operators::computed::Computed;
use crate::tree::{
    Aggregate, Column, Exists, Expr, Plan, RelationAlias, RowSchema, SubPlan, SubPlanKind, Transformed,
    TreeNode,
};

/// What the number of an outer row is called: no column has that name.
const ROW_NUMBER: &str = "?row";

/// The subquery over rows of `outer`, whose answer becomes a column behind theirs. `may_drive`: conditions bound the outer rows, so that
/// each may look up several rows of a table. `None`: its form is another.
pub(super) fn read_subquery(
    sub_plan: &SubPlan,
    outer: &RowSchema,
    field: &FieldRef,
    may_drive: bool,
) -> Option<SubChain> {
    let asked_when = match &sub_plan.asked_when {
        Some(condition) => Some(Computed::in_statement(condition, outer)?),
        None => None,
    };
    let columns = outer_columns(sub_plan, outer)?;
    let mut fields: Vec<(Option<RelationAlias>, FieldRef)> = columns
        .iter()
        .map(|column| outer.qualified_field(*column))
        .map(|(relation, field)| (relation.cloned(), Arc::clone(field)))
        .collect();
    let number = Arc::new(Field::new(ROW_NUMBER, DataType::UInt32, false));
    fields.push((None, Arc::clone(&number)));
    let mut rows = Growing {
        steps: Vec::new(),
        schema: Arc::new(RowSchema::new(fields)),
    };
    let (value, aggregate, joined) = parts(sub_plan)?;
    let inner = |expr: Expr| with_bindings(expr, sub_plan);
    rows.extend(JoinGroup::read_in(joined, Vec::new(), inner)?)?;
    if !(may_drive || rows.is_cheap()) {
        return None;
    }
    // What acts is called until there is a row, which the general plan knows.
    if value.is_none() && rows.steps.iter_mut().any(Step::acts) {
        return None;
    }
    let mut over_none = None;
    match (&value, aggregate) {
        (Some(value), Some(aggregate)) => {
            over_none = Some(add_totals(&mut rows, aggregate, value, &number, &inner)?);
        }
        (Some(value), None) => {
            let value = inner(value.clone())?;
            add_answer(&mut rows, Some(&value), &number)?;
        }
        (None, _) => add_answer(&mut rows, None, &number)?,
    }
    let used = prune(&mut rows.steps)?;
    let kept = used.iter().filter_map(|column| columns.get(*column));
    Some(SubChain {
        outer: kept.copied().collect(),
        answer: match sub_plan.kind {
            SubPlanKind::Exists { negated } => Answer::Exists { negated },
            _ => Answer::Scalar { over_none },
        },
        outer_columns: outer.fields().len(),
        field: Arc::clone(field),
        asked_when,
        steps: rows.steps,
    })
}

/// The rows of `outer` for which EXISTS, which is a whole condition, holds. `None`: it looks up tables, or its form is another.
pub(super) fn read_exists(exists: &Exists, outer: &RowSchema) -> Option<SubChain> {
    let negated = exists.negated;
    let binding = |reference: &Expr| match reference {
        Expr::OuterReferenceColumn(_, column) => Some((column.clone(), Expr::Column(column.clone()))),
        _ => None,
    };
    let bindings = exists.subquery.outer_ref_columns.iter().map(binding);
    let sub_plan = SubPlan {
        plan: Arc::clone(&exists.subquery.subquery),
        kind: SubPlanKind::Exists { negated },
        bindings: bindings.collect::<Option<_>>()?,
        asked_when: None,
        name: String::new(),
    };
    let field = Arc::new(Field::new(&sub_plan.name, DataType::Boolean, true));
    let chain = read_subquery(&sub_plan, outer, &field, false)?;
    Some(SubChain {
        answer: Answer::Keep { negated },
        ..chain
    })
}

/// The outer columns that the subquery asks for.
fn outer_columns(sub_plan: &SubPlan, outer: &RowSchema) -> Option<Vec<usize>> {
    let mut columns = Vec::new();
    for (_, expr) in &sub_plan.bindings {
        for column in expr.column_refs() {
            columns.push(outer.index_of_column(column).ok()?);
        }
    }
    columns.sort_unstable();
    columns.dedup();
    Some(columns)
}

/// What a subquery gives of each row (`None`: whether there is one), of which aggregates, and over what.
fn parts(sub_plan: &SubPlan) -> Option<(Option<Expr>, Option<&Aggregate>, &Plan)> {
    let plan = sub_plan.plan.as_ref();
    match sub_plan.kind {
        SubPlanKind::Exists { .. } => Some(match plan {
            // What is selected does not matter: there is a row or not.
            Plan::Projection(projection) => (None, None, &projection.input),
            plan => (None, None, plan),
        }),
        SubPlanKind::Scalar => {
            let (value, below) = match plan {
                Plan::Projection(projection) => match projection.expr.as_slice() {
                    [value] => (value.clone().unalias(), projection.input.as_ref()),
                    _ => return None,
                },
                plan => (Expr::Column(Column::from(plan.schema().qualified_field(0))), plan),
            };
            match below {
                Plan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                    Some((Some(value), Some(aggregate), &aggregate.input))
                }
                below => Some((Some(value), None, below)),
            }
        }
        SubPlanKind::In { .. } | SubPlanKind::Rows { .. } => None,
    }
}

/// The expression with what outer columns stand for.
fn with_bindings(expr: Expr, sub_plan: &SubPlan) -> Option<Expr> {
    let mut is_whole = true;
    let replaced = expr.transform_up(|expr| {
        let Expr::OuterReferenceColumn(_, column) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let bound = sub_plan.bindings.iter().find(|(name, _)| name == column);
        is_whole &= bound.is_some();
        Ok(bound.map_or_else(
            || Transformed::no(expr.clone()),
            |(_, value)| Transformed::yes(value.clone()),
        ))
    });
    replaced.ok().filter(|_| is_whole).map(|replaced| replaced.data)
}

/// Ends with the number of the outer row, and a value beside it if one is asked for.
fn add_answer(rows: &mut Growing, value: Option<&Expr>, number: &FieldRef) -> Option<()> {
    let mut columns = vec![Computed::new(&row_number(), &rows.schema)?];
    let mut fields = vec![Arc::clone(number)];
    if let Some(value) = value {
        columns.push(Computed::in_statement(value, &rows.schema)?);
        fields.push(answer_field(value, &rows.schema)?);
    }
    let schema = Arc::new(Schema::new(fields));
    rows.steps.push(Step::Project { columns, schema });
    Some(())
}

/// Ends with a value over aggregates for each outer row that has rows; answers the steps that give the value over none.
fn add_totals(
    rows: &mut Growing,
    aggregate: &Aggregate,
    value: &Expr,
    number: &FieldRef,
    inner: &impl Fn(Expr) -> Option<Expr>,
) -> Option<Vec<Step>> {
    let totals = || {
        let total = |expr: &Expr| Total::new(&inner(expr.clone())?, &rows.schema);
        aggregate.aggr_expr.iter().map(total).collect::<Option<Vec<_>>>()
    };
    let value = inner(value.clone())?;
    let schema = Arc::clone(aggregate.schema.inner());
    let own = Arc::new(Schema::new(vec![answer_field(&value, &aggregate.schema)?]));
    let over_none = vec![
        Step::Totals {
            totals: totals()?,
            schema: Arc::clone(&schema),
        },
        Step::Project {
            columns: vec![Computed::in_statement(&value, &aggregate.schema)?],
            schema: own,
        },
    ];
    let fields = std::iter::once(number).chain(schema.fields());
    let groups = Step::Groups {
        keys: vec![Computed::new(&row_number(), &rows.schema)?],
        totals: totals()?,
        schema: Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>())),
    };
    rows.steps.push(groups);
    let numbered = vec![(None, Arc::clone(number))];
    let numbered = RowSchema::new(numbered);
    rows.schema = Arc::new(numbered.join(&aggregate.schema));
    add_answer(rows, Some(&value), number)?;
    Some(over_none)
}

fn answer_field(value: &Expr, schema: &RowSchema) -> Option<FieldRef> {
    let ty = value.get_type(schema).ok()?;
    Some(Arc::new(Field::new("?answer", ty, true)))
}

fn row_number() -> Expr {
    Expr::Column(Column::new_unqualified(ROW_NUMBER))
}
