//! Making a [`LookupJoin`] of a join, and finding those of a plan.

use std::sync::Arc;

use super::table_side::TableSide;
use crate::Result;
use crate::logical::column_mapping::replaced_columns;
use crate::logical::evaluable::is_computable;
use crate::plan::{Wanted, plan_equality};
use crate::tree::{
    Column, Expr, JoinType, LookupJoin, Partners, Plan, TableSource, TreeNodeRecursion, join_schema,
};

/// The rows of `outer` joined with those of `inner` that are looked up for them. `None`: `inner` is no table, or no key of it
/// serves the conditions.
pub(crate) fn look_up(outer: Plan, inner: &Plan, partners: Partners, conditions: Vec<Expr>) -> Option<Plan> {
    let table = TableSide::of(inner)?;
    let (left, right) = (Arc::clone(outer.schema()), inner.schema());
    let join_type = match partners {
        Partners::Needed => JoinType::Inner,
        Partners::OrNone => JoinType::Left,
        Partners::Exist => JoinType::LeftSemi,
        Partners::Miss => JoinType::LeftAnti,
    };
    let schema = join_schema(&left, right, join_type);
    let both = Arc::new(left.join(table.schema()));
    let stands_for = |column: &Column| match left.maybe_index_of_column(column) {
        Some(at) => Some(Expr::Column(Column::from(left.qualified_field(at)))),
        None => table.column(right.maybe_index_of_column(column)?),
    };
    let conditions = conditions.into_iter();
    let conditions = conditions.map(|condition| replaced_columns(condition, stands_for));
    let conditions = conditions.collect::<Option<Vec<Expr>>>()?;
    let (seen, source) = (table.seen().to_vec(), Arc::clone(table.source()));
    let (inner, asked) = table.looked_up(&left, conditions)?;
    let columns: Vec<usize> = inner.keys.iter().map(|(column, _)| *column).collect();
    let wanted = Wanted {
        columns: Some(&inner.positions),
        first_in_order: &[],
    };
    plan_equality(&inner.table, &columns, wanted, &inner.index_hint)?;
    if !asked.iter().all(|condition| is_computable(condition, &both)) {
        return None;
    }
    Some(Plan::LookupJoin(LookupJoin {
        outer: Arc::new(outer),
        inner: Arc::new(inner),
        partners,
        conditions: asked.into(),
        both,
        source,
        seen: match partners.are_given() {
            true => seen.into(),
            false => Arc::from([]),
        },
        schema: Arc::new(schema),
    }))
}

/// What would scan the tables that are looked up in the plan.
pub(crate) fn looked_up(plan: &Plan) -> Result<Vec<Arc<dyn TableSource>>> {
    let mut sources = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let Plan::LookupJoin(join) = node {
            sources.push(Arc::clone(&join.source));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(sources)
}
