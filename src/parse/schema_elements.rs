//! `CREATE SCHEMA s CREATE TABLE … CREATE VIEW …`: the elements are statements of their own, which `sql::ddl` runs once the schema is
//! there. The parser sees `CREATE SCHEMA s`; the texts of the others are noted in `Hints`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::position::byte_offset;
use super::syntax_error;
use super::token_reader::{is_word_at, keyword_of};
use crate::error::StatementFault;
use crate::{Error, Result};

/// What elements may be, in the order in which PostgreSQL makes them: by the words that stand behind CREATE, and GRANT.
const KINDS: [&str; 6] = ["SEQUENCE", "TABLE", "VIEW", "INDEX", "TRIGGER", "GRANT"];

/// Takes the elements out of a CREATE SCHEMA: their texts, as they are made one after the other. `text`: the message. Errors: 42601 for
/// what is no element, 0A000 for any behind IF NOT EXISTS.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<Vec<String>> {
    if keyword_of(tokens.get(1)) != Keyword::SCHEMA {
        return Ok(Vec::new());
    }
    let starts = starts(tokens);
    let Some(first) = starts.first().copied() else {
        return Ok(Vec::new());
    };
    if is_word_at(tokens, 2, "IF") {
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "CREATE SCHEMA IF NOT EXISTS cannot include schema elements".to_string(),
            hint: None,
        });
    }
    let mut elements = Vec::with_capacity(starts.len());
    for (place, start) in starts.iter().enumerate() {
        let end = starts.get(place + 1).copied().unwrap_or(tokens.len());
        let kind = kind_of(&tokens[*start..end]);
        let kind = kind.ok_or_else(|| {
            let near = tokens.get(start + 1).unwrap_or(&tokens[*start]);
            syntax_error::near(near, text)
        })?;
        let from = byte_offset(tokens[*start].span.start, text);
        let to = byte_offset(tokens[end - 1].span.end, text);
        elements.push((kind, text.get(from..to).unwrap_or_default().to_string()));
    }
    elements.sort_by_key(|(kind, _)| *kind);
    tokens.truncate(first);
    Ok(elements.into_iter().map(|(_, element)| element).collect())
}

/// Where elements begin.
fn starts(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut starts = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(3) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ => {
                let word = keyword_of(Some(token));
                let begins = word == Keyword::CREATE || word == Keyword::GRANT;
                // WITH GRANT OPTION.
                if begins && !is_word_at(tokens, at - 1, "WITH") {
                    starts.push(at);
                }
            }
        }
    }
    starts
}

fn kind_of(element: &[TokenWithSpan]) -> Option<usize> {
    let is = |at: usize, word: &str| is_word_at(element, at, word);
    if is(0, "GRANT") {
        return Some(KINDS.len() - 1);
    }
    let before = [
        "TEMP",
        "TEMPORARY",
        "LOCAL",
        "GLOBAL",
        "UNLOGGED",
        "UNIQUE",
        "OR",
        "REPLACE",
        "RECURSIVE",
    ];
    let at = (1..element.len()).find(|at| !before.iter().any(|word| is(*at, word)))?;
    KINDS.iter().position(|word| is(at, word))
}
