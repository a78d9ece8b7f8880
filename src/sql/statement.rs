//! `Statement`: one parsed statement with what the parser's tree cannot hold (hints, UPSERT, ALLOW FILTERING).

use std::sync::Arc;

use sqlparser::ast;

use crate::Result;

/// One parsed statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The tree. `UPSERT INTO` is an `Insert` here, with `upsert` set.
    pub ast: ast::Statement,
    /// The statement's own text.
    pub text: Arc<str>,
    /// `UPSERT`.
    pub upsert: bool,
    /// `/*+ _l_allow_filtering_ */` or ALLOW FILTERING.
    pub allow_filtering: bool,
}

/// Splits and parses the text of a message. Errors: 42601 with a position.
pub fn parse(_text: &str) -> Result<Vec<Statement>> {
    unimplemented!()
}
