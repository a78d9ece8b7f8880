//! RETURNING: plain columns straight from the rows written, any other expression by a query over them.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use sqlparser::ast::{Expr, SelectItem, SelectItemQualifiedWildcardKind};

use super::WriteResult;
use super::evaluate::{Rows, column_of, evaluate, plan};
use super::insert::visible_positions;
use super::target::Target;
use crate::catalog::{ColumnDef, TableDef};
use crate::exec::{OutputColumn, RowSite, StatementContext};
use crate::sql::names;
use crate::table::{row_schema, write_schema};
use crate::types::SqlType;
use crate::{Error, Result};

/// The result of a write whose rows (whole, of `target`'s columns) are `rows`.
pub(super) async fn result(
    ctx: &StatementContext,
    target: &Target,
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
    let items = expand(target, items)?;
    if let Some((positions, columns)) = plain_columns(target, &items) {
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
    let batch = concat_batches(&write_schema(&target.table), &rows).map_err(Error::arrow)?;
    let evaluated = evaluate(
        ctx,
        RowSite::Returning,
        vec![visible_rows(target, &batch)?],
        items,
        None,
    )
    .await?;
    Ok(WriteResult {
        tag,
        columns: evaluated.columns,
        batches: vec![evaluated.batch],
    })
}

/// The columns of RETURNING, and the types of the parameters in it; `None` without RETURNING.
pub(super) async fn describe(
    ctx: &StatementContext,
    target: &Target,
    items: Option<&[SelectItem]>,
    parameters: &[Option<SqlType>],
) -> Result<Option<(Vec<OutputColumn>, Vec<SqlType>)>> {
    let Some(items) = items else { return Ok(None) };
    let items = expand(target, items)?;
    if let Some((_, columns)) = plain_columns(target, &items) {
        return Ok(Some((columns, Vec::new())));
    }
    let batch = RecordBatch::new_empty(write_schema(&target.table));
    plan(ctx, vec![visible_rows(target, &batch)?], items, None, parameters)
        .await
        .map(Some)
}

/// The rows as expressions see them: under the table's name, hidden columns left out.
pub(super) fn visible_rows(target: &Target, batch: &RecordBatch) -> Result<Rows> {
    let batch = batch
        .project(&visible_positions(&target.table))
        .map_err(Error::arrow)?;
    Ok(Rows {
        name: target.name().to_string(),
        batch,
    })
}

/// Spells `*` and `t.*` out.
fn expand(target: &Target, items: &[SelectItem]) -> Result<Vec<SelectItem>> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            SelectItem::Wildcard(_) => expanded.extend(all_columns(target)),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let (_, relation) = names::relation_name(name)?;
                if relation != target.name() {
                    return Err(Error::unsupported(format!("RETURNING {item}"), None));
                }
                expanded.extend(all_columns(target));
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
