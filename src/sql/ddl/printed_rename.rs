//! Printed queries follow new names of a relation and of its columns as PostgreSQL does: `SELECT t.a FROM t` is `SELECT u.b AS a FROM u` then.
//! In such a text every column stands behind the name of its relation, so that no more than the tokens is looked at.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::catalog::{PrintedQuery, RELATION_BEGINS, RELATION_ENDS};
use crate::parse::quoting::{is_reserved, qualified, quote_ident};

/// The names of a relation, old and new.
pub(super) struct NewNames<'a> {
    /// Schema and name.
    pub(super) old: (&'a str, &'a str),
    /// See `old`.
    pub(super) new: (&'a str, &'a str),
    /// The columns, each with its new name and its old one.
    pub(super) columns: &'a [(&'a str, &'a str)],
}

/// Words that end a select list.
const ENDS: [Keyword; 12] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
];

/// A printed query under the new names. `None`: it does not tell by itself what it means.
pub(super) fn with_new_names(query: &PrintedQuery, names: &NewNames<'_>) -> Option<PrintedQuery> {
    Some(PrintedQuery {
        plain: renamed(&query.plain, names)?,
        pretty: renamed(&query.pretty, names)?,
    })
}

fn renamed(text: &str, names: &NewNames<'_>) -> Option<String> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .with_unescape(false)
        .tokenize()
        .ok()?;
    // An alias behind the moment that is read is not looked for.
    if tokens
        .iter()
        .any(|token| matches!(token, Token::Word(word) if word.value == "SYSTEM_TIME"))
    {
        return None;
    }
    let called = Called::of(&tokens, names)?;
    let mut whole = String::with_capacity(text.len());
    // Whether a select list stands at each depth of parentheses.
    let mut in_list = vec![false];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::LParen => in_list.push(false),
            Token::RParen => drop(in_list.pop()),
            Token::Word(word) if word.keyword == Keyword::SELECT => *in_list.last_mut()? = true,
            Token::Word(_) if ends_list(&tokens, at) => *in_list.last_mut()? = false,
            Token::Char(RELATION_BEGINS) => {
                let (written, width) = called.relation(&tokens, at, names);
                whole.push_str(&written);
                at += width;
                continue;
            }
            _ => {}
        }
        match called.column(&tokens, at, names) {
            Some((written, is_renamed)) => {
                whole.push_str(&written);
                if is_renamed && *in_list.last()? && is_item(&tokens, at) {
                    whole.push_str(&format!(" AS {}", tokens[at + 2]));
                }
                at += 3;
            }
            None => {
                whole.push_str(&token.to_string());
                at += 1;
            }
        }
    }
    Some(whole)
}

/// What the relation is called in the text.
struct Called {
    /// Each name of it before columns, with that which takes its place.
    names: Vec<(String, String)>,
    /// Whether its new name is another's there.
    is_taken: bool,
}

impl Called {
    /// `None`: another has one of its names, or its columns have others there.
    fn of(tokens: &[Token], names: &NewNames<'_>) -> Option<Called> {
        // Its names, and whether each was given to it there.
        let (mut own, mut others): (Vec<(String, bool)>, Vec<String>) = (Vec::new(), Vec::new());
        for at in 0..tokens.len() {
            let Some((name, width)) = marked(tokens, at) else {
                // What is no relation of the catalog is called so behind its parentheses, or before AS.
                if let (Token::RParen, Some(alias)) = (&tokens[at], alias_at(tokens, at + 1)) {
                    others.push(alias.to_string());
                }
                if let (Token::Word(word), Some(Keyword::AS)) = (&tokens[at], keyword_behind(tokens, at)) {
                    others.push(word.value.clone());
                }
                if matches!(&tokens[at], Token::Word(word) if word.keyword == Keyword::USING) {
                    return None;
                }
                continue;
            };
            if name.ends_with("()") {
                continue;
            }
            let alias = alias_at(tokens, at + width);
            let is_listed = alias.is_some() && tokens.get(at + width + 2) == Some(&Token::LParen);
            match name == qualified(names.old.0, names.old.1) {
                true if is_listed => return None,
                true => own.push((alias.unwrap_or(names.old.1).to_string(), alias.is_some())),
                false => {
                    let bare = name.rsplit('.').next().unwrap_or_default().trim_matches('"');
                    others.push(alias.unwrap_or(bare).to_string());
                }
            }
        }
        let is_of_another =
            |(name, given): &(String, bool)| others.contains(name) || own.contains(&(name.clone(), !given));
        if own.iter().any(is_of_another) {
            return None;
        }
        let own_names = own.iter().map(|(name, _)| name);
        let is_taken = others.iter().chain(own_names).any(|name| name == names.new.1);
        let pairs = own.into_iter().map(|(name, is_given)| {
            let follows = !is_given && !is_taken;
            let new = if follows { names.new.1 } else { &name };
            (name.clone(), new.to_string())
        });
        Some(Called {
            names: pairs.collect(),
            is_taken,
        })
    }

    /// What the text has for a relation in marks, and of how many tokens that was: the alias belongs to it.
    fn relation(&self, tokens: &[Token], at: usize, names: &NewNames<'_>) -> (String, usize) {
        let Some((name, width)) = marked(tokens, at) else {
            return (tokens[at].to_string(), 1);
        };
        if name != qualified(names.old.0, names.old.1) {
            return (format!("{RELATION_BEGINS}{name}{RELATION_ENDS}"), width);
        }
        let mut written = format!(
            "{RELATION_BEGINS}{}{RELATION_ENDS}",
            qualified(names.new.0, names.new.1)
        );
        let alias = alias_at(tokens, at + width);
        let shown = match alias {
            Some(alias) => alias,
            None if self.is_taken => names.old.1,
            None => names.new.1,
        };
        if alias.is_some() || shown != names.new.1 {
            written.push_str(&format!(" {}", quote_ident(shown)));
        }
        (written, width + if alias.is_some() { 2 } else { 0 })
    }

    /// What the text has for `relation.column`, and whether the column has another name.
    fn column(&self, tokens: &[Token], at: usize, names: &NewNames<'_>) -> Option<(String, bool)> {
        let [Token::Word(relation), Token::Period, Token::Word(column), ..] = &tokens[at..] else {
            return None;
        };
        let (_, called) = self.names.iter().find(|(name, _)| *name == relation.value)?;
        let new = names.columns.iter().find(|(_, old)| *old == column.value);
        let new = new.map_or(column.value.as_str(), |(new, _)| new);
        let written = format!("{}.{}", quote_ident(called), quote_ident(new));
        Some((written, new != column.value))
    }
}

/// The name in the marks that begin at a token, and how many tokens they are.
fn marked(tokens: &[Token], at: usize) -> Option<(String, usize)> {
    if tokens.get(at) != Some(&Token::Char(RELATION_BEGINS)) {
        return None;
    }
    let behind = &tokens[at + 1..];
    let end = behind
        .iter()
        .position(|token| *token == Token::Char(RELATION_ENDS))?;
    let name = behind[..end].iter().map(ToString::to_string).collect();
    Some((name, end + 2))
}

/// The alias that stands at a token, behind a blank.
fn alias_at(tokens: &[Token], at: usize) -> Option<&str> {
    match tokens.get(at..at + 2)? {
        [Token::Whitespace(Whitespace::Space), Token::Word(word)]
            if word.quote_style.is_some() || !is_reserved(&word.value) =>
        {
            Some(&word.value)
        }
        _ => None,
    }
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

fn keyword_behind(tokens: &[Token], at: usize) -> Option<Keyword> {
    match tokens[at + 1..].iter().find(|token| !is_blank(token))? {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    }
}

/// Whether the word at this place ends a select list: FROM does not behind IS DISTINCT.
fn ends_list(tokens: &[Token], at: usize) -> bool {
    let Token::Word(word) = &tokens[at] else {
        return false;
    };
    let mut before = tokens[..at].iter().rev().filter(|token| !is_blank(token));
    let mut is_word = |keyword: Keyword| {
        before
            .next()
            .is_some_and(|token| matches!(token, Token::Word(word) if word.keyword == keyword))
    };
    let is_distinct =
        word.keyword == Keyword::FROM && is_word(Keyword::DISTINCT) && !is_word(Keyword::SELECT);
    word.quote_style.is_none() && ENDS.contains(&word.keyword) && !is_distinct
}

/// Whether the column that begins at a token is an item of a select list by itself, without a name of its own.
fn is_item(tokens: &[Token], at: usize) -> bool {
    let mut before = tokens[..at].iter().rev().filter(|token| !is_blank(token));
    let begins = match before.next() {
        Some(Token::Word(word)) => matches!(word.keyword, Keyword::SELECT | Keyword::DISTINCT),
        Some(Token::Comma | Token::RParen) => true,
        _ => false,
    };
    let behind = at + 3;
    let next = (behind..tokens.len()).find(|at| !is_blank(&tokens[*at]));
    let ends = match next.map(|at| (at, &tokens[at])) {
        None | Some((_, Token::Comma | Token::RParen)) => true,
        Some((at, Token::Word(_))) => ends_list(tokens, at),
        Some(_) => false,
    };
    begins && ends
}
