//! Numbers behind which something stands that is none of theirs (`1_000`, `0x1F`, `123abc`): the tokenizer reads some of them as other
//! dialects do, and cuts others apart. PostgreSQL 15 takes none.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::position::{byte_offset, character_position};
use crate::{Error, Result};

/// Errors: 42601 for such a number.
pub(super) fn check(tokens: &[TokenWithSpan], text: &str) -> Result<()> {
    for (at, token) in tokens.iter().enumerate() {
        let is_junk = match &token.token {
            Token::Number(digits, long) => digits.contains('_') || *long || is_followed(tokens, at),
            // X'1F' begins otherwise.
            Token::HexStringLiteral(_) => rest_of(token, text).starts_with('0'),
            _ => false,
        };
        if is_junk {
            let rest = rest_of(token, text);
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$') || !c.is_ascii();
            let near = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            return Err(Error::Syntax {
                message: format!("trailing junk after numeric literal at or near \"{near}\""),
                position: character_position(token.span.start, text),
            });
        }
    }
    Ok(())
}

/// Whether a word begins where the number ends.
fn is_followed(tokens: &[TokenWithSpan], at: usize) -> bool {
    let end = tokens[at].span.end;
    tokens.get(at + 1).is_some_and(|next| {
        matches!(&next.token, Token::Word(word) if word.quote_style.is_none()) && next.span.start == end
    })
}

fn rest_of<'t>(token: &TokenWithSpan, text: &'t str) -> &'t str {
    text.get(byte_offset(token.span.start, text)..)
        .unwrap_or_default()
}
