//! CREATE SCHEMA. (DROP SCHEMA is in `drop`.)

use sqlparser::ast::{SchemaName, Statement};

use super::notice;
use crate::catalog::{CatalogWriter, SchemaDef, is_system_schema};
use crate::error::DuplicateKind;
use crate::exec::StatementContext;
use crate::parse::names;
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
    let name = match schema_name {
        SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => {
            match names::relation_name(name)? {
                (None, name) => name,
                (Some(_), _) => return Err(Error::unsupported(format!("the schema name {name}"), None)),
            }
        }
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
        name,
        oid,
        comment: None,
    })?;
    Ok("CREATE SCHEMA".to_string())
}
