//! ESCAPE where the parser does not read it: `substring(x SIMILAR p ESCAPE e)` is `substring(x FROM p FOR e)`, and the
//! sign behind ESCAPE may be said to be of a type (`ESCAPE '$'::bytea`), which changes nothing. Called by `tokens`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{closing, is_word_at, keyword_of};

/// Does both. `tokens`: those of a statement that has ESCAPE.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    for at in 0..tokens.len() {
        if keyword_of(tokens.get(at)) == Keyword::SUBSTRING {
            spell_clauses(tokens, at + 1);
        }
    }
    let mut at = 0;
    while at < tokens.len() {
        let is_sign = keyword_of(tokens.get(at)) == Keyword::ESCAPE
            && matches!(
                tokens.get(at + 1).map(|token| &token.token),
                Some(Token::SingleQuotedString(_))
            )
            && tokens
                .get(at + 2)
                .is_some_and(|token| token.token == Token::DoubleColon)
            && (is_word_at(tokens, at + 3, "bytea") || is_word_at(tokens, at + 3, "text"));
        if is_sign {
            tokens.drain(at + 2..at + 4);
        }
        at += 1;
    }
}

/// FROM and FOR in place of SIMILAR and ESCAPE between the parentheses that open here.
fn spell_clauses(tokens: &mut [TokenWithSpan], open: usize) {
    let Some(close) = closing(tokens, open).filter(|_| tokens[open].token == Token::LParen) else {
        return;
    };
    let (mut depth, mut similar) = (0, None);
    for at in open + 1..close {
        match &tokens[at].token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            _ if depth > 0 => {}
            Token::Word(_)
                if is_word_at(tokens, at, "SIMILAR") && keyword_of(tokens.get(at + 1)) != Keyword::TO =>
            {
                similar = Some(at);
            }
            _ if keyword_of(tokens.get(at)) == Keyword::ESCAPE => {
                if let Some(similar) = similar {
                    tokens[similar].token = Token::make_keyword("FROM");
                    tokens[at].token = Token::make_keyword("FOR");
                }
                return;
            }
            _ => {}
        }
    }
}
