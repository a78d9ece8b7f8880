//! Inverted indexes: `USING gin`, and `USING gist` of what it serves, too. Each of their columns is taken apart into terms (`codec::terms`);
//! an entry stands under a term. See `plan::terms` for what reads them.

use sqlparser::ast::{CreateIndex, IndexColumn, IndexType, ObjectName};

use super::index_key::{ExpressionColumn, Key};
use super::key::{self, KeyKind};
use super::operator_class;
use crate::catalog::{ColumnDef, IndexTerms, KeyColumn, TERM_SOURCES_MAX, TableDef, TermSource};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::codec::terms::TermClass;
use crate::error::{Limit, StatementFault};
use crate::parse::names;
use crate::types::SqlType;
use crate::{Error, Result};

/// PostgreSQL's operator classes that have terms: by their names for gin and for gist.
const CLASSES: [(&str, &str, TermClass); 5] = [
    ("array_ops", "gist__int_ops", TermClass::Items),
    ("jsonb_ops", "", TermClass::Json),
    ("jsonb_path_ops", "", TermClass::JsonPaths),
    ("tsvector_ops", "tsvector_ops", TermClass::Words),
    ("gin_trgm_ops", "gist_trgm_ops", TermClass::Trigrams),
];

/// The name of an access method whose indexes are inverted.
pub(super) fn method(index_type: Option<&IndexType>) -> Option<&'static str> {
    match index_type {
        Some(IndexType::GIN) => Some("gin"),
        Some(IndexType::GiST) => Some("gist"),
        _ => None,
    }
}

/// What an inverted index cannot be. Errors: 0A000.
pub(super) fn check_supported(create: &CreateIndex, method: &str) -> Result<()> {
    let refused = match (create.unique, create.include.is_empty()) {
        (true, _) => Some("unique indexes"),
        (false, false) if method == "gin" => Some("included columns"),
        _ => None,
    };
    if let Some(what) = refused {
        return Err(unsupported(method, what));
    }
    check_directions(&create.columns, method)
}

/// Errors: 0A000.
fn check_directions(parts: &[IndexColumn], method: &str) -> Result<()> {
    for part in parts {
        let options = &part.column.options;
        if options.asc.is_some() {
            return Err(unsupported(method, "ASC/DESC options"));
        }
        if options.nulls_first.is_some() {
            return Err(unsupported(method, "NULLS FIRST/LAST options"));
        }
    }
    Ok(())
}

fn unsupported(method: &str, what: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: format!("access method \"{method}\" does not support {what}"),
        hint: Some("A btree index is sorted, and may be unique.".to_string()),
    }
}

/// Adds to a key the column of the terms of some parts; what these need is `table`'s then. Errors: as `index_expression::key`; 42704 for a
/// type that has no terms.
pub(super) fn add_terms(
    table: &mut TableDef,
    key: &mut Key,
    (parts, method, takes_plain): (&[IndexColumn], &str, bool),
    mut expression_column: impl FnMut(&mut TableDef, &mut Key, &IndexColumn) -> Result<Option<ExpressionColumn>>,
) -> Result<()> {
    if parts.len() > TERM_SOURCES_MAX {
        return Err(Error::LimitExceeded {
            state: Limit::Columns,
            message: format!("cannot use more than {TERM_SOURCES_MAX} columns in an index"),
            hint: "Make several indexes.".to_string(),
        });
    }
    let mut sources = Vec::with_capacity(parts.len());
    for part in parts {
        let (id, ty) = match expression_column(table, key, part)? {
            Some(ExpressionColumn { id, ty }) => (id, ty),
            None => {
                let column = key::plain_column(KeyKind::Index, part, &table.columns)?;
                key.names.push(column.name.clone());
                (column.id, column.ty.clone())
            }
        };
        let (class, named) = match class_of(part, &ty, method) {
            Err(_) if takes_plain && is_plain(part, &ty) => (TermClass::Plain, None),
            class => class?,
        };
        sources.push(TermSource {
            column: id,
            class,
            named,
        });
    }
    if sources.iter().all(|source| source.class == TermClass::Plain) {
        let at = sources
            .first()
            .and_then(|source| table.column_index_by_id(source.column));
        return Err(no_default(
            at.map_or(&SqlType::Text, |at| &table.columns[at].ty),
            method,
        ));
    }
    let column = term_column(table)?;
    key.columns.push(KeyColumn::ascending(column));
    key.terms = Some(IndexTerms { column, sources });
    Ok(())
}

/// Whether it is a part that btree_gin has a class for.
fn is_plain(part: &IndexColumn, ty: &SqlType) -> bool {
    let is_of_type = |class: &ObjectName| operator_class::check(class, ty).is_ok();
    check_key_type(ty, "").is_ok() && part.operator_class.as_ref().is_none_or(is_of_type)
}

/// The hidden column that stands for a term.
fn term_column(table: &mut TableDef) -> Result<ColumnId> {
    let id = table.next_column_id;
    table.add_column(ColumnDef::hidden(id, format!("term ({id})"), SqlType::Bytea))
}

/// How values of a type are taken apart, and the name of the class where it is not the type's own. Errors: 42704, 42804.
fn class_of(part: &IndexColumn, ty: &SqlType, method: &str) -> Result<(TermClass, Option<String>)> {
    let is_of_method = |class: &TermClass| method == "gin" || *class == TermClass::Words;
    let own = TermClass::own(ty).filter(is_of_method);
    let class = match &part.operator_class {
        None => own.ok_or_else(|| no_default(ty, method))?,
        Some(written) => {
            let (_, name) = names::relation_name(written)?;
            let of_method = |(gin, gist, _): &&(&str, &str, TermClass)| match method {
                "gin" => *gin == name,
                _ => *gist == name,
            };
            let (_, _, class) = CLASSES
                .iter()
                .find(of_method)
                .ok_or_else(|| Error::InvalidStatement {
                    state: StatementFault::UndefinedObject,
                    message: format!(
                        "operator class \"{written}\" does not exist for access method \"{method}\""
                    ),
                    hint: None,
                })?;
            if !accepts(*class, ty) {
                return Err(Error::DatatypeMismatch {
                    message: format!(
                        "operator class \"{written}\" does not accept data type {}",
                        ty.full_base_name()
                    ),
                    hint: None,
                });
            }
            *class
        }
    };
    check_items(class, ty)?;
    let is_own = own == Some(class);
    let named = CLASSES.iter().find(|(_, _, known)| *known == class && !is_own);
    Ok((class, named.map(|(gin, _, _)| (*gin).to_string())))
}

/// Whether a column may have a type beside the inverted indexes that have its terms. Errors: 42704, 0A000.
pub(super) fn check_type<'a>(
    of: impl Iterator<Item = &'a IndexTerms>,
    column: ColumnId,
    ty: &SqlType,
) -> Result<()> {
    let mut sources = of
        .flat_map(|terms| &terms.sources)
        .filter(|source| source.column == column);
    sources.try_for_each(|source| match accepts(source.class, ty) {
        true => check_items(source.class, ty),
        false => Err(no_default(ty, "gin")),
    })
}

/// Errors: 0A000 for items that cannot stand in a key.
fn check_items(class: TermClass, ty: &SqlType) -> Result<()> {
    match class {
        TermClass::Items => check_key_type(ty.innermost(), &ty.full_base_name()),
        _ => Ok(()),
    }
}

fn accepts(class: TermClass, ty: &SqlType) -> bool {
    match class {
        TermClass::Items => matches!(ty, SqlType::Array(_)),
        TermClass::Json | TermClass::JsonPaths => *ty == SqlType::Jsonb,
        TermClass::Words => *ty == SqlType::TsVector,
        TermClass::Trigrams => matches!(ty, SqlType::Text | SqlType::Varchar(_)),
        TermClass::Plain => check_key_type(ty, "").is_ok(),
    }
}

fn no_default(ty: &SqlType, method: &str) -> Error {
    let hint = match (ty, method) {
        (SqlType::Json, "gin") => {
            "Make the column jsonb, or index what is asked for: CREATE INDEX ON t ((j ->> 'city'))."
        }
        (SqlType::Text | SqlType::Varchar(_), "gin") => {
            "Name an operator class, gin_trgm_ops, for LIKE '%part%', or index its words: USING gin (to_tsvector('english', t)). A btree index serves =, ranges and LIKE 'prefix%'."
        }
        (_, "gist") => {
            "A btree index serves =, ranges and ORDER BY; of what gist serves there are texts' trigrams (gist_trgm_ops) and tsvector."
        }
        _ => {
            "You must specify an operator class for the index or define a default operator class for the data type. A btree index serves =, ranges and ORDER BY."
        }
    };
    Error::InvalidStatement {
        state: StatementFault::UndefinedObject,
        message: format!(
            "data type {} has no default operator class for access method \"{method}\"",
            ty.full_base_name()
        ),
        hint: Some(hint.to_string()),
    }
}
