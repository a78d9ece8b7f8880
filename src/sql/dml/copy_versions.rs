//! Older versions of rows as a table is to have them whose columns get other types: what ALTER TABLE makes of its rows it makes of their
//! versions, too. Called by `sql::ddl`.

use std::sync::Arc;

use sqlparser::ast::{Expr, SelectItem};

use super::assign::assign_array;
use super::new_rows::NewRows;
use super::row_expressions::RowExpressions;
use super::target::Target;
use crate::Result;
use crate::catalog::{ColumnDef, TableCache, TableDef};
use crate::query::{Clause, RowQuery};
use crate::system::StatementContext;
use crate::table::VersionPages;

/// Writes all older versions of the rows of `old` as those of `new`, whose columns at `positions` are what the expressions make of
/// them. A version may lack what is demanded of rows now. Errors: those of the expressions, 54000.
pub(crate) async fn copy_versions(
    ctx: &StatementContext,
    old: &Arc<TableDef>,
    new: &TableDef,
    expressions: &[Expr],
    positions: &[usize],
) -> Result<()> {
    let may_lack = |column: &ColumnDef| ColumnDef {
        not_null: column.not_null && new.is_key_column(column.id),
        ..column.clone()
    };
    let made = TableDef {
        columns: new.columns.iter().map(may_lack).collect(),
        cache: TableCache::default(),
        ..new.clone()
    };
    let items: Vec<SelectItem> = expressions.iter().cloned().map(SelectItem::UnnamedExpr).collect();
    let query = RowQuery {
        relations: &[Target::of_table(old).relation()],
        items: &items,
        selection: None,
        clause: Clause::Set,
    };
    let expressions = RowExpressions::bind(ctx, query, &mut Vec::new())?;
    let rows = NewRows::bind(ctx, &made, positions.iter().copied(), 0)?;
    let (settings, limits) = (ctx.format_settings(), ctx.settings.limits);
    let mut versions = VersionPages::open(&ctx.txn, old)?;
    while let Some(were) = versions.next().await? {
        let evaluated = expressions.evaluate(ctx, &were).await?.batch;
        let outputs = expressions.columns().iter().zip(evaluated.columns());
        let mut given = Vec::with_capacity(positions.len());
        for (position, (output, array)) in positions.iter().zip(outputs) {
            let array = assign_array(array, &output.ty, &made.columns[*position], &settings)?;
            given.push((*position, array));
        }
        let are = rows.fill(ctx, &made, given, were.num_rows()).await?;
        versions.put(&ctx.txn, &made, &are, limits)?;
        tokio::task::yield_now().await;
    }
    Ok(())
}
