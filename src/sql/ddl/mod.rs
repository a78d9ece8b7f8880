//! CREATE, ALTER, DROP, TRUNCATE, COMMENT: statements that change the catalog. One file an object or verb; this one
//! chooses among them, and resolves the names they share. Called by `sql::execute`; commits nothing.

mod advice;
mod aggregate;
mod alter;
mod alter_action;
mod alter_asked;
mod alter_column;
mod alter_index;
mod alter_passes;

mod alter_storage;
mod alter_tree;
mod alter_view;
mod analyze;
mod attach;
mod attribute_users;
mod backfill;
mod body_text;
mod cast;
mod catalog_update;
mod check;
mod column;
mod column_users;
mod column_views;
mod comment;
mod composite;
mod constraint;
mod constraint_name;
mod copy_database;
mod create_index;
mod create_table;
mod create_table_as;
mod database;
mod declared_keys;
mod default;
mod default_dependents;
mod described_index;
mod domain;
mod drop;
mod drop_column;
mod drop_database;
mod drop_schema;
mod exclusion;
mod expiry;
mod extension;
mod extension_routine;
mod few_values;
mod foreign_key;
mod generation;
mod grant;
mod identity;
mod index;
mod index_build;
mod index_expression;
mod index_key;
mod index_options;
mod index_sort;
mod index_state;
mod index_terms;
mod kept_rows;
mod key;
mod keys_lock;
mod large_object;
mod like;
mod lock_table;
mod made_of_query;
mod materialized_view;
mod members_in_text;
mod name_upgrade;
mod named_in_text;
mod new_relation;
mod operator_class;
mod options;
mod partition_bound;
mod partition_index;
mod partition_key;
mod partition_of;
mod partition_rules;
mod partition_triggers;
mod primary_key;
mod printed_rename;
mod referenced_table;
mod region;
mod region_bounds;
mod rekey;
mod rekey_build;
mod rename_schema;
mod renamed_texts;
mod retype;
mod rewrite;
mod role;
mod routine;
mod routine_definition;
mod routine_dependents;
mod routine_ref;
mod routine_type;
mod row_expression;
mod schema;
mod sequence;
mod sequence_options;
mod sequence_upgrade;
mod set_constraints;
mod settings;
mod settled_constraints;
mod storage;
mod system_columns;
mod table_change;
mod table_index;
mod temporary;
mod transition_names;
mod trash;
mod triggers;
mod truncate;
mod type_dependents;
mod type_lookup;
mod undrop;
mod undrop_dependents;
mod undrop_expressions;
mod upkeep;
mod use_schema;
mod user_type;
mod verification;
mod versions;
mod view;
mod view_options;
mod view_text;
mod wildcard;

use sqlparser::ast;

use super::Statement;
use crate::catalog::{Access, Relation, RelationName};
use crate::error::StatementFault;
use crate::parse::command::Command;
use crate::parse::definition::Definition;
use crate::parse::first_words;
use crate::parse::parameters;
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

pub(in crate::sql) use catalog_update::execute as update_catalog;
pub(crate) use create_table_as::select_into;
pub use drop_database::{dropped_databases, empty_dropped};
pub use index_build::build_unattended;
pub(crate) use made_of_query::{make_of_query, would_create};
pub use name_upgrade::shorten_long_names;
pub(super) use row_expression::check_no_subquery;
pub use sequence_upgrade::make_missing_sequences;
pub use temporary::{before_commit, drop_temporary};
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
        Some(command @ Command::Use { schema }) => {
            use_schema::execute(ctx, schema).map(|()| command.tag().to_string())
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

/// A definition has no parameters, for it is read again without their values. One that is filled by a query may take them. Errors: 42P02.
fn refuse_parameters(statement: &ast::Statement) -> Result<()> {
    let is_filled = match statement {
        ast::Statement::CreateTable(create) => create.query.is_some(),
        ast::Statement::CreateView(create) => create.materialized,
        _ => false,
    };
    match parameters::named(statement).first() {
        Some(number) if !is_filled => Err(Error::InvalidStatement {
            state: StatementFault::UndefinedParameter,
            message: format!("there is no parameter ${number}"),
            hint: None,
        }),
        _ => Ok(()),
    }
}

async fn run(ctx: &StatementContext, statement: &ast::Statement) -> Result<String> {
    refuse_parameters(statement)?;
    match statement {
        ast::Statement::CreateTable(create) => match &create.query {
            Some(query) => create_table_as::execute(ctx, create, query).await,
            None => create_table::execute(ctx, create).await,
        },
        ast::Statement::CreateView(create) if create.materialized => {
            materialized_view::create(ctx, create).await
        }
        ast::Statement::CreateView(create) => view::create(ctx, create).await,
        ast::Statement::CreateIndex(create) => partition_index::create(ctx, create).await,
        ast::Statement::CreateSchema { .. } => schema::create(ctx, statement).await,
        ast::Statement::AlterTable(alter) => alter_tree::execute(ctx, alter).await,
        ast::Statement::Drop {
            object_type: ast::ObjectType::Schema,
            names,
            if_exists,
            cascade,
            ..
        } => {
            drop_schema::drop_schemas(ctx, names, *if_exists, *cascade).await?;
            Ok("DROP SCHEMA".to_string())
        }
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
            persistence,
            if_not_exists,
            options,
        } => sequence::create(ctx, (name, *persistence), *if_not_exists, options).await,
        Definition::AlterSequence {
            name,
            if_exists,
            change,
        } => sequence::alter(ctx, name, *if_exists, change).await,
        Definition::RefreshView {
            name,
            concurrently,
            with_rows,
        } => materialized_view::refresh(ctx, name, *concurrently, *with_rows).await,
        Definition::RenameSchema { schema, new_name } => rename_schema::execute(ctx, schema, new_name).await,
        Definition::SchemaOwner { schema, owner } => schema::check_owner(ctx, schema, owner),
        Definition::AlterIndex {
            name,
            table,
            if_exists,
            change,
        } => alter_index::execute(ctx, (name, table.as_ref()), *if_exists, change).await,
        Definition::CreateEnum { name, labels } => user_type::create_enum(ctx, name, labels).await,
        Definition::CreateComposite { name, attributes } => composite::create(ctx, name, attributes).await,
        Definition::AlterType { name, change } => composite::alter_type(ctx, name, change).await,
        Definition::DropTypes(statement) => type_dependents::drop_types(ctx, statement).await,
        Definition::CreateDomain(new) => domain::create(ctx, new).await,
        Definition::AlterDomain { name, change } => domain::alter(ctx, name, change).await,
        Definition::LargeObject { oid, change } => large_object::change(ctx, *oid, change).await,
        Definition::Role(definition) => role::execute(ctx, definition).await,
        Definition::Database(definition) => database::execute(ctx, definition).await,
        Definition::Cast(definition) => cast::execute(ctx, definition).await,
        Definition::Routine(definition) => routine_definition::execute(ctx, definition).await,
        Definition::CommentOnSystem { kind } => {
            storage::tell(ctx, vec![format!("COMMENT ON {kind}")]);
            Ok(())
        }
        Definition::Grant(privileges) => grant::execute(ctx, privileges).await,
        Definition::Trash(statement) => undrop::execute(ctx, statement).await,
        Definition::CommentOnConstraint {
            constraint,
            table,
            comment,
        } => comment::on_constraint(ctx, constraint, table, comment.clone()),
    }
}

/// NOTICE.
fn notice(ctx: &StatementContext, sqlstate: &'static str, message: String, hint: Option<String>) {
    ctx.notice(Notice {
        hint,
        ..Notice::new(sqlstate, message)
    });
}

/// `table t`, `view s.v`: the schema only when the name alone means something else.
fn described(ctx: &StatementContext, relation: &Relation) -> String {
    let kind = match relation {
        Relation::Table(table) if table.is_materialized_view() => "materialized view",
        Relation::Table(_) => "table",
        Relation::View(_) => "view",
        Relation::Sequence(_) => "sequence",
    };
    let name = RelationName::searched(relation.name(), &ctx.settings.search_path);
    let seen = ctx.catalog.get_relation(name, Access::Name);
    if seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.oid() == relation.oid())) {
        return format!("{kind} {}", relation.name());
    }
    format!("{kind} {}.{}", relation.schema(), relation.name())
}

/// Says what goes with what is dropped.
fn notice_cascade(ctx: &StatementContext, gone: &[String]) {
    let (message, detail) = match gone {
        [] => return,
        [one] => (format!("drop cascades to {one}"), None),
        many => {
            let lines: Vec<String> = many.iter().map(|one| format!("drop cascades to {one}")).collect();
            let message = format!("drop cascades to {} other objects", many.len());
            (message, Some(lines.join("\n")))
        }
    };
    ctx.notice(Notice {
        detail,
        ..Notice::new("00000", message)
    });
}

#[cfg(test)]
mod backfill_tests;
#[cfg(test)]
mod expiry_tests;
#[cfg(test)]
mod model_walk;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verification_tests;
#[cfg(test)]
mod versions_tests;
