//! `SHOW INDEX FROM t`, LindormTable's list of a table's indexes, as the query over the catalogs that it means.

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::KeyspanDialect;
use super::quoting::{quote_ident, quote_literal};
use super::syntax_error;
use super::tree::parse_tree;
use crate::Result;

/// What the statement means of the table whose name, as SQL writes it, is a literal at `$table`.
const QUERY: &str = "SELECT n.nspname AS table_schema, t.relname AS data_table, c.relname AS index_name, \
    CASE WHEN i.indisvalid THEN 'ACTIVE' ELSE 'BUILDING' END AS index_state, \
    CASE WHEN i.indisvalid THEN 'DONE' ELSE coalesce(p.tuples_done, 0)::text || ' rows' END AS index_progress, \
    CASE WHEN i.indisprimary THEN 'PRIMARY' WHEN i.indisunique THEN 'UNIQUE' ELSE 'SECONDARY' END AS index_type, \
    substring(pg_get_indexdef(i.indexrelid) from 'USING btree \\((.*?)\\)') AS index_column, \
    substring(pg_get_indexdef(i.indexrelid) from 'INCLUDE \\((.*?)\\)') AS index_include \
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
    JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace \
    LEFT JOIN pg_catalog.pg_stat_progress_create_index p ON p.index_relid = i.indexrelid \
    WHERE i.indrelid = $table::regclass ORDER BY i.indisprimary DESC, c.relname";

/// The tree of the query, when the tokens are the statement. Errors: 42601.
pub(super) fn read(tokens: &[TokenWithSpan], text: &str) -> Result<Option<ast::Statement>> {
    let mut tokens = tokens.iter();
    if !begins(&mut tokens) {
        return Ok(None);
    }
    let mut name = String::new();
    for token in tokens.as_slice() {
        match &token.token {
            Token::Word(word) if word.quote_style.is_some() => name.push_str(&quote_ident(&word.value)),
            Token::Word(word) => name.push_str(&word.value.to_lowercase()),
            Token::Period => name.push('.'),
            _ => return Err(syntax_error::near(token, text)),
        }
    }
    let query = QUERY.replace("$table", &quote_literal(&name));
    let tokens = Tokenizer::new(&KeyspanDialect, &query).tokenize_with_location();
    let tokens = tokens.map_err(|error| syntax_error::of_tokenizer(error, text))?;
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let tokens = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    parse_tree(tokens, text).map(Some)
}

/// Takes `SHOW INDEX FROM`; whether that is what they begin with, and something follows.
fn begins(tokens: &mut std::slice::Iter<'_, TokenWithSpan>) -> bool {
    let mut next_is = |keywords: &[Keyword]| match tokens.next().map(|token| &token.token) {
        Some(Token::Word(word)) => word.quote_style.is_none() && keywords.contains(&word.keyword),
        _ => false,
    };
    let words = [
        next_is(&[Keyword::SHOW]),
        next_is(&[Keyword::INDEX, Keyword::KEYS]),
        next_is(&[Keyword::FROM, Keyword::IN]),
    ];
    words == [true; 3] && tokens.len() > 0
}
