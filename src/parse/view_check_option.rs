//! WITH [LOCAL | CASCADED] CHECK OPTION behind the query of a CREATE VIEW, which the parser has no tree of: it becomes what PostgreSQL makes
//! of it, an option of the view. Called by `tokens`.
//!
//! ```text
//! CREATE VIEW v AS SELECT … WITH CHECK OPTION   =>  CREATE VIEW v WITH (check_option = 'cascaded') AS SELECT …
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::{is_word_at, keyword_of};

/// Brings the clause of a CREATE VIEW into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let is_view = (1..6).any(|at| keyword_of(tokens.get(at)) == Keyword::VIEW)
        && (1..6).all(|at| !is_word_at(tokens, at, "MATERIALIZED"));
    let end = tokens.len();
    if !is_view || end < 6 || !is_word_at(tokens, end - 1, "OPTION") || !is_word_at(tokens, end - 2, "CHECK")
    {
        return;
    }
    let (with, value) = match () {
        () if is_word_at(tokens, end - 3, "LOCAL") => (end - 4, "local"),
        () if is_word_at(tokens, end - 3, "CASCADED") => (end - 4, "cascaded"),
        () => (end - 3, "cascaded"),
    };
    let (true, Some(query)) = (is_word_at(tokens, with, "WITH"), query_of(tokens)) else {
        return;
    };
    let span = tokens[with].span;
    tokens.truncate(with);
    let option = [
        Token::make_word("check_option", None),
        Token::Eq,
        Token::SingleQuotedString(value.to_string()),
    ];
    let list_ends = tokens[query - 1].token == Token::RParen && has_options(&tokens[..query]);
    let (at, made): (usize, Vec<Token>) = match list_ends {
        true => (query - 1, [Token::Comma].into_iter().chain(option).collect()),
        false => {
            let opened = [Token::make_keyword("WITH"), Token::LParen].into_iter();
            (query, opened.chain(option).chain([Token::RParen]).collect())
        }
    };
    let made = made.into_iter().map(|token| TokenWithSpan { token, span });
    tokens.splice(at..at, made.collect::<Vec<_>>());
}

/// The place of the AS in front of the query.
fn query_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    (2..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && keyword_of(tokens.get(*at)) == Keyword::AS
    })
}

/// Whether WITH ( stands among what is in front of the query.
fn has_options(tokens: &[TokenWithSpan]) -> bool {
    let mut places = 2..tokens.len().saturating_sub(1);
    places.any(|at| keyword_of(tokens.get(at)) == Keyword::WITH && tokens[at + 1].token == Token::LParen)
}
