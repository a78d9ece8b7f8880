//! Tokens to a statement's tree, by the parser with our dialect.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::KeyspanDialect;
use super::syntax_error::{self, NESTING_MAX};
use crate::Result;

/// The tree of a statement's tokens. `text`: the message's.
pub(super) fn parse_tree(tokens: Vec<TokenWithSpan>, text: &str) -> Result<ast::Statement> {
    let mut parser = Parser::new(&KeyspanDialect)
        .with_recursion_limit(NESTING_MAX)
        .with_tokens_with_locations(tokens);
    let tree = parser
        .parse_statement()
        .map_err(|error| syntax_error::of_parser(error, text))?;
    let rest = parser.peek_token_ref();
    if rest.token != Token::EOF {
        return Err(syntax_error::near(rest, text));
    }
    match is_without_columns(&tree) && parser.get_current_token().token != Token::RParen {
        true => Err(syntax_error::end_of_input(text)),
        false => Ok(tree),
    }
}

/// Whether it is a CREATE TABLE that says nothing of what is in the table, which the parser lets through; in PostgreSQL
/// at least the parentheses must stand.
fn is_without_columns(tree: &ast::Statement) -> bool {
    matches!(tree, ast::Statement::CreateTable(create)
        if create.columns.is_empty()
            && create.constraints.is_empty()
            && create.query.is_none()
            && create.like.is_none()
            && create.clone.is_none())
}
