//! Joins of FROM: conditions, USING and NATURAL, lateral right sides.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault, name_parts};
use super::coercion::CastContext;
use super::decorrelation::{has_outer_reference, has_subquery};
use super::from_item::{Beside, FromItem};
use super::lateral_join::first_relation;
use super::operator::binary;
use super::scope::{Outer, Scope, ScopeColumn, ScopeRelation};
use crate::error::StatementFault;
use crate::functions::Volatility;
use crate::logical::dependent_join::is_volatile;
use crate::parse::from_forms;
use crate::tree::{Column, Expr, JoinType, Operator, Plan, conjunction, split_conjunction_owned};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn join(
        &mut self,
        mut left: FromItem,
        join: &ast::Join,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        use ast::JoinOperator as J;
        let (kind, constraint) = match &join.join_operator {
            J::Join(constraint) | J::Inner(constraint) => (JoinType::Inner, constraint),
            J::Left(constraint) | J::LeftOuter(constraint) => (JoinType::Left, constraint),
            J::Right(constraint) | J::RightOuter(constraint) => (JoinType::Right, constraint),
            J::FullOuter(constraint) => (JoinType::Full, constraint),
            J::CrossJoin(_) => return self.cross(Some(left), &join.relation, outer),
            other => return Err(Error::unsupported(format!("the join {other:?}"), None)),
        };
        if matches!(constraint, ast::JoinConstraint::None) {
            return Err(Error::Syntax {
                message: "a join needs ON or USING".to_string(),
                position: 0,
            });
        }
        let beside = match kind {
            JoinType::Inner | JoinType::Left => {
                self.lateral(&left, &join.relation, kind == JoinType::Left, outer)?
            }
            _ => Beside::Unbound,
        };
        let mut right = match beside {
            Beside::Joined(item) => {
                return self.lateral_condition((&left, &join.relation), item, (kind, constraint), outer);
            }
            Beside::Apart(right) => right,
            Beside::Unbound => self.factor_beside(&left, &join.relation, outer)?,
        };
        if matches!(kind, JoinType::Left | JoinType::Full) {
            right.scope.note_may_be_missing();
        }
        if matches!(kind, JoinType::Right | JoinType::Full) {
            left.scope.note_may_be_missing();
        }
        match constraint {
            ast::JoinConstraint::On(condition) => self.join_on(left, right, kind, condition, outer),
            ast::JoinConstraint::Using(names) => {
                let (names, called) = from_forms::split_using(names);
                let names = names
                    .iter()
                    .map(|name| Ok(name_parts(name)?.pop().unwrap_or_default()))
                    .collect::<Result<Vec<String>>>()?;
                let mut joined = self.join_using(left, right, kind, &names)?;
                if let Some(called) = called {
                    let merged = joined.scope.visible[..names.len()].to_vec();
                    let relation = ScopeRelation::new(called.to_string(), merged);
                    joined.scope.add_relations(vec![relation])?;
                }
                Ok(joined)
            }
            ast::JoinConstraint::Natural => {
                let names: Vec<String> = left
                    .scope
                    .visible
                    .iter()
                    .map(|column| column.name.clone())
                    .filter(|name| right.scope.visible.iter().any(|column| column.name == *name))
                    .collect();
                self.join_using(left, right, kind, &names)
            }
            ast::JoinConstraint::None => Err(Error::internal("a join without a condition")),
        }
    }

    /// ON of a join whose right side is lateral: a filter above an inner one, one of the right side's rows in an outer one. `item`: the
    /// join of the two sides without it.
    fn lateral_condition(
        &mut self,
        (left, right): (&FromItem, &ast::TableFactor),
        item: FromItem,
        (kind, constraint): (JoinType, &ast::JoinConstraint),
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let ast::JoinConstraint::On(written) = constraint else {
            return Err(Error::unsupported(
                "USING or NATURAL in a join whose right side is lateral",
                Some("Write the condition with ON, or select it inside."),
            ));
        };
        let place = Place {
            scope: &item.scope,
            outer,
            clause: Clause::JoinOn,
            windows: &[],
        };
        let condition = self.choosing(|binder| binder.condition(written, place))?;
        let always = matches!(
            &condition,
            Expr::Literal(crate::tree::ScalarValue::Boolean(Some(true)), _)
        );
        if always {
            return Ok(item);
        }
        if kind != JoinType::Inner {
            return self.lateral_where(left, right, written, outer);
        }
        let plan = self.filter(item.plan, condition)?;
        Ok(FromItem {
            plan,
            scope: item.scope,
        })
    }

    /// LEFT JOIN LATERAL whose right side has only rows that satisfy the condition, which has been read where both sides are seen.
    fn lateral_where(
        &mut self,
        left: &FromItem,
        right: &ast::TableFactor,
        condition: &ast::Expr,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let around = Outer::new(&left.scope, outer, None);
        let right = self.factor(right, Some(&around))?;
        let place = Place {
            scope: &right.scope,
            outer: Some(&around),
            clause: Clause::JoinOn,
            windows: &[],
        };
        let condition = self.choosing(|binder| binder.condition(condition, place))?;
        let name = first_relation(&right.plan);
        let plan = match is_volatile(&right.plan)? {
            true => self.filter_behind(right.plan, condition)?,
            false => self.filter(right.plan, condition)?,
        };
        let scope = right.scope;
        let captured = around.captured.into_inner();
        self.lateral_join(left, FromItem { plan, scope }, (captured, name), true)
    }

    /// The rows of a plan for which the condition is true, of which all are computed that it may ask of columns around it: a right side whose
    /// functions do something does so for each row of the left one, whatever is said of that.
    fn filter_behind(&mut self, plan: Plan, condition: Expr) -> Result<Plan> {
        let is_behind = |part: &Expr| has_outer_reference(part) && !has_subquery(part);
        let parts = split_conjunction_owned(condition).into_iter();
        let (behind, plain): (Vec<Expr>, Vec<Expr>) = parts.partition(is_behind);
        let plan = match conjunction(plain) {
            Some(plain) => self.filter(plan, plain)?,
            None => plan,
        };
        let Some(behind) = conjunction(behind) else {
            return Ok(plan);
        };
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let name = self.unique_name("?on");
        // What is volatile is asked where it is computed.
        let behind = self.perhaps_null(behind, &SqlType::Bool, Volatility::Volatile);
        let computed: Vec<Expr> = columns.iter().cloned().chain([behind.alias(&name)]).collect();
        let asked = Expr::Column(Column::new_unqualified(name));
        plan.project(computed)?.filter(asked).project(columns)
    }

    pub(super) fn join_on(
        &mut self,
        left: FromItem,
        right: FromItem,
        kind: JoinType,
        condition: &ast::Expr,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let mut scope = left.scope;
        scope.visible.extend(right.scope.visible);
        scope.add_relations(right.scope.relations)?;
        let place = Place {
            scope: &scope,
            outer,
            clause: Clause::JoinOn,
            windows: &[],
        };
        let condition = self.choosing(|binder| binder.condition(condition, place))?;
        if has_subquery(&condition) {
            if kind != JoinType::Inner {
                let plan = self.outer_join_by_subquery(left.plan, right.plan, kind, condition)?;
                return Ok(FromItem { plan, scope });
            }
            let plan = self.filter(left.plan.cross_join(right.plan), condition)?;
            return Ok(FromItem { plan, scope });
        }
        let plan = left.plan.join_on(right.plan, kind, Some(condition));
        Ok(FromItem { plan, scope })
    }

    /// USING and NATURAL: each named column comes once, before the others.
    pub(super) fn join_using(
        &mut self,
        left: FromItem,
        right: FromItem,
        kind: JoinType,
        names: &[String],
    ) -> Result<FromItem> {
        if names.is_empty() && kind == JoinType::Inner {
            return cross_join(left, right);
        }
        let mut merged = Vec::with_capacity(names.len());
        let mut condition: Option<Expr> = None;
        for name in names {
            let find = |scope: &Scope, side: &str| match scope.get_column(name) {
                Ok(Some(bound)) => Ok(bound.clone()),
                Ok(None) => {
                    let message =
                        format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                    Err(fault(StatementFault::UndefinedColumn, message))
                }
                Err(_) => {
                    let message =
                        format!("common column name \"{name}\" appears more than once in {side} table");
                    Err(fault(StatementFault::AmbiguousColumn, message))
                }
            };
            let (a, b) = (find(&left.scope, "left")?, find(&right.scope, "right")?);
            self.common_type_of("JOIN/USING", &[a.clone(), b.clone()])?;
            let equal = self.compare(Operator::Eq, a.clone(), b.clone())?.expr;
            condition = Some(match condition {
                Some(before) => binary(before, Operator::And, equal),
                None => equal,
            });
            merged.push(ScopeColumn {
                name: name.clone(),
                bound: self.merged(kind, a, b)?,
            });
        }
        let rest = |scope: &Scope| -> Vec<ScopeColumn> {
            scope
                .visible
                .iter()
                .filter(|column| !names.contains(&column.name))
                .cloned()
                .collect()
        };
        let mut visible = merged;
        visible.extend(rest(&left.scope));
        visible.extend(rest(&right.scope));
        let mut scope = Scope {
            visible,
            relations: left.scope.relations,
        };
        scope.add_relations(right.scope.relations)?;
        let condition = match condition {
            Some(condition) => condition,
            None => crate::tree::lit(true),
        };
        let plan = left.plan.join_on(right.plan, kind, Some(condition));
        Ok(FromItem { plan, scope })
    }

    pub(super) fn merged(&mut self, kind: JoinType, left: Bound, right: Bound) -> Result<Bound> {
        let ty = self.common_type_of("JOIN/USING", &[left.clone(), right.clone()])?;
        match kind {
            JoinType::Full => {
                let left = self.convert(left, &ty, CastContext::Implicit)?;
                let right = self.convert(right, &ty, CastContext::Implicit)?;
                Ok(Bound::new(self.first_not_null(vec![left], right.expr)?, ty))
            }
            JoinType::Right => self.side_merged(right, &ty),
            _ => self.side_merged(left, &ty),
        }
    }

    /// The column of a side that has all the rows, of the type of both.
    fn side_merged(&mut self, side: Bound, ty: &SqlType) -> Result<Bound> {
        match side.ty == *ty {
            true => Ok(side),
            false => self.convert(side, ty, CastContext::Implicit),
        }
    }
}

pub(super) fn cross_join(left: FromItem, right: FromItem) -> Result<FromItem> {
    let plan = left.plan.cross_join(right.plan);
    let mut scope = left.scope;
    scope.visible.extend(right.scope.visible);
    scope.add_relations(right.scope.relations)?;
    Ok(FromItem { plan, scope })
}
