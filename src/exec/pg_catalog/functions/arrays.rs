//! Arrays as the catalogs use them: bounds, subscripts that count as PostgreSQL's types do, sets as arrays to unnest.

use super::{Call, Function, Returns, lenient, strict};
use crate::exec::pg_catalog::cells::elements;
use crate::types::{CatalogType, SqlType, Value};
use crate::{Error, Result};

/// The longest set that generate_series gives at once.
const SERIES_MAX: i64 = 1_000_000;

pub(super) static FUNCTIONS: &[Function] = &[
    strict("array_lower", (2, 2), Returns::Int4, |call| {
        bound(call, |items, lower| (!items.is_empty()).then_some(lower))
    }),
    strict("array_upper", (2, 2), Returns::Int4, |call| {
        bound(call, |items, lower| {
            let length = i64::try_from(items.len()).ok()?;
            (length > 0).then_some(lower + length - 1)
        })
    }),
    // `x[i]`, where vectors and names count from 0 and arrays from 1.
    strict("array_subscript", (2, 2), Returns::Element, subscript),
    // The elements of an array's text form: `'{a,b}'::text[]`.
    strict("text_array", (1, 1), Returns::Texts, |call| {
        Ok(Value::Array(text_elements(call.text(0)?)))
    }),
    strict("series_array", (2, 3), Returns::Int8s, series),
    strict("array_positions_of", (1, 1), Returns::Int8s, |call| {
        let items = array(call, 0)?;
        Ok(Value::Array(
            (1..=items.len())
                .filter_map(|n| i64::try_from(n).ok())
                .map(Value::Int)
                .collect(),
        ))
    }),
    lenient("array_in_list", (2, 2), Returns::Bool, any_equal),
];

fn array<'a>(call: &'a Call<'_>, position: usize) -> Result<&'a [Value]> {
    match call.arguments.get(position) {
        Some(Value::Array(items)) => Ok(items),
        other => Err(call.wrong_argument(position, other)),
    }
}

/// The number of the first element.
fn lower_bound(call: &Call<'_>, position: usize) -> i64 {
    let ty = call.fields.get(position).map(|field| SqlType::from_field(field));
    match ty {
        Some(SqlType::Int2Vector | SqlType::Name | SqlType::Catalog(CatalogType::OidVector)) => 0,
        _ => 1,
    }
}

fn bound(call: &Call<'_>, answer: fn(&[Value], i64) -> Option<i64>) -> Result<Value> {
    if call.integer(1)? != 1 {
        return Ok(Value::Null);
    }
    Ok(answer(array(call, 0)?, lower_bound(call, 0)).map_or(Value::Null, Value::Int))
}

fn subscript(call: &Call<'_>) -> Result<Value> {
    let index = call.integer(1)? - lower_bound(call, 0);
    let Ok(position) = usize::try_from(index) else {
        return Ok(Value::Null);
    };
    Ok(match &call.arguments[0] {
        Value::Array(items) => items.get(position).cloned().unwrap_or(Value::Null),
        Value::Text(name) => name
            .chars()
            .nth(position)
            .map_or(Value::Null, |c| Value::Text(c.to_string())),
        other => return Err(call.wrong_argument(0, Some(other))),
    })
}

fn text_elements(text: &str) -> Vec<Value> {
    elements(text)
        .into_iter()
        .map(|element| element.map_or(Value::Null, Value::Text))
        .collect()
}

fn series(call: &Call<'_>) -> Result<Value> {
    let (start, stop) = (call.integer(0)?, call.integer(1)?);
    let step = if call.arguments.len() == 3 {
        call.integer(2)?
    } else {
        1
    };
    if step == 0 {
        return Err(Error::InvalidParameter {
            message: "step size cannot equal zero".to_string(),
            hint: None,
        });
    }
    if (stop - start) / step > SERIES_MAX {
        return Err(Error::LimitExceeded {
            state: crate::error::Limit::Program,
            message: format!("generate_series gives at most {SERIES_MAX} rows here"),
            hint: "Give it smaller bounds.".to_string(),
        });
    }
    let mut items = Vec::new();
    let mut value = start;
    while (step > 0 && value <= stop) || (step < 0 && value >= stop) {
        items.push(Value::Int(value));
        value += step;
    }
    Ok(Value::Array(items))
}

/// `x = ANY (array)` with SQL's NULLs: true when an element equals, NULL when one might, else false.
fn any_equal(call: &Call<'_>) -> Result<Value> {
    let (needle, items) = match (&call.arguments[0], &call.arguments[1]) {
        (_, Value::Null) => return Ok(Value::Null),
        (needle, Value::Array(items)) => (needle, items),
        (_, other) => return Err(call.wrong_argument(1, Some(other))),
    };
    if items.is_empty() {
        return Ok(Value::Bool(false));
    }
    if *needle == Value::Null {
        return Ok(Value::Null);
    }
    if items.iter().any(|item| same(item, needle)) {
        return Ok(Value::Bool(true));
    }
    Ok(if items.contains(&Value::Null) {
        Value::Null
    } else {
        Value::Bool(false)
    })
}

/// Equal, where a number may stand as text.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(number), Value::Text(text)) | (Value::Text(text), Value::Int(number)) => {
            text.trim().parse() == Ok(*number)
        }
        (left, right) => left == right,
    }
}
