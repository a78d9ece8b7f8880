//! Forms of FROM that the parser has no tree of: both become names that no relation has, for they begin with a character that no name
//! has. Written by `tokens`, read by `query`; a tree that is written as text and read again says the same.
//!
//! ```text
//! FROM ROWS FROM (f(1), g(2)) AS x   =>  FROM "\3rows from"(f(1), g(2)) AS x
//! FROM ROWS FROM (f(1) AS (a int))   =>  FROM "\3rows from"((SELECT "\3rows from" FROM f(1) AS f(a int)))
//! FROM CURRENT_DATE AS d             =>  FROM "\3rows from"(CURRENT_DATE) AS d
//! a JOIN b USING (id) AS j           =>  a JOIN b USING (id, "\3j")
//! ```

use sqlparser::ast::{Expr, ObjectName, SelectItem, SetExpr, TableFactor};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::group_distinct;
use super::token_reader::{closing, is_word_at, keyword_of};

/// What stands before the names; that of SEARCH and CYCLE, which stand behind FROM too, is another.
const MARK: char = '\u{3}';

/// The name that stands for ROWS FROM.
const ROWS_FROM: &str = "\u{3}rows from";

/// The words that items of FROM stand behind.
const BEFORE_ITEMS: &[Keyword] = &[Keyword::FROM, Keyword::JOIN, Keyword::LATERAL, Keyword::USING];

/// Those that are values by themselves.
const VALUE_WORDS: &[Keyword] = &[
    Keyword::CURRENT_CATALOG,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_ROLE,
    Keyword::CURRENT_SCHEMA,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::SESSION_USER,
    Keyword::USER,
];

/// Those of them that take the digits of their seconds.
const MOMENTS: &[Keyword] = &[
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
];

/// Those whose arguments have words between them.
const CALL_WORDS: &[Keyword] = &[
    Keyword::CAST,
    Keyword::EXTRACT,
    Keyword::OVERLAY,
    Keyword::POSITION,
    Keyword::SUBSTRING,
    Keyword::TRIM,
];

/// Whether a function of FROM is ROWS FROM of its arguments.
pub(crate) fn is_rows_from(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| name.value == ROWS_FROM))
}

/// The function whose columns an argument of ROWS FROM defines.
pub(crate) fn defined_function(argument: &Expr) -> Option<&TableFactor> {
    let Expr::Subquery(query) = argument else {
        return None;
    };
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let ([SelectItem::UnnamedExpr(Expr::Identifier(mark))], [item]) =
        (select.projection.as_slice(), select.from.as_slice())
    else {
        return None;
    };
    (mark.value == ROWS_FROM).then_some(&item.relation)
}

/// The columns of USING, and the name of what they are joined to.
pub(crate) fn split_using(columns: &[ObjectName]) -> (&[ObjectName], Option<&str>) {
    match columns.split_last() {
        Some((last, named)) if joined_name(last).is_some() => (named, joined_name(last)),
        _ => (columns, None),
    }
}

/// A text that was made of a tree, with the forms as SQL has them.
pub(crate) fn spelt_out(text: &str) -> String {
    let text = without_queries(&group_distinct::spelt_out(text));
    let text = text.replace(&format!("\"{ROWS_FROM}\"("), "ROWS FROM (");
    let begin = format!(", \"{MARK}");
    let mut spelt = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once(&begin) {
        let Some((name, after)) = behind.split_once("\")") else {
            break;
        };
        spelt.push_str(before);
        spelt.push_str(&format!(") AS \"{name}\""));
        rest = after;
    }
    spelt + rest
}

/// The functions of ROWS FROM whose columns are defined, without the queries around them.
fn without_queries(text: &str) -> String {
    let begin = format!("(SELECT \"{ROWS_FROM}\" FROM ");
    let mut spelt = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(&begin) {
        let Some(close) = end_of_parentheses(behind) else {
            break;
        };
        let function = &behind[..close];
        // The parser's name of it stands before the columns.
        let (call, columns) = function.rsplit_once(" AS ").unwrap_or((function, ""));
        let columns = columns.find('(').map_or("", |open| &columns[open..]);
        spelt.push_str(&format!("{before}{call} AS {columns}"));
        rest = &behind[close + 1..];
    }
    spelt + rest
}

/// Where the parenthesis is closed that is open before a text; those within quotes are none.
fn end_of_parentheses(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'(', None) => depth += 1,
            (b')', None) if depth == 0 => return Some(at),
            (b')', None) => depth -= 1,
            _ => {}
        }
    }
    None
}

fn joined_name(name: &ObjectName) -> Option<&str> {
    let [part] = name.0.as_slice() else { return None };
    part.as_ident()?.value.strip_prefix(MARK)
}

/// Whether a word, behind another, may begin one of the forms.
pub(super) fn may_begin(word: Keyword, before: Option<&TokenWithSpan>) -> bool {
    match word {
        Keyword::USING => true,
        Keyword::FROM => keyword_of(before) == Keyword::ROWS,
        word => {
            (VALUE_WORDS.contains(&word) || CALL_WORDS.contains(&word))
                && (before.is_some_and(|before| before.token == Token::Comma)
                    || BEFORE_ITEMS.contains(&keyword_of(before)))
        }
    }
}

/// Brings the forms into the parser's.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at < tokens.len() {
        match keyword_of(tokens.get(at)) {
            Keyword::ROWS if begins_rows_from(tokens, at) => take_rows_from(tokens, at),
            Keyword::USING => take_using(tokens, at),
            _ => {}
        }
        if let Some(end) = end_of_expression(tokens, at) {
            enclose(tokens, at, end);
            at += 2;
        }
        at += 1;
    }
}

fn begins_rows_from(tokens: &[TokenWithSpan], at: usize) -> bool {
    let opens = tokens.get(at + 2).is_some_and(|next| next.token == Token::LParen);
    keyword_of(tokens.get(at + 1)) == Keyword::FROM
        && opens
        && (tokens[at - 1].token == Token::Comma || BEFORE_ITEMS.contains(&keyword_of(tokens.get(at - 1))))
}

fn take_rows_from(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let end = closing(tokens, at + 2).unwrap_or(tokens.len());
    enclose_defined(tokens, at + 3, end);
    let span = tokens[at].span;
    let token = Token::make_word(ROWS_FROM, Some('"'));
    tokens.splice(at..at + 2, [TokenWithSpan { token, span }]);
}

/// Makes queries of the functions, from one place up to another, behind which their columns are defined. They have names by now
/// ([`super::record_columns`]).
fn enclose_defined(tokens: &mut Vec<TokenWithSpan>, start: usize, end: usize) {
    let mut depth = 0_usize;
    let mut ends = vec![end];
    let mut defined = Vec::new();
    for at in (start..end).rev() {
        match tokens[at].token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => ends.push(at),
            Token::Word(_) if depth == 0 && is_word_at(tokens, at, "AS") => defined.push(ends.len() - 1),
            _ => {}
        }
    }
    ends.push(start.saturating_sub(1));
    // The last first, so that the places before it stay.
    for item in defined {
        let (last, first) = (ends[item], ends[item + 1] + 1);
        let span = tokens[first].span;
        let close = Token::RParen;
        tokens.insert(last, TokenWithSpan { token: close, span });
        let begin = [
            Token::LParen,
            Token::make_keyword("SELECT"),
            Token::make_word(ROWS_FROM, Some('"')),
            Token::make_keyword("FROM"),
        ];
        let begin = begin.map(|token| TokenWithSpan { token, span });
        tokens.splice(first..first, begin);
    }
}

/// Where an item of FROM ends that is an expression with a syntax of its own, `CURRENT_DATE` or `CAST(1 AS text)`: behind its last token.
fn end_of_expression(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let word = keyword_of(tokens.get(at));
    let opens = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
    let end = match opens {
        true if CALL_WORDS.contains(&word) || MOMENTS.contains(&word) => closing(tokens, at + 1)? + 1,
        false if VALUE_WORDS.contains(&word) => at + 1,
        _ => return None,
    };
    let is_item = match keyword_of(tokens.get(at - 1)) {
        Keyword::JOIN | Keyword::LATERAL | Keyword::USING => true,
        Keyword::FROM => is_of_query(tokens, at - 1),
        _ => tokens[at - 1].token == Token::Comma && is_among_items(tokens, at - 1),
    };
    // A point would make it the name of a schema.
    let is_name = tokens.get(end).is_some_and(|next| next.token == Token::Period);
    (is_item && !is_name).then_some(end)
}

/// Whether a FROM begins the items of a query, or of an UPDATE: that of an expression stands in parentheses, or behind DISTINCT, and REVOKE
/// has one.
fn is_of_query(tokens: &[TokenWithSpan], from: usize) -> bool {
    let word = |at: Option<usize>| keyword_of(at.and_then(|at| tokens.get(at)));
    let is_distinct = word(from.checked_sub(1)) == Keyword::DISTINCT
        && matches!(word(from.checked_sub(2)), Keyword::IS | Keyword::NOT);
    // SELECT is a privilege, too.
    let is_refused = is_distinct || words_before(tokens, from).any(|word| word == Keyword::REVOKE);
    let mut before = words_before(tokens, from);
    !is_refused && before.any(|word| matches!(word, Keyword::SELECT | Keyword::SET))
}

/// Whether a comma stands between items of FROM.
fn is_among_items(tokens: &[TokenWithSpan], comma: usize) -> bool {
    use Keyword as K;
    let mut depth = 0_usize;
    for at in (0..comma).rev() {
        match tokens[at].token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket if depth == 0 => return false,
            Token::LParen | Token::LBracket => depth -= 1,
            _ => {}
        }
        match keyword_of(tokens.get(at)) {
            _ if depth > 0 => {}
            K::FROM if is_of_query(tokens, at) => return true,
            K::SELECT | K::WHERE | K::BY | K::HAVING | K::SET | K::VALUES | K::RETURNING | K::WINDOW => {
                return false;
            }
            _ => {}
        }
    }
    false
}

/// The words before a place, backwards, up to the parenthesis around it; not those within others.
fn words_before(tokens: &[TokenWithSpan], at: usize) -> impl Iterator<Item = Keyword> {
    let mut depth = 0_usize;
    let before = tokens[..at].iter().rev();
    let within = before.map_while(move |token| {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            _ => {}
        }
        Some((depth, token))
    });
    within
        .filter(|(depth, _)| *depth == 0)
        .map(|(_, token)| keyword_of(Some(token)))
}

/// Makes ROWS FROM of the item between two places.
fn enclose(tokens: &mut Vec<TokenWithSpan>, at: usize, end: usize) {
    let span = tokens[at].span;
    let close = Token::RParen;
    tokens.insert(end, TokenWithSpan { token: close, span });
    let begin = [Token::make_word(ROWS_FROM, Some('"')), Token::LParen];
    tokens.splice(at..at, begin.map(|token| TokenWithSpan { token, span }));
}

/// `USING (a, b) AS j`.
fn take_using(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let opens = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
    let Some(close) = closing(tokens, at + 1).filter(|_| opens) else {
        return;
    };
    let mut named = tokens[at + 2..close].iter().enumerate();
    let are_names = named.all(|(place, token)| match &token.token {
        Token::Word(_) => place % 2 == 0,
        Token::Comma => place % 2 == 1,
        _ => false,
    });
    let Some(Token::Word(alias)) = tokens.get(close + 2).map(|token| &token.token) else {
        return;
    };
    // AS OF SYSTEM TIME is the time of the whole query.
    let is_time = is_word_at(tokens, close + 2, "OF") && is_word_at(tokens, close + 3, "SYSTEM");
    if !are_names || is_time || close == at + 2 || !is_word_at(tokens, close + 1, "AS") {
        return;
    }
    let alias = match alias.quote_style {
        Some(_) => alias.value.clone(),
        None => alias.value.to_lowercase(),
    };
    let span = tokens[close].span;
    let made = [
        Token::Comma,
        Token::make_word(&format!("{MARK}{alias}"), Some('"')),
        Token::RParen,
    ];
    let made = made.map(|token| TokenWithSpan { token, span });
    tokens.splice(close..close + 3, made);
}

#[cfg(test)]
mod tests {
    use super::spelt_out;
    use crate::parse::parse;

    #[test]
    fn forms_are_spelt_as_they_are_read() {
        let spelt = |text: &str| {
            let tree = parse(text).expect("it is read").remove(0).ast;
            spelt_out(&tree.to_string())
        };
        for text in [
            "SELECT * FROM ROWS FROM (f(1), g(2)) AS x",
            "SELECT * FROM ROWS FROM (f('a )') AS (a INT, b TEXT), g(2)) WITH ORDINALITY",
            "SELECT * FROM t, ROWS FROM (CURRENT_DATE) AS d",
            "SELECT EXTRACT(DAY FROM d) FROM a, ROWS FROM (CAST(1 AS INT)) AS c, b",
            "SELECT * FROM a JOIN b USING(id) AS \"j\"",
        ] {
            assert_eq!(spelt(text), text);
        }
        for (written, read) in [
            ("SELECT 1 FROM user", "SELECT 1 FROM ROWS FROM (user)"),
            (
                "SELECT a IS DISTINCT FROM current_user, CURRENT_DATE FROM a, localtime AS t",
                "SELECT a IS DISTINCT FROM current_user, CURRENT_DATE FROM a, ROWS FROM (localtime) AS t",
            ),
        ] {
            assert_eq!(spelt(written), read);
        }
    }
}
