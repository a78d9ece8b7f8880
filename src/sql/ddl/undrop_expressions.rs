//! UNDROP TABLE: what a table in the trash stores as expressions, and the domains that its columns are of, have gone on without it. What
//! cannot be read any more does not come back, and a WARNING says so; rows that are of a domain no more do not come back at all.

use super::undrop_dependents::warn;
use crate::catalog::{
    CatalogWriter, ColumnDef, ColumnDefault, IndexDef, TableDef, TriggerDef, rows_of_events,
};
use crate::error::Raised;
use crate::query::Clause;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Takes out of a table what cannot be read: indexes, checks, defaults, how columns are generated, triggers. `now`: sees the sequences that
/// come back with it. Errors: `Corrupt`.
pub(super) fn leave_out_unread(
    now: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &mut TableDef,
) -> Result<()> {
    let own = table.clone();
    let warn_of = |what: String, error: &Error| {
        let message = format!("{what} of table \"{}\" is not restored", own.name);
        warn(now, message, &format!("It cannot be read any more: {error}."));
    };
    let mut lost = Vec::new();
    for index in &own.indexes {
        if let Err(error) = read_index(now, &own, index) {
            warn_of(format!("index \"{}\"", index.name), &error);
            writer.drop_keys(table.id, index.id)?;
            lost.push(index.id);
        }
    }
    table.remove_indexes(|index| lost.contains(&index.id));
    table.checks.retain(|check| {
        let read = dml::parse_expression(&check.sql);
        let read = read.and_then(|expr| dml::check_condition(now, &own, &expr));
        read.inspect_err(|error| warn_of(format!("check \"{}\"", check.name), error))
            .is_ok()
    });
    for column in table.columns.iter_mut().filter(|column| !column.hidden) {
        if let Err(error) = read_default(now, &own, column) {
            warn_of(format!("the default of column \"{}\"", column.name), &error);
            column.default = None;
        }
    }
    table.triggers.retain(|trigger| {
        let read = read_trigger(now, &own, trigger);
        read.inspect_err(|error| warn_of(format!("trigger \"{}\"", trigger.name), error))
            .is_ok()
    });
    Ok(())
}

/// Errors: those of binding what it sorts by, and its condition.
fn read_index(now: &StatementContext, table: &TableDef, index: &IndexDef) -> Result<()> {
    let written = index.expressions.iter().chain(&index.predicate);
    let mut computed = written.filter_map(|expression| table.column_index_by_id(expression.column));
    computed.try_for_each(|at| read_generation(now, table, &table.columns[at]))
}

/// Errors: those of binding how a column is generated.
fn read_generation(now: &StatementContext, table: &TableDef, column: &ColumnDef) -> Result<()> {
    let Some(generation) = column.generation() else {
        return Ok(());
    };
    let expr = dml::parse_expression(&generation.sql)?;
    let of = (table.name.as_str(), table.columns.as_slice());
    dml::computed_type(now, of, &expr, &generation.inputs, Clause::Generated).map(drop)
}

/// Errors: those of binding what a column has where a write does not say it.
fn read_default(now: &StatementContext, table: &TableDef, column: &ColumnDef) -> Result<()> {
    match &column.default {
        Some(ColumnDefault::Expression { sql, .. }) => {
            let expr = dml::parse_expression(sql)?;
            dml::default_type(now, &expr).map(drop)
        }
        _ => read_generation(now, table, column),
    }
}

/// Errors: 42883 for a function that is gone, those of binding WHEN.
fn read_trigger(now: &StatementContext, table: &TableDef, trigger: &TriggerDef) -> Result<()> {
    if now.catalog.routines.by_oid(trigger.function).is_none() {
        return Err(Raised::new("42883", "its function does not exist".to_string()).into());
    }
    let Some(when) = &trigger.when else {
        return Ok(());
    };
    let rows = rows_of_events(&trigger.events, trigger.for_each_row);
    dml::check_trigger_condition(now, table, rows, &dml::parse_expression(&when.sql)?)
}

/// Whether the rows are of the domains of their columns, as these are by now. Errors: 23514, 23502.
pub(super) async fn verify_domains(now: &StatementContext, table: &TableDef) -> Result<()> {
    for column in table.visible_columns() {
        let domains = column.domain.iter().flat_map(|domain| domain.domains());
        for domain in domains {
            dml::verify_domain(now, table, column, domain).await?;
        }
    }
    Ok(())
}
