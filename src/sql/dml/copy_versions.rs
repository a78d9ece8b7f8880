//! Older versions of rows as a table is to have them whose columns get other types, or whose rows get other keys: what ALTER TABLE makes of its
//! rows it makes of their versions, too. Called by `sql::ddl`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use sqlparser::ast::{Expr, SelectItem};

use super::assign::assign_array;
use super::new_rows::NewRows;
use super::row_expressions::RowExpressions;
use super::target::Target;
use crate::catalog::{ColumnDef, TableCache, TableDef};
use crate::query::{Clause, RowQuery};
use crate::system::StatementContext;
use crate::table::{RekeyedRows, RekeyedVersions, VersionPages, unclear_keys};
use crate::{Error, Result};

/// Writes all older versions of the rows of `old` as those of `new`, whose columns at `positions` are what the expressions make of
/// them. A version may lack what is demanded of rows now. Errors: those of the expressions, 54000.
pub(crate) async fn copy_versions(
    ctx: &StatementContext,
    old: &Arc<TableDef>,
    new: &TableDef,
    written: (&[Expr], &[usize]),
) -> Result<()> {
    let conversion = Conversion::bind(ctx, old, new, written)?;
    let mut versions = VersionPages::open(&ctx.txn, old)?;
    while let Some(were) = versions.next().await? {
        let are = conversion.convert(ctx, &were).await?;
        versions.put(&ctx.txn, &conversion.made, &are, ctx.settings.limits)?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The same where `new` has other keys, under which its rows have been written; these get the times that they had. Errors: 0A000, too, where
/// versions cannot have such keys.
pub(crate) async fn rekey_versions(
    ctx: &StatementContext,
    old: &Arc<TableDef>,
    new: &TableDef,
    written: (&[Expr], &[usize]),
) -> Result<()> {
    let limits = ctx.settings.limits;
    let conversion = Conversion::bind(ctx, old, new, written)?;
    let mut rows = RekeyedRows::open(&ctx.txn, old);
    while let Some(were) = rows.next().await? {
        let are = conversion.convert(ctx, &were).await?;
        rows.carry_times(&ctx.txn, &conversion.made, &are, limits).await?;
        tokio::task::yield_now().await;
    }
    let unclear = |error: Error| match error {
        Error::NotNullViolation { .. } => unclear_keys(old),
        error => error,
    };
    let mut versions = RekeyedVersions::open(&ctx.txn, old)?;
    while let Some(were) = versions.next(&ctx.txn).await? {
        let are = conversion.convert(ctx, &were).await.map_err(unclear)?;
        let put = versions.put(&ctx.txn, &conversion.made, &are, limits);
        put.map_err(unclear)?;
        tokio::task::yield_now().await;
    }
    versions.finish(&ctx.txn, new).await
}

/// What is made of rows of a table as it was.
struct Conversion<'a> {
    expressions: RowExpressions,
    rows: NewRows,
    positions: &'a [usize],
    /// The table as it is to be, as its versions see it.
    made: TableDef,
}

impl<'a> Conversion<'a> {
    fn bind(
        ctx: &StatementContext,
        old: &Arc<TableDef>,
        new: &TableDef,
        (expressions, positions): (&[Expr], &'a [usize]),
    ) -> Result<Conversion<'a>> {
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
        Ok(Conversion {
            expressions: RowExpressions::bind(ctx, query, &mut Vec::new())?,
            rows: NewRows::bind(ctx, &made, positions.iter().copied(), 0)?,
            positions,
            made,
        })
    }

    /// Whole rows of the table as it is to be.
    async fn convert(&self, ctx: &StatementContext, were: &RecordBatch) -> Result<RecordBatch> {
        let settings = ctx.format_settings();
        let evaluated = self.expressions.evaluate(ctx, were).await?.batch;
        let outputs = self.expressions.columns().iter().zip(evaluated.columns());
        let mut given = Vec::with_capacity(self.positions.len());
        for (position, (output, array)) in self.positions.iter().zip(outputs) {
            let array = assign_array(array, &output.ty, &self.made.columns[*position], &settings)?;
            given.push((*position, array));
        }
        self.rows.fill(ctx, &self.made, given, were.num_rows()).await
    }
}
