//! Chooses among the definitions of functions, procedures, triggers and extensions.

use sqlparser::ast::ObjectName;

use super::{extension, notice, routine, routine_dependents};
use crate::catalog::Access;
use crate::parse::routine::RoutineDefinition;
use crate::sql::relation::relation_if_exists;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs it.
pub(super) async fn execute(ctx: &StatementContext, definition: &RoutineDefinition) -> Result<()> {
    match definition {
        RoutineDefinition::Create(new) => routine::create(ctx, new).await,
        RoutineDefinition::Drop {
            word,
            routines,
            if_exists,
            cascade,
        } => routine_dependents::drop_routines(ctx, *word, routines, *if_exists, *cascade).await,
        RoutineDefinition::Alter {
            word,
            routine: named,
            change,
        } => routine::alter(ctx, *word, named, change),
        RoutineDefinition::Comment {
            word,
            routine: named,
            comment,
        } => routine::comment(ctx, *word, named, comment.clone()),
        RoutineDefinition::DropTrigger {
            name,
            table,
            if_exists,
        } => drop_trigger(ctx, name, table, *if_exists),
        RoutineDefinition::CreateExtension(new) => extension::create(ctx, new).await,
        RoutineDefinition::DropExtensions {
            names,
            if_exists,
            cascade,
        } => extension::drop_all(ctx, names, *if_exists, *cascade).await,
        RoutineDefinition::AlterExtension { name, schema } => extension::alter(ctx, name, schema.as_ref()),
        RoutineDefinition::CommentOnExtension { name, comment } => {
            extension::comment(ctx, name, comment.clone())
        }
        RoutineDefinition::CreateLanguage(name) => match name.as_str() {
            "plpgsql" | "sql" => {
                notice(
                    ctx,
                    "00000",
                    format!("extension \"{name}\" already exists, skipping"),
                    None,
                );
                Ok(())
            }
            other => Err(Error::unsupported(
                format!("language {other}"),
                Some("Write functions in LANGUAGE SQL or plpgsql."),
            )),
        },
    }
}

/// No table has a trigger. Errors: 42704; 42P01 for the table.
fn drop_trigger(ctx: &StatementContext, name: &str, table: &ObjectName, if_exists: bool) -> Result<()> {
    let found = relation_if_exists(ctx, table, Access::Name, if_exists)?;
    let Some(found) = found else {
        return Ok(());
    };
    match if_exists {
        true => {
            let message = format!(
                "trigger \"{name}\" for relation \"{}\" does not exist, skipping",
                found.name()
            );
            notice(ctx, "00000", message, None);
            Ok(())
        }
        false => Err(Error::UndefinedObject {
            kind: "trigger",
            name: format!("{name}\" for table \"{}", found.name()),
        }),
    }
}
