//! Arrays as the catalogs use them: subscripts that count as PostgreSQL's types do, and functions that return sets of
//! composite values, a column at a time.

use super::{Call, Function, Returns, strict};
use crate::exec::pg_catalog::cells::elements;
use crate::types::{CatalogType, SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[Function] = &[
    // `x[i]`, where vectors and names count from 0 and arrays from 1.
    strict("array_subscript", (2, 2), Returns::Element, subscript),
    // information_schema._pg_expandarray(array): its rows as records, and their columns.
    strict("expandarray", (1, 1), Returns::Records, |call| {
        let rows = array(call)?.iter().enumerate();
        Ok(Value::Array(
            rows.map(|(at, item)| Value::Text(format!("({},{})", integer(item), at + 1)))
                .collect(),
        ))
    }),
    strict("expandarray_x", (1, 1), Returns::Elements, |call| {
        Ok(Value::Array(array(call)?.to_vec()))
    }),
    strict("expandarray_n", (1, 1), Returns::Int4s, |call| {
        let count = i64::try_from(array(call)?.len()).unwrap_or(i64::MAX);
        Ok(Value::Array((1..=count).map(Value::Int).collect()))
    }),
    strict("expandarray_field", (2, 2), Returns::Int4, record_field),
    // pg_options_to_table(options): names and values of `name=value`.
    strict("options_names", (1, 1), Returns::Texts, |call| {
        options(call, |(name, _)| Value::Text(name.to_string()))
    }),
    strict("options_values", (1, 1), Returns::Texts, |call| {
        options(call, |(_, value)| {
            value.map_or(Value::Null, |value| Value::Text(value.to_string()))
        })
    }),
];

/// A function that returns a set of composite values.
#[derive(Debug)]
pub struct SetFunction {
    /// Its name.
    pub name: &'static str,
    /// Its columns: their names, and the functions that give each as an array.
    pub columns: &'static [(&'static str, &'static str)],
    /// The function that gives the rows as an array of records, and the one that takes a field out of a record.
    pub record: Option<(&'static str, &'static str)>,
}

/// Every function that returns a set of composite values.
pub(crate) static SET_FUNCTIONS: &[SetFunction] = &[
    SetFunction {
        name: "_pg_expandarray",
        columns: &[("x", "expandarray_x"), ("n", "expandarray_n")],
        record: Some(("expandarray", "expandarray_field")),
    },
    SetFunction {
        name: "pg_options_to_table",
        columns: &[
            ("option_name", "options_names"),
            ("option_value", "options_values"),
        ],
        record: None,
    },
];

fn array<'a>(call: &'a Call<'_>) -> Result<&'a [Value]> {
    match call.arguments.first() {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(call.wrong_argument()),
    }
}

fn integer(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    }
}

/// The number of the first element.
fn lower_bound(call: &Call<'_>) -> i64 {
    match call.fields.first().map(|field| SqlType::from_field(field)) {
        Some(SqlType::Int2Vector | SqlType::Name | SqlType::Catalog(CatalogType::OidVector)) => 0,
        _ => 1,
    }
}

fn subscript(call: &Call<'_>) -> Result<Value> {
    let Ok(position) = usize::try_from(call.integer(1)? - lower_bound(call)) else {
        return Ok(Value::Null);
    };
    Ok(match &call.arguments[0] {
        Value::Array(items) => items.get(position).cloned().unwrap_or(Value::Null),
        Value::Text(name) => name
            .chars()
            .nth(position)
            .map_or(Value::Null, |c| Value::Text(c.to_string())),
        _ => return Err(call.wrong_argument()),
    })
}

/// `(x,n)` as a record prints: the field of that name.
fn record_field(call: &Call<'_>) -> Result<Value> {
    let record = call.text(0)?.trim_start_matches('(').trim_end_matches(')');
    let mut fields = record.split(',');
    let field = match call.text(1)? {
        "x" => fields.next(),
        "n" => fields.nth(1),
        other => {
            let name = format!("\"{other}\"");
            return Err(Error::UndefinedColumn { name, hint: None });
        }
    };
    Ok(field
        .and_then(|field| field.parse().ok())
        .map_or(Value::Null, Value::Int))
}

fn options(call: &Call<'_>, part: fn((&str, Option<&str>)) -> Value) -> Result<Value> {
    let texts: Vec<String> = match call.arguments.first() {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => elements(call.text(0)?).into_iter().flatten().collect(),
    };
    let parts = texts.iter().map(|text| match text.split_once('=') {
        Some((name, value)) => part((name, Some(value))),
        None => part((text, None)),
    });
    Ok(Value::Array(parts.collect()))
}
