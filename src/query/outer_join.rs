//! Outer joins whose condition has a subquery: no operator joins by such a condition. The rows that must stay are numbered, the pairs
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

use super::binder::Binder;
use super::cte_materialization::reads_open_recursion;
use super::decorrelation::refers_out;
use crate::tree::{Column, Expr, JoinType, Plan, Ranking, SharedRows, WindowFrame};
use crate::{Error, Result};

/// A side of the join.
struct Side {
    plan: Plan,
    /// Its columns, without the number.
    columns: Vec<Expr>,
    /// The column that numbers its rows, of a side that must stay.
    number: Option<String>,
}

impl Binder<'_> {
    /// `left kind JOIN right ON condition`.
    pub(super) fn outer_join_by_subquery(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinType,
        condition: Expr,
    ) -> Result<Plan> {
        let left = self.side(left, matches!(kind, JoinType::Left | JoinType::Full))?;
        let right = self.side(right, matches!(kind, JoinType::Right | JoinType::Full))?;
        let crossed = left.plan.clone().cross_join(right.plan.clone());
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
        let mut joined = pairs.project(found)?;
        for (at, (side, equal)) in staying.into_iter().enumerate() {
            // Before the second side comes, rows of the first are there that have no pair, and stay.
            let join_type = if at == 0 { JoinType::Right } else { JoinType::Full };
            joined = joined.join_on(side.plan.clone(), join_type, Some(equal));
        }
        let columns: Vec<Expr> = left.columns.iter().chain(&right.columns).cloned().collect();
        joined.project(columns)
    }

    /// A side of the join; one that stays has its rows numbered, and they are the same wherever they are read.
    fn side(&mut self, plan: Plan, stays: bool) -> Result<Side> {
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
        let window = Ranking::RowNumber.over(Vec::new(), WindowFrame::new(None));
        let counted = Expr::Column(Column::new_unqualified(window.schema_name().to_string()));
        let outputs: Vec<Expr> = columns.iter().cloned().chain([counted.alias(&number)]).collect();
        let plan = plan.windows(vec![window])?.project(outputs)?;
        Ok(Side {
            plan: Plan::SharedRows(SharedRows::new(plan)),
            columns,
            number: Some(number),
        })
    }
}
