//! The SQL type that a type's name in a statement means. `types` knows the names; this only spells them out.

use sqlparser::ast::{ArrayElemTypeDef, BinaryLength, DataType, ObjectName};

use super::names;
use crate::types::{PackedKind, SqlType};
use crate::{Error, Result};

/// The type that a name means. Errors: 42704 for a name that is no type, 22023 for a modifier out of range, 22P02 for one that
/// is no number.
pub(crate) fn sql_type(data_type: &DataType) -> Result<SqlType> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => match sql_type(element)? {
            // PostgreSQL does not tell int[] from int[][].
            array @ SqlType::Array(_) => Ok(array),
            element => Ok(SqlType::array(element)),
        },
        DataType::Custom(name, modifiers) => {
            let Some(last) = name.0.last().and_then(|part| part.as_ident()) else {
                return Err(undefined(&name.to_string()));
            };
            if last.quote_style.is_some() && last.value == "char" {
                return Ok(SqlType::InternalChar);
            }
            if last.quote_style.is_some() && last.value == "bit" && modifiers.is_empty() {
                return Ok(SqlType::Bit(None));
            }
            let folded = names::fold(last);
            if !may_be_standard(name, &folded) {
                return Err(undefined(&folded));
            }
            if SqlType::from_name(folded.trim_start_matches('_'), &[])?.is_none() {
                return Err(undefined(&folded));
            }
            let modifiers = modifiers
                .iter()
                .map(|modifier| number(modifier))
                .collect::<Result<Vec<_>>>()?;
            if let Some(element) = folded.strip_prefix('_')
                && let Some(element) = SqlType::from_name(element, &[])?
            {
                return Ok(SqlType::array(element));
            }
            SqlType::from_name(&folded, &modifiers)?.ok_or_else(|| undefined(&folded))
        }
        other => {
            let text = other.to_string().to_lowercase();
            SqlType::from_formatted(text.trim_matches('"'))?.ok_or_else(|| undefined(&text))
        }
    }
}

/// Whether a name may mean a type that every database has: by itself, or in their schema. An extension's type is where the extension is.
fn may_be_standard(name: &ObjectName, folded: &str) -> bool {
    let schema = match name.0.as_slice() {
        [.., schema, _] => schema.as_ident().map(names::fold),
        _ => None,
    };
    schema.is_none_or(|schema| schema == "pg_catalog") || folded.trim_start_matches('_') == "citext"
}

/// The type that LindormTable's name for it means where no type of the database has the name: STRING, LONG, DATETIME.
pub(crate) fn lindorm_type(data_type: &DataType) -> Option<SqlType> {
    let written = data_type.to_string().to_lowercase();
    let (name, rest) = match written.split_once('(') {
        Some((name, rest)) => (name, format!("({rest}")),
        None => (written.as_str(), String::new()),
    };
    let meant = match name {
        "string" if rest.is_empty() => "text".to_string(),
        "long" if rest.is_empty() => "bigint".to_string(),
        "datetime" => format!("timestamp{rest}"),
        _ => return None,
    };
    SqlType::from_formatted(&meant).ok().flatten()
}

/// The type without its length, and that, of `BINARY(n)` and `VARBINARY(n)`: bytes, as many as that at most.
pub(crate) fn bounded_bytes(data_type: &DataType) -> Option<(DataType, u64)> {
    match data_type {
        DataType::Binary(Some(length)) => Some((DataType::Bytea, *length)),
        DataType::Varbinary(Some(BinaryLength::IntegerLength { length })) => Some((DataType::Bytea, *length)),
        _ => None,
    }
}

/// As `sql_type`, with a dimension for each pair of brackets: what a column is declared as, which holds arrays of so many.
pub(crate) fn declared_type(data_type: &DataType) -> Result<SqlType> {
    let mut brackets = 0;
    let mut element = data_type;
    while let DataType::Array(
        ArrayElemTypeDef::SquareBracket(inner, _)
        | ArrayElemTypeDef::AngleBracket(inner)
        | ArrayElemTypeDef::Parenthesis(inner),
    ) = element
    {
        brackets += 1;
        element = inner;
    }
    let nested = |ty, _| SqlType::array(ty);
    Ok((1..brackets).fold(sql_type(data_type)?, nested))
}

/// What to warn of when a type's name asks for more digits behind the second than there are.
pub(crate) fn reduced_digits(data_type: &DataType) -> Option<String> {
    let digits = match data_type {
        DataType::Timestamp(digits, _) | DataType::Time(digits, _) => *digits,
        DataType::Interval { precision, .. } => *precision,
        DataType::Custom(_, modifiers) => modifiers.first()?.trim().parse().ok(),
        _ => None,
    }?;
    match sql_type(data_type).ok()? {
        ty @ (SqlType::Time(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_)
        | SqlType::Interval(_)
        | SqlType::Packed(PackedKind::TimeTz(_))) => ty.reduced_digits(digits),
        _ => None,
    }
}

/// A modifier of a type. Errors: 22P02 for what is no number.
fn number(modifier: &str) -> Result<i64> {
    modifier.trim().parse().map_err(|_| Error::InvalidText {
        type_name: "integer".to_string(),
        value: modifier.trim().to_string(),
    })
}

fn undefined(name: &str) -> Error {
    Error::UndefinedObject {
        kind: "type",
        name: name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn names_with_modifiers_are_types() {
        for (text, expected) in [
            ("int", "integer"),
            ("bigint", "bigint"),
            ("float8", "double precision"),
            ("double precision", "double precision"),
            ("real", "real"),
            ("numeric(10,2)", "numeric(10,2)"),
            ("decimal", "numeric"),
            ("varchar(10)", "character varying(10)"),
            ("text", "text"),
            ("char(4)", "character(4)"),
            ("timestamp", "timestamp without time zone"),
            ("timestamp(3) with time zone", "timestamp(3) with time zone"),
            ("interval day to second(2)", "interval day to second(2)"),
            ("timestamptz", "timestamp with time zone"),
            ("date", "date"),
            ("uuid", "uuid"),
            ("bytea", "bytea"),
            ("int[]", "integer[]"),
            ("boolean", "boolean"),
        ] {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap();
            let data_type = parser.parse_data_type().unwrap();
            assert_eq!(sql_type(&data_type).unwrap().name(), expected, "{text}");
        }
    }
}
