//! UPDATE of a system catalog, as far as tools send it: which columns may be written, and the query that says what. Everything else that
//! writes catalogs is a write of a relation that cannot be written.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Ident, ObjectName, Query, Statement, TableFactor, Update,
};

use super::names::fold;
use super::tree::parse_query;

/// Columns with their types.
type Columns = &'static [(&'static str, &'static str)];

/// The catalogs with the columns that may be written, and the schema that they are in.
const WRITABLE: [(&str, Columns); 2] = [
    ("pg_constraint", &[("convalidated", "boolean")]),
    (
        "pg_database",
        &[
            ("datallowconn", "boolean"),
            ("datistemplate", "boolean"),
            ("datconnlimit", "integer"),
        ],
    ),
];
const SCHEMA: &str = "pg_catalog";

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogUpdate {
    /// `pg_constraint`.
    pub relation: &'static str,
    /// Its columns.
    pub columns: Vec<&'static str>,
    /// Gives for each row that is changed its oid, and what the columns become, as text.
    pub query: Box<Query>,
}

impl CatalogUpdate {
    /// What a statement writes. `None`: it is none of these.
    pub(super) fn of(statement: &Statement) -> Option<CatalogUpdate> {
        let Statement::Update(Update {
            table,
            assignments,
            from,
            selection,
            returning: None,
            ..
        }) = statement
        else {
            return None;
        };
        let TableFactor::Table { name, alias, .. } = &table.relation else {
            return None;
        };
        let (relation, writable) = writable(name)?;
        let called = alias.as_ref().map_or(relation, |alias| alias.name.value.as_str());
        let (mut columns, mut outputs) = (Vec::new(), vec![format!("{}.oid", quoted(called))]);
        for Assignment { target, value } in assignments {
            let AssignmentTarget::ColumnName(ObjectName(target)) = target else {
                return None;
            };
            let target = target.last()?.as_ident()?;
            let (column, ty) = writable.iter().find(|(column, _)| *column == fold(target))?;
            columns.push(*column);
            outputs.push(format!("({value})::{ty}::text"));
        }
        let mut relations = vec![table.to_string()];
        let more = from.as_ref().map(|from| match from {
            sqlparser::ast::UpdateTableFromKind::BeforeSet(more)
            | sqlparser::ast::UpdateTableFromKind::AfterSet(more) => more,
        });
        relations.extend(more.into_iter().flatten().map(ToString::to_string));
        let mut text = format!("SELECT {} FROM {}", outputs.join(", "), relations.join(", "));
        if let Some(condition) = selection {
            text.push_str(&format!(" WHERE {condition}"));
        }
        Some(CatalogUpdate {
            relation,
            columns,
            query: parse_query(&text).ok()?,
        })
    }
}

fn writable(name: &ObjectName) -> Option<(&'static str, Columns)> {
    let parts: Vec<String> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(fold)
        .collect();
    let relation = match parts.as_slice() {
        [relation] => relation,
        [schema, relation] if schema == SCHEMA => relation,
        _ => return None,
    };
    WRITABLE.iter().copied().find(|(known, _)| known == relation)
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
