//! `SET address.city = 'x'`, `SET tags[2] = 'x'` and `SET tags[1:2] = '{a,b}'`: the parser knows columns alone before `=`. Called by `tokens`, which
//! gives it what it reads, and by `sql::dml`, which asks what an assignment is one of.
//!
//! ```text
//! SET tags[2] = 'x', a = 1   =>  SET tags = ""(tags[2], 'x'), a = 1
//! SET c.x = 1, d[2].y = 2    =>  SET c = ""((c).x, 1), d = ""((d)[2].y, 2)
//! ```
//!
//! No function's name is empty, so that the empty one marks such an assignment.

use sqlparser::ast::{AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::token_reader::closing;

/// What the name of a subscript begins with among the columns of an INSERT.
pub(crate) const SUBSCRIPT: char = '\u{4}';

/// The name of the call that stands for one.
pub(crate) const MARK: &str = "";

/// Puts what the parser reads for every assignment to a part of an array.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        at += 1;
        if keyword(tokens, at - 1) != Keyword::SET {
            continue;
        }
        while let Some(end) = settle_one(tokens, at) {
            match tokens.get(end).map(|token| &token.token) {
                Some(Token::Comma) => at = end + 1,
                _ => break,
            }
        }
    }
}

/// `INSERT INTO t (a[1], b)` as `INSERT INTO t (a."\u{4}[1]", b)`: the parser knows names alone there.
pub(super) fn settle_columns(tokens: &mut Vec<TokenWithSpan>) {
    let opens = |token: &TokenWithSpan| token.token == Token::LParen;
    let begins_rows = |at: usize| {
        matches!(
            keyword(tokens, at),
            Keyword::VALUES | Keyword::SELECT | Keyword::WITH
        )
    };
    let Some(open) = tokens
        .iter()
        .position(opens)
        .filter(|open| !(0..=open + 1).any(begins_rows))
    else {
        return;
    };
    let mut at = open + 1;
    while tokens.get(at).is_some_and(|token| token.token != Token::RParen) {
        let close = match tokens[at].token {
            Token::LBracket => closing(tokens, at),
            _ => None,
        };
        if let Some(close) = close {
            let shown: Vec<String> = tokens[at..=close]
                .iter()
                .map(|token| token.token.to_string())
                .collect();
            let name = Token::make_word(&format!("{SUBSCRIPT}{}", shown.join(" ")), Some('"'));
            let span = tokens[at].span;
            let made = [Token::Period, name].map(|token| TokenWithSpan { token, span });
            tokens.splice(at..=close, made);
            at += 1;
        }
        at += 1;
    }
}

/// Settles the assignment that begins at a place; answers where it ends. `None`: there is none.
fn settle_one(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<usize> {
    let is = |tokens: &[TokenWithSpan], at: usize, wanted: &Token| {
        tokens.get(at).is_some_and(|token| token.token == *wanted)
    };
    if is(tokens, at, &Token::LParen) {
        let close = closing(tokens, at)?;
        return is(tokens, close + 1, &Token::Eq).then(|| end_of_value(tokens, close + 2));
    }
    let mut behind = at + 1;
    matches!(tokens.get(at)?.token, Token::Word(_)).then_some(())?;
    // The first name is the column's.
    loop {
        if is(tokens, behind, &Token::LBracket) {
            behind = closing(tokens, behind)? + 1;
        } else if is(tokens, behind, &Token::Period) {
            behind += 2;
        } else {
            break;
        }
    }
    let has_fields = tokens
        .get(at..behind)?
        .iter()
        .any(|token| token.token == Token::Period);
    if !is(tokens, behind, &Token::Eq) {
        return None;
    }
    let mut end = end_of_value(tokens, behind + 1);
    // SET of a setting has names with points, too.
    let is_update = (0..at).any(|before| keyword(tokens, before) == Keyword::UPDATE);
    if behind == at + 1 || end == behind + 1 || has_fields && !is_update {
        return Some(end);
    }
    let spanned = |token, at: usize, tokens: &[TokenWithSpan]| TokenWithSpan {
        token,
        span: tokens[at].span,
    };
    let close = spanned(Token::RParen, end - 1, tokens);
    tokens.insert(end, close);
    tokens[behind].token = Token::Comma;
    if has_fields {
        // In parentheses, so that what stands behind is read as fields.
        tokens.insert(at + 1, spanned(Token::RParen, at, tokens));
        tokens.insert(at, spanned(Token::LParen, at, tokens));
        end += 2;
    }
    let mut before: Vec<TokenWithSpan> = vec![tokens[at + usize::from(has_fields)].clone()];
    before.push(spanned(Token::Eq, at, tokens));
    before.push(spanned(Token::make_word(MARK, Some('"')), at, tokens));
    before.push(spanned(Token::LParen, at, tokens));
    end += before.len() + 1;
    tokens.splice(at..at, before);
    Some(end)
}

/// Where the value that begins at a place ends: before a comma, what closes, or the clause behind SET.
fn end_of_value(tokens: &[TokenWithSpan], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma if depth == 0 => return at,
            Token::Word(_) if depth == 0 => match keyword(tokens, at) {
                Keyword::WHERE | Keyword::RETURNING => return at,
                // IS DISTINCT FROM is part of a value.
                Keyword::FROM if keyword(tokens, at - 1) != Keyword::DISTINCT => return at,
                _ => {}
            },
            _ => {}
        }
    }
    tokens.len()
}

fn keyword(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// The array, subscripts and value of an assignment to a part of an array, where an expression is one.
pub(crate) fn parts(expr: &Expr) -> Option<(&Expr, &[AccessExpr], &Expr)> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = arguments(function)? else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundFieldAccess { root, access_chain })),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
        ] => Some((root, access_chain, value)),
        _ => None,
    }
}

/// The same assignment to the array that another expression gives.
pub(crate) fn with_root(expr: &Expr, array: Expr) -> Expr {
    let mut assignment = expr.clone();
    if let Expr::Function(Function {
        args: FunctionArguments::List(list),
        ..
    }) = &mut assignment
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundFieldAccess { root, .. }))) =
            list.args.first_mut()
    {
        **root = array;
    }
    assignment
}

/// The same assignment of another value.
pub(crate) fn with_value(mut assignment: Expr, value: Expr) -> Expr {
    if let Expr::Function(Function {
        args: FunctionArguments::List(list),
        ..
    }) = &mut assignment
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(known))) = list.args.get_mut(1)
    {
        *known = value;
    }
    assignment
}

fn arguments(function: &Function) -> Option<&FunctionArguments> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let is_marked = name.as_ident().is_some_and(|name| name.value == MARK);
    is_marked.then_some(&function.args)
}
