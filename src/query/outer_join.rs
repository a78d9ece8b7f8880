//! Outer joins whose condition has a subquery: DataFusion joins by no such condition. The rows that must stay are numbered, the pairs
//! for which the condition holds are found as an inner join finds them, and what has no pair is put back by its number.
//!
//! ```text
//!   a LEFT JOIN b ON … (SELECT …) …      Left Join on number
//!                                          Shared Rows: a, numbered
//!                                          Filter: … (SELECT …) …
//!                                            Cross Join
//!                                              the same Shared Rows
//!                                              b
//! ```

use datafusion_common::{Column, JoinType};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_functions_window::expr_fn::row_number;

use super::binder::Binder;
use super::decorrelation::refers_out;
use super::shared_query::reads_open_recursion;
use crate::logical::shared_rows::SharedRows;
use crate::system::datafusion_error::from_datafusion;
use crate::{Error, Result};

/// A side of the join.
struct Side {
    plan: LogicalPlan,
    /// Its columns, without the number.
    columns: Vec<Expr>,
    /// The column that numbers its rows, of a side that must stay.
    number: Option<String>,
}

impl Binder<'_> {
    /// `left kind JOIN right ON condition`.
    pub(super) fn outer_join_by_subquery(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        kind: JoinType,
        condition: Expr,
    ) -> Result<LogicalPlan> {
        let left = self.side(left, matches!(kind, JoinType::Left | JoinType::Full))?;
        let right = self.side(right, matches!(kind, JoinType::Right | JoinType::Full))?;
        let crossed = LogicalPlanBuilder::new(left.plan.clone())
            .cross_join(right.plan.clone())
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let pairs = self.filter(crossed, condition)?;
        // What a side that stays gives beside its numbers comes from the side itself.
        let mut found: Vec<Expr> = Vec::new();
        let mut staying = Vec::new();
        for side in [&left, &right] {
            match &side.number {
                None => found.extend(side.columns.iter().cloned()),
                Some(number) => {
                    let number = Expr::Column(Column::new_unqualified(number));
                    let pair = self.unique_name("?pair");
                    found.push(number.clone().alias(&pair));
                    staying.push((side, Expr::Column(Column::new_unqualified(pair)).eq(number)));
                }
            }
        }
        let mut builder = LogicalPlanBuilder::new(pairs)
            .project(found)
            .map_err(from_datafusion)?;
        for (at, (side, equal)) in staying.into_iter().enumerate() {
            // Before the second side comes, rows of the first are there that have no pair, and stay.
            let join_type = if at == 0 { JoinType::Right } else { JoinType::Full };
            builder = builder
                .join_on(side.plan.clone(), join_type, [equal])
                .map_err(from_datafusion)?;
        }
        let columns: Vec<Expr> = left.columns.iter().chain(&right.columns).cloned().collect();
        builder
            .project(columns)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }

    /// A side of the join; one that stays has its rows numbered, and they are the same wherever they are read.
    fn side(&mut self, plan: LogicalPlan, stays: bool) -> Result<Side> {
        let columns: Vec<Expr> = (0..plan.schema().fields().len())
            .map(|index| Expr::Column(Column::from(plan.schema().qualified_field(index))))
            .collect();
        if !stays {
            let number = None;
            return Ok(Side {
                plan,
                columns,
                number,
            });
        }
        if refers_out(&plan)? || reads_open_recursion(&plan)? {
            return Err(Error::unsupported(
                "a subquery in the condition of an outer join of rows that change with those around it",
                Some("Move the subquery into a lateral join."),
            ));
        }
        let number = self.unique_name("?number");
        let window = row_number();
        let counted = Expr::Column(Column::from_name(window.schema_name().to_string()));
        let outputs: Vec<Expr> = columns.iter().cloned().chain([counted.alias(&number)]).collect();
        let plan = LogicalPlanBuilder::new(plan)
            .window(vec![window])
            .and_then(|builder| builder.project(outputs)?.build())
            .map_err(from_datafusion)?;
        Ok(Side {
            plan: SharedRows::plan(plan),
            columns,
            number: Some(number),
        })
    }
}
