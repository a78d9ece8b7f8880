//! LindormTable's `SHOW INDEX FROM t`, the list of a table's indexes, and `SHOW ESTIMATED ROWS FROM t`, as the queries over
//! the catalogs that they mean.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::KeyspanDialect;
use super::quoting::{quote_ident, quote_literal};
use super::syntax_error;
use super::tree::parse_tree;
use crate::Result;

/// What SHOW INDEX means of the table whose name, as SQL writes it, is a literal at `$table`.
const INDEX_QUERY: &str = "SELECT n.nspname AS table_schema, t.relname AS data_table, c.relname AS index_name, \
    CASE WHEN i.indisvalid THEN 'ACTIVE' ELSE 'BUILDING' END AS index_state, \
    CASE WHEN i.indisvalid THEN 'DONE' ELSE coalesce(p.tuples_done, 0)::text || ' rows' END AS index_progress, \
    CASE WHEN i.indisprimary THEN 'PRIMARY' WHEN i.indisunique THEN 'UNIQUE' ELSE 'SECONDARY' END AS index_type, \
    substring(pg_get_indexdef(i.indexrelid) from 'USING btree \\((.*?)\\)') AS index_column, \
    substring(pg_get_indexdef(i.indexrelid) from 'INCLUDE \\((.*?)\\)') AS index_include \
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
    JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace \
    LEFT JOIN pg_catalog.pg_stat_progress_create_index p ON p.index_relid = i.indexrelid \
    WHERE i.indrelid = $table::regclass ORDER BY i.indisprimary DESC, c.relname";

/// The same of SHOW ESTIMATED ROWS.
const ROWS_QUERY: &str = "SELECT n.nspname AS table_schema, c.relname AS data_table, \
    nullif(c.reltuples, -1)::bigint AS estimated_rows \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.oid = $table::regclass";

/// The tree of the query, when the tokens are the statement. Errors: 42601.
pub(super) fn read(tokens: &[TokenWithSpan], text: &str) -> Result<Option<ast::Statement>> {
    let (query, rest) = match statement(tokens) {
        Some((query, rest)) if !rest.is_empty() => (query, rest),
        _ => return Ok(None),
    };
    let mut name = String::new();
    for token in rest {
        match &token.token {
            Token::Word(word) if word.quote_style.is_some() => name.push_str(&quote_ident(&word.value)),
            Token::Word(word) => name.push_str(&word.value.to_lowercase()),
            Token::Period => name.push('.'),
            _ => return Err(syntax_error::near(token, text)),
        }
    }
    let query = query.replace("$table", &quote_literal(&name));
    let tokens = Tokenizer::new(&KeyspanDialect, &query).tokenize_with_location();
    let tokens = tokens.map_err(|error| syntax_error::of_tokenizer(error, text))?;
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let tokens = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    parse_tree(tokens, text).map(Some)
}

/// The query of the statement that the tokens begin with, and what follows.
fn statement(tokens: &[TokenWithSpan]) -> Option<(&'static str, &[TokenWithSpan])> {
    let is_word = |at: usize, words: &[&str]| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_none() && words.iter().any(|wanted| word.value.eq_ignore_ascii_case(wanted))
        }
        _ => false,
    };
    let from = &["from", "in"];
    if !is_word(0, &["show"]) {
        None
    } else if is_word(1, &["index", "keys"]) && is_word(2, from) {
        Some((INDEX_QUERY, &tokens[3..]))
    } else if is_word(1, &["estimated"]) && is_word(2, &["rows"]) && is_word(3, from) {
        Some((ROWS_QUERY, &tokens[4..]))
    } else {
        None
    }
}
