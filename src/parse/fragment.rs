//! Parts of statements, in texts that no client sent.

use sqlparser::ast::{Expr, Query};
use sqlparser::parser::{Parser, ParserError};

use super::dialect::KeyspanDialect;

/// Reads an expression.
pub(crate) fn parse_expression(text: &str) -> Result<Expr, ParserError> {
    Parser::new(&KeyspanDialect).try_with_sql(text)?.parse_expr()
}

/// Reads a query.
pub(crate) fn parse_query(text: &str) -> Result<Box<Query>, ParserError> {
    Parser::new(&KeyspanDialect).try_with_sql(text)?.parse_query()
}
