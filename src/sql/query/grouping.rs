//! GROUP BY and aggregates: builds the aggregate node and maps expressions onto its output, refusing columns that are
//! neither grouped nor aggregated.

use std::cell::RefCell;
use std::collections::HashSet;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::functions_aggregate::expr_fn::first_value;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder, Subquery, when};
use sqlparser::ast;

use super::binder::{Binder, Bound, fault};
use super::scope::Scope;
use crate::error::{StatementFault, TextPlace};
use crate::exec::datafusion_error::{from_datafusion, to_datafusion};
use crate::sql::text_place;
use crate::{Error, Result};

/// One item of GROUP BY.
pub(super) enum Grouped {
    /// A plain expression.
    By(Bound),
    /// ROLLUP.
    Rollup(Vec<Vec<Bound>>),
    /// CUBE.
    Cube(Vec<Vec<Bound>>),
    /// GROUPING SETS.
    Sets(Vec<Vec<Bound>>),
}

/// Whether an aggregate call stands in the expression (not in a subquery, nor under OVER).
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::AggregateFunction(_))))
        .unwrap_or(false)
}

/// Every window call in the expressions, each once.
pub(super) fn windows_of(exprs: &[Expr]) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    for expr in exprs {
        // Walking an expression that was built by us does not fail.
        let _ = expr.apply(|expr| {
            if matches!(expr, Expr::WindowFunction(_)) && !found.contains(expr) {
                found.push(expr.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    found
}

impl Binder<'_> {
    /// Groups a plan. Answers the plan and `exprs` over its output. Errors: 42803.
    pub(super) fn group(
        &mut self,
        plan: LogicalPlan,
        groups: Vec<Grouped>,
        exprs: Vec<Expr>,
        scope: &Scope,
    ) -> Result<(LogicalPlan, Vec<Expr>)> {
        let mut sets = expand(groups)?;
        let mut keys: Vec<Bound> = Vec::new();
        for key in sets.iter().flatten() {
            if !has_key(&keys, &key.expr) {
                keys.push(key.clone());
            }
        }
        if sets.len() <= 1 {
            let dependent = dependents(&keys, &exprs, scope);
            keys.extend(dependent);
            sets = vec![keys.clone()];
        }
        let mut aggregates = aggregates_of(&exprs);
        if aggregates.is_empty() && keys.is_empty() {
            // HAVING or GROUP BY () alone still makes one group.
            aggregates.push(datafusion::functions_aggregate::expr_fn::count(
                datafusion::logical_expr::lit(1_i64),
            ));
        }
        let wanted = aggregates.len();
        let (keys, apart, firsts) = self.grouping_keys(keys)?;
        aggregates.extend(firsts.iter().flatten().cloned());
        // Subqueries in keys and arguments are computed first.
        let mut inputs = apart;
        inputs.extend(aggregates.iter().cloned());
        let (plan, inputs) = self.lower(plan, inputs, false)?;
        let mut inputs = self.distinctly_named(inputs);
        let aggregates_lowered = inputs.split_off(keys.len());
        let keys_lowered = inputs;
        let group_exprs = match sets.as_slice() {
            [_] => keys_lowered,
            _ => {
                let lowered = |set: &Vec<Bound>| -> Vec<Expr> {
                    set.iter()
                        .filter_map(|key| keys.iter().position(|other| *other == key.expr))
                        .map(|at| keys_lowered[at].clone())
                        .collect()
                };
                vec![Expr::GroupingSet(GroupingSet::GroupingSets(
                    sets.iter().map(lowered).collect(),
                ))]
            }
        };
        let grouped = LogicalPlanBuilder::new(plan)
            .aggregate(group_exprs, aggregates_lowered)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let fields = grouped.schema().fields().len();
        let field = |index: usize| Expr::Column(Column::from(grouped.schema().qualified_field(index)));
        let mut aggregate_columns: Vec<Expr> = (fields - aggregates.len()..fields).map(field).collect();
        let mut shown = aggregate_columns.split_off(wanted).into_iter();
        aggregates.truncate(wanted);
        let mut key_columns = Vec::with_capacity(keys.len());
        for (at, first) in firsts.iter().enumerate() {
            key_columns.push(match first.as_ref().and_then(|_| shown.next()) {
                // A set without the key shows NULL.
                Some(first) => when(field(at).is_not_null(), first)
                    .end()
                    .map_err(from_datafusion)?,
                None => field(at),
            });
        }
        let mapping = Mapping {
            keys: &keys,
            key_columns,
            aggregates: &aggregates,
            aggregate_columns,
            scope,
        };
        let mapped = exprs
            .into_iter()
            .map(|expr| mapping.map(expr))
            .collect::<Result<Vec<_>>>()?;
        Ok((grouped, mapped))
    }
}

impl Binder<'_> {
    /// The expressions with an alias where DataFusion would give two of them the same name.
    pub(super) fn distinctly_named(&mut self, exprs: Vec<Expr>) -> Vec<Expr> {
        let mut names = HashSet::new();
        exprs
            .into_iter()
            .map(|expr| {
                let name = expr.schema_name().to_string();
                if names.insert(name) {
                    expr
                } else {
                    expr.alias(self.unique_name("?expression"))
                }
            })
            .collect()
    }
}

impl Binder<'_> {
    /// The keys, what their rows are told apart by, and for keys that are not told apart by themselves the first value of
    /// a group.
    #[expect(
        clippy::type_complexity,
        reason = "three lists of the same length, for the one caller"
    )]
    fn grouping_keys(&mut self, keys: Vec<Bound>) -> Result<(Vec<Expr>, Vec<Expr>, Vec<Option<Expr>>)> {
        let mut apart = Vec::with_capacity(keys.len());
        let mut firsts = Vec::with_capacity(keys.len());
        for key in &keys {
            let other = self.grouping_key(key)?;
            firsts.push(other.is_some().then(|| first_value(key.expr.clone(), Vec::new())));
            apart.push(other.unwrap_or_else(|| key.expr.clone()));
        }
        Ok((keys.into_iter().map(|key| key.expr).collect(), apart, firsts))
    }
}

fn has_key(keys: &[Bound], expr: &Expr) -> bool {
    keys.iter().any(|key| key.expr == *expr)
}

/// Every aggregate call, each once.
fn aggregates_of(exprs: &[Expr]) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    for expr in exprs {
        let _ = expr.apply(|expr| {
            if matches!(expr, Expr::AggregateFunction(_)) {
                if !found.contains(expr) {
                    found.push(expr.clone());
                }
                return Ok(TreeNodeRecursion::Jump);
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    found
}

/// GROUP BY's items as the sets of keys to group by: their cross product, as the standard says.
fn expand(groups: Vec<Grouped>) -> Result<Vec<Vec<Bound>>> {
    let mut sets: Vec<Vec<Bound>> = vec![Vec::new()];
    for group in groups {
        let choices = match group {
            Grouped::By(expr) => vec![vec![expr]],
            Grouped::Sets(sets) => sets,
            Grouped::Rollup(parts) => (0..=parts.len())
                .rev()
                .map(|count| parts[..count].concat())
                .collect(),
            Grouped::Cube(parts) => {
                if parts.len() > CUBE_COLUMNS_MAX {
                    return Err(fault(
                        StatementFault::Syntax,
                        format!("CUBE is limited to {CUBE_COLUMNS_MAX} elements"),
                    ));
                }
                (0..1_usize << parts.len())
                    .rev()
                    .map(|mask| {
                        let chosen = (0..parts.len()).filter(|at| mask & (1 << (parts.len() - 1 - at)) != 0);
                        chosen.flat_map(|at| parts[at].clone()).collect()
                    })
                    .collect()
            }
        };
        let mut product = Vec::with_capacity(sets.len() * choices.len());
        for set in &sets {
            for choice in &choices {
                let mut both = set.clone();
                both.extend(choice.iter().filter(|key| !has_key(set, &key.expr)).cloned());
                product.push(both);
            }
        }
        sets = product;
    }
    Ok(sets)
}

/// PostgreSQL's limit.
const CUBE_COLUMNS_MAX: usize = 12;

/// Columns that the keys decide because they hold a whole primary key of their relation.
fn dependents(keys: &[Bound], exprs: &[Expr], scope: &Scope) -> Vec<Bound> {
    let keyed: Vec<&super::scope::ScopeRelation> = scope
        .relations
        .iter()
        .filter(|relation| {
            !relation.key.is_empty()
                && relation.key.iter().all(|at| {
                    relation
                        .columns
                        .get(*at)
                        .is_some_and(|column| has_key(keys, &column.bound.expr))
                })
        })
        .collect();
    if keyed.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Bound> = Vec::new();
    for expr in exprs {
        let _ = expr.apply(|expr| {
            if matches!(expr, Expr::AggregateFunction(_)) {
                return Ok(TreeNodeRecursion::Jump);
            }
            let decided = keyed
                .iter()
                .flat_map(|relation| &relation.columns)
                .find(|column| column.bound.expr == *expr);
            if let Some(column) = decided
                && matches!(expr, Expr::Column(_))
                && !has_key(keys, expr)
                && !has_key(&found, expr)
            {
                found.push(column.bound.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    found
}

/// From expressions over the aggregate's input to ones over its output.
struct Mapping<'a> {
    keys: &'a [Expr],
    key_columns: Vec<Expr>,
    aggregates: &'a [Expr],
    aggregate_columns: Vec<Expr>,
    scope: &'a Scope,
}

impl Mapping<'_> {
    fn map(&self, expr: Expr) -> Result<Expr> {
        let failure: RefCell<Option<Error>> = RefCell::new(None);
        let mapped = expr.transform_down(|expr| {
            if let Some(at) = self.keys.iter().position(|key| *key == expr) {
                return Ok(Transformed::new(
                    self.key_columns[at].clone(),
                    true,
                    TreeNodeRecursion::Jump,
                ));
            }
            match expr {
                Expr::AggregateFunction(_) => match self.aggregates.iter().position(|call| *call == expr) {
                    Some(at) => Ok(Transformed::new(
                        self.aggregate_columns[at].clone(),
                        true,
                        TreeNodeRecursion::Jump,
                    )),
                    None => Err(to_datafusion(Error::internal(
                        "an aggregate that was not collected",
                    ))),
                },
                Expr::Column(column) => {
                    let error = self.ungrouped(&column);
                    *failure.borrow_mut() = Some(error.clone());
                    Err(to_datafusion(error))
                }
                Expr::ScalarSubquery(subquery) => Ok(Transformed::yes(Expr::ScalarSubquery(
                    self.map_subquery(subquery).map_err(to_datafusion)?,
                ))),
                Expr::Exists(mut exists) => {
                    exists.subquery = self.map_subquery(exists.subquery).map_err(to_datafusion)?;
                    Ok(Transformed::yes(Expr::Exists(exists)))
                }
                Expr::InSubquery(mut test) => {
                    test.subquery = self.map_subquery(test.subquery).map_err(to_datafusion)?;
                    Ok(Transformed::yes(Expr::InSubquery(test)))
                }
                other => Ok(Transformed::no(other)),
            }
        });
        mapped.map(|mapped| mapped.data).map_err(from_datafusion)
    }

    /// The outer columns that a subquery uses.
    fn map_subquery(&self, subquery: Subquery) -> Result<Subquery> {
        let mut mapped = Vec::with_capacity(subquery.outer_ref_columns.len());
        for reference in subquery.outer_ref_columns {
            mapped.push(match reference {
                Expr::Alias(Alias {
                    expr, relation, name, ..
                }) => {
                    let expr = self.map(*expr).map_err(|error| match error {
                        Error::InvalidStatement {
                            state: StatementFault::Grouping,
                            message,
                            hint,
                        } => Error::InvalidStatement {
                            state: StatementFault::Grouping,
                            message: message
                                .replace(
                                    "must appear in the GROUP BY clause or be used in an aggregate function",
                                    "from outer query must be grouped",
                                )
                                .replace("column \"", "subquery uses ungrouped column \"")
                                .replace("\" from outer query must be grouped", "\" from outer query"),
                            hint,
                        },
                        other => other,
                    })?;
                    Expr::Alias(Alias::new(expr, relation, name))
                }
                other => other,
            });
        }
        Ok(Subquery {
            outer_ref_columns: mapped,
            ..subquery
        })
    }

    fn ungrouped(&self, column: &Column) -> Error {
        let wanted = Expr::Column(column.clone());
        let name = self
            .scope
            .relations
            .iter()
            .find_map(|relation| {
                let found = relation
                    .columns
                    .iter()
                    .find(|candidate| candidate.bound.expr == wanted)?;
                Some(format!("{}.{}", relation.name, found.name))
            })
            .unwrap_or_else(|| column.name.clone());
        fault(
            StatementFault::Grouping,
            format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        )
    }
}

/// Where the column stands that an error of grouping names.
pub(super) fn ungrouped(select: &ast::Select, error: &Error) -> Option<TextPlace> {
    let Error::InvalidStatement { message, .. } = error else {
        return None;
    };
    let (_, rest) = message.split_once("column \"")?;
    let (column, _) = rest.split_once('"')?;
    text_place::of_column(select, column)
}
