//! Expressions and WHERE in the target of ON CONFLICT, which the parser has no tree of: [`take`] makes names of them that no column can
//! have, for they begin with a zero byte; [`read`] tells what such a name says. Called by `tokens`, and by `sql::dml`.
//!
//! ```text
//! ON CONFLICT (lower(a), b) WHERE c > 1 DO NOTHING   =>  ON CONFLICT ("\0lower(a)", b, "\0WHERE c > 1") DO NOTHING
//! ```

use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::parse_expression;
use super::token_reader::{closing, is_word_at};

/// What a name of a target says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConflictKey {
    /// A column.
    Column(Ident),
    /// An expression.
    Expression(Expr),
    /// WHERE.
    Condition(Expr),
}

/// Brings the targets of ON CONFLICT into the parser's form. What is no expression is left as it stands, for the parser to refuse.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 2;
    while at < tokens.len() {
        let opens = tokens[at].token == Token::LParen
            && is_word_at(tokens, at - 2, "ON")
            && is_word_at(tokens, at - 1, "CONFLICT");
        if opens && let Some(close) = closing(tokens, at) {
            take_target(tokens, at, close);
        }
        at += 1;
    }
}

/// What a name in a target says; `None`: nothing that can be read.
pub(crate) fn read(name: &Ident) -> Option<ConflictKey> {
    let Some(text) = name.value.strip_prefix('\0') else {
        return Some(ConflictKey::Column(name.clone()));
    };
    let (text, is_condition) = match text.strip_prefix(CONDITION) {
        Some(condition) => (condition, true),
        None => (text, false),
    };
    let expr = expression(text)?;
    Some(match (expr, is_condition) {
        (expr, true) => ConflictKey::Condition(expr),
        (Expr::Collate { expr, .. } | Expr::Nested(expr), false) if matches!(*expr, Expr::Identifier(_)) => {
            match *expr {
                Expr::Identifier(name) => ConflictKey::Column(name),
                expr => ConflictKey::Expression(expr),
            }
        }
        (Expr::Nested(expr), false) => ConflictKey::Expression(*expr),
        (expr, false) => ConflictKey::Expression(expr),
    })
}

const CONDITION: &str = "WHERE ";

fn take_target(tokens: &mut Vec<TokenWithSpan>, open: usize, close: usize) {
    let mut condition = None;
    if is_word_at(tokens, close + 1, "WHERE") {
        let end = (close + 2..tokens.len()).find(|at| {
            let is_do = is_word_at(tokens, *at, "DO");
            is_do && (is_word_at(tokens, at + 1, "NOTHING") || is_word_at(tokens, at + 1, "UPDATE"))
        });
        let Some(end) = end else { return };
        let text = text_of(&tokens[close + 2..end]);
        if expression(&text).is_none() {
            return;
        }
        let span = tokens[close + 1].span;
        tokens.drain(close + 1..end);
        condition = Some((format!("{CONDITION}{text}"), span));
    }
    let mut made: Vec<TokenWithSpan> = Vec::new();
    let (mut depth, mut item) = (0_usize, open + 1);
    for at in open + 1..=close {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if at < close => depth -= 1,
            _ => {}
        }
        let ends = at == close || depth == 0 && tokens[at].token == Token::Comma;
        if !ends {
            continue;
        }
        made.extend(item_of(&tokens[item..at]));
        if at < close {
            made.push(tokens[at].clone());
        }
        item = at + 1;
    }
    if let Some((text, span)) = condition {
        made.push(TokenWithSpan::new(Token::Comma, span));
        made.push(marked(&text, span));
    }
    tokens.splice(open + 1..close, made);
}

/// One part of a target. An operator class behind it, of which an index has the same entries as of any other, goes.
fn item_of(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let tokens = match tokens {
        [
            of @ ..,
            TokenWithSpan {
                token: Token::Word(word),
                ..
            },
        ] if !of.is_empty() && word.value.ends_with("_ops") => of,
        all => all,
    };
    let text = text_of(tokens);
    match tokens {
        [] | [_] => tokens.to_vec(),
        [first, ..] if expression(&text).is_some() => vec![marked(&text, first.span)],
        _ => tokens.to_vec(),
    }
}

/// The whole of a text as an expression.
fn expression(text: &str) -> Option<Expr> {
    match parse_expression(&format!("({text})")).ok()? {
        Expr::Nested(expr) => Some(*expr),
        _ => None,
    }
}

fn marked(text: &str, span: sqlparser::tokenizer::Span) -> TokenWithSpan {
    TokenWithSpan::new(Token::make_word(&format!("\0{text}"), Some('"')), span)
}

fn text_of(tokens: &[TokenWithSpan]) -> String {
    let words: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    #[test]
    fn targets_become_names() {
        let tree = |text: &str| parse(text).unwrap().remove(0).ast.to_string();
        let text = "INSERT INTO t VALUES (1) ON CONFLICT (lower(a) text_ops, b int4_ops, (c)) WHERE d IN (1, 2) \
                    DO NOTHING";
        let read = tree(text).replace('\0', "~");
        assert!(
            read.ends_with(
                "ON CONFLICT(\"~lower ( a )\", b, \"~( c )\", \"~WHERE d IN ( 1 , 2 )\") DO NOTHING"
            ),
            "{read}"
        );
        for wrong in [
            "INSERT INTO t VALUES (1) ON CONFLICT (a b) DO NOTHING",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) WHERE DO NOTHING",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) WHERE b > DO NOTHING",
        ] {
            assert_eq!(parse(wrong).unwrap_err().sqlstate(), "42601", "{wrong}");
        }
    }
}
