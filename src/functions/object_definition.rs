//! Definitions as SQL text: pg_get_indexdef, pg_get_constraintdef, pg_get_viewdef, pg_get_expr, signatures of functions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::{FunctionDef, T, null};
use crate::catalog::{Catalog, RoutineDef, SequenceDef};
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::catalog_version::cells::elements;
use crate::system::catalog_version::objects::{path_with_catalog, read};
use crate::system::catalog_version::routine_text::{self, Shown};
use crate::system::catalog_version::user_column::form_of_node;
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::ddl_text::{get_constraintdef, get_indexdef, get_viewdef};
use crate::system::pg_catalog::naming::{format_type, split_name};
use crate::system::pg_catalog::shown_names::shown_expression;
use crate::system::pg_catalog::table_text::table_definition;
use crate::system::pg_catalog::trigger_text::get_triggerdef;
use crate::types::CatalogType;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_get_indexdef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| get_indexdef(catalog.objects(), catalog.search_path(), oid, 0, false))
    })
    .bounded(),
    FunctionDef::catalog(
        "pg_get_indexdef",
        &[T::Oid, T::Int4, T::Bool],
        T::Text,
        |b, catalog| {
            b.map3(|oid, column: i32, pretty| {
                get_indexdef(
                    catalog.objects(),
                    catalog.search_path(),
                    oid,
                    column.into(),
                    pretty,
                )
            })
        },
    )
    .bounded(),
    FunctionDef::catalog("pg_get_constraintdef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| constraint(catalog, oid, false))
    })
    .bounded(),
    FunctionDef::catalog(
        "pg_get_constraintdef",
        &[T::Oid, T::Bool],
        T::Text,
        |b, catalog| b.map2(|oid, pretty: bool| constraint(catalog, oid, pretty)),
    )
    .bounded(),
    FunctionDef::catalog("pg_get_viewdef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| get_viewdef(catalog.objects(), catalog.search_path(), oid, false))
    }),
    FunctionDef::catalog("pg_get_viewdef", &[T::Oid, T::Bool], T::Text, |b, catalog| {
        b.map2(|oid, pretty: bool| get_viewdef(catalog.objects(), catalog.search_path(), oid, pretty))
    }),
    FunctionDef::catalog("pg_get_viewdef", &[T::Oid, T::Int4], T::Text, |b, catalog| {
        b.map2(|oid, _: i32| get_viewdef(catalog.objects(), catalog.search_path(), oid, true))
    }),
    FunctionDef::catalog("pg_get_viewdef", &[T::Text], T::Text, |b, catalog| {
        b.map1(|name| {
            Ok(get_viewdef(
                catalog.objects(),
                catalog.search_path(),
                relation_by_name(catalog, name)?,
                false,
            ))
        })
    }),
    FunctionDef::catalog("pg_get_viewdef", &[T::Text, T::Bool], T::Text, |b, catalog| {
        b.map2(|name, pretty: bool| {
            Ok(get_viewdef(
                catalog.objects(),
                catalog.search_path(),
                relation_by_name(catalog, name)?,
                pretty,
            ))
        })
    }),
    // SHOW CREATE TABLE.
    FunctionDef::catalog("keyspan_table_definition", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| table_definition(catalog.objects(), catalog.search_path(), oid))
    }),
    // The rule of a view is all there is of rules.
    FunctionDef::catalog("pg_get_ruledef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| ruledef(catalog, oid))
    }),
    FunctionDef::catalog("pg_get_ruledef", &[T::Oid, T::Bool], T::Text, |b, catalog| {
        b.map2(|oid, _: bool| ruledef(catalog, oid))
    }),
    // Expressions of the catalogs are SQL text already.
    FunctionDef::catalog(
        "pg_get_expr",
        &[T::Catalog(CatalogType::NodeTree), T::Oid],
        T::Text,
        |b, catalog| b.map2(|node: &str, _: i64| expression(catalog, form_of_node(node, false))),
    )
    .bounded(),
    FunctionDef::catalog(
        "pg_get_expr",
        &[T::Catalog(CatalogType::NodeTree), T::Oid, T::Bool],
        T::Text,
        |b, catalog| {
            b.map3(|node: &str, _: i64, pretty: bool| expression(catalog, form_of_node(node, pretty)))
        },
    )
    .bounded(),
    FunctionDef::catalog("pg_get_function_arguments", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| signature(catalog, oid, true))
    }),
    FunctionDef::catalog(
        "pg_get_function_identity_arguments",
        &[T::Oid],
        T::Text,
        |b, catalog| b.map1(|oid| signature(catalog, oid, false)),
    ),
    FunctionDef::catalog("pg_get_functiondef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| {
            user_routine(catalog, oid).map(|routine| routine_text::definition(reader(catalog), routine))
        })
    }),
    FunctionDef::catalog("pg_get_function_sqlbody", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| user_routine(catalog, oid).and_then(|routine| routine_text::sql_body(routine)))
    }),
    FunctionDef::catalog(
        "pg_get_function_arg_default",
        &[T::Oid, T::Int4],
        T::Text,
        |b, catalog| b.map2(|oid, number: i32| argument_default(catalog, oid, number)),
    ),
    FunctionDef::catalog("pg_get_function_result", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| function_result(catalog, oid))
    }),
    FunctionDef::catalog(
        "pg_get_serial_sequence",
        &[T::Text, T::Text],
        T::Text,
        |b, catalog| b.map2(|table, column| serial_sequence(catalog, table, column)),
    ),
    FunctionDef::catalog("pg_get_triggerdef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid| get_triggerdef(catalog.objects(), catalog.search_path(), oid, false))
    }),
    FunctionDef::catalog("pg_get_triggerdef", &[T::Oid, T::Bool], T::Text, |b, catalog| {
        b.map2(|oid, pretty: bool| get_triggerdef(catalog.objects(), catalog.search_path(), oid, pretty))
    }),
    // None of these objects exists: their oids are nobody's, for which PostgreSQL answers NULL.
    FunctionDef::new("pg_get_statisticsobjdef", &[T::Oid], T::Text, null),
    FunctionDef::new("pg_get_statisticsobjdef_columns", &[T::Oid], T::Text, null),
];

fn constraint(catalog: &CatalogContext, oid: i64, pretty: bool) -> Option<String> {
    get_constraintdef(catalog.objects(), catalog.search_path(), oid, pretty)
}

fn expression(catalog: &CatalogContext, text: &str) -> String {
    shown_expression(text, catalog.objects(), catalog.search_path())
}

fn ruledef(catalog: &CatalogContext, oid: i64) -> Option<String> {
    let definition = get_viewdef(catalog.objects(), catalog.search_path(), oid, false)?;
    let (schema, name) = catalog.objects().relation_name(oid)?;
    let name = qualified(&schema, &name);
    Some(format!(
        "CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {}",
        definition.trim()
    ))
}

fn relation_by_name(catalog: &CatalogContext, text: &str) -> Result<i64> {
    let undefined = || Error::UndefinedTable {
        name: text.to_string(),
        nearest: None,
    };
    let mut parts = split_name(text).ok_or_else(undefined)?;
    let name = parts.pop().ok_or_else(undefined)?;
    let objects = catalog.objects();
    let found = match parts.pop() {
        Some(schema) => objects.relation_oid(&schema, &name),
        None => {
            path_with_catalog(catalog.search_path()).find_map(|schema| objects.relation_oid(schema, &name))
        }
    };
    found.ok_or_else(undefined)
}

fn known(catalog: &CatalogContext) -> &Catalog {
    &catalog.statement().catalog
}

/// A function that a user made.
fn user_routine(catalog: &CatalogContext, oid: i64) -> Option<&Arc<RoutineDef>> {
    let oid = u32::try_from(oid).ok()?;
    known(catalog).routines.by_oid(oid)
}

/// The default of an argument, counted from 1 among all.
fn argument_default(catalog: &CatalogContext, oid: i64, number: i32) -> Option<String> {
    let routine = user_routine(catalog, oid)?;
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    let argument = routine.arguments.get(at)?;
    let default = argument.default.as_deref()?;
    Some(routine_text::default_text(default, &argument.ty))
}

/// What pg_proc says of a function's parameters.
struct Parameters {
    types: Vec<i64>,
    modes: Vec<String>,
    names: Vec<String>,
    variadic: bool,
    result: i64,
    returns_set: bool,
}

static PARAMETERS: LazyLock<HashMap<i64, Parameters>> = LazyLock::new(|| {
    let columns = [
        "oid",
        "proargtypes",
        "proallargtypes",
        "proargmodes",
        "proargnames",
        "provariadic",
        "prorettype",
        "proretset",
    ];
    read("pg_proc", &columns)
        .map(|[oid, inputs, all, modes, names, variadic, result, set]| {
            let list = |cell: Option<String>| -> Vec<String> {
                cell.as_deref()
                    .map(elements)
                    .unwrap_or_default()
                    .into_iter()
                    .flatten()
                    .collect()
            };
            let number = |cell: Option<String>| cell.and_then(|cell| cell.parse().ok()).unwrap_or(0);
            let types = if all.is_some() { list(all) } else { list(inputs) };
            let parameters = Parameters {
                types: types.iter().filter_map(|ty| ty.parse().ok()).collect(),
                modes: list(modes),
                names: list(names),
                variadic: number(variadic) != 0,
                result: number(result),
                returns_set: set.as_deref() == Some("t"),
            };
            (number(oid), parameters)
        })
        .collect()
});

/// The parameters with their modes and names. Defaults are left out: PostgreSQL keeps them as parse trees.
/// Who asks.
fn reader(catalog: &CatalogContext) -> routine_text::Reader<'_> {
    routine_text::Reader {
        catalog: known(catalog),
        search_path: catalog.search_path(),
    }
}

fn signature(catalog: &CatalogContext, oid: i64, with_outputs: bool) -> Option<String> {
    if let Some(routine) = user_routine(catalog, oid) {
        let shown = if with_outputs { Shown::All } else { Shown::Identity };
        return Some(routine_text::arguments(reader(catalog), routine, shown));
    }
    let parameters = PARAMETERS.get(&oid)?;
    let last_input = parameters.types.len().saturating_sub(1);
    let mut parts = Vec::new();
    for (position, ty) in parameters.types.iter().enumerate() {
        let mode = parameters.modes.get(position).map_or("i", String::as_str);
        if mode == "t" || (mode == "o" && !with_outputs) {
            continue;
        }
        let mut part = match mode {
            "o" => "OUT ".to_string(),
            "b" => "INOUT ".to_string(),
            "v" => "VARIADIC ".to_string(),
            _ if parameters.variadic && position == last_input => "VARIADIC ".to_string(),
            _ => String::new(),
        };
        if let Some(name) = parameters.names.get(position).filter(|name| !name.is_empty()) {
            part += &quote_ident(name);
            part.push(' ');
        }
        parts.push(part + &format_type(*ty, None, catalog.objects(), catalog.search_path()));
    }
    Some(parts.join(", "))
}

fn function_result(catalog: &CatalogContext, oid: i64) -> Option<String> {
    if let Some(routine) = user_routine(catalog, oid) {
        return routine_text::result(reader(catalog), routine);
    }
    let parameters = PARAMETERS.get(&oid)?;
    let name = |ty: i64| format_type(ty, None, catalog.objects(), catalog.search_path());
    let table: Vec<String> = parameters
        .modes
        .iter()
        .enumerate()
        .filter(|(_, mode)| *mode == "t")
        .filter_map(|(position, _)| {
            let column = parameters.names.get(position)?;
            Some(format!(
                "{} {}",
                quote_ident(column),
                name(*parameters.types.get(position)?)
            ))
        })
        .collect();
    Some(match (table.is_empty(), parameters.returns_set) {
        (false, _) => format!("TABLE({})", table.join(", ")),
        (true, true) => format!("SETOF {}", name(parameters.result)),
        (true, false) => name(parameters.result),
    })
}

/// The sequence that goes with a column. Errors: 42P01, 42703.
fn serial_sequence(catalog: &CatalogContext, table: &str, column: &str) -> Result<Option<String>> {
    let oid = relation_by_name(catalog, table)?;
    let known = &catalog.statement().catalog;
    let Some(table) = known.tables().find(|table| i64::from(table.oid) == oid) else {
        return Ok(None);
    };
    let Some(at) = table.column_index(column) else {
        return Err(Error::UndefinedColumn {
            name: format!("\"{}\" of relation \"{}\"", column, table.name),
            hint: None,
        });
    };
    let id = table.columns[at].id;
    let is_owned = |sequence: &&Arc<SequenceDef>| sequence.owner.is_some_and(|owner| owner.column == id);
    let sequence = known.sequences_of(table.oid).find(is_owned);
    Ok(sequence.map(|sequence| qualified(&sequence.schema, &sequence.name)))
}
