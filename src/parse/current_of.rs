//! WHERE CURRENT OF, which the parser has no tree of: [`settle`] makes of the tokens a condition that it reads, [`cursor_of`] tells what
//! that said. Called by `tokens`, and by `query` for the conditions of UPDATE and DELETE.
//!
//! ```text
//! UPDATE t SET a = 1 WHERE CURRENT OF c   =>  UPDATE t SET a = 1 WHERE "".c
//! ```
//!
//! No name is empty, so that the empty one marks the cursor's.

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::names::fold;
use super::syntax_error;
use crate::Result;

/// Makes of every WHERE CURRENT OF what the parser takes; answers the last cursor's name. Errors: 42601 where it is no whole condition of an
/// UPDATE or a DELETE.
pub(super) fn settle(tokens: &mut [TokenWithSpan], text: &str) -> Result<Option<String>> {
    let mut cursor = None;
    for at in 0..tokens.len() {
        let is_there = keyword(tokens, at) == Keyword::WHERE
            && keyword(tokens, at + 1) == Keyword::CURRENT
            && keyword(tokens, at + 2) == Keyword::OF;
        let Some(Token::Word(name)) = tokens.get(at + 3).map(|token| &token.token) else {
            continue;
        };
        if !is_there {
            continue;
        }
        if !is_of_write(tokens, at) {
            return Err(syntax_error::near(&tokens[at + 2], text));
        }
        let name = fold(&Ident {
            value: name.value.clone(),
            quote_style: name.quote_style,
            span: tokens[at + 3].span,
        });
        let ends = match tokens.get(at + 4).map(|token| &token.token) {
            None | Some(Token::RParen) => true,
            _ => keyword(tokens, at + 4) == Keyword::RETURNING,
        };
        if !ends {
            return Err(syntax_error::near(&tokens[at + 4], text));
        }
        tokens[at + 1].token = Token::make_word("", Some('"'));
        tokens[at + 2].token = Token::Period;
        cursor = Some(name);
    }
    Ok(cursor)
}

/// The name of the cursor whose row is meant, where a condition is no more than that.
pub(crate) fn cursor_of(condition: &Expr) -> Option<String> {
    match condition {
        Expr::CompoundIdentifier(names) => match names.as_slice() {
            [mark, cursor] if mark.value.is_empty() => Some(fold(cursor)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the WHERE at a place is that of an UPDATE or a DELETE.
fn is_of_write(tokens: &[TokenWithSpan], at: usize) -> bool {
    let mut depth = 0_usize;
    for before in (0..at).rev() {
        match &tokens[before].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            Token::Word(_) if depth == 0 => match keyword(tokens, before) {
                Keyword::SELECT => return false,
                Keyword::DELETE => return true,
                Keyword::UPDATE => return before == 0 || keyword(tokens, before - 1) != Keyword::DO,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

fn keyword(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    #[test]
    fn a_cursor_is_named_instead_of_a_condition() {
        for (text, cursor) in [
            ("UPDATE t SET a = 1 WHERE CURRENT OF C", "c"),
            ("DELETE FROM t WHERE CURRENT OF \"C d\" RETURNING a", "C d"),
            (
                "WITH w AS (UPDATE t SET a = 1 WHERE CURRENT OF w RETURNING a) SELECT a FROM w",
                "w",
            ),
        ] {
            let parsed = parse(text).unwrap().remove(0);
            assert_eq!(parsed.current_of.as_deref(), Some(cursor), "{text}");
        }
        assert_eq!(parse("SELECT current FROM t").unwrap()[0].current_of, None);
        for (text, near) in [
            ("DELETE FROM t WHERE CURRENT OF c AND a = 1", "AND"),
            ("SELECT a FROM t WHERE CURRENT OF c", "OF"),
            ("UPDATE t SET a = (SELECT a FROM u WHERE CURRENT OF c)", "OF"),
            (
                "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1 WHERE CURRENT OF c",
                "OF",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("syntax error at or near \"{near}\""),
                "{text}"
            );
        }
    }
}
