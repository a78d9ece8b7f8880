//! Type names of SQL text as `SqlType`s: for column definitions and casts. Knows nothing of tables.

use sqlparser::ast::{ArrayElemTypeDef, DataType};

use crate::types::SqlType;
use crate::{Error, Result};

/// The type that SQL text means. Errors: 42704 for a name that is no type, 22023 for a modifier out of range.
pub(crate) fn sql_type(data_type: &DataType) -> Result<SqlType> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => Ok(SqlType::Array(Box::new(sql_type(element)?))),
        DataType::Interval { .. } => Ok(SqlType::Interval),
        data_type => {
            let (name, modifiers) = name_and_modifiers(data_type);
            let undefined = || Error::UndefinedObject { kind: "type", name: name.clone() };
            let modifiers = modifiers.iter().map(|text| text.trim().parse().map_err(|_| undefined()));
            SqlType::from_name(&name, &modifiers.collect::<Result<Vec<i64>>>()?)?.ok_or_else(undefined)
        }
    }
}

/// The type's name in lower case, without the schema that holds every built-in type, and what stood in parentheses.
pub(crate) fn name_and_modifiers(data_type: &DataType) -> (String, Vec<String>) {
    if let DataType::Custom(name, modifiers) = data_type {
        let last = name.0.last().and_then(|part| part.as_ident());
        return (last.map(super::names::fold).unwrap_or_default(), modifiers.clone());
    }
    let text = data_type.to_string().to_lowercase();
    let Some((head, rest)) = text.split_once('(') else { return (text, Vec::new()) };
    let (inside, tail) = rest.split_once(')').unwrap_or((rest, ""));
    let modifiers = inside.split(',').map(|part| part.trim().to_string()).collect();
    (format!("{}{tail}", head.trim_end()), modifiers)
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn read(text: &str) -> Result<String> {
        let data_type = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap().parse_data_type().unwrap();
        sql_type(&data_type).map(|ty| ty.name())
    }

    #[test]
    fn names_and_aliases_are_read() {
        for (text, name) in [
            ("int", "integer"),
            ("INT8", "bigint"),
            ("tinyint", "smallint"),
            ("double", "double precision"),
            ("double precision", "double precision"),
            ("float", "double precision"),
            ("real", "real"),
            ("decimal(10, 2)", "numeric(10,2)"),
            ("numeric", "numeric"),
            ("varchar", "character varying"),
            ("varchar(7)", "character varying(7)"),
            ("character varying(7)", "character varying(7)"),
            ("char(3)", "character(3)"),
            ("varbinary", "bytea"),
            ("timestamp", "timestamp without time zone"),
            ("timestamp with time zone", "timestamp with time zone"),
            ("timestamptz", "timestamp with time zone"),
            ("time", "time without time zone"),
            ("pg_catalog.int4", "integer"),
            ("jsonb", "jsonb"),
            ("uuid", "uuid"),
            ("boolean", "boolean"),
            ("interval", "interval"),
            ("integer[]", "integer[]"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(name), "{text}");
        }
    }

    #[test]
    fn unknown_names_are_undefined_objects() {
        let error = read("geometry3").unwrap_err();
        assert_eq!(error.to_string(), "type \"geometry3\" does not exist");
        assert_eq!(error.sqlstate(), "42704");
    }
}
