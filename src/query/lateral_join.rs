//! Lateral items of FROM: a join whose right side uses columns of its left one.
//!
//! A dependent join runs the right side for every row of the left one, which is what LIMIT, groups and set operations need. A right side of
//! select lists, conditions and joins alone is lifted instead: what it uses of the left side goes up, into the condition and the columns of
//! a plain join, which is then planned like any other (PostgreSQL pulls such subqueries up).
//!
//! ```text
//!   a LEFT JOIN LATERAL (SELECT b.y, b.y + a.z AS w       Projection: a.*, r.y AS s.y, CASE WHEN r.? THEN r.y + a.z END AS s.w
//!                        FROM b WHERE b.x = a.x) s          Left Join: r.x = a.x
//!                                                             a
//!                                                             SubqueryAlias: r
//!                                                               Projection: b.x, b.y, true AS ?
//!                                                                 b
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use super::binder::Binder;
use super::decorrelation::has_subquery;
use super::from_item::FromItem;
use super::set_returning::has_set;
use super::subquery::computed_of;
use crate::Result;
use crate::logical::dependent_join::{for_each_node, is_volatile};
use crate::tree::{
    Alias, Case, Column, DependentJoin, Expr, FieldMetadata, Join, JoinType, Plan, RowSchema, SubPlan,
    SubPlanKind, Transformed, TreeNode, TreeNodeRecursion, conjunction, lit, split_conjunction,
};

impl Binder<'_> {
    /// For each row of `left` those of `right`, which uses what it has `captured` of that; `keep_left`: one row at least. `name`: what
    /// EXPLAIN calls the right side.
    pub(super) fn lateral_join(
        &mut self,
        left: &FromItem,
        mut right: FromItem,
        (captured, name): (Vec<(Column, Expr)>, String),
        keep_left: bool,
    ) -> Result<FromItem> {
        if keep_left {
            right.scope.note_may_be_missing();
        }
        let plan = match Lifted::of(&right.plan, &captured)? {
            Some(lifted) => {
                let side = Side {
                    name: self.unique_name(&name),
                    schema: right.plan.schema(),
                    keep_left,
                };
                lifted.joined(&left.plan, &captured, side)?
            }
            None => dependent_join(&left.plan, right.plan, (captured, name), keep_left),
        };
        let mut scope = left.scope.clone();
        scope.visible.extend(right.scope.visible);
        scope.add_relations(right.scope.relations)?;
        Ok(FromItem { plan, scope })
    }
}

fn dependent_join(
    left: &Plan,
    right: Plan,
    (captured, name): (Vec<(Column, Expr)>, String),
    keep_left: bool,
) -> Plan {
    let sub_plan = SubPlan {
        kind: SubPlanKind::Rows {
            keep_left,
            schema: right.schema().clone(),
        },
        plan: Arc::new(right),
        bindings: captured,
        asked_when: None,
        name,
    };
    Plan::DependentJoin(DependentJoin::new(Arc::new(left.clone()), vec![sub_plan]))
}

/// What EXPLAIN calls a right side: its first relation.
pub(super) fn first_relation(plan: &Plan) -> String {
    match plan.schema().iter().next() {
        Some((Some(reference), _)) => reference.table().to_string(),
        _ => String::new(),
    }
}

/// The names that columns of the left side have in the right one, and what they are.
type Captured = [(Column, Expr)];

/// A right side without what it uses of the left one.
struct Lifted {
    /// Rows that are the same for every row of the left side.
    rows: Plan,
    /// What a pair must satisfy: conditions over columns of `rows` and outer ones.
    conditions: Vec<Expr>,
    /// The columns of the right side, over the same.
    outputs: Vec<Expr>,
}

impl Lifted {
    /// `None`: it has to run for each row of the left side, or may give other rows each time.
    fn of(right: &Plan, captured: &Captured) -> Result<Option<Lifted>> {
        match is_volatile(right)? {
            true => Ok(None),
            false => lift(right, captured),
        }
    }

    /// Rows that use nothing of the left side.
    fn apart(rows: &Plan) -> Lifted {
        let columns = rows.schema().columns();
        Lifted {
            rows: rows.clone(),
            conditions: Vec::new(),
            outputs: columns.into_iter().map(Expr::Column).collect(),
        }
    }

    /// Leaves the rows for which the condition, over the columns of `schema`, is true. `false`: it cannot be lifted.
    fn filter(&mut self, condition: &Expr, schema: &RowSchema) -> Result<bool> {
        for part in split_conjunction(condition) {
            if has_subquery(part) {
                return Ok(false);
            }
            let part = computed_of(part.clone(), schema, &self.outputs)?;
            match part.contains_outer() {
                true => self.conditions.push(part),
                false => self.rows = std::mem::take(&mut self.rows).filter(part),
            }
        }
        Ok(true)
    }

    /// The join with `left`, whose right columns are those of `schema`.
    fn joined(self, left: &Plan, captured: &Captured, side: Side<'_>) -> Result<Plan> {
        let mut given = Given {
            captured,
            relation: side.name,
            outputs: Vec::new(),
        };
        let conditions = self.conditions.into_iter();
        let conditions = conditions.map(|condition| given.over_join(condition));
        let condition = conjunction(conditions.collect::<Result<Vec<Expr>>>()?);
        let outputs = self.outputs.into_iter();
        let outputs = outputs.map(|output| given.over_join(output));
        let mut outputs = outputs.collect::<Result<Vec<Expr>>>()?;
        let is_one_row = matches!(&self.rows, Plan::EmptyRelation(empty) if empty.produce_one_row);
        let plan = match (is_one_row, side.keep_left) {
            (true, false) => condition.into_iter().fold(left.clone(), Plan::filter),
            (true, true) => {
                if let Some(condition) = condition {
                    outputs = outputs
                        .into_iter()
                        .map(|output| only_where(condition.clone(), output))
                        .collect();
                }
                left.clone()
            }
            (false, keep_left) => {
                let is_computed = |output: &Expr| !given.is_own(output);
                if keep_left && outputs.iter().any(is_computed) {
                    let is_there = Expr::IsNotNull(Box::new(given.output(lit(true))));
                    outputs = outputs
                        .into_iter()
                        .map(|output| match given.is_own(&output) {
                            true => output,
                            false => only_where(is_there.clone(), output),
                        })
                        .collect();
                }
                let kind = match keep_left {
                    true => JoinType::Left,
                    false => JoinType::Inner,
                };
                left.clone().join_on(given.rows(self.rows)?, kind, condition)
            }
        };
        let own = left.schema().columns().into_iter().map(Expr::Column);
        let named = side.schema.iter().zip(outputs);
        let named = named.map(|((relation, field), output)| {
            Expr::Alias(Alias {
                metadata: Some(FieldMetadata::from(field.metadata())),
                ..Alias::new(output, relation.cloned(), field.name())
            })
        });
        plan.project(own.chain(named).collect::<Vec<Expr>>())
    }
}

/// What a right side is in its join.
struct Side<'a> {
    /// What its rows are called there.
    name: String,
    /// Its columns.
    schema: &'a RowSchema,
    /// Whether a row of the left side without a partner stays.
    keep_left: bool,
}

/// The expression where the condition is true, NULL elsewhere.
fn only_where(condition: Expr, expr: Expr) -> Expr {
    Expr::Case(Case::new(None, vec![(Box::new(condition), Box::new(expr))], None))
}

/// What the rows of a right side give to their join, under names of their own.
struct Given<'a> {
    captured: &'a Captured,
    relation: String,
    outputs: Vec<Expr>,
}

impl Given<'_> {
    /// An expression over the rows and outer columns, over the join.
    fn over_join(&mut self, expr: Expr) -> Result<Expr> {
        let replaced = expr.transform_up(|expr| {
            Ok(match expr {
                Expr::Column(_) => Transformed::yes(self.output(expr)),
                Expr::OuterReferenceColumn(_, ref column) => {
                    let known = self.captured.iter().find(|(name, _)| name == column);
                    match known {
                        Some((_, outer)) => Transformed::yes(outer.clone()),
                        None => Transformed::no(expr),
                    }
                }
                _ => Transformed::no(expr),
            })
        });
        replaced.map(|replaced| replaced.data)
    }

    /// What an expression over the rows is called in the join, where it is given from now on.
    fn output(&mut self, expr: Expr) -> Expr {
        let known = self.outputs.iter().position(|output| *output == expr);
        let at = known.unwrap_or_else(|| {
            self.outputs.push(expr);
            self.outputs.len() - 1
        });
        Expr::Column(Column::new(Some(self.relation.clone()), format!("?{at}")))
    }

    /// Whether it is a column of the rows.
    fn is_own(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Column(column) if column.relation.as_ref().is_some_and(|relation| relation.table() == self.relation))
    }

    /// The rows as the join reads them.
    fn rows(mut self, rows: Plan) -> Result<Plan> {
        if self.outputs.is_empty() {
            self.output(lit(true));
        }
        let named = self.outputs.into_iter().enumerate();
        let named = named.map(|(at, output)| output.alias(format!("?{at}")));
        rows.project(named.collect::<Vec<Expr>>())?.alias(self.relation)
    }
}

fn lift(plan: &Plan, captured: &Captured) -> Result<Option<Lifted>> {
    if !uses(plan, captured)? {
        return Ok(Some(Lifted::apart(plan)));
    }
    match plan {
        Plan::SubqueryAlias(named) => lift(&named.input, captured),
        Plan::Projection(projection) => {
            if projection
                .expr
                .iter()
                .any(|expr| has_set(expr) || has_subquery(expr))
            {
                return Ok(None);
            }
            let Some(mut below) = lift(&projection.input, captured)? else {
                return Ok(None);
            };
            let exprs = projection.expr.iter().cloned();
            let outputs =
                exprs.map(|expr| computed_of(expr.unalias(), projection.input.schema(), &below.outputs));
            below.outputs = outputs.collect::<Result<Vec<Expr>>>()?;
            Ok(Some(below))
        }
        Plan::Filter(filter) => {
            let Some(mut below) = lift(&filter.input, captured)? else {
                return Ok(None);
            };
            let is_lifted = below.filter(&filter.predicate, filter.input.schema())?;
            Ok(is_lifted.then_some(below))
        }
        Plan::Values(values) => Ok(match values.values.as_slice() {
            [row] => Some(Lifted {
                rows: Plan::one_row(),
                conditions: Vec::new(),
                outputs: row.clone(),
            }),
            _ => None,
        }),
        Plan::Join(join) => lift_join(join, captured),
        _ => Ok(None),
    }
}

/// A join within a right side. Of an outer one only the side whose rows all stay may use the left side.
fn lift_join(join: &Join, captured: &Captured) -> Result<Option<Lifted>> {
    let is_outer = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left => true,
        _ => return Ok(None),
    };
    let (Some(left), Some(right)) = (lift(&join.left, captured)?, lift(&join.right, captured)?) else {
        return Ok(None);
    };
    if is_outer && !(right.conditions.is_empty() && right.outputs.iter().all(is_column)) {
        return Ok(None);
    }
    let rows = left.rows.clone().cross_join(right.rows.clone());
    let mut both = Lifted {
        rows,
        conditions: [left.conditions, right.conditions].concat(),
        outputs: [left.outputs, right.outputs].concat(),
    };
    let keys = join.on.iter().map(|(one, other)| one.clone().eq(other.clone()));
    let condition = conjunction(keys.chain(join.filter.clone()));
    if !is_outer {
        let is_lifted = match condition {
            Some(condition) => both.filter(&condition, &join.schema)?,
            None => true,
        };
        return Ok(is_lifted.then_some(both));
    }
    let condition = condition.map(|condition| computed_of(condition, &join.schema, &both.outputs));
    let condition = condition.transpose()?;
    if condition
        .as_ref()
        .is_some_and(|condition| condition.contains_outer() || has_subquery(condition))
    {
        return Ok(None);
    }
    both.rows = left.rows.join_on(right.rows, JoinType::Left, condition);
    Ok(Some(both))
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// Whether a plan, or a subquery of it, uses what is captured.
fn uses(plan: &Plan, captured: &Captured) -> Result<bool> {
    let names: HashSet<&Column> = captured.iter().map(|(name, _)| name).collect();
    let mut found = false;
    for_each_node(plan, &mut |node| {
        node.apply_expressions(|expr| {
            found |= expr
                .has(|expr| matches!(expr, Expr::OuterReferenceColumn(_, column) if names.contains(column)));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
