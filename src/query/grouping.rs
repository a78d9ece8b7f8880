//! GROUP BY and aggregates: builds the aggregate node and maps expressions onto its output, refusing columns that are
//! neither grouped nor aggregated.

use std::cell::RefCell;
use std::collections::HashSet;

use arrow::datatypes::DataType;
use sqlparser::ast;

use super::binder::{Binder, Bound, fault};
use super::calls::Calls;
use super::decorrelation::marker;
use super::group_value::{GroupValue, where_keyed};
use super::scope::Scope;
use crate::error::{StatementFault, TextPlace};
use crate::parse::text_place;
use crate::tree::{
    Accumulator, AggregateFunction, Alias, Column, Expr, Plan, Subquery, Transformed, TreeNode,
    TreeNodeRecursion,
};
use crate::types::SqlType;
use crate::{Error, Result};

/// One item of GROUP BY.
pub(super) enum Grouped {
    /// A plain expression.
    By(Expr),
    /// ROLLUP.
    Rollup(Vec<Vec<Expr>>),
    /// CUBE.
    Cube(Vec<Vec<Expr>>),
    /// GROUPING SETS.
    Sets(Vec<Vec<Expr>>),
    /// No item, but DISTINCT before them: each set counts once.
    Distinct,
}

/// The sets, of the keys as they are computed.
fn grouping_sets(sets: &[Vec<Expr>], keys: &[Expr], computed: &[Expr]) -> Expr {
    let computed_set = |set: &Vec<Expr>| -> Vec<Expr> {
        set.iter()
            .filter_map(|key| keys.iter().position(|other| other == key))
            .map(|at| computed[at].clone())
            .collect()
    };
    Expr::GroupingSets(sets.iter().map(computed_set).collect())
}

impl Binder<'_> {
    /// Groups a plan. Answers the plan and `exprs` over its output. Errors: 42803.
    pub(super) fn group(
        &mut self,
        plan: Plan,
        groups: Vec<Grouped>,
        exprs: Vec<Expr>,
        scope: &Scope,
    ) -> Result<(Plan, Vec<Expr>)> {
        let mut sets = expand(groups)?;
        let mut keys = each_once(&sets);
        let mut calls = Calls::among(&exprs, |expr| matches!(expr, Expr::AggregateFunction(_)));
        let aggregates = &mut calls.exprs;
        refuse_other_grouping(aggregates, &keys)?;
        if sets.len() <= 1 {
            sets = vec![keys.clone()];
        }
        let dependent = dependents(&sets, &exprs, scope);
        for set in &mut sets {
            set.extend_from_slice(&dependent);
        }
        keys = each_once(&sets);
        if aggregates.is_empty() && keys.is_empty() {
            // HAVING or GROUP BY () alone still makes one group.
            let one = vec![crate::tree::lit(1_i64)];
            let count = AggregateFunction::new(Accumulator::Count, one, false, None, Vec::new());
            aggregates.push(Expr::AggregateFunction(count));
        }
        // Subqueries in keys and arguments are computed first, then the rows that sets in keys become: these are grouped.
        let mut inputs = keys.clone();
        inputs.extend(aggregates.iter().cloned());
        let (plan, inputs) = self.place_subqueries(plan, inputs, false)?;
        let (plan, inputs) = self.unnest(plan, inputs)?;
        let (plan, inputs) = self.in_input_order(plan, inputs)?;
        let (plan, inputs) = self.place_volatile_inputs(plan, inputs)?;
        let mut inputs = self.distinctly_named(inputs);
        let mut aggregates_lowered = inputs.split_off(keys.len());
        let (plan, keys_lowered) = match sets.len() {
            1 => (plan, inputs),
            _ => {
                let (plan, columns) = self.computed_keys(plan, inputs.clone())?;
                for call in &mut aggregates_lowered {
                    tell_apart(call, &inputs, &columns);
                }
                (plan, columns)
            }
        };
        let types = keys.iter().map(|key| self.group_type(key)).collect();
        let (keys_lowered, firsts) =
            self.keys_that_tell(&plan, (keys_lowered, types), &mut aggregates_lowered)?;
        let group_exprs = match sets.as_slice() {
            [_] => keys_lowered,
            _ => vec![grouping_sets(&sets, &keys, &keys_lowered)],
        };
        let grouped = plan.aggregate(group_exprs, aggregates_lowered)?;
        let fields = grouped.schema().fields().len();
        let field = |index: usize| Expr::Column(Column::from(grouped.schema().qualified_field(index)));
        let shown = firsts.iter().flatten().count();
        let mut first = fields - shown;
        let mut key_columns: Vec<Expr> = (0..keys.len()).map(field).collect();
        for (column, shown) in key_columns.iter_mut().zip(&firsts) {
            if let Some((value, ty)) = shown {
                let value = self.shown_value(value, field(first))?;
                *column = where_keyed(column.clone(), value, ty)?;
                first += 1;
            }
        }
        let end = fields - shown;
        let aggregate_columns: Vec<Expr> = (end - aggregates.len()..end).map(field).collect();
        let mapping = Mapping {
            keys: &keys,
            key_columns,
            calls,
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

/// The value that a group shows for a key, with its type.
type ShownValue = (GroupValue, DataType);

impl Binder<'_> {
    /// Keys by which equal values are one group. Where such a key is not the value itself, the value that a group shows is
    /// asked for at the end of `aggregates`, and is among the answers with its type.
    fn keys_that_tell(
        &mut self,
        plan: &Plan,
        (keys, types): (Vec<Expr>, Vec<Option<SqlType>>),
        aggregates: &mut Vec<Expr>,
    ) -> Result<(Vec<Expr>, Vec<Option<ShownValue>>)> {
        let (mut telling, mut firsts) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (value, ty) in keys.into_iter().zip(types) {
            let (_, field) = value.to_field(plan.schema())?;
            let ty = ty.unwrap_or_else(|| SqlType::from_field(&field));
            let bound = Bound::new(value.clone(), ty);
            match self.key_of_bound(&bound)? {
                Some(key) => {
                    for call in aggregates.iter_mut() {
                        tell_apart(call, std::slice::from_ref(&value), std::slice::from_ref(&key));
                    }
                    let (call, shown) = self.group_value(bound)?;
                    aggregates.push(call.alias(self.unique_name("?first")));
                    telling.push(key);
                    firsts.push(Some((shown, field.data_type().clone())));
                }
                None => {
                    telling.push(value);
                    firsts.push(None);
                }
            }
        }
        Ok((telling, firsts))
    }

    /// The type of an expression of GROUP BY, where it was noted.
    fn group_type(&self, key: &Expr) -> Option<SqlType> {
        let found = self.group_types.iter().find(|(expr, _)| expr == key);
        found.map(|(_, ty)| ty.clone())
    }

    /// Keys as columns of the plan, which grouping sets leave out by their places.
    fn computed_keys(&mut self, plan: Plan, keys: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
        let schema = plan.schema();
        let mut outputs: Vec<Expr> = (0..schema.fields().len())
            .map(|index| Expr::Column(Column::from(schema.qualified_field(index))))
            .collect();
        let before = outputs.len();
        let columns = keys
            .into_iter()
            .map(|key| match key {
                Expr::Column(_) => key,
                computed => {
                    let name = self.unique_name("?key");
                    outputs.push(computed.alias(&name));
                    Expr::Column(Column::new_unqualified(name))
                }
            })
            .collect();
        if outputs.len() == before {
            return Ok((plan, columns));
        }
        let plan = plan.project(outputs)?;
        Ok((plan, columns))
    }

    /// The expressions with an alias where two of them would have the same name as outputs.
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

/// GROUPING tells keys apart: its arguments must be such.
fn refuse_other_grouping(aggregates: &[Expr], keys: &[Expr]) -> Result<()> {
    let of_others = aggregates.iter().any(|call| match call {
        Expr::AggregateFunction(call) if call.func.name() == "grouping" => {
            call.params.args.iter().any(|argument| !keys.contains(argument))
        }
        _ => false,
    });
    if of_others {
        let message = "arguments to GROUPING must be grouping expressions of the associated query level";
        return Err(fault(StatementFault::Grouping, message));
    }
    Ok(())
}

/// GROUPING with the columns that its arguments became.
fn tell_apart(call: &mut Expr, keys: &[Expr], columns: &[Expr]) {
    if let Expr::AggregateFunction(call) = call
        && call.func.name() == "grouping"
    {
        for argument in &mut call.params.args {
            if let Some(at) = keys.iter().position(|key| key == argument) {
                *argument = columns[at].clone();
            }
        }
    }
}

/// GROUP BY's items as the sets of keys to group by: their cross product, as the standard says.
fn expand(groups: Vec<Grouped>) -> Result<Vec<Vec<Expr>>> {
    let mut sets: Vec<Vec<Expr>> = vec![Vec::new()];
    let is_distinct = matches!(groups.first(), Some(Grouped::Distinct));
    for group in groups {
        let choices = group.sets()?;
        let mut product = Vec::with_capacity(sets.len() * choices.len());
        for set in &sets {
            for choice in &choices {
                let mut both = set.clone();
                both.extend(choice.iter().filter(|key| !set.contains(key)).cloned());
                product.push(both);
            }
        }
        sets = product;
    }
    if is_distinct {
        let mut once: Vec<Vec<Expr>> = Vec::with_capacity(sets.len());
        for set in sets {
            let is_it =
                |other: &Vec<Expr>| other.len() == set.len() && set.iter().all(|key| other.contains(key));
            if !once.iter().any(is_it) {
                once.push(set);
            }
        }
        sets = once;
    }
    Ok(sets)
}

impl Grouped {
    /// The sets of keys that it stands for.
    pub(super) fn sets(self) -> Result<Vec<Vec<Expr>>> {
        Ok(match self {
            Grouped::By(expr) => vec![vec![expr]],
            Grouped::Distinct => vec![Vec::new()],
            Grouped::Sets(sets) => sets,
            Grouped::Rollup(parts) => (0..=parts.len())
                .rev()
                .map(|count| parts[..count].concat())
                .collect(),
            Grouped::Cube(parts) if parts.len() > CUBE_COLUMNS_MAX => {
                return Err(fault(
                    StatementFault::Syntax,
                    format!("CUBE is limited to {CUBE_COLUMNS_MAX} elements"),
                ));
            }
            Grouped::Cube(parts) => (0..1_usize << parts.len())
                .rev()
                .map(|mask| {
                    let chosen = (0..parts.len()).filter(|at| mask & (1 << (parts.len() - 1 - at)) != 0);
                    chosen.flat_map(|at| parts[at].clone()).collect()
                })
                .collect(),
        })
    }
}

/// PostgreSQL's limit.
const CUBE_COLUMNS_MAX: usize = 12;

/// The keys of sets, in the order in which they come first.
fn each_once(sets: &[Vec<Expr>]) -> Vec<Expr> {
    let mut keys: Vec<Expr> = Vec::new();
    for key in sets.iter().flatten() {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// Columns that the keys of every set decide because they hold a whole primary key of their relation.
fn dependents(sets: &[Vec<Expr>], exprs: &[Expr], scope: &Scope) -> Vec<Expr> {
    let is_key = |expr: &Expr| sets.iter().any(|set| set.contains(expr));
    let is_common = |expr: &Expr| sets.iter().all(|set| set.contains(expr));
    let keyed: Vec<&super::scope::ScopeRelation> = scope
        .relations
        .iter()
        .filter(|relation| {
            !relation.key.is_empty()
                && relation.key.iter().all(|at| {
                    relation
                        .columns
                        .get(*at)
                        .is_some_and(|column| is_common(&column.bound.expr))
                })
        })
        .collect();
    if keyed.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Expr> = Vec::new();
    for expr in exprs {
        each_ungathered(expr, &mut |expr| {
            let decided = keyed
                .iter()
                .any(|relation| relation.columns.iter().any(|column| column.bound.expr == *expr));
            if decided && matches!(expr, Expr::Column(_)) && !is_key(expr) && !found.contains(expr) {
                found.push(expr.clone());
            }
        });
    }
    found
}

/// Shows the parts of an expression that stand in no aggregate, of what its subqueries take from outside, too.
fn each_ungathered(expr: &Expr, show: &mut dyn FnMut(&Expr)) {
    // The closure does not fail.
    let _ = expr.apply(|expr| {
        if matches!(expr, Expr::AggregateFunction(_)) {
            return Ok(TreeNodeRecursion::Jump);
        }
        if let Some(subquery) = marker(expr) {
            let captured = subquery.outer_ref_columns.iter();
            captured.for_each(|captured| each_ungathered(captured, show));
        }
        show(expr);
        Ok(TreeNodeRecursion::Continue)
    });
}

/// From expressions over the aggregate's input to ones over its output.
struct Mapping<'a> {
    keys: &'a [Expr],
    key_columns: Vec<Expr>,
    calls: Calls,
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
                Expr::AggregateFunction(_) => match self.calls.place(&expr) {
                    Some(at) => Ok(Transformed::new(
                        self.aggregate_columns[at].clone(),
                        true,
                        TreeNodeRecursion::Jump,
                    )),
                    None => Err(Error::internal("an aggregate that was not collected")),
                },
                Expr::Column(column) => {
                    let error = self.ungrouped(&column);
                    *failure.borrow_mut() = Some(error.clone());
                    Err(error)
                }
                Expr::ScalarSubquery(subquery) => Ok(Transformed::yes(Expr::ScalarSubquery(
                    self.map_subquery(subquery)?,
                ))),
                Expr::Exists(mut exists) => {
                    exists.subquery = self.map_subquery(exists.subquery)?;
                    Ok(Transformed::yes(Expr::Exists(exists)))
                }
                Expr::InSubquery(mut test) => {
                    test.subquery = self.map_subquery(test.subquery)?;
                    Ok(Transformed::yes(Expr::InSubquery(test)))
                }
                other => Ok(Transformed::no(other)),
            }
        });
        mapped.map(|mapped| mapped.data)
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
