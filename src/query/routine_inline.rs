//! A function of a user's that is one SELECT, in the place of a call of it: its arguments are names that stand for what the call gives.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, Place};
use super::coercion;
use super::routine_body::{RoutineBody, expression_of, names_moment, uses_of};
use super::routine_call::{ChosenRoutine, wrong_result};
use super::scope::{Outer, Scope, ScopeColumn, ScopeRelation};
use crate::Result;
use crate::catalog::{RoutineDef, RoutineResult, Volatile};
use crate::functions::Volatility;
use crate::tree::{self, Case, Expr, Plan, Subquery};
use crate::types::{RecordType, SqlType};

/// How deeply the queries of functions may stand in one another.
const INLINED_MAX: usize = 24;

impl Binder<'_> {
    /// The query of a function in the place of a call of it. `None`: it is run.
    pub(super) fn inlined_value(
        &mut self,
        chosen: &ChosenRoutine,
        ty: &SqlType,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let routine = &chosen.routine;
        if matches!(routine.returns, RoutineResult::Void) {
            return Ok(None);
        }
        let Some(query) = RoutineBody::inlined(routine, false)? else {
            return Ok(None);
        };
        if !self.may_inline(chosen, &query) {
            return Ok(None);
        }
        let scope = self.argument_scope(chosen)?;
        let bound = self.within_routine(routine, |binder| match expression_of(&query) {
            Some(expr) => {
                let inside = Place {
                    scope: &scope,
                    outer: None,
                    clause: place.clause,
                    windows: &[],
                };
                binder.expression(expr, inside)
            }
            None => {
                let outer = Outer::new(&scope, None, Some(place.clause));
                let found = binder.query(&query, Some(&outer))?;
                let [column] = found.columns.as_slice() else {
                    return Err(wrong_result(
                        routine,
                        "Final statement must return exactly one column.",
                    ));
                };
                let marker = Subquery {
                    subquery: Arc::new(first_row(found.plan.clone())),
                    outer_ref_columns: super::subquery::captured(outer),
                };
                Ok(Bound::new(Expr::ScalarSubquery(marker), column.ty.clone()))
            }
        })?;
        let is_subquery = matches!(bound.expr, Expr::ScalarSubquery(_));
        let bound = self.as_assigned(bound, ty)?;
        if !is_within(&bound.expr, routine.volatile) || matches!(bound.expr, Expr::Unnest(_)) {
            return Ok(None);
        }
        if is_subquery && routine.volatile == Volatile::Volatile && has_volatile_query(&bound.expr) {
            return Ok(None);
        }
        Ok(Some(self.unless_null(chosen, bound)))
    }

    /// The row that a function that RETURNS record gives, as its body says that is one query in SQL. `None`: that is known once it has run.
    pub(super) fn row_of_body(&mut self, chosen: &ChosenRoutine) -> Result<Option<RecordType>> {
        let routine = &chosen.routine;
        if self.inlined.len() >= INLINED_MAX || self.inlined.contains(&routine.oid) {
            return Ok(None);
        }
        let Some(query) = RoutineBody::inlined(routine, false)? else {
            return Ok(None);
        };
        let scope = self.argument_scope(chosen)?;
        let outer = Outer::new(&scope, None, None);
        let bound = self.within_routine(routine, |binder| binder.query(&query, Some(&outer)))?;
        let columns = bound.columns.into_iter().map(|column| match column.ty {
            SqlType::Unknown | SqlType::Void => (column.name, SqlType::Text),
            ty => (column.name, ty),
        });
        Ok(Some(RecordType::anonymous(columns)))
    }

    /// The names that a body has for arguments, each what it stands for.
    pub(super) fn argument_scope(&mut self, chosen: &ChosenRoutine) -> Result<Scope> {
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        for (at, (input, bound)) in chosen.routine.inputs().zip(&chosen.arguments).enumerate() {
            let bound = Bound::new(bound.expr.clone(), bound.ty.clone());
            for name in input.name.iter().cloned().chain([format!("${}", at + 1)]) {
                if bound.ty.record_type().is_some() {
                    // The columns of a row stand behind its name.
                    let fields = self.fields_of_record(&bound)?.into_iter();
                    let fields = fields.map(|(name, bound)| ScopeColumn { name, bound });
                    rows.push(ScopeRelation::new(name.clone(), fields.collect()));
                }
                columns.push(ScopeColumn {
                    name,
                    bound: bound.clone(),
                });
            }
        }
        let mut relations = vec![ScopeRelation::new(chosen.routine.name.clone(), columns.clone())];
        relations.extend(rows);
        Ok(Scope {
            visible: columns,
            relations,
        })
    }

    /// NULL where an argument of a strict function is.
    fn unless_null(&mut self, chosen: &ChosenRoutine, bound: Bound) -> Bound {
        let is_open =
            |argument: &&Bound| !matches!(&argument.expr, Expr::Literal(value, _) if !value.is_null());
        let open = chosen.arguments.iter().filter(is_open);
        let tests: Vec<Expr> = open
            .map(|argument| Expr::IsNull(Box::new(argument.expr.clone())))
            .collect();
        if !chosen.routine.strict || tests.is_empty() {
            return bound;
        }
        let any = tests
            .into_iter()
            .reduce(|one, other| super::operator::binary(one, tree::Operator::Or, other));
        let Some(any) = any else { return bound };
        let null = match coercion::null_of(&bound.ty) {
            Ok(null) => null,
            Err(_) => return bound,
        };
        let case = Case::new(
            None,
            vec![(Box::new(any), Box::new(null))],
            Some(Box::new(bound.expr)),
        );
        Bound::new(Expr::Case(case), bound.ty)
    }

    /// Whether the arguments may stand wherever the query names them, and the query in this plan.
    pub(super) fn may_inline(&self, chosen: &ChosenRoutine, query: &ast::Query) -> bool {
        let routine = &chosen.routine;
        if self.inlined.len() >= INLINED_MAX || self.inlined.contains(&routine.oid) {
            return false;
        }
        let is_row = expression_of(query).is_some();
        let mut inputs = routine.inputs().enumerate().zip(&chosen.arguments);
        inputs.all(|((at, input), argument)| {
            let is_plain = matches!(
                argument.expr,
                Expr::Literal(..) | Expr::Placeholder(_) | Expr::Column(_) | Expr::OuterReferenceColumn(..)
            );
            let mut names: Vec<String> = input.name.iter().cloned().collect();
            names.push(format!("${}", at + 1));
            // The moment of a plan is one for all rows, that of a run of the function what it is called with.
            if !is_of_statement(&argument.expr) && names_moment(query, &names) {
                return false;
            }
            if is_plain {
                return true;
            }
            let has_query = super::decorrelation::has_subquery(&argument.expr);
            if has_query && !is_row {
                return false;
            }
            let is_costly =
                has_query || argument.expr.is_volatile() || argument.expr.has(Expr::is_routine_call);
            // One is asked whether it is NULL, too, where the function is strict.
            let uses = uses_of(query, &names) + usize::from(routine.strict);
            !is_costly || (uses == 1 && is_row)
        })
    }

    /// Binds what stands in a function's body.
    pub(super) fn within_routine<R>(
        &mut self,
        routine: &RoutineDef,
        bind: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let path = match routine.search_path.is_empty() {
            // The session's, in whatever definition it is called.
            true => self.ctx.settings.search_path.clone(),
            false => routine.search_path.clone(),
        };
        let path = std::mem::replace(&mut self.search_path, path);
        let common_tables = std::mem::take(&mut self.common_tables);
        let variables = self.variables.take();
        // The same words mean another thing there.
        let repeated = std::mem::take(&mut self.repeated_subqueries);
        self.views += 1;
        self.inlined.push(routine.oid);
        let bound = self.one_level_deeper(bind);
        self.inlined.pop();
        self.views -= 1;
        self.repeated_subqueries = repeated;
        self.variables = variables;
        self.common_tables = common_tables;
        self.search_path = path;
        bound.map_err(|error| {
            let line = format!("SQL function \"{}\" during inlining", routine.name);
            error.without_place().within(line)
        })
    }
}

/// Whether an argument is the same for all rows of the query that calls.
fn is_of_statement(argument: &Expr) -> bool {
    let is_of_row = |expr: &Expr| matches!(expr, Expr::Column(_) | Expr::OuterReferenceColumn(..));
    !argument.has(is_of_row) && !argument.is_volatile() && !super::decorrelation::has_subquery(argument)
}

/// A function that gives one value gives that of its first row: its query is bound for one where it may have several.
fn first_row(plan: Plan) -> Plan {
    match has_one_row(&plan) {
        true => plan,
        false => plan.limit(None, Some(tree::lit(1_i64))),
    }
}

/// Whether a plan has no more than one row by its form: what is computed of nothing, or of all rows.
fn has_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::EmptyRelation(_) => true,
        Plan::Values(values) => values.values.len() <= 1,
        Plan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        Plan::Projection(_)
        | Plan::SubqueryAlias(_)
        | Plan::Filter(_)
        | Plan::Sort(_)
        | Plan::Distinct(_)
        | Plan::DependentJoin(_) => plan.inputs().into_iter().all(has_one_row),
        _ => false,
    }
}

/// Whether an expression depends on no more than a function that says so.
fn is_within(expr: &Expr, volatile: Volatile) -> bool {
    let most = match volatile {
        Volatile::Volatile => return true,
        Volatile::Stable => Volatility::Stable,
        Volatile::Immutable => Volatility::Immutable,
    };
    !expr.has(|expr| match expr {
        Expr::ScalarFunction(call) => match call.func.volatility() {
            Volatility::Immutable => false,
            Volatility::Stable => most == Volatility::Immutable,
            Volatility::Volatile => true,
        },
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => most == Volatility::Immutable,
        _ => false,
    })
}

/// Whether a subquery in it gives another value each time.
fn has_volatile_query(expr: &Expr) -> bool {
    expr.has(|expr| match expr {
        Expr::ScalarSubquery(marker) => {
            crate::logical::dependent_join::is_volatile(&marker.subquery).unwrap_or(true)
        }
        _ => false,
    })
}
