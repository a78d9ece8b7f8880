//! CREATE MATERIALIZED VIEW and REFRESH MATERIALIZED VIEW: a table of a query's rows, which is asked again when it is told to. The rows
//! of a refresh are written under a new id, beside those there are, which readers keep until the transaction commits.

use std::sync::Arc;

use sqlparser::ast::{CreateView, ObjectName, Query};

use super::create_table_as::{NewTable, create_filled};
use super::new_relation::NewRelation;
use super::rewrite::as_duplicate_in_index;
use super::{options, storage, view, wildcard};
use crate::catalog::{Access, CatalogWriter, IndexDef, StoredQuery, TableDef, lasting_path, written_key};
use crate::error::StatementFault;
use crate::parse::definition::Persistence;
use crate::parse::with_write::has_writes;
use crate::parse::{Hints, names, parse_query};
use crate::query::{self, Observation, QueryPlan, known_types};
use crate::sql::dml;
use crate::sql::relation::table;
use crate::store::LockMode;
use crate::system::{Settings, StatementContext};
use crate::table::begin_count;
use crate::{Error, Result};

/// Runs CREATE MATERIALIZED VIEW.
pub(super) async fn create(ctx: &StatementContext, create: &CreateView) -> Result<String> {
    if create.temporary || create.or_replace {
        return Err(Error::Syntax {
            message: "syntax error at or near \"MATERIALIZED\"".to_string(),
            position: 0,
        });
    }
    if ctx.hints.unlogged {
        return Err(not_implemented(
            "materialized views cannot be unlogged",
            "Leave UNLOGGED out.",
        ));
    }
    let new = NewRelation::of(ctx, &create.name, Persistence::Permanent)?;
    if !new.is_free(ctx, create.if_not_exists)? {
        return Ok("CREATE MATERIALIZED VIEW".to_string());
    }
    storage::check_tablespaces(ctx)?;
    let planned = plan(ctx, &create.query)?;
    match create_of_plan(ctx, create, new, (&planned, None)).await? {
        None => Ok("CREATE MATERIALIZED VIEW".to_string()),
        Some(rows) => Ok(format!("SELECT {rows}")),
    }
}

/// Binds the query. Errors: those of binding; 0A000 for one that writes.
fn plan(ctx: &StatementContext, query: &Query) -> Result<Arc<QueryPlan>> {
    if has_writes(query) {
        return Err(not_implemented(
            "materialized views must not use data-modifying statements in WITH",
            "Write the rows first, in a statement of its own.",
        ));
    }
    Ok(Arc::new(QueryPlan::new(query::plan_kept(ctx, query, &[])?)))
}

/// Makes the view of its query, which is bound; how many rows there were, unless it is to have none. `observation`: what the reading is
/// counted in.
pub(super) async fn create_of_plan(
    ctx: &StatementContext,
    create: &CreateView,
    relation: NewRelation,
    (plan, observation): (&Arc<QueryPlan>, Option<&Observation>),
) -> Result<Option<u64>> {
    if relation.is_temporary() {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: "cannot create temporary materialized views".to_string(),
            hint: Some("Use CREATE TEMPORARY TABLE ... AS.".to_string()),
        });
    }
    let depends_on = view::relations_read(ctx, &create.query);
    view::refuse_only(ctx, &depends_on)?;
    if view::reads_temporary(ctx, &depends_on) {
        return Err(not_implemented(
            "materialized views must not use temporary tables or views",
            "Use CREATE TEMPORARY TABLE ... AS.",
        ));
    }
    let (table_options, unused) = options::read(&create.options)?;
    if table_options.wildcard_column.is_some() {
        return Err(wildcard::refused());
    }
    storage::tell(ctx, unused);
    let columns: Vec<String> = create
        .columns
        .iter()
        .map(|column| names::fold(&column.name))
        .collect();
    let outputs = plan.columns();
    let own = outputs
        .iter()
        .skip(columns.len())
        .map(|output| output.name.clone());
    let all: Vec<String> = columns.iter().cloned().chain(own).collect();
    let (query, printed) = view::stored_texts(ctx, &create.query, (&outputs, &all))?;
    let stored = StoredQuery {
        query,
        printed,
        search_path: lasting_path(&ctx.settings.search_path),
        depends_on,
        is_populated: !ctx.hints.without_rows,
    };
    let new = NewTable {
        relation,
        columns,
        options: table_options,
        stored_query: Some(Box::new(stored)),
    };
    create_filled(ctx, new, (plan, observation)).await
}

/// Runs REFRESH MATERIALIZED VIEW. Errors: 42P01, 0A000, 55000; those of the query; 23505 for rows that an index cannot hold.
pub(super) async fn refresh(
    ctx: &StatementContext,
    name: &ObjectName,
    concurrently: bool,
    with_rows: bool,
) -> Result<()> {
    let old = table(ctx, name, Access::Refresh)?;
    let stored = old
        .stored_query
        .as_deref()
        .ok_or_else(|| Error::internal("REFRESH of what is no materialized view"))?;
    if concurrently {
        check_concurrently(&old, stored, with_rows)?;
    }
    ctx.txn.guard(&written_key(old.id));
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let new = TableDef {
        id: ctx.sequences.object_ids().take().await?,
        stored_query: Some(Box::new(StoredQuery {
            is_populated: with_rows,
            ..stored.clone()
        })),
        ..TableDef::clone(&old)
    };
    let mode = match concurrently {
        true => LockMode::Exclusive,
        false => LockMode::AccessExclusive,
    };
    let new = writer.replace_table_in(&old, new, mode)?;
    ctx.sequences.move_row_ids(&ctx.txn, &old, &new, true).await?;
    begin_count(&ctx.txn, &new)?;
    if !with_rows {
        return Ok(());
    }
    let query = parse_query(&stored.query).map_err(|error| Error::Corrupt {
        what: format!("materialized view \"{}\"", old.name),
        reason: error.to_string(),
    })?;
    let reading = reading(ctx, stored);
    let planned = query::plan_kept(&reading, &query, &known_types(&reading))?;
    let plan = Arc::new(QueryPlan::new(planned));
    let written = dml::insert_query(&reading, &new, &plan, None).await;
    written.map(drop).map_err(|error| match concurrently {
        true => error,
        false => as_duplicate_in_index(error),
    })
}

/// What the query is asked again in: the names in it mean what they did, and all rows are asked for.
fn reading(ctx: &StatementContext, stored: &StoredQuery) -> StatementContext {
    let mut settings = Settings::clone(&ctx.settings);
    settings.search_path.clone_from(&stored.search_path);
    StatementContext {
        settings: Arc::new(settings),
        hints: Hints {
            allow_filtering: true,
            ..ctx.hints.clone()
        },
        ..ctx.clone()
    }
}

/// Errors: 55000 for a view without a unique index, 0A000 for one without rows; 42601 where there are to be none.
fn check_concurrently(view: &TableDef, stored: &StoredQuery, with_rows: bool) -> Result<()> {
    if !stored.is_populated {
        return Err(not_implemented(
            "CONCURRENTLY cannot be used when the materialized view is not populated",
            "Use REFRESH MATERIALIZED VIEW without CONCURRENTLY.",
        ));
    }
    if !with_rows {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together".to_string(),
            hint: None,
        });
    }
    let tells_rows_apart = |index: &IndexDef| index.unique && index.is_complete();
    match view.indexes.iter().any(tells_rows_apart) {
        true => Ok(()),
        false => Err(Error::NotRefreshable {
            schema: view.schema.clone(),
            name: view.name.clone(),
        }),
    }
}

/// What EXPLAIN has to do with the view: whether it would be made. Errors: 42P07, 3F000.
pub(super) fn would_create(ctx: &StatementContext, create: &CreateView) -> Result<bool> {
    NewRelation::of(ctx, &create.name, Persistence::Permanent)?.is_free(ctx, create.if_not_exists)
}

fn not_implemented(message: &str, hint: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: message.to_string(),
        hint: Some(hint.to_string()),
    }
}
