//! RETURNING: plain columns straight from the rows written, any other expression by a query over them.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use sqlparser::ast::{Expr, SelectItem, SelectItemQualifiedWildcardKind};

use super::WriteResult;
use super::evaluate::{Rows, column_of, evaluate, plan};
use super::joined::JoinedRelations;
use super::target::Target;
use crate::catalog::{ColumnDef, TableDef};
use crate::error::StatementFault;
use crate::exec::{OutputColumn, RowSite, StatementContext};
use crate::parse::names;
use crate::table::row_schema;
use crate::types::SqlType;
use crate::{Error, Result};

/// The result of a write whose rows (whole, of `target`'s columns, then those of the joined relations) are `rows`.
pub(super) async fn result(
    ctx: &StatementContext,
    (target, joined): (&Target, &JoinedRelations),
    items: Option<&[SelectItem]>,
    rows: Vec<RecordBatch>,
    tag: String,
) -> Result<WriteResult> {
    let Some(items) = items else {
        return Ok(WriteResult {
            tag,
            columns: Vec::new(),
            batches: Vec::new(),
        });
    };
    let items = expand(target, joined, items)?;
    if joined.is_empty()
        && let Some((positions, columns)) = plain_columns(target, &items)
    {
        let schema = row_schema(&target.table, &positions);
        let batches = rows.into_iter().map(|batch| {
            let columns = positions.iter().map(|&at| batch.column(at).clone()).collect();
            RecordBatch::try_new(schema.clone(), columns).map_err(Error::arrow)
        });
        return Ok(WriteResult {
            tag,
            columns,
            batches: batches.collect::<Result<_>>()?,
        });
    }
    let schema = joined.no_rows(target)?.schema();
    let batch = concat_batches(&schema, &rows).map_err(Error::arrow)?;
    let relations = relations(target, joined, &batch)?;
    let evaluated = evaluate(ctx, RowSite::Returning, relations, items, None).await?;
    ctx.memory.hold(evaluated.batch.get_array_memory_size())?;
    Ok(WriteResult {
        tag,
        columns: evaluated.columns,
        batches: vec![evaluated.batch],
    })
}

/// The columns of RETURNING, and the types of the parameters in it; `None` without RETURNING.
pub(super) async fn describe(
    ctx: &StatementContext,
    (target, joined): (&Target, &JoinedRelations),
    items: Option<&[SelectItem]>,
    parameters: &[Option<SqlType>],
) -> Result<Option<(Vec<OutputColumn>, Vec<SqlType>)>> {
    let Some(items) = items else { return Ok(None) };
    let items = expand(target, joined, items)?;
    if joined.is_empty()
        && let Some((_, columns)) = plain_columns(target, &items)
    {
        return Ok(Some((columns, Vec::new())));
    }
    let relations = relations(target, joined, &joined.no_rows(target)?)?;
    plan(ctx, relations, items, None, parameters).await.map(Some)
}

/// The rows as expressions see them: the target's, then those of each joined relation.
fn relations(target: &Target, joined: &JoinedRelations, batch: &RecordBatch) -> Result<Vec<Rows>> {
    let (rows, others) = joined.split(target, batch)?;
    let mut relations = vec![visible_rows(target, &rows)?];
    relations.extend(others);
    Ok(relations)
}

/// The rows as expressions see them: under the table's name, hidden columns left out.
pub(super) fn visible_rows(target: &Target, batch: &RecordBatch) -> Result<Rows> {
    let batch = batch
        .project(&target.table.visible_positions())
        .map_err(Error::arrow)?;
    Ok(Rows {
        name: target.name().to_string(),
        batch,
    })
}

/// Spells `*` and `t.*` out.
fn expand(target: &Target, joined: &JoinedRelations, items: &[SelectItem]) -> Result<Vec<SelectItem>> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            SelectItem::Wildcard(_) => {
                expanded.extend(all_columns(target));
                expanded.extend(joined.columns().into_iter().map(SelectItem::UnnamedExpr));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let (_, relation) = names::relation_name(name)?;
                if relation == target.name() {
                    expanded.extend(all_columns(target));
                    continue;
                }
                let Some(columns) = joined.get_columns(&relation) else {
                    return Err(Error::InvalidStatement {
                        state: StatementFault::MissingFrom,
                        message: format!("missing FROM-clause entry for table \"{relation}\""),
                        hint: None,
                    });
                };
                expanded.extend(columns.into_iter().map(SelectItem::UnnamedExpr));
            }
            item => expanded.push(item.clone()),
        }
    }
    Ok(expanded)
}

fn all_columns(target: &Target) -> impl Iterator<Item = SelectItem> + '_ {
    let columns = target.table.visible_columns();
    columns.map(|column| SelectItem::UnnamedExpr(column_of(target.name(), &column.name)))
}

fn output_column(table: &TableDef, column: &ColumnDef, alias: Option<String>) -> OutputColumn {
    OutputColumn {
        name: alias.unwrap_or_else(|| column.name.clone()),
        ty: column.ty.clone(),
        table_oid: table.oid(),
        attribute: column.id as i16,
    }
}

/// Positions and output columns, when the list is nothing but columns.
fn plain_columns(target: &Target, items: &[SelectItem]) -> Option<(Vec<usize>, Vec<OutputColumn>)> {
    let mut positions = Vec::with_capacity(items.len());
    let mut columns = Vec::with_capacity(items.len());
    for item in items {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(names::fold(alias))),
            _ => return None,
        };
        let name = match expr {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if names::fold(table) == target.name() => name,
                _ => return None,
            },
            _ => return None,
        };
        let position = target.table.column_index(&names::fold(name))?;
        positions.push(position);
        columns.push(output_column(
            &target.table,
            &target.table.columns[position],
            alias,
        ));
    }
    Some((positions, columns))
}
