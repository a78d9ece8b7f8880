//! FETCH FIRST as the parser takes it: it knows a number there and no expression, which becomes LIMIT, and OFFSET stands before it alone.
//! Written by `tokens`; [`spelt_out`] brings a text that was made of such a tree back into SQL.
//!
//! ```text
//! FETCH FIRST (a + 1) ROWS WITH TIES        =>  LIMIT (a + 1) FETCH FIRST ROWS WITH TIES
//! FETCH FIRST 5 ROWS ONLY OFFSET 10 ROWS    =>  OFFSET 10 ROWS FETCH FIRST 5 ROWS ONLY
//! ```

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::token_reader::{is_word_at, keyword_of, opening};

/// `FETCH FIRST (count)`, when it was taken last, as `LIMIT (count) FETCH FIRST`.
pub(super) fn limit_to_count(tokens: &mut Vec<TokenWithSpan>) {
    let is_closed = tokens.last().is_some_and(|last| last.token == Token::RParen);
    let Some(open) = opening(tokens).filter(|open| is_closed && *open >= 2) else {
        return;
    };
    let before = [open - 2, open - 1].map(|at| keyword_of(tokens.get(at)));
    if !matches!(before, [Keyword::FETCH, Keyword::FIRST | Keyword::NEXT]) {
        return;
    }
    let limit = TokenWithSpan {
        token: Token::make_keyword("LIMIT"),
        span: tokens[open - 2].span,
    };
    let fetch: Vec<_> = tokens.splice(open - 2..open, [limit]).collect();
    tokens.extend(fetch);
}

/// Puts FETCH behind the OFFSET that follows it.
pub(super) fn put_behind_offset(tokens: &mut [TokenWithSpan]) {
    for fetch in 0..tokens.len() {
        if keyword_of(tokens.get(fetch)) == Keyword::FETCH
            && let Some(offset) = end_of_fetch(tokens, fetch)
            && keyword_of(tokens.get(offset)) == Keyword::OFFSET
        {
            let end = end_of_clause(tokens, offset);
            tokens[fetch..end].rotate_left(offset - fetch);
        }
    }
}

/// Where the clause ends that begins with FETCH: behind ONLY or TIES.
fn end_of_fetch(tokens: &[TokenWithSpan], fetch: usize) -> Option<usize> {
    let is_first = matches!(keyword_of(tokens.get(fetch + 1)), Keyword::FIRST | Keyword::NEXT);
    let end = (fetch + 2..tokens.len().min(fetch + 6))
        .find(|at| is_word_at(tokens, *at, "ONLY") || is_word_at(tokens, *at, "TIES"));
    end.filter(|_| is_first).map(|end| end + 1)
}

/// Where an OFFSET ends: at what closes its query, or at FOR.
fn end_of_clause(tokens: &[TokenWithSpan], offset: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(offset) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return at,
            Token::RParen => depth -= 1,
            _ if depth == 0 && keyword_of(Some(token)) == Keyword::FOR => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// A text that was made of a tree, with the count where SQL has it.
pub(crate) fn spelt_out(text: &str) -> String {
    if !text.contains("FETCH") {
        return text.to_string();
    }
    // Strings are written as they stand.
    let mut tokenizer = Tokenizer::new(&PostgreSqlDialect {}, text).with_unescape(false);
    let Ok(mut tokens) = tokenizer.tokenize_with_location() else {
        return text.to_string();
    };
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let fetches: Vec<usize> = (0..tokens.len())
        .filter(|at| keyword_of(tokens.get(*at)) == Keyword::FETCH)
        .collect();
    for fetch in fetches.into_iter().rev() {
        let Some(closed) = (0..fetch).rev().find(|at| !is_blank(&tokens[*at])) else {
            continue;
        };
        let open = opening(&tokens[..=closed]).filter(|_| tokens[closed].token == Token::RParen);
        let limit = open.and_then(|open| (0..open).rev().find(|at| !is_blank(&tokens[*at])));
        let Some(limit) = limit.filter(|at| keyword_of(tokens.get(*at)) == Keyword::LIMIT) else {
            continue;
        };
        // FETCH, a blank, FIRST or NEXT, and the blank behind it.
        let mut words: Vec<_> = tokens.drain(fetch..fetch + 4).collect();
        words.pop();
        tokens.splice(limit..=limit, words);
    }
    tokens.iter().map(|token| token.token.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn counts_and_offsets_of_fetch_are_read_and_written() {
        let tree = |text: &str| parse(text).unwrap().remove(0).ast.to_string();
        let counted = "SELECT a FROM t ORDER BY a FETCH FIRST (1 + $1) ROWS WITH TIES";
        assert_eq!(spelt_out(&tree(counted)), counted);
        let quoted = "SELECT '''x''' FROM t ORDER BY a FETCH FIRST (1 + 1) ROWS WITH TIES";
        assert_eq!(spelt_out(&tree(quoted)), quoted);
        let limited = "SELECT a FROM t ORDER BY a LIMIT (1 + 1)";
        assert_eq!(spelt_out(&tree(limited)), limited);
        for (written, read) in [
            (
                "SELECT a FROM t FETCH FIRST 5 ROWS ONLY OFFSET 10",
                "SELECT a FROM t OFFSET 10 FETCH FIRST 5 ROWS ONLY",
            ),
            (
                "SELECT a FROM (SELECT b FROM t FETCH NEXT ROW ONLY OFFSET (1) ROWS) AS t",
                "SELECT a FROM (SELECT b FROM t OFFSET (1) ROWS FETCH FIRST ROWS ONLY) AS t",
            ),
        ] {
            assert_eq!(tree(written), read);
        }
    }
}
