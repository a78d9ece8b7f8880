//! `MERGE INTO t USING a JOIN b ON … ON …`: the parser reads one relation behind USING, so that joins stand in parentheses.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::keyword_of;

/// Puts parentheses around the source of such a statement.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let Some((source, condition)) = places_of_source(tokens) else {
        return;
    };
    for (at, token) in [(condition, Token::RParen), (source, Token::LParen)] {
        let span = tokens[at].span;
        tokens.insert(at, TokenWithSpan { token, span });
    }
}

/// Where the source of a MERGE begins, and the ON behind it, if joins stand between them.
fn places_of_source(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let (mut merges, mut joins) = (false, false);
    let (mut source, mut condition) = (None, None);
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 {
            continue;
        }
        match keyword_of(Some(token)) {
            Keyword::MERGE => merges = true,
            Keyword::USING if merges && source.is_none() => source = Some(at + 1),
            Keyword::JOIN if source.is_some() => joins = true,
            Keyword::ON if source.is_some() => condition = Some(at),
            Keyword::WHEN if source.is_some() => break,
            _ => {}
        }
    }
    source.zip(condition).filter(|_| joins)
}
