//! Types named in expressions: casts and typed literals.

use sqlparser::ast::{ArrayElemTypeDef, DataType};

use super::binder::fold;
use crate::types::SqlType;
use crate::{Error, Result};

/// The type that a name means. Errors: 42704, 22023.
pub(super) fn sql_type(data_type: &DataType) -> Result<SqlType> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => match sql_type(element)? {
            // PostgreSQL does not tell int[] from int[][].
            array @ SqlType::Array(_) => Ok(array),
            element => Ok(SqlType::Array(Box::new(element))),
        },
        DataType::Interval { .. } => Ok(SqlType::Interval),
        DataType::Custom(name, modifiers) => {
            let Some(last) = name.0.last().and_then(|part| part.as_ident()) else {
                return Err(undefined(&name.to_string()));
            };
            if last.quote_style.is_some() && last.value == "char" {
                return Ok(SqlType::InternalChar);
            }
            let folded = fold(last);
            let modifiers: Vec<i64> = modifiers
                .iter()
                .filter_map(|modifier| modifier.trim().parse().ok())
                .collect();
            if let Some(element) = folded.strip_prefix('_')
                && let Some(element) = SqlType::from_name(element, &[])?
            {
                return Ok(SqlType::Array(Box::new(element)));
            }
            SqlType::from_name(&folded, &modifiers)?.ok_or_else(|| undefined(&folded))
        }
        other => crate::sql::type_name::sql_type(other)?
            .ok_or_else(|| undefined(&other.to_string().to_lowercase())),
    }
}

/// The digits behind the second that a type's name asks for: `timestamp(3)`.
pub(super) fn fraction_digits(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Timestamp(digits, _) | DataType::Time(digits, _) => *digits,
        DataType::Interval { precision, .. } => *precision,
        DataType::Custom(_, modifiers) if matches!(sql_type(data_type), Ok(SqlType::TimestampTz)) => {
            modifiers.first()?.trim().parse().ok()
        }
        _ => None,
    }
    .filter(|digits| *digits < 6)
}

fn undefined(name: &str) -> Error {
    Error::UndefinedObject {
        kind: "type",
        name: name.to_string(),
    }
}
