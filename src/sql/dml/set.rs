//! `SetPlan`: the SET clause of UPDATE and of ON CONFLICT DO UPDATE, bound: which columns change, and where their values come
//! from. It knows the row as it will be: what is set, then what is generated of it.

use std::borrow::Cow;
use std::collections::HashSet;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::kernels::cmp::distinct;
use sqlparser::ast::{self, AssignmentTarget, Expr, Ident, Spanned};
use sqlparser::tokenizer::Span;

use super::assign::{assign_array, check_assignable, repeated, with_columns};
use super::cell::{Cell, Cells, decide_parameter_at, is_default, parameter_index};
use super::default::DefaultPlan;
use super::generated_columns::{Writing, check_writable, with_generated};
use super::row_checks::RowChecks;
use super::target::{Target, column_name, dynamic_type_of};
use super::user_cast::assigned;
use super::values::calls;
use crate::catalog::{NewDynamicColumn, TableDef};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::{subscript_assignment, text_place};
use crate::query::{Clause, literal};
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A SET clause.
#[derive(Debug)]
pub(super) struct SetPlan {
    columns: Vec<SetColumn>,
    cells: Cells,
    checks: RowChecks,
    /// Whether it names columns of a dynamic table that do not exist by now: they are set to nothing but NULL.
    pub(super) leaves_out: bool,
}

#[derive(Debug)]
struct SetColumn {
    position: usize,
    value: SetValue,
    /// Where the value stands in the statement's text.
    span: Span,
}

impl SetColumn {
    /// `expr`: the value as it is written.
    fn of(position: usize, value: SetValue, expr: &Expr) -> SetColumn {
        let span = expr.span();
        SetColumn {
            position,
            value,
            span,
        }
    }
}

/// The right side of `=` in SET.
#[derive(Debug)]
enum SetValue {
    /// DEFAULT.
    Default(DefaultPlan),
    /// The same for every row.
    Cell(Cell),
    /// The next of the expressions that whoever has the rows computes.
    Computed,
}

impl SetPlan {
    /// Binds the clause but for the expressions over rows, which it answers. Errors: 42703, 42601 for a column set twice, 428C9, 42804.
    pub(super) fn bind<'a>(
        ctx: &StatementContext,
        target: &Target,
        assignments: &'a [ast::Assignment],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<(SetPlan, Vec<Cow<'a, Expr>>)> {
        let (mut columns, mut expressions): (Vec<SetColumn>, Vec<Cow<'a, Expr>>) = (Vec::new(), Vec::new());
        // Where the expressions of columns of whose arrays parts are assigned stand.
        let mut parts: Vec<(usize, usize)> = Vec::new();
        let (settings, mut leaves_out) = (ctx.format_settings(), false);
        for (name, span, expr) in pairs(assignments, &target.table.name)? {
            let Some(position) = text_place::at_span(target.column(&name), span)? else {
                leaves_out = true;
                continue;
            };
            if subscript_assignment::parts(expr).is_some() {
                check_writable(&target.table.columns[position], Writing::Update)?;
                if let Some((_, at)) = parts.iter().find(|(known, _)| *known == position) {
                    let before = expressions[*at].clone().into_owned();
                    expressions[*at] = Cow::Owned(subscript_assignment::with_root(expr, before));
                    continue;
                }
                if columns.iter().all(|known| known.position != position) {
                    let column = Expr::CompoundIdentifier(vec![
                        Ident::with_quote('"', target.name()),
                        Ident::with_quote('"', &name),
                    ]);
                    parts.push((position, expressions.len()));
                    expressions.push(Cow::Owned(subscript_assignment::with_root(expr, column)));
                    columns.push(SetColumn::of(position, SetValue::Computed, expr));
                    continue;
                }
            }
            if columns.iter().any(|known| known.position == position) {
                return Err(syntax(format!("multiple assignments to same column \"{name}\"")));
            }
            let column = &target.table.columns[position];
            if !is_default(expr) {
                check_writable(column, Writing::Update)?;
            }
            let assigned = assigned(ctx, expr, column, types)?;
            let value = if is_default(expr) {
                SetValue::Default(DefaultPlan::bind(ctx, column)?)
            } else if let Cow::Owned(assigned) = assigned {
                expressions.push(Cow::Owned(assigned));
                SetValue::Computed
            } else if let Some(at) = parameter_index(expr) {
                SetValue::Cell(Cell::Parameter(at))
            } else if let Some(constant) = literal(expr)? {
                SetValue::Cell(Cell::Constant(constant).for_column(expr, column, types, &settings)?)
            } else {
                expressions.push(Cow::Borrowed(expr));
                SetValue::Computed
            };
            columns.push(SetColumn::of(position, value, expr));
        }
        let (_, cells) = Cells::bind(ctx, &[], Clause::Set, types)?;
        let (columns, expressions) = in_order(columns, expressions);
        let plan = SetPlan {
            columns,
            cells,
            checks: RowChecks::bind(ctx, &target.table)?,
            leaves_out,
        };
        Ok((plan, expressions))
    }

    /// Gives the parameters that stand alone the types of their columns, unless the rest of the statement gave them one. Errors: 42804.
    pub(super) fn decide_parameters(&self, table: &TableDef, types: &mut [Option<SqlType>]) -> Result<()> {
        for SetColumn {
            position,
            value,
            span,
        } in &self.columns
        {
            let SetValue::Cell(Cell::Parameter(at)) = value else {
                continue;
            };
            let column = &table.columns[*position];
            decide_parameter_at(*at, &column.ty, types);
            if let Some(Some(ty)) = types.get(*at) {
                text_place::at_span(check_assignable(ty, column), *span)?;
            }
        }
        Ok(())
    }

    /// Checks the types of the expressions over rows. Errors: 42804.
    pub(super) fn check<'a>(
        &self,
        table: &TableDef,
        computed: impl Iterator<Item = &'a SqlType>,
    ) -> Result<()> {
        let columns = self.columns.iter();
        let columns = columns.filter(|column| matches!(column.value, SetValue::Computed));
        columns.zip(computed).try_for_each(|(column, ty)| {
            let checked = check_assignable(ty, &table.columns[column.position]);
            text_place::at_span(checked, column.span)
        })
    }

    /// The rows as they will be. `computed`: the types and values of the expressions over rows, in their order. Errors: those of
    /// the assignment and of generated columns.
    pub(super) async fn apply(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        old: &RecordBatch,
        computed: impl Iterator<Item = (&SqlType, &ArrayRef)>,
    ) -> Result<RecordBatch> {
        let (settings, count) = (ctx.format_settings(), old.num_rows());
        let cells = self.cells.run(ctx).await?;
        let mut computed = computed;
        let mut columns = Vec::with_capacity(self.columns.len());
        for SetColumn { position, value, .. } in &self.columns {
            let column = &table.columns[*position];
            let array = match value {
                SetValue::Default(default) => default.array(ctx, table, *position, count).await?,
                SetValue::Cell(cell) => {
                    let value = cells.assigned(cell, column)?;
                    repeated(&value.unwrap_or(Value::Null), &column.ty, count)?
                }
                SetValue::Computed => {
                    let (ty, array) = computed
                        .next()
                        .ok_or_else(|| Error::internal("a SET expression is missing"))?;
                    assign_array(array, ty, column, &settings)?
                }
            };
            columns.push((*position, array));
        }
        with_generated(ctx, table, with_columns(table, old, columns)?)
    }

    /// Asks the table's checks of rows as they will be. Errors: 23514, those of the checks.
    pub(super) async fn require_checks(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &RecordBatch,
    ) -> Result<()> {
        self.checks.require(ctx, table, rows).await
    }

    /// Which rows, as they will be, are not those of the table, which is a partition; `None`: all are. Errors: 0A000.
    pub(super) fn leaving(&self, rows: &RecordBatch) -> Result<Option<BooleanArray>> {
        self.checks.leaving(rows)
    }

    /// The columns that it names.
    pub(super) fn columns(&self, table: &TableDef) -> Vec<ColumnId> {
        let columns = self.columns.iter();
        columns.map(|column| table.columns[column.position].id).collect()
    }

    /// Whether a column of a key whose uniqueness must be checked is set, or one that such a column is computed of.
    pub(super) fn changes_keys(&self, table: &TableDef) -> bool {
        let ids = with_inputs(table, table.columns_of_keys());
        let mut columns = self.columns.iter();
        columns.any(|column| ids.contains(&table.columns[column.position].id))
    }

    /// Whether a column of the primary key is set, or one that such a column is computed of.
    pub(super) fn moves_row(&self, table: &TableDef) -> bool {
        let ids = with_inputs(
            table,
            table.primary_key.columns.iter().map(|key| key.column).collect(),
        );
        let mut columns = self.columns.iter();
        columns.any(|column| ids.contains(&table.columns[column.position].id))
    }

    /// Whether a column is set by which rows are told apart, or one that such a column is computed of.
    pub(super) fn may_move_unique_keys(&self, table: &TableDef) -> bool {
        let ids = with_inputs(table, table.columns_of_unique_keys());
        let mut columns = self.columns.iter();
        columns.any(|column| ids.contains(&table.columns[column.position].id))
    }

    /// Whether rows that are not locked yet get other unique keys: `false` only if those of all of them stay. `old`: all columns. What is
    /// set may prove to be an error: that is for whoever sets it.
    pub(super) async fn moves_unique_keys(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        old: &[ArrayRef],
        computed: impl Iterator<Item = (&SqlType, &ArrayRef)>,
    ) -> Result<bool> {
        let ids = with_inputs(table, table.columns_of_unique_keys());
        let (settings, cells, mut computed) = (ctx.format_settings(), self.cells.run(ctx).await?, computed);
        for SetColumn { position, value, .. } in &self.columns {
            let (column, old) = (&table.columns[*position], &old[*position]);
            let given = match value {
                SetValue::Computed => computed.next(),
                _ => None,
            };
            if !ids.contains(&column.id) {
                continue;
            }
            let new = match (value, given) {
                (SetValue::Cell(cell), _) => cells
                    .assigned(cell, column)
                    .and_then(|value| repeated(&value.unwrap_or(Value::Null), &column.ty, old.len())),
                (SetValue::Computed, Some((ty, array))) => assign_array(array, ty, column, &settings),
                (SetValue::Default(_) | SetValue::Computed, _) => return Ok(true),
            };
            let differs = new.ok().and_then(|new| distinct(old, &new).ok());
            if differs.is_none_or(|differs| differs.true_count() > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The columns with what is computed for them, as they come to be computed: in the order of the table, as in PostgreSQL, where several call
/// something that may be volatile. Others stay as they are written, for so their faults are found.
fn in_order<'a>(
    columns: Vec<SetColumn>,
    expressions: Vec<Cow<'a, Expr>>,
) -> (Vec<SetColumn>, Vec<Cow<'a, Expr>>) {
    if expressions.iter().filter(|expr| calls(expr)).nth(1).is_none() {
        return (columns, expressions);
    }
    let mut expressions = expressions.into_iter();
    let with_expr = columns.into_iter().map(|column| {
        let expr = match column.value {
            SetValue::Computed => expressions.next(),
            SetValue::Default(_) | SetValue::Cell(_) => None,
        };
        (column, expr)
    });
    let mut columns: Vec<(SetColumn, Option<Cow<'a, Expr>>)> = with_expr.collect();
    columns.sort_by_key(|(column, _)| column.position);
    let (columns, expressions): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    (columns, expressions.into_iter().flatten().collect())
}

/// The columns, and those that generated ones of them are computed of.
fn with_inputs(table: &TableDef, mut ids: HashSet<ColumnId>) -> HashSet<ColumnId> {
    for (position, generation) in table.generations() {
        if ids.contains(&table.columns[position].id) {
            ids.extend(&generation.inputs);
        }
    }
    ids
}

/// Whether SET names a column of the primary key, or one that such a column is computed of. Errors: 42703 for a qualified name.
pub(super) fn sets_key(target: &Target, assignments: &[ast::Assignment]) -> Result<bool> {
    let named = pairs(assignments, &target.table.name)?;
    Ok(target.has_key_column(named.iter().map(|(name, ..)| name.as_str())))
}

/// Gives the table the columns that SET would add, for a statement that does not run: as [`add_dynamic_columns`], but for what is NULL
/// in a run alone. `of_patterns`: only those that patterns match. Errors: those of binding, 54011.
pub(super) fn assume_columns(
    ctx: &StatementContext,
    target: &mut Target,
    (assignments, of_patterns): (&[ast::Assignment], bool),
    types: &[Option<SqlType>],
    type_of: impl Fn(&Target, &Expr) -> Result<SqlType>,
) -> Result<()> {
    let named = pairs(assignments, &target.table.name)?;
    target.assume_columns_of_patterns(ctx, named.iter().map(|(name, ..)| name.as_str()))?;
    let mut expected = Vec::new();
    for (name, _, expr) in named.into_iter().filter(|_| !of_patterns) {
        if target.table.column_index(&name).is_some() || is_default(expr) {
            continue;
        }
        let ty = match Cells::bind(ctx, &[expr], Clause::Set, &mut types.to_vec()) {
            Ok((stated, _)) => stated[0].expected_type(ctx, expr, types),
            Err(_) => dynamic_type_of(&type_of(target, expr)?),
        };
        expected.extend(ty.map(|ty| NewDynamicColumn::of_value(name, ty)));
    }
    target.assume_columns(ctx, expected)
}

/// Whether SET names columns that the table does not have yet. Errors: 42703.
pub(super) fn names_new_columns(target: &Target, assignments: &[ast::Assignment]) -> Result<bool> {
    for (name, span, _) in pairs(assignments, &target.table.name)? {
        if text_place::at_span(target.column(&name), span)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the columns that SET names and a dynamic table does not have yet, with the types of their expressions.
/// `type_of`: that of an expression over rows.
pub(super) async fn add_dynamic_columns(
    ctx: &StatementContext,
    target: &mut Target,
    assignments: &[ast::Assignment],
    types: &[Option<SqlType>],
    type_of: impl Fn(&Target, &Expr) -> Result<SqlType>,
) -> Result<()> {
    let named = pairs(assignments, &target.table.name)?;
    target.add_columns_of_patterns(ctx, named.iter().map(|(name, ..)| name.as_str()))?;
    let mut new = Vec::new();
    for (name, _, expr) in named {
        if target.table.column_index(&name).is_some() || is_default(expr) {
            continue;
        }
        // What names no column is a value.
        let ty = match Cells::bind(ctx, &[expr], Clause::Set, &mut types.to_vec()) {
            Ok((stated, cells)) => cells.run(ctx).await?.dynamic_type(&stated[0], expr)?,
            Err(_) => dynamic_type_of(&type_of(target, expr)?),
        };
        new.extend(ty.map(|ty| NewDynamicColumn::of_value(name, ty)));
    }
    target.add_columns(ctx, new)
}

/// Column names, where they stand, and their expressions; `(a, b) = (1, 2)` taken apart.
fn pairs<'a>(assignments: &'a [ast::Assignment], table: &str) -> Result<Vec<(String, Span, &'a Expr)>> {
    let mut pairs = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), expr) => {
                pairs.push((column_name(name, table)?, name.span(), expr))
            }
            (AssignmentTarget::Tuple(names), Expr::Tuple(exprs)) if names.len() == exprs.len() => {
                for (name, expr) in names.iter().zip(exprs) {
                    pairs.push((column_name(name, table)?, name.span(), expr));
                }
            }
            (AssignmentTarget::Tuple(names), Expr::Nested(expr)) if names.len() == 1 => {
                pairs.push((column_name(&names[0], table)?, names[0].span(), expr));
            }
            (AssignmentTarget::Tuple(_), Expr::Tuple(_)) => {
                return Err(syntax(
                    "number of columns does not match number of values".to_string(),
                ));
            }
            (AssignmentTarget::Tuple(_), _) => {
                return Err(Error::InvalidStatement {
                    state: StatementFault::NotImplemented,
                    message:
                        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
                            .to_string(),
                    hint: Some("Set each column by an expression of its own.".to_string()),
                });
            }
        }
    }
    Ok(pairs)
}

fn syntax(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message,
        hint: None,
    }
}
