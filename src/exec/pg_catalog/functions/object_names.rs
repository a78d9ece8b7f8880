//! Names to oids and back: regclass and its kin, visibility, format_type, comments.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Call, Function, Returns, lenient, strict, text_or_null};
use crate::exec::pg_catalog::definitions::PG_CATALOG_OID;
use crate::exec::pg_catalog::naming::{self, split_name};
use crate::exec::pg_catalog::objects::{SYSTEM, SystemObject, is_in_catalog, path_with_catalog, read};
use crate::exec::pg_catalog::quoting::{qualified, quote_ident};
use crate::exec::pg_catalog::relations::CLASS_CLASS;
use crate::exec::pg_catalog::session_rows::role_names;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[Function] = &[
    // `x::regclass` and `regclass(x)`: text is looked up, an oid stays what it is.
    strict("regclass", (1, 1), Returns::Object("regclass"), |call| {
        reg(call, 0, "regclass")
    }),
    strict("regtype", (1, 1), Returns::Object("regtype"), |call| {
        reg(call, 0, "regtype")
    }),
    strict("regproc", (1, 1), Returns::Object("regproc"), |call| {
        reg(call, 0, "regproc")
    }),
    strict("regprocedure", (1, 1), Returns::Object("regproc"), |call| {
        reg(call, 0, "regproc")
    }),
    strict("regnamespace", (1, 1), Returns::Object("regnamespace"), |call| {
        reg(call, 0, "regnamespace")
    }),
    strict("regrole", (1, 1), Returns::Object("regrole"), |call| {
        reg(call, 0, "regrole")
    }),
    strict("to_regclass", (1, 1), Returns::Object("regclass"), |call| {
        to_reg(call, "regclass")
    }),
    strict("to_regtype", (1, 1), Returns::Object("regtype"), |call| {
        to_reg(call, "regtype")
    }),
    strict("to_regproc", (1, 1), Returns::Object("regproc"), |call| {
        to_reg(call, "regproc")
    }),
    strict(
        "to_regnamespace",
        (1, 1),
        Returns::Object("regnamespace"),
        |call| to_reg(call, "regnamespace"),
    ),
    strict("to_regrole", (1, 1), Returns::Object("regrole"), |call| {
        to_reg(call, "regrole")
    }),
    strict("object_name", (2, 2), Returns::Text, |call| {
        Ok(Value::Text(object_name(call, call.text(0)?, call.integer(1)?)))
    }),
    lenient("format_type", (2, 2), Returns::Text, format_type),
    strict("pg_table_is_visible", (1, 1), Returns::Bool, |call| {
        let visible = call
            .catalog
            .objects()
            .is_visible(call.integer(0)?, call.catalog.search_path());
        Ok(visible.map_or(Value::Null, Value::Bool))
    }),
    strict("pg_type_is_visible", (1, 1), Returns::Bool, type_is_visible),
    strict("pg_function_is_visible", (1, 1), Returns::Bool, |call| {
        Ok(is_visible(call.integer(0)?, &SYSTEM.procedures))
    }),
    strict("pg_operator_is_visible", (1, 1), Returns::Bool, |call| {
        Ok(is_visible(call.integer(0)?, &SYSTEM.operators))
    }),
    strict("pg_collation_is_visible", (1, 1), Returns::Bool, |call| {
        Ok(is_visible(call.integer(0)?, &SYSTEM.collations))
    }),
    strict("pg_opclass_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_opclass")
    }),
    strict("pg_opfamily_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_opfamily")
    }),
    strict("pg_conversion_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_conversion")
    }),
    strict("pg_ts_config_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_ts_config")
    }),
    strict("pg_ts_dict_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_ts_dict")
    }),
    strict("pg_ts_parser_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_ts_parser")
    }),
    strict("pg_ts_template_is_visible", (1, 1), Returns::Bool, |call| {
        in_catalog(call, "pg_ts_template")
    }),
    strict("pg_statistics_obj_is_visible", (1, 1), Returns::Bool, |_| {
        Ok(Value::Null)
    }),
    strict("obj_description", (1, 2), Returns::Text, |call| {
        let class = match call.arguments.get(1) {
            Some(_) => catalog_oid(call.text(1)?),
            None => None,
        };
        Ok(text_or_null(comment(call, call.integer(0)?, class, 0)))
    }),
    strict("col_description", (2, 2), Returns::Text, |call| {
        Ok(text_or_null(comment(
            call,
            call.integer(0)?,
            Some(CLASS_CLASS),
            call.integer(1)?,
        )))
    }),
    // Databases, roles and tablespaces have no comments here.
    strict("shobj_description", (2, 2), Returns::Text, |_| Ok(Value::Null)),
    strict("pg_get_userbyid", (1, 1), Returns::Name, |call| {
        let oid = call.integer(0)?;
        Ok(Value::Text(
            role_name(call, oid).unwrap_or_else(|| format!("unknown (OID={oid})")),
        ))
    }),
];

/// What a reg type reads from text, or the oid itself.
fn reg(call: &Call<'_>, position: usize, kind: &'static str) -> Result<Value> {
    let text = match &call.arguments[position] {
        Value::Text(text) | Value::Unknown(text) => text.trim(),
        _ => return call.integer(position).map(Value::Int),
    };
    if let Ok(oid) = text.parse::<u32>() {
        return Ok(Value::Int(i64::from(oid)));
    }
    if text == "-" {
        return Ok(Value::Int(0));
    }
    find_object(call, kind, text)
        .map(Value::Int)
        .ok_or_else(|| undefined(kind, text))
}

/// As a reg type, but NULL for a name that nothing has.
fn to_reg(call: &Call<'_>, kind: &'static str) -> Result<Value> {
    let text = call.text(0)?.trim();
    let oid = text.parse::<u32>().ok().map(i64::from);
    Ok(oid
        .or_else(|| find_object(call, kind, text))
        .map_or(Value::Null, Value::Int))
}

fn undefined(kind: &str, name: &str) -> Error {
    let kind = match kind {
        "regclass" => {
            return Error::UndefinedTable {
                name: name.to_string(),
                nearest: None,
            };
        }
        "regproc" => {
            return Error::UndefinedFunction {
                signature: name.to_string(),
                hint: None,
            };
        }
        "regnamespace" => {
            return Error::UndefinedSchema {
                name: name.to_string(),
            };
        }
        "regtype" => "type",
        _ => "role",
    };
    Error::UndefinedObject {
        kind,
        name: name.to_string(),
    }
}

/// The oid of the object that a name means.
fn find_object(call: &Call<'_>, kind: &str, text: &str) -> Option<i64> {
    let objects = call.catalog.objects();
    if kind == "regtype" {
        return find_type(call, text);
    }
    let mut parts = split_name(text)?;
    let name = parts.pop()?;
    let schema = parts.pop();
    match kind {
        "regclass" => match &schema {
            Some(schema) => objects.relation_oid(schema, &name),
            None => path_with_catalog(call.catalog.search_path())
                .find_map(|schema| objects.relation_oid(schema, &name)),
        },
        "regnamespace" => objects.schema_oid(&name),
        "regrole" => role_names(call.catalog.user())
            .into_iter()
            .find(|(_, role)| *role == name)
            .map(|(oid, _)| oid),
        _ => {
            let namespace = match &schema {
                Some(schema) => objects.schema_oid(schema)?,
                None => PG_CATALOG_OID,
            };
            PROCEDURES.get(&(namespace, name)).copied()
        }
    }
}

/// Functions by schema and name; of several with one name the first.
static PROCEDURES: LazyLock<HashMap<(i64, String), i64>> = LazyLock::new(|| {
    let mut all: Vec<(i64, &SystemObject)> = SYSTEM
        .procedures
        .iter()
        .map(|(oid, object)| (*oid, object))
        .collect();
    all.sort_by_key(|(oid, _)| std::cmp::Reverse(*oid));
    all.into_iter()
        .map(|(oid, object)| ((object.namespace, object.name.clone()), oid))
        .collect()
});

/// Types by name, those of pg_catalog.
static TYPE_NAMES: LazyLock<HashMap<&'static str, i64>> = LazyLock::new(|| {
    SYSTEM
        .types
        .iter()
        .filter(|(_, ty)| ty.namespace == PG_CATALOG_OID)
        .map(|(oid, ty)| (ty.name.as_str(), *oid))
        .collect()
});

/// A type by any of its names: the standard's (`integer`), pg_type's (`int4`), an array's (`int4[]`), a table's.
fn find_type(call: &Call<'_>, text: &str) -> Option<i64> {
    if let Some(element) = text.strip_suffix("[]") {
        let element = find_type(call, element.trim_end())?;
        let name = format!("_{}", SYSTEM.types.get(&element)?.name);
        return TYPE_NAMES.get(name.as_str()).copied();
    }
    let folded = text.trim().to_lowercase();
    let base = folded.split('(').next().unwrap_or(&folded).trim();
    let spelled = folded
        .split_once(')')
        .map_or_else(|| base.to_string(), |(_, suffix)| format!("{base}{suffix}"));
    let plain = spelled.strip_prefix("pg_catalog.").unwrap_or(&spelled);
    if let Ok(Some(ty)) = SqlType::from_name(plain, &[])
        && (!matches!(ty, SqlType::Text) || plain == "text")
    {
        return Some(i64::from(ty.oid()));
    }
    let mut parts = split_name(text)?;
    let name = parts.pop()?;
    match parts.pop().as_deref() {
        None | Some("pg_catalog") => TYPE_NAMES.get(name.as_str()).copied(),
        Some(_) => None,
    }
    .or_else(|| find_object(call, "regclass", text))
}

/// The name of the object that an oid of this kind means, as the reg types print it.
pub(super) fn object_name(call: &Call<'_>, kind: &str, oid: i64) -> String {
    let objects = call.catalog.objects();
    let search_path = call.catalog.search_path();
    let name = match kind {
        _ if oid == 0 => Some("-".to_string()),
        "regclass" => objects.relation_display_name(oid, search_path),
        "regtype" => match naming::format_type(oid, None, objects, search_path) {
            unknown if unknown == "???" => None,
            name => Some(name),
        },
        "regproc" | "regprocedure" => SYSTEM.procedures.get(&oid).map(|procedure| {
            if is_in_catalog(procedure) {
                quote_ident(&procedure.name)
            } else {
                qualified(
                    &objects.schema_name(procedure.namespace).unwrap_or_default(),
                    &procedure.name,
                )
            }
        }),
        "regnamespace" => objects.schema_name(oid).map(|name| quote_ident(&name)),
        "regrole" => role_name(call, oid).map(|name| quote_ident(&name)),
        _ => None,
    };
    name.unwrap_or_else(|| oid.to_string())
}

fn role_name(call: &Call<'_>, oid: i64) -> Option<String> {
    role_names(call.catalog.user())
        .into_iter()
        .find(|(role, _)| *role == oid)
        .map(|(_, name)| name)
}

fn format_type(call: &Call<'_>) -> Result<Value> {
    if call.arguments[0] == Value::Null {
        return Ok(Value::Null);
    }
    let modifier = match &call.arguments[1] {
        Value::Null => None,
        _ => i32::try_from(call.integer(1)?).ok(),
    };
    let name = naming::format_type(
        call.integer(0)?,
        modifier,
        call.catalog.objects(),
        call.catalog.search_path(),
    );
    Ok(Value::Text(name))
}

fn type_is_visible(call: &Call<'_>) -> Result<Value> {
    let oid = call.integer(0)?;
    let objects = call.catalog.objects();
    Ok(match SYSTEM.types.get(&oid) {
        Some(ty) => {
            let visible = path_with_catalog(call.catalog.search_path())
                .any(|schema| objects.schema_oid(schema) == Some(ty.namespace));
            Value::Bool(visible)
        }
        None => objects
            .is_visible(oid, call.catalog.search_path())
            .map_or(Value::Null, Value::Bool),
    })
}

fn is_visible(oid: i64, objects: &HashMap<i64, SystemObject>) -> Value {
    objects
        .get(&oid)
        .map_or(Value::Null, |object| Value::Bool(is_in_catalog(object)))
}

/// Objects of these kinds exist in pg_catalog only: each is visible, and an oid that is none is NULL.
fn in_catalog(call: &Call<'_>, relation: &str) -> Result<Value> {
    let oid = call.integer(0)?;
    let exists = CATALOG_OIDS.get(relation).is_some_and(|oids| oids.contains(&oid));
    Ok(if exists { Value::Bool(true) } else { Value::Null })
}

static CATALOG_OIDS: LazyLock<HashMap<&'static str, std::collections::HashSet<i64>>> = LazyLock::new(|| {
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
    crate::exec::pg_catalog::definitions::definition("pg_catalog", name).map(|definition| definition.oid)
}

/// A comment: on our objects or on those of every database. `class` `None` takes any kind of object.
fn comment(call: &Call<'_>, object: i64, class: Option<i64>, column: i64) -> Option<String> {
    use crate::exec::pg_catalog::objects::Found;
    let objects = call.catalog.objects();
    if class.is_none_or(|class| class == CLASS_CLASS)
        && let Some(found) = objects.find(object)
    {
        return match (found, usize::try_from(column).ok()?.checked_sub(1)) {
            (Found::Relation(relation), None) => relation.comment.clone(),
            (Found::Relation(relation), Some(position)) => relation.columns.get(position)?.comment.clone(),
            (Found::Index(..), _) => None,
        };
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
