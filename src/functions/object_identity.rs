//! pg_describe_object and pg_identify_object: what an object is called, in words for people and by names that mean it anywhere.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::object_name::role_name;
use super::routine_name::{routine_name, routine_parts};
use super::{Batch, FunctionDef, T};
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::PLPGSQL;
use crate::system::catalog_version::definitions::PG_CATALOG_OID;
use crate::system::catalog_version::objects::{Found, Objects, SYSTEM, UserRelation, read};
use crate::system::pg_catalog::naming::format_type;
use crate::system::pg_catalog::object_class::{
    ACCESS_METHOD_CLASS, AUTHID_CLASS, CAST_CLASS, CLASS_CLASS, CONSTRAINT_CLASS, DEFAULT_CLASS,
    EXTENSION_CLASS, LANGUAGE_CLASS, NAMESPACE_CLASS, PROCEDURE_CLASS, REWRITE_CLASS, TABLESPACE_CLASS,
    TRIGGER_CLASS, TYPE_CLASS, attribute_of_default,
};
use crate::system::pg_catalog::trigger_text::trigger_of;
use crate::system::pg_catalog::{CatalogContext, PLPGSQL_OID};
use crate::{Error, Result};

const ADDRESS: &[T] = &[T::Oid, T::Oid, T::Int4];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_describe_object", ADDRESS, T::Text, |b, catalog| {
        b.map3(|class: i64, object: i64, column: i32| {
            if class == 0 && object == 0 {
                return Ok(None);
            }
            let found = identity(catalog, (class, object, column))?;
            Ok::<_, Error>(Some(found.description).filter(|_| !found.identity.is_empty()))
        })
    }),
    // The columns of pg_identify_object.
    FunctionDef::catalog("identified_kinds", ADDRESS, T::Text, |b, catalog| {
        column(b, catalog, |found| Some(found.kind.to_string()))
    })
    .array(T::Text),
    FunctionDef::catalog("identified_schemas", ADDRESS, T::Text, |b, catalog| {
        column(b, catalog, |found| {
            found.schema.map(|schema| quote_ident(&schema))
        })
    })
    .array(T::Text),
    FunctionDef::catalog("identified_names", ADDRESS, T::Text, |b, catalog| {
        column(b, catalog, |found| found.name.map(|name| quote_ident(&name)))
    })
    .array(T::Text),
    FunctionDef::catalog("identified_identities", ADDRESS, T::Text, |b, catalog| {
        column(b, catalog, |found| {
            Some(found.identity).filter(|identity| !identity.is_empty())
        })
    })
    .array(T::Text),
];

/// What an object is called. One that is not there has its kind alone.
#[derive(Default)]
struct Identity {
    /// Its kind, as event triggers have it.
    kind: &'static str,
    /// Kind and name in words, with schemas where the search path does not find the name.
    description: String,
    schema: Option<String>,
    /// Its name, where that means it in its schema.
    name: Option<String>,
    /// The name with all schemas.
    identity: String,
}

/// One value of the identity, as the array that a column of a set is given as.
fn column(
    batch: &Batch,
    catalog: &CatalogContext,
    pick: impl Fn(Identity) -> Option<String>,
) -> Result<arrow::array::ArrayRef> {
    batch.map3(|class: i64, object: i64, column: i32| {
        identity(catalog, (class, object, column)).map(|found| vec![pick(found)])
    })
}

/// Errors: 22023 for a class that is none, 0A000 for one of whose objects nothing is told.
fn identity(catalog: &CatalogContext, (class, object, column): (i64, i64, i32)) -> Result<Identity> {
    let (kind, found) = match class {
        CLASS_CLASS if column != 0 => ("table column", column_identity(catalog, object, column)),
        CLASS_CLASS => ("relation", relation_identity(catalog, object)),
        TYPE_CLASS => ("type", type_identity(catalog, object)),
        PROCEDURE_CLASS => ("routine", routine_identity(catalog, object)),
        CONSTRAINT_CLASS => ("constraint", constraint_identity(catalog, object)),
        TRIGGER_CLASS => ("trigger", trigger_identity(catalog, object)),
        NAMESPACE_CLASS => ("schema", plain("schema", catalog.objects().schema_name(object))),
        AUTHID_CLASS => ("role", plain("role", role_name(catalog, object))),
        LANGUAGE_CLASS => ("language", plain("language", language_name(object))),
        EXTENSION_CLASS => ("extension", plain("extension", extension_name(catalog, object))),
        DEFAULT_CLASS => ("default value", default_identity(catalog, object)),
        REWRITE_CLASS => ("rule", rule_identity(catalog, object)),
        CAST_CLASS => ("cast", cast_identity(catalog, object)),
        ACCESS_METHOD_CLASS => {
            let name = name_in("pg_am", "amname", object);
            ("access method", plain("access method", name))
        }
        TABLESPACE_CLASS => {
            let name = name_in("pg_tablespace", "spcname", object);
            ("tablespace", plain("tablespace", name))
        }
        _ if SYSTEM.classes.contains_key(&class) => {
            return Err(Error::unsupported(
                format!("the name of an object of class {class}"),
                Some("Ask its catalog for it."),
            ));
        }
        _ => {
            return Err(Error::InvalidParameter {
                message: format!("unrecognized object class: {class}"),
                hint: None,
            });
        }
    };
    Ok(found.unwrap_or(Identity {
        kind,
        ..Identity::default()
    }))
}

/// One that stands in no schema.
fn plain(kind: &'static str, name: Option<String>) -> Option<Identity> {
    let name = name?;
    Some(Identity {
        kind,
        description: format!("{kind} {name}"),
        identity: quote_ident(&name),
        name: Some(name),
        schema: None,
    })
}

fn relation_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let objects = catalog.objects();
    let (schema, name) = objects.relation_name(oid)?;
    let kind = relation_kind(objects, oid);
    let shown = objects.relation_display_name(oid, catalog.search_path())?;
    Some(Identity {
        kind,
        description: format!("{kind} {shown}"),
        identity: qualified(&schema, &name),
        schema: Some(schema),
        name: Some(name),
    })
}

fn relation_kind(objects: &Objects, oid: i64) -> &'static str {
    static SYSTEM_KINDS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let rows = read("pg_class", &["oid", "relkind"]);
        rows.filter_map(|[oid, kind]| Some((oid?, kind?))).collect()
    });
    let kind = match objects.find(oid) {
        Some(Found::Index(..)) => 'i',
        Some(Found::Relation(relation)) => relation.kind,
        None => {
            let kind = SYSTEM_KINDS.get(&oid.to_string());
            kind.and_then(|kind| kind.chars().next()).unwrap_or('r')
        }
    };
    match kind {
        'i' => "index",
        'S' => "sequence",
        'v' => "view",
        'm' => "materialized view",
        'c' => "composite type",
        _ => "table",
    }
}

fn column_identity(catalog: &CatalogContext, oid: i64, column: i32) -> Option<Identity> {
    let relation = relation_identity(catalog, oid)?;
    let at = usize::try_from(column).ok()?.checked_sub(1)?;
    let name = &catalog.objects().table(oid)?.columns.get(at)?.name;
    Some(Identity {
        kind: "table column",
        description: format!("column {name} of {}", relation.description),
        identity: format!("{}.{}", relation.identity, quote_ident(name)),
        ..relation
    })
}

/// The name of a type with its schema, but for those that the standard has names of its own for.
fn qualified_type(objects: &Objects, oid: i64) -> String {
    let name = format_type(oid, None, objects, &[]);
    let of_catalog = SYSTEM.types.get(&oid).map(|ty| match ty.is_array {
        true => SYSTEM.types.get(&ty.element).unwrap_or(ty),
        false => ty,
    });
    match of_catalog {
        Some(ty)
            if ty.namespace == PG_CATALOG_OID && name.trim_end_matches("[]") == quote_ident(&ty.name) =>
        {
            format!("pg_catalog.{name}")
        }
        _ => name,
    }
}

fn type_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let objects = catalog.objects();
    let shown = format_type(oid, None, objects, catalog.search_path());
    if shown == "???" || oid == 0 {
        return None;
    }
    let (schema, name) = match (SYSTEM.types.get(&oid), objects.user_type(oid)) {
        (Some(ty), _) => (objects.schema_name(ty.namespace)?, ty.name.clone()),
        (None, Some(user)) => {
            let underscore = if user.is_array { "_" } else { "" };
            (user.ty.schema.clone(), format!("{underscore}{}", user.ty.name))
        }
        (None, None) => objects.relation_name(oid)?,
    };
    Some(Identity {
        kind: "type",
        description: format!("type {shown}"),
        schema: Some(schema),
        name: Some(name),
        identity: qualified_type(objects, oid),
    })
}

fn routine_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let objects = catalog.objects();
    let shown = routine_name(catalog, "regprocedure", oid)?;
    let (namespace, name, types) = routine_parts(catalog, oid)?;
    let schema = objects.schema_name(namespace)?;
    let made = u32::try_from(oid).ok();
    let made = made.and_then(|oid| catalog.statement().catalog.routines.by_oid(oid));
    let types: Vec<String> = types.into_iter().map(|ty| qualified_type(objects, ty)).collect();
    Some(Identity {
        kind: made.map_or("function", |routine| routine.kind.word()),
        description: format!("function {shown}"),
        identity: format!("{}({})", qualified(&schema, &name), types.join(",")),
        schema: Some(schema),
        name: None,
    })
}

/// The relation whose constraint it is, with the constraint's name.
fn constrained(objects: &Objects, oid: i64) -> Option<(&UserRelation, &str)> {
    if let Some(Found::Index(relation, index)) = objects.find(oid) {
        return index.constraint.then_some((relation, index.name.as_str()));
    }
    let constraint = objects.constraint(oid)?;
    let mut relations = objects.relations.iter();
    let relation = relations.find(|relation| {
        let mut own = relation.constraints.iter();
        own.any(|own| own.oid == oid)
    })?;
    Some((relation, &constraint.name))
}

fn constraint_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let objects = catalog.objects();
    let (relation, name) = constrained(objects, oid)?;
    let of = relation_identity(catalog, relation.oid)?;
    Some(Identity {
        kind: "table constraint",
        description: format!("constraint {name} on {}", of.description),
        identity: format!("{} on {}", quote_ident(name), of.identity),
        schema: of.schema,
        name: None,
    })
}

fn trigger_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let (relation, trigger) = trigger_of(catalog.objects(), oid)?;
    let of = relation_identity(catalog, relation.oid)?;
    let name = &trigger.def.name;
    Some(Identity {
        kind: "trigger",
        description: format!("trigger {name} on {}", of.description),
        identity: format!("{} on {}", quote_ident(name), of.identity),
        schema: None,
        name: None,
    })
}

fn default_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let mut relations = catalog.objects().relations.iter();
    let (relation, attribute) = relations.find_map(|relation| {
        let attribute = attribute_of_default(oid, relation.oid)?;
        let column = relation.columns.get(attribute.checked_sub(1)?)?;
        column.default_node.is_some().then_some((relation.oid, attribute))
    })?;
    let column = column_identity(catalog, relation, i32::try_from(attribute).ok()?)?;
    Some(Identity {
        kind: "default value",
        description: format!("default value for {}", column.description),
        identity: format!("for {}", column.identity),
        schema: None,
        name: None,
    })
}

/// A view's rule has its oid.
fn rule_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let objects = catalog.objects();
    let mut relations = objects.relations.iter();
    relations.find(|relation| relation.oid == oid && matches!(relation.kind, 'v' | 'm'))?;
    let of = relation_identity(catalog, oid)?;
    Some(Identity {
        kind: "rule",
        description: format!("rule _RETURN on {}", of.description),
        identity: format!("\"_RETURN\" on {}", of.identity),
        schema: None,
        name: None,
    })
}

fn cast_identity(catalog: &CatalogContext, oid: i64) -> Option<Identity> {
    let mut made = catalog.statement().catalog.casts.iter();
    let made = made.find(|cast| i64::from(cast.oid) == oid);
    let (source, target) = match made {
        Some(cast) => (i64::from(cast.source.oid()), i64::from(cast.target.oid())),
        None => {
            let mut rows = read("pg_cast", &["oid", "castsource", "casttarget"]);
            let [_, source, target] = rows.find(|[found, ..]| found.as_deref() == Some(&*oid.to_string()))?;
            (source?.parse().ok()?, target?.parse().ok()?)
        }
    };
    let objects = catalog.objects();
    let shown = |oid| format_type(oid, None, objects, catalog.search_path());
    Some(Identity {
        kind: "cast",
        description: format!("cast from {} to {}", shown(source), shown(target)),
        identity: format!(
            "({} AS {})",
            qualified_type(objects, source),
            qualified_type(objects, target)
        ),
        schema: None,
        name: None,
    })
}

fn language_name(oid: i64) -> Option<String> {
    match oid == i64::from(crate::catalog::Language::Plpgsql.oid()) {
        true => Some(PLPGSQL.to_string()),
        false => name_in("pg_language", "lanname", oid),
    }
}

/// The name that a row of every database's catalog has.
fn name_in(relation: &'static str, column: &'static str, oid: i64) -> Option<String> {
    let mut rows = read(relation, &["oid", column]);
    let [_, name] = rows.find(|[found, _]| found.as_deref() == Some(&*oid.to_string()))?;
    name
}

fn extension_name(catalog: &CatalogContext, oid: i64) -> Option<String> {
    let made = catalog.statement().catalog.extensions.values();
    let made = made.map(|made| (i64::from(made.oid), made.name.as_str()));
    let mut all = made.chain([(PLPGSQL_OID, PLPGSQL)]);
    all.find(|(found, _)| *found == oid)
        .map(|(_, name)| name.to_string())
}
