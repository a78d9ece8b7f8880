//! DROP TYPE and DROP DOMAIN, and what depends on a type: columns, domains, and stored expressions and views whose text names it.
//! What goes with CASCADE goes by the statements that would remove it alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast::Statement;

use super::attribute_users::users_of_attributes;
use super::named_in_text::{NamedObject, Renaming, texts_of};
use super::renamed_texts::routine_renamed;
use super::{alter_tree, drop, notice, notice_cascade, triggers, type_lookup};
use crate::catalog::{
    CastDef, Catalog, CatalogWriter, ColumnDef, ColumnDefault, CompositeDef, IndexDef, Relation, RoutineDef,
    TableDef, TriggerDef, TypeDef, TypeKind, ViewDef, stored_name,
};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::definition::TypeDrop;
use crate::parse::names;
use crate::parse::parse;
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::StatementContext;
use crate::types::{RecordField, RecordType};
use crate::{Error, Result};

/// Something that cannot stay without a type, or a function.
pub(super) enum Dependent<'a> {
    Column(&'a TableDef, &'a ColumnDef),
    Index(&'a TableDef, &'a IndexDef),
    Routine(&'a Arc<RoutineDef>),
    Default(&'a TableDef, &'a ColumnDef),
    Check(&'a TableDef, &'a str),
    Trigger(&'a TableDef, &'a str),
    /// A trigger of a view, by name.
    ViewTrigger(&'a Arc<ViewDef>, &'a str),
    /// A view or a materialized view.
    Query(&'a Relation),
    Type(&'a Arc<TypeDef>),
    Attribute(&'a Arc<TypeDef>, &'a RecordField),
    Cast(&'a Arc<CastDef>),
}

/// Runs DROP TYPE or DROP DOMAIN. Errors: 42704, 42809, 2BP01 without CASCADE.
pub(super) async fn drop_types(ctx: &StatementContext, statement: &TypeDrop) -> Result<()> {
    let mut dropped: Vec<Arc<TypeDef>> = Vec::new();
    for name in &statement.names {
        if let Some(ty) = dropped_type(ctx, name, statement)?
            && !dropped.iter().any(|known| known.oid == ty.oid)
        {
            dropped.push(ty);
        }
    }
    let object = match dropped.as_slice() {
        [] => return Ok(()),
        [only] => described(only),
        _ => "desired object(s)".to_string(),
    };
    remove_types(ctx, &dropped, object, statement.cascade).await
}

/// Removes types, which are all of `object` or this itself, and what depends on them. Errors: 2BP01 without CASCADE.
pub(super) async fn remove_types(
    ctx: &StatementContext,
    dropped: &[Arc<TypeDef>],
    object: String,
    cascade: bool,
) -> Result<()> {
    let types = ctx.catalog.types.clone();
    let catalog = Arc::clone(&ctx.catalog);
    let found = all_dependents(&catalog, &types, dropped);
    if !cascade && !found.is_empty() {
        let lines = found.iter().map(|(dependent, on)| {
            let of_array = dependent.is_of_array();
            format!("{} depends on {on}{of_array}", dependent.described())
        });
        return Err(Error::DependentObjects {
            object,
            dependents: lines.collect(),
        });
    }
    let gone: Vec<String> = found.iter().map(|(dependent, _)| dependent.described()).collect();
    notice_cascade(ctx, &gone);
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    remove(ctx, &writer, found.iter().map(|(dependent, _)| dependent)).await?;
    dropped.iter().try_for_each(|ty| writer.drop_type(ty))
}

/// Removes the types of schemas that are dropped with all they hold (`gone` among it), and what depends on the types elsewhere.
pub(super) async fn drop_of_schemas(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    dropped: &[Arc<TypeDef>],
    gone: &[&Relation],
) -> Result<()> {
    let types = ctx.catalog.types.clone();
    let catalog = Arc::clone(&ctx.catalog);
    let found = all_dependents(&catalog, &types, dropped);
    let is_left = |dependent: &&Dependent<'_>| {
        let oid = match dependent {
            Dependent::Column(table, _)
            | Dependent::Index(table, _)
            | Dependent::Default(table, _)
            | Dependent::Check(table, _)
            | Dependent::Trigger(table, _) => table.oid,
            Dependent::Query(relation) => relation.oid(),
            Dependent::ViewTrigger(view, _) => view.oid(),
            Dependent::Routine(routine) => routine.oid,
            Dependent::Cast(cast) => cast.oid,
            Dependent::Type(ty) | Dependent::Attribute(ty, _) => {
                return dropped.iter().all(|dropped| dropped.oid != ty.oid);
            }
        };
        gone.iter().all(|relation| relation.oid() != oid)
    };
    let left: Vec<&Dependent<'_>> = found
        .iter()
        .map(|(dependent, _)| dependent)
        .filter(is_left)
        .collect();
    let described: Vec<String> = left.iter().map(|dependent| dependent.described()).collect();
    notice_cascade(ctx, &described);
    remove(ctx, writer, left.into_iter()).await?;
    dropped.iter().try_for_each(|ty| writer.drop_type(ty))
}

/// Removes what depends on types or functions.
pub(super) async fn remove<'a>(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    found: impl Iterator<Item = &'a Dependent<'a>>,
) -> Result<()> {
    let mut tables: Vec<(&TableDef, Vec<String>)> = Vec::new();
    let mut attributes: Vec<(&Arc<TypeDef>, &RecordField)> = Vec::new();
    let mut types: Vec<&Arc<TypeDef>> = Vec::new();
    let mut triggers: Vec<(&TableDef, &str)> = Vec::new();
    let mut view_triggers: Vec<(&Arc<ViewDef>, Vec<&str>)> = Vec::new();
    let mut indexes: Vec<(&TableDef, Vec<IndexId>)> = Vec::new();
    let mut queries: Vec<&Relation> = Vec::new();
    for dependent in found {
        match dependent {
            Dependent::Trigger(table, name) => triggers.push((table, name)),
            Dependent::ViewTrigger(view, name) => {
                match view_triggers.iter_mut().find(|(known, _)| known.id == view.id) {
                    Some((_, names)) => names.push(name),
                    None => view_triggers.push((view, vec![name])),
                }
            }
            Dependent::Query(relation) => queries.push(relation),
            Dependent::Type(ty) => types.push(ty),
            Dependent::Attribute(ty, field) => attributes.push((ty, field)),
            Dependent::Routine(routine) => writer.drop_routine(routine)?,
            Dependent::Cast(cast) => writer.drop_cast(cast)?,
            Dependent::Index(table, index) => {
                match indexes.iter_mut().find(|(known, _)| known.oid == table.oid) {
                    Some((_, ids)) => ids.push(index.id),
                    None => indexes.push((table, vec![index.id])),
                }
            }
            Dependent::Column(table, _) | Dependent::Default(table, _) | Dependent::Check(table, _) => {
                let action = match dependent {
                    // The key goes before its column.
                    Dependent::Column(table, column) if table.is_key_column(column.id) => {
                        let key = quote_ident(&table.primary_key.name);
                        format!("DROP CONSTRAINT IF EXISTS {key} CASCADE, {}", dependent.removal())
                    }
                    dependent => dependent.removal(),
                };
                match tables.iter_mut().find(|(known, _)| known.oid == table.oid) {
                    Some((_, actions)) => actions.push(action),
                    None => tables.push((table, vec![action])),
                }
            }
        }
    }
    drop::drop_with_dependents(&ctx.catalog, writer, queries).await?;
    triggers::remove(ctx, &triggers)?;
    for (view, names) in view_triggers {
        triggers::remove_of_view(ctx, view, &names)?;
    }
    remove_attributes(ctx, writer, &attributes)?;
    remove_indexes(ctx, indexes).await?;
    alter_tables(ctx, tables).await?;
    types.into_iter().try_for_each(|ty| writer.drop_type(ty))
}

/// Runs actions of ALTER TABLE.
async fn alter_tables(ctx: &StatementContext, tables: Vec<(&TableDef, Vec<String>)>) -> Result<()> {
    for (table, actions) in tables {
        let text = format!(
            "ALTER TABLE {} {}",
            qualified(&table.schema, &table.name),
            actions.join(", ")
        );
        let statement = parse(&text)?.pop();
        let statement = statement.ok_or_else(|| Error::internal("a definition that does not read"))?;
        // One may change what another is of: a key goes, and the foreign keys of other tables with it. All that goes was told.
        let ctx = StatementContext {
            hints: statement.hints,
            catalog: Catalog::load(&ctx.txn, Some(Arc::clone(&ctx.catalog))).await?,
            notices: Arc::default(),
            ..ctx.clone()
        };
        match statement.ast {
            Statement::AlterTable(alter) => drop(Box::pin(alter_tree::execute(&ctx, &alter)).await?),
            _ => return Err(Error::internal("a definition that does not read")),
        }
    }
    Ok(())
}

/// Removes indexes of tables, which may have changed in this statement.
async fn remove_indexes(ctx: &StatementContext, removed: Vec<(&TableDef, Vec<IndexId>)>) -> Result<()> {
    for (table, ids) in removed {
        let catalog = Catalog::load(&ctx.txn, Some(Arc::clone(&ctx.catalog))).await?;
        let Some(table) = catalog.table_by_oid(table.oid) else {
            continue;
        };
        drop::remove_indexes(&CatalogWriter::begin(&ctx.txn, &catalog)?, table, &ids)?;
    }
    Ok(())
}

/// Removes attributes of composite types. Errors: 0A000 where none would be left, or a constant holds them.
fn remove_attributes(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    removed: &[(&Arc<TypeDef>, &RecordField)],
) -> Result<()> {
    let mut done: Vec<u32> = Vec::new();
    for (ty, _) in removed {
        let TypeKind::Composite(composite) = &ty.kind else {
            continue;
        };
        if done.contains(&ty.oid) {
            continue;
        }
        done.push(ty.oid);
        users_of_attributes(ctx, ty)?.check_constants(ty)?;
        let mut row = RecordType::clone(&composite.row);
        let is_left = |field: &RecordField| {
            let is_it =
                |(of, gone): &(&Arc<TypeDef>, &RecordField)| of.oid == ty.oid && gone.number == field.number;
            !removed.iter().any(is_it)
        };
        row.fields.retain(is_left);
        if row.fields.is_empty() {
            return Err(Error::unsupported(
                format!("composite type {} without its last attribute", ty.name),
                Some("Drop the type as well."),
            ));
        }
        writer.put_type(&TypeDef {
            kind: TypeKind::Composite(CompositeDef {
                row: Arc::new(row),
                last_number: composite.last_number,
            }),
            ..TypeDef::clone(ty)
        })?;
    }
    Ok(())
}

/// The type that DROP names. Errors: 42704, 42809.
fn dropped_type(
    ctx: &StatementContext,
    name: &sqlparser::ast::ObjectName,
    statement: &TypeDrop,
) -> Result<Option<Arc<TypeDef>>> {
    let (schema, last) = names::relation_name(name)?;
    let missing_schema = schema
        .as_ref()
        .filter(|schema| !ctx.catalog.schemas.contains_key(*schema));
    if let Some(schema) = missing_schema.filter(|_| statement.if_exists) {
        notice(
            ctx,
            "00000",
            format!("schema \"{schema}\" does not exist, skipping"),
            None,
        );
        return Ok(None);
    }
    let Some(found) = ctx.get_type(schema.as_deref(), &last)? else {
        let known = crate::types::SqlType::from_name(&last, &[]).ok().flatten();
        if let Some(known) = known {
            return Err(Error::InvalidStatement {
                state: StatementFault::DependentObjects,
                message: format!("cannot drop type {known} because it is required by the database system"),
                hint: None,
            });
        }
        if statement.if_exists {
            let name = schema.map_or_else(|| last.clone(), |schema| format!("{schema}.{last}"));
            notice(
                ctx,
                "00000",
                format!("type \"{name}\" does not exist, skipping"),
                None,
            );
            return Ok(None);
        }
        return Err(type_lookup::undefined(schema.as_deref(), &last));
    };
    if let TypeKind::Base(_) = found.kind {
        let extension = crate::system::extension_of(&found.sql_type()).unwrap_or(&found.name);
        return Err(Error::InvalidStatement {
            state: StatementFault::DependentObjects,
            message: format!(
                "cannot drop {} because extension {extension} requires it",
                described(&found)
            ),
            hint: Some(format!("You can drop extension {extension} instead.")),
        });
    }
    match statement.of_domains && found.domain().is_none() {
        true => Err(type_lookup::no_domain(&last)),
        false => Ok(Some(found)),
    }
}

/// What depends on types, and on domains and views that do, with what each depends on.
fn all_dependents<'a>(
    catalog: &'a Catalog,
    types: &'a crate::catalog::UserTypes,
    dropped: &[Arc<TypeDef>],
) -> Vec<(Dependent<'a>, String)> {
    let mut queue: Vec<Arc<TypeDef>> = dropped.to_vec();
    let mut seen: BTreeSet<String> = dropped.iter().map(|ty| described(ty)).collect();
    let mut all = Vec::new();
    while let Some(ty) = queue.pop() {
        for dependent in dependents(catalog, types, &ty) {
            if !seen.insert(dependent.key()) {
                continue;
            }
            if let Dependent::Type(over) = dependent {
                queue.push(Arc::clone(over));
            }
            all.push((dependent, described(&ty)));
        }
    }
    add_views_over(catalog, &mut all);
    // With a column go its constraints.
    let gone: Vec<(u32, ColumnId)> = all
        .iter()
        .filter_map(|(dependent, _)| match dependent {
            Dependent::Column(table, column) => Some((table.oid, column.id)),
            _ => None,
        })
        .collect();
    all.retain(|(dependent, _)| match dependent {
        Dependent::Check(table, name) => {
            let check = table.checks.iter().find(|check| check.name == *name);
            let mut columns = check.into_iter().flat_map(|check| &check.columns);
            !columns.any(|id| gone.contains(&(table.oid, *id)))
        }
        _ => true,
    });
    all
}

/// Views of views among what depends on something: they cannot stay either.
pub(super) fn add_views_over<'a>(catalog: &'a Catalog, found: &mut Vec<(Dependent<'a>, String)>) {
    let queries = found.iter().filter_map(|(dependent, _)| match dependent {
        Dependent::Query(relation) => Some(*relation),
        _ => None,
    });
    let queries: Vec<&Relation> = queries.collect();
    for (view, read) in drop::views_over(catalog, &queries) {
        found.push((Dependent::Query(view), Dependent::Query(read).described()));
    }
}

/// What depends on a type, directly.
fn dependents<'a>(
    catalog: &'a Catalog,
    types: &'a crate::catalog::UserTypes,
    ty: &TypeDef,
) -> Vec<Dependent<'a>> {
    let mut found: Vec<Dependent<'a>> = Vec::new();
    for over in types.iter().filter(|over| over.rests_on().contains(&ty.oid)) {
        let TypeKind::Composite(composite) = &over.kind else {
            found.push(Dependent::Type(over));
            continue;
        };
        let is_of = |field: &&RecordField| field.ty.user_types().iter().any(|(used, _)| *used == ty.oid);
        let fields = composite.row.fields.iter().filter(is_of);
        found.extend(fields.map(|field| Dependent::Attribute(over, field)));
    }
    let asking = Renaming::asking(catalog, NamedObject::Type(ty));
    for table in catalog.tables() {
        let is_of_index = |column: &&ColumnDef| table.indexes.iter().any(|index| holds(index, column.id));
        let columns = table.columns.iter().chain(&table.wildcards);
        for column in columns.filter(|column| !is_of_index(column)) {
            let generates = column.generation();
            let names = |sql: &str| asking.is_in_expression(sql);
            if column.types_used().any(|used| used == ty.oid)
                || generates.is_some_and(|generation| names(&generation.sql))
            {
                found.push(Dependent::Column(table, column));
            } else if column
                .default
                .as_ref()
                .is_some_and(|default| is_in_default(default, &asking))
            {
                found.push(Dependent::Default(table, column));
            }
        }
        let checks = table.checks.iter();
        let checks = checks.filter(|check| asking.is_in_expression(&check.sql));
        found.extend(checks.map(|check| Dependent::Check(table, &check.name)));
        let indexes = table.indexes.iter();
        let names = |text: &str| asking.printed(text).is_some();
        let indexes = indexes.filter(|index| texts_of(index).into_iter().any(names));
        found.extend(indexes.map(|index| Dependent::Index(table, index)));
    }
    let routines = catalog.routines.iter();
    let is_in_text = |routine: &RoutineDef| matches!(routine_renamed(routine, &asking), Ok(Some(_)));
    let routines = routines.filter(|routine| routine.types_used().contains(&ty.oid) || is_in_text(routine));
    found.extend(routines.map(Dependent::Routine));
    let casts = catalog.casts.iter();
    let casts = casts.filter(|cast| cast.types_used().contains(&ty.oid));
    found.extend(casts.map(Dependent::Cast));
    let stored = stored_name(&ty.sql_type());
    let is_of = |(_, name): &(String, String)| ty.domain().is_none() && name.trim_end_matches("[]") == stored;
    for relation in catalog.relations.iter() {
        let Some((query, path)) = relation.query() else {
            continue;
        };
        let has_column = matches!(relation, Relation::View(view) if view.columns.iter().any(is_of));
        if has_column || asking.is_in_query(query, path) {
            found.push(Dependent::Query(relation));
        }
    }
    found.extend(triggers_naming(catalog, &asking));
    found
}

/// The triggers whose conditions name something.
pub(super) fn triggers_naming<'a>(catalog: &'a Catalog, asking: &Renaming<'_>) -> Vec<Dependent<'a>> {
    triggers_that(catalog, |trigger| {
        let when = trigger.when.as_ref();
        when.is_some_and(|when| asking.is_in_expression(&when.sql))
    })
}

/// The triggers of tables and of views that a test chooses.
pub(super) fn triggers_that(
    catalog: &Catalog,
    is_chosen: impl Fn(&TriggerDef) -> bool,
) -> Vec<Dependent<'_>> {
    let is_chosen = |trigger: &&TriggerDef| is_chosen(trigger);
    let mut found = Vec::new();
    for relation in catalog.relations.iter() {
        match relation {
            Relation::Table(table) => {
                let triggers = table.triggers.iter().filter(is_chosen);
                found.extend(triggers.map(|trigger| Dependent::Trigger(table, &trigger.name)));
            }
            Relation::View(view) => {
                let triggers = view.triggers.iter().filter(is_chosen);
                found.extend(triggers.map(|trigger| Dependent::ViewTrigger(view, &trigger.name)));
            }
            Relation::Sequence(_) => {}
        }
    }
    found
}

/// Whether a default of another type names this one; a constant does as what it was made of.
fn is_in_default(default: &ColumnDefault, asking: &Renaming<'_>) -> bool {
    match default {
        ColumnDefault::Expression { sql, .. } => asking.is_in_expression(sql),
        ColumnDefault::Constant { text: Some(text), .. } => asking.is_in_printed(text),
        _ => false,
    }
}

/// Whether the column is there for an index: it holds what that is sorted by, or its condition.
fn holds(index: &IndexDef, column: ColumnId) -> bool {
    let mut expressions = index.expressions.iter().chain(&index.predicate);
    expressions.any(|expression| expression.column == column)
}

fn described(ty: &TypeDef) -> String {
    format!("type {}", quote_ident(&ty.name))
}

impl Dependent<'_> {
    /// As messages name it.
    pub(super) fn described(&self) -> String {
        match self {
            Dependent::Index(_, index) => format!("index {}", index.name),
            Dependent::Routine(routine) => {
                let described = crate::query::described_routine(routine).replace(", ", ",");
                format!("{} {described}", routine.kind.word())
            }
            Dependent::Column(table, column) => format!("column {} of table {}", column.name, table.name),
            Dependent::Default(table, column) => {
                format!("default value for column {} of table {}", column.name, table.name)
            }
            Dependent::Check(table, name) => format!("constraint {name} on table {}", table.name),
            Dependent::Trigger(table, name) => format!("trigger {name} on table {}", table.name),
            Dependent::ViewTrigger(view, name) => format!("trigger {name} on view {}", view.name),
            Dependent::Query(relation) => {
                let word = if relation.get_table().is_some() {
                    "materialized view"
                } else {
                    "view"
                };
                format!("{word} {}", relation.name())
            }
            Dependent::Type(ty) => described(ty),
            Dependent::Cast(cast) => cast.described().replace(" type ", " "),
            Dependent::Attribute(ty, field) => {
                format!(
                    "column {} of composite type {}",
                    field.name,
                    quote_ident(&ty.name)
                )
            }
        }
    }

    /// What stands behind the type that a column of arrays of it depends on.
    fn is_of_array(&self) -> &'static str {
        match self {
            Dependent::Column(_, column)
                if column.ty.declared_dimensions() > 0 && column.domain.is_none() =>
            {
                "[]"
            }
            _ => "",
        }
    }

    /// What no other has.
    pub(super) fn key(&self) -> String {
        match self {
            Dependent::Routine(routine) => format!("{} {}", routine.oid, self.described()),
            Dependent::Column(table, _)
            | Dependent::Index(table, _)
            | Dependent::Default(table, _)
            | Dependent::Check(table, _)
            | Dependent::Trigger(table, _) => {
                format!("{} {}", table.oid, self.described())
            }
            Dependent::Query(relation) => format!("{} {}", relation.oid(), self.described()),
            Dependent::ViewTrigger(view, _) => format!("{} {}", view.oid(), self.described()),
            Dependent::Type(_) | Dependent::Attribute(..) | Dependent::Cast(_) => self.described(),
        }
    }

    /// The action of ALTER TABLE that removes it.
    fn removal(&self) -> String {
        match self {
            Dependent::Column(table, column) if table.is_wildcard(column) => {
                format!("DROP WILDCARD \"{}\"", column.name.replace('"', "\"\""))
            }
            Dependent::Column(_, column) => format!("DROP COLUMN {} CASCADE", quote_ident(&column.name)),
            Dependent::Default(_, column) => {
                format!("ALTER COLUMN {} DROP DEFAULT", quote_ident(&column.name))
            }
            Dependent::Check(_, name) => format!("DROP CONSTRAINT {}", quote_ident(name)),
            Dependent::Query(_)
            | Dependent::Type(_)
            | Dependent::Attribute(..)
            | Dependent::Routine(_)
            | Dependent::Cast(_)
            | Dependent::Trigger(..)
            | Dependent::ViewTrigger(..)
            | Dependent::Index(..) => String::new(),
        }
    }
}
