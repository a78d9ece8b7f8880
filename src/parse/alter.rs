//! `ALTER VIEW v …`, which is ALTER TABLE of a view to the parser's tree, and `… SET SCHEMA s`, which the parser does not
//! read. Each leaves a mark in the tree that other dialects have: the kind of table, and the cluster.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{AlterTable, AlterTableType, Ident, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Reads `ALTER TABLE` and `ALTER VIEW`; `None` for any other ALTER.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
    let [_, object] = parser.peek_tokens_ref();
    let is_view = match &object.token {
        Token::Word(word) if word.keyword == Keyword::VIEW => true,
        Token::Word(word) if word.keyword == Keyword::TABLE => false,
        _ => return None,
    };
    parser.advance_token();
    parser.advance_token();
    Some(parse_operations(parser).map(|mut alter| {
        if is_view {
            alter.table_type = Some(AlterTableType::Dynamic);
        }
        Statement::AlterTable(alter)
    }))
}

/// Whether it is written ALTER VIEW.
pub(crate) fn is_alter_view(alter: &AlterTable) -> bool {
    alter.table_type == Some(AlterTableType::Dynamic)
}

/// The schema of `SET SCHEMA`.
pub(crate) fn new_schema(alter: &AlterTable) -> Option<&Ident> {
    alter.on_cluster.as_ref().filter(|_| alter.operations.is_empty())
}

fn parse_operations(parser: &mut Parser) -> Result<AlterTable, ParserError> {
    if let Some(moved) = parser.maybe_parse(parse_set_schema)? {
        return Ok(moved);
    }
    match parser.parse_alter_table(false)? {
        Statement::AlterTable(alter) => Ok(alter),
        _ => Err(ParserError::ParserError("not an ALTER TABLE".to_string())),
    }
}

fn parse_set_schema(parser: &mut Parser) -> Result<AlterTable, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let only = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::SET, Keyword::SCHEMA])?;
    let schema = parser.parse_identifier()?;
    Ok(AlterTable {
        name,
        if_exists,
        only,
        operations: Vec::new(),
        location: None,
        on_cluster: Some(schema),
        table_type: None,
        end_token: AttachedToken(parser.get_current_token().clone()),
    })
}
