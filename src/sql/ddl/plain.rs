//! What the parser reads of a statement and nobody here asks about: of a definition, what is left when everything that is
//! honoured is taken away must be what is left of a plain one. So no clause is passed over in silence.

use std::fmt::Display;

use sqlparser::ast::Statement;

use crate::{Error, Result};

/// Compares `rest`, a statement without what is honoured, with a plain one as the parser reads it, which `fit` makes comparable.
/// Errors: 0A000 that names what is left.
pub(super) fn check<T: PartialEq + Display>(
    rest: &T,
    plain: &str,
    fit: impl Fn(Statement) -> Option<T>,
) -> Result<()> {
    let mut parsed = crate::parse::parse(plain)?;
    let Some(plain) = parsed.pop().and_then(|parsed| fit(parsed.ast)) else {
        return Err(Error::internal(format!("another statement than {plain}")));
    };
    if *rest == plain {
        return Ok(());
    }
    let (text, plain) = (rest.to_string(), plain.to_string());
    let clause = text.strip_prefix(plain.trim_end()).unwrap_or(&text).trim();
    Err(Error::unsupported(
        clause.to_string(),
        Some("Leave it out: nothing here does what it asks for."),
    ))
}
