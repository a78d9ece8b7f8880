//! ALTER SCHEMA … RENAME TO: the records of all that is in the schema, and of the views elsewhere that read it, say the new name. Each is
//! written once.

use std::collections::BTreeMap;

use super::{sequence, view_text};
use crate::catalog::{
    BUILTIN_SCHEMAS, CatalogWriter, ColumnDefault, Relation, RoutineDef, SchemaDef, SequenceDef, TableDef,
    TypeDef, ViewDef, is_system_schema,
};
use crate::error::DuplicateKind;
use crate::parse::shown_names::names_schema;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs ALTER SCHEMA … RENAME TO. Errors: 3F000, 42P06, 42939; 0A000 for a schema that is always there.
pub(super) async fn execute(ctx: &StatementContext, old: &str, new: &str) -> Result<()> {
    let schema = ctx.catalog.schema(old)?;
    if ctx.catalog.schemas.contains_key(new) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Schema,
            name: new.to_string(),
        });
    }
    if is_system_schema(new) && new.starts_with("pg_") {
        return Err(Error::ReservedName {
            kind: "schema",
            name: new.to_string(),
        });
    }
    if BUILTIN_SCHEMAS.iter().any(|(builtin, _)| *builtin == old) || is_system_schema(old) {
        return Err(Error::unsupported(
            format!("renaming schema \"{old}\""),
            Some(
                "It is always there: create another schema, and move relations with ALTER TABLE ... SET SCHEMA.",
            ),
        ));
    }
    check_not_in_text(ctx, old)?;
    let moved: Vec<&Relation> = ctx
        .catalog
        .relations
        .iter()
        .filter(|relation| relation.schema() == old)
        .collect();
    let mut changed: BTreeMap<u32, Relation> = BTreeMap::new();
    for relation in ctx.catalog.relations.iter() {
        let names_it = relation
            .query()
            .is_some_and(|(_, path)| path.iter().any(|name| name == old));
        let reads_it = moved.iter().any(|moved| relation.reads().contains(&moved.oid()));
        if relation.schema() == old || names_it || reads_it {
            let pinned = view_text::pinned(ctx, relation, &moved, new)?;
            changed.insert(relation.oid(), renamed(&pinned, old, new));
        }
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    for relation in changed.values() {
        if let Relation::Sequence(sequence) = relation {
            sequence::lock(&ctx.txn, sequence, LockMode::AccessExclusive).await?;
        }
        writer.guard_dependents(relation.oid());
        writer.put_query(relation)?;
    }
    move_types_and_routines(ctx, &writer, old, new)?;
    writer.drop_schema(schema)?;
    writer.put_schema(&SchemaDef {
        name: new.to_string(),
        ..schema.clone()
    })
}

fn move_types_and_routines(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &str,
    new: &str,
) -> Result<()> {
    for ty in ctx.catalog.types.iter().filter(|ty| ty.schema == old) {
        writer.put_type(&TypeDef {
            schema: new.to_string(),
            ..TypeDef::clone(ty)
        })?;
    }
    let routines = ctx.catalog.routines.iter();
    for routine in routines.filter(|routine| routine.schema == old) {
        writer.put_routine(&RoutineDef {
            schema: new.to_string(),
            ..RoutineDef::clone(routine)
        })?;
    }
    Ok(())
}

/// Errors: 0A000 where a stored expression names something with the schema before it, which it would not find any more.
fn check_not_in_text(ctx: &StatementContext, schema: &str) -> Result<()> {
    for table in ctx.catalog.tables() {
        let of_columns = table.columns.iter().filter_map(|column| {
            let sql = match column.default.as_ref()? {
                ColumnDefault::Expression { sql, .. } => sql,
                ColumnDefault::Generated(generation) => &generation.sql,
                _ => return None,
            };
            Some((sql, format!("column \"{}\"", column.name)))
        });
        let checks = table.checks.iter();
        let of_checks = checks.map(|check| (&check.sql, format!("constraint \"{}\"", check.name)));
        if let Some((_, what)) = of_columns
            .chain(of_checks)
            .find(|(sql, _)| names_schema(sql, schema))
        {
            return Err(Error::unsupported(
                format!(
                    "another name for schema \"{schema}\" while {what} of table \"{}\" names it",
                    table.name
                ),
                Some("Drop what names it first, and create it again afterwards."),
            ));
        }
    }
    Ok(())
}

/// The relation with the new name of the schema wherever its record says the old one.
fn renamed(relation: &Relation, old: &str, new: &str) -> Relation {
    let schema = |own: &str| if own == old { new } else { own }.to_string();
    let path = |path: &[String]| path.iter().map(|name| schema(name)).collect::<Vec<_>>();
    match relation {
        Relation::Table(table) => {
            let mut table = TableDef::clone(table);
            table.schema = schema(&table.schema);
            if let Some(stored) = &mut table.stored_query {
                stored.search_path = path(&stored.search_path);
            }
            Relation::Table(table.into())
        }
        Relation::View(view) => Relation::View(
            ViewDef {
                schema: schema(&view.schema),
                search_path: path(&view.search_path),
                ..ViewDef::clone(view)
            }
            .into(),
        ),
        Relation::Sequence(sequence) => Relation::Sequence(
            SequenceDef {
                schema: schema(&sequence.schema),
                ..SequenceDef::clone(sequence)
            }
            .into(),
        ),
    }
}
