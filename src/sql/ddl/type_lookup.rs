//! The types that definitions name, and what is told where they are none, or of another kind.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::catalog::TypeDef;
use crate::error::StatementFault;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The type of a name that a statement must find. Errors: 42704, 3F000.
pub(super) fn user_type(ctx: &StatementContext, name: &ObjectName) -> Result<Arc<TypeDef>> {
    let (schema, last) = names::relation_name(name)?;
    let found = ctx.get_type(schema.as_deref(), &last)?;
    found.ok_or_else(|| undefined(schema.as_deref(), &last))
}

/// 42809, of what DROP, ALTER or COMMENT takes for a domain.
pub(super) fn no_domain(name: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message: format!("\"{name}\" is not a domain"),
        hint: None,
    }
}

/// 42704.
pub(super) fn undefined(schema: Option<&str>, name: &str) -> Error {
    Error::UndefinedObject {
        kind: "type",
        name: schema.map_or_else(|| name.to_string(), |schema| format!("{schema}.{name}")),
    }
}
