//! What a WHEN clause of MERGE does with the rows that come to it, bound: nothing, DELETE, UPDATE or INSERT.

use arrow::array::{ArrayRef, RecordBatch};
use sqlparser::ast::{
    Expr, MergeAction, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, SelectItem, Spanned,
};
use sqlparser::tokenizer::Span;

use super::assign::{assign_array, check_assignable};
use super::cell::{Cell, decide_parameter, is_default};
use super::generated_columns::{Writing, check_writable, is_left_out};
use super::insert_target::columns_named;
use super::new_rows::NewRows;
use super::row_expressions::RowExpressions;
use super::set::{SetPlan, add_dynamic_columns, names_new_columns};
use super::target::{Target, dynamic_type_of};
use super::user_cast::assigned;
use super::values::check_width;
use crate::Result;
use crate::catalog::NewDynamicColumn;
use crate::parse::text_place;
use crate::parse::unread_words::{self, InsertColumns};
use crate::query::{Clause, RowQuery, RowRelation, literal, plan_row_query};
use crate::system::StatementContext;
use crate::types::SqlType;

/// An action, bound.
#[derive(Debug)]
pub(super) enum Action {
    /// DO NOTHING.
    Nothing,
    /// DELETE.
    Delete,
    /// UPDATE SET.
    Update(Box<ActionUpdate>),
    /// INSERT.
    Insert(Box<ActionInsert>),
}

/// UPDATE SET.
#[derive(Debug)]
pub(super) struct ActionUpdate {
    pub(super) set: SetPlan,
    /// What SET computes of the rows of target and source.
    expressions: RowExpressions,
}

/// INSERT.
#[derive(Debug)]
pub(super) struct ActionInsert {
    rows: NewRows,
    /// The columns that VALUES gives, in their order.
    positions: Vec<usize>,
    expressions: RowExpressions,
    /// Whether it names columns that a dynamic table does not have yet.
    leaves_out: bool,
}

impl Action {
    /// Binds it over the relations that it may name. Errors: those of UPDATE and INSERT.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        action: &MergeAction,
        relations: &[RowRelation],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Action> {
        if unread_words::is_nothing(action) {
            return Ok(Action::Nothing);
        }
        match action {
            MergeAction::Delete { .. } => Ok(Action::Delete),
            MergeAction::Update(update) => {
                let update = ActionUpdate::bind(ctx, target, update, relations, types)?;
                Ok(Action::Update(Box::new(update)))
            }
            MergeAction::Insert(insert) => {
                let insert = ActionInsert::bind(ctx, target, insert, relations, types)?;
                Ok(Action::Insert(Box::new(insert)))
            }
        }
    }

    /// Whether a function is run for it that may write.
    pub(super) fn may_write(&self) -> bool {
        match self {
            Action::Nothing | Action::Delete => false,
            Action::Update(update) => update.expressions.may_write(),
            Action::Insert(insert) => insert.expressions.may_write() || insert.rows.may_write(),
        }
    }

    /// Whether it may run again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        match self {
            Action::Nothing | Action::Delete => true,
            Action::Update(update) => !update.set.leaves_out,
            Action::Insert(insert) => !insert.leaves_out,
        }
    }
}

/// Adds the columns that an action names and a dynamic table does not have yet.
pub(super) async fn add_new_columns(
    ctx: &StatementContext,
    target: &mut Target,
    action: &MergeAction,
    relations: &[RowRelation],
    types: &[Option<SqlType>],
) -> Result<()> {
    if unread_words::is_nothing(action) {
        return Ok(());
    }
    let type_of = |expr: &Expr| {
        let items = [SelectItem::UnnamedExpr(expr.clone())];
        let planned = plan_row_query(ctx, over(relations, &items), &mut types.to_vec())?;
        Ok(planned.columns[0].ty.clone())
    };
    match action {
        MergeAction::Delete { .. } => Ok(()),
        MergeAction::Update(update) => match names_new_columns(target, &update.assignments)? {
            true => {
                let of_target = |_: &Target, expr: &Expr| type_of(expr);
                add_dynamic_columns(ctx, target, &update.assignments, types, of_target).await
            }
            false => Ok(()),
        },
        MergeAction::Insert(insert) => {
            let (names, _, exprs) = named_values(&target.of_insert(), insert)?;
            target.add_columns_of_patterns(ctx, names.iter().map(String::as_str))?;
            let mut new = Vec::new();
            for (name, expr) in names.into_iter().zip(exprs) {
                if target.table.column_index(&name).is_none() && !is_default(expr) {
                    let ty = dynamic_type_of(&type_of(expr)?);
                    new.extend(ty.map(|ty| NewDynamicColumn::of_value(name, ty)));
                }
            }
            target.add_columns(ctx, new)
        }
    }
}

/// The columns that an INSERT names, what it says of identity columns, and its values.
fn named_values<'a>(
    target: &Target,
    insert: &'a MergeInsertExpr,
) -> Result<(Vec<String>, InsertColumns<'a>, &'a [Expr])> {
    let columns = unread_words::split(&insert.columns);
    let values = match &insert.kind {
        MergeInsertKind::Values(values) if !columns.defaults => values.rows.first(),
        MergeInsertKind::Values(_) | MergeInsertKind::Row => None,
    };
    let values = values.map_or(&[][..], |row| &row.content);
    Ok((columns_named(target, columns.named)?, columns, values))
}

fn over<'a>(relations: &'a [RowRelation], items: &'a [SelectItem]) -> RowQuery<'a> {
    RowQuery {
        relations,
        items,
        selection: None,
        clause: Clause::Values,
    }
}

impl ActionUpdate {
    fn bind(
        ctx: &StatementContext,
        target: &Target,
        update: &MergeUpdateExpr,
        relations: &[RowRelation],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<ActionUpdate> {
        let (set, computed) = SetPlan::bind(ctx, target, &update.assignments, types)?;
        set.decide_parameters(&target.table, types)?;
        let computed = computed.into_iter();
        let items: Vec<SelectItem> = computed
            .map(|expr| SelectItem::UnnamedExpr(expr.into_owned()))
            .collect();
        let query = RowQuery {
            clause: Clause::Set,
            ..over(relations, &items)
        };
        let expressions = RowExpressions::bind(ctx, query, types)?;
        let computed = expressions.columns().iter().map(|column| &column.ty);
        set.check(&target.table, computed)?;
        Ok(ActionUpdate { set, expressions })
    }

    /// What becomes of whole rows. `rows`: target and source as the action names them.
    pub(super) async fn new_rows(
        &self,
        ctx: &StatementContext,
        target: &Target,
        old: &RecordBatch,
        rows: &RecordBatch,
    ) -> Result<RecordBatch> {
        let evaluated = self.expressions.evaluate(ctx, rows).await?;
        let types = self.expressions.columns().iter().map(|column| &column.ty);
        let computed = types.zip(evaluated.batch.columns());
        self.set.apply(ctx, &target.table, old, computed).await
    }
}

impl ActionInsert {
    fn bind(
        ctx: &StatementContext,
        target: &Target,
        insert: &MergeInsertExpr,
        relations: &[RowRelation],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<ActionInsert> {
        let (names, columns, exprs) = named_values(&target.of_insert(), insert)?;
        let InsertColumns {
            named,
            overriding,
            defaults,
        } = columns;
        if !defaults {
            let spans: Vec<Span> = exprs.iter().map(Spanned::span).collect();
            check_width(exprs.len(), &spans, names.len(), named)?;
        }
        let (mut positions, mut items, mut leaves_out) = (Vec::new(), Vec::new(), false);
        for (name, expr) in names.iter().zip(exprs).filter(|(_, expr)| !is_default(expr)) {
            let Some(position) = target.table.column_index(name) else {
                leaves_out = true;
                continue;
            };
            let column = &target.table.columns[position];
            check_writable(column, Writing::Insert(overriding))?;
            if !is_left_out(column, overriding) {
                decide_parameter(expr, &column.ty, types);
                // What is no value of the column's type is so without a row, too.
                if let Some(constant) = literal(expr)? {
                    Cell::Constant(constant).for_column(expr, column, types, &ctx.format_settings())?;
                }
                positions.push((position, expr.span()));
                let value = assigned(ctx, expr, column, types)?;
                items.push(SelectItem::UnnamedExpr(value.into_owned()));
            }
        }
        let expressions = RowExpressions::bind(ctx, over(relations, &items), types)?;
        for ((position, span), output) in positions.iter().zip(expressions.columns()) {
            let checked = check_assignable(&output.ty, &target.table.columns[*position]);
            text_place::at_span(checked, *span)?;
        }
        let positions: Vec<usize> = positions.into_iter().map(|(position, _)| position).collect();
        Ok(ActionInsert {
            rows: NewRows::bind(ctx, &target.table, positions.iter().copied(), 1)?,
            positions,
            expressions,
            leaves_out,
        })
    }

    /// The rows to insert, whole. `rows`: the source's.
    pub(super) async fn new_rows(
        &self,
        ctx: &StatementContext,
        target: &Target,
        rows: &RecordBatch,
    ) -> Result<RecordBatch> {
        let (table, settings) = (&target.table, ctx.format_settings());
        let evaluated = self.expressions.evaluate(ctx, rows).await?;
        let given = self.positions.iter().zip(self.expressions.columns());
        let given = given.zip(evaluated.batch.columns());
        let given = given.map(|((position, output), array)| {
            let array = assign_array(array, &output.ty, &table.columns[*position], &settings)?;
            Ok((*position, array))
        });
        let given: Vec<(usize, ArrayRef)> = given.collect::<Result<_>>()?;
        self.rows.fill(ctx, table, given, rows.num_rows()).await
    }
}
