//! Chooses among the definitions of functions, procedures, triggers and extensions.

use super::{aggregate, extension, notice, routine, routine_dependents, triggers};
use crate::parse::routine::RoutineDefinition;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs it.
pub(super) async fn execute(ctx: &StatementContext, definition: &RoutineDefinition) -> Result<()> {
    match definition {
        RoutineDefinition::Create(new) => routine::create(ctx, new).await,
        RoutineDefinition::CreateAggregate(new) => aggregate::create(ctx, new).await,
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
        RoutineDefinition::Trigger(definition) => triggers::execute(ctx, definition).await,
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
