//! SEARCH and CYCLE behind a query of WITH, which the parser has no tree of: both become the name of its FROM, which PostgreSQL has
//! not, behind a character that no name has. Written by `tokens`, read by `query::search_cycle`; a tree that is written as text and read
//! again says the same, and [`spelt_out`] brings such a text back into SQL.
//!
//! ```text
//! WITH RECURSIVE r AS (…) SEARCH DEPTH FIRST BY a SET o   =>  WITH RECURSIVE r AS (…) FROM "\2SEARCH DEPTH FIRST BY a SET o"
//! ```

use sqlparser::ast::{Cte, Expr};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

use super::dialect::parse_expression;
use super::quoting::quote_ident;
use super::token_reader::is_word_at;
use crate::{Error, Result};

/// What stands before the clauses.
const MARK: char = '\u{2}';

/// The clauses of a query of WITH.
#[derive(Debug)]
pub(crate) struct SearchCycle {
    pub(crate) search: Option<Search>,
    pub(crate) cycle: Option<Cycle>,
}

/// SEARCH … FIRST BY columns SET sequence.
#[derive(Debug)]
pub(crate) struct Search {
    /// BREADTH; else DEPTH.
    pub(crate) breadth: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) sequence: String,
}

/// CYCLE columns SET mark TO value DEFAULT value USING path.
#[derive(Debug)]
pub(crate) struct Cycle {
    pub(crate) columns: Vec<String>,
    pub(crate) mark: String,
    /// TO and DEFAULT; `None`: true and false.
    pub(crate) values: Option<(Expr, Expr)>,
    pub(crate) path: String,
}

/// Whether the FROM of a query of WITH is made of these clauses.
pub(crate) fn is_made(cte: &Cte) -> bool {
    cte.from.as_ref().is_some_and(|from| from.value.starts_with(MARK))
}

/// The clauses of a query of WITH.
pub(crate) fn of(cte: &Cte) -> Result<Option<SearchCycle>> {
    let Some(text) = cte.from.as_ref().and_then(|from| from.value.strip_prefix(MARK)) else {
        return Ok(None);
    };
    let read = tokens_of(text).and_then(|tokens| {
        let (read, end) = read(&tokens, 0)?;
        (end == tokens.len()).then_some(read)
    });
    let read = read.ok_or_else(|| Error::internal(format!("no clause of WITH: {text}")))?;
    let cycle = match read.cycle {
        None => None,
        Some(cycle) => Some(cycle.parsed()?),
    };
    Ok(Some(SearchCycle {
        search: read.search,
        cycle,
    }))
}

/// A text that was made of a tree, with the clauses where SQL has them.
pub(crate) fn spelt_out(text: &str) -> String {
    let begin = format!(" FROM \"{MARK}");
    let mut spelt = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, clause)) = rest.split_once(&begin) {
        spelt.push_str(before);
        spelt.push(' ');
        let mut at = 0;
        while let Some(quote) = clause[at..].find('"') {
            spelt.push_str(&clause[at..at + quote]);
            at += quote + 1;
            if !clause[at..].starts_with('"') {
                break;
            }
            spelt.push('"');
            at += 1;
        }
        rest = &clause[at..];
    }
    spelt + rest
}

/// Brings the clauses into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 1;
    while at < tokens.len() {
        if tokens[at - 1].token == Token::RParen
            && (is_word_at(tokens, at, "SEARCH") || is_word_at(tokens, at, "CYCLE"))
            && let Some((read, end)) = read(tokens, at)
        {
            let span = tokens[at].span;
            let name = format!("{MARK}{}", read.text());
            let made = [Token::make_keyword("FROM"), Token::make_word(&name, Some('"'))];
            let made = made.map(|token| TokenWithSpan { token, span });
            tokens.splice(at..end, made);
        }
        at += 1;
    }
}

fn tokens_of(text: &str) -> Option<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
    let tokens = tokens.into_iter();
    let words = tokens.filter(|token| !matches!(token, Token::Whitespace(_)));
    let span = Span::empty();
    Some(words.map(|token| TokenWithSpan { token, span }).collect())
}

fn spelt(token: &Token) -> String {
    match token {
        Token::SingleQuotedString(text) => format!("'{}'", text.replace('\'', "''")),
        Token::Word(word) if word.quote_style.is_some() => format!("\"{}\"", word.value.replace('"', "\"\"")),
        other => other.to_string(),
    }
}

/// The clauses, their values not parsed yet.
struct Read {
    search: Option<Search>,
    cycle: Option<ReadCycle>,
}

impl Read {
    /// The clauses as PostgreSQL prints them.
    fn text(&self) -> String {
        let listed = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| quote_ident(name)).collect();
            names.join(", ")
        };
        let search = self.search.iter().map(|search| {
            let word = if search.breadth { "BREADTH" } else { "DEPTH" };
            let (columns, set) = (listed(&search.columns), quote_ident(&search.sequence));
            format!("SEARCH {word} FIRST BY {columns} SET {set}")
        });
        let cycle = self.cycle.iter().map(|cycle| {
            let values = match &cycle.values {
                Some((mark, default)) => format!(" TO {mark} DEFAULT {default}"),
                None => String::new(),
            };
            let (columns, set) = (listed(&cycle.columns), quote_ident(&cycle.mark));
            format!(
                "CYCLE {columns} SET {set}{values} USING {}",
                quote_ident(&cycle.path)
            )
        });
        let clauses: Vec<String> = search.chain(cycle).collect();
        clauses.join(" ")
    }
}

struct ReadCycle {
    columns: Vec<String>,
    mark: String,
    values: Option<(String, String)>,
    path: String,
}

impl ReadCycle {
    /// Errors: 42601 for a value that is no expression.
    fn parsed(self) -> Result<Cycle> {
        let parse = |text: &str| {
            parse_expression(text).map_err(|_| Error::Syntax {
                message: format!("syntax error at or near \"{text}\""),
                position: 0,
            })
        };
        let values = match &self.values {
            None => None,
            Some((mark, default)) => Some((parse(mark)?, parse(default)?)),
        };
        Ok(Cycle {
            columns: self.columns,
            mark: self.mark,
            values,
            path: self.path,
        })
    }
}

/// The clauses that begin at a token, and where they end.
fn read(tokens: &[TokenWithSpan], at: usize) -> Option<(Read, usize)> {
    let mut at = at;
    let mut search = None;
    if is_word_at(tokens, at, "SEARCH") {
        let breadth = is_word_at(tokens, at + 1, "BREADTH");
        let is_form = (breadth || is_word_at(tokens, at + 1, "DEPTH"))
            && is_word_at(tokens, at + 2, "FIRST")
            && is_word_at(tokens, at + 3, "BY");
        let (columns, set) = names(tokens, at + 4).filter(|_| is_form)?;
        let sequence = name(tokens, set + 1).filter(|_| is_word_at(tokens, set, "SET"))?;
        at = set + 2;
        search = Some(Search {
            breadth,
            columns,
            sequence,
        });
    }
    if !is_word_at(tokens, at, "CYCLE") {
        return search.map(|search| {
            let search = Some(search);
            (Read { search, cycle: None }, at)
        });
    }
    let (columns, set) = names(tokens, at + 1)?;
    let mark = name(tokens, set + 1).filter(|_| is_word_at(tokens, set, "SET"))?;
    at = set + 2;
    let mut values = None;
    if is_word_at(tokens, at, "TO") {
        let find = |from: usize, word: &str| (from..tokens.len()).find(|at| is_word_at(tokens, *at, word));
        let default = find(at + 1, "DEFAULT")?;
        let using = find(default + 1, "USING")?;
        let text = |from: usize, to: usize| {
            let words = tokens[from..to].iter().map(|token| spelt(&token.token));
            words.collect::<Vec<_>>().join(" ")
        };
        values = Some((text(at + 1, default), text(default + 1, using)));
        at = using;
    }
    let path = name(tokens, at + 1).filter(|_| is_word_at(tokens, at, "USING"))?;
    let cycle = Some(ReadCycle {
        columns,
        mark,
        values,
        path,
    });
    Some((Read { search, cycle }, at + 2))
}

/// Names between commas, and where they end.
fn names(tokens: &[TokenWithSpan], at: usize) -> Option<(Vec<String>, usize)> {
    let (mut at, mut names) = (at, Vec::new());
    loop {
        names.push(name(tokens, at)?);
        at += 1;
        match tokens.get(at).map(|token| &token.token) {
            Some(Token::Comma) => at += 1,
            _ => return Some((names, at)),
        }
    }
}

fn name(tokens: &[TokenWithSpan], at: usize) -> Option<String> {
    match &tokens.get(at)?.token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    }
}
