//! GROUP BY DISTINCT and GROUP BY ALL, which the parser has no tree of. DISTINCT becomes a first item that no name is, as in `from_forms`:
//! `GROUP BY DISTINCT a, ROLLUP (b)` is `GROUP BY "\3distinct", a, ROLLUP (b)`; ALL is what is meant without it. Written by `tokens`, read
//! by `query`.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::keyword_of;

/// The item that stands for DISTINCT.
const DISTINCT: &str = "\u{3}distinct";

/// The items of GROUP BY, and whether DISTINCT stands before them.
pub(crate) fn split(exprs: &[Expr]) -> (&[Expr], bool) {
    match exprs.split_first() {
        Some((Expr::Identifier(name), others)) if name.value == DISTINCT => (others, true),
        _ => (exprs, false),
    }
}

/// A text that was made of a tree, with the clause as SQL has it.
pub(super) fn spelt_out(text: &str) -> String {
    text.replace(&format!("\"{DISTINCT}\", "), "DISTINCT ")
}

/// Whether the words before a token are GROUP BY.
pub(super) fn is_behind_group_by(tokens: &[TokenWithSpan]) -> bool {
    matches!(tokens, [.., group, by]
        if keyword_of(Some(group)) == Keyword::GROUP && keyword_of(Some(by)) == Keyword::BY)
}

/// Brings the clauses into the parser's.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 2;
    while at < tokens.len() {
        if is_behind_group_by(&tokens[..at]) {
            let span = tokens[at].span;
            match keyword_of(tokens.get(at)) {
                Keyword::DISTINCT => {
                    let marks = [Token::make_word(DISTINCT, Some('"')), Token::Comma];
                    tokens.splice(at..=at, marks.map(|token| TokenWithSpan { token, span }));
                }
                Keyword::ALL if tokens.get(at + 1).is_some_and(begins_item) => drop(tokens.remove(at)),
                _ => {}
            }
        }
        at += 1;
    }
}

/// Whether an item of GROUP BY begins with a token, and no other clause.
fn begins_item(token: &TokenWithSpan) -> bool {
    let clauses = [
        Keyword::HAVING,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::WINDOW,
        Keyword::UNION,
        Keyword::EXCEPT,
        Keyword::INTERSECT,
        Keyword::OFFSET,
        Keyword::FETCH,
    ];
    !clauses.contains(&keyword_of(Some(token))) && !matches!(token.token, Token::RParen | Token::SemiColon)
}
