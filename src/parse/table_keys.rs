//! `KEY name (…)` and `INDEX name (…)` among the columns of CREATE TABLE, as LindormTable and MySQL have them: taken out of the tokens, and
//! noted in the hints as the CREATE INDEX that they mean. `UNIQUE KEY name (…)` becomes a constraint, `CREATE TABLE t LIKE u` a list.

use sqlparser::ast::{CreateIndex, Statement};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::hints::{Hints, Like};
use super::like;
use super::token_reader::is_word_at;
use super::tree::parse_tree;
use crate::Result;

/// Takes them out of the tokens of CREATE TABLE; `name`: where its name begins. `text`: the message. Errors: 42601, 0A000.
pub(super) fn take(
    tokens: &mut Vec<TokenWithSpan>,
    name: usize,
    text: &str,
    hints: &mut Hints,
) -> Result<()> {
    take_like(tokens, name, hints);
    let Some(list) = tokens.iter().position(|token| token.token == Token::LParen) else {
        return Ok(());
    };
    let (mut at, mut depth) = (list + 1, 1_usize);
    while at < tokens.len() && depth > 0 {
        let begins_item = depth == 1 && (at == list + 1 || tokens[at - 1].token == Token::Comma);
        if begins_item {
            spell_unique_key(tokens, at);
            if let Some(end) = key_end(tokens, at) {
                hints.keys.push(read(&tokens[at..end], text)?);
                at = like::remove(tokens, at, end);
                continue;
            }
        }
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// `CREATE TABLE t LIKE u` as `CREATE TABLE t ()` with all that LIKE can include.
fn take_like(tokens: &mut Vec<TokenWithSpan>, name: usize, hints: &mut Hints) {
    let mut at = match is_word_at(tokens, name, "IF") {
        true => name + 3,
        false => name,
    };
    while tokens
        .get(at + 1)
        .is_some_and(|token| token.token == Token::Period)
    {
        at += 2;
    }
    if !is_word_at(tokens, at + 1, "LIKE") {
        return;
    }
    // It ends as LIKE in a list does.
    let span = tokens[at + 1].span;
    let closing = TokenWithSpan::new(Token::RParen, span);
    let behind: Vec<TokenWithSpan> = tokens[at + 2..]
        .iter()
        .cloned()
        .chain([closing.clone()])
        .collect();
    let Some((like, end)) = like::read(&behind, 0) else {
        return;
    };
    if end + 1 != behind.len() || !like.including.is_empty() {
        return;
    }
    hints.likes.push(Like::of_all(like.table));
    tokens.truncate(at + 1);
    tokens.extend([TokenWithSpan::new(Token::LParen, span), closing]);
}

/// `UNIQUE KEY name (…)` as `CONSTRAINT name UNIQUE (…)`.
fn spell_unique_key(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    if !is_word_at(tokens, at, "UNIQUE")
        || !is_word_at(tokens, at + 1, "KEY") && !is_word_at(tokens, at + 1, "INDEX")
    {
        return;
    }
    let span = tokens[at].span;
    let unique = TokenWithSpan::new(Token::make_keyword("UNIQUE"), span);
    let constraint = TokenWithSpan::new(Token::make_keyword("CONSTRAINT"), span);
    match (
        tokens.get(at + 2).map(|token| token.token.clone()),
        tokens.get(at + 3).map(|token| &token.token),
    ) {
        (Some(Token::LParen), _) => drop(tokens.remove(at + 1)),
        (Some(Token::Word(_)), Some(Token::LParen)) => {
            let name = tokens[at + 2].clone();
            tokens.splice(at..at + 3, [constraint, name, unique]);
        }
        _ => {}
    }
}

/// Where the item that begins here ends, if it is an index: a column may have the name `key`, too, but no name stands in the parentheses
/// of its type.
fn key_end(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    if !is_word_at(tokens, start, "KEY") && !is_word_at(tokens, start, "INDEX") {
        return None;
    }
    let mut at = start + 1;
    let is_name = |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
    if is_name(at) && !is_word_at(tokens, at, "USING") {
        at += 1;
    }
    if is_word_at(tokens, at, "USING") && is_name(at + 1) {
        at += 2;
    }
    let opens = tokens.get(at).is_some_and(|token| token.token == Token::LParen);
    if !opens || !is_name(at + 1) {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return Some(at),
            Token::RParen => depth -= 1,
            Token::Comma if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The index that an item means. Errors: 42601, 0A000.
fn read(item: &[TokenWithSpan], text: &str) -> Result<CreateIndex> {
    let span = item[0].span;
    let token = |token: Token| TokenWithSpan::new(token, span);
    let list = item
        .iter()
        .position(|token| token.token == Token::LParen)
        .unwrap_or(item.len());
    let mut made = vec![
        token(Token::make_keyword("CREATE")),
        token(Token::make_keyword("INDEX")),
    ];
    made.extend(item[1..list].iter().cloned());
    made.extend([
        token(Token::make_keyword("ON")),
        token(Token::make_word("t", Some('"'))),
    ]);
    made.extend(item[list..].iter().cloned());
    // USING stands behind the name of an index, which need not be there.
    if is_word_at(&made, 2, "USING") {
        let using: Vec<TokenWithSpan> = made.drain(2..4).collect();
        made.splice(4..4, using);
    }
    match parse_tree(made, text)? {
        Statement::CreateIndex(create) => Ok(create),
        _ => Err(super::syntax_error::near(&item[0], text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::parse;

    fn tree(text: &str) -> (String, Vec<String>) {
        let statement = parse(text).unwrap().remove(0);
        let keys = statement.hints.keys.iter().map(ToString::to_string);
        (statement.ast.to_string(), keys.collect())
    }

    #[test]
    fn keys_are_taken_out_of_the_list() {
        let (tree, keys) = tree(
            "create table t (a int, key i (b desc, a), b int, INDEX using kv (b) include (c), primary key (a), UNIQUE KEY u (b))",
        );
        assert_eq!(
            tree,
            "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a), CONSTRAINT u UNIQUE (b))"
        );
        assert_eq!(
            keys,
            [
                "CREATE INDEX i ON \"t\"(b DESC, a)",
                "CREATE INDEX ON \"t\" USING KV (b) INCLUDE (c)"
            ]
        );
    }

    #[test]
    fn columns_may_have_such_names() {
        for text in [
            "CREATE TABLE t (key INT, index VARCHAR(10))",
            "CREATE TABLE t (key NUMERIC(10,2))",
        ] {
            let (tree, keys) = tree(text);
            assert_eq!((tree.as_str(), keys.len()), (text, 0));
        }
    }
}
