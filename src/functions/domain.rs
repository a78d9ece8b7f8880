//! What a value that becomes one of a domain passes.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};

use super::{Batch, Body, mismatched_types};
use crate::{Error, Result};

/// The value, once it is one of the domain. Arguments: the value, the domain's schema and name, whether it has no NULL, and for each
/// of its conditions the name and what it says of the value. Errors: 23502, 23514.
pub const DOMAIN_VALUE: Body = Body::Batch(domain_value);

fn domain_value(batch: &Batch) -> Result<ArrayRef> {
    let [value, schema, name, not_null, checks @ ..] = batch.arrays else {
        return Err(mismatched_types());
    };
    let text = |array: &ArrayRef, row: usize| -> Result<String> {
        let texts = array.as_string_opt::<i32>().ok_or_else(mismatched_types)?;
        Ok(texts.value(row).to_string())
    };
    let not_null = not_null.as_boolean_opt().ok_or_else(mismatched_types)?;
    let conditions: Vec<&BooleanArray> = checks
        .chunks(2)
        .map(|check| {
            let condition = check.get(1).and_then(|array| array.as_boolean_opt());
            condition.ok_or_else(mismatched_types)
        })
        .collect::<Result<_>>()?;
    let nulls = value.logical_nulls();
    for row in 0..batch.rows {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let broken = conditions
            .iter()
            .position(|condition| condition.is_valid(row) && !condition.value(row));
        let constraint = match broken {
            _ if is_null && not_null.value(row) => None,
            Some(broken) => Some(text(&checks[2 * broken], row)?),
            None => continue,
        };
        return Err(Error::DomainViolation {
            schema: text(schema, row)?,
            domain: text(name, row)?,
            constraint,
        });
    }
    Ok(ArrayRef::clone(value))
}
