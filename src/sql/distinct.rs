//! `IS [NOT] DISTINCT FROM`: the parser takes everything behind it, ANDs and ORs included, for its right side
//! (`a IS DISTINCT FROM 1 AND b` for `a IS DISTINCT FROM (1 AND b)`). Parentheses around the whole test, as far as
//! PostgreSQL's grammar lets it reach, put that right. Called on the tokens of a statement before the parser sees them.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::word::is_word;

/// Words that end an operand, since they bind less than IS or start another clause.
const ENDS: [&str; 34] = [
    "AND",
    "OR",
    "IS",
    "THEN",
    "WHEN",
    "ELSE",
    "END",
    "AS",
    "ASC",
    "DESC",
    "NULLS",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "WINDOW",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "FOR",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "RETURNING",
    "ON",
    "USING",
    "JOIN",
    "INNER",
    "CROSS",
    "NATURAL",
    "FULL",
    "ALLOW",
    "DO",
];

/// Words that an operand may follow, beside those of `ENDS`.
const STARTS: [&str; 10] = [
    "SELECT",
    "NOT",
    "BY",
    "DISTINCT",
    "ALL",
    "SET",
    "VALUES",
    "BETWEEN",
    "SYMMETRIC",
    "LATERAL",
];

/// Words that end an operand unless they name a function.
const ENDS_UNLESS_CALLED: [&str; 2] = ["LEFT", "RIGHT"];

/// Turns `a IS DISTINCT FROM b` into `(a IS DISTINCT FROM b)`.
pub(crate) fn mark(tokens: &mut Vec<TokenWithSpan>) {
    // From the last to the first: parentheses behind a test do not move it.
    for at in (1..tokens.len()).rev() {
        let negated = at >= 2 && is_word(tokens.get(at - 1), "NOT");
        let is = if negated { at - 2 } else { at - 1 };
        let is_distinct_from = is_word(tokens.get(at), "DISTINCT")
            && is_word(tokens.get(at + 1), "FROM")
            && is_word(tokens.get(is), "IS");
        if !is_distinct_from {
            continue;
        }
        let right = at + 2 + operand_length(&tokens[at + 2..]);
        let left = behind_assignment(&tokens[..is], operand_start(&tokens[..is]));
        if left < is && right > at + 2 {
            let span = tokens[is].span;
            tokens.insert(
                right,
                TokenWithSpan {
                    token: Token::RParen,
                    span,
                },
            );
            tokens.insert(
                left,
                TokenWithSpan {
                    token: Token::LParen,
                    span,
                },
            );
        }
    }
}

/// Where the operand that ends with these tokens starts.
fn operand_start(tokens: &[TokenWithSpan]) -> usize {
    let (mut depth, mut cases) = (0usize, 0usize);
    for at in (0..tokens.len()).rev() {
        let token = tokens.get(at);
        match &tokens[at].token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket if depth == 0 => return at + 1,
            Token::LParen | Token::LBracket => depth -= 1,
            _ if depth > 0 => {}
            Token::Comma | Token::SemiColon => return at + 1,
            _ if is_word(token, "END") => cases += 1,
            _ if cases > 0 => cases -= usize::from(is_word(token, "CASE")),
            _ if ENDS.iter().chain(&STARTS).any(|word| is_word(token, word)) => return at + 1,
            _ => {}
        }
    }
    0
}

/// Where the operand starts, when what starts at `start` may be an assignment: behind its `=`, which is no comparison.
fn behind_assignment(tokens: &[TokenWithSpan], start: usize) -> usize {
    let mut depth = 0_usize;
    let clause = (0..start).rev().find(|at| {
        match &tokens[*at].token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket if depth == 0 => return true,
            Token::LParen | Token::LBracket => depth -= 1,
            _ => {}
        }
        let begins_clause = ["SET", "SELECT", "WHERE", "FROM", "BY", "VALUES", "RETURNING"];
        let is_test = *at > 0 && is_word(tokens.get(*at - 1), "DISTINCT");
        depth == 0 && !is_test && begins_clause.iter().any(|word| is_word(tokens.get(*at), word))
    });
    if !clause.is_some_and(|at| is_word(tokens.get(at), "SET")) {
        return start;
    }
    let target = tokens[start..]
        .iter()
        .take_while(|token| matches!(token.token, Token::Word(_) | Token::Period))
        .count();
    match tokens.get(start + target).map(|token| &token.token) {
        Some(Token::Eq) if target > 0 => start + target + 1,
        _ => start,
    }
}

/// How many tokens the operand takes.
fn operand_length(tokens: &[TokenWithSpan]) -> usize {
    let (mut depth, mut cases) = (0usize, 0usize);
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            _ if depth > 0 => {}
            Token::Comma | Token::SemiColon | Token::EOF => return at,
            _ if is_word(Some(token), "CASE") => cases += 1,
            _ if cases > 0 => cases -= usize::from(is_word(Some(token), "END")),
            _ if ENDS.iter().any(|word| is_word(Some(token), word)) => return at,
            _ => {
                let called = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
                if !called && ENDS_UNLESS_CALLED.iter().any(|word| is_word(Some(token), word)) {
                    return at;
                }
            }
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use crate::sql::parse;

    #[test]
    fn the_operand_ends_where_postgresql_ends_it() {
        for (sql, expected) in [
            (
                "SELECT 1 WHERE x AND a IS NOT DISTINCT FROM 1 AND b = 2 OR c",
                "SELECT 1 WHERE x AND (a IS NOT DISTINCT FROM 1) AND b = 2 OR c",
            ),
            (
                "SELECT a IS DISTINCT FROM left(b, 1) AS x, c FROM t LEFT JOIN u ON a IS DISTINCT FROM d ORDER BY 1",
                "SELECT (a IS DISTINCT FROM left(b, 1)) AS x, c FROM t LEFT JOIN u ON (a IS DISTINCT FROM d) ORDER BY 1",
            ),
            (
                "SELECT NOT f(a, b) IS DISTINCT FROM CASE WHEN b AND c THEN 1 END AND d",
                "SELECT NOT (f(a, b) IS DISTINCT FROM CASE WHEN b AND c THEN 1 END) AND d",
            ),
            (
                "SELECT a IS DISTINCT FROM 1 AND b IS DISTINCT FROM 2 OR c",
                "SELECT (a IS DISTINCT FROM 1) AND (b IS DISTINCT FROM 2) OR c",
            ),
            (
                "UPDATE t SET a = b = c IS DISTINCT FROM 1, t.d = e IS DISTINCT FROM d FROM u WHERE a = b IS DISTINCT FROM c",
                "UPDATE t SET a = (b = c IS DISTINCT FROM 1), t.d = (e IS DISTINCT FROM d) FROM u WHERE (a = b IS DISTINCT FROM c)",
            ),
            (
                "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = t.b IS DISTINCT FROM 1",
                "INSERT INTO t (a) VALUES (1) ON CONFLICT(a) DO UPDATE SET b = (t.b IS DISTINCT FROM 1)",
            ),
        ] {
            let statements = parse(sql).unwrap();
            assert_eq!(statements[0].ast.to_string(), expected);
        }
    }
}
