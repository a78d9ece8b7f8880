//! `ALTER VIEW v …` and `ALTER MATERIALIZED VIEW v …`, which are ALTER TABLE of a view to the parser's tree, and `… SET SCHEMA s`, which the parser does not
//! read. Each leaves a mark in the tree that other dialects have: the kind of table, and the cluster.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{AlterTable, AlterTableType, Ident, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Reads `ALTER TABLE` and `ALTER VIEW`; `None` for any other ALTER.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
    let [_, object, next] = parser.peek_tokens_ref();
    let keyword = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let (mark, words) = match (keyword(object), keyword(next)) {
        (Keyword::VIEW, _) => (Some(AlterTableType::Dynamic), 2),
        (Keyword::TABLE, _) => (None, 2),
        (Keyword::MATERIALIZED, Keyword::VIEW) => (Some(AlterTableType::Iceberg), 3),
        _ => return None,
    };
    (0..words).for_each(|_| parser.advance_token());
    Some(parse_operations(parser).map(|mut alter| {
        alter.table_type = mark;
        Statement::AlterTable(alter)
    }))
}

/// What ALTER TABLE is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlteredKind {
    /// ALTER TABLE.
    Table,
    /// ALTER VIEW.
    View,
    /// ALTER MATERIALIZED VIEW.
    MaterializedView,
}

impl AlteredKind {
    /// The command tag.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            AlteredKind::Table => "ALTER TABLE",
            AlteredKind::View => "ALTER VIEW",
            AlteredKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        }
    }
}

/// What it is written for.
pub(crate) fn altered_kind(alter: &AlterTable) -> AlteredKind {
    match alter.table_type {
        Some(AlterTableType::Dynamic) => AlteredKind::View,
        Some(AlterTableType::Iceberg) => AlteredKind::MaterializedView,
        Some(AlterTableType::External) | None => AlteredKind::Table,
    }
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
