//! `EXCLUDE CURRENT ROW`, `GROUP`, `TIES` and `NO OTHERS` of a window's frame, which the parser does not read: they become the end of the
//! name of the window that this one extends, behind a character that no text holds. Written by `tokens`, read by `query::window`.
//!
//! ```text
//! OVER (w ROWS 1 PRECEDING EXCLUDE TIES)             =>  OVER ("w\0TIES" ROWS 1 PRECEDING)
//! OVER (ORDER BY k ROWS 1 PRECEDING EXCLUDE GROUP)   =>  OVER ("\0GROUP" ORDER BY k ROWS 1 PRECEDING)
//! ```

use sqlparser::ast::WindowSpec;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::names::fold;
use super::token_reader::{is_word_at, keyword_of};

/// What stands before the word.
const MARK: char = '\0';

/// The forms, and the word that stands for each.
const FORMS: [(&[&str], &str); 4] = [
    (&["CURRENT", "ROW"], "CURRENT"),
    (&["NO", "OTHERS"], "NO"),
    (&["GROUP"], "GROUP"),
    (&["TIES"], "TIES"),
];

/// The window that a definition extends, folded, and the word of EXCLUDE (CURRENT, NO, GROUP or TIES).
pub(crate) fn split(window: &WindowSpec) -> (Option<String>, Option<String>) {
    let Some(name) = &window.window_name else {
        return (None, None);
    };
    match name.value.split_once(MARK) {
        Some((name, word)) => {
            let name = (!name.is_empty()).then(|| name.to_string());
            (name, Some(word.to_string()))
        }
        None => (Some(fold(name)), None),
    }
}

/// Brings EXCLUDE of frames into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at < tokens.len() {
        if is_word_at(tokens, at, "EXCLUDE")
            && let Some((words, word)) = form_at(tokens, at + 1)
            && let Some(open) = frame_before(&tokens[..at])
        {
            tokens.drain(at..=at + words);
            mark(tokens, open, word);
        }
        at += 1;
    }
}

/// How many words of EXCLUDE stand here, and what they say; a parenthesis must close behind them.
fn form_at(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, &'static str)> {
    FORMS.iter().find_map(|(words, word)| {
        let stand = words
            .iter()
            .enumerate()
            .all(|(offset, word)| is_word_at(tokens, at + offset, word));
        let closes = tokens
            .get(at + words.len())
            .is_some_and(|next| next.token == Token::RParen);
        (stand && closes).then_some((words.len(), *word))
    })
}

/// The parenthesis that opens the window, when a frame of it ends here.
fn frame_before(tokens: &[TokenWithSpan]) -> Option<usize> {
    let last = tokens.len().checked_sub(1)?;
    let ends = ["PRECEDING", "FOLLOWING", "ROW"];
    if !ends.iter().any(|word| is_word_at(tokens, last, word)) {
        return None;
    }
    let mut depth = 0_usize;
    (0..=last).rev().find(|at| match tokens[*at].token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen if depth == 0 => true,
        Token::LParen => {
            depth -= 1;
            false
        }
        _ => false,
    })
}

/// Puts the word behind the name of the window that the one in these parentheses extends.
fn mark(tokens: &mut Vec<TokenWithSpan>, open: usize, word: &str) {
    let begins_clause = matches!(
        keyword_of(tokens.get(open + 1)),
        Keyword::PARTITION | Keyword::ORDER | Keyword::ROWS | Keyword::RANGE | Keyword::GROUPS
    );
    let span = tokens[open].span;
    if let Some(Token::Word(name)) = tokens.get_mut(open + 1).map(|token| &mut token.token)
        && (name.quote_style.is_some() || !begins_clause)
    {
        let own = match name.quote_style {
            Some(_) => name.value.clone(),
            None => name.value.to_ascii_lowercase(),
        };
        *name = marked(&own, word);
        return;
    }
    let token = Token::Word(marked("", word));
    tokens.insert(open + 1, TokenWithSpan { token, span });
}

fn marked(name: &str, word: &str) -> Word {
    Word {
        value: format!("{name}{MARK}{word}"),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn what_is_excluded_stands_behind_the_name_of_the_window() {
        for (window, name, word) in [
            ("(rows current row exclude ties)", None, Some("TIES")),
            (
                "(W rows 1 preceding exclude current row)",
                Some("w"),
                Some("CURRENT"),
            ),
            (
                "(\"W\" rows (1) preceding exclude group)",
                Some("W"),
                Some("GROUP"),
            ),
            (
                "(order by (a) groups between 1 preceding and 1 following exclude no others)",
                None,
                Some("NO"),
            ),
            ("(w order by a)", Some("w"), None),
        ] {
            let statement = parse(&format!("select sum(a) over {window}")).unwrap().remove(0);
            let sqlparser::ast::Statement::Query(query) = statement.ast else {
                panic!("no query");
            };
            let select = query.body.as_select().unwrap().clone();
            let sqlparser::ast::SelectItem::UnnamedExpr(sqlparser::ast::Expr::Function(call)) =
                &select.projection[0]
            else {
                panic!("no call");
            };
            let Some(sqlparser::ast::WindowType::WindowSpec(spec)) = &call.over else {
                panic!("no window");
            };
            let found = split(spec);
            assert_eq!((found.0.as_deref(), found.1.as_deref()), (name, word), "{window}");
        }
        for wrong in [
            "(order by a exclude ties)",
            "(rows 1 preceding exclude)",
            "(rows 1 preceding exclude foo)",
        ] {
            let error = parse(&format!("select sum(a) over {wrong}")).unwrap_err();
            assert_eq!(error.sqlstate(), "42601", "{wrong}");
        }
    }
}
