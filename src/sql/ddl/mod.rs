//! CREATE, ALTER, DROP, TRUNCATE, COMMENT: statements that change the catalog. One file an object or verb; this one
//! chooses among them, and resolves the names they share. Called by `sql::execute`; commits nothing.

mod advice;
mod alter;
mod alter_action;
mod alter_index;
mod alter_storage;
mod alter_view;
mod analyze;
mod check;
mod column;
mod comment;
mod constraint;
mod constraint_name;
mod create_table;
mod default;
mod default_dependents;
mod drop;
mod drop_column;
mod foreign_key;
mod generation;
mod identity;
mod index;
mod index_build;
mod key;
mod like;
mod lock_table;
mod operator_class;
mod options;
mod retype;
mod rewrite;
mod role;
mod row_expression;
mod schema;
mod sequence;
mod sequence_options;
mod sequence_upgrade;
mod set_constraints;
mod settings;
mod storage;
mod table_change;
mod truncate;
mod upkeep;
mod verification;
mod view;
mod view_text;

use sqlparser::ast::{self, ObjectName};

use super::Statement;
use crate::catalog::{Catalog, is_system_schema};
use crate::parse::command::Command;
use crate::parse::definition::Definition;
use crate::parse::first_words;
use crate::parse::names;
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

pub(crate) use create_table::select_into;
pub use index_build::build_unattended;
pub use sequence_upgrade::make_missing_sequences;
pub use verification::undo_unfinished;

/// Runs a statement that changes the catalog inside the transaction; answers its command tag. On an error nothing of
/// it stays in the transaction.
pub async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<String> {
    let savepoint = ctx.txn.savepoint();
    let result = match &statement.parsed.command {
        Some(command @ Command::AlterSettings { of, change }) => {
            settings::alter(ctx, of, change).map(|()| command.tag().to_string())
        }
        Some(command @ Command::Define(definition)) => {
            let defined = define(ctx, definition).await;
            defined.map(|()| command.tag().to_string())
        }
        Some(command @ Command::SetConstraints { names, deferred }) => {
            let set = set_constraints::execute(ctx, names, *deferred).await;
            set.map(|()| command.tag().to_string())
        }
        Some(command @ Command::Keep(upkeep)) => upkeep::execute(ctx, upkeep)
            .await
            .map(|()| command.tag().to_string()),
        _ => run(ctx, &statement.parsed.ast).await,
    };
    if result.is_err() {
        ctx.txn.rollback_to(savepoint);
    }
    result
}

async fn run(ctx: &StatementContext, statement: &ast::Statement) -> Result<String> {
    match statement {
        ast::Statement::CreateTable(create) => create_table::execute(ctx, create).await,
        ast::Statement::CreateView(create) => view::create(ctx, create).await,
        ast::Statement::CreateIndex(create) => index::create(ctx, create).await,
        ast::Statement::CreateSchema { .. } => schema::create(ctx, statement).await,
        ast::Statement::AlterTable(alter) => alter::execute(ctx, alter).await,
        ast::Statement::Drop { .. } => drop::execute(ctx, statement).await,
        ast::Statement::Truncate(truncate) => truncate::execute(ctx, truncate).await,
        ast::Statement::Comment { .. } => comment::execute(ctx, statement).await,
        other => Err(Error::unsupported(first_words(other), None)),
    }
}

/// Runs a definition that the parser has no tree of.
async fn define(ctx: &StatementContext, definition: &Definition) -> Result<()> {
    match definition {
        Definition::CreateSequence {
            name,
            if_not_exists,
            options,
        } => sequence::create(ctx, name, *if_not_exists, options).await,
        Definition::AlterSequence {
            name,
            if_exists,
            change,
        } => sequence::alter(ctx, name, *if_exists, change).await,
        Definition::AlterIdentity {
            table,
            if_exists,
            column,
            change,
        } => identity::execute(ctx, table, *if_exists, column, change).await,
        Definition::AlterConstraint {
            table,
            if_exists,
            constraint,
            deferrable,
            initially_deferred,
        } => foreign_key::alter(
            ctx,
            (table, *if_exists),
            constraint,
            (*deferrable, *initially_deferred),
        ),
        Definition::SchemaOwner { schema, owner } => schema::check_owner(ctx, schema, owner),
        Definition::AlterIndex {
            name,
            if_exists,
            change,
        } => alter_index::execute(ctx, name, *if_exists, change),
        Definition::AlterStorage {
            name,
            if_exists,
            changes,
        } => alter_storage::execute(ctx, name, *if_exists, changes),
        Definition::CommentOnConstraint {
            constraint,
            table,
            comment,
        } => comment::on_constraint(ctx, constraint, table, comment.clone()),
    }
}

/// Schema and name of an object to be made. Errors: 3F000, 42501 for the system's schemas.
fn creation_target(ctx: &StatementContext, name: &ObjectName) -> Result<(String, String)> {
    let (schema, name) = names::relation_name(name)?;
    let schema = match schema {
        Some(schema) => ctx.catalog.schema(&schema)?.name.clone(),
        None => ctx
            .catalog
            .creation_schema(&ctx.settings.search_path)?
            .to_string(),
    };
    if is_system_schema(&schema) {
        return Err(Error::NotAllowed {
            message: format!("system schema \"{schema}\" takes no new objects"),
        });
    }
    Ok((schema, name))
}

/// NOTICE.
fn notice(ctx: &StatementContext, sqlstate: &'static str, message: String, hint: Option<String>) {
    ctx.notice(Notice {
        severity: "NOTICE",
        sqlstate,
        message,
        hint,
    });
}

/// Says what goes with what is dropped.
fn notice_cascade(ctx: &StatementContext, gone: &[String]) {
    let message = match gone {
        [] => return,
        [one] => format!("drop cascades to {one}"),
        many => format!(
            "drop cascades to {} other objects: {}",
            many.len(),
            many.join(", ")
        ),
    };
    notice(ctx, "00000", message, None);
}

/// A name for a new index that no relation of the schema has: `base`, `base1`, `base2` …
fn free_name(catalog: &Catalog, schema: &str, base: String, also_taken: &[String]) -> String {
    let is_free = |name: &String| !catalog.is_name_taken(schema, name) && !also_taken.contains(name);
    if is_free(&base) {
        return base;
    }
    (1u32..)
        .map(|number| format!("{base}{number}"))
        .find(is_free)
        .unwrap_or(base)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod verification_tests;
