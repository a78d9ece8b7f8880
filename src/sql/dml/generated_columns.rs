//! Generated columns as writes compute them: bound and planned once for a table's record, then a function of arrays.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use sqlparser::ast::{Expr, SelectItem};

use super::assign::{assign_array, with_columns};
use super::default::parse_expression;
use super::row_expressions::{RowPlan, row_plan};
use crate::catalog::{
    ColumnDef, ColumnDefault, GeneratedColumns, Generation, TableDef, computed_column, lost_input,
};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::functions;
use crate::logical::placeholder::Constants;
use crate::parse::unread_words::Overriding;
use crate::query::{
    Clause, PlannedQuery, RowColumn, RowQuery, RowRelation, is_assignable, names_context_value,
    plan_row_query,
};
use crate::system::{Settings, StatementContext};
use crate::tree;
use crate::types::{FormatSettings, SqlType};
use crate::{Error, Result};

/// The generated columns of a table.
#[derive(Debug)]
struct Compiled(BTreeMap<usize, CompiledColumn>);

#[derive(Debug)]
struct CompiledColumn {
    def: ColumnDef,
    /// Its inputs.
    schema: SchemaRef,
    plan: RowPlan,
    constants: Constants,
}

/// What computes the generated columns of a table. Errors: those of binding, which were met when it was created.
pub(crate) fn compile_generated(
    ctx: &StatementContext,
    table: &TableDef,
) -> Result<Arc<dyn GeneratedColumns>> {
    let ctx = &settled(ctx);
    let column = |(position, generation): (usize, &Generation)| {
        let schema = input_schema(&table.columns, &generation.inputs)?;
        let expr = parse_expression(&generation.sql)?;
        let plan = row_plan(bind(
            ctx,
            (&table.name, &table.columns),
            &generation.inputs,
            (&expr, Clause::Generated),
        )?);
        let column = CompiledColumn {
            def: table.columns[position].clone(),
            schema,
            plan: plan.map_err(|_| Error::internal("a generated column takes more than its row"))?,
            constants: Constants::new(ctx, &[])?,
        };
        Ok((position, column))
    };
    let columns = table.generations().map(column);
    Ok(Arc::new(Compiled(columns.collect::<Result<_>>()?)))
}

/// Checks that an expression over these columns of a table can generate one of them. Errors: those of binding, 42P17 for
/// one that is not immutable, 42804, 0A000 for one that takes more than its row.
pub(crate) fn check_generation(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    column: &ColumnDef,
    expr: &Expr,
    inputs: &[ColumnId],
) -> Result<()> {
    let from = &computed_type(ctx, (table, columns), expr, inputs, Clause::Generated)?;
    if !is_assignable(from, &column.ty) {
        return Err(Error::DatatypeMismatch {
            message: format!(
                "column \"{}\" is of type {} but default expression is of type {}",
                column.name,
                column.ty.full_base_name(),
                from.full_base_name()
            ),
            hint: Some("You will need to rewrite or cast the expression.".to_string()),
        });
    }
    match functions::is_immutable_cast(from, &column.ty) {
        true => Ok(()),
        false => Err(not_immutable(Clause::Generated)),
    }
}

/// The type of what is computed of these columns of a row and kept. Errors: those of binding, 42P17 for what is not immutable, 0A000 for what
/// takes more than its row.
pub(crate) fn computed_type(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    expr: &Expr,
    inputs: &[ColumnId],
    clause: Clause,
) -> Result<SqlType> {
    let ctx = &settled(ctx);
    let bound = bind(ctx, (table, columns), inputs, (expr, clause))?;
    if names_context_value(expr) || !bound.plan.expressions().into_iter().all(tree::is_immutable) {
        return Err(not_immutable(clause));
    }
    let plan = row_plan(bound).map_err(|_| {
        Error::unsupported(
            "a generated column that takes more than the columns of its row",
            Some("Use functions and operators over the columns of the same row."),
        )
    })?;
    Ok(plan.columns[0].ty.clone())
}

/// Whether a column is generated of what an UPSERT gives together with what it leaves as it is, so that only the row that
/// stands says its value.
pub(super) fn generates_of_both(table: &TableDef, named: &[bool]) -> bool {
    let mut generations = table.generations();
    generations.any(|(_, generation)| {
        let mut own = inputs_of_upsert(table, generation, named);
        let is_named = own.next();
        is_named.is_some_and(|first| own.any(|other| other != first))
    })
}

/// The columns that an UPSERT gives, with those that are generated of them.
pub(super) fn with_dependents(table: &TableDef, named: &[bool]) -> Vec<bool> {
    let mut all = named.to_vec();
    for (position, generation) in table.generations() {
        all[position] |= inputs_of_upsert(table, generation, named).any(|is_named| is_named);
    }
    all
}

/// Whether an UPSERT gives each of the columns that a generated one is computed of, but for those of the key, which a row
/// that stands has already.
fn inputs_of_upsert<'a>(
    table: &'a TableDef,
    generation: &'a Generation,
    named: &'a [bool],
) -> impl Iterator<Item = bool> + 'a {
    let inputs = generation.inputs.iter().filter(|id| !table.is_key_column(**id));
    let positions = inputs.filter_map(|id| table.column_index_by_id(*id));
    positions.map(|at| named[at])
}

/// How a statement gives a column a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// INSERT, UPSERT, with what it says of identity columns.
    Insert(Overriding),
    /// SET.
    Update,
}

/// Whether a statement may give the column a value other than DEFAULT. Errors: 428C9.
pub(super) fn check_writable(column: &ColumnDef, writing: Writing) -> Result<()> {
    let name = &column.name;
    let mut hint = "Leave the column out, or write DEFAULT.";
    let detail = match &column.default {
        Some(ColumnDefault::Generated(_)) => format!("Column \"{name}\" is a generated column."),
        Some(ColumnDefault::Identity { .. })
            if matches!(writing, Writing::Insert(Overriding::System | Overriding::User)) =>
        {
            return Ok(());
        }
        Some(ColumnDefault::Identity { always: true, .. }) => {
            if matches!(writing, Writing::Insert(_)) {
                hint = "Use OVERRIDING SYSTEM VALUE to override.";
            }
            format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.")
        }
        _ => return Ok(()),
    };
    let message = match writing {
        Writing::Insert(_) => format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        Writing::Update => format!("column \"{name}\" can only be updated to DEFAULT"),
    };
    Err(Error::GeneratedAlways {
        message,
        detail,
        hint,
    })
}

/// Whether what a statement gives the column is left out.
pub(super) fn is_left_out(column: &ColumnDef, overriding: Overriding) -> bool {
    overriding == Overriding::User && matches!(column.default, Some(ColumnDefault::Identity { .. }))
}

/// The rows with their generated columns computed.
pub(crate) fn with_generated(
    ctx: &StatementContext,
    table: &TableDef,
    rows: RecordBatch,
) -> Result<RecordBatch> {
    let Some(generated) = ctx.generated_columns(table)? else {
        return Ok(rows);
    };
    let positions = table.generations().map(|(position, _)| position);
    let computed = positions.map(|at| Ok((at, computed_column(table, &**generated, at, &rows)?)));
    let computed = computed.collect::<Result<_>>()?;
    with_columns(table, &rows, computed)
}

impl GeneratedColumns for Compiled {
    fn compute(&self, position: usize, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let column = self.0.get(&position).ok_or_else(lost_input)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&column.schema);
        let batch = RecordBatch::try_new_with_options(schema, inputs.to_vec(), &options);
        let batch = batch.map_err(Error::arrow)?;
        let (_, computed) = column.plan.expressions.evaluate(&batch, &column.constants)?;
        let from = &column.plan.columns[0].ty;
        assign_array(computed.column(0), from, &column.def, &FormatSettings::default())
    }
}

/// The statement's context without what a session or a client may set.
pub(super) fn settled(ctx: &StatementContext) -> StatementContext {
    StatementContext {
        settings: Arc::new(Settings::default()),
        parameters: Arc::default(),
        parameter_types: Arc::default(),
        variables: None,
        ..ctx.clone()
    }
}

/// An expression over these columns of a table.
fn bind(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    inputs: &[ColumnId],
    (expr, clause): (&Expr, Clause),
) -> Result<PlannedQuery> {
    let column = |id: &ColumnId| {
        let column = columns.iter().find(|column| column.id == *id);
        column.map(|column| RowColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            origin: None,
        })
    };
    let relation = RowRelation::new(table.to_string(), inputs.iter().filter_map(column).collect());
    let query = RowQuery {
        relations: &[relation],
        items: &[SelectItem::UnnamedExpr(expr.clone())],
        selection: None,
        clause,
    };
    plan_row_query(ctx, query, &mut Vec::new())
}

/// These columns, which may all be NULL: they are given before NOT NULL is checked.
fn input_schema(columns: &[ColumnDef], inputs: &[ColumnId]) -> Result<SchemaRef> {
    let fields = inputs.iter().map(|id| {
        let column = columns.iter().find(|column| column.id == *id);
        let column = column.ok_or_else(lost_input)?;
        Ok(column.ty.field(&column.name, true))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

fn not_immutable(clause: Clause) -> Error {
    Error::InvalidStatement {
        state: StatementFault::InvalidObjectDefinition,
        message: match clause {
            Clause::IndexExpression => "functions in index expression must be marked IMMUTABLE",
            Clause::IndexPredicate => "functions in index predicate must be marked IMMUTABLE",
            _ => "generation expression is not immutable",
        }
        .to_string(),
        hint: Some(
            "Use what gives the same value at any time and in any session: no clock, no random numbers, no dates from or to text, no instants to local time."
                .to_string(),
        ),
    }
}
