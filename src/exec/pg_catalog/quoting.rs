//! Names and literals quoted as PostgreSQL quotes them. Pure functions, called wherever SQL text is made.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::definitions::static_cells;

/// The name, quoted unless it is a plain lower-case word that the grammar does not reserve.
pub(crate) fn quote_ident(name: &str) -> String {
    let plain = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain && !RESERVED.contains(name) {
        return name.to_string();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `schema.name`, each quoted where it must be.
pub(crate) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quote_ident(schema), quote_ident(name))
}

/// A string literal; with backslashes it takes the `E''` form, as PostgreSQL's quote_literal gives it.
pub(crate) fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// Words that cannot stand as a name unquoted: every keyword that is not unreserved.
static RESERVED: LazyLock<HashSet<String>> = LazyLock::new(|| {
    static_cells("pg_catalog", "pg_get_keywords")
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            let word = cells.next()??;
            let code = cells.next()??;
            (code != "U").then_some(word)
        })
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_postgresql_does() {
        assert_eq!(quote_ident("orders"), "orders");
        assert_eq!(quote_ident("Orders"), "\"Orders\"");
        assert_eq!(quote_ident("user"), "\"user\"");
        assert_eq!(quote_ident("1a"), "\"1a\"");
        assert_eq!(quote_ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_ident("name"), "name");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\b"), "E'a\\\\b'");
    }
}
