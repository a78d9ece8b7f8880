//! COPY TO: a query whose rows leave as data. Of a table it is `SELECT` of its columns, and judged so.

use std::sync::Arc;

use futures::StreamExt;
use sqlparser::ast::{self, Ident, ObjectName};

use super::options::Options;
use crate::catalog::{Access, TableDef};
use crate::copy::{CopyFormat, RowEncoder};
use crate::error::StatementFault;
use crate::parse::copy::{Copy, CopyPlace, CopySubject};
use crate::parse::kind::is_select_into;
use crate::parse::names;
use crate::scan::{OutputColumn, Rows};
use crate::sql::dml::{WriteResult, check_copied};
use crate::sql::relation::get_relation;
use crate::sql::{self, Outcome, Statement, execute_here};
use crate::system::{CopyProgress, StatementContext};
use crate::{Error, Result};

/// Begins a COPY TO; one to a file is done then. Errors: those of its options, of binding, of planning.
pub(super) async fn begin(ctx: &StatementContext, statement: &Statement, copy: &Copy) -> Result<Outcome> {
    super::file::check_place(ctx, copy)?;
    let (table, query) = match &copy.subject {
        CopySubject::Relation { name, columns } => {
            let (table, query) = table_query(ctx, name, columns)?;
            let query = sql::parse(&query)?.pop();
            (
                table,
                query.ok_or_else(|| Error::internal("a query of a table is none"))?,
            )
        }
        CopySubject::Query => (None, statement.without_command()),
    };
    let format = Options::of(copy, ctx.settings.client_encoding)?.format;
    if copy.subject == CopySubject::Query {
        check_query(&query.parsed.ast)?;
    }
    let executed = Box::pin(execute_here(ctx, &query)).await;
    let executed = executed.map_err(|error| match (&copy.subject, error) {
        // The query of a table stands nowhere in the text.
        (CopySubject::Relation { .. }, Error::At { error, .. }) => *error,
        (_, error) => error,
    })?;
    let (columns, stream) = match executed {
        Outcome::Rows { columns, stream } => (columns, stream),
        Outcome::Written(WriteResult { columns, batches, .. }) => {
            let rows = batches.into_iter().map(|batch| Ok(Rows::Columns(batch)));
            (Arc::from(columns), futures::stream::iter(rows).boxed())
        }
        _ => return Err(Error::internal("a COPY of what gives no rows")),
    };
    let relation = table.as_ref().map_or(0, |table| table.oid());
    let is_file = copy.place != CopyPlace::Client;
    let copying = ctx
        .session
        .copy
        .begin(CopyProgress::new(relation, false, is_file));
    let encoder = encoder_of(format, table.as_deref(), &columns)?;
    match &copy.place {
        CopyPlace::File(path) => {
            let rows = super::file::write(ctx, path, &columns, stream, encoder).await?;
            Ok(Outcome::Done {
                tag: format!("COPY {rows}"),
            })
        }
        CopyPlace::Client | CopyPlace::Program => Ok(Outcome::CopyOut {
            columns,
            stream,
            encoder,
            copying,
        }),
    }
}

fn encoder_of(format: CopyFormat, table: Option<&TableDef>, columns: &[OutputColumn]) -> Result<RowEncoder> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    super::check_forced(&format.force_quote, "FORCE_QUOTE", &named, |name| match table {
        Some(table) => check_copied(table, std::iter::once(name.to_string())),
        None => Err(Error::UndefinedColumn {
            name: format!("\"{name}\""),
            hint: None,
        }),
    })?;
    Ok(RowEncoder::new(format, names))
}

/// A relation, if it is a table, and the text of the query of its rows. Errors: 42809, 42703, 42701, 42P10.
fn table_query(
    ctx: &StatementContext,
    name: &ObjectName,
    columns: &[Ident],
) -> Result<(Option<Arc<TableDef>>, String)> {
    let found = get_relation(ctx, name, Access::CopyTo)?;
    let table = found.and_then(|object| object.table().ok());
    let items = match table {
        // The system's relations, and what does not exist: the query says so.
        None if columns.is_empty() => "*".to_string(),
        None => listed(columns.iter().cloned()),
        Some(table) => listed(copied_columns(table, columns)?.into_iter()),
    };
    Ok((table.cloned(), format!("SELECT {items} FROM {name}")))
}

fn copied_columns(table: &TableDef, columns: &[Ident]) -> Result<Vec<Ident>> {
    if columns.is_empty() {
        let own = table
            .visible_columns()
            .filter(|column| column.generation().is_none());
        return Ok(own.map(|column| Ident::with_quote('"', &column.name)).collect());
    }
    check_copied(table, columns.iter().map(names::fold))?;
    Ok(columns.to_vec())
}

fn listed(columns: impl Iterator<Item = Ident>) -> String {
    let columns = columns.map(|column| column.to_string());
    columns.collect::<Vec<_>>().join(", ")
}

/// Errors: 0A000, 42601 for what gives no rows.
fn check_query(tree: &ast::Statement) -> Result<()> {
    let message = match tree {
        ast::Statement::Query(query) if is_select_into(query) => "COPY (SELECT INTO) is not supported",
        ast::Statement::Query(_) => return Ok(()),
        ast::Statement::Insert(insert) if insert.returning.is_some() => return Ok(()),
        ast::Statement::Update(update) if update.returning.is_some() => return Ok(()),
        ast::Statement::Delete(delete) if delete.returning.is_some() => return Ok(()),
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
            "COPY query must have a RETURNING clause"
        }
        other => {
            return Err(Error::Syntax {
                message: format!("syntax error at or near \"{}\"", crate::parse::first_words(other)),
                position: 0,
            });
        }
    };
    Err(Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: message.to_string(),
        hint: None,
    })
}
