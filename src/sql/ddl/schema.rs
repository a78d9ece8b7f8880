//! CREATE SCHEMA, its owner, and the schema of SET SCHEMA. (DROP SCHEMA is in `drop`.)

use std::sync::Arc;

use sqlparser::ast::{Ident, SchemaName, Statement};

use super::{notice, role};
use crate::catalog::{CatalogWriter, SchemaDef, is_system_schema, is_temporary_schema};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::command::Command;
use crate::parse::definition::{Definition, RoleName};
use crate::parse::names;
use crate::system::StatementContext;
use crate::system::settings::Settings;
use crate::{Error, Result};

/// Runs CREATE SCHEMA.
pub(super) async fn create(ctx: &StatementContext, statement: &Statement) -> Result<String> {
    let Statement::CreateSchema {
        schema_name,
        if_not_exists,
        ..
    } = statement
    else {
        return Err(Error::internal("not a CREATE SCHEMA"));
    };
    if let SchemaName::UnnamedAuthorization(role) | SchemaName::NamedAuthorization(_, role) = schema_name
        && !is_current_role(role)
    {
        role::check(ctx, role)?;
    }
    let name = match schema_name {
        SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => {
            match names::relation_name(name)? {
                (None, name) => name,
                (Some(_), _) => return Err(Error::unsupported(format!("the schema name {name}"), None)),
            }
        }
        SchemaName::UnnamedAuthorization(role) if is_current_role(role) => ctx.user.to_string(),
        SchemaName::UnnamedAuthorization(role) => names::fold(role),
    };
    if is_system_schema(&name) && name.starts_with("pg_") {
        return Err(Error::ReservedName { kind: "schema", name });
    }
    if ctx.catalog.schemas.contains_key(&name) {
        if *if_not_exists {
            notice(
                ctx,
                "42P06",
                format!("schema \"{name}\" already exists, skipping"),
                None,
            );
            return Ok("CREATE SCHEMA".to_string());
        }
        return Err(Error::Duplicate {
            kind: DuplicateKind::Schema,
            name,
        });
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let oid = ctx.sequences.object_ids().take_oid().await?;
    writer.put_schema(&SchemaDef {
        name: name.clone(),
        oid,
        comment: None,
        dropped: false,
    })?;
    make_elements(ctx, &name).await?;
    Ok("CREATE SCHEMA".to_string())
}

/// Makes what stands behind CREATE SCHEMA in it. Errors: 42P15 for what names another schema; those of each.
async fn make_elements(ctx: &StatementContext, schema: &str) -> Result<()> {
    if ctx.hints.schema_elements.is_empty() {
        return Ok(());
    }
    let mut settings = Settings::clone(&ctx.settings);
    let mut path = vec![schema.to_string()];
    path.extend_from_slice(ctx.settings.named_path());
    settings.set("search_path", &path)?;
    let settings = Arc::new(settings);
    for text in &ctx.hints.schema_elements {
        for statement in crate::sql::parse(text)? {
            check_schema(&statement, schema)?;
            let element = StatementContext {
                settings: Arc::clone(&settings),
                hints: statement.parsed.hints.clone(),
                text: statement.parsed.text.clone(),
                ..ctx.clone()
            };
            let element = element.seeing_definitions().await?;
            Box::pin(super::execute(&element, &statement)).await?;
        }
    }
    Ok(())
}

/// Errors: 42P15.
fn check_schema(statement: &crate::sql::Statement, schema: &str) -> Result<()> {
    let named = match (&statement.parsed.command, &statement.parsed.ast) {
        (Some(Command::Define(Definition::CreateSequence { name, .. })), _) => name,
        (None, Statement::CreateTable(create)) => &create.name,
        (None, Statement::CreateView(create)) => &create.name,
        _ => return Ok(()),
    };
    match names::relation_name(named)? {
        (Some(other), _) if other != schema => Err(Error::DataException {
            state: "42P15",
            message: format!(
                "CREATE specifies a schema ({other}) different from the one being created ({schema})"
            ),
        }),
        _ => Ok(()),
    }
}

/// Whether it is the session's own role, by a word for it.
fn is_current_role(role: &Ident) -> bool {
    let words = ["current_role", "current_user", "session_user"];
    role.quote_style.is_none() && words.contains(&names::fold(role).as_str())
}

/// ALTER SCHEMA … OWNER TO. Errors: 3F000, 42704.
pub(super) fn check_owner(ctx: &StatementContext, schema: &str, owner: &RoleName) -> Result<()> {
    ctx.catalog.schema(schema)?;
    match owner {
        RoleName::Named(name) => role::check(ctx, &Ident::with_quote('"', name)),
        RoleName::Current | RoleName::All => Ok(()),
    }
}

/// The schema that SET SCHEMA names. Errors: 3F000, 42501, 42P07 when it has a relation of the name.
pub(super) fn moved_schema(ctx: &StatementContext, from: &str, name: &str, to: &Ident) -> Result<String> {
    let to = names::fold(to);
    let to = ctx.catalog.schema(ctx.settings.schema_meant(&to))?.name.clone();
    if to != from && (is_temporary_schema(&to) || is_temporary_schema(from)) {
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "cannot move objects into or out of temporary schemas".to_string(),
            hint: Some("Create the object anew, and drop this one.".to_string()),
        });
    }
    if to != from && is_system_schema(&to) {
        return Err(Error::NotAllowed {
            message: format!("system schema \"{to}\" takes no new objects"),
        });
    }
    if to != from && ctx.catalog.is_name_taken(&to, name) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Relation,
            name: format!("{name}\" in schema \"{to}"),
        });
    }
    Ok(to)
}
