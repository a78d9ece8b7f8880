//! `CREATE TABLE t (LIKE u INCLUDING ALL, a int)`: the parser reads LIKE alone in its parentheses, and without most of what
//! may stand behind it. It is taken out of the tokens, and noted in the hints.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::hints::{Hints, Like};
use super::token_reader::is_word_at;

/// What INCLUDING and EXCLUDING name, but ALL.
const PARTS: [&str; 9] = [
    "comments",
    "compression",
    "constraints",
    "defaults",
    "generated",
    "identity",
    "indexes",
    "statistics",
    "storage",
];
/// Words that begin what is no column.
const CONSTRAINT_WORDS: [&str; 6] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE"];

impl Like {
    /// Of `CREATE TABLE t LIKE u`: all that there is of the table.
    pub(super) fn of_all(table: Vec<String>) -> Like {
        Like {
            table,
            at: 0,
            including: PARTS.to_vec(),
            with_options: true,
        }
    }
}

/// Takes the LIKE clauses out of the tokens of CREATE TABLE. One that is not written as PostgreSQL has it stays, for the
/// parser to say so.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, hints: &mut Hints) {
    let Some(list) = tokens.iter().position(|token| token.token == Token::LParen) else {
        return;
    };
    let (mut at, mut depth, mut columns) = (list + 1, 1, 0);
    while at < tokens.len() && depth > 0 {
        let begins_item = depth == 1 && (at == list + 1 || tokens[at - 1].token == Token::Comma);
        if begins_item
            && is_word_at(tokens, at, "LIKE")
            && let Some((like, end)) = read(tokens, at + 1)
        {
            hints.likes.push(Like { at: columns, ..like });
            at = remove(tokens, at, end);
            continue;
        }
        let is_constraint = CONSTRAINT_WORDS.iter().any(|word| is_word_at(tokens, at, word));
        columns += usize::from(begins_item && !is_constraint);
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// Removes an item of a list, and one of the commas around it; answers the place of what follows.
pub(super) fn remove(tokens: &mut Vec<TokenWithSpan>, start: usize, end: usize) -> usize {
    let is_comma = |at: usize| tokens.get(at).is_some_and(|token| token.token == Token::Comma);
    let (start, end) = match (is_comma(start - 1), is_comma(end)) {
        (_, true) => (start, end + 1),
        (true, false) => (start - 1, end),
        (false, false) => (start, end),
    };
    tokens.drain(start..end);
    start
}

/// What stands behind LIKE, and where it ends.
pub(super) fn read(tokens: &[TokenWithSpan], start: usize) -> Option<(Like, usize)> {
    let (mut like, mut at) = (Like::default(), start);
    loop {
        let Token::Word(word) = &tokens.get(at)?.token else {
            return None;
        };
        like.table.push(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        });
        at += 1;
        if tokens.get(at)?.token != Token::Period {
            break;
        }
        at += 1;
    }
    loop {
        let including = is_word_at(tokens, at, "INCLUDING");
        if !including && !is_word_at(tokens, at, "EXCLUDING") {
            break;
        }
        let is_all = is_word_at(tokens, at + 1, "ALL");
        let named = PARTS
            .iter()
            .filter(|part| is_all || is_word_at(tokens, at + 1, part));
        let named: Vec<&'static str> = named.copied().collect();
        if named.is_empty() {
            return None;
        }
        like.including.retain(|part| !named.contains(part));
        if including {
            like.including.extend(named);
        }
        at += 2;
    }
    let ends = matches!(tokens.get(at)?.token, Token::Comma | Token::RParen);
    ends.then_some((like, at))
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    #[test]
    fn clauses_are_taken_out() {
        for (text, left, taken) in [
            ("CREATE TABLE t (LIKE u)", "CREATE TABLE t ()", "0 u:"),
            (
                "CREATE TABLE t (a int, LIKE S.u INCLUDING DEFAULTS INCLUDING INDEXES, PRIMARY KEY (a), LIKE \"U\")",
                "CREATE TABLE t (a INT, PRIMARY KEY (a))",
                "1 s.u:defaults,indexes 1 U:",
            ),
            (
                "CREATE TABLE t (LIKE u INCLUDING ALL EXCLUDING comments EXCLUDING STORAGE, a numeric(3, 1))",
                "CREATE TABLE t (a NUMERIC(3,1))",
                "0 u:compression,constraints,defaults,generated,identity,indexes,statistics",
            ),
        ] {
            let parsed = parse(text).unwrap().remove(0);
            assert_eq!(parsed.ast.to_string(), left);
            let likes = parsed.hints.likes.iter();
            let likes: Vec<String> = likes
                .map(|like| {
                    format!(
                        "{} {}:{}",
                        like.at,
                        like.table.join("."),
                        like.including.join(",")
                    )
                })
                .collect();
            assert_eq!(likes.join(" "), taken);
        }
        let error = parse("CREATE TABLE t (LIKE u INCLUDING nothing)").unwrap_err();
        assert_eq!(error.sqlstate(), "42601");
    }
}
