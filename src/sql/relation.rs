//! Names of statements to relations, by the catalog's one door ([`Catalog::relation`](crate::catalog::Catalog::relation)) and the
//! session's search path. Called by DDL and DML; queries come through the same door with the path of what they are in.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::catalog::{Access, Object, ObjectKind, RelationName, TEMPORARY_ALIAS, TableDef};
use crate::error::StatementFault;
use crate::parse::names;
use crate::system::{Notice, StatementContext, pg_catalog};
use crate::{Error, Result};

/// The relation of the name, for `access`. Errors: 42P01, 42809, 0A000.
pub(super) fn relation<'a>(
    ctx: &'a StatementContext,
    name: &ObjectName,
    access: Access,
) -> Result<Object<'a>> {
    let found = asked(ctx, name, |name| ctx.relation(name, access))?;
    check_at_rest(ctx, found, access)?;
    Ok(found)
}

/// The table of the name, for an access that takes nothing else. Errors: as `relation`.
pub(super) fn table(ctx: &StatementContext, name: &ObjectName, access: Access) -> Result<Arc<TableDef>> {
    relation(ctx, name, access)?.table().cloned()
}

/// As `relation`; `None` when nothing has the name. Errors: 42809, 0A000.
pub(super) fn get_relation<'a>(
    ctx: &'a StatementContext,
    name: &ObjectName,
    access: Access,
) -> Result<Option<Object<'a>>> {
    let found = asked(ctx, name, |name| ctx.get_relation(name, access))?;
    if let Some(found) = found {
        check_at_rest(ctx, found, access)?;
    }
    Ok(found)
}

/// Errors: 55006 for a definition of a table that other statements of the session use which are not over, or of whose rows something is
/// still to be asked.
fn check_at_rest(ctx: &StatementContext, found: Object<'_>, access: Access) -> Result<()> {
    let verb = match access {
        Access::Alter | Access::AlterAction(_) => "ALTER TABLE",
        Access::Drop(ObjectKind::Table) => "DROP TABLE",
        Access::Drop(ObjectKind::Index) => "DROP INDEX",
        Access::Truncate => "TRUNCATE",
        Access::CreateIndex => "CREATE INDEX",
        Access::Cluster => "CLUSTER",
        _ => return Ok(()),
    };
    let (oid, is_asked) = match found {
        Object::Table(table) => (table.oid, ctx.session.deferred.has_open_of(table.oid)),
        Object::Index(_, index) => (index.oid, false),
        _ => return Ok(()),
    };
    let (reason, hint) = match ctx.session.relations_in_use.contains(oid) {
        true => (
            "it is being used by active queries in this session",
            "It may be changed when the statement around this one is over, and cursors of it are closed.",
        ),
        false if is_asked => (
            "it has pending trigger events",
            "SET CONSTRAINTS ALL IMMEDIATE asks what the transaction has left of its constraints, and calls its triggers.",
        ),
        false => return Ok(()),
    };
    Err(Error::InvalidStatement {
        state: StatementFault::ObjectInUse,
        message: format!("cannot {verb} \"{}\" because {reason}", found.name()),
        hint: Some(hint.to_string()),
    })
}

/// What the door answers to a statement's name, searched along the session's path.
fn asked<T>(
    ctx: &StatementContext,
    name: &ObjectName,
    ask: impl FnOnce(RelationName<'_>) -> Result<T>,
) -> Result<T> {
    let (schema, name) = names::relation_name(name)?;
    let answer = ask(RelationName {
        schema: schema.as_deref(),
        name: &name,
        search_path: &ctx.settings.search_path,
    });
    let schema = schema.as_deref().unwrap_or("pg_catalog");
    match answer {
        Err(Error::UndefinedTable { .. }) if pg_catalog::table_oid(schema, &name).is_some() => {
            Err(Error::NotAllowed {
                message: format!("\"{name}\" is a system catalog"),
            })
        }
        answer => answer,
    }
}

/// As `relation`; with IF EXISTS `None`, and a NOTICE, when nothing has the name.
pub(super) fn relation_if_exists<'a>(
    ctx: &'a StatementContext,
    name: &ObjectName,
    access: Access,
    if_exists: bool,
) -> Result<Option<Object<'a>>> {
    if !if_exists {
        return relation(ctx, name, access).map(Some);
    }
    let found = get_relation(ctx, name, access)?;
    if found.is_none() {
        let (schema, name) = names::relation_name(name)?;
        let unknown_schema =
            schema.filter(|schema| schema != TEMPORARY_ALIAS && !ctx.catalog.schemas.contains_key(schema));
        let missing = match (access, unknown_schema) {
            (Access::Drop(_), Some(schema)) => format!("schema \"{schema}\""),
            (Access::Drop(kind), None) => format!("{} \"{name}\"", kind.word()),
            _ => format!("relation \"{name}\""),
        };
        ctx.notice(Notice::new(
            "00000",
            format!("{missing} does not exist, skipping"),
        ));
    }
    Ok(found)
}
