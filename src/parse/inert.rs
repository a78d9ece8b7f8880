//! Parts of CREATE TABLE and CREATE INDEX that the parser does not read: where and how PostgreSQL stores the object, which
//! means nothing here (UNLOGGED, TABLESPACE, WITHOUT OIDS, USING heap, COMPRESSION pglz), parameters of another table's
//! (`toast.name`), and a list of columns without types (`CREATE TABLE t (a, b) AS …`).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::hints::Hints;
use super::token_reader::{closing, is_word_at};
use super::{like, names, table_keys};
use crate::{Error, Result};

/// The type of a column that is written without one.
pub(crate) const UNTYPED: &str = "no type";

/// Takes what means nothing out of the tokens of a CREATE statement, and notes it.
/// Errors: 0A000 for a typed table.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, text: &str, hints: &mut Hints) -> Result<()> {
    if is_word_at(tokens, 1, "UNLOGGED")
        && matches!(keyword(tokens, 2), Keyword::TABLE | Keyword::MATERIALIZED)
    {
        tokens.remove(1);
        hints.unlogged = true;
    }
    let object = behind_persistence(tokens);
    let is_table = keyword(tokens, object) == Keyword::TABLE;
    let keeps_query = keyword(tokens, 1) == Keyword::MATERIALIZED && keyword(tokens, 2) == Keyword::VIEW;
    let is_index = (1..3).any(|at| keyword(tokens, at) == Keyword::INDEX);
    if !is_table && !is_index && !keeps_query {
        return Ok(());
    }
    if is_table {
        check_untyped(tokens, object + 1)?;
        table_keys::take(tokens, object + 1, text, hints)?;
        like::take(tokens, hints);
    }
    if is_table || keeps_query {
        take_with_data(tokens, hints);
    }
    let (mut at, mut depth, mut partitioned) = (2, 0usize, None);
    while at < tokens.len() {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        // The query of CREATE TABLE AS is its own.
        if depth == 0 && keyword(tokens, at) == Keyword::AS {
            break;
        }
        let begins_item = matches!(tokens[at - 1].token, Token::LParen | Token::Comma);
        if !begins_item && keyword(tokens, at) == Keyword::TABLESPACE {
            take_tablespace(tokens, &mut at, hints);
        } else if depth == 0 && keyword(tokens, at) == Keyword::PARTITION && is_word_at(tokens, at + 1, "BY")
        {
            partitioned = Some(at);
            at += 2;
        } else if depth == 0
            && keyword(tokens, at) == Keyword::WITH
            && let (Some(begin), Some(end)) = (partitioned.take(), closing(tokens, at + 1))
        {
            // The parser wants the options of a partitioned table before its key.
            tokens[begin..=end].rotate_left(at - begin);
            at = end + 1;
        } else if depth == 0 && is_storage(tokens, at, is_table || keeps_query)
            || is_table && depth == 1 && !begins_item && is_compression(tokens, at)
        {
            tokens.drain(at..at + 2);
        } else {
            join_toast(tokens, at);
            at += 1;
        }
    }
    if is_table {
        give_types(tokens);
    }
    Ok(())
}

/// `WITHOUT OIDS`, and `USING heap` of what holds rows.
fn is_storage(tokens: &[TokenWithSpan], at: usize, holds_rows: bool) -> bool {
    match keyword(tokens, at) {
        Keyword::WITHOUT => is_word_at(tokens, at + 1, "OIDS"),
        Keyword::USING => holds_rows && is_word_at(tokens, at + 1, "heap"),
        _ => false,
    }
}

/// `COMPRESSION pglz` behind the type of a column.
fn is_compression(tokens: &[TokenWithSpan], at: usize) -> bool {
    let methods = ["pglz", "lz4", "default"];
    is_word_at(tokens, at, "COMPRESSION") && methods.iter().any(|method| is_word_at(tokens, at + 1, method))
}

/// Errors: 0A000 for `CREATE TABLE name OF type`; `at`: behind TABLE.
fn check_untyped(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let mut at = match is_word_at(tokens, at, "IF") {
        true => at + 3,
        false => at,
    };
    while tokens
        .get(at + 1)
        .is_some_and(|token| token.token == Token::Period)
    {
        at += 2;
    }
    match is_word_at(tokens, at + 1, "OF") {
        false => Ok(()),
        true => Err(Error::unsupported("a typed table", Some("Name the columns."))),
    }
}

/// The place of what a CREATE makes, behind LOCAL TEMPORARY.
pub(super) fn behind_persistence(tokens: &[TokenWithSpan]) -> usize {
    let mut at = 1;
    if matches!(keyword(tokens, at), Keyword::LOCAL | Keyword::GLOBAL) {
        at += 1;
    }
    at + usize::from(matches!(keyword(tokens, at), Keyword::TEMP | Keyword::TEMPORARY))
}

/// Takes the word out of `DROP INDEX CONCURRENTLY`: an index goes without holding anybody up.
pub(super) fn take_concurrently(tokens: &mut Vec<TokenWithSpan>, hints: &mut Hints) {
    if keyword(tokens, 1) == Keyword::INDEX && keyword(tokens, 2) == Keyword::CONCURRENTLY {
        tokens.remove(2);
        hints.drops_concurrently = true;
    }
}

/// `WITH [NO] DATA` at the end of CREATE TABLE AS.
fn take_with_data(tokens: &mut Vec<TokenWithSpan>, hints: &mut Hints) {
    let end = tokens.len();
    if end < 4 || !is_word_at(tokens, end - 1, "DATA") {
        return;
    }
    let without = is_word_at(tokens, end - 2, "NO");
    let start = end - if without { 3 } else { 2 };
    if keyword(tokens, start) == Keyword::WITH {
        tokens.truncate(start);
        hints.without_rows = without;
    }
}

/// `TABLESPACE name`, with `USING INDEX` before it.
fn take_tablespace(tokens: &mut Vec<TokenWithSpan>, at: &mut usize, hints: &mut Hints) {
    let Some(Token::Word(name)) = tokens.get(*at + 1).map(|token| &token.token) else {
        *at += 1;
        return;
    };
    let name = names::fold(&name.to_ident(tokens[*at + 1].span));
    hints.tablespaces.push(name);
    let of_index =
        *at >= 2 && keyword(tokens, *at - 1) == Keyword::INDEX && keyword(tokens, *at - 2) == Keyword::USING;
    let start = if of_index { *at - 2 } else { *at };
    tokens.drain(start..*at + 2);
    *at = start;
}

/// `toast.name` becomes one name.
fn join_toast(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let is_toast = is_word_at(tokens, at, "toast")
        && tokens
            .get(at + 1)
            .is_some_and(|token| token.token == Token::Period);
    if let (true, Some(Token::Word(word))) = (is_toast, tokens.get(at + 2).map(|token| &token.token)) {
        let joined = format!("toast.{}", word.value.to_lowercase());
        tokens[at].token = quoted(&joined);
        tokens.drain(at + 1..at + 3);
    }
}

/// `(a, b)` in front of AS becomes `(a "no type", b "no type")`.
fn give_types(tokens: &mut Vec<TokenWithSpan>) {
    let query = (0..tokens.len()).find(|at| keyword(tokens, *at) == Keyword::AS);
    let list = tokens.iter().position(|token| token.token == Token::LParen);
    let (Some(start), Some(query)) = (list, query) else {
        return;
    };
    if start > query {
        return;
    }
    let mut end = start + 1;
    loop {
        let is_name = matches!(tokens.get(end).map(|token| &token.token), Some(Token::Word(_)));
        match tokens.get(end + 1).map(|token| &token.token) {
            Some(Token::Comma) if is_name => end += 2,
            Some(Token::RParen) if is_name => break,
            _ => return,
        }
    }
    for at in (start + 1..=end).step_by(2).collect::<Vec<_>>().into_iter().rev() {
        let token = TokenWithSpan {
            token: quoted(UNTYPED),
            span: tokens[at].span,
        };
        tokens.insert(at + 1, token);
    }
}

fn quoted(name: &str) -> Token {
    Token::Word(Word {
        value: name.to_string(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

fn keyword(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    #[test]
    fn an_index_is_dropped_concurrently() {
        let parsed = parse("DROP INDEX CONCURRENTLY IF EXISTS i").unwrap().remove(0);
        assert_eq!(parsed.ast.to_string(), "DROP INDEX IF EXISTS i");
        assert!(parsed.hints.drops_concurrently);
        assert!(!parse("DROP INDEX i").unwrap()[0].hints.drops_concurrently);
    }

    #[test]
    fn what_means_nothing_is_taken_out() {
        for (text, left, told) in [
            ("CREATE UNLOGGED TABLE t (a int)", "CREATE TABLE t (a INT)", ""),
            (
                "CREATE TABLE t (a int, UNIQUE (a) USING INDEX TABLESPACE x) USING heap WITHOUT OIDS TABLESPACE y",
                "CREATE TABLE t (a INT, UNIQUE (a))",
                "x y",
            ),
            (
                "CREATE INDEX ON t (tablespace, a) WITH (fillfactor = 70) TABLESPACE pg_default",
                "CREATE INDEX ON t(tablespace, a) WITH (fillfactor = 70)",
                "pg_default",
            ),
            (
                "CREATE TABLE t (tablespace int) WITH (toast.autovacuum_enabled = off, fillfactor = 70)",
                "CREATE TABLE t (tablespace INT) WITH (\"toast.autovacuum_enabled\" = off, fillfactor = 70)",
                "",
            ),
            (
                "CREATE TABLE t (a, \"B\") AS SELECT tablespace x FROM y",
                "CREATE TABLE t (a \"no type\", \"B\" \"no type\") AS SELECT tablespace AS x FROM y",
                "",
            ),
        ] {
            let parsed = parse(text).unwrap().remove(0);
            assert_eq!(parsed.ast.to_string(), left);
            let hints = parsed.hints;
            assert_eq!([hints.without_effect, hints.tablespaces].concat().join(" "), told);
        }
    }
}
