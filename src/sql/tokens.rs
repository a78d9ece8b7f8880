//! Our syntax over PostgreSQL's, read off the tokens of one statement before the parser sees them:
//! `UPSERT INTO`, `ALLOW FILTERING`, `/*+ … */` hints, `TABLE t`, `BETWEEN SYMMETRIC`, `WITH (OPTION)` without a value.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

use super::word::is_word;
use super::{distinct, symmetric};

/// The hint that lets a statement scan a whole table.
const ALLOW_FILTERING_HINT: &str = "_l_allow_filtering_";

/// A statement's tokens for the parser, and what was read off them.
pub(crate) struct Read {
    /// In PostgreSQL's syntax.
    pub(crate) tokens: Vec<TokenWithSpan>,
    /// It began with UPSERT.
    pub(crate) upsert: bool,
    /// A hint or ALLOW FILTERING.
    pub(crate) allow_filtering: bool,
    /// It has a BETWEEN SYMMETRIC, marked for `symmetric::expand`.
    pub(crate) symmetric: bool,
}

/// Reads our syntax off the tokens of one statement.
pub(crate) fn read(tokens: Vec<TokenWithSpan>) -> Read {
    let hinted = has_hint(&tokens);
    let mut tokens: Vec<_> = tokens
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    split_signs(&mut tokens);
    give_trim_blanks(&mut tokens);
    let upsert = is_word(tokens.first(), "UPSERT");
    if upsert {
        tokens[0].token = Token::make_keyword("INSERT");
    }
    join_literals(&mut tokens);
    spell_out_tables(&mut tokens);
    let filtering = take_allow_filtering(&mut tokens);
    if is_word(tokens.first(), "CREATE") {
        give_options_values(&mut tokens);
    }
    let symmetric = symmetric::mark(&mut tokens);
    distinct::mark(&mut tokens);
    Read {
        tokens,
        upsert,
        allow_filtering: hinted || filtering,
        symmetric,
    }
}

/// `TABLE t` where a query begins means `SELECT * FROM t`.
fn spell_out_tables(tokens: &mut Vec<TokenWithSpan>) {
    let begins = |tokens: &[TokenWithSpan], at: usize| {
        at == 0
            || matches!(tokens[at - 1].token, Token::LParen | Token::RParen)
            || ["UNION", "INTERSECT", "EXCEPT", "ALL", "AS"]
                .iter()
                .any(|word| is_word(tokens.get(at - 1), word))
    };
    let mut at = 0;
    while at < tokens.len() {
        let names = matches!(tokens.get(at + 1).map(|next| &next.token), Some(Token::Word(_)));
        if names && is_word(tokens.get(at), "TABLE") && begins(tokens, at) {
            let span = tokens[at].span;
            let select = [
                Token::make_keyword("SELECT"),
                Token::Mul,
                Token::make_keyword("FROM"),
            ];
            tokens.splice(at..=at, select.map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
}

/// Literals that a line break separates are one: `'a'` and `'b'` on the next line are `'ab'`.
fn join_literals(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        let apart = tokens[at].span.end.line < tokens[at + 1].span.start.line;
        match (&tokens[at].token, &tokens[at + 1].token) {
            (Token::SingleQuotedString(first), Token::SingleQuotedString(second)) if apart => {
                tokens[at].token = Token::SingleQuotedString(format!("{first}{second}"));
                tokens[at].span.end = tokens[at + 1].span.end;
                tokens.remove(at + 1);
            }
            _ => at += 1,
        }
    }
}

/// PostgreSQL reads a row of signs as so many operators: `- -+1`, `-+-1`.
fn split_signs(tokens: &mut Vec<TokenWithSpan>) {
    let is_signs = |token: &Token| matches!(token, Token::CustomBinaryOperator(text) if text.chars().all(|c| matches!(c, '+' | '-')));
    while let Some(at) = tokens.iter().position(|token| is_signs(&token.token)) {
        let span = tokens[at].span;
        let Token::CustomBinaryOperator(text) = &tokens[at].token else {
            return;
        };
        let signs: Vec<TokenWithSpan> = text
            .chars()
            .map(|sign| TokenWithSpan {
                token: if sign == '+' { Token::Plus } else { Token::Minus },
                span,
            })
            .collect();
        tokens.splice(at..=at, signs);
    }
}

/// `trim(leading FROM x)` and `trim(FROM x)` trim what `trim(x)` does; `trim(both FROM x, y)` trims y.
fn give_trim_blanks(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 2 < tokens.len() {
        let open = tokens[at + 1].token == Token::LParen;
        if !(open && is_word(tokens.get(at), "TRIM")) {
            at += 1;
            continue;
        }
        at += 2;
        let side = ["BOTH", "LEADING", "TRAILING"]
            .iter()
            .position(|side| is_word(tokens.get(at), side));
        let from = at + usize::from(side.is_some());
        if !is_word(tokens.get(from), "FROM") {
            continue;
        }
        // As the function of the same meaning: btrim(x), ltrim(x), rtrim(x).
        let name = side.map_or("btrim", |side| ["btrim", "ltrim", "rtrim"][side]);
        tokens[at - 2].token = Token::make_word(name, None);
        tokens.drain(at..=from);
    }
}

/// A hint counts right after SELECT, UPDATE, DELETE or INSERT.
fn has_hint(tokens: &[TokenWithSpan]) -> bool {
    let mut after_verb = false;
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::MultiLineComment(comment)) => {
                if after_verb
                    && comment.starts_with('+')
                    && comment.to_ascii_lowercase().contains(ALLOW_FILTERING_HINT)
                {
                    return true;
                }
            }
            Token::Whitespace(_) => {}
            _ => {
                after_verb = ["SELECT", "UPDATE", "DELETE", "INSERT"]
                    .iter()
                    .any(|verb| is_word(Some(token), verb));
            }
        }
    }
    false
}

/// Removes ALLOW FILTERING at the end of the statement or before LIMIT / OFFSET / FETCH.
fn take_allow_filtering(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let at = (1..tokens.len().saturating_sub(1)).rev().find(|&at| {
        is_word(tokens.get(at), "ALLOW")
            && is_word(tokens.get(at + 1), "FILTERING")
            && match tokens.get(at + 2) {
                None => true,
                next => ["LIMIT", "OFFSET", "FETCH"]
                    .iter()
                    .any(|word| is_word(next, word)),
            }
    });
    if let Some(at) = at {
        tokens.drain(at..at + 2);
    }
    at.is_some()
}

/// `WITH (DYNAMIC_COLUMNS)` means `WITH (DYNAMIC_COLUMNS = 'true')`.
fn give_options_values(tokens: &mut Vec<TokenWithSpan>) {
    let Some(with) = (1..tokens.len()).rev().find(|&at| {
        is_word(tokens.get(at), "WITH")
            && tokens[at - 1].token == Token::RParen
            && tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen)
    }) else {
        return;
    };
    let mut at = with + 2;
    while at + 1 < tokens.len() {
        let starts_option = matches!(tokens[at - 1].token, Token::LParen | Token::Comma);
        let ends_option = matches!(tokens[at + 1].token, Token::RParen | Token::Comma);
        if starts_option && ends_option && matches!(tokens[at].token, Token::Word(_)) {
            let value = [Token::Eq, Token::SingleQuotedString("true".to_string())];
            tokens.splice(
                at + 1..at + 1,
                value.map(|token| TokenWithSpan {
                    token,
                    span: Span::empty(),
                }),
            );
        }
        at += 1;
    }
}
