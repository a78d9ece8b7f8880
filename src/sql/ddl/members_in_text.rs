//! Labels of enums and attributes of composite types that texts of definitions name, which another name would break. Asked by who gives one.

use std::sync::Arc;

use crate::catalog::{ColumnDef, ColumnDefault, TableDef, TypeDef};
use crate::parse::mentions_word;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The tables that have columns of a type.
fn tables_with(ctx: &StatementContext, oid: u32) -> impl Iterator<Item = &Arc<TableDef>> {
    let rests = move |column: &ColumnDef| column.types_used().any(|used| used == oid);
    let tables = ctx.catalog.tables();
    tables.filter(move |table| table.columns.iter().any(rests))
}

/// The first definition of tables with columns of a type, or of views of them, whose text names something.
fn named_with_tables(ctx: &StatementContext, oid: u32, names: &impl Fn(&str) -> bool) -> Option<String> {
    tables_with(ctx, oid).find_map(|table| {
        let check = table.checks.iter().find(|check| names(&check.sql));
        let check = check.map(|check| format!("constraint {} on table {}", check.name, table.name));
        let column = table.columns.iter().find(|column| match &column.default {
            Some(ColumnDefault::Expression { sql, .. }) => names(sql),
            _ => column
                .generation()
                .is_some_and(|generation| names(&generation.sql)),
        });
        let column = column.map(|column| format!("column {} of table {}", column.name, table.name));
        let mut views = ctx.catalog.queries_reading(table.oid);
        let view = views.find(|view| view.query().is_some_and(|(query, _)| names(query)));
        check
            .or(column)
            .or(view.map(|view| format!("view {}", view.name())))
    })
}

/// Errors: 0A000 where the text of something stored names the label, which another name would break.
pub(super) fn check_label_not_in_text(ctx: &StatementContext, ty: &TypeDef, label: &str) -> Result<()> {
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    let literal = format!("'{}'", label.replace('\'', "''"));
    let names = |sql: &str| sql.contains(&literal);
    let over = ctx.catalog.types.iter();
    let mut domains = over
        .filter(|over| over.rests_on().contains(&ty.oid))
        .filter(|over| {
            let domain = over.domain();
            domain.is_some_and(|domain| {
                domain.checks.iter().any(|check| names(&check.sql))
                    || domain.default.as_deref().is_some_and(names)
            })
        });
    let mut views = ctx.catalog.relations.iter().filter(|view| {
        let query = view.query().map(|(query, _)| query);
        query.is_some_and(|query| names(query) && mentions_word(query, &ty.name))
    });
    let named = named_with_tables(ctx, ty.oid, &names)
        .or_else(|| domains.next().map(|domain| format!("domain {}", domain.name)))
        .or_else(|| views.next().map(|view| format!("view {}", view.name())));
    match named {
        None => Ok(()),
        Some(what) => Err(Error::FeatureNotSupported {
            feature: format!("another name for the label \"{label}\" while {what} names it"),
            hint: Some("Drop what names it first, and create it again afterwards.".to_string()),
        }),
    }
}

/// Errors: 0A000 where the text of something stored may name the attribute, which another name, or none, would break.
pub(super) fn check_attribute_not_in_text(
    ctx: &StatementContext,
    ty: &TypeDef,
    attribute: &str,
) -> Result<()> {
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    match named_with_tables(ctx, ty.oid, &|sql| mentions_word(sql, attribute)) {
        None => Ok(()),
        Some(what) => Err(Error::FeatureNotSupported {
            feature: format!("a change of attribute \"{attribute}\" while {what} may name it"),
            hint: Some("Drop what names it first, and create it again afterwards.".to_string()),
        }),
    }
}
