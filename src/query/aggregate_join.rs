//! A correlated subquery of one aggregate as a join: `(SELECT 0.2 * avg(q) FROM lines WHERE part = parts.id)` is an outer
//! join with `SELECT part, 0.2 * avg(q) FROM lines GROUP BY part`; so is EXISTS that is no whole condition, by the keys that there are.
//! The table is read once, where a dependent join would read it for every outer row. Called by `subquery` when expressions get their
//! place in the plan.
//!
//! Only where that gives the same answer, and reads no more:
//! 1. Outer columns appear in equalities with inner columns alone, of types whose equal values are one group.
//! 2. Over no rows an aggregate gives NULL, as the outer join does: no count, no coalesce.
//! 3. What is computed of all rows and groups, wanted or not, cannot fail (`logical::fallibility`). What is made of a group's aggregates may:
//!    it is computed of the outer rows, above the join.
//! 4. Full scans are allowed, so that none is hidden from the rule; and no key or index begins with one of the inner
//!    columns, so that every run would be one, or nothing bounds the outer rows, for all of which it would run. EXISTS, which needs one
//!    row alone, is left to a key in any case.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::DataType;

use super::binder::Binder;
use super::decorrelation::{equal_column, has_outer_reference, plan_has_outer_reference};
use super::subquery::computed_below;
use crate::Result;
use crate::logical::fallibility::{may_fail, rows_may_fail};
use crate::tree::{
    Aggregate, Case, Column, Expr, Filter, JoinType, Plan, SubPlan, SubPlanKind, Transformed,
    TransformedResult, TreeNode, conjunction, lit, split_conjunction,
};

/// A subquery as the right side of a join.
pub(super) struct GroupedJoin {
    /// Its groups: the keys, then what the value is computed of.
    plan: Plan,
    /// Over these; `None`: that there is a group is all.
    value: Option<Expr>,
    /// Where it is looked at.
    asked_when: Option<Expr>,
    /// What the keys equal, over the outer plan.
    outer_keys: Vec<Expr>,
    keys: Vec<Column>,
    /// The subquery's name.
    name: String,
    /// What the subquery says of an outer row; NULLs stand beside those without a group.
    answer: Answer,
}

/// See [`GroupedJoin::answer`].
#[derive(Clone, Copy)]
enum Answer {
    Value,
    /// Zero beside those.
    Count,
    Exists {
        negated: bool,
    },
}

/// What a subquery makes of the rows of each group, and which rows they are.
struct Grouped<'a> {
    /// `None`: that they are there is all.
    value: Option<Expr>,
    aggregates: Vec<Expr>,
    filter: &'a Filter,
    answer: Answer,
}

impl Binder<'_> {
    /// The subquery as a join, if it can be one. `is_bounded`: conditions bound a key of the outer rows.
    pub(super) fn grouped_join(
        &mut self,
        sub_plan: &SubPlan,
        is_bounded: bool,
    ) -> Result<Option<GroupedJoin>> {
        let grouped = match sub_plan.kind {
            SubPlanKind::Scalar => of_aggregate(&sub_plan.plan)?,
            SubPlanKind::Exists { negated } => of_existence(&sub_plan.plan, negated),
            _ => None,
        };
        let Some(Grouped {
            value,
            aggregates,
            filter,
            answer,
        }) = grouped.filter(|grouped| !plan_has_outer_reference(&grouped.filter.input))
        else {
            return Ok(None);
        };
        let (correlated, own): (Vec<&Expr>, Vec<&Expr>) = split_conjunction(&filter.predicate)
            .into_iter()
            .partition(|condition| has_outer_reference(condition));
        let mut pairs = Vec::with_capacity(correlated.len());
        for condition in correlated {
            let Some(pair) = joined_pair(condition, sub_plan, &filter.input)? else {
                return Ok(None);
            };
            pairs.push(pair);
        }
        let may_fail = aggregates.iter().any(may_fail)
            || own.iter().any(|condition| may_fail(condition))
            || rows_may_fail(&filter.input);
        if pairs.is_empty() || may_fail {
            return Ok(None);
        }
        let equal: HashSet<&str> = pairs.iter().map(|(column, _)| column.name.as_str()).collect();
        let reads = self.inner_reads(&filter.input, &equal)?;
        // The first row that a key leads to is enough for EXISTS.
        let is_found = match answer {
            Answer::Value => reads.by_key && is_bounded,
            // Of an outer page a few counts may be wanted, for all that is known here.
            Answer::Count => reads.by_key,
            Answer::Exists { .. } => reads.by_key || reads.catalogs,
        };
        if !reads.stored_only || !reads.may_scan || is_found {
            return Ok(None);
        }
        let (inner, outer_keys): (Vec<Column>, Vec<Expr>) = pairs.into_iter().unzip();
        let keys: Vec<String> = inner.iter().map(|_| self.unique_name("?group")).collect();
        let groups = inner.iter().map(|column| Expr::Column(column.clone()));
        let mut inner = filter.input.as_ref().clone();
        if let Some(own) = conjunction(own.into_iter().cloned()) {
            inner = inner.filter(own);
        }
        let plan = inner.aggregate(groups.clone().collect(), aggregates)?;
        let mut outputs: Vec<Expr> = groups.zip(&keys).map(|(column, key)| column.alias(key)).collect();
        let value = value.map(|value| self.named_parts(value, &mut outputs));
        let value = value.transpose()?;
        Ok(Some(GroupedJoin {
            plan: plan.project(outputs)?,
            value,
            asked_when: sub_plan.asked_when.clone(),
            outer_keys,
            keys: keys.iter().map(Column::new_unqualified).collect(),
            name: sub_plan.name.clone(),
            answer,
        }))
    }
}

impl Binder<'_> {
    /// An expression over columns as one over names of their own, which `outputs` gives them.
    fn named_parts(&mut self, value: Expr, outputs: &mut Vec<Expr>) -> Result<Expr> {
        let mut names = HashMap::new();
        let named = value.transform_up(|expr| match expr {
            Expr::Column(column) => {
                let name = names.entry(column).or_insert_with_key(|column| {
                    let name = self.unique_name("?part");
                    outputs.push(Expr::Column(column.clone()).alias(&name));
                    name
                });
                Ok(Transformed::yes(Expr::Column(Column::new_unqualified(&*name))))
            }
            expr => Ok(Transformed::no(expr)),
        });
        named.data()
    }
}

/// A plan that gives what an aggregate over filtered rows does; `None`: another.
fn of_aggregate(plan: &Plan) -> Result<Option<Grouped<'_>>> {
    let Some((value, aggregate)) = value_of_aggregate(plan)? else {
        return Ok(None);
    };
    let Plan::Filter(filter) = aggregate.input.as_ref() else {
        return Ok(None);
    };
    let answer = match is_count(&value, aggregate) {
        true => Answer::Count,
        false => Answer::Value,
    };
    let is_plain = aggregate.group_expr.is_empty()
        && (matches!(answer, Answer::Count) || is_null_over_nothing(&value, aggregate))
        && !aggregate
            .aggr_expr
            .iter()
            .any(|expr| expr.is_volatile() || has_outer_reference(expr));
    Ok(is_plain.then(|| Grouped {
        value: Some(value),
        aggregates: aggregate.aggr_expr.clone(),
        filter,
        answer,
    }))
}

/// A plan of filtered rows of which it is asked whether there are any; `None`: another. What it selects does not matter.
fn of_existence(plan: &Plan, negated: bool) -> Option<Grouped<'_>> {
    let rows = match plan {
        Plan::Projection(projection) if !projection.expr.iter().any(Expr::is_volatile) => {
            projection.input.as_ref()
        }
        plan => plan,
    };
    let Plan::Filter(filter) = rows else { return None };
    Some(Grouped {
        value: None,
        aggregates: Vec::new(),
        filter,
        answer: Answer::Exists { negated },
    })
}

impl GroupedJoin {
    /// The outer plan with the subquery's value as a further column.
    pub(super) fn join_to(self, outer: Plan) -> Result<Plan> {
        let mut outputs: Vec<Expr> = (0..outer.schema().fields().len())
            .map(|index| Expr::Column(Column::from(outer.schema().qualified_field(index))))
            .collect();
        let keys: Vec<Expr> = self.keys.into_iter().map(Expr::Column).collect();
        let value = self.value.unwrap_or_else(|| lit(true));
        // No key that equals something is NULL.
        let key = keys.first().cloned().map(Box::new);
        outputs.push(match (self.answer, key) {
            (Answer::Exists { negated: false }, Some(key)) => Expr::IsNotNull(key).alias(&self.name),
            (Answer::Exists { negated: true }, Some(key)) => Expr::IsNull(key).alias(&self.name),
            (Answer::Count, Some(key)) => {
                let none = (Box::new(Expr::IsNull(key)), Box::new(lit(0i64)));
                Expr::Case(Case::new(None, vec![none], Some(Box::new(value)))).alias(&self.name)
            }
            (_, _) => {
                let asked = self.asked_when.filter(|_| may_fail(&value));
                let value = match asked {
                    Some(asked) => {
                        let branch = (Box::new(asked), Box::new(value));
                        Expr::Case(Case::new(None, vec![branch], None))
                    }
                    None => value,
                };
                value.alias(&self.name)
            }
        });
        outer
            .join_keys(self.plan, JoinType::Left, (self.outer_keys, keys))?
            .project(outputs)
    }
}

/// The only column of a plan as an expression over the aggregate below it.
fn value_of_aggregate(plan: &Plan) -> Result<Option<(Expr, &Aggregate)>> {
    let mut value = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let mut plan = plan;
    loop {
        match plan {
            Plan::Projection(projection) => {
                value = computed_below(value, projection)?;
                plan = &projection.input;
            }
            Plan::Aggregate(aggregate) => return Ok(Some((value, aggregate))),
            _ => return Ok(None),
        }
    }
}

/// The inner column of `inner = outer`, and the outer one over the outer plan.
fn joined_pair(condition: &Expr, sub_plan: &SubPlan, input: &Plan) -> Result<Option<(Column, Expr)>> {
    let Some(column) = equal_column(condition) else {
        return Ok(None);
    };
    let field = input.schema().field_from_column(column)?;
    // Floats that are equal may be two groups.
    let is_one_group = matches!(
        field.data_type(),
        DataType::Boolean
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Utf8
            | DataType::Date32
            | DataType::Timestamp(..)
            | DataType::FixedSizeBinary(_)
    );
    let Expr::BinaryExpr(comparison) = condition else {
        return Ok(None);
    };
    let outer = [&comparison.left, &comparison.right]
        .into_iter()
        .find_map(|side| match side.as_ref() {
            Expr::OuterReferenceColumn(_, outer) => Some(outer),
            _ => None,
        });
    let bound = sub_plan
        .bindings
        .iter()
        .find(|(name, _)| Some(name) == outer)
        .map(|(_, expr)| expr.clone());
    Ok(bound
        .filter(|_| is_one_group)
        .map(|bound| (column.clone(), bound)))
}

/// Whether it is what a count gives.
fn is_count(expr: &Expr, aggregate: &Aggregate) -> bool {
    match expr {
        Expr::Column(column) => called(column, aggregate) == Some("count"),
        Expr::Alias(alias) => is_count(&alias.expr, aggregate),
        _ => false,
    }
}

/// The function of the aggregate that a column is.
fn called<'a>(column: &Column, aggregate: &'a Aggregate) -> Option<&'a str> {
    let at = aggregate.schema.maybe_index_of_column(column)?;
    let mut expr = aggregate.aggr_expr.get(at)?;
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    match expr {
        Expr::AggregateFunction(call) => Some(call.func.name()),
        _ => None,
    }
}

/// Whether an aggregate gives NULL over no rows.
fn gives_null(name: &str) -> bool {
    matches!(name, "sum" | "avg" | "min" | "max" | "array_agg")
}

/// Whether an expression over the columns of an aggregate is NULL when that has no rows.
fn is_null_over_nothing(expr: &Expr, aggregate: &Aggregate) -> bool {
    let is_null = |expr: &Expr| is_null_over_nothing(expr, aggregate);
    match expr {
        Expr::Column(column) => called(column, aggregate).is_some_and(gives_null),
        Expr::Alias(alias) => is_null(&alias.expr),
        Expr::Cast(cast) => is_null(&cast.expr),
        Expr::ScalarFunction(call) => call.func.is_strict() && call.args.iter().any(is_null),
        _ => false,
    }
}
