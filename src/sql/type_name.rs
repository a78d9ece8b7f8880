//! The SQL type that a type name in a statement's tree means. `types` knows the names; this only spells them out.

use sqlparser::ast::DataType;

use crate::Result;
use crate::types::SqlType;

/// The type of `data_type`; `None` for a type we do not have. Errors: 22023 for a modifier out of range.
pub(crate) fn sql_type(data_type: &DataType) -> Result<Option<SqlType>> {
    let text = data_type.to_string().to_lowercase();
    let (name, modifiers) = split_modifiers(&text);
    SqlType::from_name(&name, &modifiers)
}

/// `timestamp(3) with time zone` → (`timestamp with time zone`, [3]).
fn split_modifiers(text: &str) -> (String, Vec<i64>) {
    let inside = text
        .find('(')
        .zip(text.find(')'))
        .filter(|(open, close)| open < close);
    let Some((open, close)) = inside else {
        return (text.trim_matches('"').to_string(), Vec::new());
    };
    let modifiers: Option<Vec<i64>> = text[open + 1..close]
        .split(',')
        .map(|modifier| modifier.trim().parse().ok())
        .collect();
    match modifiers {
        Some(modifiers) => (
            format!("{}{}", text[..open].trim_end(), &text[close + 1..]),
            modifiers,
        ),
        None => (text.to_string(), Vec::new()),
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
            ("timestamp(3) with time zone", "timestamp with time zone"),
            ("timestamptz", "timestamp with time zone"),
            ("date", "date"),
            ("uuid", "uuid"),
            ("bytea", "bytea"),
            ("int[]", "integer[]"),
            ("boolean", "boolean"),
        ] {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap();
            let data_type = parser.parse_data_type().unwrap();
            let found = sql_type(&data_type)
                .unwrap()
                .unwrap_or_else(|| panic!("{text}: {data_type:?}"));
            assert_eq!(found.name(), expected, "{text}");
        }
    }
}
