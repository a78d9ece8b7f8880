//! `ALTER COLUMN c TYPE t COLLATE n`, whose collation the parser does not read: it is left behind USING, under a name that is nobody's, which
//! tells it from a collation of that expression. Asked by `sql::ddl::retype` for what stood there.

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::alter_actions::MARK;
use super::token_reader::is_word_at;

/// What the name begins with where USING was not written.
const WITHOUT_USING: &str = "\0-";

/// Moves such collations.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(column) = altered_column(tokens, at) {
            take_one(tokens, &column, at + 1);
        }
        at += 1;
    }
}

/// The column whose type the word at this place begins: behind ALTER [COLUMN] name [SET DATA].
fn altered_column(tokens: &[TokenWithSpan], at: usize) -> Option<TokenWithSpan> {
    let is = |at: Option<usize>, word: &str| at.is_some_and(|at| is_word_at(tokens, at, word));
    if !is(Some(at), "TYPE") {
        return None;
    }
    let has_words = is(at.checked_sub(1), "DATA") && is(at.checked_sub(2), "SET");
    let name = at.checked_sub(if has_words { 3 } else { 1 })?;
    let before = name.checked_sub(1);
    let alters = is(before, "ALTER") || (is(before, "COLUMN") && is(name.checked_sub(2), "ALTER"));
    tokens.get(name).filter(|_| alters).cloned()
}

/// The same of the type that begins at a place.
fn take_one(tokens: &mut Vec<TokenWithSpan>, column: &TokenWithSpan, start: usize) {
    let end = end_of_action(tokens, start);
    let outside = |word: &str| {
        let mut depth = 0usize;
        (start..end).find(|at| {
            depth = depth_behind(depth, &tokens[*at].token);
            depth == 0 && is_word_at(tokens, *at, word)
        })
    };
    let using = outside("USING");
    let Some(collate) = outside("COLLATE").filter(|at| using.is_none_or(|using| *at < using)) else {
        return;
    };
    let span = tokens[collate].span;
    let is_qualified = matches!(
        tokens.get(collate + 2).map(|token| &token.token),
        Some(Token::Period)
    );
    let behind = (collate + if is_qualified { 4 } else { 2 }).min(end);
    let mut name: Vec<TokenWithSpan> = tokens[collate..behind].to_vec();
    let mark = if using.is_some() {
        MARK.to_string()
    } else {
        WITHOUT_USING.to_string()
    };
    if let Some(Token::Word(word)) = name.last_mut().map(|token| &mut token.token) {
        *word = quoted(&format!("{mark}{}", folded(word)));
    }
    let with = |token: Token| TokenWithSpan { token, span };
    match using {
        Some(using) => {
            tokens.splice(end..end, [vec![with(Token::RParen)], name].concat());
            tokens.insert(using + 1, with(Token::LParen));
            tokens.drain(collate..behind);
        }
        None => {
            let words = vec![with(Token::make_keyword("USING")), column.clone()];
            tokens.splice(collate..behind, [words, name].concat());
        }
    }
}

/// Where the action ends that a place is in: at a comma outside parentheses, or with the statement.
fn end_of_action(tokens: &[TokenWithSpan], start: usize) -> usize {
    let mut depth = 0usize;
    let end = (start..tokens.len()).find(|at| {
        let token = &tokens[*at].token;
        depth = depth_behind(depth, token);
        depth == 0 && matches!(token, Token::Comma | Token::SemiColon | Token::EOF)
    });
    end.unwrap_or(tokens.len())
}

fn depth_behind(depth: usize, token: &Token) -> usize {
    match token {
        Token::LParen | Token::LBracket => depth + 1,
        Token::RParen | Token::RBracket => depth.saturating_sub(1),
        _ => depth,
    }
}

fn folded(word: &Word) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
    }
}

fn quoted(name: &str) -> Word {
    Word {
        value: name.to_string(),
        quote_style: Some('"'),
        keyword: sqlparser::keywords::Keyword::NoKeyword,
    }
}

/// What USING says, and the collation of the type before it.
pub(crate) fn of_type(using: Option<&Expr>) -> (Option<&Expr>, Option<ObjectName>) {
    let Some(Expr::Collate { expr, collation }) = using else {
        return (using, None);
    };
    let Some(last) = collation.0.last().and_then(|part| part.as_ident()) else {
        return (using, None);
    };
    let (written, name) = match (
        last.value.strip_prefix(WITHOUT_USING),
        last.value.strip_prefix(MARK),
    ) {
        (Some(name), _) => (None, name),
        (None, Some(name)) => (Some(expr.as_ref()), name),
        (None, None) => return (using, None),
    };
    let mut parts = collation.0.clone();
    if let Some(part) = parts.last_mut() {
        *part = ObjectNamePart::Identifier(Ident::with_quote('"', name));
    }
    (written, Some(ObjectName(parts)))
}
