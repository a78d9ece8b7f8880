//! Columns as PostgreSQL's catalogs have them.

use std::sync::Arc;

use super::default_text::{DefaultNames, default_text};
use crate::catalog::{ColumnDef, ColumnDefault, TableDef, TypeDef};
use crate::parse::quoting::quote_literal;
use crate::types::SqlType;

/// A column; its attribute number is its position in the relation, from 1.
#[derive(Debug)]
pub(crate) struct UserColumn {
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    /// The domain that it is of.
    pub(crate) domain: Option<Arc<TypeDef>>,
    pub(crate) not_null: bool,
    /// The name of its collation, where that is not its type's.
    pub(crate) collation: Option<String>,
    /// The default as `pg_get_expr` prints it.
    pub(crate) default: Option<String>,
    /// The same as `adbin` holds it: both forms, where they differ.
    pub(crate) default_node: Option<String>,
    /// The sequences that the default takes values of.
    pub(crate) sequences: Vec<u32>,
    /// pg_attribute.attidentity: ``, `a` or `d`.
    pub(crate) identity: &'static str,
    /// `default` is the expression of GENERATED ALWAYS AS … STORED.
    pub(crate) is_generated: bool,
    /// pg_attribute.attoptions.
    pub(crate) options: Vec<String>,
    pub(crate) comment: Option<String>,
}

impl UserColumn {
    /// One that is no more than its name and type.
    pub(crate) fn plain(name: String, ty: SqlType) -> UserColumn {
        UserColumn {
            name,
            ty,
            domain: None,
            not_null: false,
            collation: None,
            default: None,
            default_node: None,
            sequences: Vec::new(),
            identity: "",
            is_generated: false,
            options: Vec::new(),
            comment: None,
        }
    }
}

pub(super) fn user_column(names: &DefaultNames<'_>, table: &TableDef, column: &ColumnDef) -> UserColumn {
    let added = column.dynamic.then(|| match table.pattern_of(&column.name) {
        // As ALTER COLUMN … SET takes it: dumps write it there as it is.
        Some(pattern) => format!("dynamic={}", quote_literal(&pattern.name)),
        None => "dynamic=true".to_string(),
    });
    let default = default_text(names, column);
    let identity = match &column.default {
        Some(ColumnDefault::Identity { always: true, .. }) => "a",
        Some(ColumnDefault::Identity { always: false, .. }) => "d",
        _ => "",
    };
    UserColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        domain: column.domain.clone(),
        not_null: column.is_never_null(),
        collation: column.collation.clone(),
        default_node: (default.as_ref()).map(|text| node_of(&text.plain, &text.pretty)),
        default: default.map(|default| default.plain),
        sequences: column.sequences_used(),
        identity,
        is_generated: column.generation().is_some(),
        options: added.into_iter().collect(),
        comment: column.comment.clone(),
    }
}

/// What stands between the plain and the pretty form of an expression in a node's text.
const FORMS_APART: char = '\u{1}';

/// An expression as a column of the catalogs holds it.
pub(crate) fn node_of(plain: &str, pretty: &str) -> String {
    match plain == pretty {
        true => plain.to_string(),
        false => format!("{plain}{FORMS_APART}{pretty}"),
    }
}

/// The form of what [`node_of`] gave that is wanted.
pub(crate) fn form_of_node(node: &str, pretty: bool) -> &str {
    match node.split_once(FORMS_APART) {
        Some((_, form)) if pretty => form,
        Some((form, _)) => form,
        None => node,
    }
}
