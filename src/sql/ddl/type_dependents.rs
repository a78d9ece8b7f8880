//! DROP TYPE and DROP DOMAIN, and what depends on a type: columns, domains, and stored expressions and views whose text names it.
//! What goes with CASCADE goes by the statements that would remove it alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast::Statement;

use super::attribute_users::users_of_attributes;
use super::{alter_tree, notice, notice_cascade, triggers, type_lookup};
use crate::catalog::{
    CastDef, Catalog, CatalogWriter, ColumnDef, ColumnDefault, CompositeDef, IndexDef, Relation, RoutineDef,
    TableDef, TypeDef, TypeKind, ViewDef, stored_name,
};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::definition::TypeDrop;
use crate::parse::names;
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::{mentions_word, parse};
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
    View(&'a Arc<ViewDef>),
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
            format!("{} depends on {}{of_array}", dependent.described(), described(on))
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
            Dependent::View(view) | Dependent::ViewTrigger(view, _) => view.oid(),
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
    for dependent in found {
        match dependent {
            Dependent::Trigger(table, name) => triggers.push((table, name)),
            Dependent::ViewTrigger(view, name) => {
                match view_triggers.iter_mut().find(|(known, _)| known.id == view.id) {
                    Some((_, names)) => names.push(name),
                    None => view_triggers.push((view, vec![name])),
                }
            }
            Dependent::View(view) => writer.drop_view(view)?,
            Dependent::Type(ty) => types.push(ty),
            Dependent::Attribute(ty, field) => attributes.push((ty, field)),
            Dependent::Routine(routine) => writer.drop_routine(routine)?,
            Dependent::Cast(cast) => writer.drop_cast(cast)?,
            Dependent::Index(table, index) => super::drop::remove_indexes(writer, table, &[index.id])?,
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
    triggers::remove(ctx, &triggers)?;
    for (view, names) in view_triggers {
        triggers::remove_of_view(ctx, view, &names)?;
    }
    remove_attributes(ctx, writer, &attributes)?;
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
    types.into_iter().try_for_each(|ty| writer.drop_type(ty))
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

/// Errors: 0A000 where the text of something stored names the type, which another name would break.
pub(super) fn check_not_in_text(ctx: &StatementContext, ty: &TypeDef) -> Result<()> {
    // Nor may anybody be making such a thing.
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    let types = ctx.catalog.types.clone();
    let found = dependents(&ctx.catalog, &types, ty);
    let named = found.iter().find(|dependent| match dependent {
        Dependent::Default(..) | Dependent::Check(..) => true,
        Dependent::View(view) => mentions_word(&view.query, &ty.name),
        Dependent::Index(..)
        | Dependent::Routine(_)
        | Dependent::Cast(_)
        | Dependent::Trigger(..)
        | Dependent::ViewTrigger(..) => false,
        Dependent::Column(_, column) => column
            .generation()
            .is_some_and(|generation| mentions_word(&generation.sql, &ty.name)),
        Dependent::Type(_) | Dependent::Attribute(..) => false,
    });
    match named {
        None => Ok(()),
        Some(dependent) => Err(Error::FeatureNotSupported {
            feature: format!(
                "another name for {} while {} names it",
                described(ty),
                dependent.described()
            ),
            hint: Some("Drop what names it first, and create it again afterwards.".to_string()),
        }),
    }
}

/// The tables that have columns of a type.
fn tables_with(ctx: &StatementContext, oid: u32) -> impl Iterator<Item = &Arc<TableDef>> {
    let rests = move |column: &ColumnDef| column.types_used().any(|used| used == oid);
    let tables = ctx.catalog.tables();
    tables.filter(move |table| table.columns.iter().any(rests))
}

/// Errors: 0A000 where the text of something stored names the label, which another name would break.
pub(super) fn check_label_not_in_text(ctx: &StatementContext, ty: &TypeDef, label: &str) -> Result<()> {
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    let literal = format!("'{}'", label.replace('\'', "''"));
    let names = |sql: &str| sql.contains(&literal);
    let mut named = None;
    for table in tables_with(ctx, ty.oid) {
        let checks = table.checks.iter().filter(|check| names(&check.sql));
        named = named.or(checks
            .map(|check| format!("constraint {} on table {}", check.name, table.name))
            .next());
        let columns = table.columns.iter().filter(|column| match &column.default {
            Some(ColumnDefault::Expression { sql, .. }) => names(sql),
            _ => column
                .generation()
                .is_some_and(|generation| names(&generation.sql)),
        });
        named = named.or(columns
            .map(|column| format!("column {} of table {}", column.name, table.name))
            .next());
        let views = ctx.catalog.queries_reading(table.oid);
        let mut views = views.filter(|view| view.query().is_some_and(|(query, _)| names(query)));
        named = named.or(views.next().map(|view| format!("view {}", view.name())));
    }
    for over in ctx
        .catalog
        .types
        .iter()
        .filter(|over| over.rests_on().contains(&ty.oid))
    {
        let domain = over.domain();
        let is_named = domain.is_some_and(|domain| {
            domain.checks.iter().any(|check| names(&check.sql))
                || domain.default.as_deref().is_some_and(names)
        });
        named = named.or(is_named.then(|| format!("domain {}", over.name)));
    }
    let mut views = ctx.catalog.relations.iter().filter(|view| {
        let query = view.query().map(|(query, _)| query);
        query.is_some_and(|query| names(query) && mentions_word(query, &ty.name))
    });
    named = named.or(views.next().map(|view| format!("view {}", view.name())));
    match named {
        None => Ok(()),
        Some(what) => Err(Error::FeatureNotSupported {
            feature: format!("another name for the label \"{label}\" while {what} names it"),
            hint: Some("Drop what names it first, and create it again afterwards.".to_string()),
        }),
    }
}

/// Errors: 0A000 where the text of something stored may name the attribute, which another name, or none, would break.
pub(super) fn check_attribute_not_in_text(
    ctx: &StatementContext,
    ty: &TypeDef,
    attribute: &str,
) -> Result<()> {
    ctx.txn.guard(&crate::catalog::dependents_key(ty.oid));
    let names = |sql: &str| mentions_word(sql, attribute);
    let mut named = None;
    for table in tables_with(ctx, ty.oid) {
        let check = table.checks.iter().find(|check| names(&check.sql));
        named = named.or(check.map(|check| format!("constraint {} on table {}", check.name, table.name)));
        let column = table.columns.iter().find(|column| match &column.default {
            Some(ColumnDefault::Expression { sql, .. }) => names(sql),
            _ => column
                .generation()
                .is_some_and(|generation| names(&generation.sql)),
        });
        named = named.or(column.map(|column| format!("column {} of table {}", column.name, table.name)));
        let mut views = ctx.catalog.queries_reading(table.oid);
        let view = views.find(|view| view.query().is_some_and(|(query, _)| names(query)));
        named = named.or(view.map(|view| format!("view {}", view.name())));
    }
    match named {
        None => Ok(()),
        Some(what) => Err(Error::FeatureNotSupported {
            feature: format!("a change of attribute \"{attribute}\" while {what} may name it"),
            hint: Some("Drop what names it first, and create it again afterwards.".to_string()),
        }),
    }
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
) -> Vec<(Dependent<'a>, Arc<TypeDef>)> {
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
            all.push((dependent, Arc::clone(&ty)));
        }
    }
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
    for table in catalog.tables() {
        for column in table.columns.iter().chain(&table.wildcards) {
            let generates = column.generation();
            let names = |sql: &str| mentions_word(sql, &ty.name);
            if column.types_used().any(|used| used == ty.oid)
                || generates.is_some_and(|generation| names(&generation.sql))
            {
                found.push(Dependent::Column(table, column));
            } else if column
                .default
                .as_ref()
                .is_some_and(|default| is_default_of(default, ty))
            {
                found.push(Dependent::Default(table, column));
            }
        }
        let checks = table.checks.iter();
        let checks = checks.filter(|check| mentions_word(&check.sql, &ty.name));
        found.extend(checks.map(|check| Dependent::Check(table, &check.name)));
    }
    let routines = catalog.routines.iter();
    let routines = routines.filter(|routine| routine.types_used().contains(&ty.oid));
    found.extend(routines.map(Dependent::Routine));
    let casts = catalog.casts.iter();
    let casts = casts.filter(|cast| cast.types_used().contains(&ty.oid));
    found.extend(casts.map(Dependent::Cast));
    for relation in catalog.relations.iter() {
        let Relation::View(view) = relation else { continue };
        let stored = stored_name(&ty.sql_type());
        let is_of =
            |(_, name): &(String, String)| ty.domain().is_none() && name.trim_end_matches("[]") == stored;
        if view.columns.iter().any(is_of) || mentions_word(&view.query, &ty.name) {
            found.push(Dependent::View(view));
        }
    }
    found
}

/// Whether a default of another type names this one; a constant does as what it was made of.
fn is_default_of(default: &ColumnDefault, ty: &TypeDef) -> bool {
    match default {
        ColumnDefault::Expression { sql, .. } => mentions_word(sql, &ty.name),
        ColumnDefault::Constant { text: Some(text), .. } => {
            text.plain.ends_with(&format!("::{}", quote_ident(&ty.name)))
        }
        _ => false,
    }
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
            Dependent::View(view) => format!("view {}", view.name),
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
            Dependent::View(view) | Dependent::ViewTrigger(view, _) => {
                format!("{} {}", view.oid(), self.described())
            }
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
            Dependent::View(_)
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
