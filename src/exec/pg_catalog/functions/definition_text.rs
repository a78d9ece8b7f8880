//! Definitions as SQL text: pg_get_indexdef, pg_get_constraintdef, pg_get_viewdef, pg_get_expr, signatures of functions.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Call, Function, Returns, lenient, strict, text_or_null};
use crate::exec::pg_catalog::cells::elements;
use crate::exec::pg_catalog::ddl_text::{get_constraintdef, get_indexdef, get_viewdef};
use crate::exec::pg_catalog::naming::{format_type, split_name};
use crate::exec::pg_catalog::objects::{Found, path_with_catalog, read, sequence_name};
use crate::exec::pg_catalog::quoting::{qualified, quote_ident, quote_literal};
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[Function] = &[
    strict("pg_get_indexdef", (1, 3), Returns::Text, |call| {
        let column = if call.arguments.len() == 3 {
            call.integer(1)?
        } else {
            0
        };
        let (objects, path) = (call.catalog.objects(), call.catalog.search_path());
        Ok(text_or_null(get_indexdef(
            objects,
            path,
            call.integer(0)?,
            column,
            call.flag(2)?,
        )))
    }),
    strict("pg_get_constraintdef", (1, 2), Returns::Text, |call| {
        Ok(text_or_null(get_constraintdef(
            call.catalog.objects(),
            call.integer(0)?,
        )))
    }),
    strict("pg_get_viewdef", (1, 2), Returns::Text, viewdef),
    // The rule of a view is all there is of rules.
    strict("pg_get_ruledef", (1, 2), Returns::Text, ruledef),
    // Expressions of the catalogs are SQL text already.
    lenient("pg_get_expr", (2, 3), Returns::Text, |call| {
        Ok(call.arguments[0].clone())
    }),
    strict("pg_get_function_arguments", (1, 1), Returns::Text, |call| {
        signature(call, true)
    }),
    strict(
        "pg_get_function_identity_arguments",
        (1, 1),
        Returns::Text,
        |call| signature(call, false),
    ),
    strict("pg_get_function_result", (1, 1), Returns::Text, function_result),
    strict("pg_get_serial_sequence", (2, 2), Returns::Text, serial_sequence),
    // None of these objects exists: their oids are nobody's, for which PostgreSQL answers NULL.
    strict("pg_get_triggerdef", (1, 2), Returns::Text, |_| Ok(Value::Null)),
    strict("pg_get_partkeydef", (1, 1), Returns::Text, |_| Ok(Value::Null)),
    strict("pg_get_partition_constraintdef", (1, 1), Returns::Text, |_| {
        Ok(Value::Null)
    }),
    strict("pg_get_statisticsobjdef", (1, 1), Returns::Text, |_| {
        Ok(Value::Null)
    }),
    strict("pg_get_statisticsobjdef_columns", (1, 1), Returns::Text, |_| {
        Ok(Value::Null)
    }),
];

fn viewdef(call: &Call<'_>) -> Result<Value> {
    let oid = match &call.arguments[0] {
        Value::Int(oid) => *oid,
        _ => {
            let text = call.text(0)?;
            match text.parse() {
                Ok(oid) => oid,
                Err(_) => relation_by_name(call, text)?,
            }
        }
    };
    Ok(text_or_null(get_viewdef(call.catalog.objects(), oid)))
}

fn ruledef(call: &Call<'_>) -> Result<Value> {
    let objects = call.catalog.objects();
    let oid = call.integer(0)?;
    let Some(definition) = get_viewdef(objects, oid) else {
        return Ok(Value::Null);
    };
    let name = match objects.relation_name(oid) {
        Some((schema, name)) => qualified(&schema, &name),
        None => return Ok(Value::Null),
    };
    Ok(Value::Text(format!(
        "CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {}",
        definition.trim()
    )))
}

fn relation_by_name(call: &Call<'_>, text: &str) -> Result<i64> {
    let undefined = || Error::UndefinedTable {
        name: text.to_string(),
        nearest: None,
    };
    let mut parts = split_name(text).ok_or_else(undefined)?;
    let name = parts.pop().ok_or_else(undefined)?;
    let objects = call.catalog.objects();
    let found = match parts.pop() {
        Some(schema) => objects.relation_oid(&schema, &name),
        None => path_with_catalog(call.catalog.search_path())
            .find_map(|schema| objects.relation_oid(schema, &name)),
    };
    found.ok_or_else(undefined)
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
fn signature(call: &Call<'_>, with_outputs: bool) -> Result<Value> {
    let Some(parameters) = PARAMETERS.get(&call.integer(0)?) else {
        return Ok(Value::Null);
    };
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
        parts.push(part + &format_type(*ty, None, call.catalog.objects(), call.catalog.search_path()));
    }
    Ok(Value::Text(parts.join(", ")))
}

fn function_result(call: &Call<'_>) -> Result<Value> {
    let Some(parameters) = PARAMETERS.get(&call.integer(0)?) else {
        return Ok(Value::Null);
    };
    let name = |ty: i64| format_type(ty, None, call.catalog.objects(), call.catalog.search_path());
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
    Ok(Value::Text(match (table.is_empty(), parameters.returns_set) {
        (false, _) => format!("TABLE({})", table.join(", ")),
        (true, true) => format!("SETOF {}", name(parameters.result)),
        (true, false) => name(parameters.result),
    }))
}

fn serial_sequence(call: &Call<'_>) -> Result<Value> {
    let oid = relation_by_name(call, call.text(0)?)?;
    let column = call.text(1)?;
    let Some(Found::Relation(relation)) = call.catalog.objects().find(oid) else {
        return Ok(Value::Null);
    };
    let Some(found) = relation.columns.iter().find(|candidate| candidate.name == column) else {
        return Err(Error::UndefinedColumn {
            name: format!("{} of relation {}", quote_literal(column), relation.name),
            hint: None,
        });
    };
    let serial = !found.identity.is_empty()
        || found
            .default
            .as_deref()
            .is_some_and(|d| d.starts_with("nextval("));
    Ok(if serial {
        Value::Text(qualified(
            &relation.schema,
            &sequence_name(&relation.name, column),
        ))
    } else {
        Value::Null
    })
}
