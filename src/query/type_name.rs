//! The type that a name in a statement means: one of every database's, or one that a user made. Asked by binders, definitions
//! and writes; what is asked of the catalog is kept with the statement's plans.

use std::sync::Arc;

use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName};

use crate::catalog::{RelationName, TypeDef};
use crate::parse::{names, type_name};
use crate::system::StatementContext;
use crate::types::{RecordType, SqlType};
use crate::{Error, Result};

/// A type as it is named.
#[derive(Debug, Clone)]
pub(crate) struct NamedType {
    /// What its values are.
    pub(crate) ty: SqlType,
    /// The domain that they pass.
    pub(crate) domain: Option<Arc<TypeDef>>,
}

/// The type that a name means. Errors: 42704, 3F000, 22023, 22P02; 0A000 for an array of a domain.
pub(crate) fn named_type(ctx: &StatementContext, data_type: &DataType) -> Result<NamedType> {
    named_type_in(ctx, data_type, &ctx.settings.search_path)
}

/// The same along this search path: a view's, or a function's.
pub(crate) fn named_type_in(
    ctx: &StatementContext,
    data_type: &DataType,
    path: &[String],
) -> Result<NamedType> {
    resolve((ctx, path), data_type, type_name::sql_type(data_type), 1)
}

/// The type, with a dimension for each pair of brackets: what a column is declared as. Errors: as [`named_type`].
pub(crate) fn declared_type(ctx: &StatementContext, data_type: &DataType) -> Result<NamedType> {
    declared_type_in(ctx, data_type, &ctx.settings.search_path)
}

/// The same along this search path.
pub(crate) fn declared_type_in(
    ctx: &StatementContext,
    data_type: &DataType,
    path: &[String],
) -> Result<NamedType> {
    let known = type_name::declared_type(data_type);
    resolve((ctx, path), data_type, known, usize::MAX)
}

/// The type, where the name may be none. Errors: as [`named_type`] but 42704.
pub(crate) fn get_named_type(ctx: &StatementContext, data_type: &DataType) -> Result<Option<NamedType>> {
    match named_type(ctx, data_type) {
        Err(Error::UndefinedObject { .. }) => Ok(None),
        found => found.map(Some),
    }
}

/// The name of a domain in an expression, by its oid.
pub(crate) fn name_by_oid(domain: &TypeDef) -> DataType {
    let name = Ident::with_quote('"', format!("@{}", domain.oid));
    DataType::Custom(ObjectName::from(vec![name]), Vec::new())
}

/// The name of a domain in a statement that is kept: one asked by its oid would not know of the domain's changes.
pub(crate) fn name_of(domain: &TypeDef) -> DataType {
    let parts = [&domain.schema, &domain.name];
    let parts = parts.map(|part| Ident::with_quote('"', part.clone()));
    DataType::Custom(ObjectName::from(parts.to_vec()), Vec::new())
}

/// `known`: what the name means in every database.
fn resolve(
    (ctx, path): (&StatementContext, &[String]),
    data_type: &DataType,
    known: Result<SqlType>,
    dimensions_max: usize,
) -> Result<NamedType> {
    let undefined = match known {
        Ok(ty) => return Ok(NamedType::plain(ty)),
        Err(error @ Error::UndefinedObject { .. }) => error,
        Err(error) => return Err(error),
    };
    let (mut element, mut brackets) = (data_type, 0);
    while let DataType::Array(
        ArrayElemTypeDef::SquareBracket(inner, _)
        | ArrayElemTypeDef::AngleBracket(inner)
        | ArrayElemTypeDef::Parenthesis(inner),
    ) = element
    {
        (element, brackets) = (inner, brackets + 1);
    }
    let (schema, name) = match element {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => names::relation_name(name)?,
        DataType::Array(_) => return Err(undefined),
        // LindormTable's names take digits.
        other if type_name::lindorm_type(other).is_some() => (None, other.to_string().to_lowercase()),
        DataType::Custom(..) => return Err(undefined),
        other => (None, other.to_string().to_lowercase()),
    };
    let array_of =
        |ty, brackets: usize| (0..brackets.min(dimensions_max)).fold(ty, |ty, _| SqlType::array(ty));
    if let Some(ty) = (schema.as_deref()).and_then(|schema| standard_domain(schema, &name)) {
        return Ok(NamedType::plain(array_of(ty, brackets)));
    }
    let find = |name: &str| ctx.get_type_in(schema.as_deref(), name, path);
    let (found, is_array) = match find(&name)? {
        Some(found) => (Some(found), false),
        None => match name.strip_prefix('_') {
            Some(element) => (find(element)?, true),
            None => (None, false),
        },
    };
    let Some(found) = found else {
        if let DataType::Custom(..) = element
            && let Some((row, is_array)) = row_or_array((ctx, path), schema.as_deref(), &name)?
        {
            let row = SqlType::Record(row);
            return Ok(NamedType::plain(array_of(
                row,
                usize::from(is_array).max(brackets),
            )));
        }
        return match type_name::lindorm_type(element).filter(|_| schema.is_none()) {
            Some(ty) => Ok(NamedType::plain(array_of(ty, brackets))),
            None => Err(undefined_type(schema.as_deref(), &name)),
        };
    };
    let brackets = usize::from(is_array).max(brackets).min(dimensions_max);
    if brackets > 0 && found.domain().is_some() {
        return Err(Error::unsupported(
            format!("an array of domain {}", found.name),
            Some("Declare an array of the type that the domain is over, with a CHECK constraint."),
        ));
    }
    let ty = (0..brackets).fold(found.sql_type(), |ty, _| SqlType::array(ty));
    Ok(NamedType {
        ty,
        domain: found.domain().is_some().then(|| Arc::clone(&found)),
    })
}

impl NamedType {
    /// Of no domain.
    fn plain(ty: SqlType) -> NamedType {
        NamedType { ty, domain: None }
    }
}

/// What the standard's domains are over.
fn standard_domain(schema: &str, name: &str) -> Option<SqlType> {
    if schema != "information_schema" {
        return None;
    }
    Some(match name {
        "sql_identifier" => SqlType::Name,
        "character_data" => SqlType::Varchar(None),
        "cardinal_number" => SqlType::Int4,
        "yes_or_no" => SqlType::Varchar(Some(3)),
        "time_stamp" => SqlType::TimestampTz(Some(2)),
        _ => return None,
    })
}

/// The type of a relation's rows, or whether it is an array of these that the name means.
fn row_or_array(
    (ctx, path): (&StatementContext, &[String]),
    schema: Option<&str>,
    name: &str,
) -> Result<Option<(Arc<RecordType>, bool)>> {
    if let Some(row) = row_type((ctx, path), schema, name)? {
        return Ok(Some((row, false)));
    }
    let row = match name.strip_prefix('_') {
        Some(element) => row_type((ctx, path), schema, element)?,
        None => None,
    };
    Ok(row.map(|row| (row, true)))
}

/// The type of a relation's rows, which has its name.
fn row_type(
    (ctx, search_path): (&StatementContext, &[String]),
    schema: Option<&str>,
    name: &str,
) -> Result<Option<Arc<RecordType>>> {
    ctx.row_type(RelationName {
        schema,
        name,
        search_path,
    })
}

/// Types of PostgreSQL's that are not here, and what serves instead.
const ABSENT: [(&[&str], &str); 2] = [
    (&["xml"], "Keep documents as text, or as jsonb."),
    (
        &["point", "line", "lseg", "box", "path", "polygon", "circle"],
        "Keep coordinates in columns of type double precision.",
    ),
];

fn undefined_type(schema: Option<&str>, name: &str) -> Error {
    let is_built_in = schema.is_none_or(|schema| schema == "pg_catalog");
    let absent = ABSENT
        .iter()
        .find(|(names, _)| is_built_in && names.contains(&name));
    if let Some((_, way_out)) = absent {
        return Error::unsupported(format!("type {name}"), Some(way_out));
    }
    Error::UndefinedObject {
        kind: "type",
        name: schema.map_or_else(|| name.to_string(), |schema| format!("{schema}.{name}")),
    }
}
