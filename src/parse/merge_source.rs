//! `MERGE INTO t USING a JOIN b ON … ON …`: the parser reads one relation behind USING, so that joins stand in parentheses.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of such a statement with parentheses around its source; others as they are.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some((source, condition)) = places_of_source(&tokens) else {
        return tokens;
    };
    let sign = |token: Token, at: usize| TokenWithSpan {
        token,
        span: tokens[at].span,
    };
    let mut respelled = tokens[..source].to_vec();
    respelled.push(sign(Token::LParen, source));
    respelled.extend_from_slice(&tokens[source..condition]);
    respelled.push(sign(Token::RParen, condition));
    respelled.extend_from_slice(&tokens[condition..]);
    respelled
}

/// Where the source of a MERGE begins, and the ON behind it, if joins stand between them.
fn places_of_source(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let (mut merge, mut source, mut condition, mut joins) = (false, None, None, false);
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && word.quote_style.is_none() => match word.keyword {
                Keyword::MERGE => merge = true,
                Keyword::USING if merge && source.is_none() => source = Some(at + 1),
                Keyword::JOIN if source.is_some() => joins = true,
                Keyword::ON if source.is_some() => condition = Some(at),
                Keyword::WHEN if source.is_some() => break,
                _ => {}
            },
            _ => {}
        }
    }
    source.zip(condition).filter(|_| joins)
}
