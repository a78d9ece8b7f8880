//! CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW as EXPLAIN has them: whether they would make anything, and what ANALYZE
//! makes of the query that was planned.

use std::sync::Arc;

use sqlparser::ast;

use super::create_table::new_table;
use super::create_table_as::{self, create_filled, into_table};
use super::materialized_view;
use super::new_relation::NewRelation;
use crate::parse::definition::Persistence;
use crate::parse::kind::take_into;
use crate::query::{Observation, QueryPlan};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Makes what EXPLAIN ANALYZE runs, of its query, which is bound. Errors: as the statements'.
pub(crate) async fn make_of_query(
    ctx: &StatementContext,
    statement: &ast::Statement,
    (plan, observation): (&Arc<QueryPlan>, &Observation),
) -> Result<()> {
    let new = match statement {
        ast::Statement::CreateTable(create) => {
            let relation = new_table(ctx, create)?;
            create_table_as::described(ctx, create, relation)?
        }
        ast::Statement::CreateView(create) => {
            let relation = NewRelation::of(ctx, &create.name, Persistence::Permanent)?;
            let plan = (plan, Some(observation));
            materialized_view::create_of_plan(ctx, create, relation, plan).await?;
            return Ok(());
        }
        ast::Statement::Query(query) => {
            let into = take_into(&mut query.as_ref().clone());
            let into = into.ok_or_else(|| Error::internal("SELECT INTO without INTO"))?;
            into_table(ctx, &into)?
        }
        other => return Err(Error::internal(format!("no table of a query: {other}"))),
    };
    create_filled(ctx, new, (plan, Some(observation))).await?;
    Ok(())
}

/// Whether a statement that is explained would make what it names, if it is one that makes anything. Errors: 42P07, 3F000.
pub(crate) fn would_create(ctx: &StatementContext, statement: &ast::Statement) -> Result<bool> {
    match statement {
        ast::Statement::CreateTable(create) => {
            create_table_as::column_names(create)?;
            new_table(ctx, create)?.is_free(ctx, create.if_not_exists)
        }
        ast::Statement::CreateView(create) if create.materialized => {
            materialized_view::would_create(ctx, create)
        }
        ast::Statement::Query(query) => match take_into(&mut query.as_ref().clone()) {
            Some(into) => into_table(ctx, &into)?.relation.is_free(ctx, false),
            None => Ok(true),
        },
        _ => Ok(true),
    }
}
