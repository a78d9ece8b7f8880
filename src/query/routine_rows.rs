//! Functions that users made, in FROM: the query of one that is a SELECT stands there as a view's would; the rows of all others come from
//! a run of it for each row before.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, Clause, Place, fold, name_parts};
use super::from_item::{FromItem, renamed};

use super::lateral_join::first_relation;
use super::routine_body::RoutineBody;
use super::routine_call::{ChosenRoutine, check_callable, concrete, wrong_result};
use super::scope::{Outer, Scope, ScopeColumn, ScopeRelation};
use super::select_item::BoundItem;
use super::set_returning::refuse_set_in_from;
use super::set_rows::SetRows;
use super::table_function::TableFunction;
use crate::catalog::{RoutineDef, RoutineResult, Volatile};
use crate::error::StatementFault;
use crate::functions::RoutineForm;
use crate::tree::{Column, Expr, Plan};
use crate::types::{CatalogType, RecordType, SqlType};
use crate::{Error, Result};

impl Binder<'_> {
    /// The function of a user's that an item of FROM calls, in the midst of the items before it. `None`: it calls none.
    pub(super) fn routine_of_item(
        &mut self,
        call: &TableFunction<'_>,
        place: Place<'_>,
    ) -> Result<Option<ChosenRoutine>> {
        let Some(name) = call.name() else {
            return Ok(None);
        };
        let mut parts = name_parts(name)?;
        let last = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        let schema = schema.map(|schema| self.ctx.settings.schema_meant(&schema).to_string());
        let routines = self.routines_named(schema.as_deref(), &last);
        if routines.is_empty() {
            return Ok(None);
        }
        let arguments = self.call_arguments(&call.listed(), place)?;
        refuse_set_in_from(&arguments.bound)?;
        let may_be_built_in = schema.is_none();
        let chosen = self.chosen_routine(&last, routines, &arguments, may_be_built_in)?;
        if let Some(chosen) = &chosen {
            check_callable(&chosen.routine)?;
        }
        Ok(chosen)
    }

    /// Its rows beside those of the items before it. `left`: those, if there are any.
    pub(super) fn routine_item(
        &mut self,
        call: &TableFunction<'_>,
        chosen: ChosenRoutine,
        left: Option<&FromItem>,
        keep_left: bool,
    ) -> Result<FromItem> {
        let columns = self.columns_of(&chosen, call)?;
        let is_set = chosen.routine.returns_set;
        if is_set
            && !call.has_ordinality()
            && let Some(query) = RoutineBody::inlined(&chosen.routine, true)?
            && self.may_inline(&chosen, &query)
        {
            return self.routine_query(call, &chosen, &query, &columns, left, keep_left);
        }
        let (plan, scope) = match left {
            Some(left) => (left.plan.clone(), left.scope.clone()),
            None => (Plan::one_row(), Scope::default()),
        };
        self.routine_run_item(call, chosen, columns, (plan, scope), keep_left)
    }

    /// The names and types of the columns that it gives. Errors: 42601 for a record without a list of columns.
    fn columns_of(
        &mut self,
        chosen: &ChosenRoutine,
        call: &TableFunction<'_>,
    ) -> Result<Vec<(String, SqlType)>> {
        let routine = &chosen.routine;
        let element = chosen.element.as_ref();
        match &routine.returns {
            RoutineResult::Void | RoutineResult::Trigger => {
                Ok(vec![(routine.name.clone(), SqlType::Catalog(CatalogType::Void))])
            }
            RoutineResult::Type(ty) => {
                let ty = concrete(self.ctx, ty, element)?;
                if let SqlType::Record(row) = &ty {
                    let fields = row.fields.iter();
                    return Ok(fields
                        .map(|field| (field.name.clone(), field.ty.clone()))
                        .collect());
                }
                // The only column of RETURNS TABLE has a name.
                let named = routine.outputs().next().and_then(|output| output.name.clone());
                Ok(vec![(named.unwrap_or_else(|| routine.name.clone()), ty)])
            }
            RoutineResult::Outputs => self.output_columns(routine, element),
            RoutineResult::Record => {
                let listed = call.definitions();
                let mut columns = Vec::new();
                for column in listed {
                    let Some(ty) = &column.data_type else { break };
                    columns.push((fold(&column.name), self.written_type(ty)?.ty));
                }
                match columns.is_empty() || columns.len() < listed.len() {
                    true => Err(super::binder::fault(
                        StatementFault::Syntax,
                        "a column definition list is required for functions returning \"record\"",
                    )),
                    false => Ok(columns),
                }
            }
        }
    }

    /// The rows of a function whose columns the query defines, as an array; `None`: it has its own.
    pub(super) fn rows_of_record(
        &mut self,
        chosen: ChosenRoutine,
        call: &TableFunction<'_>,
    ) -> Result<Option<Bound>> {
        if !matches!(chosen.routine.returns, RoutineResult::Record) {
            return Ok(None);
        }
        let columns = self.columns_of(&chosen, call)?;
        let row = SqlType::Record(Arc::new(RecordType::anonymous(columns)));
        self.array_of_runs(chosen, &row).map(Some)
    }

    /// The query of the function as an item of FROM.
    fn routine_query(
        &mut self,
        call: &TableFunction<'_>,
        chosen: &ChosenRoutine,
        query: &ast::Query,
        columns: &[(String, SqlType)],
        left: Option<&FromItem>,
        keep_left: bool,
    ) -> Result<FromItem> {
        let routine = &chosen.routine;
        let scope = self.argument_scope(chosen)?;
        let outer = Outer::new(&scope, None, None);
        let bound = self.within_routine(routine, |binder| {
            let bound = binder.query(query, Some(&outer))?;
            binder.as_columns(routine, bound, columns)
        })?;
        let captured = outer.captured.into_inner();
        let alias = match routine.returns {
            // The columns have the types that its list gives them.
            RoutineResult::Record => call.alias().map(untyped),
            _ => call.alias().cloned(),
        };
        let mut item = self.named(bound, &routine.name, alias.as_ref())?;
        if columns.len() == 1
            && !routine.returns.is_row()
            && self
                .value_type(chosen)?
                .is_some_and(|ty| ty.record_type().is_none())
        {
            let is_named = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
            as_value(&mut item, is_named || routine.outputs().next().is_some());
        }
        let Some(left) = left else {
            return Ok(item);
        };
        if captured.is_empty() && !keep_left {
            return super::join::cross_join(
                FromItem {
                    plan: left.plan.clone(),
                    scope: left.scope.clone(),
                },
                item,
            );
        }
        let name = first_relation(&item.plan);
        self.lateral_join(left, item, (captured, name), keep_left)
    }

    /// A query's columns under these names and of these types. Errors: 42P13 for others.
    fn as_columns(
        &mut self,
        routine: &RoutineDef,
        bound: BoundQuery,
        columns: &[(String, SqlType)],
    ) -> Result<BoundQuery> {
        let bound = self.with_columns_of_row(routine, bound)?;
        if bound.columns.len() != columns.len() {
            let detail = match bound.columns.len() > columns.len() {
                true => "Final statement returns too many columns.",
                false => "Final statement returns too few columns.",
            };
            return Err(wrong_result(routine, detail));
        }
        let mut bound = bound;
        let is_same = bound
            .columns
            .iter()
            .zip(columns)
            .all(|(column, (_, ty))| column.ty == *ty);
        if !is_same {
            let mut items = Vec::with_capacity(columns.len());
            for (column, (name, ty)) in bound.columns.iter().zip(columns) {
                let value = Bound {
                    expr: Expr::Column(column.column.clone()),
                    ty: column.ty.clone(),
                    origin: column.origin,
                    is_declared: column.is_declared,
                };
                items.push(BoundItem {
                    name: name.clone(),
                    bound: self.as_assigned(value, ty)?,
                });
            }
            let exprs: Vec<Expr> = items.iter().map(|item| item.bound.expr.clone()).collect();
            let visible = items.len();
            bound = self.project(
                bound.plan,
                items,
                exprs,
                visible,
                Vec::new(),
                super::select::Kept::all(),
            )?;
        }
        for (column, (name, _)) in bound.columns.iter_mut().zip(columns) {
            column.name.clone_from(name);
            // What a function gives is no table's, whatever its query reads.
            column.origin = None;
            column.is_declared = false;
        }
        Ok(bound)
    }

    /// The columns of the rows that a query of one column gives, where the function gives rows.
    fn with_columns_of_row(&mut self, routine: &RoutineDef, bound: BoundQuery) -> Result<BoundQuery> {
        let [only] = bound.columns.as_slice() else {
            return Ok(bound);
        };
        let SqlType::Record(row) = only.ty.clone() else {
            return Ok(bound);
        };
        if !routine.returns.is_row() {
            return Ok(bound);
        }
        let record = Bound::new(Expr::Column(only.column.clone()), only.ty.clone());
        let mut items = Vec::with_capacity(row.fields.len());
        for (at, field) in row.fields.iter().enumerate() {
            items.push(BoundItem {
                name: field.name.clone(),
                bound: self.field_at(record.clone(), at)?,
            });
        }
        let exprs: Vec<Expr> = items.iter().map(|item| item.bound.expr.clone()).collect();
        let visible = items.len();
        let kept = super::select::Kept::all();
        self.project(bound.plan, items, exprs, visible, Vec::new(), kept)
    }

    /// The rows of runs of the function.
    fn routine_run_item(
        &mut self,
        call: &TableFunction<'_>,
        chosen: ChosenRoutine,
        columns: Vec<(String, SqlType)>,
        (plan, mut scope): (Plan, Scope),
        keep_left: bool,
    ) -> Result<FromItem> {
        let routine = Arc::clone(&chosen.routine);
        let row_type = self.value_type(&chosen)?;
        let row_type = row_type.and_then(|ty| ty.record_type().cloned());
        let is_value = row_type.is_none() && !matches!(routine.returns, RoutineResult::Record);
        let ty = match (&row_type, columns.first()) {
            (Some(row), _) => SqlType::Record(Arc::clone(row)),
            (None, Some((_, ty))) if is_value => ty.clone(),
            _ => SqlType::Record(Arc::new(RecordType::anonymous(columns.clone()))),
        };
        let set = self.array_of_runs(chosen, &ty)?;
        let asked = SetRows {
            is_numbered: call.has_ordinality(),
            keep_left,
        };
        let (mut plan, mut rows, ordinality) = self.set_rows(plan, set.into(), asked)?;
        let row = rows
            .pop()
            .ok_or_else(|| Error::internal("a set without a column"))?;
        let mut found = match is_value {
            false => {
                let (with_fields, found) = self.fields_of_rows(plan, row, &columns)?;
                plan = with_fields;
                found
            }
            true => vec![ScopeColumn {
                name: columns
                    .into_iter()
                    .next()
                    .map(|(name, _)| name)
                    .unwrap_or_default(),
                bound: row,
            }],
        };
        found.extend(ordinality);
        let visible_name = call
            .alias()
            .map_or_else(|| routine.name.clone(), |alias| fold(&alias.name));
        let is_one = is_value && !call.has_ordinality();
        // A function's only column is called as its alias is.
        if is_one && routine.outputs().next().is_none() && call.alias().is_some() {
            found[0].name.clone_from(&visible_name);
        }
        let is_record = matches!(routine.returns, RoutineResult::Record);
        let found = renamed(found, call.alias(), &visible_name, is_record)?;
        let relation = ScopeRelation {
            is_value: is_one,
            may_be_missing: keep_left,
            row_type: row_type.filter(|_| !call.has_ordinality()),
            ..ScopeRelation::new(visible_name, found.clone())
        };
        scope.visible.extend(found);
        scope.add_relations(vec![relation])?;
        Ok(FromItem { plan, scope })
    }

    /// The rows of the function's runs as an array.
    fn array_of_runs(&mut self, chosen: ChosenRoutine, ty: &SqlType) -> Result<Bound> {
        let form = match chosen.routine.returns_set {
            true => RoutineForm::Values,
            false => RoutineForm::Value,
        };
        let run = self.routine_run(chosen, ty.clone(), form)?;
        let array = self.array_of_rows(run);
        Ok(Bound::new(array.expr, SqlType::list(ty.clone())))
    }

    /// The columns of rows, each under a name of its own.
    pub(super) fn fields_of_rows(
        &mut self,
        plan: Plan,
        row: Bound,
        columns: &[(String, SqlType)],
    ) -> Result<(Plan, Vec<ScopeColumn>)> {
        let mut outputs = super::set_returning::all_columns(&plan);
        let mut found = Vec::with_capacity(columns.len());
        for (at, (name, ty)) in columns.iter().enumerate() {
            let value = self.field_at(row.clone(), at)?;
            let own = self.unique_name(&format!("?{name}"));
            outputs.push(value.named(&own));
            found.push(ScopeColumn {
                name: name.clone(),
                bound: Bound::new(Expr::Column(Column::new_unqualified(&own)), ty.clone()),
            });
        }
        Ok((plan.project(outputs)?, found))
    }

    /// The place of an item that sees nothing beside it.
    pub(super) fn item_place<'a>(scope: &'a Scope, outer: Option<&'a Outer<'a>>) -> Place<'a> {
        Place {
            scope,
            outer,
            clause: Clause::From,
            windows: &[],
        }
    }
}

/// Makes a relation of one column one of values: its whole row is the value. `has_name`: the column is called otherwise than the relation.
fn as_value(item: &mut FromItem, has_name: bool) {
    let Some(relation) = item.scope.relations.last_mut() else {
        return;
    };
    relation.is_value = true;
    if !has_name {
        let columns = relation.columns.iter_mut().chain(&mut item.scope.visible);
        columns.for_each(|column| column.name.clone_from(&relation.name));
    }
}

/// The names that an alias gives to columns, without their types.
fn untyped(alias: &ast::TableAlias) -> ast::TableAlias {
    let mut alias = alias.clone();
    alias
        .columns
        .iter_mut()
        .for_each(|column| column.data_type = None);
    alias
}

/// Whether a function that may write, or give other rows each time, asks for nothing of the rows before it: it is called once, not for each of
/// them.
pub(super) fn is_once(chosen: &ChosenRoutine) -> bool {
    let mut arguments = chosen.arguments.iter();
    chosen.routine.volatile == Volatile::Volatile
        && !arguments.any(|argument| argument.expr.asks_for_column(&|_| true))
}
