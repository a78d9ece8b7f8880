//! What becomes of the views that need what is changed or dropped (`column_views`).

use super::column_views::of_column;
use super::drop::{drop_with_dependents, views_over};
use super::{described, notice_cascade};
use crate::catalog::{CatalogWriter, Relation, TableDef};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Drops the views that need an object, in messages' words, and those that read them. Errors: 2BP01 without CASCADE.
pub(super) async fn drop_all(
    ctx: &StatementContext,
    users: Vec<&Relation>,
    object: String,
    cascade: bool,
) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let over = views_over(&ctx.catalog, &users);
    let own = users.iter().map(|view| (*view, None));
    let all: Vec<(&Relation, Option<&Relation>)> = own
        .chain(over.into_iter().map(|(view, read)| (view, Some(read))))
        .collect();
    if !cascade {
        return Err(Error::DependentObjects {
            dependents: lines(ctx, &object, &all),
            object,
        });
    }
    let gone: Vec<String> = all.iter().map(|(view, _)| described(ctx, view)).collect();
    notice_cascade(ctx, &gone);
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    drop_with_dependents(&ctx.catalog, &writer, users).await
}

/// The views, and those that read them, as an error says what each depends on. `object`: in messages' words.
fn lines(ctx: &StatementContext, object: &str, views: &[(&Relation, Option<&Relation>)]) -> Vec<String> {
    let line = |(view, read): &(&Relation, Option<&Relation>)| {
        let on = read.map_or_else(|| object.to_string(), |read| described(ctx, read));
        format!("{} depends on {on}", described(ctx, view))
    };
    views.iter().map(line).collect()
}

/// Errors: 0A000 for a column that a view needs, whose type is to change.
pub(super) fn check_none(
    ctx: &StatementContext,
    table: &TableDef,
    column: ColumnId,
    name: &str,
) -> Result<()> {
    match of_column(ctx, table, column).first() {
        None => Ok(()),
        Some(view) => Err(Error::ColumnUsed {
            by: "by a view or rule",
            detail: format!(
                "rule _RETURN on {} depends on column \"{name}\"",
                described(ctx, view)
            ),
        }),
    }
}
