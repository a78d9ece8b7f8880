//! DISTINCT ON: the first row of each group, in the order of the sort.

use std::collections::HashSet;

use datafusion::common::Column;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast;

use super::binder::{Binder, Place, fault};
use super::select::{Item, SortKey};
use crate::Result;
use crate::error::StatementFault;

impl Binder<'_> {
    pub(super) fn distinct_on(
        &mut self,
        select: &ast::Select,
        items: &mut Vec<Item>,
        place: Place<'_>,
    ) -> Result<Option<Vec<usize>>> {
        let Some(ast::Distinct::On(exprs)) = &select.distinct else {
            return Ok(None);
        };
        let visible = items.len();
        let mut outputs = Vec::with_capacity(exprs.len());
        for expr in exprs {
            outputs.push(self.order_item(expr, items, visible, &select.projection, place)?);
        }
        Ok(Some(outputs))
    }
}

/// DISTINCT ON: the first row of each group in the order of the sort.
pub(super) fn first_of_each(
    builder: LogicalPlanBuilder,
    on: Vec<Expr>,
    sorts: Vec<Sort>,
    names: &[String],
    visible: usize,
) -> datafusion::error::Result<LogicalPlan> {
    use datafusion::logical_expr::ExprFunctionExt;
    let number = datafusion::functions_window::expr_fn::row_number()
        .partition_by(on)
        .order_by(sorts.clone())
        .window_frame(datafusion::logical_expr::WindowFrame::new(Some(true)))
        .build()?;
    let numbered = number.schema_name().to_string();
    let first = Expr::Column(Column::from_name(numbered)).eq(datafusion::logical_expr::lit(1_u64));
    builder
        .window(vec![number])?
        .filter(first)?
        .sort(sorts)?
        .project(
            names[..visible]
                .iter()
                .map(|name| Expr::Column(Column::new_unqualified(name))),
        )?
        .build()
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
