//! Names to oids and back: regclass and its kin, visibility, format_type, comments.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use arrow::array::ArrayRef;

use super::collation_name::{collation_name, collation_oid, no_collation};
use super::routine_name::{routine_is_visible, routine_name, routine_oid};
use super::type_name::{find_relation, find_type};
use super::{Batch, FunctionDef, T, large_object, null};
use crate::error::{StatementFault, nearest_name};
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::StatementContext;
use crate::system::catalog_version::definitions::definition;
use crate::system::catalog_version::objects::{
    Found, SYSTEM, SystemObject, is_in_catalog, path_with_catalog, read,
};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::naming::{self, split_name};
use crate::system::pg_catalog::object_class::{
    CAST_CLASS, CLASS_CLASS, CONSTRAINT_CLASS, EXTENSION_CLASS, PROCEDURE_CLASS, TRIGGER_CLASS, TYPE_CLASS,
};
use crate::system::pg_catalog::role_rows::all_role_names;
use crate::system::pg_catalog::trigger_text::trigger_of;
use crate::types::{CatalogType, SqlType, Value, relation_of_row_array};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // `x::regclass` and `regclass(x)`: text is looked up, an oid stays what it is.
    FunctionDef::catalog("regclass", &[T::Text], T::Regclass, |b, catalog| {
        b.map1(|text| object_oid(catalog, "regclass", text))
    }),
    FunctionDef::new("regclass", &[T::Oid], T::Regclass, oid),
    // `x::regclass` of a text that is no literal: a name, whatever it looks like.
    FunctionDef::catalog("relation_named", &[T::Text], T::Regclass, |b, catalog| {
        b.map1(|name| object_named(catalog, "regclass", name))
    }),
    FunctionDef::catalog(
        "regtype",
        &[T::Text],
        T::Catalog(CatalogType::Regtype),
        |b, catalog| b.map1(|text| object_oid(catalog, "regtype", text)),
    ),
    FunctionDef::new("regtype", &[T::Oid], T::Catalog(CatalogType::Regtype), oid),
    FunctionDef::catalog(
        "regproc",
        &[T::Text],
        T::Catalog(CatalogType::Regproc),
        |b, catalog| b.map1(|text| object_oid(catalog, "regproc", text)),
    ),
    FunctionDef::new("regproc", &[T::Oid], T::Catalog(CatalogType::Regproc), oid),
    FunctionDef::catalog(
        "regprocedure",
        &[T::Text],
        T::Catalog(CatalogType::Regprocedure),
        |b, catalog| b.map1(|text| object_oid(catalog, "regprocedure", text)),
    ),
    FunctionDef::new(
        "regprocedure",
        &[T::Oid],
        T::Catalog(CatalogType::Regprocedure),
        oid,
    ),
    FunctionDef::catalog(
        "to_regprocedure",
        &[T::Text],
        T::Catalog(CatalogType::Regprocedure),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regprocedure", text)),
    ),
    FunctionDef::catalog(
        "regoper",
        &[T::Text],
        T::Catalog(CatalogType::Regoper),
        |b, catalog| b.map1(|text| object_oid(catalog, "regoper", text)),
    ),
    FunctionDef::new("regoper", &[T::Oid], T::Catalog(CatalogType::Regoper), oid),
    FunctionDef::catalog(
        "to_regoper",
        &[T::Text],
        T::Catalog(CatalogType::Regoper),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regoper", text)),
    ),
    FunctionDef::catalog(
        "regoperator",
        &[T::Text],
        T::Catalog(CatalogType::Regoperator),
        |b, catalog| b.map1(|text| object_oid(catalog, "regoperator", text)),
    ),
    FunctionDef::new(
        "regoperator",
        &[T::Oid],
        T::Catalog(CatalogType::Regoperator),
        oid,
    ),
    FunctionDef::catalog(
        "to_regoperator",
        &[T::Text],
        T::Catalog(CatalogType::Regoperator),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regoperator", text)),
    ),
    FunctionDef::catalog(
        "regnamespace",
        &[T::Text],
        T::Catalog(CatalogType::Regnamespace),
        |b, catalog| b.map1(|text| object_oid(catalog, "regnamespace", text)),
    ),
    FunctionDef::new(
        "regnamespace",
        &[T::Oid],
        T::Catalog(CatalogType::Regnamespace),
        oid,
    ),
    FunctionDef::catalog(
        "regrole",
        &[T::Text],
        T::Catalog(CatalogType::Regrole),
        |b, catalog| b.map1(|text| object_oid(catalog, "regrole", text)),
    ),
    FunctionDef::new("regrole", &[T::Oid], T::Catalog(CatalogType::Regrole), oid),
    FunctionDef::catalog(
        "regcollation",
        &[T::Text],
        T::Catalog(CatalogType::Regcollation),
        |b, catalog| b.map1(|text| object_oid(catalog, "regcollation", text)),
    ),
    FunctionDef::new(
        "regcollation",
        &[T::Oid],
        T::Catalog(CatalogType::Regcollation),
        oid,
    ),
    FunctionDef::catalog(
        "to_regcollation",
        &[T::Text],
        T::Catalog(CatalogType::Regcollation),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regcollation", text)),
    ),
    FunctionDef::catalog("to_regclass", &[T::Text], T::Regclass, |b, catalog| {
        b.map1(|text: &str| get_object_named(catalog, "regclass", text))
    }),
    FunctionDef::catalog(
        "to_regtype",
        &[T::Text],
        T::Catalog(CatalogType::Regtype),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regtype", text)),
    ),
    FunctionDef::catalog(
        "to_regproc",
        &[T::Text],
        T::Catalog(CatalogType::Regproc),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regproc", text)),
    ),
    FunctionDef::catalog(
        "to_regnamespace",
        &[T::Text],
        T::Catalog(CatalogType::Regnamespace),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regnamespace", text)),
    ),
    FunctionDef::catalog(
        "to_regrole",
        &[T::Text],
        T::Catalog(CatalogType::Regrole),
        |b, catalog| b.map1(|text: &str| get_object_named(catalog, "regrole", text)),
    ),
    FunctionDef::catalog("object_name", &[T::Text, T::Oid], T::Text, |b, catalog| {
        b.map2(|kind, oid| object_name(catalog, kind, oid))
    }),
    FunctionDef::catalog("format_type", &[T::Oid, T::Int4], T::Text, |b, catalog| {
        b.map2(|oid: i64, modifier: Option<i32>| {
            naming::format_type(oid, modifier, catalog.objects(), catalog.search_path())
        })
    })
    .bounded()
    .on_null(),
    FunctionDef::catalog(
        "oidvectortypes",
        &[T::Catalog(CatalogType::OidVector)],
        T::Text,
        |b, catalog| {
            b.map1(|oids: Vec<Option<i64>>| {
                let name = |oid| naming::format_type(oid, None, catalog.objects(), catalog.search_path());
                oids.into_iter()
                    .flatten()
                    .map(name)
                    .collect::<Vec<_>>()
                    .join(", ")
            })
        },
    ),
    FunctionDef::catalog("pg_table_is_visible", &[T::Oid], T::Bool, |b, catalog| {
        b.map1(|oid| catalog.objects().is_visible(oid, catalog.search_path()))
    })
    .bounded(),
    FunctionDef::catalog("pg_type_is_visible", &[T::Oid], T::Bool, |b, catalog| {
        b.map1(|oid| type_is_visible(catalog, oid))
    })
    .bounded(),
    FunctionDef::catalog("pg_function_is_visible", &[T::Oid], T::Bool, |b, catalog| {
        b.map1(|oid| routine_is_visible(catalog, oid).or_else(|| is_visible(oid, &SYSTEM.procedures)))
    }),
    FunctionDef::new("pg_operator_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| is_visible(oid, &SYSTEM.operators))
    }),
    FunctionDef::new("pg_collation_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| is_visible(oid, &SYSTEM.collations))
    }),
    FunctionDef::new("pg_opclass_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_opclass"))
    }),
    FunctionDef::new("pg_opfamily_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_opfamily"))
    }),
    FunctionDef::new("pg_conversion_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_conversion"))
    }),
    FunctionDef::new("pg_ts_config_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_ts_config"))
    }),
    FunctionDef::new("pg_ts_dict_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_ts_dict"))
    }),
    FunctionDef::new("pg_ts_parser_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_ts_parser"))
    }),
    FunctionDef::new("pg_ts_template_is_visible", &[T::Oid], T::Bool, |b| {
        b.map1(|oid| in_catalog(oid, "pg_ts_template"))
    }),
    FunctionDef::new("pg_statistics_obj_is_visible", &[T::Oid], T::Bool, null),
    FunctionDef::catalog("obj_description", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| comment(catalog, oid, None, 0))
    })
    .bounded(),
    FunctionDef::catalog("obj_description", &[T::Oid, T::Text], T::Text, |b, catalog| {
        b.map2(|oid, relation| match relation {
            "pg_largeobject" => large_object::comment(catalog.statement(), oid),
            _ => Ok(comment(catalog, oid, catalog_oid(relation), 0)),
        })
    })
    .bounded(),
    FunctionDef::catalog("col_description", &[T::Oid, T::Int4], T::Text, |b, catalog| {
        b.map2(|oid, column: i32| comment(catalog, oid, Some(CLASS_CLASS), column.into()))
    })
    .bounded(),
    // Databases, roles and tablespaces have no comments here.
    FunctionDef::catalog("pg_get_userbyid", &[T::Oid], T::Name, |b, catalog| {
        b.map1(|oid| role_name(catalog, oid).unwrap_or_else(|| format!("unknown (OID={oid})")))
    }),
];

/// The oid of the object of this kind (`regclass` …) that a text means, outside of a query. Errors: 42P01 and its kin.
fn object_meant(ctx: &StatementContext, kind: &str, text: &str) -> Result<i64> {
    object_oid(&CatalogContext::new(Arc::new(ctx.clone())), kind, text)
}

/// The same of a value that is one's text: of an array's each item's. Errors: 42P01 and its kin, 22P02.
pub(crate) fn objects_meant(ctx: &StatementContext, text: Value, ty: &SqlType) -> Result<Value> {
    match (text, ty) {
        (Value::Text(text) | Value::Unknown(text), SqlType::Array(_)) => {
            let texts = SqlType::array(SqlType::Text);
            let items = Value::parse(&text, &texts, &ctx.format_settings())?;
            objects_meant(ctx, items, ty)
        }
        (Value::Array(items), ty) => {
            let meant = |item| match &item {
                Value::Text(name) => object_meant(ctx, ty.base_name(), name).map(Value::Int),
                _ => objects_meant(ctx, item, ty),
            };
            Ok(Value::Array(items.try_map(meant)?))
        }
        (Value::Text(name) | Value::Unknown(name), ty) => {
            object_meant(ctx, ty.base_name(), &name).map(Value::Int)
        }
        (value, _) => Ok(value),
    }
}

/// The name of the object that an oid of this type means, outside of a query: what it is as text.
pub(crate) fn name_meant(ctx: &StatementContext, oid: i64, ty: &SqlType) -> String {
    object_name(&CatalogContext::new(Arc::new(ctx.clone())), ty.base_name(), oid)
}

/// An oid is what it is.
fn oid(batch: &Batch) -> Result<ArrayRef> {
    Ok(Arc::clone(&batch.arrays[0]))
}

/// What a reg type reads from text.
pub(super) fn object_oid(catalog: &CatalogContext, kind: &str, text: &str) -> Result<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "-" => Ok(0),
        digits if is_number => digits
            .parse::<u32>()
            .map(i64::from)
            .map_err(|_| Error::NumericOutOfRange {
                message: format!("value \"{digits}\" is out of range for type oid"),
                detail: None,
            }),
        name => object_named(catalog, kind, name),
    }
}

fn is_routine(kind: &str) -> bool {
    matches!(kind, "regproc" | "regprocedure" | "regoper" | "regoperator")
}

/// The oid of what has the name. Errors: 42P01 and its kin.
fn object_named(catalog: &CatalogContext, kind: &str, name: &str) -> Result<i64> {
    let name = name.trim();
    require_own_database(catalog, name)?;
    match is_routine(kind) {
        true => routine_oid(catalog, kind, name, |name| find_type(catalog, name)),
        false => find_object(catalog, kind, name).ok_or_else(|| undefined(catalog, kind, name)),
    }
}

/// The same; `None` for an object that there is not. Errors: 42602 for what is no name.
fn get_object_named(catalog: &CatalogContext, kind: &str, name: &str) -> Result<Option<i64>> {
    match object_named(catalog, kind, name) {
        Ok(oid) => Ok(Some(oid)),
        Err(error) if error.sqlstate() == "42602" => Err(error),
        Err(_) => Ok(None),
    }
}

/// Errors: 0A000 for a name that says another database than the session's.
fn require_own_database(catalog: &CatalogContext, name: &str) -> Result<()> {
    match split_name(name).as_deref() {
        Some([database, _, _]) if **database != *catalog.statement().database => {
            Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: format!("cross-database references are not implemented: \"{name}\""),
                hint: None,
            })
        }
        _ => Ok(()),
    }
}

/// The relation whose name is nearest, written as the other is.
fn nearest_relation(catalog: &CatalogContext, text: &str) -> Option<String> {
    let mut parts = split_name(text)?;
    let name = parts.pop()?;
    let schema = parts.pop();
    let is_searched = |of: &str| match &schema {
        Some(schema) => catalog.schema_meant(schema) == of,
        None => catalog.search_path().iter().any(|schema| schema == of),
    };
    let relations = catalog.objects().relations.iter();
    let names = relations.filter(|relation| is_searched(&relation.schema));
    let nearest = nearest_name(&name, names.map(|relation| relation.name.as_str()))?;
    Some(match &schema {
        Some(schema) => qualified(schema, nearest),
        None => quote_ident(nearest),
    })
}

fn undefined(catalog: &CatalogContext, kind: &str, text: &str) -> Error {
    let parts = match (split_name(text), kind) {
        (Some(parts), _) => parts,
        // A type's name may have several words and a size.
        (None, "regtype") => vec![text.to_string()],
        (None, _) => {
            return Error::InvalidStatement {
                state: StatementFault::InvalidName,
                message: "invalid name syntax".to_string(),
                hint: None,
            };
        }
    };
    let name = parts.join(".");
    let kind = match kind {
        "regclass" => {
            let schema = parts.len().checked_sub(2).map(|at| &parts[at]);
            let schema = schema.filter(|schema| {
                catalog
                    .objects()
                    .schema_oid(catalog.schema_meant(schema))
                    .is_none()
            });
            if let Some(schema) = schema {
                return Error::UndefinedSchema { name: schema.clone() };
            }
            return Error::UndefinedTable {
                name,
                nearest: nearest_relation(catalog, text),
            };
        }
        "regnamespace" => return Error::UndefinedSchema { name },
        "regcollation" => return no_collation(catalog, &parts),
        "regtype" => "type",
        _ => "role",
    };
    Error::UndefinedObject { kind, name }
}

/// The oid of the object that a name means.
fn find_object(catalog: &CatalogContext, kind: &str, text: &str) -> Option<i64> {
    let objects = catalog.objects();
    if kind == "regtype" {
        return find_type(catalog, text);
    }
    let mut parts = split_name(text)?;
    let name = parts.pop()?;
    let schema = parts.pop();
    match kind {
        "regclass" => find_relation(catalog, schema.as_deref(), &name),
        "regnamespace" => objects.schema_oid(&name),
        "regcollation" => collation_oid(catalog, schema.as_deref(), &name),
        "regrole" => all_role_names(catalog.statement())
            .find(|(_, role)| *role == name)
            .map(|(oid, _)| oid),
        _ => None,
    }
}

/// The name of the object that an oid of this kind means, as the reg types print it.
pub(super) fn object_name(catalog: &CatalogContext, kind: &str, oid: i64) -> String {
    let objects = catalog.objects();
    let search_path = catalog.search_path();
    let name = match kind {
        _ if oid == 0 => Some("-".to_string()),
        "regclass" => objects.relation_display_name(oid, search_path),
        "regtype" => match naming::format_type(oid, None, objects, search_path) {
            unknown if unknown == "???" => None,
            name => Some(name),
        },
        "regnamespace" => objects.schema_name(oid).map(|name| quote_ident(&name)),
        "regcollation" => collation_name(oid),
        "regrole" => role_name(catalog, oid).map(|name| quote_ident(&name)),
        kind if is_routine(kind) => routine_name(catalog, kind, oid),
        _ => None,
    };
    name.unwrap_or_else(|| oid.to_string())
}

pub(super) fn role_name(catalog: &CatalogContext, oid: i64) -> Option<String> {
    all_role_names(catalog.statement())
        .find(|(role, _)| *role == oid)
        .map(|(_, name)| name)
}

fn type_is_visible(catalog: &CatalogContext, oid: i64) -> Option<bool> {
    let objects = catalog.objects();
    match SYSTEM.types.get(&oid) {
        Some(ty) => {
            let mut schemas = path_with_catalog(catalog.search_path());
            Some(schemas.any(|schema| objects.schema_oid(schema) == Some(ty.namespace)))
        }
        None => match objects.user_type(oid) {
            Some(user) => Some(user.is_visible(objects, catalog.search_path())),
            None => {
                let relation = relation_of_row_array(oid).unwrap_or(oid);
                objects.is_visible(relation, catalog.search_path())
            }
        },
    }
}

fn is_visible(oid: i64, objects: &HashMap<i64, SystemObject>) -> Option<bool> {
    objects.get(&oid).map(is_in_catalog)
}

/// Objects of these kinds exist in pg_catalog only: each is visible, and an oid that is none is NULL.
fn in_catalog(oid: i64, relation: &str) -> Option<bool> {
    let oids = CATALOG_OIDS.get(relation)?;
    oids.contains(&oid).then_some(true)
}

static CATALOG_OIDS: LazyLock<HashMap<&'static str, HashSet<i64>>> = LazyLock::new(|| {
    [
        "pg_opclass",
        "pg_opfamily",
        "pg_conversion",
        "pg_ts_config",
        "pg_ts_dict",
        "pg_ts_parser",
        "pg_ts_template",
    ]
    .into_iter()
    .map(|relation| {
        (
            relation,
            read(relation, &["oid"])
                .filter_map(|[oid]| oid?.parse().ok())
                .collect(),
        )
    })
    .collect()
});

/// The oid of a relation of pg_catalog, as obj_description's second argument names it.
fn catalog_oid(name: &str) -> Option<i64> {
    definition("pg_catalog", name).map(|definition| definition.oid)
}

/// A comment: on our objects or on those of every database. `class` `None` takes any kind of object.
fn comment(catalog: &CatalogContext, object: i64, class: Option<i64>, column: i64) -> Option<String> {
    let objects = catalog.objects();
    if class.is_none_or(|class| class == CLASS_CLASS)
        && let Some(found) = objects.find(object)
    {
        return match (found, usize::try_from(column).ok()?.checked_sub(1)) {
            (Found::Relation(relation), None) => relation.comment.clone(),
            (Found::Relation(relation), Some(position)) => relation.columns.get(position)?.comment.clone(),
            (Found::Index(_, index), None) => index.comment.clone(),
            (Found::Index(..), Some(_)) => None,
        };
    }
    let statement = catalog.statement();
    if class.is_none_or(|class| class == PROCEDURE_CLASS)
        && let Some(routine) = statement
            .catalog
            .routines
            .iter()
            .find(|routine| i64::from(routine.oid) == object)
    {
        return routine.comment.clone();
    }
    if class.is_none_or(|class| class == EXTENSION_CLASS)
        && let Some(made) = statement
            .catalog
            .extensions
            .values()
            .find(|made| i64::from(made.oid) == object)
    {
        return made.comment.clone();
    }
    if class.is_none_or(|class| class == CAST_CLASS)
        && let Some(cast) = statement.catalog.casts.by_oid(object)
    {
        return cast.comment.clone();
    }
    if class.is_none_or(|class| class == TRIGGER_CLASS)
        && let Some((_, trigger)) = trigger_of(objects, object)
    {
        return trigger.def.comment.clone();
    }
    if class == Some(CONSTRAINT_CLASS)
        && let Some(constraint) = objects.constraint(object)
    {
        return constraint.comment.clone();
    }
    if class == Some(CONSTRAINT_CLASS)
        && let Some(Found::Index(_, index)) = objects.find(object)
    {
        return index.constraint_comment.clone();
    }
    if class.is_none_or(|class| class == TYPE_CLASS)
        && let Some(user) = objects.user_type(object)
    {
        return user.ty.comment.clone();
    }
    let ours = objects.schemas.iter().find(|(oid, _, _)| *oid == object);
    if let (Some((_, name, comment)), 0) = (ours, column) {
        let standard = (name == "public").then(|| "standard public schema".to_string());
        return comment.clone().or(standard);
    }
    match class {
        Some(class) => COMMENTS.get(&(object, class, column)).cloned(),
        None => COMMENTS
            .iter()
            .find(|((oid, _, sub), _)| *oid == object && *sub == column)
            .map(|(_, text)| text.clone()),
    }
}

/// The comments of every database by object, class and column.
static COMMENTS: LazyLock<HashMap<(i64, i64, i64), String>> = LazyLock::new(|| {
    let number = |cell: Option<String>| cell.and_then(|cell| cell.parse().ok()).unwrap_or(0);
    read(
        "pg_description",
        &["objoid", "classoid", "objsubid", "description"],
    )
    .map(|[object, class, column, text]| {
        (
            (number(object), number(class), number(column)),
            text.unwrap_or_default(),
        )
    })
    .collect()
});
