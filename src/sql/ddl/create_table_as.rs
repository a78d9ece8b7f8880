//! CREATE TABLE AS and SELECT INTO: a table of a query's columns, filled with its rows as they come. Materialized views are made so, too.

use std::sync::Arc;

use sqlparser::ast::{self, CreateTable, DataType, Query, SelectInto};

use super::advice;
use super::create_table::{Description, FIRST_COLUMN_ID, create_described, new_table, table_options};
use super::new_relation::NewRelation;
use super::wildcard;
use crate::catalog::{ColumnDef, StoredQuery, TableOptions};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::definition::Persistence;
use crate::parse::kind::take_into;
use crate::parse::with_write::has_writes;
use crate::parse::{UNTYPED, names};
use crate::query::{self, Observation, QueryPlan, known_types};
use crate::scan::OutputColumn;
use crate::sql::{column_type, dml};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// A table that gets the columns and the rows of a query.
pub(super) struct NewTable {
    pub(super) relation: NewRelation,
    /// The names that its first columns are given.
    pub(super) columns: Vec<String>,
    pub(super) options: TableOptions,
    /// The query, if it is a materialized view.
    pub(super) stored_query: Option<Box<StoredQuery>>,
}

/// Runs CREATE TABLE … AS.
pub(super) async fn execute(ctx: &StatementContext, create: &CreateTable, query: &Query) -> Result<String> {
    let relation = new_table(ctx, create)?;
    if !relation.is_free(ctx, create.if_not_exists)? {
        return Ok("CREATE TABLE AS".to_string());
    }
    create_as(ctx, described(ctx, create, relation)?, query).await
}

/// What CREATE TABLE … AS says of the table. Errors: 42601, 22023, 42P16.
pub(super) fn described(
    ctx: &StatementContext,
    create: &CreateTable,
    relation: NewRelation,
) -> Result<NewTable> {
    Ok(NewTable {
        columns: column_names(create)?,
        options: table_options(ctx, create, &relation)?,
        relation,
        stored_query: None,
    })
}

/// Runs `SELECT … INTO t …` as CREATE TABLE AS.
pub(crate) async fn select_into(ctx: &StatementContext, query: &Query) -> Result<String> {
    let mut query = query.clone();
    let into = take_into(&mut query).ok_or_else(|| Error::internal("SELECT INTO without INTO"))?;
    let new = into_table(ctx, &into)?;
    new.relation.is_free(ctx, false)?;
    create_as(ctx, new, &query).await
}

/// The table that INTO names. Errors: as [`NewRelation::of`].
pub(super) fn into_table(ctx: &StatementContext, into: &SelectInto) -> Result<NewTable> {
    Ok(NewTable {
        relation: into_target(ctx, into)?,
        columns: Vec::new(),
        options: TableOptions {
            unlogged: into.unlogged,
            ..TableOptions::default()
        },
        stored_query: None,
    })
}

/// The table that INTO names. Errors: as [`NewRelation::of`].
fn into_target(ctx: &StatementContext, into: &SelectInto) -> Result<NewRelation> {
    let persistence = match (into.temporary, into.unlogged) {
        (true, _) => Persistence::Temporary,
        (false, true) => Persistence::Unlogged,
        (false, false) => Persistence::Permanent,
    };
    NewRelation::of(ctx, &into.name, persistence)
}

/// The names that CREATE TABLE AS lists. Errors: 42601 for anything more.
pub(super) fn column_names(create: &CreateTable) -> Result<Vec<String>> {
    let is_name = |column: &ast::ColumnDef| {
        let untyped = matches!(&column.data_type, DataType::Custom(name, _)
            if name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == UNTYPED));
        untyped && column.options.is_empty()
    };
    if !create.constraints.is_empty() || !create.columns.iter().all(is_name) {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "CREATE TABLE AS takes the names of columns and no definitions".to_string(),
            hint: Some("Use ALTER TABLE to add constraints afterwards.".to_string()),
        });
    }
    Ok(create
        .columns
        .iter()
        .map(|column| names::fold(&column.name))
        .collect())
}

/// CREATE TABLE AS: a table of the query's columns, filled with its rows.
async fn create_as(ctx: &StatementContext, new: NewTable, query: &Query) -> Result<String> {
    let (ctx, planned) = match has_writes(query) {
        true => {
            let (ctx, query) = dml::rows_of_writes(ctx, query).await?;
            let planned = query::plan_kept(&ctx, &query, &known_types(&ctx))?;
            (ctx, planned)
        }
        false => (ctx.clone(), query::plan_kept(ctx, query, &known_types(ctx))?),
    };
    let plan = Arc::new(QueryPlan::new(planned));
    match create_filled(&ctx, new, (&plan, None)).await? {
        None => Ok("CREATE TABLE AS".to_string()),
        Some(rows) => Ok(format!("SELECT {rows}")),
    }
}

/// The same of a query that is bound; how many rows there were, unless it is to have none.
pub(super) async fn create_filled(
    ctx: &StatementContext,
    mut new: NewTable,
    (plan, observation): (&Arc<QueryPlan>, Option<&Observation>),
) -> Result<Option<u64>> {
    let outputs = plan.columns();
    let names = output_names(&new.columns, &outputs)?;
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(outputs.len());
    for ((at, output), name) in outputs.iter().enumerate().zip(names) {
        if columns.iter().any(|column| column.name == name) {
            return Err(Error::DuplicateColumn { name });
        }
        columns.push(ColumnDef::new(
            FIRST_COLUMN_ID + at as ColumnId,
            name,
            stored_type(&output.shown_type())?,
        ));
    }
    let (wildcards, _) = wildcard::take(ctx, &new.relation.name, &mut new.options, &[]).await?;
    let description = Description::of_columns(columns, new.options, new.stored_query);
    let description = description.with_wildcards(wildcards);
    let table = create_described(ctx, new.relation, description).await?;
    let rows = match ctx.hints.without_rows {
        true => None,
        false => Some(dml::insert_query(ctx, &table, plan, observation).await?),
    };
    advice::advise(ctx, &table)?;
    Ok(rows)
}

/// The names of the columns of a query's rows: those given, then the query's own. Errors: 42601.
fn output_names(given: &[String], outputs: &[OutputColumn]) -> Result<Vec<String>> {
    if given.len() > outputs.len() {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "too many column names were specified".to_string(),
            hint: None,
        });
    }
    let own = outputs.iter().skip(given.len()).map(|output| output.name.clone());
    Ok(given.iter().cloned().chain(own).collect())
}

/// The type of the column that keeps values of a query's. Errors: 0A000 for one that no row stores.
fn stored_type(ty: &SqlType) -> Result<SqlType> {
    let ty = match ty {
        SqlType::Unknown | SqlType::Void | SqlType::Char(None) => SqlType::Text,
        ty => ty.clone(),
    };
    column_type::check_stored(&ty)?;
    Ok(ty)
}
