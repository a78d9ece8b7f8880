//! `INSERT … ON DUPLICATE KEY UPDATE c = v` and `… IGNORE`, as LindormTable and MySQL have them, in the words of ON CONFLICT. Called by
//! `tokens`; what the key is, `sql::dml` knows.
//!
//! ```text
//! UPSERT INTO t … ON DUPLICATE KEY UPDATE a = VALUES(a), n = n + 1
//!   =>  INSERT INTO t … ON CONFLICT ON CONSTRAINT "\0" DO UPDATE SET a = excluded.a, n = n + 1
//! ```

use sqlparser::ast::ObjectName;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::is_word_at;

/// The constraint that stands for the primary key. No text holds this character.
const PRIMARY_KEY: &str = "\0";

/// Whether a constraint's name stands for the primary key, and the clause is written as MySQL has it: names without a relation are then
/// those of the row that is there.
pub(crate) fn is_primary_key(name: &ObjectName) -> bool {
    let only = name.0.first().and_then(|part| part.as_ident());
    only.is_some_and(|only| only.value == PRIMARY_KEY)
}

/// Brings the clause of an INSERT or UPSERT into the parser's form. What is not written so is left as it stands.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let is_clause = |at: &usize| {
        ["ON", "DUPLICATE", "KEY"]
            .iter()
            .enumerate()
            .all(|(behind, word)| is_word_at(tokens, at + behind, word))
    };
    let Some(at) = (1..tokens.len()).find(is_clause) else {
        return;
    };
    let span = tokens[at].span;
    let words = |text: &str| -> Vec<TokenWithSpan> {
        let words = text.split(' ').map(Token::make_keyword);
        words.map(|token| TokenWithSpan::new(token, span)).collect()
    };
    let clause = if is_word_at(tokens, at + 3, "IGNORE") {
        words("ON CONFLICT DO NOTHING")
    } else if is_word_at(tokens, at + 3, "ERROR") {
        Vec::new()
    } else if is_word_at(tokens, at + 3, "UPDATE") {
        let mut clause = words("ON CONFLICT ON CONSTRAINT");
        clause.push(TokenWithSpan::new(Token::make_word(PRIMARY_KEY, Some('"')), span));
        clause.extend(words("DO UPDATE SET"));
        clause
    } else {
        return;
    };
    name_proposed(tokens, at + 4);
    tokens.splice(at..at + 4, clause);
    // EXPLAIN may stand before it.
    if let Some(verb) =
        (0..at).find(|at| is_word_at(tokens, *at, "UPSERT") && is_word_at(tokens, at + 1, "INTO"))
    {
        tokens[verb].token = Token::make_keyword("INSERT");
    }
}

/// `VALUES(c)` as `excluded.c`, from a place on.
fn name_proposed(tokens: &mut Vec<TokenWithSpan>, start: usize) {
    let mut at = start;
    while at + 3 < tokens.len() {
        let is_call = is_word_at(tokens, at, "VALUES")
            && tokens[at + 1].token == Token::LParen
            && matches!(tokens[at + 2].token, Token::Word(_))
            && tokens[at + 3].token == Token::RParen;
        if is_call {
            tokens[at].token = Token::make_word("excluded", None);
            tokens[at + 1].token = Token::Period;
            tokens.remove(at + 3);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::{is_upsert, parse};

    #[test]
    fn the_clause_is_one_of_on_conflict() {
        for (written, read) in [
            (
                "UPSERT INTO t (k, n) VALUES (1, 2) ON DUPLICATE KEY UPDATE n = n + VALUES(n), a = 1",
                "INSERT INTO t (k, n) VALUES (1, 2) ON CONFLICT ON CONSTRAINT \"\0\" DO UPDATE SET n = n + excluded.n, a = 1",
            ),
            (
                "insert into t (k) values (1) on duplicate key ignore",
                "INSERT INTO t (k) VALUES (1) ON CONFLICT DO NOTHING",
            ),
            (
                "UPSERT INTO t (k) VALUES (1) ON DUPLICATE KEY ERROR",
                "INSERT INTO t (k) VALUES (1)",
            ),
            (
                "EXPLAIN UPSERT INTO t (k) VALUES (1) ON DUPLICATE KEY IGNORE",
                "EXPLAIN INSERT INTO t (k) VALUES (1) ON CONFLICT DO NOTHING",
            ),
        ] {
            let statement = parse(written).unwrap().remove(0);
            assert_eq!(statement.ast.to_string(), read);
            assert!(
                !matches!(&statement.ast, sqlparser::ast::Statement::Insert(insert) if is_upsert(insert))
            );
        }
        assert_eq!(
            parse("INSERT INTO t VALUES (1) ON DUPLICATE KEY")
                .unwrap_err()
                .sqlstate(),
            "42601"
        );
    }
}
