//! Where a new table, view or sequence is to be: its schema, its name, and how long it lasts, which the schema decides: what is made in
//! that of the session's temporary objects goes with the session. Called by CREATE; writes nothing but that schema.

use sqlparser::ast::ObjectName;

use super::notice;
use crate::catalog::{CatalogWriter, SchemaDef, is_system_schema, is_temporary_schema};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::definition::Persistence;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// A relation that is not there yet.
#[derive(Debug)]
pub(super) struct NewRelation {
    /// The schema, which is there, or that of the session's temporary objects.
    pub(super) schema: String,
    /// The name within it.
    pub(super) name: String,
}

impl NewRelation {
    /// By the name that a statement gives it, and what it says of how long it lasts. Errors: 3F000; 42501 for the system's schemas;
    /// 42P16 for a schema that does not hold what lasts so long.
    pub(super) fn of(
        ctx: &StatementContext,
        name: &ObjectName,
        persistence: Persistence,
    ) -> Result<NewRelation> {
        let (schema, name) = names::relation_name(name)?;
        let own = &*ctx.settings.temporary_schema;
        let schema = match &schema {
            Some(written) => {
                let meant = ctx.settings.schema_meant(written);
                match meant == own && !own.is_empty() {
                    true => own,
                    false => &ctx.catalog.schema(meant)?.name,
                }
            }
            None if persistence == Persistence::Temporary => own,
            None => ctx.catalog.creation_schema(ctx.settings.named_path())?,
        };
        let is_temporary = schema == own && !own.is_empty();
        let fault = match (is_temporary, persistence) {
            (false, Persistence::Temporary) => "cannot create temporary relation in non-temporary schema",
            (false, _) if is_temporary_schema(schema) => {
                "cannot create relations in temporary schemas of other sessions"
            }
            (true, Persistence::Unlogged) => "only temporary relations may be created in temporary schemas",
            (false, _) if is_system_schema(schema) => {
                return Err(Error::NotAllowed {
                    message: format!("system schema \"{schema}\" takes no new objects"),
                });
            }
            _ => {
                let schema = schema.to_string();
                return Ok(NewRelation { schema, name });
            }
        };
        Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: fault.to_string(),
            hint: None,
        })
    }

    /// Whether it goes with its session.
    pub(super) fn is_temporary(&self) -> bool {
        is_temporary_schema(&self.schema)
    }

    /// Whether the name is free; with IF NOT EXISTS a NOTICE says that it is not. Errors: 42P07 without.
    pub(super) fn is_free(&self, ctx: &StatementContext, if_not_exists: bool) -> Result<bool> {
        let name = &self.name;
        match (ctx.catalog.is_name_taken(&self.schema, name), if_not_exists) {
            (false, _) => Ok(true),
            (true, true) => {
                let message = format!("relation \"{name}\" already exists, skipping");
                notice(ctx, "42P07", message, None);
                Ok(false)
            }
            (true, false) => Err(Error::Duplicate {
                kind: DuplicateKind::Relation,
                name: name.clone(),
            }),
        }
    }
}

/// Makes the schema of the session's temporary objects, if that is where something is about to be made and it is not there yet.
pub(super) async fn make_schema(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    schema: &str,
) -> Result<()> {
    if !is_temporary_schema(schema) {
        return Ok(());
    }
    ctx.session.note_temporary();
    match ctx.catalog.schemas.contains_key(schema) {
        true => Ok(()),
        false => writer.put_schema(&SchemaDef {
            name: schema.to_string(),
            oid: ctx.sequences.object_ids().take_oid().await?,
            comment: None,
            dropped: false,
        }),
    }
}
