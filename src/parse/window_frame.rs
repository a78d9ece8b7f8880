//! What the parser does not read of a window's frame. A string that is an offset is an interval to it, and nothing may stand behind: before
//! what does, it goes into parentheses.
//!
//! ```text
//! RANGE BETWEEN '1 day'::interval PRECEDING AND CURRENT ROW  =>  RANGE BETWEEN ('1 day')::interval PRECEDING AND CURRENT ROW
//! ```
//!
//! `EXCLUDE CURRENT ROW`, `GROUP`, `TIES` and `NO OTHERS` become the end of the name of the window that this one extends, behind a character that no name has. Written by `tokens`, read by `query::window`. A tree that is
//! written as text and read again says the same; [`spelt_out`] brings such a text back into SQL.
//!
//! ```text
//! OVER (w ROWS 1 PRECEDING EXCLUDE TIES)             =>  OVER ("w\1TIES" ROWS 1 PRECEDING)
//! OVER (ORDER BY k ROWS 1 PRECEDING EXCLUDE GROUP)   =>  OVER ("\1GROUP" ORDER BY k ROWS 1 PRECEDING)
//! ```

use sqlparser::ast::WindowSpec;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::names::fold;
use super::quoting::quote_ident;
use super::token_reader::{is_word_at, keyword_of};

/// What stands before the word.
const MARK: char = '\u{1}';

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

/// A text that was made of a tree, with EXCLUDE where SQL has it.
pub(crate) fn spelt_out(text: &str) -> String {
    if !text.contains(MARK) {
        return text.to_string();
    }
    // Strings are written as they stand.
    let mut tokenizer = Tokenizer::new(&PostgreSqlDialect {}, text).with_unescape(false);
    let Ok(tokens) = tokenizer.tokenize() else {
        return text.to_string();
    };
    let (mut spelt, mut open) = (String::with_capacity(text.len()), Vec::new());
    for token in &tokens {
        match token {
            Token::LParen => open.push(None),
            Token::RParen => {
                if let Some(Some(words)) = open.pop() {
                    spelt.push_str(&format!(" EXCLUDE {words}"));
                }
            }
            Token::Word(word) => {
                if let (Some((name, mark)), Some(excluded)) = (word.value.split_once(MARK), open.last_mut()) {
                    let form = FORMS.iter().find(|(_, word)| *word == mark);
                    *excluded = form.map(|(words, _)| words.join(" "));
                    if !name.is_empty() {
                        spelt.push_str(&quote_ident(name));
                    }
                    continue;
                }
            }
            _ => {}
        }
        spelt.push_str(&token.to_string());
    }
    spelt
}

/// Brings frames into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    enclose_offsets(tokens);
    take_exclusions(tokens);
}

/// Puts strings at which an offset begins into parentheses, when more of it follows.
fn enclose_offsets(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at < tokens.len() {
        let goes_on = !is_word_at(tokens, at + 1, "PRECEDING") && !is_word_at(tokens, at + 1, "FOLLOWING");
        if matches!(tokens[at].token, Token::SingleQuotedString(_)) && goes_on && begins_offset(tokens, at) {
            let span = tokens[at].span;
            let parenthesis = |token| TokenWithSpan { token, span };
            tokens.insert(at + 1, parenthesis(Token::RParen));
            tokens.insert(at, parenthesis(Token::LParen));
            at += 2;
        }
        at += 1;
    }
}

/// Whether an end of a frame begins here: behind `RANGE`, `RANGE BETWEEN`, or the AND behind the other end.
fn begins_offset(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_any_at = |at: usize, words: &[&str]| words.iter().any(|word| is_word_at(tokens, at, word));
    let units = ["ROWS", "RANGE", "GROUPS"];
    if is_any_at(at - 1, &units) {
        return true;
    }
    let Some(before) = at.checked_sub(2) else {
        return false;
    };
    is_any_at(at - 1, &["BETWEEN"]) && is_any_at(before, &units)
        || is_any_at(at - 1, &["AND"]) && is_any_at(before, &["PRECEDING", "FOLLOWING", "ROW"])
}

/// Brings EXCLUDE of frames into the parser's form.
fn take_exclusions(tokens: &mut Vec<TokenWithSpan>) {
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
        let text = "SELECT sum(a) OVER (w ROWS 1 PRECEDING EXCLUDE NO OTHERS), sum(b) OVER (ORDER BY (b) ROWS 1 PRECEDING EXCLUDE TIES)";
        let tree = parse(text).unwrap().remove(0).ast.to_string();
        assert_eq!(spelt_out(&tree).replace("( ORDER", "(ORDER"), text);
        let offsets = "select sum(a) over (order by b range between '1'||' day' preceding and '1 day'::interval following), \
                       sum(a) over (order by b range '1 day' preceding)";
        let tree = parse(offsets).unwrap().remove(0).ast.to_string();
        assert!(
            tree.contains("BETWEEN ('1') || ' day' PRECEDING AND ('1 day')::INTERVAL FOLLOWING"),
            "{tree}"
        );
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
