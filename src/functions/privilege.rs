//! Privileges: there are none yet, so whoever is connected may do everything.

use arrow::array::ArrayRef;

use super::object_name::objects_meant;
use super::{Batch, FunctionDef, T};
use crate::catalog::{FIRST_DATABASE, Language, SYSTEM_COLUMNS};
use crate::error::nearest_name;
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::definitions::definitions as system_relations;
use crate::system::catalog_version::objects::{Found, SYSTEM, UserIndex, UserRelation, read};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::role_oid;
use crate::system::pg_catalog::role_rows::all_role_names;
use crate::types::{CatalogType, SqlType, Value};
use crate::{Error, Result};

/// A relation, by its name or oid, and privileges; before them may stand who has these.
const RELATION: &[T] = &[T::Regclass, T::Text];
const NAME_RELATION: &[T] = &[T::Name, T::Regclass, T::Text];
const OID_RELATION: &[T] = &[T::Oid, T::Regclass, T::Text];
/// A column of a relation, by its name or number, and privileges.
const COLUMN: &[T] = &[T::Regclass, T::Any, T::Text];
const NAME_COLUMN: &[T] = &[T::Name, T::Regclass, T::Any, T::Text];
const OID_COLUMN: &[T] = &[T::Oid, T::Regclass, T::Any, T::Text];
/// Relations by names of the type name, which are looked for nowhere.
const ANY_RELATION: &[T] = &[T::Any, T::Text];
const ANYONES_RELATION: &[T] = &[T::Any, T::Any, T::Text];

const WRAPPER: &str = "has_foreign_data_wrapper_privilege";

const COLUMN_PRIVILEGES: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "REFERENCES"];

/// The user may be left out; users and objects come as names or oids.
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("has_table_privilege", RELATION, T::Bool, of_table),
    FunctionDef::catalog("has_table_privilege", NAME_RELATION, T::Bool, of_table),
    FunctionDef::catalog("has_table_privilege", OID_RELATION, T::Bool, of_table),
    FunctionDef::new("has_table_privilege", ANY_RELATION, T::Bool, allowed),
    FunctionDef::new("has_table_privilege", ANYONES_RELATION, T::Bool, allowed),
    FunctionDef::catalog("has_any_column_privilege", RELATION, T::Bool, of_columns),
    FunctionDef::catalog("has_any_column_privilege", NAME_RELATION, T::Bool, of_columns),
    FunctionDef::catalog("has_any_column_privilege", OID_RELATION, T::Bool, of_columns),
    FunctionDef::new("has_any_column_privilege", ANY_RELATION, T::Bool, allowed),
    FunctionDef::new("has_any_column_privilege", ANYONES_RELATION, T::Bool, allowed),
    FunctionDef::catalog("has_column_privilege", COLUMN, T::Bool, of_column),
    FunctionDef::catalog("has_column_privilege", NAME_COLUMN, T::Bool, of_column),
    FunctionDef::catalog("has_column_privilege", OID_COLUMN, T::Bool, of_column),
    FunctionDef::new("has_column_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_column_privilege", &[T::Any; 4], T::Bool, allowed),
    FunctionDef::catalog("has_schema_privilege", &[T::Any; 2], T::Bool, of_schema),
    FunctionDef::catalog("has_schema_privilege", &[T::Any; 3], T::Bool, of_schema),
    FunctionDef::catalog("has_database_privilege", &[T::Any; 2], T::Bool, of_database),
    FunctionDef::catalog("has_database_privilege", &[T::Any; 3], T::Bool, of_database),
    FunctionDef::catalog("has_function_privilege", &[T::Any; 2], T::Bool, of_function),
    FunctionDef::catalog("has_function_privilege", &[T::Any; 3], T::Bool, of_function),
    FunctionDef::catalog("has_sequence_privilege", RELATION, T::Bool, of_sequence),
    FunctionDef::catalog("has_sequence_privilege", NAME_RELATION, T::Bool, of_sequence),
    FunctionDef::catalog("has_sequence_privilege", OID_RELATION, T::Bool, of_sequence),
    FunctionDef::new("has_sequence_privilege", ANY_RELATION, T::Bool, allowed),
    FunctionDef::new("has_sequence_privilege", ANYONES_RELATION, T::Bool, allowed),
    FunctionDef::catalog("has_tablespace_privilege", &[T::Any; 2], T::Bool, of_tablespace),
    FunctionDef::catalog("has_tablespace_privilege", &[T::Any; 3], T::Bool, of_tablespace),
    FunctionDef::catalog("has_type_privilege", &[T::Any; 2], T::Bool, of_type),
    FunctionDef::catalog("has_type_privilege", &[T::Any; 3], T::Bool, of_type),
    FunctionDef::catalog("has_language_privilege", &[T::Any; 2], T::Bool, of_language),
    FunctionDef::catalog("has_language_privilege", &[T::Any; 3], T::Bool, of_language),
    FunctionDef::catalog(WRAPPER, &[T::Any; 2], T::Bool, of_wrapper),
    FunctionDef::catalog(WRAPPER, &[T::Any; 3], T::Bool, of_wrapper),
    FunctionDef::catalog("has_server_privilege", &[T::Any; 2], T::Bool, of_server),
    FunctionDef::catalog("has_server_privilege", &[T::Any; 3], T::Bool, of_server),
    FunctionDef::new("has_parameter_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_parameter_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::catalog("pg_has_role", &[T::Any; 2], T::Bool, has_role),
    FunctionDef::catalog("pg_has_role", &[T::Any; 3], T::Bool, has_role),
    FunctionDef::new("row_security_active", &[T::Any], T::Bool, |b| {
        b.map_values(|_| false)
    }),
    FunctionDef::catalog("acldefault", &[T::Char, T::Oid], T::Text, |b, catalog| {
        b.map2(|kind, owner| acl_default(catalog, kind, owner))
    })
    .array(T::Catalog(CatalogType::Aclitem)),
];

fn of_table(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let kinds = [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "TRUNCATE",
        "REFERENCES",
        "TRIGGER",
    ];
    of_relation(batch, catalog, &kinds)
}

fn of_columns(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_relation(batch, catalog, &COLUMN_PRIVILEGES)
}

/// Errors: also 42809 for a relation that is no sequence.
fn of_sequence(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let is_sequence = |found: Found<'_>| match found {
        Found::Relation(relation) if relation.kind == 'S' => Ok(Some(true)),
        Found::Relation(UserRelation { name, .. }) | Found::Index(_, UserIndex { name, .. }) => {
            Err(Error::WrongObjectType {
                name: name.clone(),
                expected: "sequence",
                hint: None,
            })
        }
    };
    batch.map_values(|values| allowed_of(values, catalog, &["USAGE", "SELECT", "UPDATE"], is_sequence))
}

/// The same of a column, by its name or number; NULL for a number of none. Errors: also 42703.
fn of_column(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    batch.map_values(|values| {
        let (who @ [.., Value::Int(_)], [column, privileges]) = values.split_at(values.len() - 2) else {
            return Ok(None);
        };
        let is_there = |found: Found<'_>| {
            let Found::Relation(relation) = found else {
                return Ok(Some(true));
            };
            match column {
                Value::Text(name) | Value::Unknown(name) => has_column(relation, name).map(Some),
                Value::Int(number) => Ok((1..=relation.columns.len())
                    .contains(&usize::try_from(*number).unwrap_or(0))
                    .then_some(true)),
                _ => Ok(None),
            }
        };
        let values = [who, std::slice::from_ref(privileges)].concat();
        allowed_of(&values, catalog, &COLUMN_PRIVILEGES, is_there)
    })
}

/// Errors: 42703 for a name of none of its columns.
fn has_column(relation: &UserRelation, name: &str) -> Result<bool> {
    let is_known =
        SYSTEM_COLUMNS.contains(&name) || relation.columns.iter().any(|column| column.name == name);
    match is_known {
        true => Ok(true),
        false => Err(Error::UndefinedColumn {
            name: format!("\"{name}\" of relation \"{}\"", relation.name),
            hint: nearest_name(name, relation.columns.iter().map(|column| column.name.as_str()))
                .map(|nearest| format!("Perhaps you meant the column \"{nearest}\".")),
        }),
    }
}

/// The same of a schema. Errors: also 3F000.
fn of_schema(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let is_there = |schema: &Value| match schema {
        Value::Text(name) | Value::Unknown(name) => {
            ctx.catalog.schema(ctx.settings.schema_meant(name)).map(|_| true)
        }
        Value::Int(oid) => Ok(catalog.objects().schema_name(*oid).is_some()),
        _ => Ok(false),
    };
    batch.map_values(|values| allowed_of_named(values, catalog, &["CREATE", "USAGE"], is_there))
}

/// The same of a database, by its name or oid; NULL for an oid of none. Errors: as of relations; 3D000.
fn of_database(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let is_there = |database: &Value| match database {
        Value::Text(name) | Value::Unknown(name) => ctx.database_id(name).map(|_| true),
        Value::Int(oid) => {
            let mut made = ctx.catalog.databases.values();
            Ok(*oid == i64::from(FIRST_DATABASE) || made.any(|database| i64::from(database.oid) == *oid))
        }
        _ => Ok(false),
    };
    let kinds = &["CREATE", "CONNECT", "TEMPORARY", "TEMP"];
    batch.map_values(|values| allowed_of_named(values, catalog, kinds, is_there))
}

/// Whether an object is there that is named by text or oid, whoever asks; NULL where it is not.
fn allowed_of_named(
    values: &[Value],
    catalog: &CatalogContext,
    kinds: &[&str],
    is_there: impl Fn(&Value) -> Result<bool>,
) -> Result<Option<bool>> {
    let [
        who @ ..,
        object,
        Value::Text(privileges) | Value::Unknown(privileges),
    ] = values
    else {
        return Ok(None);
    };
    if let [Value::Text(role) | Value::Unknown(role)] = who {
        check_role(catalog, role)?;
    }
    let found = is_there(object)?;
    check_kinds(privileges, kinds)?;
    Ok(found.then_some(true))
}

/// Whether a role is a member of another: whoever may do everything is of all. Errors: 42704, 22023.
fn has_role(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let oid_of = |value: &Value| match value {
        Value::Int(oid) => Ok(u32::try_from(*oid).ok()),
        Value::Text(name) | Value::Unknown(name) => match role_oid(ctx, name) {
            Some(oid) => Ok(Some(oid)),
            None => check_role(catalog, name).map(|()| None),
        },
        _ => Ok(None),
    };
    batch.map_values(|values| {
        let [
            who @ ..,
            role,
            Value::Text(privileges) | Value::Unknown(privileges),
        ] = values
        else {
            return Ok(None);
        };
        let member = match who {
            [member] => oid_of(member)?,
            _ => role_oid(ctx, &ctx.user),
        };
        let (Some(role), Some(member)) = (oid_of(role)?, member) else {
            return Ok(None);
        };
        check_kinds(privileges, &["USAGE", "MEMBER"])?;
        let made = ctx.catalog.roles.values().find(|known| known.oid == member);
        let may_all = made.is_none_or(|made| made.superuser);
        Ok(Some(
            may_all || member == role || ctx.catalog.is_member_of(member, role),
        ))
    })
}

/// Errors: 22023 for a privilege that is none of these.
fn check_kinds(privileges: &str, kinds: &[&str]) -> Result<()> {
    for privilege in privileges.split(',') {
        let name = privilege.trim().to_ascii_uppercase();
        let name = name.strip_suffix(" WITH GRANT OPTION").unwrap_or(&name);
        if !kinds.contains(&name) {
            return Err(Error::InvalidParameter {
                message: format!("unrecognized privilege type: \"{}\"", privilege.trim()),
                hint: None,
            });
        }
    }
    Ok(())
}

/// Whether a relation is there, whoever asks; NULL for an oid of none. Errors: 42704 for a role that is none, 22023 for privileges that such
/// relations do not have.
fn of_relation(batch: &Batch, catalog: &CatalogContext, kinds: &[&str]) -> Result<ArrayRef> {
    batch.map_values(|values| allowed_of(values, catalog, kinds, |_| Ok(Some(true))))
}

/// The same of one, of which `is_there` tells what else is asked.
fn allowed_of(
    values: &[Value],
    catalog: &CatalogContext,
    kinds: &[&str],
    is_there: impl Fn(Found<'_>) -> Result<Option<bool>>,
) -> Result<Option<bool>> {
    let [who @ .., Value::Int(oid), Value::Text(privileges)] = values else {
        return Ok(None);
    };
    if let [Value::Text(role)] = who {
        check_role(catalog, role)?;
    }
    let found = match catalog.objects().find(*oid) {
        Some(found) => is_there(found)?,
        None => system_relations()
            .iter()
            .any(|relation| relation.oid == *oid)
            .then_some(true),
    };
    check_kinds(privileges, kinds)?;
    Ok(found)
}

fn check_role(catalog: &CatalogContext, role: &str) -> Result<()> {
    let is_known = role == "public" || all_role_names(catalog.statement()).any(|(_, name)| name == role);
    match is_known {
        true => Ok(()),
        false => Err(Error::UndefinedObject {
            kind: "role",
            name: role.to_string(),
        }),
    }
}

/// The same of a function or a type, by its name or oid; NULL for an oid of none. Errors: as of relations; those of the name.
fn of_object(batch: &Batch, catalog: &CatalogContext, ty: &SqlType, kind: &str) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let is_there = |object: &Value| {
        let oid = match objects_meant(ctx, object.clone(), ty)? {
            Value::Int(oid) => oid,
            _ => return Ok(false),
        };
        let made = u32::try_from(oid).unwrap_or_default();
        Ok(match ty {
            SqlType::Catalog(CatalogType::Regprocedure) => {
                SYSTEM.procedures.contains_key(&oid) || ctx.catalog.routines.by_oid(made).is_some()
            }
            _ => {
                let objects = catalog.objects();
                let is_row = matches!(objects.find(oid), Some(Found::Relation(_)));
                SYSTEM.types.contains_key(&oid) || objects.user_type(oid).is_some() || is_row
            }
        })
    };
    batch.map_values(|values| allowed_of_named(values, catalog, &[kind], is_there))
}

fn of_function(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_object(
        batch,
        catalog,
        &SqlType::Catalog(CatalogType::Regprocedure),
        "EXECUTE",
    )
}

fn of_type(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_object(batch, catalog, &SqlType::Catalog(CatalogType::Regtype), "USAGE")
}

/// The same of what is in a relation of the catalogs. Errors: as of relations; 42704.
fn of_row(
    batch: &Batch,
    catalog: &CatalogContext,
    (relation, column): (&str, &str),
    (kind, privilege): (&'static str, &str),
) -> Result<ArrayRef> {
    // Of those that are made with a database.
    let plpgsql = [
        Some(Language::Plpgsql.oid().to_string()),
        Some("plpgsql".to_string()),
    ];
    let made = (relation == "pg_language").then_some(plpgsql);
    let rows: Vec<[Cell; 2]> = read(relation, &["oid", column]).chain(made).collect();
    let is_there = |object: &Value| match object {
        Value::Int(oid) => Ok(rows
            .iter()
            .any(|[known, _]| known.as_deref() == Some(&oid.to_string()))),
        Value::Text(name) | Value::Unknown(name) => {
            match rows.iter().any(|[_, known]| known.as_deref() == Some(name)) {
                true => Ok(true),
                false => Err(Error::UndefinedObject {
                    kind,
                    name: name.clone(),
                }),
            }
        }
        _ => Ok(false),
    };
    batch.map_values(|values| allowed_of_named(values, catalog, &[privilege], is_there))
}

fn of_language(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_row(batch, catalog, ("pg_language", "lanname"), ("language", "USAGE"))
}

fn of_tablespace(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_row(
        batch,
        catalog,
        ("pg_tablespace", "spcname"),
        ("tablespace", "CREATE"),
    )
}

fn of_wrapper(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    let named = ("foreign-data wrapper", "USAGE");
    of_row(batch, catalog, ("pg_foreign_data_wrapper", "fdwname"), named)
}

fn of_server(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    of_row(
        batch,
        catalog,
        ("pg_foreign_server", "srvname"),
        ("server", "USAGE"),
    )
}

fn allowed(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|_| true)
}

/// The privileges an object has when nothing was granted: PostgreSQL's, by the kind of object.
fn acl_default(catalog: &CatalogContext, kind: &str, owner: i64) -> Result<Vec<String>> {
    let mut roles = all_role_names(catalog.statement());
    let name = match roles.find(|(oid, _)| *oid == owner) {
        Some((_, name)) => name,
        None => owner.to_string(),
    };
    let (public, own) = match kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => {
            return Err(Error::internal(format!(
                "unrecognized object type abbreviation: {other}"
            )));
        }
    };
    let mut items = Vec::new();
    if !public.is_empty() {
        items.push(format!("={public}/{name}"));
    }
    if !own.is_empty() {
        items.push(format!("{name}={own}/{name}"));
    }
    Ok(items)
}
