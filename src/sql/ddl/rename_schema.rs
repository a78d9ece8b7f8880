//! ALTER SCHEMA … RENAME TO: the records of all that is in the schema, and of all elsewhere that name it, say the new name. Each is
//! written once.

use std::collections::BTreeMap;

use super::named_in_text::{NamedObject, Renaming};
use super::{renamed_texts, sequence, view_text};
use crate::catalog::{
    BUILTIN_SCHEMAS, CatalogWriter, Relation, RoutineDef, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef,
    is_system_schema,
};
use crate::error::DuplicateKind;
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
    let renaming = Renaming::new(&ctx.catalog, NamedObject::Schema(old), (new, new));
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
        let in_texts = renamed_texts::relation_renamed(relation, &renaming);
        if relation.schema() == old || names_it || reads_it || in_texts.is_some() {
            let known = in_texts.as_ref().unwrap_or(relation);
            let pinned = view_text::pinned(ctx, known, &moved, new)?;
            let pinned = renamed_texts::printed_as(&pinned, relation, &renaming);
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
    move_types_and_routines(ctx, &writer, &renaming, (old, new))?;
    let (is_type, is_routine) = (
        |ty: &TypeDef| ty.schema == old,
        |own: &RoutineDef| own.schema == old,
    );
    renamed_texts::follow_outside(ctx, &writer, &renaming, is_type, is_routine)?;
    writer.drop_schema(schema)?;
    writer.put_schema(&SchemaDef {
        name: new.to_string(),
        ..schema.clone()
    })
}

fn move_types_and_routines(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    renaming: &Renaming<'_>,
    (old, new): (&str, &str),
) -> Result<()> {
    for ty in ctx.catalog.types.iter().filter(|ty| ty.schema == old) {
        let renamed = renamed_texts::type_renamed(ty, renaming);
        writer.put_type(&TypeDef {
            schema: new.to_string(),
            ..renamed.unwrap_or_else(|| TypeDef::clone(ty))
        })?;
    }
    let routines = ctx.catalog.routines.iter();
    for routine in routines.filter(|routine| routine.schema == old) {
        let renamed = renamed_texts::routine_renamed(routine, renaming)?;
        writer.put_routine(&RoutineDef {
            schema: new.to_string(),
            ..renamed.unwrap_or_else(|| RoutineDef::clone(routine))
        })?;
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
