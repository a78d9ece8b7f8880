//! `integer ARRAY` and `integer ARRAY[3]`, the SQL standard's words for `integer[]`, which the parser does not read behind a
//! type. Called by `tokens`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::keyword_of;
use crate::types::SqlType;

/// Spells the types of a statement with brackets. The constructors `ARRAY[…]` and `ARRAY(…)` stand.
pub(super) fn spell_brackets(tokens: &mut Vec<TokenWithSpan>) {
    for at in (1..tokens.len()).rev() {
        // Behind AS it is a name.
        let is_alias = keyword_of(tokens.get(at - 1)) == Keyword::AS;
        if !is_array(&tokens[at]) || is_alias {
            continue;
        }
        let span = tokens[at].span;
        let brackets = [Token::LBracket, Token::RBracket].map(|token| TokenWithSpan { token, span });
        match tokens.get(at + 1).map(|next| &next.token) {
            Some(Token::LParen) => {}
            Some(Token::LBracket) if ends_type(tokens, at - 1) => drop(tokens.remove(at)),
            Some(Token::LBracket) => {}
            _ => drop(tokens.splice(at..=at, brackets)),
        }
    }
}

fn is_array(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::ARRAY)
}

/// Whether the token is the last of a type's name, its modifiers in parentheses included.
fn ends_type(tokens: &[TokenWithSpan], at: usize) -> bool {
    let name = match &tokens[at].token {
        Token::RParen => {
            let is_modifier =
                |token: &&TokenWithSpan| matches!(token.token, Token::Number(..) | Token::Comma);
            let inside = tokens[..at].iter().rev().take_while(is_modifier).count();
            let Some(open) = at.checked_sub(inside + 1).filter(|_| inside > 0) else {
                return false;
            };
            match (&tokens[open].token, open.checked_sub(1)) {
                (Token::LParen, Some(name)) => &tokens[name].token,
                _ => return false,
            }
        }
        name => name,
    };
    let Token::Word(word) = name else { return false };
    let name = word.value.to_lowercase();
    matches!(name.as_str(), "precision" | "varying" | "zone")
        || SqlType::from_name(&name, &[]).is_ok_and(|ty| ty.is_some())
}
