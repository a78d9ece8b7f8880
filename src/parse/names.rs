//! Identifiers and object names of SQL text, folded as PostgreSQL folds them.

use sqlparser::ast::{Ident, ObjectName, TableAlias, TableFactor};

use crate::{Error, Result};

/// The identifier's name: lower case unless it was quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        // As in PostgreSQL, other letters stay as they are.
        None => ident.value.to_ascii_lowercase(),
    }
}

/// The name of what is meant, without what it stands in.
pub(crate) fn last_name(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(fold)
}

/// The name of a relation in a schema, as it is read whatever is in it.
pub(crate) fn quoted_relation(schema: &str, name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', schema), Ident::with_quote('"', name)])
}

/// A relation in FROM: `name` or `name AS alias`.
pub(crate) fn relation_in_from(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// Schema (if given) and name of `name` or `schema.name`. Errors: 0A000 for a name of another database.
pub(crate) fn relation_name(name: &ObjectName) -> Result<(Option<String>, String)> {
    let parts: Vec<String> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(fold)
        .collect();
    match parts.as_slice() {
        [table] => Ok((None, table.clone())),
        [schema, table] => Ok((Some(schema.clone()), table.clone())),
        // PostgreSQL accepts the own database's name before the schema; ours is whatever the client connected to.
        [_, schema, table] => Ok((Some(schema.clone()), table.clone())),
        _ => Err(Error::unsupported(format!("the relation name {name}"), None)),
    }
}
