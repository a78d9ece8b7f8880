//! DISTINCT ON: the first row of each group, in the order of the sort.

use std::collections::HashSet;

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::same_rows::refuse_unequal;
use super::select_item::{BoundItem, SortKey};
use super::set_returning::{all_columns, has_set};
use crate::Result;
use crate::error::StatementFault;
use crate::tree::{Column, Expr, OrderKey, Plan, Ranking, WindowFrame, lit};

impl Binder<'_> {
    pub(super) fn distinct_on(
        &mut self,
        select: &ast::Select,
        items: &mut Vec<BoundItem>,
        place: Place<'_>,
    ) -> Result<Option<Vec<usize>>> {
        let Some(ast::Distinct::On(exprs)) = &select.distinct else {
            return Ok(None);
        };
        let visible = items.len();
        let mut outputs = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let output = self.order_item((expr, "DISTINCT ON"), items, visible, place)?;
            refuse_unequal(&items[output].bound.ty)?;
            outputs.push(output);
        }
        Ok(Some(outputs))
    }

    /// The rows that DISTINCT ON leaves of a plan with all of its columns, where the select list makes several rows of
    /// one and neither it nor ORDER BY asks for these: PostgreSQL makes them last. `None`: they come first.
    pub(super) fn first_rows(
        &mut self,
        plan: &Plan,
        (exprs, items): (&[Expr], &[BoundItem]),
        (on, keys): (&[usize], &[SortKey]),
    ) -> Result<Option<Plan>> {
        let sorted: Vec<usize> = keys.iter().map(|key| key.output).collect();
        let makes_sets = |at: &usize| has_set(&exprs[*at]);
        let wanted: Vec<usize> = sorted.iter().chain(on).copied().collect();
        if keys.is_empty() || wanted.iter().any(makes_sets) || !exprs.iter().any(has_set) {
            return Ok(None);
        }
        refuse_other_order(on, keys)?;
        let mut outputs = all_columns(plan);
        let mut key = |at: usize| -> Result<Expr> {
            let name = self.unique_name("?on");
            outputs.push(exprs[at].clone().alias(&name));
            let column = Expr::Column(Column::new_unqualified(name));
            self.order_key(Bound::new(column, items[at].bound.ty.clone()))
        };
        let groups = on.iter().map(|at| key(*at)).collect::<Result<Vec<_>>>()?;
        let sorts = keys.iter().map(|sort| {
            let expr = key(sort.output)?;
            Ok(OrderKey::new(expr, sort.ascending, sort.nulls_first))
        });
        let sorts = sorts.collect::<Result<Vec<_>>>()?;
        let first = plan
            .clone()
            .project(outputs)
            .and_then(|plan| only_first(plan, groups, sorts));
        first.map(Some)
    }
}

/// The first row of each group in the order of the sort.
fn only_first(plan: Plan, groups: Vec<Expr>, sorts: Vec<OrderKey>) -> Result<Plan> {
    let number = Ranking::RowNumber.of_parts(groups, sorts, WindowFrame::new(Some(true)));
    let first = Expr::Column(Column::new_unqualified(number.column_name())).eq(lit(1_u64));
    Ok(plan.windows(vec![number])?.filter(first))
}

/// DISTINCT ON: the first row of each group in the order of the sort.
pub(super) fn first_of_each(
    plan: Plan,
    on: Vec<Expr>,
    sorts: Vec<OrderKey>,
    names: &[String],
    visible: usize,
) -> Result<Plan> {
    let shown = names[..visible].iter();
    only_first(plan, on, sorts.clone())?
        .sort(sorts)
        .project(shown.map(|name| Expr::Column(Column::new_unqualified(name))))
}

pub(super) fn refuse_other_order(on: &[usize], keys: &[SortKey]) -> Result<()> {
    let on: HashSet<usize> = on.iter().copied().collect();
    let leading = keys.iter().take_while(|key| on.contains(&key.output)).count();
    let distinct: HashSet<usize> = keys.iter().take(leading).map(|key| key.output).collect();
    if leading < keys.len() && distinct.len() < on.len() {
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        return Err(fault(StatementFault::InvalidColumnReference, message));
    }
    Ok(())
}
