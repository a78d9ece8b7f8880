//! The rule `empty_relations`: what has no rows is not asked for them, and what is made of it is as empty, or lacks its columns.

use std::sync::Arc;

use super::Rewriting;
use super::operands::is_truth;
use crate::Result;
use crate::functions::value_array::null_of;
use crate::tree::{
    Column, EmptyRelation, Expr, Filter, Join, JoinType, Plan, Projection, RowSchemaRef, Transformed,
    TransformedResult, TreeNode, Union,
};

/// The plan without what has no rows.
pub(super) fn empty_relations(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| {
        let schema = Arc::clone(node.schema());
        match node {
            Plan::TableScan(scan) if scan.source.has_no_rows() => Ok(Transformed::yes(nothing(schema))),
            Plan::Filter(filter) => Ok(of_filter(filter)),
            Plan::Projection(_)
            | Plan::Window(_)
            | Plan::Sort(_)
            | Plan::DependentJoin(_)
            | Plan::SubqueryAlias(_)
            | Plan::Limit(_)
                if node.inputs().into_iter().all(is_empty) =>
            {
                Ok(Transformed::yes(nothing(schema)))
            }
            Plan::Aggregate(aggregate)
                if is_empty(&aggregate.input) && !may_have_row_of_nothing(&aggregate.group_expr) =>
            {
                Ok(Transformed::yes(nothing(schema)))
            }
            Plan::Join(join) => of_join(join),
            Plan::Union(union) => Ok(of_union(union)),
            node => Ok(Transformed::no(node)),
        }
    })
    .data()
}

/// A relation without rows.
pub(super) fn nothing(schema: RowSchemaRef) -> Plan {
    Plan::EmptyRelation(EmptyRelation {
        produce_one_row: false,
        schema,
    })
}

/// Whether groups give a row where there is none to be grouped: without keys, or with a grouping set that may be empty.
pub(super) fn may_have_row_of_nothing(keys: &[Expr]) -> bool {
    keys.is_empty() || keys.iter().any(|key| matches!(key, Expr::GroupingSets(_)))
}

fn is_empty(plan: &Plan) -> bool {
    matches!(plan, Plan::EmptyRelation(empty) if !empty.produce_one_row)
}

fn of_filter(filter: Filter) -> Transformed<Plan> {
    if is_truth(&filter.predicate, true) {
        return Transformed::yes(Arc::unwrap_or_clone(filter.input));
    }
    if is_empty(&filter.input) || matches!(filter.predicate, Expr::Literal(..)) {
        return Transformed::yes(nothing(Arc::clone(filter.input.schema())));
    }
    Transformed::no(Plan::Filter(filter))
}

fn of_union(union: Union) -> Transformed<Plan> {
    if !union.inputs.iter().any(|input| is_empty(input)) {
        return Transformed::no(Plan::Union(union));
    }
    let mut inputs = union.inputs;
    inputs.retain(|input| !is_empty(input));
    Transformed::yes(match inputs.as_slice() {
        [] => nothing(union.schema),
        [only] if only.schema() == &union.schema => only.as_ref().clone(),
        [only] => Plan::Projection(Projection::of_columns(Arc::clone(only), union.schema)),
        _ => Plan::Union(Union {
            inputs,
            schema: union.schema,
        }),
    })
}

fn of_join(join: Join) -> Result<Transformed<Plan>> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightSemi};
    let has_no_pair = join.filter.as_ref().is_some_and(|filter| {
        matches!(filter, Expr::Literal(..)) && !is_truth(filter, true) && join.join_type != Full
    });
    let (no_left, no_right) = (is_empty(&join.left), is_empty(&join.right));
    // Which side has nothing to give to rows of the other.
    let (nothing_left, nothing_right) = (no_left || has_no_pair, no_right || has_no_pair);
    Ok(Transformed::yes(match join.join_type {
        Inner | LeftSemi | RightSemi if nothing_left || nothing_right => nothing(join.schema),
        Left | LeftAnti if no_left => nothing(join.schema),
        Right if no_right => nothing(join.schema),
        Full if no_left && no_right => nothing(join.schema),
        LeftAnti if nothing_right => Arc::unwrap_or_clone(join.left),
        Left | Full if nothing_right => beside_nulls(&join, true)?,
        Right | Full if nothing_left => beside_nulls(&join, false)?,
        _ => return Ok(Transformed::no(Plan::Join(join))),
    }))
}

/// The rows of one side of an outer join beside the NULLs that the other gives. `left`: it is the left one.
fn beside_nulls(join: &Join, left: bool) -> Result<Plan> {
    let columns_left = join.left.schema().fields().len();
    let outputs = join.schema.iter().enumerate().map(|(at, (relation, field))| {
        if (at < columns_left) == left {
            return Ok(Expr::Column(Column::from((relation, field))));
        }
        let null = null_of(field.data_type())?;
        Ok(Expr::Literal(null, None).alias_qualified(relation.cloned(), field.name()))
    });
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    let side = if left { &join.left } else { &join.right };
    Ok(Plan::Projection(Projection::with_schema(
        outputs,
        Arc::clone(side),
        Arc::clone(&join.schema),
    )))
}
